"""The condition on a kernel's parameters under which every access stays inside its tensor.

Made once per kernel, with everything symbolic: scalars, strides, the grid, and of each tensor how
many bytes there are from its data pointer on (its *extent*). Of each access the farthest byte and
the nearest are bounded by terms of these parameters (`upper_bounds.py`), each bound is certified
(`certificate.py`), and the condition is that one of the bounds lies inside. So a call whose
numbers satisfy it has that access inside for all programs, lanes and trips.

Assumed, and checked in each call: integers that an address is made of are not negative, and what
is divided by is at least 1. All arithmetic of an address must stay within its width, which gives
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
from kvtrace.symbolic.walk import summarise
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
)

if TYPE_CHECKING:
    from kvtrace.ir import Module, Op

_MOST_BYTES: Final = 1 << 62
_MOST_CASES: Final = 8
_MOST_SUPPOSED: Final = 4


@dataclass(frozen=True, eq=False)
class AccessCondition:
    """When an access stays inside its tensor.

    `condition` is over scalars, the grid and extents in bytes; None if `reason` says why there is
    none. `exact`: where all sizes are at least 1 and it does not hold, the access does leave; else
    it is enough and may not be needed. `widths` are the conditions under which no arithmetic of its
    address wraps around. All of this holds where the scalars of `assumptions` are at least the
    values there. `reach`: what it takes for a store to reach all that its mask lets through.
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
        """What has to be known of a call to hold it against the conditions."""
        conditions = (self.condition or TRUE, *self.widths, *self.reach)
        atoms = frozenset().union(*(condition.atoms() for condition in conditions))
        return tuple(atom for atom in in_order(atoms) if isinstance(atom, Symbol))


def extent(argument: int) -> Symbol:
    """Return the bytes of an argument's tensor from its data pointer to its end."""
    return Symbol("scalar", (argument, "extent", 0), 0, _MOST_BYTES)


@once_per_module
def conditions_of(module: Module) -> tuple[AccessCondition, ...]:
    """Return the condition of each access of a kernel; made once per module, then kept with it.

    Raises:
        NoKernel: the module has no function to run.

    """
    maker = _Maker(summarise(module))
    return tuple(map(maker.access, maker.summary.accesses))


class _Without(Exception):
    """There is no condition, and why; never leaves this file."""


@dataclass(frozen=True, eq=False)
class _Bounded:
    """What bounds a term in one case, the conditions of the case, and the scalars it depends on.

    `supposed` are conditions on the parameters that the bounds hold under.
    """

    bounds: tuple[Bound, ...]
    term: Term
    given: tuple[Condition, ...]
    scalars: frozenset[Symbol]
    supposed: tuple[Condition, ...] = ()

    @property
    def unreachable(self) -> Condition:
        """That the parameters alone rule the case out."""
        return disjunction(~each for each in self.given if _is_decided_by_parameters(each))


@dataclass(frozen=True, eq=False)
class _Given:
    """What holds where an op is reached, and which scalars each part of it was made of.

    Assuming something of scalars may have simplified a part: whoever uses it uses all of these.
    """

    parts: tuple[Condition, ...]
    scalars: dict[Condition, frozenset[Symbol]]

    def scalars_of(self, part: Condition) -> frozenset[Symbol]:
        """Return the scalars of a part; of one that was made in a case, all."""
        found = self.scalars.get(part)
        return self.all_scalars if found is None else found

    @cached_property
    def all_scalars(self) -> frozenset[Symbol]:
        """All scalars of all parts."""
        return frozenset().union(*self.scalars.values())


@dataclass(frozen=True, eq=False)
class _Widths:
    """Conditions under which nothing wraps around, and the scalars they depend on."""

    conditions: tuple[Condition, ...]
    scalars: frozenset[Symbol]


