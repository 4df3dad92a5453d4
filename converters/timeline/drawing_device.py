"""Device tracks of a timeline: streams, graphs, collectives, steps; counters of launches, rates."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from hashlib import blake2b
from itertools import count
from typing import Any, Final

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from kvtrace.converters.timeline.call_work import CallWork, DerivedCalls
from kvtrace.converters.timeline.captions import (
    Caption,
    Facts,
    device_symbol,
    execution_caption,
    step_caption,
)
from kvtrace.converters.timeline.launch_rows import LaunchColumns
from kvtrace.converters.timeline.timeline import Counter, Integers, Slices, Track, Unit
from kvtrace.figures.collectives import Collectives
from kvtrace.figures.columns import combined_codes, dictionary_values, integers, narrow
from kvtrace.figures.names import shown_names
from kvtrace.schema.collective_names import operation_of_kernel
from kvtrace.schema.runs import Run

_MOST_STEPS: Final = 2_000
_SHORTEST_STEP_NS: Final = 1_000_000
#: Launches that are counted in one NumPy operation.
_PIECE: Final = 1 << 20
#: With more executions than this on a device, rates are means over intervals.
_MOST: Final = 1 << 20

Floats = npt.NDArray[np.float64]
#: Columns that all kernels of one graph replay share, as it is one launch.
_REPLAY_COLUMNS: Final = ("device", "graph_id", "correlation_id")
#: Columns whose values executions of one caption share.
CAPTION_COLUMNS: Final = (
    "name", "kind", "call_id", "grid_x", "grid_y", "grid_z", "block_x", "block_y", "block_z",
    "registers", "shared_bytes", "bytes", "graph_id", "graph_node_id",
)  # fmt: skip
#: Columns of each execution, beside its caption.
DRAWN_COLUMNS: Final = (
    "record", "launch_seq", "start", "end", "stream", "call_id", *_REPLAY_COLUMNS
)  # fmt: skip
#: The columns of `gpu_kernels` that are drawn.
EXECUTION_COLUMNS: Final = tuple(dict.fromkeys((*DRAWN_COLUMNS, *CAPTION_COLUMNS)))
#: Ranks (order) of tracks below their device; rates come first, with ranks below 0.
_STEPS, _REPLAYS, _STREAMS = 0, 1, 2


@dataclass(frozen=True, slots=True)
class StepLaunches:
    """First and last launch (`seq`) and number of launches of each step; `last` is -1 without any.

    `name` is that of the steps' mark, `number` the number of the first step.
    """

    name: str
    first: Integers
    last: Integers
    counts: Integers
    number: int = 0

    def of(self, seq: Integers) -> Integers:
        """Return the index of the step of each launch (`seq`), -1 outside of steps."""
        if not self.first.size:
            return np.full(seq.shape, -1)
        step = np.searchsorted(self.first, seq, "right") - 1
        return np.where((step >= 0) & (seq >= 0) & (seq <= self.last[step]), step, -1)


def step_launches(
    name: str, begin: Integers, end: Integers, launches: LaunchColumns, number: int = 0
) -> StepLaunches:
    """Return the launches of each step: those that begin in it.

    Args:
        name: the name of the steps' mark.
        begin: begins of the steps, sorted, in ns.
        end: ends of the steps, in ns.
        launches: the launches of the run.
        number: the number of the first step.

    """
    first_seq = np.full(begin.size, np.iinfo(np.int64).max)
    last_seq = np.full(begin.size, -1, np.int64)
    counts = np.zeros(begin.size, np.int64)
    for rows in launches.threads.values():
        step = np.searchsorted(begin, rows.begin, "right") - 1
        rows_in_steps = np.flatnonzero((step >= 0) & (rows.begin <= end[step]))
        seq = rows.seq[rows_in_steps].astype(np.int64)
        np.minimum.at(first_seq, step[rows_in_steps], seq)
        np.maximum.at(last_seq, step[rows_in_steps], seq)
        counts += np.bincount(step[rows_in_steps], minlength=begin.size)
    return StepLaunches(
        name, np.minimum.accumulate(first_seq[::-1])[::-1], last_seq, counts, number
    )


@dataclass(slots=True)
class DeviceDrawing:
    """Drawer of a run's executions, below one track for each device, above all processes.

    `draw` adds to `slices` and `counters`. `suffix` is added to the devices' names, such as the
    run's rank. `block_threads` and `names` have threads per block and kernel names by call id.
    `flows` is a function from launch numbers to the flow numbers of arrows.
    """

    run: Run
    process: Track
    suffix: str | None
    derived: DerivedCalls
    block_threads: Mapping[int, int]
    names: Mapping[int, str]
    flows: Callable[[Integers], npt.NDArray[np.uint64]]
    slices: list[Slices] = field(default_factory=list)
    counters: list[Counter] = field(default_factory=list)

    def draw(self, rows: pa.Table, captioned: pa.Table, steps: StepLaunches | None) -> None:
        """Draw executions, all with a start; errors as `Trace.table`.

        `rows` has `DRAWN_COLUMNS`, and `caption`: the row in `captioned` with `CAPTION_COLUMNS`.
        """
        codes, first = combined_codes([rows["caption"]])
        captioned = captioned.take(rows["caption"].take(first))
        caption_of_code, first = combined_codes([captioned[name] for name in CAPTION_COLUMNS])
        caption = narrow(caption_of_code)[codes]
        captioned = captioned.take(first).to_pylist()
        shown = shown_names(map(device_symbol, captioned))
        captions = [
            execution_caption(
                row,
                self.names.get(row["call_id"], shown[device_symbol(row)]),
                self._facts(row["call_id"]),
            )
            for row in captioned
        ]
        begin, duration = _begins_and_durations(rows)
        seq = narrow(integers(rows["launch_seq"], missing=-1))
        flow = self.flows(seq)
        flow[seq < 0] = 0
        slices = Slices(self.process, "gpu", begin, narrow(duration), caption, captions, seq, flow)
        codes, first = combined_codes([rows["device"]])
        codes = narrow(codes)
        call = narrow(integers(rows["call_id"], missing=-1))
        in_graph = pc.is_valid(rows["graph_id"]).to_numpy()
        for number, index in enumerate(dictionary_values(rows["device"], first)):
            device, on_device = self._device(index), _rows_with(codes, number)
            self.counters += rate_counters(
                device,
                begin[on_device],
                duration[on_device],
                call[on_device],
                self.derived.work,
            )
            if steps is not None:
                step = np.where(in_graph[on_device], -1, steps.of(seq[on_device]))
                self._draw_steps(device, steps, step, begin[on_device], duration[on_device])
        self._draw_replays(rows)
        codes, first = combined_codes([rows["device"], rows["stream"]])
        streams = rows.select(["device", "stream"]).take(first).to_pylist()
        for number, row in enumerate(streams):
            stream = "?" if row["stream"] is None else row["stream"]
            track = self._device(row["device"]).child(f"stream {stream}", rank=_STREAMS)
            self.slices += slices.rows(codes == number, track).on_lanes()

    def _device(self, index: int | None) -> Track:
        name = f"GPU {'?' if index is None else index}"
        name = name if self.suffix is None else f"{name} · {self.suffix}"
        about = [_device_text(device) for device in self.run.devices if device["index"] == index]
        path = (*self.process.path, name, "0")
        return Track(path, "lane", self.process.pid, about=about[0] if about else None)

    def _facts(self, call_id: int | None) -> Facts:
        threads = None if call_id is None else self.block_threads.get(call_id)
        block: Facts = () if threads is None else (("threads of a block", threads),)
        return (*block, *self.derived.facts(call_id))

    def _draw_steps(
        self,
        device: Track,
        steps: StepLaunches,
        step: Integers,
        begin: Integers,
        duration: Integers,
    ) -> None:
        """Draw each step from the begin of its first execution to the end of its last.

        `step` has the index of each execution's step. It is -1 for executions of graph replays,
        whose launches are those at the capture.
        """
        in_steps = np.flatnonzero(step >= 0)
        if not in_steps.size:
            return
        first_begin = np.full(int(step.max()) + 1, np.iinfo(np.int64).max)
        last_end = np.full(first_begin.size, -1, np.int64)
        np.minimum.at(first_begin, step[in_steps], begin[in_steps])
        np.maximum.at(last_end, step[in_steps], (begin + duration)[in_steps])
        executed_steps = np.flatnonzero(last_end >= 0)
        order = np.argsort(begin, kind="stable")
        ns_before = np.append(0, np.cumsum(duration[order]))
        low, high = (
            np.searchsorted(begin[order], t[executed_steps]) for t in (first_begin, last_end)
        )
        figures = (executed_steps + steps.number, high - low, ns_before[high] - ns_before[low])
        captions = [
            step_caption(steps.name, number, (("executions", ran), ("device ns", ns)))
            for number, ran, ns in zip(*(column.tolist() for column in figures), strict=True)
        ]
        track = device.child("steps of the device", rank=_STEPS)
        begins, durations = first_begin[executed_steps], (last_end - first_begin)[executed_steps]
        slices = Slices(track, "step", begins, durations, np.arange(executed_steps.size), captions)
        self.slices += slices.on_lanes()

    def _draw_replays(self, rows: pa.Table) -> None:
        """Draw each replay of a graph, from its first kernel's begin to its last one's end."""
        is_replay = pc.and_(pc.is_valid(rows["graph_id"]), pc.is_valid(rows["correlation_id"]))
        rows = rows.filter(is_replay)
        if not rows.num_rows:
            return
        starts, durations = _begins_and_durations(rows)
        replay, first = combined_codes([rows[name] for name in _REPLAY_COLUMNS])
        begin, end = starts[first], (starts + durations)[first]
        np.minimum.at(begin, replay, starts)
        np.maximum.at(end, replay, starts + durations)
        graphs = integers(rows["graph_id"].take(first))
        graphs_and_kernels, caption = np.unique(
            np.stack([graphs, np.bincount(replay)], axis=1), axis=0, return_inverse=True
        )
        captions = [
            Caption(f"graph {graph}", (("graph_id", graph), ("kernels", kernels)))
            for graph, kernels in graphs_and_kernels.tolist()
        ]
        slices = Slices(self.process, "graph", begin, end - begin, caption.reshape(-1), captions)
        devices, distinct = combined_codes([rows["device"].take(first)])
        for number, device in enumerate(dictionary_values(rows["device"].take(first), distinct)):
            track = self._device(device).child("graph replays", rank=_REPLAYS)
            self.slices += slices.rows(devices == number, track).on_lanes()


def _rows_with(codes: Integers, number: int) -> slice | Integers:
    """Return an index of the rows with a code, which copies nothing if all rows have it."""
    is_chosen = codes == number
    return slice(None) if is_chosen.all() else np.flatnonzero(is_chosen)


def _begins_and_durations(rows: pa.Table) -> tuple[Integers, Integers]:
    """Return begins and durations of rows in ns; 0 if the end is missing or before the begin."""
    begins = integers(rows["start"])
    durations = np.maximum(integers(rows["end"], missing=np.iinfo(np.int64).min), begins)
    durations -= begins
    return begins, durations


def _device_text(device: Mapping[str, Any]) -> str:
    """Return a text on a device, such as `NVIDIA H200 · capability 9.0 · 139.8 GiB`."""
    parts = [str(device["name"] or "unknown model")]
    if device["capability"]:
        parts.append(f"capability {device['capability']}")
    if device["memory_bytes"]:
        parts.append(f"{device['memory_bytes'] / 2**30:.1f} GiB")
    return " · ".join(parts)


def collective_slices(
    collectives: Collectives, run: Run, track: Track, records: Integers
) -> list[Slices]:
    """Return slices of a rank's waiting for the last rank, and of transfers.

    A flow links the transfers of a collective over its ranks. Collectives that are not matched, and
    executions whose `record` is not among the sorted `records`, are left out.
    """
    ran = collectives.of_rank(run)
    is_drawn = (ran.matched >= 0) & (ran.last >= 0) & np.isin(ran.record, records)
    start, transfer, end, last, name, matched = (
        column[is_drawn]
        for column in (ran.start, ran.transfer, ran.end, ran.last, ran.name, ran.matched)
    )
    waits = transfer > start
    ranks = [Caption(f"waiting for rank {other.rank}") for other in collectives.runs]
    moving = [Caption(operation_of_kernel(text), (("kernel", text),)) for text in ran.names]
    digest = blake2b(f"collectives of {run.group_id}".encode(), digest_size=8).digest()
    flow = matched.astype(np.uint64) + np.uint64(int.from_bytes(digest, "little"))
    slices = Slices(
        track,
        "collective",
        np.concatenate([start[waits], transfer]),
        np.concatenate([(transfer - start)[waits], end - transfer]),
        np.concatenate([last[waits], len(ranks) + name]),
        [*ranks, *moving],
        flow=np.concatenate([np.zeros(int(waits.sum()), np.uint64), np.maximum(flow, 1)]),
    )
    return slices.on_lanes() if slices.begin.size else []


# Counters of a timeline: launches per interval, and rates of bytes and FLOPs on a device.
#
# A rate is the derived work of a launch divided by its measured device time: 8 MB in 4 µs are 2
# TB/s for these 4 µs. Rates of executions that overlap in time are added. Library kernels and
# copies have no derived work and count as 0, so a rate is a lower bound.


def counter_step(span_ns: int) -> int:
    """Return the least interval in ns (1, 2, 5, 10, 20, … ms) of which a span has at most 2,000."""
    decades = (10**exponent for exponent in count())
    steps = (digit * decade * _SHORTEST_STEP_NS for decade in decades for digit in (1, 2, 5))
    return next(int(step) for step in steps if span_ns // step <= _MOST_STEPS)


def launch_counter(process: Track, begins: Sequence[Integers]) -> Counter:
    """Return a counter of the launches that began in each interval; `begins` must not be empty."""
    first = min(int(begin.min()) for begin in begins)
    span = max(int(begin.max()) for begin in begins) - first
    step = counter_step(span)
    values = np.zeros(span // step + 2, np.int64)  # the last value is 0: the counter's end
    for begin in begins:
        for start in range(0, begin.size, _PIECE):
            steps = (begin[start : start + _PIECE] - first) // step
            values += np.bincount(steps, minlength=values.size)
    changed = np.flatnonzero(np.diff(values, prepend=-1))
    track = process.counter(f"launches per {step // 1_000_000} ms", "count", rank=-1)
    return Counter(track, first + changed * step, values[changed])


def rate_counters(
    device: Track, begin: Integers, duration: Integers, call: Integers, work: Mapping[int, CallWork]
) -> list[Counter]:
    """Return counters of one device: share of the roofline, distinct bytes/s and FLOP/s.

    Counters that would be 0 throughout are left out.

    Args:
        device: the device's track.
        begin: begins of the device's executions, in ns.
        duration: durations of the executions, in ns.
        call: call ids of the executions, -1 if unknown.
        work: derived work by call id; executions of other calls count as 0.

    """
    call_ids = np.array(sorted(work), np.int64)
    if not call_ids.size or not begin.size:
        return []
    index = np.minimum(np.searchsorted(call_ids, call), call_ids.size - 1)
    rows = np.flatnonzero((call_ids[index] == call) & (duration > 0))
    if not rows.size:
        return []
    begin, duration, index = begin[rows], duration[rows], index[rows]
    counters = []
    quantities = _quantities([work[identity] for identity in call_ids.tolist()])
    for index_of_quantity, (name, unit, amounts) in enumerate(quantities):
        amount = amounts[index]
        if not amount.any():
            continue
        suffix, times, values = _rate_changes(begin, duration, amount)
        track = device.counter(f"{name}{suffix} (derived)", unit, index_of_quantity - 3)
        counters.append(Counter(track, times, values))
    return counters


def _quantities(calls: Sequence[CallWork]) -> list[tuple[str, Unit, Floats]]:
    """Return name and unit of each rate, and for each call the amount to divide by its ns."""
    best = np.array([work.best_ns or 0.0 for work in calls])
    distinct = np.array([float(work.unique_bytes or 0) for work in calls])
    flops = np.array([float(work.flops) for work in calls])
    return [
        ("achieved of the roofline", "%", best * 100),
        ("distinct bytes", "B/s", distinct * 1e9),
        ("FLOPs", "FLOP/s", flops * 1e9),
    ]


def _rate_changes(
    begin: Integers, duration: Integers, amount: Floats
) -> tuple[str, Integers, Integers]:
    """Return a suffix for the counter's name, the times at which its rate changes, and rates."""
    if begin.size > _MOST:
        return _mean_rates(begin, duration, amount)
    rate = np.rint(amount / duration).astype(np.int64)  # integers, so that sums return to 0
    times = np.concatenate([begin, begin + duration])
    order = np.argsort(times, kind="stable")
    times = times[order]
    values = np.cumsum(np.concatenate([rate, -rate])[order])
    is_last_of_time = np.append(times[1:] != times[:-1], True)
    times, values = times[is_last_of_time], values[is_last_of_time]
    changed = np.flatnonzero(np.diff(values, prepend=-1))
    return "", times[changed], values[changed]


def _mean_rates(
    begin: Integers, duration: Integers, amount: Floats
) -> tuple[str, Integers, Integers]:
    first = int(begin.min())
    step = counter_step(int((begin + duration).max()) - first)
    sums = np.bincount((begin - first) // step, weights=amount)
    values = np.rint(np.append(sums, 0.0) / step).astype(np.int64)
    times: Integers = first + np.arange(values.size) * step
    return f", mean of {step // 1_000_000} ms", times, values
