"""Judgment of unique calls: rules on formulas, one evaluation for what they leave undecided.

Proofs and witnesses come from the symbolic summary, so they cost the same for any grid. The grid is
evaluated only for undecided verdicts that an evaluation can decide, and only within the budget.

Verdicts on all launches of a call are of one judgment for each distinct contents of its tensors. A
verdict without contents holds for every launch. Everything else is judged with each recorded
contents, or proven for many of them together; the verdict names the launches with these contents.
Launches without recorded contents are not covered, nor are those that may read another part of a
storage than the first launch, in traces before format 1.12, which have the offset of a view once
for a call.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import islice
from typing import Any, Final

from msgspec import Struct
from msgspec.structs import replace

from kvtrace.evaluate.arguments import TensorArgument
from kvtrace.ir.asynchronous import ops_of_gpus
from kvtrace.ir.feeding import feeding, loads_behind
from kvtrace.recorded_calls.recorded import Call, KnownLaunches
from kvtrace.schema.content import CONTENTS_LIMIT
from kvtrace.schema.contents import ContentSet
from kvtrace.symbolic.expressions import address_expression
from kvtrace.verdicts.binding import BoundCall, Budget
from kvtrace.verdicts.concrete import Concrete
from kvtrace.verdicts.replaying import holds_floats, run
from kvtrace.verdicts.rules.out_of_bounds_zeros import without_zeros
from kvtrace.verdicts.rules.table import RULES, Rule, chosen_rules
from kvtrace.verdicts.rules.undefined_lanes import LANES, USE, numbers_without_value
from kvtrace.verdicts.unknown_fields import without_assumed
from kvtrace.verdicts.verdict import Verdict


class Judgment:
    """The verdicts of one call, in two steps: formulas in the constructor, then one evaluation.

    `observers` decide the remaining unknown verdicts while the whole grid is evaluated; the tuple
    is empty if nothing is left to decide or the evaluation would exceed the budget. `verdicts`
    returns the verdicts of both steps.
    """

    def __init__(
        self, call: Call, rules: Iterable[str] | None = None, budget: Budget | None = None
    ) -> None:
        """Judge a call by rules of these ids (None: the default ones).

        Raises:
            BadSetting: no rule has one of the ids.
            NoKernel: the call's module has no function to run.

        """
        self.call = call
        self._rules = chosen_rules(rules)
        ids = [rule.id for rule in self._rules]
        of_gpus = self._rules if ops_of_gpus(call.module) else ()
        strangers = [verdict for rule in of_gpus for verdict in _not_followed(rule, call)]
        unjudged = {verdict.rule for verdict in strangers}
        self.observers: tuple[Concrete, ...] = ()
        if unjudged == set(ids):
            self._verdicts = strangers
            return
        self.bound = BoundCall(call, ids, budget)
        judges = dict.fromkeys(rule.judge for rule in self._rules if rule.id not in unjudged)
        verdicts = (self.bound.timed(v) for judge in judges for v in judge(self.bound))
        self._verdicts = [*strangers, *(v for v in verdicts if v.rule not in unjudged)]
        if self.bound.lanes <= self.bound.budget.lanes:
            self.observe()
        elif self.bound.budget.lanes:
            self._verdicts = [self._too_large(v) if _is_open(v) else v for v in self._verdicts]

    def observe(self) -> None:
        """Set new observers for the verdicts that formulas leave undecided."""
        undecided = [v for v in self._verdicts if _is_open(v)]
        if not undecided:
            return
        observer_factories = dict.fromkeys(
            rule.concrete for rule in self._rules if rule.concrete is not None
        )
        candidates = (factory(self.bound, undecided) for factory in observer_factories)
        self.observers = tuple(observer for observer in candidates if observer is not None)

    def _too_large(self, verdict: Verdict) -> Verdict:
        reason = (
            f"{verdict.reason}, and evaluating {self.bound.lanes:,} lanes would be more than "
            f"the budget of {self.bound.budget.lanes:,}"
        )
        return verdict.because(reason)

    def verdicts(self, failure: str | None = None) -> list[Verdict]:
        """Return all verdicts by op; `failure` is the reason why the evaluation ended early."""
        verdicts = list(self._verdicts)
        for observer in self.observers:
            verdicts = _with_evaluated(verdicts, observer.verdicts(failure), observer.rules)
        open_ops = {v.op for v in verdicts if v.verdict == "unknown" and v.unless is None}
        verdicts = [v for v in verdicts if v.unless not in open_ops]
        verdicts = list(map(self._of_values, self._with_overflow_causes(verdicts)))
        verdicts = without_assumed(verdicts, self.call.arguments)
        ids = {rule.id for rule in self._rules}
        selected = (self._with_expression(v) for v in verdicts if v.rule in ids)
        return sorted(selected, key=lambda verdict: verdict.op.index)

    def _with_overflow_causes(self, verdicts: Sequence[Verdict]) -> list[Verdict]:
        """Return verdicts, violations of bounds with their address's overflow as reason."""
        if not any(map(_is_outside, verdicts)):
            return list(verdicts)
        is_judged = any(rule.id == "overflow" for rule in self._rules)
        judged = verdicts if is_judged else RULES["overflow"].judge(self.bound)
        wraps = [v for v in judged if v.rule == "overflow" and v.verdict == "violation"]
        return [self._overflow_cause(v, wraps) if _is_outside(v) else v for v in verdicts]

    def _overflow_cause(self, verdict: Verdict, wraps: Sequence[Verdict]) -> Verdict:
        """Return a violation of bounds with the wrap that feeds its address; else unchanged.

        A wrap of a later trip of the same program is no cause.
        """
        feeders = feeding(verdict.op, self.call.module)
        for wrap in wraps:
            is_later = wrap.program == verdict.program and (
                (wrap.iteration or 0) > (verdict.iteration or 0)
            )
            if wrap.op.index in feeders and not is_later:
                reason = f"{wrap.expression} wraps around"
                message = f"{verdict.message}, as {reason}"
                return replace(verdict, reason=reason, message=message)
        return verdict

    def _of_values(self, verdict: Verdict) -> Verdict:
        """Return a verdict; unknown if it depends on a number without a value."""
        if verdict.verdict == "unknown" or verdict.rule in (LANES, USE):
            return verdict
        numbers, module = numbers_without_value(self.bound), self.call.module
        if not numbers:
            return verdict
        ops = [verdict.op, *filter(None, (verdict.other_op,))]
        ops += [module.ops[index] for op in ops for index in loads_behind(op, module)]
        for index in {op.index for op in ops}.union(*(feeding(op, module) for op in ops)):
            if index in numbers:
                subject = verdict.access or verdict.rule
                reason = f"it depends on the number{numbers[index]}"
                if verdict.verdict == "violation":
                    reason += f" (mend it first; with one such number, {verdict.message})"
                return verdict.undecided(f"{subject} could not be decided", reason)
        return verdict

    def _with_expression(self, verdict: Verdict) -> Verdict:
        """Return a verdict on an access with its address as expression, unless it is proven."""
        if verdict.verdict == "proven" or verdict.access is None or verdict.expression is not None:
            return verdict
        summary = self.bound.summary
        access = next((access_ for access_ in summary.accesses if access_.op is verdict.op), None)
        if access is None:
            return verdict
        return replace(verdict, expression=address_expression(access, summary))


