"""The condition on a kernel's parameters under which every access stays inside its tensor.

The condition is derived once per kernel over symbolic parameters: scalars, strides, the grid, and
each tensor's *extent*, the bytes from its data pointer to its end. The farthest and the nearest
byte of an access are bounded by terms of the parameters (`upper_bounds.py`), each bound is
certified (`certificate.py`), and the condition says that one of the bounds lies inside. For
`x + program * 1024 + lane` under the mask `index < n`, it is `min(n, 1024 * grid_x) <= extent(x)`.
If a call's numbers satisfy the condition, the access is inside for all programs, lanes and trips.

The condition assumes that integers in an address are not negative, and divisors at least 1; each
call is checked for that. That the arithmetic of an address does not overflow gives further
conditions of the same kind.
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

_MOST_BYTES: Final = 1 << 62
_MOST_CASES: Final = 8
_MOST_SUPPOSED: Final = 4


@dataclass(frozen=True, eq=False)
class AccessCondition:
    """Condition under which an access stays inside its tensor.

    `condition` is over scalars, the grid and extents in bytes; None if there is none, for `reason`.
    `exact`: if all sizes are at least 1 and the condition does not hold, the access leaves its
    tensor; else the condition is sufficient, but may not be necessary. `widths` are the conditions
    under which no arithmetic of the address wraps around. All of these assume that the scalars of
    `assumptions` are at least the numbers there. `reach`: the conditions under which a store
    reaches every element that its mask admits.
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
        """The op that accesses memory."""
        return self.access.op

    @cached_property
    def symbols(self) -> tuple[Symbol, ...]:
        """Symbols whose numbers a comparison of a call with the conditions needs."""
        conditions = (self.condition or TRUE, *self.widths, *self.reach)
        atoms = frozenset().union(*(condition.atoms() for condition in conditions))
        return tuple(atom for atom in in_order(atoms) if isinstance(atom, Symbol))


def extent(argument: int) -> Symbol:
    """Return the bytes of an argument's tensor from its data pointer to its end."""
    return Symbol("scalar", (argument, "extent", 0), 0, _MOST_BYTES)


@once_per_module
def conditions_of(module: Module) -> tuple[AccessCondition, ...]:
    """Return the condition of each access of a kernel, cached by module.

    Raises:
        NoKernel: the module has no function to run.

    """
    builder = _ConditionBuilder(summarize(module))
    return tuple(map(builder.access, builder.summary.accesses))


class _NoCondition(Exception):
    """Reason why an access has no condition; never leaves this file."""


@dataclass(frozen=True, eq=False)
class _Bounded:
    """Bounds of a term in one case, the case's conditions, and the scalars that the bounds use.

    `supposed` are conditions on the parameters that the bounds need.
    """

    bounds: tuple[Bound, ...]
    term: Term
    given: tuple[Condition, ...]
    scalars: frozenset[Symbol]
    supposed: tuple[Condition, ...] = ()

    @property
    def unreachable(self) -> Condition:
        """Condition under which the parameters alone rule the case out."""
        return disjunction(~part for part in self.given if _is_decided_by_parameters(part))


@dataclass(frozen=True, eq=False)
class _Premises:
    """Conditions that hold where an op is reached, and the scalars of each condition.

    Assumptions on its scalars may have simplified a condition: a proof that uses the condition uses
    these assumptions.
    """

    parts: tuple[Condition, ...]
    scalars: dict[Condition, frozenset[Symbol]]

    def scalars_of(self, part: Condition) -> frozenset[Symbol]:
        """Return the scalars of a part, or all scalars if a case derived the part."""
        scalars = self.scalars.get(part)
        return self.all_scalars if scalars is None else scalars

    @cached_property
    def all_scalars(self) -> frozenset[Symbol]:
        """All scalars of all parts."""
        return frozenset().union(*self.scalars.values())


@dataclass(frozen=True, eq=False)
class _Widths:
    """Conditions under which nothing wraps around, and the scalars they depend on."""

    conditions: tuple[Condition, ...]
    scalars: frozenset[Symbol]


