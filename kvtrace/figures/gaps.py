"""Idle time of devices by cause, summed over runs; see `gap_causes.py`."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache, partial
from typing import Any, Final, Literal

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from kvtrace.figures.columns import Integers, coded, combined_codes, integers, summed_by
from kvtrace.figures.gap_causes import PartGaps, has_step_times
from kvtrace.figures.gap_groups import STACKS
from kvtrace.figures.host_events import CAUSES, EVENTS, Cause
from kvtrace.figures.lines import Place, places_by_stack
from kvtrace.figures.names import shown_names
from kvtrace.figures.run_parts import RunPart
from kvtrace.figures.steps import read_ahead
from kvtrace.schema.trace import Run, Trace
from kvtrace.schema.window import TraceWindow, whole_trace

#: What would save idle time: a cause, but `replay`: launching and the host's code between replays.
Remedy = Literal[
    "compile", "collect", "allocate", "synchronize", "launch", "replay", "host", "device"
]
#: Parts of gaps, as columns of groups.
_PARTS: Final[tuple[Cause, ...]] = tuple(cause for cause in CAUSES if cause != "short")
#: Share of a group's time above which its longest gap is one that occurred once.
_MOST_OF_A_GROUP: Final = 0.5
#: Most groups of gaps that are returned.
_GROUPS: Final = 50


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
        cause: What they are listed by (`gap_parts.py`).
        number: Number of gaps.
        total_ns: Sum of the gaps' durations.
        longest_ns: Duration of the longest gap.
        ends: Executions around the longest gap.
        place: The host's line with the cause, if known.
        parts_ns: Nanoseconds of the gaps by cause, most first; they add up to `total_ns`.
        paused_ns: The part of `host` in pauses of the program.
        replay_ns: Launching and the host's code, without pauses, until a replay of a graph.
        events: Number of events in the gaps, by kind: launches, allocations …
        kernels: Kernels that were compiled or loaded in the gaps.

    """

    cause: Cause
    number: int
    total_ns: int
    longest_ns: int
    ends: Ends
    place: Place | None = None
    parts_ns: Mapping[Cause, int] = field(default_factory=dict)
    paused_ns: int = 0
    replay_ns: int = 0
    events: Mapping[Cause, int] = field(default_factory=dict)
    kernels: tuple[str, ...] = ()

    @property
    def is_once(self) -> bool:
        """One of the gaps took longer than all others together."""
        return self.longest_ns > _MOST_OF_A_GROUP * self.total_ns


@dataclass(frozen=True, slots=True)
class ShortExecutions:
    """The executions of one kernel that took less than `SMALL`; copies and fills have none."""

    name: str
    number: int
    total_ns: int


@dataclass(frozen=True, slots=True)
class StepTimes:
    """Durations of a run's steps on devices, and the idle time in each step by cause, in ns.

    The idle time is the mean of the run's devices.

    `first` is the number of the first step in the run, as `--steps` counts, and `begin` the begin
    of each step after that of the window. A gap belongs to the steps that it lies in: a step begins
    when the work of earlier steps has ended, but not before the host began it.
    """

    run: str
    first: int
    begin: tuple[int, ...]
    duration_ns: tuple[int, ...]
    idle_ns: Mapping[Cause, tuple[int, ...]]


@dataclass(frozen=True, slots=True)
class LostTime:
    """Idle time by what would save it, in ns, in which each gap counts once.

    Gaps listed by `synchronize` count there as wholes. Of all others, pauses are `host`, what else
    is launching or the host's code is `launch`, or `replay` until a replay of a graph, and other
    parts are their own cause.

    Attributes:
        by_remedy: The time of all gaps.
        once: The part of gaps that occurred once: each took longer than all others between the
            same executions and lines together.
        number_once: Number of gaps that occurred once.

    """

    by_remedy: Mapping[Remedy, int] = field(default_factory=dict)
    once: Mapping[Remedy, int] = field(default_factory=dict)
    number_once: int = 0