class _Maker:
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
        except _Without as reason:
            return AccessCondition(access, None, reason=str(reason))

    def _of(self, access: Access) -> AccessCondition:
        if access.argument is None:
            raise _Without(access.unknown or "its address comes from no argument")
        if access.mask is FALSE:  # unless numbers wrap around
            widths = self._all_widths(access)
            assumed = tuple(pair for pair in self._least.items() if pair[0] in widths.scalars)
            return AccessCondition(access, TRUE, widths=widths.conditions, assumptions=assumed)
        offset = self._assuming(access.offset)
        room = extent(access.argument).term - access.element_bytes
        scalars = self._scalars(access.offset)
        parts, exact = [], True
        given = self._given(access.active)
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
        running = self._given(conjunction(loop.running for loop in access.loops)).parts
        far = dict.fromkeys(reach(given.parts, running)) if access.kind == "store" else ()
        return AccessCondition(
            access, condition, exact, None, widths.conditions, assumptions, tuple(far)
        )

    def _scalars(self, what: Term | Condition) -> frozenset[Symbol]:
        """Return the scalars in something of which anything is assumed, as they are without it."""
        found = (a.key for a in what.atoms() if isinstance(a, Symbol) and a.kind == "scalar")
        return frozenset(self._by_key[key] for key in found if key in self._by_key)

    def _given(self, condition: Condition) -> _Given:
        scalars: dict[Condition, frozenset[Symbol]] = {}
        for part in condition.conjuncts():
            for each in part.substitute(self._assuming).conjuncts():
                scalars[each] = scalars.get(each, frozenset()) | self._scalars(part)
        return _Given(tuple(scalars), scalars)

    def _cases(
        self, term: Term, given: tuple[Condition, ...], left: int = _MOST_CASES
    ) -> Iterator[tuple[Term, tuple[Condition, ...]]]:
        """Return a term without choices, and what is given, in each case of those it has."""
        atom = varying_choice(term)
        either = next((each for each in given if isinstance(each, Or) and _is_linear(each)), None)
        if atom is None and (either is None or left < len(either.parts)):
            yield term, given
            return
        if atom is None:
            assert either is not None
            others = tuple(each for each in given if each is not either)
            for part in either.parts:
                conditions = conjunction((*others, part)).conjuncts()
                yield from self._cases(term, conditions, left // len(either.parts))
            return
        if left < 2:
            raise _Without("its address is chosen in too many ways")
        for when, value in _options(atom):
            replaced = Substitution({atom: value})
            conditions = conjunction((*given, when)).substitute(replaced).conjuncts()
            yield from self._cases(replaced(term), conditions, left // 2)

    def _bounded(
        self,
        term: Term,
        conditions: tuple[Condition, ...],
        given: _Given,
        *,
        never_positive: bool = False,
    ) -> _Bounded:
        """Bound a term from above, by what is certified; if possible so that it is never positive.

        Where divisors have to be positive for it, and are if the parameters are right, that they
        are becomes part of the condition.
        """
        known = conditions
        supposed: tuple[Condition, ...] = ()
        best: _Bounded | None = None
        for _ in range(_MOST_SUPPOSED):
            elimination = Elimination(_facts(known))
            found = elimination.bounds(term)
            certain, scalars = self._certain(term, found, known, given)
            enough = not never_positive or any(b.limit.high < b.scale for b in certain)
            if certain and (enough or best is None):
                best = _Bounded(certain, term, conditions, scalars, supposed)
            if certain and enough:
                break
            more = {
                at_least(wanted): when
                for wanted in elimination.wanted
                if (when := self._supposition(wanted, known, given)) is not None
            }
            if not more:
                break
            known += tuple(more)
            supposed += tuple(more.values())
        if best is None:
            raise _Without(_why_unbounded(term, found, self.summary))
        return best

    def _supposition(
        self, wanted: Term, known: tuple[Condition, ...], given: _Given
    ) -> Condition | None:
        """Return the condition on parameters under which a term is certainly never negative."""
        minimum, more = smaller_of(wanted)
        if minimum is not None:
            parts = [self._supposition(each + more, known, given) for each in minimum.arguments]
            return None if None in parts else conjunction(part for part in parts if part)
        found = Elimination(_facts(known)).bounds(-wanted)
        certain, _ = self._certain(-wanted, found, known, given)
        alternatives = disjunction(at_least(b.scale - 1 - b.limit) for b in certain)
        return None if alternatives.decided is False else alternatives

    def _certain(
        self, term: Term, found: Iterable[Bound], known: tuple[Condition, ...], given: _Given
    ) -> tuple[tuple[Bound, ...], frozenset[Symbol]]:
        """Return the bounds that are certified, and the scalars that they depend on."""
        decided = [each for each in known if _is_decided_by_parameters(each)]
        scalars = self._scalars(term).union(*map(given.scalars_of, decided))
        certifiers: dict[frozenset[Symbol], Certifier] = {}
        certain = []
        for bound in found:
            for used in (scalars | self._used(bound, known, given), given.all_scalars):
                if used not in certifiers:
                    certifiers[used] = Certifier(k for k in known if given.scalars_of(k) <= used)
                if certifiers[used].certifies(term, bound):
                    certain.append(bound)
                    scalars |= used
                    break
        return tuple(certain), scalars

    def _used(
        self, bound: Bound, conditions: Iterable[Condition], given: _Given
    ) -> frozenset[Symbol]:
        """Return the scalars that a bound depends on."""
        added = {step.fact for step in bound.steps}
        scalars = frozenset().union(
            self._scalars(bound.limit),
            *(self._scalars(step.fact) | self._scalars(step.factor) for step in bound.steps),
        )
        stated = (each for each in conditions if not added.isdisjoint(_facts((each,))))
        return scalars.union(*map(given.scalars_of, stated))

    def _is_exact(self, upper: _Bounded) -> bool:
        of_parameters = [each for each in upper.given if _is_decided_by_parameters(each)]
        return is_reached(upper.term, upper.bounds, upper.given, of_parameters)

    # -- widths ----------------------------------------------------------------------------------

    def _all_widths(self, access: Access) -> _Widths:
        """Return when no arithmetic of an address wraps around."""
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
        found = self._widths.get(id(arithmetic))
        if found is None:
            try:
                found = self._fits(arithmetic)
            except _Without as reason:
                found = f"{arithmetic.op.name} may leave its {arithmetic.bits} bits: {reason}"
            self._widths[id(arithmetic)] = found
        if isinstance(found, str):
            raise _Without(found)
        return found

    def _fits(self, arithmetic: Arithmetic) -> _Widths:
        low, high = signed_range(arithmetic.bits)
        result = self._assuming(arithmetic.result)
        scalars = self._scalars(arithmetic.result)
        given = self._given(arithmetic.reached)
        conditions: list[Condition] = []
        for sign, most in ((1, high), (-1, -low)):
            if (result * sign).high <= most:
                continue
            for term, case in self._cases(result, given.parts):
                found = self._bounded(term * sign, case, given)
                inside = [at_least(b.scale * most + b.scale - 1 - b.limit) for b in found.bounds]
                whole = conjunction((disjunction(inside), *found.supposed))
                conditions += disjunction((whole, found.unreachable)).conjuncts()
                scalars |= found.scalars
        return _Widths(tuple(each for each in conditions if each is not TRUE), scalars)


def _without_implied(conditions: Iterable[Condition]) -> tuple[Condition, ...]:
    """Leave out what follows from another of the conditions, where that is plain."""
    kept: list[Condition] = []
    for condition in dict.fromkeys(conditions):
        if any(_plainly_implies(other, condition) for other in kept):
            continue
        kept = [other for other in kept if not _plainly_implies(condition, other)]
        kept.append(condition)
    return tuple(kept)


def _plainly_implies(one: Condition, other: Condition) -> bool:
    if isinstance(one, Or) and isinstance(other, Or):
        return all(any(_plainly_implies(a, b) for b in other.parts) for a in one.parts)
    return (
        isinstance(one, AtLeast) and isinstance(other, AtLeast) and (other.term - one.term).low >= 0
    )


def _least_scalars(summary: Summary) -> dict[Symbol, int]:
    """Return what is assumed of scalars that may be negative: 0, or 1 of divisors and steps."""
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
    """Return terms that are never negative where conditions hold."""
    for condition in given:
        if isinstance(condition, AtLeast):
            yield condition.term
        elif isinstance(condition, Equal):
            yield condition.term
            yield -condition.term
        elif isinstance(condition, And):
            yield from _facts(condition.parts)


def _is_linear(either: Or) -> bool:
    """Whether cases of an Or say something of terms, and it is short."""
    return len(either.parts) <= 2 and all(
        isinstance(part, AtLeast | Equal | And) for part in either.parts
    )


def _options(atom: Choice | object) -> Sequence[tuple[Condition, Term]]:
    """Return what an atom may be, and when."""
    if isinstance(atom, Choice):
        return ((atom.condition, atom.then), (~atom.condition, atom.otherwise))
    left, right = atom.arguments  # type: ignore[attr-defined]
    return ((at_least(left - right), left), (at_least(right - left - 1), right))


def _is_decided_by_parameters(condition: Condition) -> bool:
    return not condition.opaques() and not any(
        not is_of_parameters(atom.term) for atom in condition.atoms()
    )


def _why_unbounded(term: Term, found: Sequence[Bound], summary: Summary) -> str:
    """Explain why there is no bound."""
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
    if found:
        return "a bound of its address was found, and not certified"
    return "its address has no bound by the parameters: the sign of a factor is not known"
