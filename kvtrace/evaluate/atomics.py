"""Atomic read-modify-write on arrays of addresses, as if lanes ran one after the other.

If a result is used and addresses repeat, lanes run in rounds: the n-th lane at an address belongs
to round n, so each round has distinct addresses. Of the addresses 5, 7, 5, 5, round 0 has lanes 0
and 1, round 1 lane 2, round 2 lane 3.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import numpy as np

from kvtrace.evaluate.flushing import flushed
from kvtrace.evaluate.values import Array
from kvtrace.evaluate.zeros import larger_number, smaller_number

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

_OF_NUMBERS: dict[str, Callable[..., Any]] = {"max": larger_number, "min": smaller_number}
"""Updates of floats, by descriptors alone: NaN leaves memory as it is."""

_ON_BITS = frozenset({"and", "or", "xor"})


def rounds_of(index: Array) -> Iterator[Array]:
    """Yield arrays of positions in `index`; the n-th array has the n-th position of each value."""
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
    flat: Array,
    index: Array,
    operands: Array,
    name: str,
    *,
    wants_old: bool,
    flushes: bool = False,
) -> Array | None:
    """Update memory elements in place, one element per lane, as if lanes ran in order.

    Return each lane's old contents if `wants_old`, else None. `name` is the operation (add, umax
    …); names without a function store the operand. With `flushes`, sums of
    float32 and their operands have no denormals.
    """
    flushes = flushes and name == "fadd" and flat.dtype == np.float32
    target = flat
    by_turns = _OF_NUMBERS.get(name) if flat.dtype.kind not in "iu" else None
    if flushes:
        by_turns = partial(flushed, np.add)
    if name in ("umax", "umin") or (name in _ON_BITS and flat.dtype.kind != "i"):
        unsigned = np.dtype(f"u{flat.dtype.itemsize}")
        target, operands = flat.view(unsigned), operands.view(unsigned)
    function = _UFUNCS.get(name)
    if not wants_old:
        if function is None:
            target[index] = operands
        elif by_turns is not None:
            for turn in rounds_of(index):
                elements = index[turn]
                target[elements] = by_turns(target[elements], operands[turn])
        else:
            function.at(target, index, operands)
        return None
    if name == "add" and len(index) > 64:
        return _add_and_return_old(target, index, operands)
    old = np.empty(len(index), flat.dtype)
    for turn in rounds_of(index):
        elements, operand = index[turn], operands[turn]
        before = target[elements]
        old[turn] = before.view(flat.dtype)
        if function is None:
            target[elements] = operand
        else:
            target[elements] = (by_turns or function)(before, operand)
    return old


def _add_and_return_old(flat: Array, index: Array, operands: Array) -> Array:
    """Add integers to memory in place; return the contents that each lane found."""
    order = np.argsort(index, kind="stable")
    ordered, addends = index[order], operands[order]
    with np.errstate(over="ignore"):
        before = np.cumsum(addends, dtype=flat.dtype) - addends
    begins_address = np.concatenate([[True], ordered[1:] != ordered[:-1]])
    starts = np.maximum.accumulate(np.where(begins_address, np.arange(len(index)), 0))
    old = np.empty(len(index), flat.dtype)
    old[order] = flat[ordered] + (before - before[starts])
    np.add.at(flat, index, operands)
    return old


def compare_and_swap(flat: Array, index: Array, expected: Array, wanted: Array) -> Array:
    """Store `wanted` where memory has the bits of `expected`, lane by lane; return old contents."""
    bits = np.dtype(f"u{flat.dtype.itemsize}")
    memory, wanted = flat.view(bits), np.ascontiguousarray(wanted).view(bits)
    expected = np.ascontiguousarray(expected).view(bits)
    old = np.empty(len(index), bits)
    for turn in rounds_of(index):
        elements = index[turn]
        before = memory[elements]
        old[turn] = before
        memory[elements] = np.where(before == expected[turn], wanted[turn], before)
    return old.view(flat.dtype)
