"""Completion of recorded runs, before they are compared or stored."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable

    from kvtrace.schema.trace import Selection


def complete_runs(selection: Selection) -> Iterable[str]:
    """Run the passes that runs lack, without a time limit, and yield notes for the user."""
    from kvtrace.analysis.completing import complete

    return complete((selection,), replay=True)
