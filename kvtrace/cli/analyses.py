"""Conditions on sizes of both sides of a comparison, with progress and error messages."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kvtrace.cli import complain

if TYPE_CHECKING:
    from kvtrace.converters.findings.conditions import KernelConditions
    from kvtrace.schema.trace import Selection


def conditions_of(
    sides: tuple[Selection, Selection],
) -> tuple[list[KernelConditions], list[KernelConditions]]:
    """Return the kernels' conditions on sizes, of both sides; print messages on omitted calls."""
    from kvtrace.analysis.conditions import kernel_conditions

    conditions = [kernel_conditions(side) for side in sides]
    for _, failures in conditions:
        for failure in failures:
            complain(failure)
    return conditions[0][0], conditions[1][0]
