"""The timeline of a trace as plain data, for every format that draws one.

One `Timeline` per run: a process with tracks, and on them slices, instants, and counters. Slices
are columns (NumPy arrays); what they have in common with others, name and facts, is in captions
that rows refer to by index. Slices of one track nest: those that would overlap are on lanes, which
are tracks of the same name and parent. Times are ns since 1970, UTC. `drawing.py` makes it.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from hashlib import blake2b
from typing import TYPE_CHECKING, Final, Literal

import numpy as np
import numpy.typing as npt

from kvtrace import registry
from kvtrace.converters.timeline.captions import Caption
from kvtrace.converters.timeline.nesting import lanes

if TYPE_CHECKING:
    from kvtrace.schema.runs import Run
    from kvtrace.schema.trace import Trace

Integers = npt.NDArray[np.int64]
Kind = Literal["process", "thread", "lane", "counter"]
#: What a counter counts: things, or per second, or hundredths.
Unit = Literal["count", "B/s", "FLOP/s", "%"]

#: Key of the fact that says which row of `launches` a slice is.
LAUNCH: Final = "launch"
_NOUNS: Final = {
    "launch": "launches",
    "compile": "compilations, stages and loads",
    "mark": "marks",
    "gpu": "device executions",
    "graph": "replays of graphs",
    "step": "steps",
    "message": "messages",
}


@dataclass(frozen=True, slots=True)
class Track:
    """A line of the timeline.

    `path` is unique: the run, the process, then a name and a number for each level below. Tracks
    with one parent are ordered by `rank`, the lowest on top; a device has none, and is above all
    processes. `about` is shown besides its name: a process's command, a device's model.
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
        """What is beside it, where viewers add the pid or tid; lanes share their name."""
        return self.path[1] if self.kind == "process" else self.path[-2]

    @property
    def identity(self) -> int:
        """64-bit hash of its path, never 0: the same in every conversion, unlike in other runs."""
        digest = blake2b("\0".join(self.path).encode(), digest_size=8).digest()
        return int.from_bytes(digest, "little") or 1

    def child(self, name: str, kind: Kind = "lane", lane: int = 0, rank: int = 0) -> "Track":
        """Return a track below this one; `lane` tells apart those of one name."""
        return Track((*self.path, name, str(lane)), kind, self.pid, self, rank=rank)

    def counter(self, name: str, unit: Unit, rank: int) -> "Track":
        """Return a counter's track below this one."""
        return replace(self.child(name, "counter", rank=rank), unit=unit)

    def lane(self, number: int) -> "Track":
        """Return the track of a lane: the track itself, or one beside it with the same name.

        A thread has one track, so its further lanes are below it.
        """
        if number == 0:
            return self
        if self.parent is None or self.kind == "thread":
            return self.child("overlapping", lane=number)
        return replace(self, path=(*self.path[:-1], str(number)))


@dataclass(frozen=True, slots=True)
class Slices:
    """Slices of one track, in no particular order. All arrays have one entry per slice.

    All but `begin` and `flow` may be of any integer type that holds their values.
    `caption` are indices into `captions`; `launch` is the launch's `seq`, -1 for none; `flow` is a
    number that slices of one flow share, 0 for none; with several columns, several of each slice.
    """

    track: Track
    category: str
    begin: Integers
    duration: Integers
    caption: Integers
    captions: Sequence[Caption]
    launch: Integers | None = None
    flow: npt.NDArray[np.uint64] | None = None

    @property
    def end(self) -> Integers:
        """When each slice ends."""
        return self.begin + self.duration

    def rows(self, chosen: npt.NDArray[np.bool_], track: Track) -> "Slices":
        """Return some of the slices, on another track."""
        places = np.flatnonzero(chosen)
        return replace(
            self,
            track=track,
            begin=self.begin[places],
            duration=self.duration[places],
            caption=self.caption[places],
            launch=None if self.launch is None else self.launch[places],
            flow=None if self.flow is None else self.flow[places],
        )

    def on_lanes(self) -> "list[Slices]":
        """Return the slices on their track, and those that would overlap on further lanes."""
        lane = lanes(self.begin, self.duration)
        if lane is None:
            return [self]
        numbers = range(int(lane.max()) + 1)
        return [self.rows(lane == number, self.track.lane(number)) for number in numbers]


