"""Draws the timeline of a run from its tables: launches, compilations, marks, device executions.

What cannot be drawn, for want of a time, is counted in the timeline's `left_out`.
"""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from hashlib import blake2b
from typing import Any, Final

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from kvtrace.converters.captions import (
    Caption,
    compile_caption,
    execution_caption,
    launch_caption,
    load_caption,
    mark_caption,
    message_caption,
    process_title,
    replay_caption,
)
from kvtrace.converters.clocks import Offset, clock_offsets
from kvtrace.converters.columns import combined_codes, dictionary_values, integers
from kvtrace.converters.drawing_on_chip import on_chip_parts
from kvtrace.converters.launch_rows import Example, launch_columns
from kvtrace.converters.nesting import lanes
from kvtrace.converters.timeline import Counter, Instants, Integers, Slices, Timeline, Track
from kvtrace.schema.cached_property import cached_property
from kvtrace.schema.runs import Run, plain_rows
from kvtrace.schema.trace import Selection

#: Process ids that no system gives out (Linux ends at 2^22), for runs whose own id is taken.
_FIRST_FREE_PID: Final = 1 << 22
_LARGEST_PID: Final = (1 << 31) - 1
_COUNTER_STEPS: Final = 2_000
#: Launches that are counted at once.
_PIECE: Final = 1 << 20
#: What the kernels of one replay of a graph have in common: its launch has one correlation id.
_REPLAY: Final = ("device", "graph_id", "correlation_id")
_SHORTEST_STEP_NS: Final = 1_000_000


def timelines(selection: Selection) -> Iterator[Timeline]:
    """Make the timeline of each selected run, one at a time."""
    pids = process_ids(selection.runs)
    offsets = clock_offsets(selection.trace, selection.runs)
    for run in selection.runs:
        yield _Builder(selection, run, pids[run.run_id], offsets.get(run.run_id)).build()


def process_ids(runs: Sequence[Run]) -> dict[str, int]:
    """Return a process id for each run id: its own where no other run has it already.

    Ranks on several hosts may share a process id, and so may runs at different times; viewers would
    draw them as one process.
    """
    chosen: dict[str, int] = {}
    taken: set[int] = set()
    free = _FIRST_FREE_PID
    for run in runs:
        pid = run.pid if run.pid is not None and 0 < run.pid <= _LARGEST_PID else None
        if pid is None or pid in taken:
            pid = free = free + 1
        taken.add(pid)
        chosen[run.run_id] = pid
    return chosen


