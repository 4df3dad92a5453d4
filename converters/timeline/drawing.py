"""Timelines built from the tables of runs: launches, compilations, marks, device executions.

Rows without a time cannot be drawn and are counted in the timeline's `left_out`.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from hashlib import blake2b
from typing import Any, Final

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from kvtrace.converters.timeline.call_work import DerivedCalls, derived_calls
from kvtrace.converters.timeline.captions import (
    Caption,
    Facts,
    compile_caption,
    device_suffix,
    launch_caption,
    load_caption,
    mark_caption,
    message_caption,
    process_title,
    run_facts,
    step_caption,
)
from kvtrace.converters.timeline.drawing_device import (
    CAPTION_COLUMNS,
    DRAWN_COLUMNS,
    EXECUTION_COLUMNS,
    DeviceDrawing,
    StepLaunches,
    collective_slices,
    launch_counter,
    step_launches,
)
from kvtrace.converters.timeline.launch_rows import Example, LaunchColumns, launch_columns
from kvtrace.converters.timeline.timeline import (
    Integers,
    Slices,
    Timeline,
    Track,
)
from kvtrace.figures.clocks import Clock, host_clocks
from kvtrace.figures.collectives import Collectives, matched_collectives
from kvtrace.figures.columns import combined_codes, integers, with_narrow_numbers
from kvtrace.figures.scans import row_count
from kvtrace.figures.step_marks import ProgramMarks
from kvtrace.figures.steps import periodic_steps
from kvtrace.schema.cached_property import cached_property
from kvtrace.schema.runs import Run, plain_rows
from kvtrace.schema.tables import TABLES
from kvtrace.schema.trace import Selection, Trace
from kvtrace.schema.window import TraceWindow, whole_trace

#: First process id that no system assigns (Linux ends at 2^22), for runs that share one.
_FIRST_FREE_PID: Final = 1 << 22
_LARGEST_PID: Final = (1 << 31) - 1
#: Most launches in which a period is searched: all of them are in memory for it.
_MOST_SEARCHED: Final = 1 << 18
#: Rank of processes without launches, such as compile workers, which are drawn last.
_LAST_RANK: Final = 1 << 20


def timelines(selection: Selection) -> Iterator[Timeline]:
    """Yield the timeline of each selected run."""
    pids = process_ids(selection.runs)
    trace = whole_trace(selection.trace)
    clocks = host_clocks(trace, selection.runs)
    collectives = matched_collectives(trace, selection.runs)
    runs_with_devices = [run for run in selection.runs if _has_rows(trace, run, "gpu_kernels")]
    for run in selection.runs:
        suffix = device_suffix(run, pids[run.run_id]) if len(runs_with_devices) > 1 else None
        yield _TimelineBuilder(
            selection, run, pids[run.run_id], clocks.get(run.run_id), suffix
        ).build(collectives)


def _has_rows(trace: Trace, run: Run, table: str) -> bool:
    """Return whether a run has rows of a table; reading ends at the first rows."""
    key = TABLES[table].keys[:1]
    return any(piece.num_rows for piece in trace.pieces(table, [run], key))


def process_ids(runs: Sequence[Run]) -> dict[str, int]:
    """Return a unique process id for each run id: the recorded one, unless an earlier run has it.

    Runs on several hosts, or at different times, may share a process id, which viewers would draw
    as one process.
    """
    pids: dict[str, int] = {}
    unused_pid = _FIRST_FREE_PID
    for run in runs:
        pid = run.pid if run.pid is not None and 0 < run.pid <= _LARGEST_PID else None
        if pid is None or pid in pids.values():
            pid = unused_pid = unused_pid + 1
        pids[run.run_id] = pid
    return pids


class _TimelineBuilder:
    """Builder of one run's timeline from its tables; `suffix` is added to names of devices."""

    def __init__(
        self, selection: Selection, run: Run, pid: int, clock: Clock | None, suffix: str | None
    ) -> None:
        self._trace = selection.trace
        self._device_suffix = suffix
        self._run = run
        self._clock = clock
        title = process_title(run, pid)
        if clock is not None:
            title += f" · clock shifted by {clock.ns / 1e6:+.3f} ms"
        is_idle = not any(
            _has_rows(whole_trace(self._trace), run, name) for name in ("launches", "gpu_kernels")
        )
        self._process = Track(
            (run.run_id, f"{title} · launched nothing" if is_idle else title),
            "process",
            pid,
            rank=_LAST_RANK if is_idle else run.rank or 0,
            about=run.command,
        )
        self._timeline = Timeline(self._process, facts=run_facts(run))

    def build(self, collectives: Collectives | None) -> Timeline:
        """Draw all rows that have times, and return the timeline."""
        launches = launch_columns(self._trace, self._run)
        pa.default_memory_pool().release_unused()  # pages of pieces of launches
        executions, captioned = self._executions()
        pa.default_memory_pool().release_unused()  # pages of pieces of executions
        self._launching = set(launches.threads)
        steps = self._draw_steps(launches)
        self._draw_executions(executions, captioned, steps)
        executions = executions.select(["record", "launch_seq"])
        pa.default_memory_pool().release_unused()  # pages that would stay beside what is encoded
        if collectives is not None and self._run in collectives.runs:
            track = self._process.child("collectives", rank=-1)
            records = integers(executions["record"])
            self._timeline.slices += collective_slices(collectives, self._run, track, records)
        self._draw_launches(launches, executions)
        self._draw_compilations()
        self._draw_marks()
        self._draw_messages()
        if self._clock is None:
            return self._timeline
        return self._timeline.shifted(self._clock.shifted, self._clock.sentence())

    def _table(self, name: str, columns: Sequence[str] | None = None) -> pa.Table:
        return self._trace.table(name, [self._run], columns)

    def _executions(self) -> tuple[pa.Table, pa.Table]:
        """Return executions and their captions for `DeviceDrawing.draw`, in half of the memory.

        Numbers are int32 where they fit, and each piece adds its distinct captions.
        """
        rows, captioned, size = [], [], 0
        for piece in self._trace.pieces("gpu_kernels", [self._run], EXECUTION_COLUMNS):
            codes, first = combined_codes([piece[name] for name in CAPTION_COLUMNS])
            captioned.append(piece.select(CAPTION_COLUMNS).take(first))
            piece = piece.select(DRAWN_COLUMNS).append_column("caption", [codes + size])
            rows.append(with_narrow_numbers(piece))
            size += first.size
        if not rows:
            return (self._table("gpu_kernels", EXECUTION_COLUMNS),) * 2
        return tuple(pa.concat_tables(t, promote_options="permissive") for t in (rows, captioned))

    @cached_property
    def _kernels(self) -> dict[int, dict[str, Any]]:
        return {row["kernel_id"]: row for row in plain_rows(self._table("kernels"))}

    @cached_property
    def _flow_base(self) -> int:
        digest = blake2b(self._run.run_id.encode(), digest_size=8).digest()
        return int.from_bytes(digest, "little")

    @cached_property
    def _calls(self) -> dict[int, dict[str, Any]]:
        return {row["call_id"]: row for row in self._table("calls").to_pylist()}

    @cached_property
    def _derived(self) -> DerivedCalls:
        return derived_calls(self._trace, self._run)

    def _thread(self, tid: int) -> Track:
        """Return the track of a thread; the main thread is first, then launching threads."""
        name, rank = "thread", 2
        if tid == self._run.pid:
            name, rank = "main thread", 0
        elif tid in self._launching:
            name, rank = "launching thread", 1
        elif tid in self._compiling:
            name = "compiling thread"
        path = (*self._process.path, name, str(tid))
        return Track(path, "thread", self._process.pid, self._process, tid=tid, rank=rank)

    @cached_property
    def _compiling(self) -> set[int]:
        kernels = self._kernels.values()
        return {kernel[name] or 0 for kernel in kernels for name in ("thread", "load_thread")}

    def _draw_steps(self, launches: LaunchColumns) -> StepLaunches | None:
        """Draw the steps and return their launches, or None without steps.

        Steps are those that the program marks, else the periods of launches.
        """
        trace = whole_trace(self._trace)
        mark = ProgramMarks(trace, self._run).steps()
        if mark is not None:
            name, begin, end = mark.name, mark.bounds[:-1], mark.bounds[1:]
            if mark.ranges:
                begin, end = np.array(sorted(mark.ranges), np.int64).T
            elif not begin.size:
                return None  # a single instant
        else:
            is_small = row_count(trace, self._run, "launches") <= _MOST_SEARCHED
            periods = periodic_steps(trace, self._run) if is_small else None
            if periods is None:
                return None
            name, begin, end = "step", periods.bounds[:-1], periods.bounds[1:]
        first_step = 0
        if isinstance(self._trace, TraceWindow):
            steps_in_window = np.flatnonzero(
                (begin <= self._trace.end) & (end >= self._trace.begin)
            )
            if not steps_in_window.size:
                return None
            first_step = int(steps_in_window[0])
            begin, end = (
                begin[first_step : steps_in_window[-1] + 1],
                end[first_step : steps_in_window[-1] + 1],
            )
        steps = step_launches(name, begin, end, launches, first_step)
        captions = [
            step_caption(name, number, (("launches", count),))
            for number, count in enumerate(steps.counts.tolist(), first_step)
        ]
        track = self._process.child("steps of the host", rank=-2)
        self._draw_lanes(Slices(track, "step", begin, end - begin, np.arange(begin.size), captions))
        return steps

    def _draw_executions(
        self, executions: pa.Table, captioned: pa.Table, steps: StepLaunches | None
    ) -> None:
        untimed = executions["start"].null_count
        self._leave_out("device executions without a time", untimed)
        rows = executions.filter(pc.is_valid(executions["start"])) if untimed else executions
        if not rows.num_rows:
            return
        drawing = DeviceDrawing(
            self._run, self._process, self._device_suffix, self._derived, self._block_threads(),
            self._kernel_names(), self._flows,
        )  # fmt: skip
        drawing.draw(rows, captioned, steps)
        self._timeline.slices += drawing.slices
        self._timeline.counters += drawing.counters

    def _block_threads(self) -> dict[int, int]:
        """Return threads per block by call id, for kernels whose number of warps is known."""
        threads = {}
        for call_id, call in self._calls.items():
            kernel = self._kernels.get(call["kernel_id"], {})
            if kernel.get("num_warps") and kernel.get("warp_size"):
                threads[call_id] = kernel["num_warps"] * kernel["warp_size"]
        return threads

    def _kernel_names(self) -> dict[int, str]:
        """Return kernel names by call id, without calls of unnamed kernels."""
        names = {
            call_id: self._kernels.get(call["kernel_id"], {}).get("name")
            for call_id, call in self._calls.items()
        }
        return {call_id: name for call_id, name in names.items() if name}

    def _draw_launches(self, launches: LaunchColumns, executions: pa.Table) -> None:
        self._leave_out("launches without a time", launches.untimed)
        # Derived figures are shown at executions; in runs without executions, at launches.
        derived = self._derived.found if executions.num_rows else self._derived.facts
        captions = self._launch_captions(launches.examples, derived)
        begins = [rows.begin for rows in launches.threads.values()]
        if begins:
            self._timeline.counters.append(launch_counter(self._process, begins))
        executed = np.unique(integers(executions["launch_seq"].drop_null()))
        for tid, rows in launches.threads.items():
            slices = Slices(
                self._thread(tid or 0),
                "launch",
                rows.begin,
                rows.duration,
                rows.example,
                captions,
                launch=rows.seq,
                flow=self._launch_flows(rows.seq, executed),
            )
            self._draw_lanes(slices)

    def _launch_captions(
        self, examples: Sequence[Example], derived: Callable[[int], Facts]
    ) -> list[Caption]:
        stacks = {row["stack_id"]: row for row in self._table("stacks").to_pylist()}
        captions = []
        for call_id, phase in examples:
            call = self._calls.get(call_id, {})
            kernel = self._kernels.get(call.get("kernel_id", -1), {})
            stack = stacks.get(call.get("stack_id"), {})
            captions.append(launch_caption(call_id, phase, call, kernel, stack, derived(call_id)))
        return captions

    def _launch_flows(self, seq: Integers, executed: Integers) -> npt.NDArray[np.uint64] | None:
        """Return the flow number of each launch, 0 for those whose `seq` is not in `executed`.

        None if nothing was executed.
        """
        if not executed.size:
            return None
        index = np.minimum(np.searchsorted(executed, seq), executed.size - 1)
        return np.where(executed[index] == seq, self._flows(seq), np.uint64(0))

    def _flows(self, seq: Integers) -> npt.NDArray[np.uint64]:
        """Return the flow number of each launch: unique over all runs, and never 0."""
        numbers = seq.astype(np.uint64)
        numbers += np.uint64(self._flow_base)
        numbers[numbers == 0] = 1 << 63
        return numbers

    def _draw_compilations(self) -> None:
        spans: dict[int, list[tuple[int, int, Caption]]] = {}
        for kernel in self._kernels.values():
            if kernel["load_begin"] is not None:
                begin_and_duration = (kernel["load_begin"], max(kernel["load_ns"] or 0, 0))
                thread = kernel["load_thread"] or 0
                spans.setdefault(thread, []).append((*begin_and_duration, load_caption(kernel)))
            if kernel["compile_begin"] is None:
                self._leave_out(
                    "kernels without a time of compilation"
                    if whole_trace(self._trace) is self._trace
                    else "kernels that were not compiled in the window"
                )
                continue
            spans.setdefault(kernel["thread"] or 0, []).extend(compile_spans(kernel))
        for tid, compilations in sorted(spans.items()):
            self._draw_spans(self._thread(tid).child("compile"), "compile", compilations)

    def _draw_marks(self) -> None:
        ranges: dict[int, list[tuple[int, int, Caption]]] = {}
        instants: dict[int, list[tuple[int, Caption]]] = {}
        for mark in plain_rows(self._table("marks")):
            if mark["begin"] is None:
                self._leave_out("marks without a time")
                continue
            tid, caption = mark["thread"] or 0, mark_caption(mark)
            if mark["end"] is None:
                instants.setdefault(tid, []).append((mark["begin"], caption))
                continue
            duration = max(mark["end"] - mark["begin"], 0)
            ranges.setdefault(tid, []).append((mark["begin"], duration, caption))
        for tid, marked in sorted(ranges.items()):
            self._draw_spans(self._thread(tid).child("marks"), "mark", marked)
        for tid, points in sorted(instants.items()):
            self._draw_instants(self._thread(tid).child("marks"), "mark", points)

    def _draw_messages(self) -> None:
        messages = plain_rows(self._table("messages"))
        points = [
            (row["time"], message_caption(row)) for row in messages if row["time"] is not None
        ]
        self._leave_out("messages without a time", len(messages) - len(points))
        if points:
            self._draw_instants(self._process.child("kvtrace", rank=2), "message", points)

    def _draw_spans(
        self, track: Track, category: str, spans: list[tuple[int, int, Caption]]
    ) -> None:
        self._draw_lanes(_slices(track, category, spans))

    def _draw_instants(
        self, track: Track, category: str, points: list[tuple[int, Caption]]
    ) -> None:
        points = sorted(points, key=lambda point: point[0])
        slices = _slices(track, category, [(time, 0, caption) for time, caption in points])
        self._timeline.slices.append(replace(slices, are_instants=True))

    def _draw_lanes(self, slices: Slices) -> None:
        self._timeline.slices += slices.on_lanes()

    def _leave_out(self, reason: str, count: int = 1) -> None:
        if count:
            self._timeline.left_out[reason] = self._timeline.left_out.get(reason, 0) + count


def _slices(track: Track, category: str, spans: list[tuple[int, int, Caption]]) -> Slices:
    begins, durations, captions = zip(*spans, strict=True)
    begin, duration = (np.array(times, np.int64) for times in (begins, durations))
    return Slices(track, category, begin, duration, np.arange(len(spans)), captions)


def compile_spans(kernel: dict[str, Any]) -> list[tuple[int, int, Caption]]:
    """Return the compilation of a kernel, then its stages, as (begin, duration, caption), in ns.

    Only durations of stages are recorded, so the stages follow one another from the begin. Those
    without a duration are left out.
    """
    begin = kernel["compile_begin"]
    stages = [
        (stage["stage"] or "stage", max(stage["duration_ns"], 0))
        for stage in kernel["stages"] or ()
        if stage["duration_ns"] is not None
    ]
    stages_ns = sum(duration for _, duration in stages)
    spans = [(begin, max(kernel["compile_ns"] or 0, stages_ns), compile_caption(kernel))]
    facts = (("kernel", kernel["kernel_id"]),)
    for name, duration in stages:
        spans.append((begin, duration, Caption(name, facts)))
        begin += duration
    return spans
