"""Causes of device idle time: the gaps between executions, attributed to host activity.

A gap ends with an execution. If the host had requested this execution before the gap began, and
earlier than a launch takes to begin, the host was ahead, and the cause is `device`: devices waited
for each other, or for a graph to begin. Else the devices waited for the host's request. The time
until the request is attributed to host activities in this order, so that each moment counts once:
compiling or loading kernels, collecting garbage, allocating device memory, waiting for the device,
launching; the rest is Python and other host code. The cause is the activity that covers most, with
two exceptions. If the host was waiting for the device when the gap began, the cause is
`synchronize`, unless the activities before it in the order cover half of the gap. And if generated
code was first loaded in a gap, its generation is not recorded, and the cause is `compile`. Gaps
below `SHORT` that the host did not cause are `short`: the time between two executions in a row.

Example: an execution ends at 100 µs, the host collects garbage from 90 to 160 µs and requests the
next execution at 200 µs, which begins at 210 µs. The gap of 110 µs has 60 µs collect, 10 µs launch
(from request to begin) and 40 µs host; the cause is `collect`.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final, Literal

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from kvtrace.figures.columns import (
    Integers,
    Positions,
    coded,
    combined_codes,
    integers,
    summed_by,
)
from kvtrace.figures.intervals import time_covered, union_of
from kvtrace.figures.lines import Place, places_by_stack
from kvtrace.figures.names import shown_names
from kvtrace.figures.steps import requests
from kvtrace.figures.trials import TUNING
from kvtrace.schema.window import TraceWindow, whole_trace

if TYPE_CHECKING:
    from kvtrace.schema.trace import Run, Trace

Cause = Literal[
    "compile", "collect", "allocate", "synchronize", "launch", "host", "device", "short", "unknown"
]

#: Host activities, in the order in which moments are attributed to them.
_ACTIVITIES: Final[tuple[Cause, ...]] = ("compile", "collect", "allocate", "synchronize", "launch")
#: All causes; columns have a cause's index.
_CAUSES: Final[tuple[Cause, ...]] = (*_ACTIVITIES, "host", "device", "short", "unknown")
_INDEX: Final = {cause: index for index, cause in enumerate(_CAUSES)}
_KINDS: Final[dict[Cause, tuple[str, ...]]] = {
    "collect": ("collect",),
    "allocate": ("allocate", "free", "allocate_host"),
    "synchronize": ("synchronize",),
}
#: Nanoseconds below which gaps that the host did not cause are only summed: the time between two
#: executions in a row.
SHORT: Final = 20_000
#: Nanoseconds by which a wait of the host may end before a gap and still belong to the gap.
_RETURN: Final = 10_000
#: Nanoseconds above which a launch did more than launch, and is left out.
_LONGEST_LAUNCH: Final = 1_000_000
#: Bounds, in ns, of the time from a launch to its execution on an idle device.
_LATENCY: Final = (5_000, 50_000)
#: Most groups of gaps that are returned.
_GROUPS: Final = 50
_FROM_DEVICE: Final = "memcpy device to host"


@dataclass(frozen=True, slots=True)
class Ends:
    """The names of the executions before and after a gap, and the lines that requested them."""

    before: str
    after: str
    before_place: Place | None = None
    after_place: Place | None = None


@dataclass(frozen=True, slots=True)
class GapGroup:
    """All gaps with the same cause, the same host line, and the same executions around them.

    Attributes:
        cause: Why the devices waited.
        number: Number of gaps.
        total_ns: Sum of the gaps' durations.
        longest_ns: Duration of the longest gap.
        ends: Executions around the longest gap.
        place: The host's line with the cause, if known.
        held_ns: Nanoseconds of the gaps spent in each host activity; `host` is Python and other
            code.
        events: Number of events in the gaps, by kind: launches, allocations …
        kernels: Kernels that were compiled or loaded in the gaps.

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
class ShortExecutions:
    """The executions of one kernel that took less than `SMALL`; copies and fills have none."""

    name: str
    number: int
    total_ns: int


@dataclass(frozen=True, slots=True)
class StepTimes:
    """Durations of a run's steps on devices, and the idle time in each step by cause, in ns.

    `first` is the number of the first step in the run, as `--steps` counts, and `begin` the begin
    of each step after that of the window. A gap before a step's first execution belongs to the step
    before it, since a step begins with its first execution.
    """

    run: str
    first: int
    begin: tuple[int, ...]
    duration_ns: tuple[int, ...]
    idle_ns: Mapping[Cause, tuple[int, ...]]


