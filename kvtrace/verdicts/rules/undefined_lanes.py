"""The rules undefined-lanes and undefined-use: uses of lanes that a masked load leaves unset.

NVIDIA's compilers put zeros into these lanes today, but do not promise to: a finding *relies on an
unspecified value*, and need not be wrong. `kvtrace.symbolic.undefined.flow` derives once per kernel
which stores, addresses, masks and branches such lanes may reach (the sinks); this module decides
for a call whether any lane does.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from itertools import product
from typing import TYPE_CHECKING, Final

from msgspec.structs import replace

from kvtrace.evaluate import TensorArgument
from kvtrace.ir import Module, Op, Value
from kvtrace.ir.data_dependence import depending_on_data
from kvtrace.ir.feeding import feeding, feeding_values
from kvtrace.ir.model import line_text, once_per_module
from kvtrace.ir.ops import effect_of, mask_of
from kvtrace.ir.types import integer_bits
from kvtrace.symbolic.conditions import Opaque, within
from kvtrace.symbolic.prover import Proven, Refuted, is_counterexample, strongest
from kvtrace.symbolic.summary import Access
from kvtrace.symbolic.taint import (
    limited_operand,
    reached_from,
    tainted,
    undefined_cause,
    undefined_causes,
    undefined_sources,
)
from kvtrace.symbolic.terms import Symbol, Term
from kvtrace.symbolic.undefined.flow import Sink, sinks_of
from kvtrace.verdicts.binding import BoundCall, once_per_call
from kvtrace.verdicts.contents.loaded import depends_on
from kvtrace.verdicts.replaying import NOT_REPRODUCED
from kvtrace.verdicts.rules.fills import Fill, ObservedValue, Replays, number_text
from kvtrace.verdicts.rules.watched_values import ValueWatch, watched
from kvtrace.verdicts.verdict import Answer, Verdict, Witness, worst_by_op

if TYPE_CHECKING:
    from kvtrace.symbolic.conditions import Condition
    from kvtrace.symbolic.prover import Decision, Given, Point
    from kvtrace.verdicts.binding import Doubts

LANES: Final = "undefined-lanes"
USE: Final = "undefined-use"

_MAX_OPAQUE: Final = 4
_MAY_WRAP: Final = "integers that decide which lanes are used may wrap around"
_AFFECTED_TEXTS: Final = {
    "address": "where memory is accessed",
    "mask": "whether memory is accessed",
    "branch": "which branch is taken",
}


def judge(bound: BoundCall) -> Iterable[Verdict]:
    """Return the worst verdict for each op that an undefined lane may reach."""
    sinks = sinks_of(bound.call.module)
    if not sinks or not bound.programs:
        return ()
    observed_values = (_observed_value(sink) for sink in sinks)
    replays = Replays(bound, (observed for observed in observed_values if observed is not None))
    rules = (LANES if sink.use == "value" else USE for sink in sinks)
    return worst_by_op(
        _judge_sink(bound, sink, rule, replays)
        for sink, rule in zip(sinks, rules, strict=True)
        if rule in bound.rules
    )


@once_per_call
def uses_undefined(bound: BoundCall) -> bool:
    """Return whether a lane that a load leaves undefined may reach memory or a branch; cached."""
    return any(_may_be_reached(bound, sink) for sink in sinks_of(bound.call.module))


def _may_be_reached(bound: BoundCall, sink: Sink) -> bool:
    return sink.value.id in _sources(bound)[1] and (
        _wraps(bound, sink)
        or not _is_followed(bound, sink)
        or not isinstance(_decided(bound, sink, _given(bound, sink))[0], Proven)
    )


def numbers_without_value(bound: BoundCall) -> Mapping[int, str]:
    """Return texts by index of the ops whose results memory or a branch needs, and have no value.

    Verdicts by what formulas and the evaluator have in their place are no facts about the kernel.
    Lanes that loads leave are not among them. Cached.
    """
    texts: dict[int, str] | None = bound.memo.get(numbers_without_value)
    if texts is None:
        texts, module = bound.memo.setdefault(numbers_without_value, {}), bound.call.module
        causes = undefined_causes(module)
        sinks = sinks_of(module) if causes else ()
        for sink in (sink for sink in sinks if _may_be_reached(bound, sink)):
            sources, _, _ = _sources(bound)
            for op in causes.keys() & (sources & sink.undefined.sources or sources):
                texts[op.index] = f"{line_text(op, 'in')} without a value ({causes[op]})"
    return texts


@once_per_call
def _sources(bound: BoundCall) -> tuple[frozenset[Op], frozenset[int], Mapping[Op, str]]:
    """Return the ops that may leave elements without a value, and ids of values that get some.

    Last come the other ops whose operand has a limit, with methods that prove it kept. Cached.
    """
    module = bound.call.module
    ops, reached = undefined_sources(module), tainted(module)
    kept = {op: method for op in ops if (method := _method_of_limit(bound, op)) is not None}
    if kept:
        ops -= kept.keys()
        reached = reached_from(module, [op.results[0] for op in ops])
    return ops, reached, kept


def _method_of_limit(bound: BoundCall, op: Op) -> str | None:
    limited, place = limited_operand(op), bound.summary.place_of(op)
    if limited is None or place is None:
        return None
    operand, limit = limited
    term = None if place.calls else bound.summary.values.get(operand.id)
    is_within = isinstance(term, Term) and bound.ranges.truth(within(term, limit))
    if is_within and bound.are_ideal((operand,)):
        return "interval"
    if bound.contents.read_by(feeding_values((operand,), bound.call.module)):
        return None
    watch, method, undecided = watched(
        bound, lambda: ValueWatch(op, operand, lambda ns: (ns < 0) | (ns >= limit)), None
    )
    return None if watch.witness or undecided else method


def _judge_sink(bound: BoundCall, sink: Sink, rule: str, replays: Replays) -> Verdict | None:
    """Return the verdict on a sink, None if no program reaches it or an integer may wrap."""
    given = _given(bound, sink)
    if bound.is_unreached(sink.place, given):
        return None
    _, reached, kept = _sources(bound)
    if sink.value.id not in reached:
        methods = [kept[op] for op in sink.undefined.sources]
        return _proven(bound, sink, rule, min(methods)) if methods else None
    decision, is_weak = _decided(bound, sink, given)
    if isinstance(decision, Proven):
        is_followed = _is_followed(bound, sink)
        if _wraps(bound, sink) or (is_followed and sink.undefined.is_nowhere):
            return None
        if not is_followed:
            return _unknown(bound, sink, rule, _MAY_WRAP)
        return _proven(bound, sink, rule, decision.method)
    if not isinstance(decision, Refuted):
        return _unknown(bound, sink, rule, decision.reason)
    claim = ~(sink.undefined.possibly if is_weak else sink.undefined.surely)
    doubts = _doubts(bound, decision.model, claim, given)
    if doubts and not _is_replayable(bound, sink, doubts):
        missing = _missing(bound, sink)
        reasons = [] if missing and doubts.unrecorded else [doubts.reason]
        reasons += [depends_on(missing)] if missing else []
        return _unknown(bound, sink, rule, "; ".join(reasons))
    runs_grid = bool(doubts) and bound.lanes <= bound.budget.replay_lanes
    program = None if runs_grid else bound.program_of(decision.model)
    observed = _observed_value(sink)
    if observed is None:
        return _unknown(bound, sink, rule, "it depends on a value that a loop carries")
    difference = replays.difference(observed, program)
    if isinstance(difference, str):
        reason = f"{doubts.reason if doubts else NOT_REPRODUCED}; {difference}"
        return _unknown(bound, sink, rule, reason)
    at_fault = _at_fault(sink, observed, program, replays, difference[1])
    return _violation(bound, at_fault, rule, difference, decision, weak=is_weak)


def _given(bound: BoundCall, sink: Sink) -> Given:
    """Return the conditions under which a sink's lanes matter."""
    place = sink.place
    return bound.active(place) if isinstance(place, Access) else bound.given(place)