@dataclass(frozen=True, slots=True)
class Instants:
    """Points in time on one track, ordered by time; `caption` are indices into `captions`."""

    track: Track
    category: str
    time: Integers
    caption: Integers
    captions: Sequence[Caption]


@dataclass(frozen=True, slots=True)
class Counter:
    """A number over time: `value[i]` holds from `time[i]` on."""

    track: Track
    time: Integers
    value: Integers


@dataclass(slots=True)
class Timeline:
    """One run's timeline. `left_out` counts rows that could not be drawn, by reason.

    `facts` are of the run as a whole, by name; `notes` are sentences on how it was drawn.
    """

    process: Track
    slices: list[Slices] = field(default_factory=list)
    instants: list[Instants] = field(default_factory=list)
    counters: list[Counter] = field(default_factory=list)
    left_out: dict[str, int] = field(default_factory=dict)
    facts: dict[str, str] = field(default_factory=dict)
    notes: tuple[str, ...] = ()

    def moved(self, ns: int, why: str) -> "Timeline":
        """Return it with all times later by `ns`, and a note that says why."""
        return replace(
            self,
            slices=[replace(part, begin=part.begin + ns) for part in self.slices],
            instants=[replace(part, time=part.time + ns) for part in self.instants],
            counters=[replace(part, time=part.time + ns) for part in self.counters],
            notes=(*self.notes, why),
        )

    @property
    def parts(self) -> list["Slices | Instants | Counter"]:
        """Everything that is on a track."""
        return [*self.slices, *self.instants, *self.counters]

    @property
    def tracks(self) -> tuple[Track, ...]:
        """The process, and every track that holds something; parents before children."""
        found: dict[Track, None] = {self.process: None}
        for part in self.parts:
            chain = [part.track]
            while chain[-1].parent is not None:
                chain.append(chain[-1].parent)
            found.update(dict.fromkeys(reversed(chain)))
        return tuple(found)

    @property
    def first(self) -> int | None:
        """The earliest time in it, or None if it is empty."""
        arrays = [p.begin if isinstance(p, Slices) else p.time for p in self.parts]
        return min((int(array.min()) for array in arrays if array.size), default=None)


@dataclass(slots=True)
class Drawn:
    """What a part draws of a run, and what it leaves out: how many, by reason."""

    slices: list[Slices] = field(default_factory=list)
    counters: list[Counter] = field(default_factory=list)
    left_out: dict[str, int] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class TimelinePart:
    """What an add-on or another package draws: the group `kvtrace.timeline_parts`.

    Its slices have a separate `category`, and `noun` says what they are (plural).
    """

    category: str
    noun: str
    draw: "Callable[[Trace, Run, Track], Drawn]"


def timeline_parts() -> tuple[TimelinePart, ...]:
    """Return every part."""
    return tuple(part for _, part in registry.loaded("timeline_parts"))


@dataclass(slots=True)
class Tally:
    """What a conversion has drawn so far, and what it had to leave out."""

    drawn: dict[str, int] = field(default_factory=dict)
    left_out: dict[str, int] = field(default_factory=dict)
    notes: dict[str, None] = field(default_factory=dict)
    runs: int = 0

    def add(self, timeline: Timeline) -> None:
        """Count a timeline's slices and instants by category, and its rows left out by reason."""
        self.runs += 1
        self.notes |= dict.fromkeys(timeline.notes)
        for part in timeline.slices:
            self.drawn[part.category] = self.drawn.get(part.category, 0) + part.begin.size
        for points in timeline.instants:
            self.drawn[points.category] = self.drawn.get(points.category, 0) + points.time.size
        for reason, count in timeline.left_out.items():
            self.left_out[reason] = self.left_out.get(reason, 0) + count

    def sentences(self) -> tuple[str, ...]:
        """Say what was drawn, and what was not."""
        nouns = _NOUNS | {part.category: part.noun for part in timeline_parts()}
        counts = [f"{count:,} {nouns[name]}" for name, count in self.drawn.items() if count]
        runs = "1 run" if self.runs == 1 else f"{self.runs} runs"
        drawn = f"{runs}: {', '.join(counts) or 'nothing with a time'}"
        missing = tuple(f"left out: {why} ({count:,})" for why, count in self.left_out.items())
        return (drawn, *missing, *self.notes)