@dataclass(frozen=True, slots=True)
class Gaps:
    """Measured idle time of devices, in ns, by cause.

    `by_cause` splits `idle_ns`, longest time first. `small` has, by cause, the idle time between
    two kernels shorter than `SMALL` in which the host only launched and ran Python.
    `short_executions` has the kernels with executions shorter than `SMALL`, the most frequent
    first. `paused_ns` is the part of the cause `host` in `pauses`, gaps of at least `PAUSE`, which
    the pace of launching does not explain; `paused_between_steps_ns` is the part of it in pauses
    that last until the first execution of a step. `steps` has the times of each run with at most
    `MOST_STEPS` steps.
    """

    idle_ns: int
    by_cause: Mapping[Cause, int]
    groups: tuple[GapGroup, ...]
    small: Mapping[Cause, int] = field(default_factory=dict)
    short_executions: tuple[ShortExecutions, ...] = ()
    paused_ns: int = 0
    pauses: int = 0
    paused_between_steps_ns: int = 0
    steps: tuple[StepTimes, ...] = ()

    @property
    def explained(self) -> float | None:
        """The share (0 to 1) of idle time whose cause is known; None without idle time."""
        if not self.idle_ns:
            return None
        return 1 - self.by_cause.get("unknown", 0) / self.idle_ns


#: Runs with more steps have no times by step.
MOST_STEPS: Final = 10_000
#: Nanoseconds from which a gap with the cause `host` is a pause of the program.
PAUSE: Final = 1_000_000
#: Nanoseconds below which kernels cost more to launch than to run.
SMALL: Final = 5_000
#: Nanoseconds above which a gap between such kernels has another cause.
_AROUND_SMALL: Final = 100_000


def read_gaps(trace: "Trace", runs: Sequence["Run"]) -> Gaps | None:
    """Return the devices' idle time by cause, at most 50 groups; None without timed executions."""
    whole = whole_trace(trace)
    stacks: dict[int, Place | None] | None = None
    total, paused, pauses, between_steps = 0, 0, 0, 0
    sums, small = dict[Cause, int](), dict[Cause, int]()
    groups: list[GapGroup] = []
    short: dict[str, ShortExecutions] = {}
    steps: list[StepTimes] = []
    for run in runs:
        if not run.has_gaps:
            continue
        gaps = _RunGaps.read(trace, whole, run)
        if gaps is None:
            continue
        if stacks is None:
            stacks = places_by_stack(whole, runs)
        total += int(gaps.duration.sum())
        is_pause = (gaps.cause == _INDEX["host"]) & (gaps.duration >= PAUSE)
        paused += int(gaps.duration[is_pause].sum())
        pauses += int(is_pause.sum())
        if isinstance(trace, TraceWindow):
            is_between = is_pause & np.isin(gaps.end, trace.window_of(run.run_id).device_steps)
            between_steps += int(gaps.duration[is_between].sum())
        for cause, of_cause in gaps.by_cause().items():
            sums[cause] = sums.get(cause, 0) + int(gaps.duration[of_cause].sum())
            small_ns = int(gaps.duration[of_cause & gaps.around_small].sum())
            small[cause] = small.get(cause, 0) + small_ns
        groups += gaps.groups(stacks)
        if isinstance(trace, TraceWindow):
            steps += _step_times(trace, run, gaps)
        for of_run in gaps.short_executions:
            name, before = of_run.name, short.get(of_run.name, ShortExecutions(of_run.name, 0, 0))
            number, total_ns = before.number + of_run.number, before.total_ns + of_run.total_ns
            short[name] = ShortExecutions(name, number, total_ns)
    if stacks is None:
        return None
    merged = _merged(groups)
    ordered = dict(sorted(sums.items(), key=lambda item: -item[1]))
    frequent = sorted(short.values(), key=lambda of_kernel: (-of_kernel.number, of_kernel.name))
    return Gaps(
        total,
        ordered,
        tuple(merged[:_GROUPS]),
        small,
        tuple(frequent),
        paused,
        pauses,
        between_steps,
        tuple(steps),
    )


