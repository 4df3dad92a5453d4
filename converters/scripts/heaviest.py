"""Unique calls of a trace by the time that their launches took."""

from dataclasses import dataclass

from kvtrace.converters.chosen_kernels import names_of_calls
from kvtrace.figures.part_figures import open_figures
from kvtrace.schema.errors import BadSetting
from kvtrace.schema.runs import Run
from kvtrace.schema.trace import Selection
from kvtrace.text import duration, plural


@dataclass(frozen=True, slots=True)
class HeavyCall:
    """A unique call, and a phrase on the time of its launches."""

    run: Run
    call_id: int
    phrase: str


def heaviest_calls(selection: Selection, kernels: frozenset[str] | None = None) -> list[HeavyCall]:
    """Return the calls of the steady part of the selected runs, those with the most time first.

    They are of the kernels with some names; None: of all. The time is that on devices, or of
    launching on the host if no execution was timed.

    Raises:
        BadSetting: nothing was launched, or none of the kernels.
    """
    rows = open_figures(selection.trace, selection.runs).by_call.to_pylist()
    if not rows:
        raise BadSetting(f"{selection.trace.path} has no launch of a known kernel")
    is_timed = any(row["device_ns"] for row in rows)
    figure, place = ("device_ns", "on the device") if is_timed else ("host_ns", "on the host")
    rows.sort(key=lambda row: (-(row[figure] or 0), row["run"], row["call_id"]))
    total = sum(row[figure] or 0 for row in rows) or 1
    if kernels is not None:
        names = names_of_calls(selection)
        rows = [row for row in rows if names.get((row["run"], row["call_id"])) in kernels]
        if not rows:
            shown = ", ".join(sorted(kernels))
            raise BadSetting(f"{selection.trace.path} has no launch of {shown}")
    runs = {run.run_id: run for run in selection.runs}
    return [
        HeavyCall(
            runs[row["run"]],
            int(row["call_id"]),
            f"{plural(int(row['runs'] or 0), 'launch')}, {duration(row[figure] or 0)} {place}, "
            f"{(row[figure] or 0) / total:.1%} of that of all calls",
        )
        for row in rows
    ]
