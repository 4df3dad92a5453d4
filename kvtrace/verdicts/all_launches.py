"""Verdicts on all launches of a call: one judgment for each distinct contents of its tensors.

A verdict without contents holds for every launch. Everything else is judged with each recorded
contents; the verdict names the launches with these contents. Launches without recorded contents are
not covered.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Final

from kvtrace.verdicts.binding import Budget
from kvtrace.verdicts.judge import judge
from kvtrace.verdicts.rules.table import chosen_rules
from kvtrace.verdicts.verdict import Verdict

if TYPE_CHECKING:
    from kvtrace.recorded_calls.recorded import Call, KnownLaunches
    from kvtrace.schema.contents import ContentSet

#: Most launches that a verdict lists by number.
_NAMED: Final = 4

_BOUNDS: Final = ("out-of-bounds", "out-of-view")

_Key = tuple[Any, ...]


@dataclass(frozen=True, slots=True)
class _Judged:
    """The verdicts for one contents, by rule and op."""

    contents: ContentSet
    verdicts: dict[_Key, list[Verdict]]


def judge_launches(
    call: Call, rules: Iterable[str] | None = None, budget: Budget | None = None
) -> list[Verdict]:
    """Return the verdicts of rules (None: the default ones) on all launches of a unique call.

    Raises:
        BadSetting: no rule has one of the ids.
        NoKernel: the call's module has no function to run.

    """
    launches = call.launches
    if launches is None:
        return judge(call, rules, budget)
    ids = tuple(rule.id for rule in chosen_rules(rules))
    sets = launches.contents.sets
    if len(sets) == 1 and launches.contents.known == launches.contents.launches:
        judged = _judged(launches, sets[0], ids, budget)
        if judged is not None:
            return judged
    without = judge(launches.call(None)[0], ids, budget)
    if all(verdict.verdict != "unknown" for verdict in without):
        return without
    verdicts_by_set = [(contents, _judged(launches, contents, ids, budget)) for contents in sets]
    judged_sets = [
        _Judged(contents, _by_key(verdicts))
        for contents, verdicts in verdicts_by_set
        if verdicts is not None
    ]
    return sorted(_combined(without, judged_sets, launches), key=lambda verdict: verdict.op.index)


def _judged(
    launches: KnownLaunches, contents: ContentSet, ids: Sequence[str], budget: Budget | None
) -> list[Verdict] | None:
    """Return the verdicts with some contents; None: elements that were not recorded may be read.

    If only views were recorded, zeros stand for the rest. As long as every access of such a tensor
    stays in its view with these zeros, no zero has been read, and the zeros decide nothing.
    """
    call, partial = launches.call(contents)
    rules = ids if not partial else tuple(dict.fromkeys((*ids, *_BOUNDS)))
    verdicts = judge(call, rules, budget)
    for verdict in verdicts if partial else ():
        leaves = verdict.rule in _BOUNDS and verdict.verdict != "proven"
        if leaves and not partial.isdisjoint((verdict.arg or "").split(", ")):
            return None
    return [verdict for verdict in verdicts if verdict.rule in ids]


def _by_key(verdicts: Iterable[Verdict]) -> dict[_Key, list[Verdict]]:
    by_key: dict[_Key, list[Verdict]] = {}
    for verdict in verdicts:
        by_key.setdefault(_key(verdict), []).append(verdict)
    return by_key


def _key(verdict: Verdict) -> _Key:
    """Return the rule and op of a verdict; leaving the tensor and leaving the view are one key."""
    rule = "out-of-bounds" if verdict.rule in _BOUNDS else verdict.rule
    return (rule, verdict.op.index)


def _combined(
    without: Sequence[Verdict], judged_sets: Sequence[_Judged], launches: KnownLaunches
) -> Iterator[Verdict]:
    """Yield verdicts that hold for any contents, then those found for recorded contents."""
    base = _by_key(without)
    for key in dict.fromkeys([*base, *(key for judged in judged_sets for key in judged.verdicts)]):
        verdicts = base.get(key, [])
        if verdicts and all(verdict.verdict != "unknown" for verdict in verdicts):
            yield from verdicts
            continue
        answers = [
            (judged, judged.verdicts[key]) for judged in judged_sets if key in judged.verdicts
        ]
        if answers:
            yield from _merged(answers, launches)
        else:
            yield from verdicts


def _merged(
    answers: Sequence[tuple[_Judged, list[Verdict]]], launches: KnownLaunches
) -> Iterator[Verdict]:
    """Yield a verdict for launches with recorded contents, and one for launches without."""
    for answer in ("violation", "unknown"):
        deciding = [
            (judged, verdicts)
            for judged, verdicts in answers
            if any(verdict.verdict == answer for verdict in verdicts)
        ]
        if deciding:
            chosen = [v for v in deciding[0][1] if v.verdict == answer]
            yield from (
                _with_scope(verdict_, [j for j, _ in deciding], launches) for verdict_ in chosen
            )
            return
    for verdict in answers[0][1]:
        yield _with_scope(verdict, [judged for judged, _ in answers], launches)
    covered = sum(len(judged.contents.launches) for judged, _ in answers)
    unjudged = launches.contents.launches - covered
    if unjudged > 0:
        yield _not_judged(answers[0][1][0], unjudged, launches.contents.launches)


def _with_scope(verdict: Verdict, judged: Sequence[_Judged], launches: KnownLaunches) -> Verdict:
    """Return a verdict that names the launches for which it was found."""
    scope = f" [{_scope([item.contents for item in judged], launches)}]"
    reason = None if verdict.reason is None else verdict.reason + scope
    return replace(verdict, message=verdict.message + scope, reason=reason)


def _scope(sets: Sequence[ContentSet], launches: KnownLaunches) -> str:
    numbers = sorted(seq for contents in sets for seq in contents.launches)
    named = ", ".join(map(str, numbers[:_NAMED])) + (" …" if len(numbers) > _NAMED else "")
    return (
        f"for the contents of launch{'' if len(numbers) == 1 else 'es'} {named}: "
        f"{len(sets)} of {len(launches.contents.sets)} distinct contents, "
        f"{len(numbers)} of {launches.contents.launches} launches"
    )


def _not_judged(verdict: Verdict, unjudged: int, of: int) -> Verdict:
    reason = f"{unjudged} of {of} launches lack recorded contents (set KVTRACE_TENSORS=int)"
    return Verdict(
        verdict.rule,
        "unknown",
        verdict.op,
        f"{verdict.access or 'it'} is not decided for all launches: {reason}",
        reason=reason,
        access=verdict.access,
        arg=verdict.arg,
    )
