"""Claims that make a size safe: one for each access, integer, pair of accesses and rule.

A claim is proven for all launches between two sizes, or undecided. The claims cover all default
rules; a range of sizes is safe only if every claim is proven for the range.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from importlib import import_module
from typing import TYPE_CHECKING, Final, Literal

from kvtrace.ir.ops import operator_of
from kvtrace.symbolic.conditions import FALSE, TRUE, Condition, at_least, conjunction
from kvtrace.symbolic.expressions import operation_expression
from kvtrace.symbolic.prover import Proven, follows
from kvtrace.symbolic.summary import Place
from kvtrace.symbolic.terms import Substitution, Symbol, Term
from kvtrace.symbolic.undefined.flow import sinks_of
from kvtrace.symbolic.walk import summarize
from kvtrace.symbolic.walk_types import integer_bits
from kvtrace.verdicts.binding import BoundCall
from kvtrace.verdicts.conflicts.parts import roles_of
from kvtrace.verdicts.feeding import feeding
from kvtrace.verdicts.rules.table import RULES, Rule
from kvtrace.verdicts.sizes.condition import AccessCondition, conditions_of, extent
from kvtrace.verdicts.sizes.sized import SizedCall
from kvtrace.verdicts.sizes.sized_races import pair_is_free, racing_pairs
from kvtrace.verdicts.widths import Use, uses

if TYPE_CHECKING:
    from kvtrace.ir import Module, Op
    from kvtrace.recorded_calls.recorded import Call

Group = Literal["overflow", "tensor", "constants", "rule"]


@dataclass(frozen=True, eq=False)
class Claim:
    """A claim that a safe size satisfies.

    `rules` are the ids of the rules whose violations the claim rules out. `what` is a clause for
    messages, as "whether x + 1 stays within 32 bits". `access` is the number of the access that the
    claim is about, or `use` the use of an integer.
    """

    group: Group
    rules: tuple[str, ...]
    op: Op
    what: str
    holds: Callable[[SizedCall], bool]
    use: Use | None = None
    access: int | None = None


def rules_of_sizes() -> list[str]:
    """Return the ids of the rules that a size may break: all default rules but mask-always-false.

    At a size with nothing to access, as the neighbors of a single element, a mask is rightly false
    in every lane.
    """
    return [rule.id for rule in RULES.values() if rule.default and rule.id != "mask-always-false"]


def claims_of(call: Call) -> list[Claim]:
    """Return all claims of a recorded call's kernel, first those that mostly end a range."""
    return [
        *_of_widths(call.module), *_of_shifts(call.module), *_of_bounds(call),
        *_of_reach(call.module), *_of_rules(call.module), *_of_other_rules(call.module),
        *_of_races(call),
    ]  # fmt: skip


# -- overflow -------------------------------------------------------------------------------------


def _of_widths(module: Module) -> Iterator[Claim]:
    seen: set[tuple[Condition, int]] = set()
    for use in uses(module):
        key = use.right, id(use.access if use.exact_lanes else use.place)
        if key in seen:  # by another access in the same loop
            continue
        seen.add(key)
        text = operation_expression(use.arithmetic.op, summarize(module))
        what = f"whether {text} stays within {use.arithmetic.bits} bits"
        holds = partial(_fits, use)
        yield Claim("overflow", ("overflow",), use.access.op, what, holds, use)
    for number, access in enumerate(summarize(module).accesses):
        if access.calls:
            what = "whether integers of a called function wrap around"
            holds = partial(_does_not_wrap, number)
            yield Claim("overflow", ("overflow",), access.op, what, holds)


def _fits(use: Use, bound: SizedCall) -> bool:
    given = bound.active(use.access) if use.exact_lanes else bound.given(use.place)
    if given.is_impossible:
        return True
    contents = [a for a in use.right.atoms() if isinstance(a, Symbol) and a.kind == "content"]
    for symbol in contents:  # formulas take them as signed
        unsigned = any(tensor.dtype[0] == "u" for tensor in bound.contents.sources(symbol))
        if unsigned and bound.ranges.of(symbol)[0] < 0:
            return False
    fits: Condition = bound.sized.at(use.fits)
    if follows(fits, given) is not None:
        return True
    return use.right is not use.fits and bound.proves(use.right, given)


def _does_not_wrap(number: int, bound: SizedCall) -> bool:
    return bound.may_wrap(bound.summary.accesses[number]) is None


# -- shifts ---------------------------------------------------------------------------------------


def shifts_of(module: Module) -> Iterator[tuple[Op, Place | None, Condition]]:
    """Yield each shift that decides an access, its place, and the condition that it is defined.

    A shift by a number other than 0 to the width - 1 is undefined. The condition is FALSE if the
    number has no formula; the place is None if it is unknown.
    """
    summary = summarize(module)
    deciding = {index for access in summary.accesses for index in feeding(access.op, module)}
    for op in (module.ops[index] for index in sorted(deciding)):
        if operator_of(op) not in ("<<", ">>"):
            continue
        by, bits = summary.values.get(op.operand("right").id), integer_bits(op.results[0].type)
        place = None if op.block is None else summary.places.get(op.block)
        in_width: Condition = FALSE
        if isinstance(by, Term) and bits is not None:
            in_width = conjunction((at_least(by), at_least(bits - 1 - by)))
        if in_width is not TRUE:
            yield op, place, in_width


