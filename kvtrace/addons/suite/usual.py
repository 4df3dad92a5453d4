"""The usual launch of a call: the one that a suite launches again."""

from __future__ import annotations

from statistics import median
from typing import TYPE_CHECKING

import pyarrow.compute as pc

from kvtrace.figures.columns import integers
from kvtrace.figures.window import windowed

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from kvtrace.addons.suite.choice import WeighedCall
    from kvtrace.figures.requested_part import RequestedPart
    from kvtrace.schema.runs import Run
    from kvtrace.schema.trace import Selection, Trace


def usual_launches(
    selection: Selection, calls: Sequence[WeighedCall], part: RequestedPart
) -> dict[tuple[str, int], int]:
    """Return the `seq` of the usual launch of each call, by run id and call id.

    It is the launch of the part whose time on the device is nearest to the call's median, among
    those with recorded contents if there are any: what a kernel does may depend on them. Calls
    without a launch in the part are absent. Errors as `windowed`.
    """
    trace, _ = windowed(selection.trace, selection.runs, part)
    usual: dict[tuple[str, int], int] = {}
    for run in dict.fromkeys(call.run for call in calls):
        launches = _launches(trace, run)
        times = _times(trace, run)
        with_contents = set(trace.table("contents", (run,), ["seq"])["seq"].to_pylist())
        for call in calls:
            seqs = launches.get(call.call_id, []) if call.run == run else []
            seqs = [seq for seq in seqs if seq in with_contents] or seqs
            if seqs:
                usual[run.run_id, call.call_id] = _nearest(seqs, times, call.median_ns)
    return usual


def _launches(trace: Trace, run: Run) -> dict[int, list[int]]:
    """Return the launches of each call, without trials of autotuners."""
    rows = trace.table("launches", (run,), ["seq", "call_id", "phase"])
    rows = rows.filter(pc.not_equal(rows["phase"], "autotune"))
    launches: dict[int, list[int]] = {}
    for seq, call_id in zip(rows["seq"].to_pylist(), rows["call_id"].to_pylist(), strict=True):
        launches.setdefault(call_id, []).append(seq)
    return launches


def _times(trace: Trace, run: Run) -> dict[int, float]:
    """Return the time of each launch on the device, ns; of a replayed one the median."""
    rows = trace.table("gpu_kernels", (run,), ["launch_seq", "start", "end"])
    rows = rows.filter(pc.is_valid(rows["launch_seq"]))
    times: dict[int, list[int]] = {}
    durations = (integers(rows["end"]) - integers(rows["start"])).tolist()
    for seq, ns in zip(rows["launch_seq"].to_pylist(), durations, strict=True):
        times.setdefault(seq, []).append(ns)
    return {seq: median(of_launch) for seq, of_launch in times.items()}


def _nearest(seqs: list[int], times: Mapping[int, float], median_ns: float | None) -> int:
    """Return the launch whose time is nearest to the median; the middle one if it has no time."""
    timed = [seq for seq in seqs if seq in times]
    if median_ns is None or not timed:
        return seqs[len(seqs) // 2]
    return min(timed, key=lambda seq: abs(times[seq] - median_ns))
