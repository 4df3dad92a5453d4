"""The condition on a kernel's parameters under which every access stays inside its tensor.

The condition is derived once per kernel over symbolic parameters: scalars, strides, the grid, and
each tensor's *extent*, the bytes from its data pointer to its end. The farthest and the nearest
byte of an access are bounded by terms of the parameters (`upper_bounds.py`), each bound is
certified (`certificate.py`), and the condition says that one of the bounds lies inside. For
`x + program * 1024 + lane` under the mask `index < n`, it is `min(n, 1024 * grid_x) <= extent(x)`.
If a call's numbers satisfy the condition, the access is inside for all programs, lanes and trips.

The condition assumes that integers in an address are not negative, and that divisors are at least
1; each call is checked for this. Further conditions of the same kind exclude overflows of the
address.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from kvtrace.ir.memo import once_per_module
from kvtrace.schema.cached_property import cached_property
from kvtrace.symbolic.conditions import (
    FALSE,
    TRUE,
    And,
    AtLeast,
    Condition,
    Equal,
    Or,
    at_least,
    conjunction,
    disjunction,
)
from kvtrace.symbolic.functions import Choice, Quotient, Remainder
from kvtrace.symbolic.summary import Access, Arithmetic, Summary
from kvtrace.symbolic.terms import Substitution, Symbol, Term, signed_range
from kvtrace.symbolic.walk import summarize
from kvtrace.verdicts.feeding import feeding
from kvtrace.verdicts.sizes.certificate import Certifier, is_reached
from kvtrace.verdicts.sizes.reach import reach
from kvtrace.verdicts.sizes.upper_bounds import (
    Bound,
    Elimination,
    in_order,
    is_of_parameters,
    smaller_of,
    varying_choice,
    without_implied,
)

if TYPE_CHECKING:
    from kvtrace.ir import Module, Op

_MAX_BYTES: Final = 1 << 62
_MAX_CASES: Final = 8
_MAX_SUPPOSITIONS: Final = 4


@dataclass(frozen=True, eq=False)
class AccessCondition:
    """The condition under which an access stays inside its tensor.

    `condition` is about scalars, the grid and extents in bytes; None if none was found, for
    `reason`. `exact`: if all sizes are at least 1 and the condition does not hold, the access
    leaves its tensor; else the condition is sufficient, but may not be necessary. `widths` are the
    conditions under which no arithmetic of the address wraps around. All of these assume that the
    scalars of `assumptions` are at least the numbers there. `reach`: the conditions under which a
    store reaches every element that its mask admits.
    """

    access: Access
    condition: Condition | None
    exact: bool = False
    reason: str | None = None
    widths: tuple[Condition, ...] = ()
    assumptions: tuple[tuple[Symbol, int], ...] = ()
    reach: tuple[Condition, ...] = ()

    @property
    def op(self) -> Op:
        """The op of the access."""
        return self.access.op

    @cached_property
    def symbols(self) -> tuple[Symbol, ...]:
        """The symbols whose numbers are needed to evaluate the conditions for a call."""
        conditions = (self.condition or TRUE, *self.widths, *self.reach)
        atoms = frozenset().union(*(condition.atoms() for condition in conditions))
        return tuple(atom for atom in in_order(atoms) if isinstance(atom, Symbol))


def extent(argument: int) -> Symbol:
    """Return the symbol of the bytes from an argument's data pointer to its tensor's end."""
    return Symbol("scalar", (argument, "extent", 0), 0, _MAX_BYTES)


@once_per_module
def conditions_of(module: Module) -> tuple[AccessCondition, ...]:
    """Return the condition of each access of a kernel; cached by module.

    Raises:
        NoKernel: the module has no function to run.

    """
    builder = _ConditionBuilder(summarize(module))
    return tuple(map(builder.access, builder.summary.accesses))


class _NoCondition(Exception):
    """The reason why an access has no condition; only raised within this file."""


@dataclass(frozen=True, eq=False)
class _Bounded:
    """Bounds of a term in one case, with the case's conditions and the scalars in use.

    `supposed` has conditions on parameters that the bounds need.
    """

    bounds: tuple[Bound, ...]
    term: Term
    given: tuple[Condition, ...]
    scalars: frozenset[Symbol]
    supposed: tuple[Condition, ...] = ()

    @property
    def unreachable(self) -> Condition:
        """The condition on parameters under which the case cannot occur."""
        return disjunction(~part for part in self.given if _is_decided_by_parameters(part))


@dataclass(frozen=True, eq=False)
class _Premises:
    """The conditions that hold where an op is reached, with the scalars of each condition.

    Assumptions on its scalars may have simplified a condition: a proof by the condition depends on
    these assumptions.
    """

    parts: tuple[Condition, ...]
    scalars: dict[Condition, frozenset[Symbol]]

    def scalars_of(self, part: Condition) -> frozenset[Symbol]:
        """Return the scalars of a condition; all scalars if it was derived for a case."""
        scalars = self.scalars.get(part)
        return self.all_scalars if scalars is None else scalars

    @cached_property
    def all_scalars(self) -> frozenset[Symbol]:
        """The scalars of all conditions."""
        return frozenset().union(*self.scalars.values())


@dataclass(frozen=True, eq=False)
class _Widths:
    """The conditions under which no integer wraps around, and the scalars in them."""

    conditions: tuple[Condition, ...]
    scalars: frozenset[Symbol]


class _ConditionBuilder:
    """The derivation of conditions for the accesses of one kernel."""

    def __init__(self, summary: Summary) -> None:
        self.summary = summary
        self._minimums = _assumed_minimums(summary)
        self._with_minimums = Substitution(
            {
                symbol: Symbol(symbol.kind, symbol.key, minimum, symbol.high, symbol.at).term
                for symbol, minimum in self._minimums.items()
            }
        )
        self._scalar_by_key = {symbol.key: symbol for symbol in self._minimums}
        self._widths: dict[int, _Widths | str] = {}

    def access(self, access: Access) -> AccessCondition:
        """Return the condition of an access, or the reason why it has none."""
        try:
            return self._derive(access)
        except _NoCondition as reason:
            return AccessCondition(access, None, reason=str(reason))

    def _derive(self, access: Access) -> AccessCondition:
        if access.argument is None:
            raise _NoCondition(access.unknown or "the address comes from no argument")
        if access.mask is FALSE:  # unless numbers wrap around
            widths = self._all_widths(access)
            assumptions_ = tuple(
                pair for pair in self._minimums.items() if pair[0] in widths.scalars
            )
            return AccessCondition(access, TRUE, widths=widths.conditions, assumptions=assumptions_)
        offset = self._with_minimums(access.offset)
        last_start = extent(access.argument).term - access.element_bytes
        scalars = self._scalars(access.offset)
        case_conditions, exact = [], True
        given = self._premises(access.active)
        for term, conditions in self._cases(offset, given.parts):
            upper = self._bound(term, conditions, given)
            lower = self._bound(-term, conditions, given, never_positive=True)
            is_before_end = [
                at_least(last_start * b.scale + b.scale - 1 - b.limit) for b in upper.bounds
            ]
            is_after_start = [at_least(b.scale - 1 - b.limit) for b in lower.bounds]
            supposed = (*upper.supposed, *lower.supposed)
            case_condition = conjunction(
                (disjunction(is_before_end), disjunction(is_after_start), *supposed)
            )
            case_conditions.append(disjunction((case_condition, upper.unreachable)))
            is_simple = disjunction(is_after_start) is TRUE and not supposed
            exact = exact and is_simple and self._is_exact(upper)
            scalars |= upper.scalars | lower.scalars
        condition = conjunction(case_conditions)
        exact = exact and len(case_conditions) == 1
        widths = self._all_widths(access)
        scalars |= widths.scalars | self._scalars(condition)
        assumptions = tuple(pair for pair in self._minimums.items() if pair[0] in scalars)
        loop_conditions = self._premises(conjunction(loop.running for loop in access.loops)).parts
        reached = (
            dict.fromkeys(reach(given.parts, loop_conditions)) if access.kind == "store" else ()
        )
        return AccessCondition(
            access, condition, exact, None, widths.conditions, assumptions, tuple(reached)
        )

    def _scalars(self, formula: Term | Condition) -> frozenset[Symbol]:
        """Return the scalars of a formula that have an assumed minimum."""
        keys = (a.key for a in formula.atoms() if isinstance(a, Symbol) and a.kind == "scalar")
        return frozenset(self._scalar_by_key[key] for key in keys if key in self._scalar_by_key)

    def _premises(self, condition: Condition) -> _Premises:
        """Return the parts of a condition, simplified by the assumed minimums."""
        scalars: dict[Condition, frozenset[Symbol]] = {}
        for part in condition.conjuncts():
            for simplified in part.substitute(self._with_minimums).conjuncts():
                scalars[simplified] = scalars.get(simplified, frozenset()) | self._scalars(part)
        return _Premises(tuple(scalars), scalars)

    def _cases(
        self, term: Term, given: tuple[Condition, ...], limit: int = _MAX_CASES
    ) -> Iterator[tuple[Term, tuple[Condition, ...]]]:
        """Yield, for each case, the term without choices and the conditions; at most `limit`."""
        atom = varying_choice(term)
        alternatives = next(
            (part for part in given if isinstance(part, Or) and _is_linear(part)), None
        )
        if atom is None and (alternatives is None or limit < len(alternatives.parts)):
            yield term, given
            return
        if atom is None:
            assert alternatives is not None
            other_conditions = tuple(part for part in given if part is not alternatives)
            for part in alternatives.parts:
                conditions = conjunction((*other_conditions, part)).conjuncts()
                yield from self._cases(term, conditions, limit // len(alternatives.parts))
            return
        if limit < 2:
            raise _NoCondition("the address is selected among too many alternatives")
        for when, value in _options(atom):
            substitution = Substitution({atom: value})
            conditions = conjunction((*given, when)).substitute(substitution).conjuncts()
            yield from self._cases(substitution(term), conditions, limit // 2)

    def _bound(
        self,
        term: Term,
        conditions: tuple[Condition, ...],
        given: _Premises,
        *,
        never_positive: bool = False,
    ) -> _Bounded:
        """Return certified upper bounds of a term, and the conditions that they need.

        With `never_positive`, bounds of at most 0 are preferred. If a bound needs positive
        divisors, the condition on the parameters that makes the divisors positive is supposed.
        """
        premises = conditions
        supposed: tuple[Condition, ...] = ()
        best: _Bounded | None = None
        for _ in range(_MAX_SUPPOSITIONS):
            elimination = Elimination(_facts(premises))
            bounds = elimination.bounds(term)
            certified, scalars = self._certified(term, bounds, premises, given)
            is_sufficient = not never_positive or any(b.limit.high < b.scale for b in certified)
            if certified and (is_sufficient or best is None):
                best = _Bounded(certified, term, conditions, scalars, supposed)
            if certified and is_sufficient:
                break
            suppositions = {
                at_least(unproven): condition
                for unproven in elimination.unproven
                if (condition := self._non_negative_condition(unproven, premises, given))
                is not None
            }
            if not suppositions:
                break
            premises += tuple(suppositions)
            supposed += tuple(suppositions.values())
        if best is None:
            raise _NoCondition(_unbounded_reason(term, bounds, self.summary))
        return best

    def _non_negative_condition(
        self, term: Term, premises: tuple[Condition, ...], given: _Premises
    ) -> Condition | None:
        """Return a condition on parameters that proves a term non-negative, else None."""
        minimum, addend = smaller_of(term)
        if minimum is not None:
            parts = [
                self._non_negative_condition(argument + addend, premises, given)
                for argument in minimum.arguments
            ]
            return None if None in parts else conjunction(part for part in parts if part)
        bounds = Elimination(_facts(premises)).bounds(-term)
        certified, _ = self._certified(-term, bounds, premises, given)
        alternatives = disjunction(at_least(b.scale - 1 - b.limit) for b in certified)
        return None if alternatives.decided is False else alternatives

    def _certified(
        self, term: Term, bounds: Iterable[Bound], premises: tuple[Condition, ...],
        given: _Premises,
    ) -> tuple[tuple[Bound, ...], frozenset[Symbol]]:  # fmt: skip
        """Return the bounds that are certified, and the scalars that their proofs use."""
        decided = [premise for premise in premises if _is_decided_by_parameters(premise)]
        scalars = self._scalars(term).union(*map(given.scalars_of, decided))
        certifiers: dict[frozenset[Symbol], Certifier] = {}
        certified = []
        for bound in bounds:
            for used in (
                scalars | self._used_scalars(bound, premises, given),
                given.all_scalars,
            ):
                if used not in certifiers:
                    certifiers[used] = Certifier(p for p in premises if given.scalars_of(p) <= used)
                if certifiers[used].certifies(term, bound):
                    certified.append(bound)
                    scalars |= used
                    break
        return tuple(certified), scalars

    def _used_scalars(
        self, bound: Bound, conditions: Iterable[Condition], given: _Premises
    ) -> frozenset[Symbol]:
        """Return the scalars in a bound, its steps, and the conditions that these state."""
        facts = {step.fact for step in bound.steps}
        scalars = frozenset().union(
            self._scalars(bound.limit),
            *(self._scalars(step.fact) | self._scalars(step.factor) for step in bound.steps),
        )
        stated = (c for c in conditions if not facts.isdisjoint(_facts((c,))))
        return scalars.union(*map(given.scalars_of, stated))

    def _is_exact(self, upper: _Bounded) -> bool:
        """Return whether the smallest of a term's upper bounds is provably reached."""
        parameter_conditions = [part for part in upper.given if _is_decided_by_parameters(part)]
        return is_reached(upper.term, upper.bounds, upper.given, parameter_conditions)

    # -- widths ----------------------------------------------------------------------------------

    def _all_widths(self, access: Access) -> _Widths:
        """Return the conditions under which no integer that feeds an access wraps around."""
        conditions: list[Condition] = []
        scalars: frozenset[Symbol] = frozenset()
        feeders = (
            feeding(access.op, self.summary.module) if self.summary.arithmetic else frozenset()
        )
        for arithmetic in self.summary.arithmetic:
            if arithmetic.op.index in feeders:
                widths = self._width(arithmetic)
                conditions += widths.conditions
                scalars |= widths.scalars
        return _Widths(_without_implied(conditions), scalars)

    def _width(self, arithmetic: Arithmetic) -> _Widths:
        """Return the conditions under which an integer does not wrap around; cached."""
        widths = self._widths.get(id(arithmetic))
        if widths is None:
            try:
                widths = self._derive_width(arithmetic)
            except _NoCondition as reason:
                widths = f"{arithmetic.op.name} may not fit into {arithmetic.bits} bits: {reason}"
            self._widths[id(arithmetic)] = widths
        if isinstance(widths, str):
            raise _NoCondition(widths)
        return widths

    def _derive_width(self, arithmetic: Arithmetic) -> _Widths:
        low, high = signed_range(arithmetic.bits)
        result = self._with_minimums(arithmetic.result)
        scalars = self._scalars(arithmetic.result)
        given = self._premises(arithmetic.reached)
        conditions: list[Condition] = []
        for sign, largest in ((1, high), (-1, -low)):
            if (result * sign).high <= largest:
                continue
            for term, case in self._cases(result, given.parts):
                upper = self._bound(term * sign, case, given)
                fits = [at_least(b.scale * largest + b.scale - 1 - b.limit) for b in upper.bounds]
                case_condition = conjunction((disjunction(fits), *upper.supposed))
                conditions += disjunction((case_condition, upper.unreachable)).conjuncts()
                scalars |= upper.scalars
        return _Widths(tuple(c for c in conditions if c is not TRUE), scalars)


