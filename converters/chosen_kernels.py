"""Rows of results that are about chosen kernels: what --kernel shows."""

from collections.abc import Collection, Iterable, Iterator
from dataclasses import replace
from typing import Any, TypeVar

T = TypeVar("T")


def shown_kernels(kernels: Iterable[Any], time: Any) -> Iterator[str]:
    """Yield the names of kernels, and of those in a `DeviceTime` or None; no copies and fills."""
    from kvtrace.converters.profile.device_text import MEMORY_KINDS  # needs NumPy

    yield from (row.name for row in kernels)
    yield from (row.name for row in getattr(time, "rows", ()) if row.kind not in MEMORY_KINDS)


def of_kernels(data: T, chosen: Collection[str] | None, *fields: str) -> T:
    """Return a dataclass with only those rows of some fields that are about chosen kernels.

    A field is rows, a dataclass with `rows`, or None. Totals and shares stay those of all rows.
    `chosen` None: all kernels.
    """
    if chosen is None:
        return data
    values = {field: getattr(data, field) for field in fields}
    rows = {field: _of_kernels(value, chosen) for field, value in values.items()}
    narrowed: T = replace(data, **rows)  # type: ignore[type-var]
    return narrowed


def _of_kernels(value: Any, chosen: Collection[str]) -> Any:
    if hasattr(value, "rows"):
        return of_kernels(value, chosen, "rows")
    return value and tuple(row for row in value if not _names(row).isdisjoint(chosen))


def _names(row: Any) -> frozenset[str]:
    """Return the names of the kernels that a row is about; none: the whole program."""
    of_line = getattr(row, "kernels", None)  # a number in other rows
    if isinstance(of_line, tuple):
        return frozenset(of_line)
    row = getattr(row, "variant", row)
    name = getattr(row, "kernel", None) or getattr(row, "name", None)
    return frozenset(() if name is None else (name,))