def _decided(bound: BoundCall, sink: Sink, given: Given) -> tuple[Decision, bool]:
    """Return whether no undefined lane reaches a sink, and if that is about products with zero."""
    undefined = sink.undefined
    decision = bound.prove(~undefined.surely, given)
    if not isinstance(decision, Proven) or undefined.possibly is undefined.surely:
        return decision, False
    weak_decision = bound.prove(~undefined.possibly, given)
    if isinstance(weak_decision, Proven):
        weak_decision = Proven(strongest((decision.method, weak_decision.method)))
    return weak_decision, True


def _is_followed(bound: BoundCall, sink: Sink) -> bool:
    """Return whether no integer wraps that decides which undefined lanes reach a sink."""
    module, undefined_ids = bound.call.module, _sources(bound)[1]
    known, key = _deciding_values(module), (sink.value, undefined_ids)
    if key not in known:
        feeders = feeding_values((sink.value,), module)
        known[key] = [
            operand
            for op in module.ops
            if op.index in feeders and any(value.id in undefined_ids for value in op.results)
            for operand in op.operands
            if operand.id not in undefined_ids and integer_bits(operand.type) is not None
        ]
    return bound.are_ideal(known[key])


@once_per_module
def _deciding_values(_module: Module) -> dict[tuple[Value, frozenset[int]], Sequence[Value]]:
    """Return a cache of defined integers that decide which undefined lanes reach a value."""
    return {}