def _is_outside(verdict: Verdict) -> bool:
    return verdict.verdict == "violation" and verdict.rule in _BOUNDS


def _not_followed(rule: Rule, call: Call) -> Iterator[Verdict]:
    """Yield an unknown verdict on the first op of a call's kernel that a rule does not follow."""
    for op in islice(rule.strangers(call.module), 1):
        reason = f"the rule does not follow {op.name}, an op of the kernel's TTGIR"
        message = f"whether {rule.summary} was not decided: {reason}"
        yield Verdict(rule.id, "unknown", op, message, reason=reason)


def _with_evaluated(
    verdicts: Sequence[Verdict], evaluated: Sequence[Verdict], rules: frozenset[str]
) -> list[Verdict]:
    """Return verdicts in which the evaluation's results replace undecided verdicts of `rules`.

    If the evaluation does not decide a verdict either, its reason is appended to the verdict's own.
    """
    reasons = {v.op.index: v.reason for v in evaluated if v.verdict == "unknown"}
    decided = {v.op.index for v in evaluated if v.verdict != "unknown"}
    merged = []
    for verdict in verdicts:
        if not verdict.evaluating or verdict.rule not in rules:
            merged.append(verdict)
        elif verdict.op.index in reasons and verdict.op.index not in decided:
            merged.append(_with_added_reason(verdict, reasons[verdict.op.index]))
        elif verdict.op.index not in decided:
            merged.append(verdict)
    return merged + [verdict for verdict in evaluated if verdict.verdict != "unknown"]


