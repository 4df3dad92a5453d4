"""Claims whose proofs make a size safe: for each access, integer, pair of accesses and rule.

A claim is proven for all launches between two sizes, or undecided. The claims cover all default
rules; a range of sizes is safe only if every claim is proven for the range.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial, reduce
from typing import Final, Literal

from msgspec import Struct

from kvtrace.ir import Module, Op
from kvtrace.ir.buffer_ops import IN_BUFFER
from kvtrace.ir.feeding import feeding
from kvtrace.ir.ops import operator_of
from kvtrace.ir.types import integer_bits
from kvtrace.recorded_calls.recorded import Call
from kvtrace.symbolic.conditions import (
    FALSE,
    TRUE,
    AtLeast,
    Condition,
    at_least,
    conjunction,
    disjunction,
    equal,
    in_order,
    within,
)
from kvtrace.symbolic.expressions import operation_expression
from kvtrace.symbolic.functions import maximum
from kvtrace.symbolic.prover import Given, Proven, follows, prove
from kvtrace.symbolic.summary import Access, Loop, Place, Summary
from kvtrace.symbolic.terms import ZERO, Monomial, Substitution, Symbol, Term, program
from kvtrace.symbolic.walk import summarize
from kvtrace.verdicts.binding import BoundCall
from kvtrace.verdicts.conflicts.copies import Actors, Question, two_programs
from kvtrace.verdicts.conflicts.messages import LANE_CONFLICT
from kvtrace.verdicts.conflicts.outcomes import NoConflict
from kvtrace.verdicts.conflicts.parts import roles_of
from kvtrace.verdicts.conflicts.race import ProgramPairs
from kvtrace.verdicts.conflicts.search import shared_by_lanes
from kvtrace.verdicts.rules.table import RULES, Judge
from kvtrace.verdicts.sizes.condition import AccessCondition, conditions_of, extent
from kvtrace.verdicts.sizes.sized import BUDGET, SIZE, SizedCall
from kvtrace.verdicts.sizes.upper_bounds import implied_conditions
from kvtrace.verdicts.widths import Use, uses

Group = Literal["overflow", "tensor", "constants", "rule"]
COVERAGE: Final[Group] = "constants"
"""The group of claims that stores reach every element, which end a range and are no defect."""


class Claim(Struct, frozen=True, eq=False):
    """A claim that has to hold at a safe size.

    `rules` has the ids of the rules whose violations the claim excludes. `what` is a clause for
    messages, as "whether x + 1 stays within 32 bits". `access` is the index of the access that the
    claim is about, `use` the use of an integer, or `condition` what numbers have to satisfy, with a
    message if they do not, `broken`.
    """

    group: Group
    rules: tuple[str, ...]
    op: Op
    what: str
    holds: Callable[[SizedCall], bool]
    use: Use | None = None
    access: int | None = None
    condition: Condition | None = None
    broken: str = ""


ENDLESS: Final = "the while loop never ends, as its step is not positive"
_SHIFTS: Final = (
    "{} shifts by less than its width",
    "{} may shift by less than 0 bits, or by its width or more",
)
_DIVISIONS: Final = (
    "{} is the same if 1 is compiled as a constant",
    "Triton may compile an argument of 1 as a constant, and {} of constants is rounded down",
)
NOT_COVERED: Final = "the grid and the block size no longer cover every element"


def rules_of_sizes() -> list[str]:
    """Return the ids of the default rules that a size may violate."""
    return [rule.id for rule in RULES.values() if rule.default and rule.narrows_sizes]


def claims_of(call: Call) -> list[Claim]:
    """Return all claims for a recorded call's kernel; those that often end a range come first."""
    return [
        *_width_claims(call.module), *_value_claims(call.module), *_ending_claims(call.module),
        *_bounds_claims(call),
        *_reach_claims(call.module), *_rule_claims(call.module), *_race_claims(call),
    ]  # fmt: skip