class _Builder:
    """Turns the tables of one run into its timeline."""

    def __init__(self, selection: Selection, run: Run, pid: int, offset: Offset | None) -> None:
        self._trace = selection.trace
        self._run = run
        self._offset = offset
        title = process_title(run, pid)
        if offset is not None:
            title += f" · clock moved by {offset.ns / 1e6:+.3f} ms"
        self._process = Track((run.run_id, title), "process", pid, rank=run.rank or 0)
        self._timeline = Timeline(self._process)

    def build(self) -> Timeline:
        """Draw every table that has times."""
        executions = self._table("gpu_kernels")
        self._draw_launches(executions)
        self._draw_compilations()
        self._draw_marks()
        self._draw_executions(executions)
        self._draw_on_chip()
        self._draw_messages()
        if self._offset is None:
            return self._timeline
        return self._timeline.moved(self._offset.ns, self._offset.sentence())

    def _table(self, name: str, columns: Sequence[str] | None = None) -> pa.Table:
        return self._trace.table(name, [self._run], columns)

    @cached_property
    def _kernels(self) -> dict[int, dict[str, Any]]:
        return {row["kernel_id"]: row for row in plain_rows(self._table("kernels"))}

    @cached_property
    def _flow_base(self) -> int:
        digest = blake2b(self._run.run_id.encode(), digest_size=8).digest()
        return int.from_bytes(digest, "little")

    def _thread(self, tid: int) -> Track:
        name = "main thread" if tid == self._run.pid else "thread"
        path = (*self._process.path, name, str(tid))
        return Track(path, "thread", self._process.pid, self._process, tid=tid)

    def _draw_launches(self, executions: pa.Table) -> None:
        launches = launch_columns(self._trace, self._run)
        if launches.untimed:
            self._leave_out("launches without a time", launches.untimed)
        captions = self._launch_captions(launches.examples)
        self._draw_launch_counter([rows.begin for rows in launches.threads.values()])
        wanted = np.unique(integers(executions["launch_seq"].drop_null()))
        for tid, rows in launches.threads.items():
            slices = Slices(
                self._thread(tid or 0),
                "launch",
                rows.begin,
                rows.duration,
                rows.example,
                captions,
                launch=rows.seq,
                flow=self._launch_flows(rows.seq, wanted),
            )
            self._draw_lanes(slices)

    def _launch_captions(self, examples: Sequence[Example]) -> list[Caption]:
        calls = {row["call_id"]: row for row in self._table("calls").to_pylist()}
        stacks = {row["stack_id"]: row for row in self._table("stacks").to_pylist()}
        captions = []
        for call_id, phase in examples:
            call = calls.get(call_id, {})
            kernel = self._kernels.get(call.get("kernel_id", -1), {})
            stack = stacks.get(call.get("stack_id"), {})
            captions.append(launch_caption(call_id, phase, call, kernel, stack))
        return captions

    def _launch_flows(self, seq: Integers, wanted: Integers) -> npt.NDArray[np.uint64] | None:
        """Return the flow of each launch, 0 for those that are not wanted."""
        if not wanted.size:
            return None
        place = np.minimum(np.searchsorted(wanted, seq), wanted.size - 1)
        return np.where(wanted[place] == seq, self._flows(seq), np.uint64(0))

    def _flows(self, seq: Integers) -> npt.NDArray[np.uint64]:
        """Return one number per launch, unlike that of any other run's launches."""
        numbers = seq.astype(np.uint64) + np.uint64(self._flow_base)
        return np.where(numbers == 0, np.uint64(1) << np.uint64(63), numbers)

    def _draw_launch_counter(self, begins: Sequence[Integers]) -> None:
        if not begins:
            return
        first = min(int(begin.min()) for begin in begins)
        span = max(int(begin.max()) for begin in begins) - first
        step = counter_step(span)
        values = np.zeros(span // step + 2, np.int64)  # the last says that there are no more
        for begin in begins:
            for start in range(0, begin.size, _PIECE):
                steps = (begin[start : start + _PIECE] - first) // step
                values += np.bincount(steps, minlength=values.size)
        changed = np.flatnonzero(np.diff(values, prepend=-1))
        track = self._process.child(f"launches per {step // 1_000_000} ms", "counter", rank=-1)
        counter = Counter(track, first + changed * step, values[changed])
        self._timeline.counters.append(counter)

    def _draw_compilations(self) -> None:
        spans: dict[int, list[tuple[int, int, Caption]]] = {}
        for kernel in self._kernels.values():
            if kernel["load_begin"] is not None:
                loaded = (kernel["load_begin"], max(kernel["load_ns"] or 0, 0))
                thread = kernel["load_thread"] or 0
                spans.setdefault(thread, []).append((*loaded, load_caption(kernel)))
            if kernel["compile_begin"] is None:
                self._leave_out("kernels without a time of compilation")
                continue
            spans.setdefault(kernel["thread"] or 0, []).extend(compile_spans(kernel))
        for tid, found in sorted(spans.items()):
            self._draw_spans(self._thread(tid).child("compile"), "compile", found)

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
        for tid, found in sorted(ranges.items()):
            self._draw_spans(self._thread(tid).child("marks"), "mark", found)
        for tid, points in sorted(instants.items()):
            self._draw_instants(self._thread(tid).child("marks"), "mark", points)

    def _draw_executions(self, rows: pa.Table) -> None:
        rows = self._timed(rows, "start", "device executions without a time")
        if not rows.num_rows:
            return
        begin, duration = self._interval(rows, "start", "end")
        names = ("name", "call_id", "grid_x", "grid_y", "grid_z", "registers", "shared_bytes")
        alike = (*names, "bytes", "graph_id", "graph_node_id")
        codes, first = combined_codes([rows[name] for name in alike])
        captions = [execution_caption(row) for row in rows.select(alike).take(first).to_pylist()]
        seq = integers(rows["launch_seq"], missing=-1)
        flow = np.where(seq >= 0, self._flows(seq), np.uint64(0))
        slices = Slices(self._process, "gpu", begin, duration, codes, captions, seq, flow)
        where, first = combined_codes([rows["device"], rows["stream"]])
        places = rows.select(["device", "stream"]).take(first).to_pylist()
        for number, place in enumerate(places):
            stream = "?" if place["stream"] is None else place["stream"]
            track = self._gpu(place["device"]).child(f"stream {stream}")
            self._draw_lanes(slices.rows(where == number, track))
        self._draw_replays(rows)

    def _draw_replays(self, rows: pa.Table) -> None:
        """Draw each replay of a graph, from its first kernel to its last, above the streams."""
        known = pc.and_(pc.is_valid(rows["graph_id"]), pc.is_valid(rows["correlation_id"]))
        rows = rows.filter(known)
        if not rows.num_rows:
            return
        starts, durations = self._interval(rows, "start", "end")
        replay, first = combined_codes([rows[name] for name in _REPLAY])
        begin, end = starts[first], (starts + durations)[first]
        np.minimum.at(begin, replay, starts)
        np.maximum.at(end, replay, starts + durations)
        graphs = integers(rows["graph_id"].take(first))
        alike, caption = np.unique(
            np.stack([graphs, np.bincount(replay)], axis=1), axis=0, return_inverse=True
        )
        captions = [replay_caption(graph, kernels) for graph, kernels in alike.tolist()]
        slices = Slices(self._process, "graph", begin, end - begin, caption.reshape(-1), captions)
        devices, distinct = combined_codes([rows["device"].take(first)])
        for number, device in enumerate(dictionary_values(rows["device"].take(first), distinct)):
            track = self._gpu(device).child("graph replays")
            self._draw_lanes(slices.rows(devices == number, track))

    def _gpu(self, device: int | None) -> Track:
        return self._process.child(f"GPU {'?' if device is None else device}", rank=1)

    def _draw_on_chip(self) -> None:
        slices, counters, missing = on_chip_parts(self._trace, self._run, self._process)
        self._timeline.slices += slices
        self._timeline.counters += counters
        if missing:
            self._leave_out("ops of NKI kernels that were not kept one by one", missing)

    def _draw_messages(self) -> None:
        messages = plain_rows(self._table("messages"))
        points = [(row["time"], message_caption(row)) for row in messages]
        if points:
            self._draw_instants(self._process.child("kvtrace", rank=2), "message", points)

    def _draw_spans(
        self, track: Track, category: str, spans: list[tuple[int, int, Caption]]
    ) -> None:
        begin = np.array([span[0] for span in spans], np.int64)
        duration = np.array([span[1] for span in spans], np.int64)
        captions = [span[2] for span in spans]
        slices = Slices(track, category, begin, duration, np.arange(len(spans)), captions)
        self._draw_lanes(slices)

    def _draw_instants(
        self, track: Track, category: str, points: list[tuple[int, Caption]]
    ) -> None:
        points = sorted(points, key=lambda point: point[0])
        time = np.array([point[0] for point in points], np.int64)
        captions = [point[1] for point in points]
        instants = Instants(track, category, time, np.arange(len(points)), captions)
        self._timeline.instants.append(instants)

    def _draw_lanes(self, slices: Slices) -> None:
        """Add the slices on their track, and those that would overlap on further lanes."""
        lane = lanes(slices.begin, slices.duration)
        if lane is None:
            self._timeline.slices.append(slices)
            return
        for number in range(int(lane.max()) + 1):
            track = lane_track(slices.track, number)
            self._timeline.slices.append(slices.rows(lane == number, track))

    def _timed(self, rows: pa.Table, column: str, reason: str) -> pa.Table:
        missing = rows[column].null_count
        if missing:
            self._leave_out(reason, missing)
            rows = rows.filter(pc.is_valid(rows[column]))
        return rows

    def _interval(self, rows: pa.Table, begin: str, end: str) -> tuple[Integers, Integers]:
        """Return begins and durations; a missing or earlier end gives a duration of zero."""
        begins = integers(rows[begin])
        ends = integers(rows[end], missing=np.iinfo(np.int64).min)
        return begins, np.maximum(ends, begins) - begins

    def _leave_out(self, reason: str, count: int = 1) -> None:
        self._timeline.left_out[reason] = self._timeline.left_out.get(reason, 0) + count


def lane_track(track: Track, number: int) -> Track:
    """Return the track of a lane: the track itself, or one beside it with the same name.

    A thread has one track of its own, so its further lanes are below it.
    """
    if number == 0:
        return track
    if track.parent is None or track.kind == "thread":
        return track.child("overlapping", lane=number)
    return replace(track, path=(*track.path[:-1], str(number)))


def compile_spans(kernel: dict[str, Any]) -> list[tuple[int, int, Caption]]:
    """Return a kernel's compilation and its stages below it as (begin, duration, caption).

    Only durations of stages are recorded: they are drawn one after another from the begin on.
    Stages that were not timed are left out.
    """
    begin = kernel["compile_begin"]
    stages = [
        (stage["stage"] or "stage", max(stage["duration_ns"], 0))
        for stage in kernel["stages"] or ()
        if stage["duration_ns"] is not None
    ]
    inside = sum(duration for _, duration in stages)
    spans = [(begin, max(kernel["compile_ns"] or 0, inside), compile_caption(kernel))]
    facts = (("kernel", kernel["kernel_id"]),)
    for name, duration in stages:
        spans.append((begin, duration, Caption(name, facts)))
        begin += duration
    return spans


def counter_step(span_ns: int) -> int:
    """Return a step of 1, 2 or 5 times a power of ten ms that cuts a span into at most 2,000."""
    step = _SHORTEST_STEP_NS
    factors = (2, 5, 10)
    decade = step
    turn = 0
    while span_ns // step > _COUNTER_STEPS:
        step = decade * factors[turn % 3]
        turn += 1
        if turn % 3 == 0:
            decade = step
    return step