def _merged(groups: Sequence[GapGroup]) -> list[GapGroup]:
    """Return one group for all groups of equal cause, place and ends, longest total first."""
    by_key: dict[Any, list[GapGroup]] = {}
    for group in groups:
        by_key.setdefault((group.cause, group.place, group.ends), []).append(group)
    merged = []
    for same_key_groups in by_key.values():
        longest = max(same_key_groups, key=lambda group: group.longest_ns)
        merged.append(
            GapGroup(
                cause=longest.cause,
                number=sum(group.number for group in same_key_groups),
                total_ns=sum(group.total_ns for group in same_key_groups),
                longest_ns=longest.longest_ns,
                ends=longest.ends,
                place=longest.place,
                held_ns=_sums_by_name([group.held_ns for group in same_key_groups]),
                events=_sums_by_name([group.events for group in same_key_groups]),
                kernels=tuple(dict.fromkeys(name for g in same_key_groups for name in g.kernels)),
            )
        )
    return sorted(merged, key=lambda group: -group.total_ns)


def _sums_by_name(counts: Sequence[Mapping[str, int]]) -> dict[str, int]:
    names = dict.fromkeys(name for count in counts for name in count)
    return {name: sum(count.get(name, 0) for count in counts) for name in names}


@dataclass(slots=True)
class _RunGaps:
    """The gaps of one run as columns, in order.

    `before` and `after` are the indices in `rows` (the executions sorted by start) of the
    executions around each gap, -1 at an edge of the window. `cause` has indices in `_CAUSES`,
    `activities` the nanoseconds of
    each gap by host activity; `stack` has the stack id of each execution, or -1.
    """

    begin: Integers
    end: Integers
    before: Integers
    after: Integers
    cause: npt.NDArray[np.int8]
    activities: dict[str, Integers]
    around_small: npt.NDArray[np.bool_]
    rows: pa.Table
    stack: Integers
    events: "_HostEvents"
    short_executions: list[ShortExecutions]

    @property
    def duration(self) -> Integers:
        """Durations of the gaps, in ns."""
        return self.end - self.begin

    def by_cause(self) -> dict[Cause, npt.NDArray[np.bool_]]:
        """Return a mask of the gaps of each cause that occurs, in order of names."""
        causes = {_CAUSES[index]: index for index in np.unique(self.cause).tolist()}
        return {cause: self.cause == causes[cause] for cause in sorted(causes)}

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
        # For each row, the row that ends last among all rows up to it.
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
        requested = np.where(after >= 0, asked[after], np.int64(-1))
        # An execution was requested no later than the next executions with a known request.
        bound = np.where(asked >= 0, asked, np.iinfo(np.int64).max)
        latest = np.minimum.accumulate(bound[::-1])[::-1]
        latest = np.where(after >= 0, latest[after], np.iinfo(np.int64).max)
        latency = _latency(asked, start)
        cause, activities = _causes(begin, stop, requested, latest, latency, events)
        copied = pc.equal(rows["name"].cast(pa.string()), _FROM_DEVICE)
        read_back = pc.fill_null(copied, False).to_numpy() & (not events.recorded)
        waited = (before >= 0) & read_back[before] & _is_one_of(cause, "host", "launch")
        cause[waited] = _INDEX["synchronize"]
        short = (stop - begin < SHORT) & _is_one_of(cause, "device", "unknown")
        is_small = (end - start < SMALL) & rows["kind"].is_null().to_numpy()
        around = (before >= 0) & (after >= 0) & is_small[before] & is_small[after]
        around &= (stop - begin < _AROUND_SMALL) & _is_one_of(cause, "host", "launch", "unknown")
        cause[short] = _INDEX["short"]
        stack = _stacks_of(whole, run, rows)
        short_rows = _short_executions(rows["name"], end - start, is_small)
        return cls(
            begin, stop, before, after, cause, activities, around, rows, stack, events, short_rows
        )

    def groups(self, places: Mapping[int, Place | None]) -> list[GapGroup]:
        """Return the gaps whose cause is not `short`, grouped by cause, place and ends.

        `places` has the program's line of each stack id.
        """
        listed = np.flatnonzero(self.cause != _INDEX["short"])
        if not listed.size:
            return []
        cause = self.cause[listed]
        titles, title = _title_codes(self.rows["name"])
        before, after = self.before[listed], self.after[listed]
        causing_stack = np.full(listed.size, -1)
        for index in np.flatnonzero(_is_one_of(cause, *_KINDS)).tolist():
            gap, name = listed[index], _CAUSES[cause[index]]
            stack = self.events.stack_at(name, int(self.begin[gap]), int(self.end[gap]))
            causing_stack[index] = -1 if stack is None else stack
        stacks = (
            causing_stack,
            np.where(before >= 0, self.stack[before], -1),
            np.where(after >= 0, self.stack[after], -1),
        )
        distinct_stacks, codes = np.unique(np.concatenate(stacks), return_inverse=True)
        place_of_stack = [places.get(stack) for stack in distinct_stacks.tolist()]
        # Stacks with the same line are one place.
        first_place = {place: code for code, place in enumerate(place_of_stack)}
        place_codes = np.array([first_place[place] for place in place_of_stack])
        keys = (
            cause,
            np.where(before >= 0, title[before], len(titles)),
            np.where(after >= 0, title[after], len(titles)),
            *place_codes[codes].reshape(len(stacks), -1),
        )
        key, _ = combined_codes([pa.chunked_array([codes]) for codes in keys])
        order = np.argsort(key, kind="stable")
        first_rows = np.flatnonzero(np.diff(key[order], prepend=-1))
        groups, durations = [], self.duration
        for rows in sorted(np.split(order, first_rows[1:]), key=lambda rows: int(rows[0])):
            cause_code, title_before, title_after, *place = (int(codes[rows[0]]) for codes in keys)
            own_place, place_before, place_after = (place_of_stack[code] for code in place)
            gaps = listed[rows]
            duration = durations[gaps]
            groups.append(
                GapGroup(
                    cause=_CAUSES[cause_code],
                    number=len(gaps),
                    total_ns=int(duration.sum()),
                    longest_ns=int(duration.max()),
                    ends=Ends(
                        [*titles, "the beginning"][title_before],
                        [*titles, "the end"][title_after],
                        place_before,
                        place_after,
                    ),
                    place=own_place,
                    held_ns={
                        name: total
                        for name, nanoseconds in self.activities.items()
                        if (total := int(nanoseconds[gaps].sum()))
                    },
                    events=self.events.within(self.begin[gaps], self.end[gaps]),
                    kernels=self.events.compiled(self.begin[gaps], self.end[gaps]),
                )
            )
        return groups


