"""Busy and idle time of a run in a part: what is stored of the part, or from its executions.

`run_parts` decides which, once a run.
"""

from collections.abc import Sequence
from dataclasses import fields

from msgspec import Struct

from kvtrace.figures.columns import Integers, integers
from kvtrace.figures.executions import Busy, ExecutionBlocks, Timeline, summed_busy
from kvtrace.figures.gap_causes import (
    SHORT_EXECUTIONS,
    PartGaps,
    gaps_of_executions,
    has_step_times,
)
from kvtrace.figures.gap_groups import GROUPS
from kvtrace.figures.host_events import AROUND_SHORT, CAUSES, Cause, HostEvents
from kvtrace.figures.lines import places_by_stack
from kvtrace.figures.steps import PartName, RunAtRest, rows_of_part, run_at_rest
from kvtrace.schema.trace import Run, Trace
from kvtrace.schema.window import RunWindow, TraceWindow, whole_trace


class StoredPart(Struct, frozen=True):
    """A part of a run of which sums are stored: no execution is read."""

    trace: Trace
    run: Run
    at_rest: RunAtRest
    name: PartName

    @property
    def busy(self) -> Busy | None:
        """The busy and idle time of the run's devices; None without a timed execution."""
        row = self.at_rest.parts[self.name]
        return None if row["span_ns"] is None else Busy(*(row[f.name] for f in fields(Busy)))

    @property
    def gaps(self) -> PartGaps | None:
        """The idle time by cause; None without a timed execution."""
        row = self.at_rest.parts[self.name]
        if row["pauses"] is None:
            return None
        idle: dict[Cause, int] = {c: row[f"{c}_ns"] for c in sorted(CAUSES) if row[f"{c}_ns"]}
        by_step = dict[Cause, Integers]()
        if self.name == "steady" and has_step_times(self.at_rest.steady):
            steps = self.at_rest.steps.filter(self.at_rest.steps["steady"])
            by_step = {cause: integers(steps[f"{cause}_ns"]) for cause in idle}
        groups, names = (
            rows_of_part(self.trace, self.run, table, self.name).select(schema.names)
            for table, schema in (("idle_gaps", GROUPS), ("short_executions", SHORT_EXECUTIONS))
        )
        return PartGaps(
            idle,
            {cause: row[f"small_{cause}_ns"] if cause in AROUND_SHORT else 0 for cause in idle},
            row["paused_ns"],
            row["pauses"],
            row["paused_between_steps_ns"],
            groups,
            names,
            by_step,
            row["devices"],
        )


class ReadPart(Struct, frozen=True):
    """A part of a run whose executions are read; `window` None: the whole run."""

    trace: Trace
    run: Run
    window: RunWindow | None

    @property
    def busy(self) -> Busy | None:
        """As `StoredPart.busy`; errors as `Trace.table`."""
        timelines: dict[int, Timeline] = {}
        blocks = ExecutionBlocks(self.trace, self.run, named=False)
        for _, block in blocks.read(self.window, named=False):
            for device, executions in block.by_device():
                timeline = timelines.setdefault(device, Timeline(self.window))
                timeline.add(executions.start, executions.end)
        return summed_busy(timelines.values())

    @property
    def gaps(self) -> PartGaps | None:
        """As `StoredPart.gaps`; errors as `Trace.table`."""
        trace, run = self.trace, self.run
        events, places = HostEvents.read(trace, run), places_by_stack(trace, [run])
        return gaps_of_executions(ExecutionBlocks(trace, run), events, places, self.window)


RunPart = StoredPart | ReadPart


def run_parts(trace: Trace, runs: Sequence[Run]) -> list[RunPart]:
    """Return the part that a trace or window has of each run with recorded gaps.

    A run without timed executions has the part `whole` in each window. Errors as `Trace.table`.
    """
    return [_part(trace, run) for run in runs if run.has_all_times]


def _part(trace: Trace, run: Run) -> RunPart:
    whole = whole_trace(trace)
    window = trace.window_of(run.run_id) if isinstance(trace, TraceWindow) else None
    stored = run_at_rest(whole, run)
    if stored is not None:
        if window is None or stored.time_bounds("gpu_kernels") is None:
            return StoredPart(whole, run, stored, "whole")
        if window == stored.steady:
            return StoredPart(whole, run, stored, "steady")
    return ReadPart(whole, run, window)