def _with_added_reason(verdict: Verdict, reason: str | None) -> Verdict:
    if reason is None or verdict.reason is None or reason in verdict.reason:
        return verdict
    combined = verdict.because(f"{verdict.reason}; evaluated: {reason}")
    return replace(combined, method="evaluated")


def judge(
    call: Call, rules: Iterable[str] | None = None, budget: Budget | None = None
) -> list[Verdict]:
    """Return the verdicts of rules (None: the default ones) on one unique call.

    The tensors of the call are never written. Each unknown verdict has a reason, and so has a
    verdict that depends on a load that is itself out of bounds.

    Raises:
        BadSetting: no rule has one of the ids.
        NoKernel: the call's module has no function to run.

    """
    selected = {rule.id for rule in chosen_rules(rules)}
    ids = (*selected, "out-of-bounds") if call.recorded else tuple(selected)

    def judged(judged_call: Call, rules: Iterable[str]) -> list[Verdict]:
        return _judge(judged_call, rules, budget)

    return without_zeros(call, judged(call, ids), selected, judged)


def _judge(call: Call, rules: Iterable[str], budget: Budget | None) -> list[Verdict]:
    """Return the verdicts of rules on a call; floats are evaluated only if some stay unknown."""
    judgment = Judgment(call, rules, budget)
    if not judgment.observers:
        return judgment.verdicts()
    lanes = judgment.bound.budget.lanes
    failure = run(call, judgment.observers, contents="integers", lanes=lanes)
    verdicts = judgment.verdicts(failure)
    if not holds_floats(call) or not any(map(_is_open, verdicts)):
        return verdicts
    judgment.observe()
    return judgment.verdicts(run(call, judgment.observers, contents="all", lanes=lanes))


def _is_open(verdict: Verdict) -> bool:
    """Return whether an evaluation may decide a verdict."""
    return verdict.verdict == "unknown" and verdict.evaluating


#: Maximum number of launches whose numbers a verdict lists.
_MOST_LISTED: Final = 4

#: Maximum number of distinct contents that are judged for one call.
_MOST_JUDGED: Final = 512

_BOUNDS: Final = ("out-of-bounds", "out-of-view")

_Key = tuple[Any, ...]


class _JudgedContents(Struct, frozen=True):
    """The verdicts for one recorded contents of the call's tensors, by rule and op."""

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
    recorded_contents = launches.contents.sets
    is_known = launches.contents.known == launches.contents.launches
    views = launches.views_that_may_move()
    if len(recorded_contents) == 1 and is_known and not views:
        only_verdicts = _verdicts_on_contents(launches, recorded_contents[0], ids, budget)
        if only_verdicts is not None:
            return only_verdicts
    general_verdicts = judge(launches.call(None)[0], ids, budget)
    if all(verdict.verdict != "unknown" for verdict in general_verdicts):
        return general_verdicts
    judged_sets = [
        _JudgedContents(contents, _by_key(verdicts))
        for contents, verdicts in _verdicts_by_contents(launches, ids, budget)
        if verdicts is not None
    ]
    return sorted(
        _combined_verdicts(general_verdicts, judged_sets, launches, views),
        key=lambda verdict: verdict.op.index,
    )


#: Rules with a verdict on each op that they are about, proven ones too.
_OF_EACH_OP: Final = frozenset(
    {*_BOUNDS, "overflow", "race", "race-within-program", "lane-conflict"}
)

#: Maximum number of bytes of contents that are judged together.
_MOST_BYTES_TOGETHER: Final = 1 << 26