def _step_times(trace: TraceWindow, run: "Run", gaps: _RunGaps) -> list[StepTimes]:
    """Return the times of the run's steps, as a list of one; empty without steps or with many."""
    window = trace.window_of(run.run_id)
    bounds = np.array(window.device_steps, np.int64)
    if not 2 <= len(bounds) <= MOST_STEPS + 1:
        return []
    step = np.clip(np.searchsorted(bounds, gaps.begin, "right") - 1, 0, len(bounds) - 2)
    idle = {}
    for cause, of_cause in gaps.by_cause().items():
        sums = summed_by(step[of_cause], gaps.duration[of_cause])
        idle[cause] = (*sums.tolist(), *([0] * (len(bounds) - 1 - len(sums))))
    first = min(window.device_begin for window in trace.windows.values())
    begin = tuple((bounds[:-1] - first).tolist())
    durations = tuple(np.diff(bounds).tolist())
    return [StepTimes(run.run_id, window.first_step, begin, durations, idle)]


def _short_executions(
    names: pa.ChunkedArray, duration: Integers, is_small: npt.NDArray[np.bool_]
) -> list[ShortExecutions]:
    """Return the number and time of the `is_small` executions by name; durations are in ns."""
    table = pa.table({"name": names.cast(pa.string()), "ns": duration}).filter(pa.array(is_small))
    sums = table.group_by("name").aggregate([("ns", "count"), ("ns", "sum")]).to_pylist()
    shown = shown_names(row["name"] or "?" for row in sums)
    return [
        ShortExecutions(shown[row["name"] or "?"], row["ns_count"], row["ns_sum"]) for row in sums
    ]


def _latency(asked: Integers, start: Integers) -> int:
    """Return an estimate, in ns, of the time from a request to its execution on an idle device.

    `asked` and `start` have the request and begin of each execution. Most executions wait for
    earlier work, so the estimate is twice the first percentile of the delays, within `_LATENCY`.
    """
    delays = (start - asked)[asked >= 0]
    estimate = 2 * float(np.percentile(delays, 1)) if delays.size else 0.0
    return int(np.clip(estimate, *_LATENCY))


