"""What comparisons need done first: passes that a trace lacks, and conditions for all sizes."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kvtrace.cli import complain

if TYPE_CHECKING:
    from collections.abc import Iterable

    from kvtrace.converters.findings.conditions import KernelConditions
    from kvtrace.regressions.comparing import Analyses
    from kvtrace.schema.trace import Selection


def analyses() -> Analyses:
    """Return what the room of regressions is handed."""
    from kvtrace.regressions.comparing import Analyses

    return Analyses(look, conditions_of)


def look(selection: Selection) -> Iterable[str]:
    """Run the passes that runs lack, however long it takes; give what there is to say."""
    from kvtrace.cli.progress import calls_progress
    from kvtrace.opened.completing import complete

    return complete((selection,), replay=True, shown=calls_progress)


def conditions_of(
    sides: tuple[Selection, Selection],
) -> tuple[list[KernelConditions], list[KernelConditions]]:
    """Return the conditions for all sizes of both sides; print why some calls have none."""
    from kvtrace.cli.progress import calls_progress
    from kvtrace.opened.conditions import kernel_conditions

    found = [kernel_conditions(each, shown=calls_progress) for each in sides]
    for _, failures in found:
        for failure in failures:
            complain(failure)
    return found[0][0], found[1][0]