@dataclass(frozen=True, slots=True)
class Gaps:
    """Measured idle time of devices, in ns, by cause: the sum of each device's own.

    `by_cause` splits `idle_ns`, longest time first. `small` has, by cause, the idle time between
    two kernels shorter than `SMALL` in which the host mostly launched and ran Python.
    `short_executions` has the kernels with executions shorter than `SMALL`, the most frequent
    first. `paused_ns` is the part of the cause `host` in `pauses`, gaps with `PAUSE` or more of it,
    which the pace of launching does not explain; `paused_between_steps_ns` is the part of it in
    pauses in which a step begins. `steps` has the times of each run with
    steps, if not too many (`has_step_times`).
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
    lost: LostTime = field(default_factory=LostTime)


def read_gaps(trace: Trace, parts: Sequence[RunPart]) -> Gaps | None:
    """Return the idle time by cause of runs in a trace or its window, at most 50 groups.

    None without timed executions.
    """
    read_ahead(trace, [part.run for part in parts], ("idle_gaps", "short_executions"))
    of_runs = [(part.run, gaps) for part in parts if (gaps := part.gaps) is not None]
    if not of_runs:
        return None
    idle, small = dict[Cause, int](), dict[Cause, int]()
    for _, gaps in of_runs:
        for cause, idle_ns in gaps.idle_ns.items():
            idle[cause] = idle.get(cause, 0) + idle_ns
            small[cause] = small.get(cause, 0) + gaps.small_ns[cause]
    names = pa.concat_tables([gaps.names for _, gaps in of_runs]).unify_dictionaries()
    titles = shown_names(names["name"].unique().to_pylist())
    groups, lost = _merged_groups(trace, of_runs, titles)
    return Gaps(
        sum(idle.values()),
        _most_first(idle),
        tuple(groups),
        small,
        tuple(_short_executions(names, titles)),
        sum(gaps.paused_ns for _, gaps in of_runs),
        sum(gaps.pauses for _, gaps in of_runs),
        sum(gaps.paused_between_steps_ns for _, gaps in of_runs),
        tuple(_step_times(trace, of_runs)) if isinstance(trace, TraceWindow) else (),
        lost,
    )


def _step_times(trace: TraceWindow, of_runs: Sequence["_OfRun"]) -> Iterator[StepTimes]:
    """Yield the times of the steps of each run that has some, but not too many."""
    first = min((window.device_begin for window in trace.windows.values()), default=trace.begin)
    for run, gaps in of_runs:
        window = trace.window_of(run.run_id)
        if not has_step_times(window):
            continue
        bounds = np.array(window.device_steps, np.int64)
        yield StepTimes(
            run.run_id,
            window.first_step,
            tuple((bounds[:-1] - first).tolist()),
            tuple(np.diff(bounds).tolist()),
            {c: tuple((ns // gaps.devices).tolist()) for c, ns in gaps.idle_of_steps.items()},
        )


def _short_executions(names: pa.Table, titles: Mapping[str, str]) -> list[ShortExecutions]:
    """Return the short executions by title, the most frequent first.

    `names` has the rows of `PartGaps.names` of all runs.
    """
    symbols, codes = coded(names["name"])
    sums = (summed_by(codes, integers(names[name])) for name in ("number", "total_ns"))
    short: dict[str, ShortExecutions] = {}
    for symbol, number, total_ns in zip(symbols, *map(np.ndarray.tolist, sums), strict=False):
        if number:
            title = titles[symbol or ""]
            before = short.get(title, ShortExecutions(title, 0, 0))
            number, total_ns = before.number + number, before.total_ns + total_ns
            short[title] = ShortExecutions(title, number, total_ns)
    return sorted(short.values(), key=lambda of_kernel: (-of_kernel.number, of_kernel.name))


_OfRun = tuple["Run", PartGaps]


def _merged_groups(
    trace: Trace, of_runs: Sequence[_OfRun], titles: Mapping[str, str]
) -> tuple[list[GapGroup], LostTime]:
    """Return the `_GROUPS` groups with most time, each of equal cause, place and ends.

    The second value is the lost time of all groups.
    """
    rows = pa.concat_tables([gaps.groups for _, gaps in of_runs]).unify_dictionaries()
    if not rows.num_rows:
        return [], LostTime()
    runs = [run for run, _ in of_runs]
    places = _places(trace, runs, rows)
    by_title = (_codes_of_titles(rows[name], titles) for name in ("before", "after"))
    by_place = (_codes_of_places(rows[name], places) for name in STACKS)
    key, _ = combined_codes([rows["cause"], *by_title, *by_place])
    groups = np.split(np.argsort(key, kind="stable"), np.cumsum(np.bincount(key))[:-1])
    total = summed_by(key, integers(rows["total_ns"]))
    most = np.lexsort(([group[0] for group in groups], -total))[:_GROUPS]
    run_of_row = np.repeat(np.arange(len(runs)), [len(gaps.groups) for _, gaps in of_runs])
    names_of = cache(partial(_kernel_names, trace))
    merged = []
    for group in (groups[code] for code in most.tolist()):
        members = rows.take(pa.array(group)).to_pylist()
        compiled = zip(run_of_row[group].tolist(), (row["kernels"] for row in members), strict=True)
        names = dict.fromkeys(
            names_of(runs[run]).get(kernel) or "?" for run, ids in compiled for kernel in ids
        )
        merged.append(_merged(members, tuple(names), titles, places))
    return merged, _lost_time(rows, key)


def _lost_time(rows: pa.Table, key: Integers) -> LostTime:
    """Return the lost time of rows of `GROUPS`; those of equal `key` are one group.

    A gap at an edge of the part may be a piece of one that recurs, and does not count as once.
    """
    longest = np.zeros(int(key.max()) + 1, np.int64)
    np.maximum.at(longest, key, integers(rows["longest_ns"]))
    share = longest / np.maximum(summed_by(key, integers(rows["total_ns"])), 1)
    is_inside = pc.and_(pc.is_valid(rows["before"]), pc.is_valid(rows["after"])).to_numpy()
    once = np.where(is_inside & (share[key] > _MOST_OF_A_GROUP), share[key], 0.0)
    after_wait = pc.equal(rows["cause"].cast(pa.string()), "synchronize").to_numpy()
    ns = {name: integers(rows[f"{name}_ns"], 0) for name in (*_PARTS, "paused", "replay", "total")}
    lost: dict[Remedy, Integers] = {n: ns[n] for n in ("compile", "collect", "allocate", "device")}
    lost["host"], lost["replay"] = ns["paused"], ns["replay"]
    lost["launch"] = ns["launch"] + ns["host"] - ns["paused"] - ns["replay"]
    lost = {name: np.where(after_wait, 0, of_gaps) for name, of_gaps in lost.items()}
    lost["synchronize"] = np.where(after_wait, ns["total"], ns["synchronize"])
    occurred_once = {name: int((of_gaps * once).sum()) for name, of_gaps in lost.items()}
    # Pauses are in the longest gaps.
    pauses = np.minimum(lost["host"], integers(rows["longest_ns"]))
    occurred_once["host"] = int(pauses[once > 0].sum())
    by_remedy = {name: int(of_gaps.sum()) for name, of_gaps in lost.items()}
    return LostTime(by_remedy, occurred_once, np.unique(key[once > 0]).size)


def _merged(
    members: Sequence[Mapping[str, Any]],
    kernels: tuple[str, ...],
    titles: Mapping[str, str],
    places: Mapping[int, Place | None],
) -> GapGroup:
    """Return one group for all `members`, rows of `GROUPS` of equal cause, place and ends."""
    first = members[0]
    before, after = first["before"], first["after"]
    return GapGroup(
        cause=first["cause"],
        number=sum(group["number"] for group in members),
        total_ns=sum(group["total_ns"] for group in members),
        longest_ns=max(group["longest_ns"] for group in members),
        ends=Ends(
            "the beginning" if before is None else titles[before],
            "the end" if after is None else titles[after],
            places.get(first["before_stack_id"]),
            places.get(first["after_stack_id"]),
        ),
        place=places.get(first["stack_id"]),
        parts_ns=_most_first(_sums_by_name(members, _PARTS, "_ns")),
        paused_ns=sum(group["paused_ns"] for group in members),
        replay_ns=sum(group["replay_ns"] for group in members),
        events=_sums_by_name(members, EVENTS, "_events"),
        kernels=kernels,
    )


def _sums_by_name(
    members: Sequence[Mapping[str, Any]], names: Sequence[Cause], suffix: str
) -> dict[Cause, int]:
    """Return the sums of columns by the name before a suffix, without 0, as they first occur."""
    sums: dict[Cause, int] = {}
    for group in members:
        for name in names:
            if group[f"{name}{suffix}"]:
                sums[name] = sums.get(name, 0) + group[f"{name}{suffix}"]
    return sums


def _most_first(sums: Mapping[Cause, int]) -> dict[Cause, int]:
    return dict(sorted(sums.items(), key=lambda item: -item[1]))


def _kernel_names(trace: Trace, run: Run) -> dict[int, str | None]:
    """Return the names of a run's kernels by their ids; errors as `Trace.table`."""
    rows = whole_trace(trace).table("kernels", [run], ["kernel_id", "name"])
    names = rows["name"].cast(pa.string()).to_pylist()
    return dict(zip(rows["kernel_id"].to_pylist(), names, strict=True))