def _causes(
    begin: Integers,
    end: Integers,
    asked: Integers,
    latest: Integers,
    latency: int,
    events: "_HostEvents",
) -> tuple[npt.NDArray[np.int8], dict[str, Integers]]:
    """Return the index of each gap's cause in `_CAUSES`, and its nanoseconds by host activity.

    `asked` is when the host requested the execution that ends the gap, or -1, and `latest` an upper
    bound of that time. The cause is `device` if the request came before the gap and at least
    `latency` ns before the gap's end.
    """
    host_end = np.where(asked >= 0, np.clip(asked, begin, end), end)
    covered = np.zeros_like(begin)
    activities: dict[str, Integers] = {}
    spans = (np.zeros(0, np.int64), np.zeros(0, np.int64))
    for name in _ACTIVITIES:
        spans = union_of(
            *(np.concatenate(pair) for pair in zip(spans, events.spans[name], strict=True))
        )
        covered_so_far = time_covered(*spans, begin, host_end)
        activities[name] = covered_so_far - covered
        covered = covered_so_far
    # From the request on, the rest is launching.
    activities["launch"] = activities["launch"] + np.where(asked >= 0, end - host_end, 0)
    duration = end - begin
    activities["host"] = duration - sum(activities.values())
    columns = [activities[name] for name in _CAUSES[: _INDEX["host"] + 1]]
    cause = np.argmax(np.stack(columns), axis=0).astype(np.int8)
    waited = events.waiting_at(begin)
    earlier_activities = activities["compile"] + activities["collect"] + activities["allocate"]
    cause[waited & (2 * earlier_activities < duration)] = _INDEX["synchronize"]
    cause[events.generated_in(begin, end)] = _INDEX["compile"]
    cause[(asked < 0) & (cause == _INDEX["host"])] = _INDEX["unknown"]
    requested = np.where(asked >= 0, asked, latest)
    ahead = (requested <= begin) & (requested < end - latency)
    cause[ahead] = _INDEX["device"]
    return cause, activities


def _is_one_of(cause: npt.NDArray[np.int8], *causes: Cause) -> npt.NDArray[np.bool_]:
    """Return a mask of the indices in `_CAUSES` that are of one of the causes."""
    return np.isin(cause, [_INDEX[name] for name in causes])


