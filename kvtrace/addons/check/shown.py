"""Results of checked launches in Python: `trace.check()`."""

from typing import TYPE_CHECKING

from kvtrace.addons.check.checked_runs import (
    Checked,
    CheckRow,
    check_objects,
    check_rows,
    check_runs,
    check_text,
)
from kvtrace.analysis.results import CommandResult

if TYPE_CHECKING:
    from kvtrace.analysis.traces import OpenedTrace


def check(trace: "OpenedTrace") -> CommandResult[Checked, CheckRow]:
    """Compare recorded memory of launches with the values that the kernels' IR means.

    The result has a row per output of each checked launch. Fills the tables checks and findings of
    the trace.

    Raises:
        NothingToCheck: no launch was recorded by KVTRACE_CHECK.
        TraceWriteError: the trace cannot be written.
    """
    checked = check_runs(trace.selection)
    text = tuple(check_text(checked))
    return CommandResult(
        "checks", checked, check_objects, CheckRow, check_rows(checked), text, notes=trace.notes,
        schema="check",
    )  # fmt: skip
