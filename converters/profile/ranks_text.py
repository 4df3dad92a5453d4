"""Sentences on the ranks of a job: the first lines of a profile of several ranks."""

from collections.abc import Iterable, Sequence
from typing import Final

from kvtrace.figures.rank_steps import IDLE, Part
from kvtrace.figures.ranks import Limit, RanksFigures, SlowStep
from kvtrace.text import count, duration, percent, plural, size, wrapped

#: Parts of a step as they are called in sentences.
NAMES: Final[dict[Part, str]] = {
    "compute": "compute",
    "transfer": "exposed transfer",
    "waiting": "waiting for a later rank",
    "unmatched": "collectives that are not matched",
    "collect": "garbage collection",
    "wait": "host waited for the device",
    "unknown": "cause not recorded",
    "pause": "pauses of the host",
    "launch": "launching",
}
_CAUSES: Final[dict[Part, str]] = {**NAMES, "compute": "device work"}
_SHOWN_STEPS: Final = 4
_SHOWN_RANKS: Final = 16
#: Shares of the ranks' time below which transfers are not the limit, and that are not shown.
_SMALL: Final = 0.05
_SHOWN: Final = 0.0005


def ranks_text(ranks: RanksFigures, width: int) -> list[str]:
    """Return `ranks_sentences` as lines of a terminal."""
    return [line for text in ranks_sentences(ranks) for line in wrapped(text, width)]


def ranks_sentences(ranks: RanksFigures) -> list[str]:
    """Return what limits the job, the late rank, the shares of time, slow steps, and no limits.

    Where no collective is matched, only missing ranks and the reason are said.
    """
    lines = [*_missing(ranks), *ranks.problems]
    if not ranks.matched:
        return lines
    lines += [_limit(ranks), _late(ranks), _shares(ranks)]
    if ranks.transfers and ranks.shares["transfer"] >= _SMALL:
        lines.append(_transfers(ranks))
    if ranks.slow_steps:
        lines.append(_slow_steps(ranks.slow_steps, ranks.step_ns))
    return [*lines, *_no_limits(ranks)]


def _missing(ranks: RanksFigures) -> list[str]:
    if not ranks.missing:
        return []
    numbers = ", ".join(map(str, ranks.missing[:_SHOWN_RANKS]))
    more = len(ranks.missing) - _SHOWN_RANKS
    further = f" and {more:,} more" if more > 0 else ""
    noun, verb, them = ("rank", "is", "it") if len(ranks.missing) == 1 else ("ranks", "are", "them")
    return [
        f"{noun} {numbers}{further} of {ranks.world:,} {verb} missing: who waited for {them} is "
        "not known"
    ]


def _limit(ranks: RanksFigures) -> str:
    path = ranks.path
    shares = {
        "the host": sum(path[name] for name in IDLE),
        "compute": path["compute"],
        "transfer": path["transfer"],
    }
    parts = ", ".join(f"{name} {percent(share)}" for name, share in shares.items())
    steps = (
        f"{plural(ranks.steps, 'step')} of {duration(ranks.step_ns)}" if ranks.steps else "the run"
    )
    what: dict[Limit, str] = {
        "rank": f"rank {ranks.late.rank}" if ranks.late else "",
        "imbalance": "imbalance: the rank with most device work changes from step to step",
        "host": "the host",
        "compute": "compute",
        "transfer": "transfer",
    }
    limit = what[ranks.limit] if ranks.limit else "not known"
    return f"{ranks.world:,} ranks, {steps}; limit: {limit} (path over the ranks: {parts})"


def _late(ranks: RanksFigures) -> str:
    late = ranks.late
    if late is None:
        return "slowest rank: none; no rank is late in most steps by a cause of its own"
    in_a_step = " in a step" if ranks.steps else ""
    factor = "" if late.factor is None else f", {late.factor:.2f} times the others'"
    return (
        f"slowest rank: {late.rank}, {duration(late.late_ns)} late{in_a_step}, by "
        f"{duration(late.more_ns)} more {_CAUSES[late.cause]}{factor}"
    )


