"""What has to hold for a size to be fine: a claim for each access, integer, pair and rule.

A claim is proven for all launches between two sizes, or it is not known to hold. All claims that
the default rules make are here; a range of sizes is fine only where every one of them is proven.
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
from kvtrace.symbolic.walk import summarise
from kvtrace.symbolic.walk_types import integer_bits
from kvtrace.verdicts.binding import BoundCall
from kvtrace.verdicts.conflicts.parts import parts_of
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
    """Something that has to hold at a size.

    `rules` are the ids of the rules whose violation it rules out; `what` says what is not known
    where it is not proven. `access` is the number of the access that it is about, `use` an integer.
    """

    group: Group
    rules: tuple[str, ...]
    op: Op
    what: str
    holds: Callable[[SizedCall], bool]
    use: Use | None = None
    access: int | None = None


def rules_of_sizes() -> list[str]:
    """Return the ids of the rules that a size may break: all default ones but one.

    Where a size leaves nothing to access, as the neighbors of a single element, a mask is false in
    every lane, as it should be.
    """
    return [rule.id for rule in RULES.values() if rule.default and rule.id != "mask-always-false"]


def claims_of(call: Call) -> list[Claim]:
    """Return all claims of a kernel, those first that mostly end a range; `call`: as recorded."""
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
        if key in seen:  # of another access in the same loop
            continue
        seen.add(key)
        text = operation_expression(use.arithmetic.op, summarise(module))
        what = f"whether {text} stays within {use.arithmetic.bits} bits"
        holds = partial(_fits, use)
        yield Claim("overflow", ("overflow",), use.access.op, what, holds, use)
    for number, access in enumerate(summarise(module).accesses):
        if access.calls:
            what = "whether integers of a function that is called wrap around"
            holds = partial(_does_not_wrap, number)
            yield Claim("overflow", ("overflow",), access.op, what, holds)


def _fits(use: Use, bound: SizedCall) -> bool:
    given = bound.active(use.access) if use.exact_lanes else bound.given(use.place)
    if given.is_impossible:
        return True
    contents = [a for a in use.right.atoms() if isinstance(a, Symbol) and a.kind == "content"]
    for symbol in contents:  # formulas have them signed
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
    """Yield each shift that decides an access, its place, and that it is by 0 to the width - 1.

    A shift by another number is undefined, even where its result does not matter. The condition is
    FALSE where the number has no formula; the place is None where it is not known.
    """
    summary = summarise(module)
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
        what = f"whether {operation_expression(op, summarise(module))} shifts by 0 to the width - 1"
        yield Claim("rule", (), op, what, partial(is_defined, place, in_width))


def is_defined(place: Place | None, in_width: Condition, bound: BoundCall) -> bool:
    """Tell whether a shift is proven to be defined wherever it is reached."""
    if place is None:
        return False
    given = bound.given(place)
    return given.is_impossible or isinstance(bound.prove(in_width, given), Proven)


_BOUNDS: Final = ("out-of-bounds", "out-of-view")


# -- bounds ---------------------------------------------------------------------------------------


def _of_bounds(call: Call) -> Iterator[Claim]:
    for number, found in enumerate(conditions_of(call.module)):
        access = found.access
        name = "?" if access.argument is None else call.arguments[access.argument].name
        what = f"whether the {access.kind} of {name} stays inside"
        holds = partial(_is_inside, number, found)
        yield Claim("tensor", _BOUNDS, access.op, what, holds, access=number)


def _is_inside(number: int, found: AccessCondition, bound: SizedCall) -> bool:
    access = bound.summary.accesses[number]
    given = bound.active(access)
    if given.is_impossible:
        return True
    end = None if access.argument is None else bound.sized.end(access.argument)
    if end is None:
        return False
    if _is_inside_by_condition(bound, found, end):
        return True
    return bound.proves(access.lies_within(0, end), given)


def _is_inside_by_condition(bound: SizedCall, found: AccessCondition, end: Term) -> bool:
    """Put the sizes into the kernel's own condition, where programs and lanes are eliminated."""
    if found.condition is None or found.access.argument is None:
        return False
    room = extent(found.access.argument)
    needed = [at_least(symbol.term - least) for symbol, least in found.assumptions]
    whole = conjunction((*needed, found.condition))
    whole = bound.sized.at(whole.substitute(Substitution({room: end})))
    return bound.proves(whole, bound.given_of([]))


