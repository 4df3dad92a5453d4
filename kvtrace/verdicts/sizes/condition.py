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
from typing import Final

from msgspec import Struct

from kvtrace.ir import Module, Op
from kvtrace.ir.feeding import feeding
from kvtrace.ir.model import once_per_module
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
    in_order,
)
from kvtrace.symbolic.functions import Choice, Quotient, Remainder
from kvtrace.symbolic.prover import Given, Ranges, follows
from kvtrace.symbolic.summary import Access, Arithmetic, Summary
from kvtrace.symbolic.terms import Substitution, Symbol, Term, signed_range
from kvtrace.symbolic.walk import summarize
from kvtrace.verdicts.sizes.certificate import Certifier, is_reached
from kvtrace.verdicts.sizes.upper_bounds import (
    Bound,
    Elimination,
    is_of_parameters,
    smaller_of,
    varies,
    varying_choice,
    without_implied,
)

_MAX_BYTES: Final = 1 << 62
_MAX_CASES: Final = 8
_MAX_SUPPOSITIONS: Final = 4


class AccessCondition(Struct, frozen=True, eq=False, dict=True):
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


class _Bounded(Struct, frozen=True, eq=False):
    """Bounds of a term in one case, with the case's conditions.

    `supposed` has conditions on parameters that the bounds need.
    """

    bounds: tuple[Bound, ...]
    term: Term
    given: tuple[Condition, ...]
    supposed: tuple[Condition, ...] = ()

    @property
    def unreachable(self) -> Condition:
        """The condition on parameters under which the case cannot occur."""
        return disjunction(~part for part in self.given if _is_decided_by_parameters(part))


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
        self._widths: dict[int, tuple[Condition, ...] | str] = {}

    def access(self, access: Access) -> AccessCondition:
        """Return the condition of an access, or the reason why it has none."""
        try:
            return self._derive(access)
        except _NoCondition as reason:
            return AccessCondition(access, None, reason=str(reason))

    def _derive(self, access: Access) -> AccessCondition:
        if access.argument is None:
            raise _NoCondition(access.unknown or "the address comes from no argument")
        assumptions = self._assumptions(access)
        if access.mask is FALSE:  # unless numbers wrap around
            widths = self._all_widths(access)
            return AccessCondition(access, TRUE, widths=widths, assumptions=assumptions)
        offset = self._with_minimums(access.offset)
        last_start = extent(access.argument).term - access.element_bytes
        case_conditions, exact = [], True
        premises = self._premises(access.active)
        for term, conditions in self._cases(offset, premises):
            upper = self._bound(term, conditions)
            lower = self._bound(-term, conditions, never_positive=True)
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
        exact = exact and len(case_conditions) == 1
        widths = self._all_widths(access)
        running = self._premises(conjunction(loop.running for loop in access.loops))
        reached = dict.fromkeys(_reach(premises, running)) if access.kind == "store" else ()
        return AccessCondition(
            access, conjunction(case_conditions), exact, None, widths, assumptions, tuple(reached)
        )

    def _assumptions(self, access: Access) -> tuple[tuple[Symbol, int], ...]:
        """Return the assumed minimums of the scalars that affect an access."""
        formulas: list[Term | Condition] = [access.offset, access.active]
        for arithmetic in self._feeders(access):
            formulas += (arithmetic.result, arithmetic.reached)
        atoms = frozenset().union(*(formula.atoms() for formula in formulas))
        return tuple(pair for pair in self._minimums.items() if pair[0] in atoms)

    def _feeders(self, access: Access) -> list[Arithmetic]:
        """Return the arithmetic that feeds an access."""
        if not self.summary.arithmetic:
            return []
        feeders = feeding(access.op, self.summary.module)
        return [a for a in self.summary.arithmetic if a.op.index in feeders]

    def _premises(self, condition: Condition) -> tuple[Condition, ...]:
        """Return the parts of a condition, simplified by the assumed minimums."""
        simplified = (part.substitute(self._with_minimums) for part in condition.conjuncts())
        return tuple(dict.fromkeys(part for whole in simplified for part in whole.conjuncts()))

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
            certified = self._certified(term, bounds, premises)
            is_sufficient = not never_positive or any(b.limit.high < b.scale for b in certified)
            if certified and (is_sufficient or best is None):
                best = _Bounded(certified, term, conditions, supposed)
            if certified and is_sufficient:
                break
            suppositions = {
                at_least(unproven): condition
                for unproven in elimination.unproven
                if (condition := self._non_negative_condition(unproven, premises)) is not None
            }
            if not suppositions:
                break
            premises += tuple(suppositions)
            supposed += tuple(suppositions.values())
        if best is None:
            raise _NoCondition(_unbounded_reason(term, bounds, self.summary))
        return best

    def _non_negative_condition(
        self, term: Term, premises: tuple[Condition, ...]
    ) -> Condition | None:
        """Return a condition on parameters that proves a term non-negative, else None."""
        minimum, addend = smaller_of(term)
        if minimum is not None:
            parts = [
                self._non_negative_condition(argument + addend, premises)
                for argument in minimum.arguments
            ]
            return None if None in parts else conjunction(part for part in parts if part)
        bounds = Elimination(_facts(premises)).bounds(-term)
        certified = self._certified(-term, bounds, premises)
        alternatives = disjunction(at_least(b.scale - 1 - b.limit) for b in certified)
        return None if alternatives.decided is False else alternatives

    def _certified(
        self, term: Term, bounds: Iterable[Bound], premises: tuple[Condition, ...]
    ) -> tuple[Bound, ...]:
        """Return the bounds that are certified."""
        certifier = Certifier(premises)
        return tuple(bound for bound in bounds if certifier.certifies(term, bound))

    def _is_exact(self, upper: _Bounded) -> bool:
        """Return whether the smallest of a term's upper bounds is provably reached."""
        parameter_conditions = [part for part in upper.given if _is_decided_by_parameters(part)]
        return is_reached(upper.term, upper.bounds, upper.given, parameter_conditions)

    # -- widths ----------------------------------------------------------------------------------

    def _all_widths(self, access: Access) -> tuple[Condition, ...]:
        """Return the conditions under which no integer that feeds an access wraps around."""
        return _without_implied(c for a in self._feeders(access) for c in self._width(a))

    def _width(self, arithmetic: Arithmetic) -> tuple[Condition, ...]:
        """Return the conditions under which an integer does not wrap around; cached."""
        widths = self._widths.get(id(arithmetic))
        if widths is None:
            try:
                widths = tuple(self._derive_width(arithmetic))
            except _NoCondition as reason:
                widths = f"{arithmetic.op.name} may not fit into {arithmetic.bits} bits: {reason}"
            self._widths[id(arithmetic)] = widths
        if isinstance(widths, str):
            raise _NoCondition(widths)
        return widths

    def _derive_width(self, arithmetic: Arithmetic) -> Iterator[Condition]:
        low, high = signed_range(arithmetic.bits)
        result = self._with_minimums(arithmetic.result)
        premises = self._premises(arithmetic.reached)
        for sign, largest in ((1, high), (-1, -low)):
            if (result * sign).high <= largest:
                continue
            for term, case in self._cases(result, premises):
                upper = self._bound(term * sign, case)
                fits = [at_least(b.scale * largest + b.scale - 1 - b.limit) for b in upper.bounds]
                case_condition = conjunction((disjunction(fits), *upper.supposed))
                whole = disjunction((case_condition, upper.unreachable))
                yield from (c for c in whole.conjuncts() if c is not TRUE)


