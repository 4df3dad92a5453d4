"""Data of timelines, which `drawing.py` builds and every timeline format encodes.

There is one `Timeline` per run: a process with tracks, which have slices and counters.
Slices are columns (NumPy arrays) that refer to captions (name and facts) by index, since many
slices share a caption. Slices of one track nest; slices that would overlap are on lanes, which are
tracks beside theirs (below it for a thread) that say so. Times are ns since 1970, UTC.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from hashlib import blake2b
from typing import Final, Literal

import numpy as np
import numpy.typing as npt

from kvtrace.converters.timeline.captions import Caption
from kvtrace.converters.timeline.nesting import lanes

Integers = npt.NDArray[np.int64]
Kind = Literal["process", "thread", "lane", "counter"]
#: Units of counters.
Unit = Literal["count", "B", "B/s", "FLOP/s", "%"]

#: Key of the fact with a launch's number (`launches.seq`).
LAUNCH: Final = "launch"
_NOUNS: Final = {
    "launch": "launches",
    "compile": "compilations, stages and loads",
    "mark": "marks",
    "gpu": "device executions",
    "graph": "replays of graphs",
    "collective": "waits and transfers of collectives",
    "step": "steps of host and devices",
    "message": "messages",
}


@dataclass(frozen=True, slots=True)
class Track:
    """A line of the timeline.

    `path` is unique: run id, process, then a name and a number for each level below. Tracks of one
    parent are ordered by `rank`, the lowest on top; devices have no parent, and are above all
    processes. `about` is a description: a process's command, a device's model.
    """

    path: tuple[str, ...]
    kind: Kind
    pid: int
    parent: "Track | None" = None
    tid: int | None = None
    rank: int = 0
    about: str | None = None
    unit: Unit = "count"

    @property
    def name(self) -> str:
        """The displayed name, to which viewers add the pid or tid."""
        return self.path[1] if self.kind == "process" else self.path[-2]

    @property
    def identity(self) -> int:
        """A 64-bit hash of the path, never 0, so that it is the same in every conversion."""
        digest = blake2b("\0".join(self.path).encode(), digest_size=8).digest()
        return int.from_bytes(digest, "little") or 1

    def child(self, name: str, kind: Kind = "lane", lane: int = 0, rank: int = 0) -> "Track":
        """Return a track below this track; `lane` distinguishes tracks of one name."""
        return Track((*self.path, name, str(lane)), kind, self.pid, self, rank=rank)

    def counter(self, name: str, unit: Unit, rank: int) -> "Track":
        """Return a track for a counter, below this track."""
        return replace(self.child(name, "counter", rank=rank), unit=unit)

    def lane(self, number: int) -> "Track":
        """Return the track of a lane: this track for lane 0, else one named, say, `overlapping 2`.

        Further lanes of a thread or of a track without a parent are below it; of others, they are
        siblings whose name begins with theirs, since viewers draw tracks of one name as one.
        """
        if number == 0:
            return self
        name = "overlapping" if number == 1 else f"overlapping {number}"
        if self.parent is None or self.kind == "thread":
            return self.child(name, lane=number)
        return replace(self, path=(*self.path[:-2], f"{self.name} · {name}", str(number)))


@dataclass(frozen=True, slots=True)
class Slices:
    """Slices of one track, in any order. All arrays have one entry per slice.

    All arrays except `begin` and `flow` may be of any integer type that fits their values.
    `caption` has indexes into `captions`, and `launch` the launches' numbers, -1 for none. `flow`
    has a number that slices of one flow (arrow) share, 0 for none. If they `are_instants`, they are
    points in time: sorted, without a duration.
    """

    track: Track
    category: str
    begin: Integers
    duration: Integers
    caption: Integers
    captions: Sequence[Caption]
    launch: Integers | None = None
    flow: npt.NDArray[np.uint64] | None = None
    are_instants: bool = False

    @property
    def end(self) -> Integers:
        """The end of each slice, in ns since 1970."""
        return self.begin + self.duration

    def rows(self, chosen: npt.NDArray[np.bool_], track: Track) -> "Slices":
        """Return the slices where `chosen` is true, on another track."""
        if chosen.all():
            return replace(self, track=track)
        indices = np.flatnonzero(chosen)
        return replace(
            self,
            track=track,
            begin=self.begin[indices],
            duration=self.duration[indices],
            caption=self.caption[indices],
            launch=None if self.launch is None else self.launch[indices],
            flow=None if self.flow is None else self.flow[indices],
        )

    def on_lanes(self) -> "list[Slices]":
        """Return the slices split by lane, so that the slices of each lane nest."""
        lane = lanes(self.begin, self.duration)
        if lane is None:
            return [self]
        numbers = range(int(lane.max()) + 1)
        return [self.rows(lane == number, self.track.lane(number)) for number in numbers]


@dataclass(frozen=True, slots=True)
class Counter:
    """A number over time: it is `value[i]` from `time[i]` (ns since 1970) on."""

    track: Track
    time: Integers
    value: Integers


@dataclass(slots=True)
class Timeline:
    """Timeline of one run.

    `left_out` counts rows that could not be drawn, by reason. `facts` are those of the run, by
    name. `notes` are sentences on how the timeline was drawn.
    """

    process: Track
    slices: list[Slices] = field(default_factory=list)
    counters: list[Counter] = field(default_factory=list)
    left_out: dict[str, int] = field(default_factory=dict)
    facts: dict[str, str] = field(default_factory=dict)
    notes: tuple[str, ...] = ()

    def shifted(self, move: "Callable[[Integers], Integers]", why: str) -> "Timeline":
        """Return the timeline with all times moved by a function, and `why` as a further note."""
        slices = []
        for part in self.slices:
            begin = move(part.begin)  # ends are moved, too, so that slices nest as before
            slices.append(replace(part, begin=begin, duration=move(part.end) - begin))
        return replace(
            self,
            slices=slices,
            counters=[replace(part, time=move(part.time)) for part in self.counters],
            notes=(*self.notes, why),
        )

    @property
    def parts(self) -> list["Slices | Counter"]:
        """All slices and counters."""
        return [*self.slices, *self.counters]

    @property
    def tracks(self) -> tuple[Track, ...]:
        """The process and every track with a slice or a counter; parents first."""
        tracks: dict[Track, None] = {self.process: None}
        for part in self.parts:
            track_and_parents = [part.track]
            while track_and_parents[-1].parent is not None:
                track_and_parents.append(track_and_parents[-1].parent)
            tracks.update(dict.fromkeys(reversed(track_and_parents)))
        return tuple(tracks)

    @property
    def first(self) -> int | None:
        """The earliest time on the timeline, in ns since 1970, or None if it is empty."""
        arrays = [p.begin if isinstance(p, Slices) else p.time for p in self.parts]
        return min((int(array.min()) for array in arrays if array.size), default=None)


@dataclass(slots=True)
class Tally:
    """Counts of slices drawn by a conversion, and of rows left out by reason."""

    drawn: dict[str, int] = field(default_factory=dict)
    left_out: dict[str, int] = field(default_factory=dict)
    notes: dict[str, None] = field(default_factory=dict)
    runs: int = 0

    def add(self, timeline: Timeline) -> None:
        """Count a timeline's slices by category, and its rows left out by reason."""
        self.runs += 1
        self.notes |= dict.fromkeys(timeline.notes)
        for part in timeline.slices:
            self.drawn[part.category] = self.drawn.get(part.category, 0) + part.begin.size
        for reason, count in timeline.left_out.items():
            self.left_out[reason] = self.left_out.get(reason, 0) + count

    def sentences(self) -> tuple[str, ...]:
        """Return sentences on the drawn slices, the rows left out by reason, and the notes."""
        counts = [f"{count:,} {_NOUNS[name]}" for name, count in self.drawn.items() if count]
        runs = "1 run" if self.runs == 1 else f"{self.runs} runs"
        summary = f"{runs}: {', '.join(counts) or 'nothing with a time'}"
        left_out_sentences = tuple(
            f"left out: {why} ({count:,})" for why, count in self.left_out.items()
        )
        return (summary, *left_out_sentences, *self.notes)