# -- overflow -------------------------------------------------------------------------------------


def _width_claims(module: Module) -> Iterator[Claim]:
    claimed: set[tuple[Condition, int]] = set()
    for use in uses(module):
        key = use.right, id(use.access if use.exact_lanes else use.place)
        if key in claimed:  # claimed for another access in the same loop
            continue
        claimed.add(key)
        text = operation_expression(use.arithmetic.op, summarize(module))
        clause = f"whether {text} stays within {use.arithmetic.width}"
        holds = partial(_is_right, use)
        yield Claim("overflow", ("overflow",), use.access.op, clause, holds, use)
    for access_index, access in enumerate(summarize(module).accesses):
        if access.calls:
            clause = "whether integers of a called function wrap around"
            holds = partial(_does_not_wrap, access_index)
            yield Claim("overflow", ("overflow",), access.op, clause, holds)


def _is_right(use: Use, bound: SizedCall) -> bool:
    """Return whether a use of an integer is proven free of visible wraps for the range of sizes."""
    given = bound.active(use.access) if use.exact_lanes else bound.given(use.place)
    if given.is_impossible or not bound.has_use(use):
        return True
    contents = [a for a in use.right.atoms() if isinstance(a, Symbol) and a.kind == "content"]
    for symbol in contents:  # formulas treat them as signed
        unsigned = any(tensor.dtype[0] == "u" for tensor in bound.contents.sources(symbol))
        if unsigned and bound.ranges.of(symbol)[0] < 0:
            return False
    fits: Condition = bound.sized.substitute(use.fits)
    if follows(fits, given) is not None:
        return True
    return use.right is not use.fits and bound.proves(use.right, given)


def _does_not_wrap(access_index: int, bound: SizedCall) -> bool:
    return bound.may_wrap(bound.summary.accesses[access_index]) is None


# -- values that the formulas do not have ----------------------------------------------------------


def uncertain_values(module: Module) -> Iterator[tuple[str, str, Op, Place | None, Condition]]:
    """Yield each shift and division that feeds an access and may have another value than here.

    Each comes with a clause on what makes its value certain, one on what may happen else, its place
    (None if it is unknown), and the condition that the value is certain.
    """
    summary = summarize(module)
    feeders = {index for access in summary.accesses for index in feeding(access.op, module)}
    for op in (module.ops[index] for index in sorted(feeders)):
        operator, place = operator_of(op), summary.place_of(op)
        if operator in ("<<", ">>"):
            condition, is_so, otherwise = _in_width(op, summary), *_SHIFTS
        elif operator in ("//", "%"):
            condition, is_so, otherwise = _same_as_constants(op, summary), *_DIVISIONS
        else:
            continue
        if condition is not TRUE:
            text = operation_expression(op, summary)
            yield is_so.format(text), otherwise.format(text), op, place, condition


def _in_width(op: Op, summary: Summary) -> Condition:
    """Return the condition that a shift is defined: by at least 0, and by less than the width."""
    shift, bits = summary.values.get(op.operand("right").id), integer_bits(op.results[0].type)
    return within(shift, bits) if isinstance(shift, Term) and bits is not None else FALSE


def _same_as_constants(op: Op, summary: Summary) -> Condition:
    """Return the condition that a division of scalars is the same if all scalars are constants.

    Triton compiles an argument of 1 as a constant, and divides constants as Python does: -1 // 4 is
    -1, and 0 in compiled code (findings/triton_argument_one.sh).
    """
    terms = [summary.values.get(value.id) for value in op.operands]
    formulas = [term for term in terms if isinstance(term, Term)]
    atoms = [atom for term in formulas for atom in in_order(term.atoms())]
    scalars = [atom for atom in atoms if isinstance(atom, Symbol) and atom.kind == "scalar"]
    if not scalars or len(scalars) < len(atoms) or len(formulas) < len(terms):
        return TRUE
    is_positive = conjunction(map(at_least, formulas))
    is_not_one = (at_least(gap) for s in scalars for gap in (s.term - 2, -s.term))
    return disjunction((is_positive, *is_not_one))


