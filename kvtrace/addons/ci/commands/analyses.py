"""Functions of the command line that comparisons of runs call."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kvtrace.cli.options import conditions_of

if TYPE_CHECKING:
    from collections.abc import Iterable

    from kvtrace.addons.ci.comparing import Analyses
    from kvtrace.schema.trace import Selection


def analyses() -> Analyses:
    """Return the functions that complete runs and derive conditions on sizes."""
    from kvtrace.addons.ci.comparing import Analyses

    return Analyses(complete_runs, conditions_of)


def complete_runs(selection: Selection) -> Iterable[str]:
    """Run the passes that runs lack, without a time limit, and yield notes for the user."""
    from kvtrace.analysis.completing import complete

    return complete((selection,), replay=True)