def _wraps(bound: BoundCall, sink: Sink) -> bool:
    """Return whether integers of a sink or its loads may wrap, which the rule overflow reports."""
    ops = {sink.op, *sink.undefined.sources}
    load_accesses = [access for access in bound.summary.accesses if access.op in ops]
    return any(bound.may_wrap(place_) is not None for place_ in (sink.place, *load_accesses))


def _doubts(bound: BoundCall, point: Point, claim: Condition, given: Given) -> Doubts | None:
    """Return the unproven assumptions of a counterexample, None if they do not affect it."""
    doubts = bound.doubts(point)
    opaque = [key for key in doubts.keys if isinstance(key, Opaque)]
    if len(opaque) < len(doubts.keys) or len(opaque) > _MAX_OPAQUE:
        return doubts
    for truth_values in product((0, 1), repeat=len(opaque)):
        flipped: dict[Symbol | Opaque, int] = dict(point)
        flipped.update(zip(opaque, truth_values, strict=True))
        if not is_counterexample(flipped, claim, given.exact):
            return doubts
    return None


def _is_replayable(bound: BoundCall, sink: Sink, doubts: Doubts) -> bool:
    """Return whether a replay decides in spite of doubts: all needed contents were recorded."""
    tensors = [a for a in bound.call.arguments if isinstance(a, TensorArgument)]
    if all(tensor.storage.data is not None for tensor in tensors):
        return True
    module = bound.call.module
    ops = (sink.op, *sink.undefined.sources)
    dependent = depending_on_data(module)
    if not any(op.index in dependent for op in ops):
        return True
    are_contents = all(isinstance(key, Symbol) and key.kind == "content" for key in doubts.keys)
    if not are_contents or doubts.unrecorded:
        return False
    return not _missing(bound, sink)


def _missing(bound: BoundCall, sink: Sink) -> list[TensorArgument]:
    """Return the tensors without contents that determine which undefined elements reach a sink."""
    read: list[TensorArgument] = []
    for op in (sink.op, *sorted(sink.undefined.sources, key=lambda op: op.index)):
        limited, module = limited_operand(op), bound.call.module
        feeders = feeding_values(limited[:1], module) if limited else feeding(op, module)
        read += bound.contents.read_by(feeders)
    return read


def _at_fault(
    sink: Sink, observed: ObservedValue, program: int | None, replays: Replays, fill: Fill
) -> Sink:
    """Return a sink with those of its sources that change it alone; with all, if none does."""
    sources = sink.undefined.sources
    if len(sources) < 2:
        return sink
    tried = ((op, replays.difference(observed, program, op, (fill,))) for op in sources)
    alone = frozenset(op for op, difference in tried if not isinstance(difference, str))
    return replace(sink, undefined=replace(sink.undefined, sources=alone or sources))