def _verdicts_by_contents(
    launches: KnownLaunches, ids: Sequence[str], budget: Budget | None
) -> Iterator[tuple[ContentSet, list[Verdict] | None]]:
    """Yield the verdicts for each recorded contents, as `_verdicts_on_contents` returns them.

    What rules of each op prove for the first contents is proven for many others together if it can
    be. Their verdicts are the first's then, and they are judged by the other rules alone.
    """
    first, *others = launches.contents.sets[:_MOST_JUDGED]
    first_call, partial_tensors = launches.call(first)
    first_verdicts = _verdicts_on_contents(launches, first, ids, budget)
    yield first, first_verdicts
    open_rules = {verdict.rule for verdict in first_verdicts or () if verdict.verdict != "proven"}
    rules = _OF_EACH_OP.intersection(ids) - open_rules
    common = [verdict for verdict in first_verdicts or () if verdict.rule in rules]
    is_sound = bool(common) and open_rules.isdisjoint(_BOUNDS)
    rest = [rule for rule in ids if rule not in rules]
    groups = _together(first_call, others) if is_sound else ([contents] for contents in others)
    for sets in groups:
        calls = [launches.call(contents) for contents in sets] if len(sets) > 1 else []
        are_alike = bool(calls) and all(
            names == partial_tensors and call.argument_layouts == first_call.argument_layouts
            and call.recorded == first_call.recorded
            for call, names in calls
        )  # fmt: skip
        if are_alike and _are_proven([call for call, _ in calls], common, rules, budget):
            for contents, (call, _) in zip(sets, calls, strict=True):
                yield contents, [*common, *(_judge(call, rest, budget) if rest else ())]
        else:
            for contents in sets:
                yield contents, _verdicts_on_contents(launches, contents, ids, budget)


def _are_proven(
    calls: Sequence[Call], verdicts: Sequence[Verdict], rules: frozenset[str], budget: Budget | None
) -> bool:
    """Return whether rules have the same verdicts on all calls at once, proven, and bounds, too."""
    joint_call = replace(calls[0], others=tuple(calls[1:]))
    judgment = Judgment(joint_call, {*rules, *_BOUNDS}, budget)
    joint_verdicts = [] if judgment.observers else judgment.verdicts()
    of_rules = _by_key(verdict for verdict in joint_verdicts if verdict.rule in rules)
    return of_rules.keys() == _by_key(verdicts).keys() and all(
        verdict.verdict == "proven" for verdict in joint_verdicts
    )