def _places(trace: Trace, runs: Sequence[Run], groups: pa.Table) -> dict[int, Place | None]:
    """Return the program's line of each stack id of groups."""
    missing = {stack for name in STACKS for stack in groups[name].unique().to_pylist()} - {None}
    places: dict[int, Place | None] = {}
    for run in runs:  # a stack's id is the hash of its content, in whichever run
        if missing:
            places |= places_by_stack(whole_trace(trace), [run], missing)
            missing -= places.keys()
    return places


def _codes_of_titles(column: pa.ChunkedArray, titles: Mapping[str, str]) -> pa.ChunkedArray:
    """Return codes that are equal for names with equal titles."""
    symbols, codes = coded(column)
    shown = [None if symbol is None else titles.get(symbol) for symbol in symbols]
    return _equal_codes(shown, codes)


def _codes_of_places(
    column: pa.ChunkedArray, places: Mapping[int, Place | None]
) -> pa.ChunkedArray:
    """Return codes that are equal for stacks with equal places."""
    stacks, codes = np.unique(integers(column, -1), return_inverse=True)
    return _equal_codes([places.get(stack) for stack in stacks.tolist()], codes)


def _equal_codes(values: Sequence[Any], codes: Integers) -> pa.ChunkedArray:
    """Return codes of rows that are equal for equal values, for indices of rows in `values`."""
    code_of = {value: code for code, value in enumerate(dict.fromkeys(values))}
    return pa.chunked_array([np.array([code_of[value] for value in values])[codes]])
