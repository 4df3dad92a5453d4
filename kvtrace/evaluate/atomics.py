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
    for number in range(int(rank.max()) + 1):
        yield order[rank == number]


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
    …); names without a function store the operand. With `flushes`, sums of float32 and their
    operands have no denormals.
    """
    target, ufunc = flat, _UFUNCS.get(name)
    exact_update = _update_beyond_ufuncs(name, flat.dtype, flushes=flushes)
    if name in ("umax", "umin") or (name in _ON_BITS and flat.dtype.kind != "i"):
        unsigned = np.dtype(f"u{flat.dtype.itemsize}")
        target, operands = flat.view(unsigned), operands.view(unsigned)
    if not wants_old and exact_update is None:
        if ufunc is None:
            target[index] = operands  # at a repeated index, NumPy leaves the last lane's operand
        else:
            ufunc.at(target, index, operands)
        return None
    if wants_old and name == "add" and len(index) > 64:
        return _add_and_return_old(target, index, operands)
    update = exact_update or ufunc
    old = np.empty(len(index), flat.dtype) if wants_old else None
    for lanes in rounds_of(index):
        elements, operand = index[lanes], operands[lanes]
        before = target[elements]
        if old is not None:
            old[lanes] = before.view(flat.dtype)
        target[elements] = operand if update is None else update(before, operand)
    return old


def _update_beyond_ufuncs(name: str, dtype: np.dtype[Any], *, flushes: bool) -> Update | None:
    """Return the update that no ufunc computes: without denormals, or NaN; None for others."""
    if name == "fadd" and flushes and dtype == np.float32:
        return partial(flushed, np.add)
    return None if dtype.kind in "iu" else _OF_NUMBERS.get(name)


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
    for lanes in rounds_of(index):
        elements = index[lanes]
        before = memory[elements]
        old[lanes] = before
        memory[elements] = np.where(before == expected[lanes], wanted[lanes], before)
    return old.view(flat.dtype)