def _together(call: Call, sets: Sequence[ContentSet]) -> Iterator[Sequence[ContentSet]]:
    """Yield the contents in groups whose bytes stay within the limit."""
    storages = {a.storage for a in call.arguments if isinstance(a, TensorArgument)}
    size = sum(storage.nbytes for storage in storages if storage.data is not None)
    count = max(_MOST_BYTES_TOGETHER // max(size, 1), 1)
    yield from (sets[begin : begin + count] for begin in range(0, len(sets), count))


def _verdicts_on_contents(
    launches: KnownLaunches, contents: ContentSet, ids: Sequence[str], budget: Budget | None
) -> list[Verdict] | None:
    """Return the verdicts for one contents; None if elements that were not recorded may be read.

    If only views were recorded, zeros stand for the rest. As long as every access of such a tensor
    stays in its view with these zeros, no zero has been read, and the zeros decide nothing.
    """
    call, partial_tensors = launches.call(contents)
    rules = ids if not partial_tensors else tuple(dict.fromkeys((*ids, *_BOUNDS)))
    verdicts = judge(call, rules, budget)
    for verdict in verdicts if partial_tensors else ():
        may_leave_tensor = verdict.rule in _BOUNDS and verdict.verdict != "proven"
        if may_leave_tensor and not partial_tensors.isdisjoint((verdict.arg or "").split(", ")):
            return None
    return [verdict for verdict in verdicts if verdict.rule in ids]


def _by_key(verdicts: Iterable[Verdict]) -> dict[_Key, list[Verdict]]:
    """Return the verdicts grouped by rule and op."""
    by_key: dict[_Key, list[Verdict]] = {}
    for verdict in verdicts:
        by_key.setdefault(_key(verdict), []).append(verdict)
    return by_key


def _key(verdict: Verdict) -> _Key:
    """Return a verdict's rule and op index; the rules out-of-bounds and out-of-view share a key."""
    rule = "out-of-bounds" if verdict.rule in _BOUNDS else verdict.rule
    return (rule, verdict.op.index)


def _combined_verdicts(
    without: Sequence[Verdict],
    judged_sets: Sequence[_JudgedContents],
    launches: KnownLaunches,
    views: Sequence[str],
) -> Iterator[Verdict]:
    """Yield for each rule and op the verdicts for any contents, or those for each contents.

    With `views` (`KnownLaunches.views_that_may_move`) nothing is proven by contents.
    """
    general_verdicts = _by_key(without)
    for key in dict.fromkeys(
        [*general_verdicts, *(key for judged in judged_sets for key in judged.verdicts)]
    ):
        verdicts = general_verdicts.get(key, [])
        if verdicts and all(verdict.verdict != "unknown" for verdict in verdicts):
            yield from verdicts
            continue
        contents_verdicts = [
            (judged, judged.verdicts[key]) for judged in judged_sets if key in judged.verdicts
        ]
        if contents_verdicts:
            merged = tuple(_merged_verdicts(contents_verdicts, launches))
            if views and all(verdict.verdict == "proven" for verdict in merged):
                merged = (_unknown_at_other_offsets(merged[0], views),)
            yield from merged
        else:
            yield from verdicts


def _merged_verdicts(
    contents_verdicts: Sequence[tuple[_JudgedContents, list[Verdict]]], launches: KnownLaunches
) -> Iterator[Verdict]:
    """Yield the verdicts on one rule and op for all launches, from those for each contents.

    These are the violations of the first contents that has any, else its unknown verdicts, else the
    proven ones and an unknown one if some launches have no recorded contents.
    """
    for outcome in ("violation", "unknown"):
        deciding = [
            (judged, verdicts)
            for judged, verdicts in contents_verdicts
            if any(verdict.verdict == outcome for verdict in verdicts)
        ]
        if deciding:
            chosen_verdicts = [v for v in deciding[0][1] if v.verdict == outcome]
            yield from (
                _with_scope(chosen_verdict, [j for j, _ in deciding], launches)
                for chosen_verdict in chosen_verdicts
            )
            return
    for verdict in contents_verdicts[0][1]:
        yield _with_scope(verdict, [judged for judged, _ in contents_verdicts], launches)
    covered_launches = sum(len(judged.contents.launches) for judged, _ in contents_verdicts)
    unjudged_launches = launches.contents.launches - covered_launches
    if unjudged_launches > 0:
        yield _unknown_for_others(contents_verdicts[0][1][0], unjudged_launches, launches)


def _with_scope(
    verdict: Verdict, judged: Sequence[_JudgedContents], launches: KnownLaunches
) -> Verdict:
    """Return a copy of a verdict with its launches, which also end its message and reason."""
    sets = [judged_contents.contents for judged_contents in judged]
    suffix = f" [{_scope_text(sets, launches)}]"
    return replace(
        verdict,
        message=verdict.message + suffix,
        reason=None if verdict.reason is None else verdict.reason + suffix,
        launches=frozenset(seq for contents in sets for seq in contents.launches),
    )


def _scope_text(sets: Sequence[ContentSet], launches: KnownLaunches) -> str:
    """Return text that names the launches with these contents and counts both."""
    numbers = sorted(seq for contents in sets for seq in contents.launches)
    listed = ", ".join(map(str, numbers[:_MOST_LISTED])) + (
        " …" if len(numbers) > _MOST_LISTED else ""
    )
    return (
        f"for the contents of launch{'' if len(numbers) == 1 else 'es'} {listed}: "
        f"{len(sets)} of {len(launches.contents.sets)} distinct contents, "
        f"{len(numbers)} of {launches.contents.launches} launches"
    )


def _unknown_at_other_offsets(verdict: Verdict, views: Sequence[str]) -> Verdict:
    names = ", ".join(views)
    return _unknown_like(
        verdict,
        f"{names} {'is a view' if len(views) == 1 else 'are views'} of part of a storage, and only "
        "the first launch's offset is recorded: record again to have each launch judged",
    )


def _unknown_for_others(verdict: Verdict, unjudged: int, launches: KnownLaunches) -> Verdict:
    """Return an unknown verdict for the launches whose contents were not recorded or judged."""
    if len(launches.contents.sets) > _MOST_JUDGED:
        reason = f"have other contents than the first {_MOST_JUDGED} of the call, or none recorded"
    else:
        remedy = (
            f": {CONTENTS_LIMIT}" if launches.contents.is_full else " (set KVTRACE_TENSORS=int)"
        )
        reason = f"lack recorded contents{remedy}"
    return _unknown_like(verdict, f"{unjudged} of {launches.contents.launches} launches {reason}")


def _unknown_like(verdict: Verdict, reason: str) -> Verdict:
    """Return an unknown verdict on all launches, of the rule and op of another verdict."""
    subject = verdict.access or "the op"
    return verdict.undecided(f"{subject} is not decided for all launches", reason)
