"""Values of programs that take different paths through branches, loops and blocks."""

from __future__ import annotations

from typing import Any

import numpy as np

from kvtrace.evaluate.types import ValueType
from kvtrace.evaluate.values import (
    Array,
    Pointer,
    Sum,
    Unknown,
    actual,
    merge_programs,
    select_programs,
    unknown_of,
)


def selected(values: list[Any], outer: frozenset[int], index: Array, *, every: bool) -> list[Any]:
    """Return a copy of `values`, with `outer` slots restricted to `index` unless `every`."""
    inner = list(values)
    if not every:
        for slot in outer:
            inner[slot] = select_programs(values[slot], index)
    return inner


def doubtful_value(value: Any, unknown: Unknown) -> Any:
    """Return an Unknown for a value that may have changed; a pointer keeps its argument."""
    value = actual(value)
    if isinstance(value, Pointer):
        return Pointer(value.argument, unknown)
    return unknown


def unknown_branch_value(left: Any, right: Any, unknown: Unknown) -> Any:
    """Return a variable's value after an unknown branch: the value itself if both paths agree."""
    if left is right or equal_constants(left, right):
        return left
    left, right = actual(left), actual(right)
    joined = unknown_of((unknown, left, right)) or unknown
    if isinstance(left, Pointer) and isinstance(right, Pointer):
        return Pointer(left.argument if left.argument == right.argument else None, joined)
    return joined


def equal_constants(left: Any, right: Any) -> bool:
    """Return whether two values are equal Booleans, equal Sums without terms, or equal arrays."""
    if isinstance(left, bool) or isinstance(right, bool):
        return left is right
    if isinstance(left, Sum) and isinstance(right, Sum):
        return not left.terms and not right.terms and left.constant == right.constant
    if isinstance(left, np.ndarray) and isinstance(right, np.ndarray):
        return left.shape == right.shape and np.array_equal(left, right)
    return False


def with_replaced_programs(
    before: list[Any], after: list[Any], index: Array, programs: int, types: list[ValueType]
) -> list[Any]:
    """Return a list of values with those of the programs at `index` replaced by `after`."""
    is_unchanged = np.ones(programs, np.bool_)
    is_unchanged[index] = False
    unchanged_index = np.flatnonzero(is_unchanged)
    return [
        merge_programs(
            [(unchanged_index, select_programs(old, unchanged_index)), (index, new)],
            programs,
            type_,
        )
        for old, new, type_ in zip(before, after, types, strict=True)
    ]