def _of_shifts(module: Module) -> Iterator[Claim]:
    for op, place, in_width in shifts_of(module):
        what = (
            f"whether {operation_expression(op, summarize(module))} shifts by less than its width"
        )
        yield Claim("rule", (), op, what, partial(is_defined, place, in_width))


def is_defined(place: Place | None, in_width: Condition, bound: BoundCall) -> bool:
    """Return whether a shift is proven to be defined wherever it is reached."""
    if place is None:
        return False
    given = bound.given(place)
    return given.is_impossible or isinstance(bound.prove(in_width, given), Proven)


_BOUNDS: Final = ("out-of-bounds", "out-of-view")


# -- bounds ---------------------------------------------------------------------------------------


def _of_bounds(call: Call) -> Iterator[Claim]:
    for number, condition in enumerate(conditions_of(call.module)):
        access = condition.access
        name = "?" if access.argument is None else call.arguments[access.argument].name
        what = f"whether the {access.kind} of {name} stays inside"
        holds = partial(_is_inside, number, condition)
        yield Claim("tensor", _BOUNDS, access.op, what, holds, access=number)


def _is_inside(number: int, condition: AccessCondition, bound: SizedCall) -> bool:
    access = bound.summary.accesses[number]
    given = bound.active(access)
    if given.is_impossible:
        return True
    end = None if access.argument is None else bound.sized.end(access.argument)
    if end is None:
        return False
    if _is_inside_by_condition(bound, condition, end):
        return True
    return bound.proves(access.lies_within(0, end), given)


def _is_inside_by_condition(bound: SizedCall, condition: AccessCondition, end: Term) -> bool:
    """Return whether the sizes satisfy the kernel's condition, which has no programs or lanes."""
    if condition.condition is None or condition.access.argument is None:
        return False
    room = extent(condition.access.argument)
    assumed = [at_least(symbol.term - least) for symbol, least in condition.assumptions]
    whole = conjunction((*assumed, condition.condition))
    whole = bound.sized.at(whole.substitute(Substitution({room: end})))
    return bound.proves(whole, bound.given_of([]))


# -- the variant's reach ---------------------------------------------------------------------------


def _of_reach(module: Module) -> Iterator[Claim]:
    """Claim that stores still reach every element that their masks admit, if they did."""
    ops: dict[Condition, Op] = {}
    for access in conditions_of(module):
        for condition in access.reach:
            ops.setdefault(condition, access.op)
    for condition, op in ops.items():
        what = "whether every element is stored"
        yield Claim("constants", (), op, what, partial(_always, condition))


def _always(condition: Condition, bound: SizedCall) -> bool:
    return bound.proves(condition, bound.given_of([]))


# -- other rules ----------------------------------------------------------------------------------


def _of_rules(module: Module) -> Iterator[Claim]:
    summary = summarize(module)
    hints = [h for h in summary.hints if h.position is None and h.term is not None]
    rules_by_file: Mapping[str, tuple[tuple[str, ...], bool]] = {
        "alignment": (("misaligned", "null-pointer"), bool(summary.accesses)),
        "division": (("division-by-zero",), bool(summary.divisions)),
        "asserts": (("device-assert",), bool(summary.assertions)),
        "hints": (("wrong-hint",), bool(hints or summary.assumptions)),
        "undefined_lanes": (
            ("undefined-lanes", "undefined-use"), bool(sinks_of(module)),
        ),
    }  # fmt: skip
    for file, (rules, is_relevant) in rules_by_file.items():
        if is_relevant:
            what = f"whether the kernel satisfies {' and '.join(rules)}"
            yield Claim("rule", rules, module.main.op, what, partial(_by_rule, file))


def _of_other_rules(module: Module) -> Iterator[Claim]:
    """Yield a claim for each rule of sizes that no other claim of this file is about."""
    for rule in map(RULES.__getitem__, rules_of_sizes()):
        if rule.id not in _CLAIMED:
            what = f"whether the kernel satisfies {rule.id}"
            yield Claim("rule", (rule.id,), module.main.op, what, partial(_by_judge, rule))


_CLAIMED: Final = frozenset({
    "overflow", "out-of-bounds", "out-of-view", "misaligned", "null-pointer", "division-by-zero",
    "device-assert", "wrong-hint", "undefined-lanes", "undefined-use", "race",
})  # fmt: skip


def _by_judge(rule: Rule, bound: SizedCall) -> bool:
    return all(v.verdict == "proven" for v in rule.judge(bound) if v.rule == rule.id)


#: Signature hints are true of the recorded launch: Triton compiles other sizes without them.
_OF_THE_SIGNATURE: Final = ("wrong-hint", "violation")


def _by_rule(file: str, bound: SizedCall) -> bool:
    """Return whether a rule's own judge proves all its claims for the range of sizes."""
    return all(
        verdict.verdict == "proven" or (verdict.rule, verdict.verdict) == _OF_THE_SIGNATURE
        for verdict in import_module(f"kvtrace.verdicts.rules.{file}").judge(bound)
    )


# -- races ----------------------------------------------------------------------------------------


def _of_races(call: Call) -> Iterator[Claim]:
    if roles_of(call.module).unseen is not None:
        main = call.module.main.op
        yield Claim("rule", ("race",), main, "whether programs race", lambda _: False)
        return
    accesses = summarize(call.module).accesses
    for one, other in racing_pairs(call):
        holds = partial(pair_is_free, one, other)
        yield Claim("rule", ("race",), accesses[one].op, "whether programs race", holds)