# -- reach ----------------------------------------------------------------------------------------


def _reach(masks: Iterable[Condition], running: Iterable[Condition]) -> Iterator[Condition]:
    """Yield the condition that the largest index reaches the limit, per comparison in a mask.

    A mask `index < n` admits `n` indices; the last one is reached only if the grid and its blocks
    extend that far: `columns <= 128`. This is necessary, not sufficient.

    Args:
        masks: the conditions under which a store's lanes are active.
        running: the conditions under which the loops around the store run.

    """
    running = tuple(running)
    facts = [condition.term for condition in running if isinstance(condition, AtLeast)]
    for mask in masks:
        if not isinstance(mask, AtLeast) or mask in running:
            continue
        index = _masked_index(mask.term)
        if index is None:
            continue
        last = mask.term + index
        bounds = Elimination(facts).bounds(index)
        certifier = Certifier(running)
        if len(bounds) == 1 and bounds[0].scale == 1 and certifier.certifies(index, bounds[0]):
            condition = at_least(bounds[0].limit - last)
            if follows(condition, Given((), Ranges({}))) is None:
                yield condition


def _masked_index(term: Term) -> Term | None:
    """Return the index of a mask `last - index >= 0`, None if the mask has another form."""
    varying = {
        monomial: -coefficient
        for monomial, coefficient in term.coefficients.items()
        if any(map(varies, monomial))
    }
    atoms = {atom for monomial in varying for atom in monomial}
    if not varying or min(varying.values()) < 0:
        return None
    if not all(isinstance(a, Symbol) and a.kind not in ("content", "unknown") for a in atoms):
        return None
    return Term(varying)


# -- formulas -------------------------------------------------------------------------------------


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
