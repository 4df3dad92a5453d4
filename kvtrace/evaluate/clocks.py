"""Vector clocks of partitions, and what they order: accesses, copies and phases of barriers.

A *component* is what ends in a known order; a clock has, by component, how much of it is known to
have ended (`partitions.py`).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import numpy as np
from msgspec import Struct, field
from numpy.typing import NDArray

from kvtrace.evaluate.turns import Turns
from kvtrace.evaluate.values import Array, SharedView
from kvtrace.ir import Op

READS: Final = "reads elements that {other} may not have written yet"
WRITES: Final = "writes elements that {other} may still read"
OVERWRITES: Final = "writes elements that {other} may not have written yet"
# Triton 3.7.1 adds a fence between a store and a copy out of shared memory within one partition
# (add_proxy_fence_insertion in its compiler.py), none across partitions: seen in PTX for sm_90.
UNFENCED: Final = (
    "reads elements that {other} wrote in another partition, and no fence_async_shared is between"
)
MORE_BYTES: Final = (
    "waits for fewer bytes than are in flight, so it may end before {other} has arrived"
)
MORE_ARRIVALS: Final = "arrives {arrived} times in a phase of its barrier, which counts {needed}"
"""Predicates of early accesses; `{other}` is the op on the other side."""

Clock = NDArray[np.int64]

COMPONENTS: Final = 512
KINDS: Final = ("copies", "tiles", "stores", "products", "tensor core")
IN_ORDER: Final = frozenset({"tiles", "tensor core"})
"""Kinds of operations that run in the order in which a partition begins them. `tiles` are those of
AMD's data mover, in both directions (Triton's ConSanAMD.cpp states their order)."""


class EarlyAccess(Struct, frozen=True):
    """An op that accesses elements before another op's access to them has surely ended."""

    op: Op
    other: Op
    text: str


class Accesses(Struct, eq=False):
    """The last accesses to each element of a buffer: component, its stamp, and the op's index."""

    writes: tuple[Array, Array, Array]
    generic: Array
    """True where the last write was an ordinary store, not a copy or a product."""
    reads: dict[int, tuple[Array, Array]] = {}


class Copy(Struct, eq=False):
    """A copy in flight, until its group or its barrier's phase `until` ends."""

    op: Op
    view: SharedView
    planes: Sequence[Array]
    size: int
    until: int


class Barrier(Struct, eq=False):
    """A barrier: phases that have ended, arrivals and bytes of the current one, and clocks."""

    component: int
    needed: int
    phase: int = 0
    arrived: int = 0
    expected: int = 0
    copies: list[Copy] = []
    clock: Clock = field(default_factory=lambda: np.zeros(COMPONENTS, np.int64))
    fenced: Clock = field(default_factory=lambda: np.zeros(COMPONENTS, np.int64))
    ended: Clock = field(default_factory=lambda: np.zeros(COMPONENTS, np.int64))
    ended_fenced: Clock = field(default_factory=lambda: np.zeros(COMPONENTS, np.int64))


class Partition(Struct, eq=False):
    """The clock of a partition, what of it is fenced, and what it has begun, by kind."""

    component: int
    clock: Clock
    fenced: Clock
    kinds: dict[str, int]
    begun: dict[str, int] = field(default_factory=lambda: dict.fromkeys(KINDS, 0))
    copies: dict[str, list[Copy]] = field(default_factory=lambda: {"copies": [], "tiles": []})

    def join(self, clock: Clock, fenced: Clock) -> None:
        """Know what clocks of others know."""
        own = self.component
        number = self.clock[own]
        np.maximum(self.clock, clock, out=self.clock)
        np.maximum(self.fenced, fenced, out=self.fenced)
        self.clock[own] = max(number, int(self.clock[own]))

    def advance(self) -> None:
        """Begin a new part of its ops, which what it has released does not cover."""
        self.clock[self.component] += 1


class Program(Struct, eq=False):
    """Partitions and waits of one program; `version` counts what may end a wait."""

    partitions: dict[int, Partition] = {}
    components: int = 0
    turns: Turns | None = None
    version: int = 0
    waits: dict[int, tuple[Op, str]] = {}


def landed(copies: list[Copy], ended: int) -> list[Copy]:
    """Write the copies that have ended; return the others."""
    for copy in copies:
        if copy.until <= ended:
            for plane, arrived in zip(copy.view.buffer.planes, copy.planes, strict=True):
                plane[copy.view.places] = arrived
    return [copy for copy in copies if copy.until > ended]