# -- the variant's own reach ----------------------------------------------------------------------


def _of_reach(module: Module) -> Iterator[Claim]:
    """Claim that stores still reach every element that their masks admit, if they did."""
    seen: dict[Condition, Op] = {}
    for found in conditions_of(module):
        for condition in found.reach:
            seen.setdefault(condition, found.op)
    for condition, op in seen.items():
        what = "whether every element is stored"
        yield Claim("constants", (), op, what, partial(_always, condition))


def _always(condition: Condition, bound: SizedCall) -> bool:
    return bound.proves(condition, bound.given_of([]))


# -- other rules ----------------------------------------------------------------------------------


def _of_rules(module: Module) -> Iterator[Claim]:
    summary = summarise(module)
    hints = [h for h in summary.hints if h.position is None and h.term is not None]
    found: Mapping[str, tuple[tuple[str, ...], bool]] = {
        "alignment": (("misaligned", "null-pointer"), bool(summary.accesses)),
        "division": (("division-by-zero",), bool(summary.divisions)),
        "asserts": (("device-assert",), bool(summary.assertions)),
        "hints": (("wrong-hint",), bool(hints or summary.assumptions)),
        "undefined_lanes": (
            ("undefined-lanes", "undefined-use"), bool(sinks_of(module)),
        ),
    }  # fmt: skip
    for file, (rules, asked) in found.items():
        if asked:
            what = f"whether {' or '.join(rules)} holds off"
            yield Claim("rule", rules, module.main.op, what, partial(_by_rule, file))


def _of_other_rules(module: Module) -> Iterator[Claim]:
    """Ask all rules of sizes that no claim of this file is about, so that none is forgotten."""
    for rule in map(RULES.__getitem__, rules_of_sizes()):
        if rule.id not in _CLAIMED:
            what = f"whether {rule.id} holds off"
            yield Claim("rule", (rule.id,), module.main.op, what, partial(_by_judge, rule))


_CLAIMED: Final = frozenset({
    "overflow", "out-of-bounds", "out-of-view", "misaligned", "null-pointer", "division-by-zero",
    "device-assert", "wrong-hint", "undefined-lanes", "undefined-use", "race",
})  # fmt: skip


def _by_judge(rule: Rule, bound: SizedCall) -> bool:
    return all(each.verdict == "proven" for each in rule.judge(bound) if each.rule == rule.id)


#: Signature hints are of the launch that was recorded: Triton compiles other sizes without them.
_OF_THE_SIGNATURE: Final = ("wrong-hint", "violation")


def _by_rule(file: str, bound: SizedCall) -> bool:
    """Ask a rule itself: it decides on formulas, none of which are refuted in a range."""
    return all(
        verdict.verdict == "proven" or (verdict.rule, verdict.verdict) == _OF_THE_SIGNATURE
        for verdict in import_module(f"kvtrace.verdicts.rules.{file}").judge(bound)
    )


# -- races ----------------------------------------------------------------------------------------


def _of_races(call: Call) -> Iterator[Claim]:
    if parts_of(call.module).unseen is not None:
        main = call.module.main.op
        yield Claim("rule", ("race",), main, "whether programs race", lambda _: False)
        return
    accesses = summarise(call.module).accesses
    for one, other in racing_pairs(call):
        holds = partial(pair_is_free, one, other)
        yield Claim("rule", ("race",), accesses[one].op, "whether programs race", holds)
