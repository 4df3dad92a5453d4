"""Roles of memory ops in races: which ops conflict, and which ops order programs.

The rules follow the PTX memory model (PTX ISA, chapter "Memory consistency model"). Overlapping
accesses of two programs conflict if one writes. They race unless both are strong (atomic, or
volatile loads) at a scope that holds both programs and of the same width, or one happens before the
other. Accesses before a release happen before the accesses after an acquire that reads from the
release.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from kvtrace.evaluate.compiler import attribute
from kvtrace.ir import Module, Op
from kvtrace.ir.constants import constant_of
from kvtrace.ir.flow import flow_of
from kvtrace.ir.memo import once_per_module
from kvtrace.ir.ops import effect_of, mask_of, operator_of, waits_for_memory

_BLOCK: Final = 2
"""tt.MemSyncScope of `scope="cta"`: other programs are not in it."""

_ACQUIRE: Final = frozenset({2, 4})
_RELEASE: Final = frozenset({3, 4})
"""tt.MemSemantic: 1 relaxed, 2 acquire, 3 release, 4 both."""
ADD: Final = 4
EXCHANGE: Final = 10
"""tt.RMWOp of an integer addition, and of an exchange."""

_ASSEMBLY_ON_MEMORY: Final = re.compile(r"\b(?:ld|st|atom|red|cp|fence|membar)\.")


@dataclass(frozen=True, slots=True)
class Part:
    """The role of a memory op in races.

    `strong`: the op does not race with other strong accesses of its width. `acquires` is only set
    for ops that wait, or whose result is used: a program cannot have waited for a value that it
    does not read.
    """

    op: Op
    kind: str
    writes: bool
    strong: bool
    acquires: bool
    releases: bool

    def clashes(self, other: Part, *, one_width: bool) -> bool:
        """Return whether unordered programs race if they touch the same byte with these ops."""
        if not (self.writes or other.writes):
            return False
        return not (self.strong and other.strong and one_width)


@dataclass(frozen=True)
class Parts:
    """The roles of all memory ops of a module, by op index.

    `synchronizes`: some op acquires and some op releases, so atomics may order programs. `unseen`
    names an op that may touch memory or order programs in ways that kvtrace does not track.
    """

    by_op: Mapping[int, Part]
    synchronizes: bool
    unseen: str | None


@once_per_module
def parts_of(module: Module) -> Parts:
    """Return the roles of a module's memory ops."""
    flow = flow_of(module)
    by_op = {}
    unseen = None
    for op in module.ops:
        if effect_of(op):
            by_op[op.index] = _part(op, any(map(flow.uses, op.results)))
        elif operator_of(op) == "inline_asm":
            text = str(attribute(op, "asm_string", ""))
            if _ASSEMBLY_ON_MEMORY.search(text):
                unseen = "inline assembly, which may touch memory"
        elif operator_of(op) == "extern" and not attribute(op, "pure", False):
            unseen = "a library function with side effects"
    parts = by_op.values()
    synchronizes = any(p.acquires for p in parts) and any(p.releases for p in parts)
    return Parts(by_op, synchronizes, unseen)


def updates_by(op: Op, how: int) -> bool:
    """Return whether an op is an atomic with this update (a number of tt.RMWOp)."""
    return effect_of(op) == "atomic" and attribute(op, "atomic_rmw_op") == how


def is_unmasked(op: Op) -> bool:
    """Return whether all lanes of a memory op are active."""
    mask = mask_of(op)
    return mask is None or constant_of(mask) not in (None, 0)


def _part(op: Op, used: bool) -> Part:
    kind = str(effect_of(op))
    order = attribute(op, "sem", None)
    if kind != "atomic" and order is None:
        volatile = kind == "load" and bool(attribute(op, "isVolatile", False))
        return Part(op, kind, kind == "store", volatile, False, False)
    reaches = attribute(op, "scope", 1) != _BLOCK
    waited = waits_for_memory(op) and op.optional("timeout") is None
    return Part(
        op,
        kind,
        writes=kind != "load",
        strong=reaches,
        acquires=reaches and (used or waited) and order in _ACQUIRE,
        releases=reaches and order in _RELEASE,  # reductions by descriptors have no order: relaxed
    )
