"""Why devices were idle: each gap between executions, what the host did in it, and between which.

A gap ends with an execution. Where the host had asked for it before the gap began, and longer ago
than a launch takes to begin, the host was ahead, and the gap is the devices' own: they waited for
each other, or for a graph to begin. Else the host made them wait until it asked. What it did until
then is covered in this order, so that each moment counts once: compiling or loading kernels,
collecting garbage, allocating memory of the device, waiting for the device, launching; the rest is
Python and other code of the host. The cause is what covers most, with two exceptions. Where the
host still waited for the device when the gap began, that is the cause, unless what comes before it
in the order covers half: it could not be ahead. And where code was generated and first loaded in a
gap, what generated it is not recorded: all of that is compiling. Gaps that are `short` are not the
host's: so long it takes to begin one execution after another.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final, Literal

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from kvtrace.figures.columns import Integers, integers
from kvtrace.figures.lines import Place, place_of
from kvtrace.figures.steps import requests
from kvtrace.schema.symbols import titled
from kvtrace.schema.window import TraceWindow

if TYPE_CHECKING:
    from kvtrace.schema.trace import Run, Trace

Cause = Literal[
    "compile", "collect", "allocate", "synchronize", "launch", "host", "device", "short", "unknown"
]

#: What the host does, in the order in which moments are given to it.
_HELD: Final[tuple[Cause, ...]] = ("compile", "collect", "allocate", "synchronize", "launch")
_KINDS: Final = {
    "collect": ("collect",),
    "allocate": ("allocate", "free", "allocate_host"),
    "synchronize": ("synchronize",),
}
#: Shorter gaps, in ns, that the host did not cause, are summed: so long it takes to begin one
#: execution after another.
SHORT: Final = 20_000
#: A wait of the host that ends so little before a gap, in ns, still is what the gap began with.
_RETURN: Final = 10_000
#: A launch that takes longer, in ns, did more than launch.
_LONGEST_LAUNCH: Final = 1_000_000
#: Between these, in ns, lies the time from a launch to its execution on an idle device.
_LATENCY: Final = (5_000, 50_000)
#: So many groups of gaps are kept, and of executions between two gaps names.
_GROUPS: Final = 50
_FROM_DEVICE: Final = "memcpy device to host"


@dataclass(frozen=True, slots=True)
class Ends:
    """What a gap lies between: names of executions, and the lines that asked for them."""

    before: str
    after: str
    before_place: Place | None = None
    after_place: Place | None = None


@dataclass(frozen=True, slots=True)
class GapGroup:
    """Gaps with one cause between the same executions and lines.

    Attributes:
        cause: Why the devices waited.
        number: How many gaps.
        total_ns: How long they are together.
        longest_ns: The longest.
        ends: What they lie between, as the longest does.
        place: The line of the host that the cause is about, where it is known.
        held_ns: What the host did in them, by cause; the rest is Python and other code.
        events: How often each happened in them: launches, copies, allocations …
        kernels: Kernels that were compiled or loaded in them.

    """

    cause: Cause
    number: int
    total_ns: int
    longest_ns: int
    ends: Ends
    place: Place | None = None
    held_ns: Mapping[str, int] = field(default_factory=dict)
    events: Mapping[str, int] = field(default_factory=dict)
    kernels: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Gaps:
    """When devices were idle, by cause; times are measured.

    `by_cause` sums `idle_ns`, the largest first. `small` is the part of it that lies around kernels
    shorter than `SMALL`, while the host did nothing but launch and run Python.
    """

    idle_ns: int
    by_cause: Mapping[Cause, int]
    groups: tuple[GapGroup, ...]
    small: Mapping[Cause, int] = field(default_factory=dict)

    @property
    def explained(self) -> float | None:
        """The share of idle time whose cause is known; None without any."""
        if not self.idle_ns:
            return None
        return 1 - self.by_cause.get("unknown", 0) / self.idle_ns


#: Kernels that take less, in ns, cost more to launch than to run.
SMALL: Final = 5_000
#: A gap around such kernels that is longer, in ns, has another reason.
_AROUND_SMALL: Final = 100_000


def read_gaps(trace: "Trace", runs: Sequence["Run"]) -> Gaps | None:
    """Return when the devices of a window were idle, and why; None where nothing was timed.

    Errors as `Trace.table`.
    """
    whole = trace.whole if isinstance(trace, TraceWindow) else trace
    stacks: dict[int, Place | None] | None = None
    total, sums, small = 0, dict[Cause, int](), dict[Cause, int]()
    found: list[GapGroup] = []
    for run in runs:
        if not run.has_gaps:
            continue
        gaps = _RunGaps.read(trace, whole, run)
        if gaps is None:
            continue
        if stacks is None:
            stacks = _places(whole, runs)
        total += int(gaps.taken.sum())
        for cause in sorted(set(gaps.cause.tolist())):  # not by hash: equal runs, equal output
            own = gaps.cause == cause
            sums[cause] = sums.get(cause, 0) + int(gaps.taken[own].sum())
            around = int(gaps.taken[own & gaps.around_small].sum())
            small[cause] = small.get(cause, 0) + around
        found += gaps.groups(stacks)
    if stacks is None:
        return None
    merged = _merged(found)
    ordered = dict(sorted(sums.items(), key=lambda item: -item[1]))
    return Gaps(total, ordered, tuple(merged[:_GROUPS]), small)


def _places(trace: "Trace", runs: Sequence["Run"]) -> dict[int, Place | None]:
    rows = trace.table("stacks", runs, ["stack_id", "frames"]).to_pylist()
    return {row["stack_id"]: place_of(row["frames"] or ()) for row in rows}


def _merged(groups: Sequence[GapGroup]) -> list[GapGroup]:
    """Return groups that are alike as one, those that took longest first."""
    alike: dict[Any, list[GapGroup]] = {}
    for one in groups:
        alike.setdefault((one.cause, one.place, one.ends), []).append(one)
    found = []
    for several in alike.values():
        first = max(several, key=lambda one: one.longest_ns)
        found.append(
            GapGroup(
                cause=first.cause,
                number=sum(one.number for one in several),
                total_ns=sum(one.total_ns for one in several),
                longest_ns=first.longest_ns,
                ends=first.ends,
                place=first.place,
                held_ns=_added([one.held_ns for one in several]),
                events=_added([one.events for one in several]),
                kernels=tuple(dict.fromkeys(name for one in several for name in one.kernels)),
            )
        )
    return sorted(found, key=lambda one: -one.total_ns)


def _added(parts: Sequence[Mapping[str, int]]) -> dict[str, int]:
    names = dict.fromkeys(name for part in parts for name in part)
    return {name: sum(part.get(name, 0) for part in parts) for name in names}


@dataclass(slots=True)
class _RunGaps:
    """The gaps of one run as columns; `before` and `after` are rows of `rows`, -1: the window."""

    begin: Integers
    end: Integers
    before: Integers
    after: Integers
    cause: npt.NDArray[Any]
    held: dict[str, Integers]
    around_small: npt.NDArray[np.bool_]
    rows: pa.Table
    stack: Integers
    events: "_HostEvents"

    @property
    def taken(self) -> Integers:
        """How long each is, in ns."""
        return self.end - self.begin

    @classmethod
    def read(cls, trace: "Trace", whole: "Trace", run: "Run") -> "_RunGaps | None":
        columns = ["start", "end", "name", "kind", "launch_seq", "call_id", "graph_id", "stack_id"]
        rows = trace.table("gpu_kernels", [run], columns)
        rows = rows.filter(pc.and_(pc.is_valid(rows["start"]), pc.is_valid(rows["end"])))
        asked, start, end = requests(trace, run, whole)
        order = np.argsort(start, kind="stable")
        if isinstance(trace, TraceWindow):
            window = trace.window_of(run.run_id)
            inside = (window.device_begin <= start) & (start < window.device_end)
            order = order[inside[order]]
        if not order.size:
            return None
        rows, asked, start, end = rows.take(pa.array(order)), asked[order], start[order], end[order]
        until = np.maximum.accumulate(end)
        # The row that ends last of all up to each.
        last = np.maximum.accumulate(np.where(end >= until, np.arange(end.size), 0))
        idle = np.flatnonzero(start[1:] > until[:-1])
        begin, stop = until[idle], start[idle + 1]
        before, after = last[idle], idle + 1
        if isinstance(trace, TraceWindow):
            if start[0] > window.device_begin:
                begin, stop = np.insert(begin, 0, window.device_begin), np.insert(stop, 0, start[0])
                before, after = np.insert(before, 0, -1), np.insert(after, 0, 0)
            if until[-1] < window.device_end:
                begin, stop = np.append(begin, until[-1]), np.append(stop, window.device_end)
                before, after = np.append(before, last[-1]), np.append(after, -1)
        events = _HostEvents.read(whole, run)
        wanted = np.where(after >= 0, asked[after], np.int64(-1))
        # The next execution of which it is known says until when at the latest it was asked for.
        known = np.where(asked >= 0, asked, np.iinfo(np.int64).max)
        latest = np.minimum.accumulate(known[::-1])[::-1]
        latest = np.where(after >= 0, latest[after], np.iinfo(np.int64).max)
        latency = _latency(asked, start)
        cause, held = _causes(begin, stop, wanted, latest, latency, events)
        copied = pc.equal(rows["name"].cast(pa.string()), _FROM_DEVICE)
        read_back = pc.fill_null(copied, False).to_numpy() & (not events.recorded)
        waited = (before >= 0) & read_back[before] & np.isin(cause, ("host", "launch"))
        cause = np.where(waited, "synchronize", cause)
        short = (stop - begin < SHORT) & np.isin(cause, ("device", "unknown"))
        own = (end - start < SMALL) & rows["kind"].is_null().to_numpy()
        around = (before >= 0) & (after >= 0) & own[before] & own[after]
        around &= (stop - begin < _AROUND_SMALL) & np.isin(cause, ("host", "launch", "unknown"))
        cause = np.where(short, "short", cause)
        stack = _stacks_of(whole, run, rows)
        return cls(begin, stop, before, after, cause, held, around, rows, stack, events)

    def groups(self, places: Mapping[int, Place | None]) -> list[GapGroup]:
        """Return the gaps that are not short, with those alike together."""
        listed = np.flatnonzero(self.cause != "short")
        names = [titled(n or "?") for n in self.rows["name"].cast(pa.string()).to_pylist()]
        alike: dict[Any, list[int]] = {}
        for gap in listed.tolist():
            before, after = int(self.before[gap]), int(self.after[gap])
            ends = Ends(
                names[before] if before >= 0 else "the beginning",
                names[after] if after >= 0 else "the end",
                places.get(int(self.stack[before])) if before >= 0 else None,
                places.get(int(self.stack[after])) if after >= 0 else None,
            )
            cause = str(self.cause[gap])
            stack = self.events.stack_at(cause, int(self.begin[gap]), int(self.end[gap]))
            place = None if stack is None else places.get(stack)
            alike.setdefault((cause, place, ends), []).append(gap)
        found = []
        for (cause, place, ends), gaps in alike.items():
            at = np.array(gaps)
            taken = self.taken[at]
            found.append(
                GapGroup(
                    cause=cause,
                    number=len(gaps),
                    total_ns=int(taken.sum()),
                    longest_ns=int(taken.max()),
                    ends=ends,
                    place=place,
                    held_ns={
                        name: total
                        for name, held in self.held.items()
                        if (total := int(held[at].sum()))
                    },
                    events=self.events.within(self.begin[at], self.end[at]),
                    kernels=self.events.compiled(self.begin[at], self.end[at]),
                )
            )
        return found


def _latency(asked: Integers, start: Integers) -> int:
    """Return how long after it is asked for an execution begins, on an idle device, in ns.

    It is twice what the quickest take, since most take longer.
    """
    lag = (start - asked)[asked >= 0]
    quickest = 2 * float(np.percentile(lag, 1)) if lag.size else 0.0
    return int(np.clip(quickest, *_LATENCY))


def _causes(
    begin: Integers,
    end: Integers,
    asked: Integers,
    latest: Integers,
    latency: int,
    events: "_HostEvents",
) -> tuple[npt.NDArray[Any], dict[str, Integers]]:
    """Return the cause of each gap, and what of it is held by what.

    `asked` is when the host asked for what ends it, or -1, and `latest` until when it must have. It
    is ahead where that was `latency` before the execution began.
    """
    host_end = np.where(asked >= 0, np.clip(asked, begin, end), end)
    covered = np.zeros_like(begin)
    held: dict[str, Integers] = {}
    union = (np.zeros(0, np.int64), np.zeros(0, np.int64))
    for name in _HELD:
        union = _union(
            *(np.concatenate(pair) for pair in zip(union, events.spans[name], strict=True))
        )
        now = _within(*union, begin, host_end)
        held[name] = now - covered
        covered = now
    # From the call on, launching is what is left.
    held["launch"] = held["launch"] + np.where(asked >= 0, end - host_end, 0)
    taken = end - begin
    held["host"] = taken - sum(held.values())
    names = np.array([*_HELD, "host"])
    most = np.argmax(np.stack([held[name] for name in names]), axis=0)
    cause = names[most].astype("U16")
    waited = events.waiting_at(begin)
    sooner = held["compile"] + held["collect"] + held["allocate"]
    cause = np.where(waited & (2 * sooner < taken), "synchronize", cause)
    cause = np.where(events.generated_in(begin, end), "compile", cause)
    unknown = (asked < 0) & (cause == "host")
    cause = np.where(unknown, "unknown", cause)
    known = np.where(asked >= 0, asked, latest)
    ahead = (known <= begin) & (known < end - latency)
    return np.where(ahead, "device", cause), held


@dataclass(slots=True)
class _HostEvents:
    """What the host of a run did, as spans by cause."""

    spans: dict[str, tuple[Integers, Integers]]
    rows: dict[str, tuple[Integers, Integers, list[int | None]]]
    kernels: list[tuple[int, int, str]]
    generated: Integers
    recorded: bool

    @classmethod
    def read(cls, trace: "Trace", run: "Run") -> "_HostEvents":
        names = ["name", "origin", "compile_begin", "compile_ns", "load_begin", "load_ns"]
        made = trace.table("kernels", [run], names)
        kernels, generated = [], []
        titles = made["name"].cast(pa.string()).to_pylist()
        origins = made["origin"].cast(pa.string()).to_pylist()
        for first, taken in (names[2:4], names[4:]):
            moments, lengths = integers(made[first], -1), integers(made[taken])
            for at, length, name, origin in zip(
                moments.tolist(), lengths.tolist(), titles, origins, strict=True
            ):
                if at >= 0:
                    kernels.append((at, at + max(length, 0), name or "?"))
                    generated += [at] if origin == "inductor" else []
        events = trace.table("host_events", [run], ["kind", "begin", "end", "stack_id"])
        events = events.filter(pc.and_(pc.is_valid(events["begin"]), pc.is_valid(events["end"])))
        kinds = events["kind"].cast(pa.string())
        rows = {}
        for cause, wanted in _KINDS.items():
            some = events.filter(pc.is_in(kinds, pa.array(wanted)))
            order = np.argsort(integers(some["begin"]), kind="stable")
            some = some.take(pa.array(order))
            rows[cause] = (
                integers(some["begin"]), integers(some["end"]), some["stack_id"].to_pylist()
            )  # fmt: skip
        launches = trace.table("launches", [run], ["enter", "exit"])
        enter, leave = integers(launches["enter"]), integers(launches["exit"])
        plain = (enter > 0) & (leave - enter < _LONGEST_LAUNCH)
        ordered = sorted(kernels)
        spans = {cause: _union(begins, ends) for cause, (begins, ends, _) in rows.items()}
        spans["launch"] = _union(enter[plain], leave[plain])
        spans["compile"] = _union(
            np.array([b for b, _, _ in ordered], np.int64),
            np.array([e for _, e, _ in ordered], np.int64),
        )
        rows["launch"] = (np.sort(enter), np.sort(leave), [])
        return cls(
            spans, rows, ordered, np.sort(np.array(generated, np.int64)), events.num_rows > 0
        )

    def waiting_at(self, moments: Integers) -> npt.NDArray[np.bool_]:
        """Tell at which moments the host waited for the device, or had just waited."""
        begins, ends = self.spans["synchronize"]
        if not begins.size:
            return np.zeros(moments.size, bool)
        at = np.searchsorted(begins, moments, side="right") - 1
        return np.asarray((at >= 0) & (ends[np.maximum(at, 0)] >= moments - _RETURN))

    def generated_in(self, begin: Integers, end: Integers) -> npt.NDArray[np.bool_]:
        """Tell in which gaps code that was generated was compiled or loaded."""
        first = np.searchsorted(self.generated, begin)
        return np.asarray(np.searchsorted(self.generated, end) > first)

    def stack_at(self, cause: str, begin: int, end: int) -> int | None:
        """Return the stack of the longest event of a cause that touches a gap."""
        if cause not in _KINDS:
            return None
        begins, ends, stacks = self.rows[cause]
        last = int(np.searchsorted(begins, end, side="right"))
        first = last
        while first > 0 and (ends[first - 1] >= begin - _RETURN or last - first < 8):
            first -= 1
        touching = [i for i in range(first, last) if ends[i] >= begin - _RETURN]
        longest = max(touching, key=lambda i: ends[i] - begins[i], default=None)
        return None if longest is None else stacks[longest]

    def within(self, begin: Integers, end: Integers) -> dict[str, int]:
        """Count what began in some gaps."""
        found = {}
        for cause, (begins, _, _) in self.rows.items():
            number = int((np.searchsorted(begins, end) - np.searchsorted(begins, begin)).sum())
            if number:
                found[cause] = number
        return found

    def compiled(self, begin: Integers, end: Integers) -> tuple[str, ...]:
        """Return the kernels that were compiled or loaded in some gaps."""
        moments = np.array([at for at, _, _ in self.kernels], np.int64)
        found: dict[str, None] = {}
        for low, high in zip(
            np.searchsorted(moments, begin).tolist(),
            np.searchsorted(moments, end).tolist(),
            strict=True,
        ):
            found |= dict.fromkeys(name for _, _, name in self.kernels[low:high])
        return tuple(found)


def _stacks_of(trace: "Trace", run: "Run", rows: pa.Table) -> Integers:
    """Return the stack that each execution comes from: the row's, else its call's; else -1."""
    calls = trace.table("calls", [run], ["call_id", "stack_id"])
    known = dict(zip(calls["call_id"].to_pylist(), calls["stack_id"].to_pylist(), strict=True))
    own, call = rows["stack_id"].to_pylist(), rows["call_id"].to_pylist()
    found = [
        stack if stack is not None else known.get(number)
        for stack, number in zip(own, call, strict=True)
    ]
    return np.array([-1 if each is None else each for each in found], np.int64)


def _union(begin: Integers, end: Integers) -> tuple[Integers, Integers]:
    """Return the union of intervals, in order."""
    if not begin.size:
        return begin, end
    order = np.argsort(begin, kind="stable")
    begin, until = begin[order], np.maximum.accumulate(end[order])
    fresh = np.append(True, begin[1:] > until[:-1])
    return begin[fresh], until[np.append(np.flatnonzero(fresh)[1:] - 1, begin.size - 1)]


def _within(first: Integers, last: Integers, begin: Integers, end: Integers) -> Integers:
    """Return how much of each of some ranges a union of intervals covers."""
    if not first.size:
        return np.zeros_like(begin)
    before = np.append(0, np.cumsum(last - first))

    def upto(moment: Integers) -> Integers:
        at = np.searchsorted(first, moment, side="right")
        inside = np.where(at > 0, np.minimum(moment, last[at - 1]) - first[at - 1], 0)
        return np.asarray(np.where(at > 0, before[np.maximum(at - 1, 0)] + inside, 0))

    return upto(np.maximum(begin, end)) - upto(begin)