def _value_claims(module: Module) -> Iterator[Claim]:
    for clause, _, op, place, condition in uncertain_values(module):
        yield Claim("rule", (), op, f"whether {clause}", partial(is_defined, place, condition))


def is_defined(place: Place | None, condition: Condition, bound: BoundCall) -> bool:
    """Return whether a value is proven to be certain in all programs that reach it."""
    if place is None:
        return False
    given = bound.given(place)
    return given.is_impossible or isinstance(bound.prove(condition, given), Proven)


# -- loops that a condition ends -------------------------------------------------------------------


def ending_loops(module: Module) -> Iterator[tuple[Loop, Condition]]:
    """Yield each `while` loop that compares integers, and the condition that it ends.

    It ends if, in one of the comparisons, each trip comes closer to the end: `i < 1000` with
    `i += s` if `s` is at least 1. Loops that compare other values are left out.
    """
    for loop in summarize(module).loops:
        conditions = loop.going_on.conjuncts() if loop.is_asked_once_more else ()
        steps = [_step(c.term, loop.trip) for c in conditions if isinstance(c, AtLeast)]
        if not steps or len(steps) < len(conditions) or None in steps:
            continue
        largest = reduce(maximum, (step for step in steps if step is not None))
        first = loop.going_on.substitute(Substitution({loop.trip: ZERO}))
        progress = disjunction((~conjunction((loop.guard, first)), at_least(largest - 1)))
        if progress is not TRUE:
            yield loop, progress


def _step(term: Term, trip: Symbol) -> Term | None:
    """Return by how much a term falls in a trip, None if it is not linear in parameters."""
    parameters = ("scalar", "program", "programs")
    if any(
        not isinstance(a, Symbol) or (a.kind not in parameters and a is not trip)
        for a in term.atoms()
    ):
        return None
    falls: dict[Monomial, int] = {}
    for monomial, factor in term.coefficients.items():
        if trip in monomial:
            rest = list(monomial)
            rest.remove(trip)
            falls[tuple(rest)] = -factor
    return None if any(trip in monomial for monomial in falls) else Term(falls)


def _ending_claims(module: Module) -> Iterator[Claim]:
    for loop, progress in ending_loops(module):
        holds = partial(_holds_at_all_sizes, progress)
        what = "whether a while loop ends"
        yield Claim("rule", (), loop.op, what, holds, condition=progress, broken=ENDLESS)


_PROGRAMS: Final = frozenset().union(*(program(axis).atoms() for axis in range(3)))
_BOUNDS: Final = ("out-of-bounds", "out-of-view")


# -- bounds ---------------------------------------------------------------------------------------


def _bounds_claims(call: Call) -> Iterator[Claim]:
    for access_index, condition in enumerate(conditions_of(call.module)):
        access = condition.access
        name = "?" if access.argument is None else call.arguments[access.argument].name
        clause = f"whether the {access.kind} of {name} stays inside"
        holds = partial(_is_inside, access_index, condition)
        yield Claim("tensor", _BOUNDS, access.op, clause, holds, access=access_index)


def _is_inside(access_index: int, condition: AccessCondition, bound: SizedCall) -> bool:
    access = bound.summary.accesses[access_index]
    given = bound.active(access)
    if given.is_impossible:
        return True
    if (
        access.argument in bound.sized.open_tensors
        and (bound.low, bound.high) != bound.sized.recorded
    ):
        return False
    end_bytes = None if access.argument is None else bound.sized.end_bytes(access.argument)
    if end_bytes is None:
        return False
    if _is_inside_by_condition(bound, condition, end_bytes):
        return True
    return bound.proves(access.lies_within(0, end_bytes), given)


