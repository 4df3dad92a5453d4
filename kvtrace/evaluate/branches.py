"""Values of programs that take different paths through branches, loops and blocks."""

from __future__ import annotations

from typing import Any

import numpy as np

from kvtrace.evaluate.values import (
    Array,
    Pointer,
    Sum,
    Unknown,
    actual,
    select_programs,
    unknown_of,
)


def selected(values: list[Any], outer: frozenset[int], index: Array, *, every: bool) -> list[Any]:
    """Return a copy of the values, with `outer` slots restricted to programs unless `every`."""
    inner = list(values)
    if not every:
        for slot in outer:
            inner[slot] = select_programs(values[slot], index)
    return inner


def in_doubt(value: Any, unknown: Unknown) -> Any:
    """Return the unknown that replaces a value which may have changed; pointers keep a target."""
    value = actual(value)
    if isinstance(value, Pointer):
        return Pointer(value.argument, unknown)
    return unknown


def either(first: Any, second: Any, unknown: Unknown) -> Any:
    """Return the value after two paths of which an unknown one is taken."""
    if first is second or equal_constants(first, second):
        return first
    first, second = actual(first), actual(second)
    joined = unknown_of((unknown, first, second)) or unknown
    if isinstance(first, Pointer) and isinstance(second, Pointer):
        return Pointer(first.argument if first.argument == second.argument else None, joined)
    return joined


def equal_constants(first: Any, second: Any) -> bool:
    """Return whether two values are the same constants: flags, sums without terms, or arrays."""
    if isinstance(first, bool) or isinstance(second, bool):
        return first is second
    if isinstance(first, Sum) and isinstance(second, Sum):
        return not first.terms and not second.terms and first.constant == second.constant
    if isinstance(first, np.ndarray) and isinstance(second, np.ndarray):
        return first.shape == second.shape and np.array_equal(first, second)
    return False