@dataclass(slots=True)
class _HostEvents:
    """Host activities of a run.

    `spans` has the begins and ends of merged intervals by cause; `rows` the begin, end and stack id
    of each event by cause, sorted by begin; `kernels` the begin, end and name of each compile and
    load; `generated` when compiles and loads of Inductor's code began; `recorded` is whether the
    run has host events.
    """

    spans: dict[str, tuple[Integers, Integers]]
    rows: dict[str, tuple[Integers, Integers, list[int | None]]]
    kernels: list[tuple[int, int, str]]
    generated: Integers
    recorded: bool

    @classmethod
    def read(cls, trace: "Trace", run: "Run") -> "_HostEvents":
        names = ["name", "origin", "compile_begin", "compile_ns", "load_begin", "load_ns"]
        compiled = trace.table("kernels", [run], names)
        kernels, generated = [], []
        titles = compiled["name"].cast(pa.string()).to_pylist()
        origins = compiled["origin"].cast(pa.string()).to_pylist()
        for begin_column, duration_column in (names[2:4], names[4:]):
            begins = integers(compiled[begin_column], -1)
            durations = integers(compiled[duration_column])
            for begin, duration, name, origin in zip(
                begins.tolist(), durations.tolist(), titles, origins, strict=True
            ):
                if begin >= 0:
                    kernels.append((begin, begin + max(duration, 0), name or "?"))
                    generated += [begin] if origin == "inductor" else []
        events = trace.table("host_events", [run], ["kind", "begin", "end", "stack_id"])
        events = events.filter(pc.and_(pc.is_valid(events["begin"]), pc.is_valid(events["end"])))
        kinds = events["kind"].cast(pa.string())
        rows: dict[str, tuple[Integers, Integers, list[int | None]]] = {}
        for cause, cause_kinds in _KINDS.items():
            of_cause = events.filter(pc.is_in(kinds, pa.array(cause_kinds)))
            order = np.argsort(integers(of_cause["begin"]), kind="stable")
            of_cause = of_cause.take(pa.array(order))
            rows[cause] = (
                integers(of_cause["begin"]),
                integers(of_cause["end"]),
                of_cause["stack_id"].to_pylist(),
            )
        launches = trace.table("launches", [run], ["enter", "exit", "phase"])
        enter, leave = integers(launches["enter"]), integers(launches["exit"])
        is_trial = pc.is_in(launches["phase"].cast(pa.string()), pa.array([*TUNING])).to_numpy()
        trials = np.sort(enter[is_trial])
        holds_trials = np.searchsorted(trials, leave) > np.searchsorted(trials, enter, "right")
        only_launched = (enter > 0) & (leave - enter < _LONGEST_LAUNCH) & ~holds_trials
        ordered = sorted(kernels)
        spans = {name: union_of(begins, ends) for name, (begins, ends, _) in rows.items()}
        spans["launch"] = union_of(enter[only_launched], leave[only_launched])
        spans["compile"] = union_of(
            np.array([begin for begin, _, _ in ordered], np.int64),
            np.array([end for _, end, _ in ordered], np.int64),
        )
        rows["launch"] = (np.sort(enter), np.sort(leave), [])
        return cls(
            spans, rows, ordered, np.sort(np.array(generated, np.int64)), events.num_rows > 0
        )

    def waiting_at(self, moments: Integers) -> npt.NDArray[np.bool_]:
        """Return a mask of moments during, or up to `_RETURN` ns after, a host's wait."""
        begins, ends = self.spans["synchronize"]
        if not begins.size:
            return np.zeros(moments.size, bool)
        latest_wait = np.searchsorted(begins, moments, side="right") - 1
        latest_end = ends[np.maximum(latest_wait, 0)]
        return np.asarray((latest_wait >= 0) & (latest_end >= moments - _RETURN))

    def generated_in(self, begin: Integers, end: Integers) -> npt.NDArray[np.bool_]:
        """Return a mask of gaps in which a compile or load of Inductor's code began."""
        first = np.searchsorted(self.generated, begin)
        return np.asarray(np.searchsorted(self.generated, end) > first)

    def stack_at(self, cause: Cause, begin: int, end: int) -> int | None:
        """Return the stack id of a cause's longest event during or just before a gap, or None."""
        if cause not in _KINDS:
            return None
        begins, ends, stacks = self.rows[cause]
        last = int(np.searchsorted(begins, end, side="right"))
        first = last
        while first > 0 and (ends[first - 1] >= begin - _RETURN or last - first < 8):
            first -= 1
        overlapping = [i for i in range(first, last) if ends[i] >= begin - _RETURN]
        longest = max(overlapping, key=lambda i: ends[i] - begins[i], default=None)
        return None if longest is None else stacks[longest]

    def within(self, begin: Integers, end: Integers) -> dict[str, int]:
        """Return the number of events that began in gaps, by cause."""
        counts = {}
        for cause, (begins, _, _) in self.rows.items():
            number = int((np.searchsorted(begins, end) - np.searchsorted(begins, begin)).sum())
            if number:
                counts[cause] = number
        return counts

    def compiled(self, begin: Integers, end: Integers) -> tuple[str, ...]:
        """Return the names of kernels whose compile or load began in one of the gaps, in order."""
        moments = np.array([begin for begin, _, _ in self.kernels], np.int64)
        first, last = np.searchsorted(moments, begin), np.searchsorted(moments, end)
        names: dict[str, None] = {}
        for gap in np.flatnonzero(first < last).tolist():
            names |= dict.fromkeys(name for _, _, name in self.kernels[first[gap] : last[gap]])
        return tuple(names)


def _title_codes(names: pa.ChunkedArray) -> tuple[list[str], Integers]:
    """Return the distinct readable names, and the index of each row's name in that list."""
    symbols, codes = coded(names)
    shown = shown_names(symbol or "?" for symbol in symbols)
    titles = [shown[symbol or "?"] for symbol in symbols]
    distinct = {title: index for index, title in enumerate(dict.fromkeys(titles))}
    return list(distinct), np.array([distinct[title] for title in titles])[codes]


def _stacks_of(trace: "Trace", run: "Run", rows: pa.Table) -> Integers:
    """Return the stack id of each execution: the row's, else its call's, else -1."""
    calls = trace.table("calls", [run], ["call_id", "stack_id"])
    calls = calls.sort_by("call_id")
    stack_of_call = np.append(integers(calls["stack_id"], -1), -1)
    position = Positions(integers(calls["call_id"])).of(integers(rows["call_id"], -1))
    return np.where(
        rows["stack_id"].is_valid().to_numpy(),
        integers(rows["stack_id"], -1),
        stack_of_call[position],
    )
