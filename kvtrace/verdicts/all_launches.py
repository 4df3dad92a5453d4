"""Judging a call for all its launches: once for each distinct contents that its tensors had.

What holds without contents holds for every launch. All else is judged with each contents that were
kept, and says which launches that covers; launches whose contents were not kept are never covered.
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

#: Launches that are named one by one.
_NAMED: Final = 4

_BOUNDS: Final = ("out-of-bounds", "out-of-view")

_Key = tuple[Any, ...]


@dataclass(frozen=True, slots=True)
class _Judged:
    """The verdicts for one contents, by what they are about."""

    contents: ContentSet
    verdicts: dict[_Key, list[Verdict]]


def judge_launches(
    call: Call, rules: Iterable[str] | None = None, budget: Budget | None = None
) -> list[Verdict]:
    """Return the verdicts of rules (None: the default ones) on all launches of a unique call.

    Raises:
        BadSetting: there is no rule of an id.
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
    found = [(each, _judged(launches, each, ids, budget)) for each in sets]
    known = [_Judged(each, _by_key(verdicts)) for each, verdicts in found if verdicts is not None]
    return sorted(_together(without, known, launches), key=lambda verdict: verdict.op.index)


def _judged(
    launches: KnownLaunches, contents: ContentSet, ids: Sequence[str], budget: Budget | None
) -> list[Verdict] | None:
    """Judge the call with some contents; None where what was not kept of them may be read.

    Where only views were kept, zeros represent the rest. As long as every access of such a tensor
    stays in its view with them, none of them has been read, and they decide nothing.
    """
    call, partial = launches.call(contents)
    asked = ids if not partial else tuple(dict.fromkeys((*ids, *_BOUNDS)))
    verdicts = judge(call, asked, budget)
    for verdict in verdicts if partial else ():
        leaves = verdict.rule in _BOUNDS and verdict.verdict != "proven"
        if leaves and not partial.isdisjoint((verdict.arg or "").split(", ")):
            return None
    return [verdict for verdict in verdicts if verdict.rule in ids]


def _by_key(verdicts: Iterable[Verdict]) -> dict[_Key, list[Verdict]]:
    found: dict[_Key, list[Verdict]] = {}
    for verdict in verdicts:
        found.setdefault(_key(verdict), []).append(verdict)
    return found


def _key(verdict: Verdict) -> _Key:
    """What a verdict is about; an access that leaves its tensor or its view is one question."""
    rule = "out-of-bounds" if verdict.rule in _BOUNDS else verdict.rule
    return (rule, verdict.op.index)


def _together(
    without: Sequence[Verdict], known: Sequence[_Judged], launches: KnownLaunches
) -> Iterator[Verdict]:
    """Return what holds whatever tensors hold, and what was found of all else."""
    base = _by_key(without)
    for key in dict.fromkeys([*base, *(key for judged in known for key in judged.verdicts)]):
        alone = base.get(key, [])
        if alone and all(verdict.verdict != "unknown" for verdict in alone):
            yield from alone
            continue
        answers = [(judged, judged.verdicts[key]) for judged in known if key in judged.verdicts]
        if answers:
            yield from _merged(answers, launches)
        else:
            yield from alone


def _merged(
    answers: Sequence[tuple[_Judged, list[Verdict]]], launches: KnownLaunches
) -> Iterator[Verdict]:
    """Return one answer for the launches whose contents are known, and one for the others."""
    for answer in ("violation", "unknown"):
        having = [
            (judged, verdicts)
            for judged, verdicts in answers
            if any(verdict.verdict == answer for verdict in verdicts)
        ]
        if having:
            chosen = [v for v in having[0][1] if v.verdict == answer]
            yield from (_for(each, [j for j, _ in having], launches) for each in chosen)
            return
    for verdict in answers[0][1]:
        yield _for(verdict, [judged for judged, _ in answers], launches)
    covered = sum(len(judged.contents.launches) for judged, _ in answers)
    left = launches.contents.launches - covered
    if left > 0:
        yield _not_judged(answers[0][1][0], left, launches.contents.launches)


def _for(verdict: Verdict, judged: Sequence[_Judged], launches: KnownLaunches) -> Verdict:
    """Say in a verdict for which launches it was found."""
    scope = f" [{_scope([each.contents for each in judged], launches)}]"
    reason = None if verdict.reason is None else verdict.reason + scope
    return replace(verdict, message=verdict.message + scope, reason=reason)


def _scope(sets: Sequence[ContentSet], launches: KnownLaunches) -> str:
    numbers = sorted(seq for each in sets for seq in each.launches)
    named = ", ".join(map(str, numbers[:_NAMED])) + (" …" if len(numbers) > _NAMED else "")
    return (
        f"for the contents of launch{'' if len(numbers) == 1 else 'es'} {named}: "
        f"{len(sets)} of {len(launches.contents.sets)} distinct contents, "
        f"{len(numbers)} of {launches.contents.launches} launches"
    )


def _not_judged(verdict: Verdict, left: int, of: int) -> Verdict:
    reason = (
        f"{left} of {of} launches were not judged for what their tensors held, which was not kept "
        "(KVTRACE_TENSORS=int keeps more)"
    )
    return Verdict(
        verdict.rule,
        "unknown",
        verdict.op,
        f"{verdict.access or 'it'} is not decided for all launches: {reason}",
        reason=reason,
        access=verdict.access,
        arg=verdict.arg,
    )
