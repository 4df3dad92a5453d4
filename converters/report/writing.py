"""The report fitted into its budget and written as one page."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Final

from kvtrace.converters.report.budget import Budget, Dropped, fitted_blocks
from kvtrace.converters.report.model import Report
from kvtrace.converters.report.page import shell_bytes, write_page
from kvtrace.schema.errors import BadSetting

if TYPE_CHECKING:
    from kvtrace.schema.trace import Selection

__all__ = ["Written", "write_report"]

MEBIBYTE: Final = 1 << 20


@dataclass(frozen=True, slots=True)
class Written:
    """What `write_report` wrote."""

    path: Path
    size_bytes: int
    dropped: tuple[Dropped, ...]


def write_report(
    report: Report,
    selection: "Selection",
    path: Path,
    max_mb: float = 20.0,
    *,
    source: bool = True,
    blocks: Mapping[str, str] | None = None,
) -> Written:
    """Write the report of the runs of a selection as one page of at most `max_mb` MiB.

    What does not fit is left out, least needed first: ops and accesses of the calls that were
    launched least, recorded tensors, compiled code of the kernels that took least time, then
    launches (of each call the first and the longest stay, and every n-th). The page says what was
    left out and how to see it.

    Args:
        report: What the page shows.
        selection: The runs, whose tables the rest is read from.
        path: The file; one that is there is replaced.
        max_mb: Largest size of the page, in MiB.
        source: Whether code of the program goes in.
        blocks: Text of further blocks by name, which are on the page whatever else fits.

    Raises:
        BadSetting: the budget is too small for the page without launches and texts, or the file
            cannot be written.

    """
    room = int(max_mb * MEBIBYTE) - shell_bytes(report.title)
    budget = Budget(report, room, dict(blocks or {}))
    fitted_blocks(budget, selection.trace, selection.runs, source=source)
    if budget.room() < 0:
        raise BadSetting(
            f"a report of this trace needs at least {max_mb - budget.room() / MEBIBYTE:.2f} MiB, "
            f"and {max_mb:g} is less; give it more with --max-mb."
        )
    size = write_page(report.title, budget.blocks, path)
    return Written(path, size, tuple(budget.dropped))