class _ConditionBuilder:
    def __init__(self, summary: Summary) -> None:
        self.summary = summary
        self._least = _least_scalars(summary)
        self._assuming = Substitution(
            {
                symbol: Symbol(symbol.kind, symbol.key, least, symbol.high, symbol.at).term
                for symbol, least in self._least.items()
            }
        )
        self._by_key = {symbol.key: symbol for symbol in self._least}
        self._widths: dict[int, _Widths | str] = {}

    def access(self, access: Access) -> AccessCondition:
        """Return the condition of one access."""
        try:
            return self._of(access)
        except _NoCondition as reason:
            return AccessCondition(access, None, reason=str(reason))

    def _of(self, access: Access) -> AccessCondition:
        if access.argument is None:
            raise _NoCondition(access.unknown or "its address comes from no argument")
        if access.mask is FALSE:  # unless numbers wrap around
            widths = self._all_widths(access)
            assumed = tuple(pair for pair in self._least.items() if pair[0] in widths.scalars)
            return AccessCondition(access, TRUE, widths=widths.conditions, assumptions=assumed)
        offset = self._assuming(access.offset)
        room = extent(access.argument).term - access.element_bytes
        scalars = self._scalars(access.offset)
        parts, exact = [], True
        given = self._premises(access.active)
        for term, conditions in self._cases(offset, given.parts):
            upper = self._bounded(term, conditions, given)
            lower = self._bounded(-term, conditions, given, never_positive=True)
            inside = [at_least(room * b.scale + b.scale - 1 - b.limit) for b in upper.bounds]
            behind = [at_least(b.scale - 1 - b.limit) for b in lower.bounds]
            supposed = (*upper.supposed, *lower.supposed)
            both = conjunction((disjunction(inside), disjunction(behind), *supposed))
            parts.append(disjunction((both, upper.unreachable)))
            plain = disjunction(behind) is TRUE and not supposed
            exact = exact and plain and self._is_exact(upper)
            scalars |= upper.scalars | lower.scalars
        condition = conjunction(parts)
        exact = exact and len(parts) == 1
        widths = self._all_widths(access)
        scalars |= widths.scalars | self._scalars(condition)
        assumptions = tuple(pair for pair in self._least.items() if pair[0] in scalars)
        running = self._premises(conjunction(loop.running for loop in access.loops)).parts
        reached = dict.fromkeys(reach(given.parts, running)) if access.kind == "store" else ()
        return AccessCondition(
            access, condition, exact, None, widths.conditions, assumptions, tuple(reached)
        )

    def _scalars(self, formula: Term | Condition) -> frozenset[Symbol]:
        """Return the scalars of a formula that have an assumption, as symbols without it."""
        keys = (a.key for a in formula.atoms() if isinstance(a, Symbol) and a.kind == "scalar")
        return frozenset(self._by_key[key] for key in keys if key in self._by_key)

    def _premises(self, condition: Condition) -> _Premises:
        scalars: dict[Condition, frozenset[Symbol]] = {}
        for part in condition.conjuncts():
            for simplified in part.substitute(self._assuming).conjuncts():
                scalars[simplified] = scalars.get(simplified, frozenset()) | self._scalars(part)
        return _Premises(tuple(scalars), scalars)

    def _cases(
        self, term: Term, given: tuple[Condition, ...], most: int = _MOST_CASES
    ) -> Iterator[tuple[Term, tuple[Condition, ...]]]:
        """Yield a term without choices and its conditions for each case, at most `most`."""
        atom = varying_choice(term)
        either = next((part for part in given if isinstance(part, Or) and _is_linear(part)), None)
        if atom is None and (either is None or most < len(either.parts)):
            yield term, given
            return
        if atom is None:
            assert either is not None
            others = tuple(part for part in given if part is not either)
            for part in either.parts:
                conditions = conjunction((*others, part)).conjuncts()
                yield from self._cases(term, conditions, most // len(either.parts))
            return
        if most < 2:
            raise _NoCondition("its address is chosen in too many ways")
        for when, value in _options(atom):
            replaced = Substitution({atom: value})
            conditions = conjunction((*given, when)).substitute(replaced).conjuncts()
            yield from self._cases(replaced(term), conditions, most // 2)

    def _bounded(
        self,
        term: Term,
        conditions: tuple[Condition, ...],
        given: _Premises,
        *,
        never_positive: bool = False,
    ) -> _Bounded:
        """Return certified upper bounds of a term.

        With `never_positive`, bounds that are at most 0 are preferred. If a bound needs positive
        divisors, the condition on the parameters that makes the divisors positive is supposed.
        """
        premises = conditions
        supposed: tuple[Condition, ...] = ()
        best: _Bounded | None = None
        for _ in range(_MOST_SUPPOSED):
            elimination = Elimination(_facts(premises))
            bounds = elimination.bounds(term)
            certain, scalars = self._certain(term, bounds, premises, given)
            enough = not never_positive or any(b.limit.high < b.scale for b in certain)
            if certain and (enough or best is None):
                best = _Bounded(certain, term, conditions, scalars, supposed)
            if certain and enough:
                break
            suppositions = {
                at_least(unproven): condition
                for unproven in elimination.unproven
                if (condition := self._supposition(unproven, premises, given)) is not None
            }
            if not suppositions:
                break
            premises += tuple(suppositions)
            supposed += tuple(suppositions.values())
        if best is None:
            raise _NoCondition(_why_unbounded(term, bounds, self.summary))
        return best

    def _supposition(
        self, term: Term, premises: tuple[Condition, ...], given: _Premises
    ) -> Condition | None:
        """Return the condition on parameters under which a term is proven to be never negative."""
        minimum, addend = smaller_of(term)
        if minimum is not None:
            parts = [self._supposition(a + addend, premises, given) for a in minimum.arguments]
            return None if None in parts else conjunction(part for part in parts if part)
        bounds = Elimination(_facts(premises)).bounds(-term)
        certain, _ = self._certain(-term, bounds, premises, given)
        alternatives = disjunction(at_least(b.scale - 1 - b.limit) for b in certain)
        return None if alternatives.decided is False else alternatives

    def _certain(
        self, term: Term, bounds: Iterable[Bound], premises: tuple[Condition, ...],
        given: _Premises,
    ) -> tuple[tuple[Bound, ...], frozenset[Symbol]]:  # fmt: skip
        """Return the bounds that are certified, and the scalars that they depend on."""
        decided = [premise for premise in premises if _is_decided_by_parameters(premise)]
        scalars = self._scalars(term).union(*map(given.scalars_of, decided))
        certifiers: dict[frozenset[Symbol], Certifier] = {}
        certain = []
        for bound in bounds:
            for used in (scalars | self._used(bound, premises, given), given.all_scalars):
                if used not in certifiers:
                    certifiers[used] = Certifier(p for p in premises if given.scalars_of(p) <= used)
                if certifiers[used].certifies(term, bound):
                    certain.append(bound)
                    scalars |= used
                    break
        return tuple(certain), scalars

    def _used(
        self, bound: Bound, conditions: Iterable[Condition], given: _Premises
    ) -> frozenset[Symbol]:
        """Return the scalars that a bound depends on."""
        facts = {step.fact for step in bound.steps}
        scalars = frozenset().union(
            self._scalars(bound.limit),
            *(self._scalars(step.fact) | self._scalars(step.factor) for step in bound.steps),
        )
        stated = (c for c in conditions if not facts.isdisjoint(_facts((c,))))
        return scalars.union(*map(given.scalars_of, stated))

    def _is_exact(self, upper: _Bounded) -> bool:
        of_parameters = [part for part in upper.given if _is_decided_by_parameters(part)]
        return is_reached(upper.term, upper.bounds, upper.given, of_parameters)

    # -- widths ----------------------------------------------------------------------------------

    def _all_widths(self, access: Access) -> _Widths:
        """Return the conditions under which no arithmetic of an address wraps around."""
        conditions: list[Condition] = []
        scalars: frozenset[Symbol] = frozenset()
        fed = feeding(access.op, self.summary.module) if self.summary.arithmetic else frozenset()
        for arithmetic in self.summary.arithmetic:
            if arithmetic.op.index in fed:
                widths = self._width(arithmetic)
                conditions += widths.conditions
                scalars |= widths.scalars
        return _Widths(_without_implied(conditions), scalars)

    def _width(self, arithmetic: Arithmetic) -> _Widths:
        widths = self._widths.get(id(arithmetic))
        if widths is None:
            try:
                widths = self._fits(arithmetic)
            except _NoCondition as reason:
                widths = f"{arithmetic.op.name} may not fit into {arithmetic.bits} bits: {reason}"
            self._widths[id(arithmetic)] = widths
        if isinstance(widths, str):
            raise _NoCondition(widths)
        return widths

    def _fits(self, arithmetic: Arithmetic) -> _Widths:
        low, high = signed_range(arithmetic.bits)
        result = self._assuming(arithmetic.result)
        scalars = self._scalars(arithmetic.result)
        given = self._premises(arithmetic.reached)
        conditions: list[Condition] = []
        for sign, most in ((1, high), (-1, -low)):
            if (result * sign).high <= most:
                continue
            for term, case in self._cases(result, given.parts):
                upper = self._bounded(term * sign, case, given)
                inside = [at_least(b.scale * most + b.scale - 1 - b.limit) for b in upper.bounds]
                whole = conjunction((disjunction(inside), *upper.supposed))
                conditions += disjunction((whole, upper.unreachable)).conjuncts()
                scalars |= upper.scalars
        return _Widths(tuple(c for c in conditions if c is not TRUE), scalars)


def _without_implied(conditions: Iterable[Condition]) -> tuple[Condition, ...]:
    """Return conditions without those that another condition plainly implies."""
    return without_implied(dict.fromkeys(conditions), _plainly_implies)


def _plainly_implies(one: Condition, other: Condition) -> bool:
    if isinstance(one, Or) and isinstance(other, Or):
        return all(any(_plainly_implies(a, b) for b in other.parts) for a in one.parts)
    return (
        isinstance(one, AtLeast) and isinstance(other, AtLeast) and (other.term - one.term).low >= 0
    )


def _least_scalars(summary: Summary) -> dict[Symbol, int]:
    """Return the least number assumed of each scalar that may be less: 1 for divisors, else 0."""
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
        (a for a in atoms if isinstance(a, Symbol) and a.kind == "scalar"), key=lambda s: s.order
    )
    return {
        symbol: int(symbol in divisors) for symbol in scalars if symbol.low < (symbol in divisors)
    }


def _facts(given: Iterable[Condition]) -> Iterator[Term]:
    """Yield terms that are never negative if conditions hold."""
    for condition in given:
        if isinstance(condition, AtLeast):
            yield condition.term
        elif isinstance(condition, Equal):
            yield condition.term
            yield -condition.term
        elif isinstance(condition, And):
            yield from _facts(condition.parts)


def _is_linear(either: Or) -> bool:
    """Return whether an Or has at most two parts, all of them comparisons of terms."""
    return len(either.parts) <= 2 and all(
        isinstance(part, AtLeast | Equal | And) for part in either.parts
    )


def _options(atom: Choice | object) -> Sequence[tuple[Condition, Term]]:
    """Return the two values of a Choice or Maximum, each after its condition."""
    if isinstance(atom, Choice):
        return ((atom.condition, atom.then), (~atom.condition, atom.otherwise))
    left, right = atom.arguments  # type: ignore[attr-defined]
    return ((at_least(left - right), left), (at_least(right - left - 1), right))


def _is_decided_by_parameters(condition: Condition) -> bool:
    return not condition.opaques() and not any(
        not is_of_parameters(atom.term) for atom in condition.atoms()
    )


def _why_unbounded(term: Term, bounds: Sequence[Bound], summary: Summary) -> str:
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
        why = key[1] if isinstance(key, tuple) else "not followed"
        return f"its address depends on an integer that is not followed ({why})"
    if bounds:
        return "a bound of its address was found, but could not be certified"
    return "its address has no bound by the parameters: the sign of a factor is not known"
