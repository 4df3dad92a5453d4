"""Observers of an evaluation, and the events they get, each for a batch of programs.

Floating-point operations are counted as follows, per execution and whatever the mask: an
elementwise op on floats counts 1 an element (`math.fma` 2; comparisons, selects, casts, negations
and absolute values 0), a dot of M x K with K x N counts 2·M·N·K, a reduction over n elements counts
n - 1 per result, a scan n - 1 per row. Integer ops count 0.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Literal

import numpy as np
from msgspec import Struct
from msgspec.structs import replace
from numpy.typing import NDArray

from kvtrace.evaluate.arguments import Storage
from kvtrace.ir import Op

AccessKind = Literal["load", "store", "atomic"]


class LaneRanges(Struct, frozen=True):
    """Lowest and highest byte offset and the number of active lanes, one array element per program.

    Offsets are of the first bytes of elements. Arrays have extent 1 if all programs agree. Where
    `active` is 0, the other two have no meaning.
    """

    lowest: NDArray[np.int64]
    highest: NDArray[np.int64]
    active: NDArray[np.int64]

    @property
    def span(self) -> tuple[int, int] | None:
        """The lowest and highest offset of all programs; None if no lane is active."""
        lowest, highest, is_reached = self.lowest, self.highest, self.active > 0
        if not is_reached.all():
            lowest, highest, is_reached = np.broadcast_arrays(lowest, highest, is_reached)
            lowest, highest = lowest[is_reached], highest[is_reached]
        return (int(lowest.min()), int(highest.max())) if lowest.size and is_reached.size else None

    def total(self, programs: int) -> int:
        """Return the number of active lanes of so many programs."""
        active = int(self.active.sum())
        return active * programs if self.active.size == 1 else active


class AccessParts(Struct, frozen=True):
    """The byte offsets and the mask of an access as terms and factors, not as full arrays.

    An offset is `constant` plus one element of each of `terms`; a lane is active where all of
    `factors` are true. All of them broadcast to (programs, *block). `programs` are linear ids, and
    `iteration` the trip of the innermost loop. `origin_bytes` is where
    the argument's data pointer lies in its storage.
    """

    constant: int
    terms: tuple[NDArray[np.int64], ...]
    factors: tuple[NDArray[np.bool_], ...]
    block: tuple[int, ...]
    programs: NDArray[np.int64]
    iteration: int
    origin_bytes: int

    @property
    def shape(self) -> tuple[int, ...]:
        """The number of programs, followed by the shape of each program's block."""
        return (len(self.programs), *self.block)

    def offsets(self) -> NDArray[np.int64]:
        """Return the byte offset of each lane, from `origin_bytes`; broadcasts to `shape`."""
        return sum(self.terms, np.full((1,) * len(self.shape), self.constant, np.int64))

    def active_of(self, lanes: NDArray[np.bool_]) -> NDArray[np.bool_]:
        """Return `lanes` with inactive lanes set to False; `lanes` broadcasts to `shape`."""
        for factor in self.factors:
            lanes = lanes & factor
        return lanes

    def covers(self, byte: int, width: int) -> NDArray[np.bool_]:
        """Return which active lanes cover a byte with elements of a width, in full shape."""
        offsets = self.offsets()
        covering = self.active_of((offsets <= byte) & (byte < offsets + width))
        return np.broadcast_to(covering, self.shape)


@dataclass(frozen=True)
class Access:
    """One memory op of a batch of programs, in one iteration of the loops around it.

    `executions`: programs that ran the op; `lanes`: elements of all these programs; `active`:
    elements not masked off (None: the mask is unknown). `lowest` and `highest` are byte offsets of
    active elements' first bytes from the argument's data pointer (None: unknown, or none active).
    If a part of the mask is unknown, these and all following fields are for the lanes that may be
    active. `certain` is False if the programs, or these lanes, may not run the op at all; `reason`
    then says why, as for unknown addresses. `elements()` gives the byte offset of every active
    element and the linear program id that touches it, as two flat arrays, None where addresses are
    unknown. `parts` are the terms and factors of the addresses, and `ranges` the offsets and active
    lanes of each program; both are None likewise.
    """

    op: Op
    kind: AccessKind
    argument: int | None
    element_bytes: int
    executions: int
    lanes: int
    active: int | None
    lowest: int | None
    highest: int | None
    certain: bool = True
    reason: str = ""
    elements: Callable[[], tuple[NDArray[np.int64], NDArray[np.int64]] | None] = field(
        default=lambda: None, repr=False, compare=False
    )
    parts: AccessParts | None = field(default=None, repr=False, compare=False)
    ranges: LaneRanges | None = field(default=None, repr=False, compare=False)


class OutOfBounds(Struct, frozen=True):
    """The first access of a batch outside its tensor (the witness), and the number of such lanes.

    `rule` is `out-of-bounds` (outside the storage) or `out-of-view` (outside the tensor's view,
    inside its storage). `address_offset` is the witness's byte offset from the data pointer;
    `past_end_bytes` counts from the end of the allowed bytes to the end of the access, negative:
    bytes before its start. `lane` indexes the block that is accessed. `lanes` counts the elements
    of the batch that break the same rule, whose byte offsets go from `lowest` to `highest`.
    `certain` False: on a branch that may not be taken, or under a mask that is partly unknown.
    """

    op: Op
    kind: AccessKind
    rule: Literal["out-of-bounds", "out-of-view"]
    argument: int
    program: tuple[int, int, int]
    iteration: int
    lane: tuple[int, ...]
    address_offset: int
    past_end_bytes: int
    lanes: int
    lowest: int
    highest: int
    certain: bool = True

    @property
    def farthest_bytes(self) -> int:
        """`past_end_bytes` of the lane that is farthest outside, on the side of the witness."""
        extreme = self.highest if self.past_end_bytes > 0 else self.lowest
        return self.past_end_bytes + extreme - self.address_offset

    def followed_by(self, later: OutOfBounds) -> OutOfBounds:
        """Return this witness with the lane count and range of a later batch's defect added."""
        return replace(
            self,
            lanes=self.lanes + later.lanes,
            lowest=min(self.lowest, later.lowest),
            highest=max(self.highest, later.highest),
        )


class FailedAssertion(Struct, frozen=True):
    """A failed `tl.device_assert`: the first program and lane, and how many lanes failed."""

    op: Op
    program: tuple[int, int, int]
    iteration: int
    lane: tuple[int, ...]
    lanes: int
    message: str


class Observer:
    """Base class of observers: override the methods of the events to observe."""

    def op(self, op: Op, executions: int, elements: int, flops: int) -> None:
        """Receive one evaluated compute op.

        Args:
            op: The op.
            executions: How often programs executed it, over all of them.
            elements: Elements of its results, over all executions.
            flops: Floating-point operations, over all executions.
        """

    def access(self, access: Access) -> None:
        """Receive one load, store or atomic."""

    def out_of_bounds(self, defect: OutOfBounds) -> None:
        """Receive a defect: a batch's lanes outside their tensor's view or storage."""

    def forget(self, storage: Storage, sources: frozenset[str]) -> None:
        """Receive a storage whose contents are unknown from now on, as what was stored there is."""

    def loop(self, op: Op, trips: NDArray[np.int64]) -> None:
        """Receive a finished loop, with the trips of each executing program (-1: unknown)."""

    def long_loop(self, op: Op, trips: int) -> None:
        """Receive a `while` that still runs after so many trips, once for each time it runs."""

    def device_assert(self, failure: FailedAssertion) -> None:
        """Receive a failed assertion of the kernel; then `DeviceAssertion` is raised."""
