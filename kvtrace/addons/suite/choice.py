"""Calls of a recorded run by what they weigh: time on the device, or launches."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from kvtrace.figures.requested_part import STEADY, RequestedPart
from kvtrace.figures.tables import known_rows
from kvtrace.figures.times import device_times, figures_of_calls, host_times
from kvtrace.figures.window import windowed
from kvtrace.schema.errors import BadSetting

if TYPE_CHECKING:
    from collections.abc import Mapping

    from kvtrace.addons.suite.model import Weighed
    from kvtrace.schema.runs import Run
    from kvtrace.schema.trace import Selection


@dataclass(frozen=True, slots=True)
class WeighedCall:
    """A unique call and its figures, as `kvtrace profile` has them; times in ns.

    `weight` is its time on the device, or its launches (see `WeighedCalls.weighed_by`).
    """

    run: Run
    call_id: int
    kernel_id: int
    kernel: str
    weight: int
    launches: int
    device_ns: int | None
    median_ns: float | None


@dataclass(frozen=True, slots=True)
class WeighedCalls:
    """The calls of some runs, heaviest first, without trials of autotuners.

    Attributes:
        weighed_by: what `weight` counts.
        weight: of all calls.
        device_ns: time on the device of all that ran there, libraries too; None: not recorded.
        calls: those with a weight.
        part: a sentence on the part of the runs that this is of; None: all of them.
    """

    weighed_by: Weighed
    weight: int
    device_ns: int | None
    calls: tuple[WeighedCall, ...]
    part: str | None


def weighed_calls(selection: Selection, part: RequestedPart = STEADY) -> WeighedCalls:
    """Return the calls of the selected runs by their weight.

    Raises:
        BadSetting: there is no such part, or nothing was launched in it.
    """
    trace, window = windowed(selection.trace, selection.runs, part)
    device = device_times(trace, selection.runs)
    rows = figures_of_calls(host_times(trace, selection.runs), device).to_pylist()
    on_device = [ns for ns in device.calls["device_ns"].to_pylist() if ns is not None]
    is_timed = any(row["device_ns"] for row in rows)
    names = _kernel_names(selection)
    runs = {run.run_id: run for run in selection.runs}
    calls = [
        _weighed(row, runs[row["run"]], *names[row["run"], row["call_id"]], is_timed=is_timed)
        for row in rows
        if (row["run"], row["call_id"]) in names
    ]
    calls = [call for call in calls if call.weight > 0]
    if not calls:
        raise BadSetting(
            f"{selection.trace.path} has no launch of a known kernel in the chosen part, of which "
            "a suite could be made: kvtrace info shows what it has"
        )
    calls.sort(key=lambda call: (-call.weight, call.run.run_id, call.call_id))
    return WeighedCalls(
        weighed_by="device time" if is_timed else "launches",
        weight=sum(call.weight for call in calls),
        device_ns=sum(on_device) if is_timed else None,
        calls=tuple(calls),
        part=None if window is None else window.sentence,
    )


def _kernel_names(selection: Selection) -> dict[tuple[str, int], tuple[int, str]]:
    """Return the kernel's id and name of each call, by run id and call id."""
    trace, runs = selection.trace, selection.runs
    kernels = known_rows(trace, runs, "kernels", ("kernel_id", "name")).to_pylist()
    names = {(row["run"], row["kernel_id"]): str(row["name"]) for row in kernels}
    calls = known_rows(trace, runs, "calls", ("call_id", "kernel_id")).to_pylist()
    return {
        (row["run"], row["call_id"]): (row["kernel_id"], names[row["run"], row["kernel_id"]])
        for row in calls
        if (row["run"], row["kernel_id"]) in names
    }


def _weighed(
    row: Mapping[str, Any], run: Run, kernel_id: int, kernel: str, *, is_timed: bool
) -> WeighedCall:
    launches = int(row["runs"] or 0)
    device_ns = row["device_ns"] if is_timed else None
    return WeighedCall(
        run=run,
        call_id=int(row["call_id"]),
        kernel_id=kernel_id,
        kernel=kernel,
        weight=int(device_ns or 0) if is_timed else launches,
        launches=launches,
        device_ns=device_ns,
        median_ns=row["device_median_ns"] if is_timed else None,
    )
