"""Calls of a recorded run by what they weigh: time on the device, or launches."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from kvtrace.converters.scripts.repro import options_of
from kvtrace.figures.requested_part import STEADY, RequestedPart
from kvtrace.figures.tables import known_rows
from kvtrace.figures.times import device_times, figures_of_calls, host_times
from kvtrace.figures.window import windowed
from kvtrace.recorded_calls.recorded import stage_artifact
from kvtrace.schema.errors import BadSetting

if TYPE_CHECKING:
    from collections.abc import Mapping

    from kvtrace.addons.suite.model import Weighed
    from kvtrace.converters.scripts.repro import Repro
    from kvtrace.schema.runs import Run
    from kvtrace.schema.trace import Selection


@dataclass(frozen=True, slots=True)
class WeighedCall:
    """A unique call and its figures, as `kvtrace profile` has them; times in ns.

    `weight` is its time on the device, or its launches (see `WeighedCalls.weighed_by`). `ir` is
    the artifact of its kernel's IR, None if it was not recorded.
    """

    run: Run
    call_id: int
    kernel: str
    ir: str | None
    options: tuple[tuple[str, object], ...]
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


@dataclass(frozen=True, slots=True)
class ChosenCalls:
    """The calls of an entry, heaviest first, and the data of the first."""

    repro: Repro
    calls: list[WeighedCall]

    @property
    def weight(self) -> int:
        """Weight of all of them."""
        return sum(call.weight for call in self.calls)


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
    kernels = _kernels_of_calls(selection)
    runs = {run.run_id: run for run in selection.runs}
    calls = [
        _weighed(row, runs[row["run"]], kernels[row["run"], row["call_id"]], is_timed=is_timed)
        for row in rows
        if (row["run"], row["call_id"]) in kernels
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


_KERNEL_COLUMNS: Final = (
    "kernel_id", "name", "stages", "num_warps", "num_stages", "num_ctas", "options",
)  # fmt: skip


def _kernels_of_calls(selection: Selection) -> dict[tuple[str, int], Mapping[str, Any]]:
    """Return the row of each call's kernel, by run id and call id."""
    trace, runs = selection.trace, selection.runs
    kernels = {
        (row["run"], row["kernel_id"]): row
        for row in trace.table("kernels", runs, _KERNEL_COLUMNS).to_pylist()
    }
    calls = known_rows(trace, runs, "calls", ("call_id", "kernel_id")).to_pylist()
    return {
        (row["run"], row["call_id"]): kernels[row["run"], row["kernel_id"]]
        for row in calls
        if (row["run"], row["kernel_id"]) in kernels
    }


def _weighed(
    row: Mapping[str, Any], run: Run, kernel: Mapping[str, Any], *, is_timed: bool
) -> WeighedCall:
    launches = int(row["runs"] or 0)
    device_ns = row["device_ns"] if is_timed else None
    return WeighedCall(
        run=run,
        call_id=int(row["call_id"]),
        kernel=str(kernel["name"]),
        ir=next(filter(None, (stage_artifact(kernel, name) for name in ("ttir", "ttgir"))), None),
        options=tuple(options_of(kernel, source=False).items()),
        weight=int(device_ns or 0) if is_timed else launches,
        launches=launches,
        device_ns=device_ns,
        median_ns=row["device_median_ns"] if is_timed else None,
    )