def _without_implied(conditions: Iterable[Condition]) -> tuple[Condition, ...]:
    """Return the conditions that no other one of them simply implies."""
    return without_implied(dict.fromkeys(conditions), _simply_implies)


def _simply_implies(left: Condition, right: Condition) -> bool:
    if isinstance(left, Or) and isinstance(right, Or):
        return all(
            any(_simply_implies(left_part, right_part) for right_part in right.parts)
            for left_part in left.parts
        )
    return (
        isinstance(left, AtLeast)
        and isinstance(right, AtLeast)
        and (right.term - left.term).low >= 0
    )


def _assumed_minimums(summary: Summary) -> dict[Symbol, int]:
    """Return the assumed minimum of each scalar that may be smaller: 1 for divisors, else 0."""
    terms: list[Term | Condition] = []
    for access in summary.accesses:
        terms += (access.offset, access.active)
    for arithmetic in summary.arithmetic:
        terms += (arithmetic.result, arithmetic.reached)
    atoms = frozenset().union(*(term.atoms() for term in terms))
    divisors = frozenset().union(
        *(
            atom.arguments[1].symbols("scalar")
            for atom in atoms
            if isinstance(atom, Quotient | Remainder)
        )
    )
    scalars = sorted(
        (a for a in atoms if isinstance(a, Symbol) and a.kind == "scalar"),
        key=lambda symbol_: symbol_.order,
    )
    return {
        symbol: int(symbol in divisors) for symbol in scalars if symbol.low < (symbol in divisors)
    }


