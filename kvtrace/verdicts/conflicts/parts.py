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
from typing import Final

from msgspec import Struct

from kvtrace.ir import Module, Op
from kvtrace.ir.flow import constant_of, flow_of
from kvtrace.ir.model import attribute, once_per_module
from kvtrace.ir.ops import KINDS, effect_of, mask_of, operator_of, waits_for_memory

_CTA_SCOPE: Final = 2
"""tt.MemSyncScope of `scope="cta"`: other programs are not in it."""

_ACQUIRE: Final = frozenset({2, 4})
_RELEASE: Final = frozenset({3, 4})
"""tt.MemSemantic: 1 relaxed, 2 acquire, 3 release, 4 both."""
_OR: Final = 2
_XOR: Final = 3
ADD: Final = 4
EXCHANGE: Final = 10
"""tt.RMWOp of bitwise operations, of an integer addition, and of an exchange."""

_ASSEMBLY_ON_MEMORY: Final = re.compile(r"\b(?:ld|st|atom|red|cp|fence|membar)\.")


class Role(Struct, frozen=True):
    """The role of a memory op in races: what it conflicts with, and whether it orders programs.

    `strong`: the op does not race with other strong accesses of its width. `acquires` is only set
    for ops that wait, or whose result is used: a program cannot have waited for a value that it
    does not read. An op that `writes` need not be one that `changes` its place: it may add zero.
    """

    op: Op
    kind: str
    writes: bool
    strong: bool
    acquires: bool
    releases: bool
    changes: bool

    def clashes(self, other: Role, *, one_width: bool) -> bool:
        """Return whether two programs race if they touch a byte with these ops in no order."""
        if not (self.writes or other.writes):
            return False
        return not (self.strong and other.strong and one_width)


class Roles(Struct, frozen=True):
    """The roles of all memory ops of a module, by op index.

    `synchronizes`: some op acquires and some op releases, so atomics may order programs. `unseen`
    names an op that may touch memory or order programs in ways that kvtrace does not track.
    """

    by_op: Mapping[int, Role]
    synchronizes: bool
    unseen: str | None


@once_per_module
def roles_of(module: Module) -> Roles:
    """Return the roles of all memory ops of a module, by op index."""
    flow = flow_of(module)
    by_op = {}
    unseen = None
    for op in module.ops:
        if effect_of(op):
            by_op[op.index] = _role(op, any(map(flow.uses, op.results)))
        elif operator_of(op) == "inline_asm":
            text = str(attribute(op, "asm_string", ""))
            if _ASSEMBLY_ON_MEMORY.search(text):
                unseen = "inline assembly, which may touch memory"
        elif operator_of(op) == "extern" and not attribute(op, "pure", False):
            unseen = "a library function with side effects"
    roles = by_op.values()
    synchronizes = any(role.acquires for role in roles) and any(role.releases for role in roles)
    return Roles(by_op, synchronizes, unseen)


def updates_by(op: Op, rmw_op: int) -> bool:
    """Return whether an op is an atomic with this update (a value of tt.RMWOp)."""
    return effect_of(op) == "atomic" and attribute(op, "atomic_rmw_op") == rmw_op


def _changes_nothing(op: Op) -> bool:
    """Return whether an atomic leaves its place as it is: it adds zero, or swaps a value for it."""
    if KINDS[op.name].has("expected"):
        old, new = op.operand("expected"), op.operand("value")
        return old is new or (constant_of(old) is not None and constant_of(old) == constant_of(new))
    is_sum = any(updates_by(op, rmw_op) for rmw_op in (ADD, _OR, _XOR))
    return is_sum and constant_of(op.operand("value")) == 0


def is_unmasked(op: Op) -> bool:
    """Return whether all lanes of a memory op are active."""
    mask = mask_of(op)
    return mask is None or constant_of(mask) not in (None, 0)


def _role(op: Op, used: bool) -> Role:
    kind = str(effect_of(op))
    semantics = attribute(op, "sem", None)
    if kind != "atomic" and semantics is None:
        volatile = kind == "load" and bool(attribute(op, "isVolatile", False))
        stores = kind == "store"
        return Role(op, kind, stores, volatile, False, False, stores)
    is_wide = attribute(op, "scope", 1) != _CTA_SCOPE
    is_polled = waits_for_memory(op) and op.optional("timeout") is None
    return Role(
        op,
        kind,
        writes=kind != "load",
        strong=is_wide,
        acquires=is_wide and (used or is_polled) and semantics in _ACQUIRE,
        releases=is_wide
        and semantics in _RELEASE,  # reductions by descriptors have no order: relaxed
        changes=kind != "load" and not _changes_nothing(op),
    )