def _is_inside_by_condition(bound: SizedCall, condition: AccessCondition, end_bytes: Term) -> bool:
    """Return whether the sizes provably satisfy the condition of an access."""
    if condition.condition is None or condition.access.argument is None:
        return False
    extent_symbol = extent(condition.access.argument)
    assumptions = [at_least(symbol.term - least) for symbol, least in condition.assumptions]
    claim = conjunction((*assumptions, condition.condition))
    claim = bound.sized.substitute(claim.substitute(Substitution({extent_symbol: end_bytes})))
    return bound.proves(claim, bound.given_of([]))


# -- the variant's reach ---------------------------------------------------------------------------


def _reach_claims(module: Module) -> Iterator[Claim]:
    """Yield the claims that stores still reach every element that their masks admit."""
    ops: dict[Condition, Op] = {}
    for access in conditions_of(module):
        for condition in access.reach:
            ops.setdefault(condition, access.op)
    for condition, op in ops.items():
        what = "whether every element is stored"
        holds = partial(_is_covered, condition)
        yield Claim(COVERAGE, (), op, what, holds, condition=condition, broken=NOT_COVERED)


def _is_covered(condition: Condition, bound: SizedCall) -> bool:
    """Return whether a condition is proven, also where no program is launched."""
    facts = (fact for fact in bound.sized.facts if not fact.atoms() & _PROGRAMS)
    return bound.proves(condition, Given(facts, bound.ranges))


def _holds_at_all_sizes(condition: Condition, bound: SizedCall) -> bool:
    return bound.proves(condition, bound.given_of([]))


# -- other rules ----------------------------------------------------------------------------------


def _rule_claims(module: Module) -> Iterator[Claim]:
    """Yield a claim for each judge of the other rules that a size may violate."""
    rules_by_judge: dict[Judge, list[str]] = {}
    for rule in map(RULES.__getitem__, rules_of_sizes()):
        if rule.id not in _RULES_WITH_CLAIMS:
            rules_by_judge.setdefault(rule.judge, []).append(rule.id)
    for judge, rules in rules_by_judge.items():
        what = f"whether the kernel satisfies {' and '.join(rules)}"
        is_proven = _are_lanes_free if rules == [LANE_CONFLICT] else _is_proven_by_judge
        holds = partial(is_proven, judge, tuple(rules))
        yield Claim("rule", tuple(rules), module.main.op, what, holds)


_RULES_WITH_CLAIMS: Final = frozenset({
    "overflow", "out-of-bounds", "out-of-view", "race",
    "grid-limit",  # `envelope` compares each size's grid with the limits
})  # fmt: skip
#: A violated signature hint does not count: Triton compiles other sizes without the hint.
_SIGNATURE_HINT: Final = ("wrong-hint", "violation")
#: Of an access by pointers, this rule says that it is slower.
_BUFFER_RANGE: Final = "buffer-range"


def _is_proven_by_judge(judge: Judge, rules: tuple[str, ...], bound: SizedCall) -> bool:
    return all(
        verdict.verdict == "proven"
        or (verdict.rule, verdict.verdict) == _SIGNATURE_HINT
        or (verdict.rule == _BUFFER_RANGE and IN_BUFFER not in verdict.op.attributes)
        for verdict in judge(bound)
        if verdict.rule in rules
    )


# -- races ----------------------------------------------------------------------------------------


def _race_claims(call: Call) -> Iterator[Claim]:
    if roles_of(call.module).unseen is not None:
        main = call.module.main.op
        yield Claim("rule", ("race",), main, "whether programs race", lambda _: False)
        return
    accesses = summarize(call.module).accesses
    for left, right in _racing_pairs(call):
        holds = partial(_is_pair_free, left, right)
        yield Claim("rule", ("race",), accesses[left].op, "whether programs race", holds)