def _facts(given: Iterable[Condition]) -> Iterator[Term]:
    """Yield the terms that are non-negative if the conditions hold."""
    for condition in given:
        if isinstance(condition, AtLeast):
            yield condition.term
        elif isinstance(condition, Equal):
            yield condition.term
            yield -condition.term
        elif isinstance(condition, And):
            yield from _facts(condition.parts)


def _is_linear(either: Or) -> bool:
    """Return whether an Or has at most two parts, and only comparisons of terms."""
    return len(either.parts) <= 2 and all(
        isinstance(part, AtLeast | Equal | And) for part in either.parts
    )


def _options(atom: Choice | object) -> Sequence[tuple[Condition, Term]]:
    """Return the two values of a Choice or Maximum, each with its condition."""
    if isinstance(atom, Choice):
        return ((atom.condition, atom.then), (~atom.condition, atom.otherwise))
    left, right = atom.arguments  # type: ignore[attr-defined]
    return ((at_least(left - right), left), (at_least(right - left - 1), right))


def _is_decided_by_parameters(condition: Condition) -> bool:
    return not condition.opaques() and not any(
        not is_of_parameters(atom.term) for atom in condition.atoms()
    )


def _unbounded_reason(term: Term, bounds: Sequence[Bound], summary: Summary) -> str:
    """Return the reason why a term has no certified bound."""
    contents = term.symbols("content")
    if contents:
        names = [value.name.lstrip("%") for value in summary.module.main.arguments]
        tensors = {
            names[symbol.key[1]]
            for symbol in contents
            if isinstance(symbol.key, tuple) and isinstance(symbol.key[1], int)
        }
        return f"its address depends on what {', '.join(sorted(tensors)) or 'memory'} holds"
    unknown = term.symbols("unknown")
    if unknown:
        key = min(unknown, key=lambda symbol: symbol.order).key
        cause = key[1] if isinstance(key, tuple) else "not tracked"
        return f"its address depends on an integer that kvtrace does not track ({cause})"
    if bounds:
        return "a bound of its address was found, but could not be certified"
    return "its address has no bound in terms of the parameters: the sign of a factor is unknown"
