"""Whether a run's memory was recorded, which outputs of all traces ask first: a light module."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kvtrace.figures.scans import row_count

if TYPE_CHECKING:
    from kvtrace.schema.trace import Run, Trace


def is_recorded(trace: Trace, run: Run) -> bool:
    """Return whether what happened to memory was recorded; no rows are read of a sealed run.

    Errors as `Trace.table`.
    """
    return bool(row_count(trace, run, "operations"))
