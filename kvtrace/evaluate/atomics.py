"""Atomic read-modify-write on arrays of addresses, as if lanes ran one after the other.

If a result is used and addresses repeat, lanes run in rounds: the n-th lane at an address belongs
to round n, so each round has distinct addresses. Of the addresses 5, 7, 5, 5, round 0 has lanes 0
and 1, round 1 lane 2, round 2 lane 3.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from kvtrace.evaluate.values import Array

Update = Callable[[Array, Array], Array]
"""Computes new memory contents from old contents and operands."""

_UFUNCS: dict[str, Any] = {
    "and": np.bitwise_and,
    "or": np.bitwise_or,
    "xor": np.bitwise_xor,
    "add": np.add,
    "fadd": np.add,
    "max": np.maximum,
    "min": np.minimum,
    "umax": np.maximum,
    "umin": np.minimum,
}

_ON_BITS = frozenset({"and", "or", "xor"})


def rounds_of(index: Array) -> Iterator[Array]:
    """Yield the positions in `index`, round by round; within a round no value repeats."""
    if len(index) < 2:
        yield np.arange(len(index))
        return
    order = np.argsort(index, kind="stable")
    ordered = index[order]
    starts = np.flatnonzero(np.concatenate([[True], ordered[1:] != ordered[:-1]]))
    rank = np.arange(len(index)) - np.repeat(starts, np.diff(np.append(starts, len(index))))
    for turn in range(int(rank.max()) + 1):
        yield order[rank == turn]


def read_modify_write(
    flat: Array, index: Array, operands: Array, name: str, *, wants_old: bool
) -> Array | None:
    """Update memory at `index`, one element per lane; return the old contents if `wants_old`."""
    target = flat
    if name in ("umax", "umin") or (name in _ON_BITS and flat.dtype.kind != "i"):
        unsigned = np.dtype(f"u{flat.dtype.itemsize}")
        target, operands = flat.view(unsigned), operands.view(unsigned)
    function = _UFUNCS.get(name)
    if not wants_old:
        if function is None:
            target[index] = operands
        else:
            function.at(target, index, operands)
        return None
    if name == "add" and len(index) > 64:
        return _counted_up(target, index, operands)
    old = np.empty(len(index), flat.dtype)
    for turn in rounds_of(index):
        here, operand = index[turn], operands[turn]
        before = target[here]
        old[turn] = before.view(flat.dtype)
        target[here] = operand if function is None else function(before, operand)
    return old


def _counted_up(flat: Array, index: Array, operands: Array) -> Array:
    """Add integers and return old contents: a running sum per address, in the order of lanes."""
    order = np.argsort(index, kind="stable")
    ordered, addends = index[order], operands[order]
    with np.errstate(over="ignore"):
        before = np.cumsum(addends, dtype=flat.dtype) - addends
    first = np.concatenate([[True], ordered[1:] != ordered[:-1]])
    starts = np.maximum.accumulate(np.where(first, np.arange(len(index)), 0))
    old = np.empty(len(index), flat.dtype)
    old[order] = flat[ordered] + (before - before[starts])
    np.add.at(flat, index, operands)
    return old


def compare_and_swap(flat: Array, index: Array, expected: Array, wanted: Array) -> Array:
    """Store `wanted` where memory equals `expected`; return the old contents."""
    old = np.empty(len(index), flat.dtype)
    for turn in rounds_of(index):
        here = index[turn]
        before = flat[here]
        old[turn] = before
        flat[here] = np.where(before == expected[turn], wanted[turn], before)
    return old
