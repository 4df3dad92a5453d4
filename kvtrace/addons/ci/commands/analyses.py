"""What comparisons need done first, which the add-on's other modules are handed."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kvtrace.cli.analyses import conditions_of

if TYPE_CHECKING:
    from collections.abc import Iterable

    from kvtrace.addons.ci.comparing import Analyses
    from kvtrace.schema.trace import Selection


def analyses() -> Analyses:
    """Return what commits, compilers and baselines are compared with."""
    from kvtrace.addons.ci.comparing import Analyses

    return Analyses(look, conditions_of)


def look(selection: Selection) -> Iterable[str]:
    """Run the passes that runs lack, however long it takes; give what there is to say."""
    from kvtrace.analysis.completing import complete
    from kvtrace.cli.progress import calls_progress

    return complete((selection,), replay=True, shown=calls_progress)
