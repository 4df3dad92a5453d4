"""The ranks of a job: what limits their steps, the rank that is late and why, and slow steps.

In each step the critical rank is the one that waited least for others; the steps' path over the
ranks consists of these ranks' times. A rank is late, in a step, by as much as it waited less than
the others did on average. Since the parts of a step add up, a rank waits less by exactly as much as
its other parts are longer (or its step is shorter): they are the reasons.

A rank is named as the slow one only if in most steps it waited least, if it is late by a tenth of a
step (median), and if a cause of its own accounts for half of that: a tenth more device work than
the others', two fifths more time from a step's first request to its last, garbage collections, or
pauses. Hosts of one machine differ by a fifth, which is no cause.

What a change would save is derived, and at most what the path over the ranks has of it: the
critical rank as early as the next one would save what that one waited longer, in each step; no
exposed transfer, and no idle time by launching (CUDA graphs), the path's time in these parts.

A slow step takes half as long again as the median. The rank whose lateness is at least half of the
excess is its cause, by the part that grew most over its own median; if that is less than half of
its lateness, it came late from the step before, and the part that grew most there counts.

Example: three ranks compute for 24 ms a step and wait for 8 ms; the fourth computes for 33 ms and
waits for none: it is late by 8 ms, by 9 ms more device work.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Final, Literal

import numpy as np
import numpy.typing as npt
from msgspec import Struct

from kvtrace.figures.collectives import Collectives, matched_collectives
from kvtrace.figures.contention import compute_alone
from kvtrace.figures.parallelism import Experts, Pipeline, experts_of, pipeline_of
from kvtrace.figures.rank_steps import IDLE, PARTS, Part, RankSteps, read_rank_steps
from kvtrace.figures.stored import kept_value
from kvtrace.schema.trace import Run, Trace
from kvtrace.schema.window import TraceWindow, whole_trace

Limit = Literal["rank", "imbalance", "host", "compute", "transfer"]
Floats = npt.NDArray[np.float64]

#: Share of the steps in which a late rank waits least.
_MOST_STEPS: Final = 0.75
#: Share of a step's duration, or of the others' device work, that counts.
_LEAST_SHARE: Final = 0.1
#: Times as long as the others' launching: hosts of one machine differ by less.
_SLOW_LAUNCHING: Final = 1.4
#: Times the median duration of a slow step.
_SLOW_STEP: Final = 1.5
_FEWEST_STEPS: Final = 4
#: Other ranks whose kernels are compared beside and without waiting collectives.
_COMPARED: Final = 7
#: Columns of a heat map.
_MOST_COLUMNS: Final = 400
_HALF: Final = 0.5
_COLLECTIONS: Final[tuple[Part, ...]] = ("recording", "collect")
_SAVED: Final[tuple[Part, Part]] = ("transfer", "launch")


@dataclass(frozen=True, slots=True)
class Rank:
    """A rank's time in the steps that are common to all ranks, in ns.

    Attributes:
        rank: Its number.
        run: The id of its run.
        parts: Its time by part; they add up to the steps' time.
        late_ns: How much less it waited than the others in a step (median); negative: more.
        waited_least: Number of steps in which it waited least.
        launching_ns: Time from the first request of a step to the last (median).
        waited_for_ns: Time that the other ranks waited for it, in all steps.

    """

    rank: int
    run: str
    parts: dict[Part, int]
    late_ns: float
    waited_least: int
    launching_ns: float
    waited_for_ns: int


@dataclass(frozen=True, slots=True)
class LateRank:
    """The rank that the others wait for, and why.

    Attributes:
        rank: Its number.
        late_ns: How late it is in a step (median), which is about what each step costs.
        cause: The part in which it takes longer than the others.
        more_ns: How much longer, in a step (median).
        factor: Its time in that part by the others'.
        alone_ns: How much longer it computes if the others' kernels beside waiting collectives took
            as long as elsewhere (derived, `contention.py`); None for other causes.

    """

    rank: int
    late_ns: float
    cause: Part
    more_ns: float
    factor: float | None
    alone_ns: float | None = None


@dataclass(frozen=True, slots=True)
class SlowStep:
    """A step that takes longer than usual; `rank` and `cause` are None where no rank stands out.

    `more_ns` is how much longer than the median it took, and `cause_ns` how much longer than its
    own median the rank took in the part `cause`.
    """

    step: int
    more_ns: int
    rank: int | None
    cause: Part | None
    cause_ns: int


@dataclass(frozen=True, slots=True)
class Transfers:
    """The transfers of one operation on all ranks, of those whose bytes are known.

    Attributes:
        operation: AllReduce, AllGather …
        in_a_step: Number on a rank in a step.
        bytes: Mean of the bytes that a link moves, as NCCL's tests count them.
        bytes_per_second: These bytes over the time of the transfers: the bus bandwidth.

    """

    operation: str
    in_a_step: float
    bytes: float
    bytes_per_second: float


@dataclass(frozen=True, slots=True)
class Savings:
    """The most that changes would save, derived from the path over the ranks, in ns a step (mean).

    Attributes:
        critical: The critical rank as early as the next one.
        transfer: No exposed transfer.
        launch: No idle time by launching.

    """

    critical: float
    transfer: float
    launch: float


@dataclass(frozen=True, slots=True)
class LateMap:
    """Lateness of each rank in each step, for a heat map.

    Attributes:
        first: Number of the first step.
        steps: Number of steps that share a column, which shows the one with the latest rank.
        late_ns: By rank, in order, and column; negative: the rank waited more than the others.

    """

    first: int
    steps: int
    late_ns: tuple[tuple[int, ...], ...]


@dataclass(frozen=True, slots=True)
class RanksFigures:
    """The ranks of a job; `docs/profile.md` says what every figure is.

    Attributes:
        world: Number of ranks of the job.
        missing: Ranks without a run in the trace.
        steps: Number of steps of each rank; 0: no steps are known, and the whole time is one.
        step_ns: Median duration of a step.
        matched: Number of collectives that are matched across all ranks.
        problems: Why others are not.
        collectives_alone: Ranks of which nothing but collectives is recorded (setting `ranks`).
        shares: Shares of the other ranks' time by part.
        path: Shares of the path over the ranks by part.
        limit: What limits the steps; None without a matched collective.
        late: The rank that is late in most steps.
        slow_steps: Slow steps, the slowest first.
        ranks: The ranks, in order.
        transfers: Their transfers by operation, those that took longest first.
        pipeline: The stages of a pipeline.
        experts: The imbalance of compute between dispatch and combine.
        savings: The most that changes would save.
        late_map: Their lateness by step; None without matched collectives or steps.

    """

    world: int
    missing: tuple[int, ...]
    steps: int
    step_ns: float
    matched: int
    problems: tuple[str, ...]
    collectives_alone: tuple[int, ...]
    shares: dict[Part, float]
    path: dict[Part, float]
    limit: Limit | None
    late: LateRank | None
    slow_steps: tuple[SlowStep, ...]
    ranks: tuple[Rank, ...]
    transfers: tuple[Transfers, ...]
    pipeline: Pipeline | None
    experts: Experts | None
    savings: Savings
    late_map: LateMap | None


class _Times(Struct, frozen=True):
    """Times of all ranks: parts (rank, part, step), durations, launching and waited (rank, step).

    `whole` are indices of the ranks of which more than collectives is recorded.
    """

    parts: Floats
    durations: Floats
    launching: Floats
    waited: Floats
    whole: tuple[int, ...]

    def part(self, *names: Part) -> Floats:
        """Return the time of each rank and step in some parts."""
        rows: Floats = self.parts[:, [PARTS.index(name) for name in names]].sum(axis=1)
        return rows


def read_ranks(trace: Trace, runs: Sequence[Run]) -> RanksFigures | None:
    """Return the figures of a job's ranks; None if the runs are no ranks of one job.

    Args:
        trace: The trace, or the window of it that figures cover.
        runs: The runs to look at.

    Those of long runs are kept (`stored.py`). Errors as `Trace.table`.

    """
    windows = trace.windows if isinstance(trace, TraceWindow) else {}
    facts = [windows.get(run.run_id) for run in runs]
    return kept_value(
        trace, runs, "ranks", facts, RanksFigures | None, lambda: _read_ranks(trace, runs)
    )


def _read_ranks(trace: Trace, runs: Sequence[Run]) -> RanksFigures | None:
    collectives = matched_collectives(trace, runs)
    if collectives is None:
        return None
    steps = list(read_rank_steps(trace, collectives))
    if not steps:
        return None
    whole = [index for index, rank in enumerate(steps) if not rank.run.has_collectives_alone]
    parts, durations, launching, waited = (
        np.stack([getattr(rank, name) for rank in steps]).astype(np.float64)
        for name in ("parts", "duration", "launching", "waited")
    )
    times = _Times(parts, durations, launching, waited, tuple(whole))
    lateness = more_than_others(-times.waited)
    critical = times.waited.argmin(axis=0)
    is_whole = np.isin(critical, times.whole)
    path = times.parts[critical[is_whole], :, np.flatnonzero(is_whole)].sum(axis=0)
    late = _late_rank(steps, times, lateness, critical, collectives.error_ns)
    if late is not None and late.cause == "compute":
        compared = [steps[index] for index in whole]
        late = replace(late, alone_ns=_more_alone(trace, collectives, compared, late.rank))
    has_steps = steps[0].bounds.size > 2
    total = times.parts[whole].sum(axis=(0, 2))
    return RanksFigures(
        world=len(collectives.runs) + len(collectives.missing),
        missing=collectives.missing,
        steps=critical.size if has_steps else 0,
        step_ns=float(np.median(times.durations)),
        matched=collectives.matched,
        problems=tuple(collectives.problems),
        collectives_alone=tuple(
            rank.run.rank or 0 for rank in steps if rank.run.has_collectives_alone
        ),
        shares=_shares(total),
        path=_shares(path),
        limit=_limit(times, critical, path, late) if collectives.matched else None,
        late=late,
        slow_steps=_slow_steps(steps, times, lateness) if has_steps else (),
        ranks=_ranks(collectives, steps, times, lateness, critical),
        transfers=_transfers(steps),
        pipeline=pipeline_of(steps),
        experts=experts_of(steps),
        savings=_savings(times, path),
        late_map=_late_map(steps[0].first, lateness) if has_steps and collectives.matched else None,
    )


def _savings(times: _Times, path: Floats) -> Savings:
    """Return what changes would save; `path` has the parts of the path over the ranks."""
    ordered, number = np.sort(times.waited, axis=0), times.waited.shape[1]
    next_one = ordered[min(1, len(ordered) - 1)] - ordered[0]
    transfer, launch = (float(path[PARTS.index(name)]) / number for name in _SAVED)
    return Savings(float(next_one.mean()), transfer, launch)


def _transfers(steps: Sequence[RankSteps]) -> tuple[Transfers, ...]:
    sums = {
        name: np.sum([rank.transfers.get(name, (0, 0, 0)) for rank in steps], axis=0).tolist()
        for name in dict.fromkeys(name for rank in steps for name in rank.transfers)
    }
    parts = sum(rank.duration.size for rank in steps)
    return tuple(
        Transfers(name, number / parts, moved / number, 1e9 * moved / max(ns, 1))
        for name, (number, moved, ns) in sorted(sums.items(), key=lambda item: -item[1][2])
    )


def _late_map(first: int, lateness: Floats) -> LateMap:
    number = lateness.shape[1]
    shared = -(-number // _MOST_COLUMNS)
    begins = np.arange(0, number, shared)
    latest = lateness.max(axis=0)
    steps = [int(begin + latest[begin : begin + shared].argmax()) for begin in begins.tolist()]
    rows = np.rint(lateness[:, steps]).astype(np.int64)
    return LateMap(first, shared, tuple(map(tuple, rows.tolist())))


def more_than_others(amount: Floats) -> Floats:
    """Return by how much each rank's amount (rank, step) exceeds the mean of the others'."""
    others = max(len(amount) - 1, 1)
    more: Floats = amount - (amount.sum(axis=0) - amount) / others
    return more


def _shares(parts: Floats) -> dict[Part, float]:
    total = float(parts.sum()) or 1.0
    return {name: float(amount) / total for name, amount in zip(PARTS, parts, strict=True)}


def _ranks(
    collectives: Collectives,
    steps: Sequence[RankSteps],
    times: _Times,
    lateness: Floats,
    critical: npt.NDArray[np.int64],
) -> tuple[Rank, ...]:
    waited_for = np.sum([rank.waited_for for rank in steps], axis=0)
    place = {run.run_id: index for index, run in enumerate(collectives.runs)}
    return tuple(
        Rank(
            rank=rank.run.rank or 0,
            run=rank.run.run_id,
            parts={name: int(rank.part(name).sum()) for name in PARTS},
            late_ns=float(np.median(lateness[index])),
            waited_least=int((critical == index).sum()),
            launching_ns=float(np.median(times.launching[index])),
            waited_for_ns=int(waited_for[place[rank.run.run_id]]),
        )
        for index, rank in enumerate(steps)
    )


def _late_rank(
    steps: Sequence[RankSteps],
    times: _Times,
    lateness: Floats,
    critical: npt.NDArray[np.int64],
    error_ns: int,
) -> LateRank | None:
    """Return the rank that is late in most steps for a cause of its own; None without one."""
    index = int(np.bincount(critical, minlength=len(steps)).argmax())
    late_ns = float(np.median(lateness[index]))
    is_late = late_ns >= max(_LEAST_SHARE * float(np.median(times.durations)), 2 * error_ns)
    enough = critical.size >= _FEWEST_STEPS or steps[0].bounds.size == 2
    if len(steps) < 2 or not enough or not is_late:
        return None
    if (critical == index).mean() < _MOST_STEPS:
        return None
    cause = _cause(times, index, late_ns)
    if cause is None:
        return None
    name, more_ns, factor = cause
    return LateRank(steps[index].run.rank or 0, late_ns, name, more_ns, factor)


def _cause(times: _Times, index: int, late_ns: float) -> tuple[Part, float, float | None] | None:
    """Return the part that makes a rank late, by how much, and by which factor; None without."""
    if index not in times.whole or len(times.whole) < 2:
        return "unknown", late_ns, None
    whole = list(times.whole)
    index = whole.index(index)

    def compared(amount: Floats) -> tuple[float, float | None]:
        return _compared(amount[whole], index)

    launch_more, launch_factor = compared(times.launching)
    work_more, work_factor = compared(times.part("compute"))
    causes: list[tuple[Part, float, float | None]] = []
    if work_factor is not None and work_factor >= 1 + _LEAST_SHARE:
        causes.append(("compute", work_more, work_factor))
    if launch_factor is not None and launch_factor >= _SLOW_LAUNCHING:
        causes.append(("launch", launch_more, launch_factor))
    else:
        causes.append(("pause", *compared(times.part("pause"))))
    causes += [(name, *compared(times.part(name))) for name in _COLLECTIONS]
    name, more_ns, factor = max(causes, key=lambda cause: cause[1])
    # Between ranks with a timeline exposed waiting counts, of which all others have more.
    less_waiting = -compared(times.part("waiting"))[0]
    return (name, more_ns, factor) if more_ns >= _HALF * less_waiting else None


def _more_alone(
    trace: Trace, collectives: Collectives, steps: Sequence[RankSteps], late: int
) -> float:
    """Return a rank's compute beyond some others', in ns a step, as if no collective waited."""
    ordered = sorted(steps, key=lambda rank: rank.run.rank != late)[: _COMPARED + 1]
    compute = [
        compute_alone(whole_trace(trace), rank, collectives.of_rank(rank.run)) for rank in ordered
    ]
    return float(np.median(more_than_others(np.stack(compute))[0]))


def _compared(amount: Floats, index: int) -> tuple[float, float | None]:
    """Return how much more a rank has than the others in a step (median), and by which factor."""
    more = float(np.median(more_than_others(amount)[index]))
    median = float(np.median(amount[index]))
    return more, median / (median - more) if median > more else None


def _limit(
    times: _Times, critical: npt.NDArray[np.int64], path: Floats, late: LateRank | None
) -> Limit | None:
    if late is not None:
        return "rank"
    if not path.any():
        return None
    work = more_than_others(times.part("compute"))[critical, np.arange(critical.size)]
    waited = times.part("waiting")
    waiting = (waited.sum(axis=0) - waited.min(axis=0)) / max(len(waited) - 1, 1)
    least = _LEAST_SHARE * float(np.median(times.durations))
    is_whole = len(times.whole) == len(times.parts)
    if is_whole and float(np.median(np.minimum(work, waiting))) >= least:
        return "imbalance"
    shares = _shares(path)
    amounts: dict[Limit, float] = {
        "host": sum(shares[name] for name in IDLE),
        "compute": shares["compute"],
        "transfer": shares["transfer"] + shares["waiting"],
    }
    return max(amounts, key=lambda name: amounts[name])


def _slow_steps(
    steps: Sequence[RankSteps], times: _Times, lateness: Floats
) -> tuple[SlowStep, ...]:
    """Return the slow steps, the slowest first, with the rank and the part that made them slow."""
    duration = np.median(times.durations, axis=0)
    usual = float(np.median(duration))
    parts_more = times.parts - np.median(times.parts, axis=2, keepdims=True)
    blamed_parts = [index for index, name in enumerate(PARTS) if name != "waiting"]
    slow = []
    for step in np.flatnonzero(duration > _SLOW_STEP * usual).tolist():
        more_ns = int(duration[step] - usual)
        index = int(lateness[:, step].argmax())
        if lateness[index, step] < _HALF * more_ns:
            slow.append(SlowStep(steps[0].first + step, more_ns, None, None, 0))
            continue
        more = parts_more[index, :, step]
        if step and more[blamed_parts].max() < _HALF * lateness[index, step]:
            more = parts_more[index, :, step - 1]
        part = max(blamed_parts, key=lambda part: more[part])
        rank, cause_ns = steps[index].run.rank or 0, int(more[part])
        slow.append(SlowStep(steps[0].first + step, more_ns, rank, PARTS[part], cause_ns))
    return tuple(sorted(slow, key=lambda step: -step.more_ns))