def _racing_pairs(call: Call) -> list[tuple[int, int]]:
    """Return the index pairs of accesses that race if they touch the same byte."""
    bound = BoundCall(call, (), BUDGET)
    indices = {id(access): index for index, access in enumerate(bound.summary.accesses)}
    return [
        (indices[id(left.access)], indices[id(right.access)])
        for left, right in ProgramPairs(bound).clashing()
    ]


def _is_pair_free(left_index: int, right_index: int, bound: SizedCall) -> bool:
    """Return whether two accesses provably do not race at any size in the range."""
    if bound.programs <= 1:
        return True
    left, right = bound.summary.accesses[left_index], bound.summary.accesses[right_index]
    if _is_moved(bound, left, right):
        return False
    if _are_apart(bound, left, right, two_programs(bound.call.grid)):
        return True
    pairs = ProgramPairs(bound)
    sharers = {id(sharer.access): sharer for sharer in pairs.sharers}
    outcome = pairs.judged(sharers[id(left)], sharers[id(right)])
    return isinstance(outcome, NoConflict)


def _are_lanes_free(judge: Judge, rules: tuple[str, ...], bound: SizedCall) -> bool:
    """Return whether no two lanes of a store provably conflict at any size in the range."""
    shared = shared_by_lanes(bound.call.module)
    stores = (s for s in ProgramPairs(bound).sharers if s.role.kind == "store")
    lanes = ((s.access, Actors(s.access.lanes, shared)) for s in stores if s.access.lanes)
    is_apart = all(_are_apart(bound, access, access, actors) for access, actors in lanes)
    return is_apart or _is_proven_by_judge(judge, rules, bound)


def _is_moved(bound: SizedCall, left: Access, right: Access) -> bool:
    """Return whether the distance of two tensors in a storage may depend on the size."""
    positions = {access.argument for access in (left, right) if access.argument is not None}
    if len(positions) < 2:
        return False
    offsets = set()
    for position in positions:
        tensor = bound.call.tensor_at(position)
        offsets.add(None if tensor is None else tensor.offset_bytes)
    terms = bound.sized.sizes.terms
    size_terms = (terms[n] for n in terms if n[0] in ("shape", "stride") and n[1] in positions)
    return len(offsets) > 1 and any(term.constant is None for term in size_terms)


def _are_apart(bound: SizedCall, left: Access, right: Access, actors: Actors) -> bool:
    """Return whether the digits of both addresses exclude that two programs or lanes meet.

    The gap between two actors' addresses is a sum of products of a coefficient, made of sizes,
    and a factor that depends on the actors. If all other summands together are smaller than one
    coefficient, a gap of 0 forces this coefficient's factor to be 0, as for digits of a number:
    `(row - row') * columns + lane - lane' = 0` with lanes below `columns` forces `row = row'` at
    every size. The forced equations have constant coefficients, which the prover decides.
    """
    tensor = bound.call.tensor_at(left.argument)
    if tensor is None or right.argument is None:
        return False
    sides = [_side(bound, access) for access in (left, right)]
    question = Question(sides[0], sides[1], actors, bound.ranges, tensor.storage.nbytes)
    if question.is_lost:
        return False
    width = max(left.element_bytes, right.element_bytes)
    equations = list(implied_conditions(question.distance, width - 1, question.given))
    if not equations:
        return False
    is_same = conjunction(
        equal(symbol.term, question.renamed(symbol).term) for symbol in actors.differing or ()
    )
    equations += [c for c in question.given.exact if SIZE not in c.atoms()]
    given = Given(conjunction(equations).conjuncts(), question.given.ranges)
    return isinstance(prove(is_same, given, seconds=bound.seconds()), Proven)


def _side(bound: SizedCall, access: Access) -> tuple[Term, int, tuple[Condition, ...]]:
    assert access.argument is not None
    tensor = bound.call.tensor(access.argument)
    return access.offset + tensor.offset_bytes, access.element_bytes, bound.active(access).exact