def _observed_value(sink: Sink) -> ObservedValue | None:
    """Return the value to observe in a replay, None if a loop carries it and no op computes it."""
    op, value = sink.op, sink.value
    if sink.use == "branch":
        return ObservedValue(value.owner, value, None) if isinstance(value.owner, Op) else None
    if sink.use == "mask":
        return ObservedValue(op, value, None)
    return ObservedValue(op, value, mask_of(op))


# -- messages -----------------------------------------------------------------------------------


def _proven(bound: BoundCall, sink: Sink, rule: str, method: str) -> Verdict:
    message = f"no {_source_text(bound, sink)} {_effect_text(sink)} in this call"
    if _are_all_active(bound, sink):
        message += "; for these shapes the masks are true in all lanes; other shapes may differ"
    return _verdict(bound, sink, rule, "proven", message, method)


def _are_all_active(bound: BoundCall, sink: Sink) -> bool:
    """Return whether all lanes of the sink's loads are proven active in this call."""
    loads = [access for access in bound.summary.accesses if access.op in sink.undefined.sources]

    def is_on(access: Access, given: Given) -> bool:
        decision: Decision = bound.prove(access.mask, given)
        return isinstance(decision, Proven)

    return bool(loads) and all(is_on(access, bound.given(access)) for access in loads)


def _unknown(bound: BoundCall, sink: Sink, rule: str, reason: str) -> Verdict:
    message = (
        f"whether a {_source_text(bound, sink)} {_effect_text(sink)} could not be decided: {reason}"
    )
    return replace(_verdict(bound, sink, rule, "unknown", message), reason=reason)


def _verdict(
    bound: BoundCall, sink: Sink, rule: str, answer: Answer, message: str, method: str | None = None
) -> Verdict:
    return replace(bound.verdict(rule, answer, sink.place, message, method), op=sink.op)


def _violation(
    bound: BoundCall,
    sink: Sink,
    rule: str,
    difference: tuple[Witness, Fill],
    decision: Refuted,
    *,
    weak: bool,
) -> Verdict:
    cause = _cause(sink) or "masked off, no `other`"
    message = (
        f"{_subject(sink)} relies on an unspecified value: a {_source_text(bound, sink)} "
        f"({cause}) {_effect_text(sink)}"
    )
    if weak:
        message += "; it is multiplied by zero there, so it counts only if it is NaN or infinite"
    witness, fill = difference
    number = number_text(fill, min(sink.undefined.sources, key=lambda op: op.index))
    message += f"; the result differs between 0 and {number} there" if number else ""
    verdict = _verdict(bound, sink, rule, "violation", message, decision.method)
    return verdict.at(witness)


def _subject(sink: Sink) -> str:
    if isinstance(sink.place, Access):
        return sink.place.kind
    return "the mask" if sink.use == "mask" else "the branch"


def _effect_text(sink: Sink) -> str:
    if sink.use != "value":
        return f"decides {_AFFECTED_TEXTS[sink.use]}"
    return "is added to memory" if _subject(sink) == "atomic" else "is stored"


def _cause(sink: Sink) -> str | None:
    """Return why a number has no value if no load is a source of a sink, else None."""
    causes = [undefined_cause(op) for op in sorted(sink.undefined.sources, key=lambda op: op.index)]
    return causes[0] if causes and all(causes) else None


def _source_text(bound: BoundCall, sink: Sink) -> str:
    """Return a phrase for a sink's sources: "lane that the load of x in line 7 leaves …"."""
    sources = sorted(sink.undefined.sources, key=lambda op: op.index)
    if _cause(sink):
        return f"number{line_text(sources[0], 'in')} without a value"
    loads = (op for op in sources if not undefined_cause(op))
    phrases = list(dict.fromkeys(_load_text(bound, op) for op in loads)) or ["a load"]
    return f"lane that {' or '.join(phrases[:3])} leaves without a value"


def _load_text(bound: BoundCall, op: Op) -> str:
    names = {
        bound.call.arguments[access.argument].name
        for access in bound.summary.accesses
        if access.op is op and access.argument is not None
    }
    line, kind = line_text(op, "in"), effect_of(op)
    return f"the {kind} of {', '.join(sorted(names))}{line}" if names else f"a {kind}{line}"