def _shares(ranks: RanksFigures) -> str:
    shares = [
        f"{NAMES[name]} {percent(ranks.shares[name])}"
        for name in ("compute", "transfer", "waiting", "unmatched")
        if ranks.shares[name] >= _SHOWN or name == "compute"
    ]
    idle = sum(ranks.shares[name] for name in IDLE)
    causes = [
        f"{NAMES[name]} {percent(ranks.shares[name])}"
        for name in sorted(IDLE, key=lambda name: -ranks.shares[name])
        if ranks.shares[name] >= _SHOWN
    ]
    return f"GPUs: {', '.join(shares)}, idle {percent(idle)} ({', '.join(causes) or 'none'})"


def _transfers(ranks: RanksFigures) -> str:
    """Return number, size and bus bandwidth of the transfers of a step, by operation."""
    texts = [
        f"{moved.in_a_step:.3g} {moved.operation} of {size(moved.bytes)} (mean) at "
        f"{moved.bytes_per_second / 1e9:.3g} GB/s"
        for moved in ranks.transfers
    ]
    of_what = "a step" if ranks.steps else "the run"
    return f"transfers of {of_what}, with their bus bandwidth: {'; '.join(texts)}"


def _slow_steps(steps: Sequence[SlowStep], step_ns: float) -> str:
    """Return one sentence on the slow steps, those of one rank and cause together."""
    groups: dict[tuple[int | None, Part | None], list[SlowStep]] = {}
    for step in steps:
        groups.setdefault((step.rank, step.cause), []).append(step)
    ordered = sorted(groups.values(), key=lambda group: -sum(step.more_ns for step in group))
    texts = [_group(group) for group in ordered[:_SHOWN_STEPS]]
    more = sum(len(group) for group in ordered[_SHOWN_STEPS:])
    further = [f"{plural(more, 'more step')}"] if more else []
    return (
        f"slow steps, {len(steps):,} above {duration(1.5 * step_ns)}: "
        f"{'; '.join([*texts, *further])}"
    )


def _group(steps: Sequence[SlowStep]) -> str:
    shown = sorted(steps, key=lambda step: step.step)[:_SHOWN_STEPS]
    numbers = ", ".join(str(step.step) for step in shown)
    numbers += f" and {len(steps) - len(shown):,} more" if len(steps) > len(shown) else ""
    noun = "step" if len(steps) == 1 else "steps"
    costs = f"{noun} {numbers} took {_range(step.more_ns for step in steps)} more"
    first = steps[0]
    if first.rank is None or first.cause is None:
        return f"{costs}, on all ranks"
    causes = _range(step.cause_ns for step in steps)
    return f"{costs}: rank {first.rank}, {causes} more {_CAUSES[first.cause]}"


def _range(times: Iterable[int]) -> str:
    ordered = sorted(times)
    low, high = duration(ordered[0]), duration(ordered[-1])
    return low if low == high else f"{low} to {high}"


def _no_limits(ranks: RanksFigures) -> list[str]:
    """Return a sentence on what is not the limit, if anything could be taken for it."""
    texts = []
    work = {rank.rank: rank.parts["compute"] for rank in ranks.ranks}
    most = max(work, key=lambda rank: work[rank])
    others = (sum(work.values()) - work[most]) / max(len(work) - 1, 1)
    is_late = ranks.late is not None and ranks.late.rank == most
    if ranks.limit not in (None, "imbalance") and not is_late and work[most] > 1.1 * others > 0:
        texts.append(f"rank {most}'s device work, {work[most] / others:.2f} times the others'")
    exposed = ranks.shares["transfer"]
    if ranks.limit != "transfer" and exposed < _SMALL:
        texts.append(f"transfer, {percent(exposed)} exposed of {count(ranks.matched)} collectives")
    return [f"not the limit: {'; '.join(texts)}"] if texts else []
