"""Rows of results that are about chosen kernels: what --kernel shows."""

from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import replace
from typing import TYPE_CHECKING, Any, TypeVar

if TYPE_CHECKING:
    from kvtrace.converters.findings.model import Findings
    from kvtrace.schema.trace import Selection

T = TypeVar("T")


def shown_kernels(kernels: Iterable[Any], time: Any) -> Iterator[str]:
    """Yield the names of kernels, and of those in a `DeviceTime` or None; no copies and fills."""
    from kvtrace.converters.profile.device_text import MEMORY_KINDS  # needs NumPy

    yield from (row.name for row in kernels)
    yield from (row.name for row in getattr(time, "rows", ()) if row.kind not in MEMORY_KINDS)


def names_of_calls(selection: "Selection") -> dict[tuple[str, int], str]:
    """Return the kernel's name of each unique call, by run and id."""
    kernels = selection.table("kernels", ["kernel_id", "name"]).to_pylist()
    names = {(row["run"], row["kernel_id"]): row["name"] for row in kernels}
    calls = selection.table("calls", ["call_id", "kernel_id"]).to_pylist()
    return {
        (row["run"], row["call_id"]): names.get((row["run"], row["kernel_id"])) or "?"
        for row in calls
    }


def called_kernels(selection: "Selection") -> Counter[str]:
    """Return the number of unique calls of each kernel of some runs, by name."""
    return Counter(names_of_calls(selection).values())


def findings_of_kernels(
    findings: "Findings", selection: "Selection", chosen: frozenset[str] | None
) -> "Findings":
    """Return the selection's findings of chosen kernels; `chosen` None: all."""
    from kvtrace.converters.findings.model import of_chosen

    if chosen is None:
        return findings
    calls = called_kernels(selection)
    return of_chosen(findings, {name: calls[name] for name in chosen})


def of_kernels(data: T, chosen: frozenset[str] | None, *fields: str) -> T:
    """Return a dataclass with only those rows of some fields that are about chosen kernels.

    A field is rows, which have a `kernel` or `kernel_names`, a dataclass with `rows`, or None.
    Totals and shares stay those of all rows. `chosen` None: all kernels.
    """
    if chosen is None:
        return data
    values = {field: getattr(data, field) for field in fields}
    rows = {field: _of_kernels(value, chosen) for field, value in values.items()}
    narrowed: T = replace(data, **rows)  # type: ignore[type-var]
    return narrowed


def _of_kernels(value: Any, chosen: frozenset[str]) -> Any:
    if hasattr(value, "rows"):
        return of_kernels(value, chosen, "rows")
    return value and tuple(row for row in value if not chosen.isdisjoint(_names(row)))


def _names(row: Any) -> tuple[str | None, ...]:
    names: tuple[str | None, ...] = getattr(row, "kernel_names", None) or (row.kernel,)
    return names
