"""What the devices of a run did, on a timeline: streams, replays of graphs, steps, and rates."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Final

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from kvtrace.converters.timeline.call_work import DerivedCalls
from kvtrace.converters.timeline.captions import (
    Facts,
    execution_caption,
    replay_caption,
    step_caption,
)
from kvtrace.converters.timeline.drawing_rates import rate_counters
from kvtrace.converters.timeline.launch_rows import LaunchColumns
from kvtrace.converters.timeline.timeline import Counter, Integers, Slices, Track
from kvtrace.figures.columns import combined_codes, dictionary_values, integers
from kvtrace.schema.runs import Run

#: What the kernels of one replay of a graph have in common: its launch has one correlation id.
_REPLAY: Final = ("device", "graph_id", "correlation_id")
_ALIKE: Final = (
    "name", "call_id", "grid_x", "grid_y", "grid_z", "registers", "shared_bytes", "bytes",
    "graph_id", "graph_node_id",
)  # fmt: skip
#: Ranks of tracks below their device; rates have ranks below 0.
_STEPS, _REPLAYS, _STREAMS = 0, 1, 2


@dataclass(frozen=True, slots=True)
class StepLaunches:
    """The launches of each step: from the first `seq` to the last, in order; -1 where none.

    `number` is that of the first one.
    """

    name: str
    first: Integers
    last: Integers
    counts: Integers
    number: int = 0

    def of(self, seq: Integers) -> Integers:
        """Return the step of each launch, -1 for none."""
        if not self.first.size:
            return np.full(seq.shape, -1)
        place = np.searchsorted(self.first, seq, "right") - 1
        return np.where((place >= 0) & (seq >= 0) & (seq <= self.last[place]), place, -1)


def step_launches(
    name: str, begin: Integers, end: Integers, launches: LaunchColumns, number: int = 0
) -> StepLaunches:
    """Find the launches of each step, by when they were entered; steps are by their begins.

    `number` is that of the first step.
    """
    first = np.full(begin.size, np.iinfo(np.int64).max)
    last = np.full(begin.size, -1, np.int64)
    counts = np.zeros(begin.size, np.int64)
    for rows in launches.threads.values():
        step = np.searchsorted(begin, rows.begin, "right") - 1
        own = np.flatnonzero((step >= 0) & (rows.begin <= end[step]))
        seq = rows.seq[own].astype(np.int64)
        np.minimum.at(first, step[own], seq)
        np.maximum.at(last, step[own], seq)
        counts += np.bincount(step[own], minlength=begin.size)
    return StepLaunches(name, np.minimum.accumulate(first[::-1])[::-1], last, counts, number)


@dataclass(slots=True)
class DeviceDrawing:
    """Draws what devices did below separate tracks, above all processes.

    `beside` is what tells a run's devices from those of other runs, such as its rank; `names`
    are those of calls' kernels; `flows` numbers the launches for arrows.
    """

    run: Run
    process: Track
    beside: str | None
    derived: DerivedCalls
    blocks: Mapping[int, int]
    names: Mapping[int, str]
    flows: Callable[[Integers], npt.NDArray[np.uint64]]
    slices: list[Slices] = field(default_factory=list)
    counters: list[Counter] = field(default_factory=list)

    def draw(self, rows: pa.Table, steps: StepLaunches | None) -> None:
        """Draw executions that have a begin; errors as `Trace.table`."""
        begin, duration = _interval(rows)
        codes, first = combined_codes([rows[name] for name in _ALIKE])
        captions = [
            execution_caption(row, self._facts(row["call_id"]), self.names.get(row["call_id"]))
            for row in rows.select(_ALIKE).take(first).to_pylist()
        ]
        seq = integers(rows["launch_seq"], missing=-1)
        flow = np.where(seq >= 0, self.flows(seq), np.uint64(0))
        slices = Slices(self.process, "gpu", begin, duration, codes, captions, seq, flow)
        where, first = combined_codes([rows["device"]])
        call = integers(rows["call_id"], missing=-1)
        graph = pc.is_valid(rows["graph_id"]).to_numpy()
        for number, index in enumerate(dictionary_values(rows["device"], first)):
            device, own = self._device(index), np.flatnonzero(where == number)
            self.counters += rate_counters(
                device, begin[own], duration[own], call[own], self.derived.work
            )
            if steps is not None:
                step = np.where(graph[own], -1, steps.of(seq[own]))
                self._draw_steps(device, steps, step, begin[own], duration[own])
        self._draw_replays(rows)
        where, first = combined_codes([rows["device"], rows["stream"]])
        places = rows.select(["device", "stream"]).take(first).to_pylist()
        for number, place in enumerate(places):
            stream = "?" if place["stream"] is None else place["stream"]
            track = self._device(place["device"]).child(f"stream {stream}", rank=_STREAMS)
            self.slices += slices.rows(where == number, track).on_lanes()

    def _device(self, index: int | None) -> Track:
        name = f"GPU {'?' if index is None else index}"
        name = name if self.beside is None else f"{name} · {self.beside}"
        known = [device for device in self.run.devices if device["index"] == index]
        path = (*self.process.path, name, "0")
        return Track(path, "lane", self.process.pid, about=_model(known[0]) if known else None)

    def _facts(self, call_id: int | None) -> Facts:
        block = None if call_id is None else self.blocks.get(call_id)
        own: Facts = () if block is None else (("threads of a block", block),)
        return (*own, *self.derived.facts(call_id))

    def _draw_steps(
        self,
        device: Track,
        steps: StepLaunches,
        step: Integers,
        begin: Integers,
        duration: Integers,
    ) -> None:
        """Draw each step from the first execution that was launched in it to the last.

        What a replay of a graph runs was launched when the graph was captured: nobody knows in
        which step, and its `step` is -1.
        """
        own = np.flatnonzero(step >= 0)
        if not own.size:
            return
        first = np.full(int(step.max()) + 1, np.iinfo(np.int64).max)
        last = np.full(first.size, -1, np.int64)
        np.minimum.at(first, step[own], begin[own])
        np.maximum.at(last, step[own], (begin + duration)[own])
        there = np.flatnonzero(last >= 0)
        order = np.argsort(begin, kind="stable")
        taken = np.append(0, np.cumsum(duration[order]))
        low, high = (np.searchsorted(begin[order], t[there]) for t in (first, last))
        figures = (there + steps.number, high - low, taken[high] - taken[low])
        captions = [
            step_caption(steps.name, number, (("executions", ran), ("device ns", ns)))
            for number, ran, ns in zip(*(column.tolist() for column in figures), strict=True)
        ]
        track = device.child("steps", rank=_STEPS)
        found = first[there], (last - first)[there], np.arange(there.size)
        self.slices += Slices(track, "step", *found, captions).on_lanes()

    def _draw_replays(self, rows: pa.Table) -> None:
        """Draw each replay of a graph, from its first kernel to its last, above the streams."""
        known = pc.and_(pc.is_valid(rows["graph_id"]), pc.is_valid(rows["correlation_id"]))
        rows = rows.filter(known)
        if not rows.num_rows:
            return
        starts, durations = _interval(rows)
        replay, first = combined_codes([rows[name] for name in _REPLAY])
        begin, end = starts[first], (starts + durations)[first]
        np.minimum.at(begin, replay, starts)
        np.maximum.at(end, replay, starts + durations)
        graphs = integers(rows["graph_id"].take(first))
        alike, caption = np.unique(
            np.stack([graphs, np.bincount(replay)], axis=1), axis=0, return_inverse=True
        )
        captions = [replay_caption(graph, kernels) for graph, kernels in alike.tolist()]
        slices = Slices(self.process, "graph", begin, end - begin, caption.reshape(-1), captions)
        devices, distinct = combined_codes([rows["device"].take(first)])
        for number, device in enumerate(dictionary_values(rows["device"].take(first), distinct)):
            track = self._device(device).child("graph replays", rank=_REPLAYS)
            self.slices += slices.rows(devices == number, track).on_lanes()


def _interval(rows: pa.Table) -> tuple[Integers, Integers]:
    """Return begins and durations; a missing or earlier end gives a duration of zero."""
    begins = integers(rows["start"])
    ends = integers(rows["end"], missing=np.iinfo(np.int64).min)
    return begins, np.maximum(ends, begins) - begins


def _model(device: Mapping[str, Any]) -> str:
    """Return a device as text, such as `NVIDIA H200 · capability 9.0 · 139.8 GiB`."""
    told = [str(device["name"] or "unknown model")]
    if device["capability"]:
        told.append(f"capability {device['capability']}")
    if device["memory_bytes"]:
        told.append(f"{device['memory_bytes'] / 2**30:.1f} GiB")
    return " · ".join(told)
