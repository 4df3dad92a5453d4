"""The condition on a kernel's parameters under which every access stays inside its tensor.

Made once per kernel, with everything symbolic: scalars, strides, the grid, and of each tensor how
many bytes there are from its data pointer on (its *extent*). Of each access the farthest byte and
the nearest are bounded by terms of these parameters (`generic_bounds.py`), each bound is certified
(`generic_certificate.py`), and the condition is that one of the bounds lies inside. So a call whose
numbers satisfy it has that access inside for all programs, lanes and trips.

Assumed, and looked at in each call: integers that an address is made of are not negative, and what
is divided by is at least 1. All arithmetic of an address must stay within its width, which gives
conditions of the same kind.
"""

from __future__ import annotations

import weakref
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Final

from kvtrace.symbolic.conditions import (
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
from kvtrace.verdicts.generic_bounds import (
    Bound,
    Elimination,
    is_of_parameters,
    varying_choice,
)
from kvtrace.verdicts.generic_certificate import Certifier, is_reached

if TYPE_CHECKING:
    from kvtrace.ir import Module, Op

_MOST_BYTES: Final = 1 << 62
_MOST_CASES: Final = 8


@dataclass(frozen=True, eq=False)
class AccessCondition:
    """When an access stays inside its tensor.

    `condition` is over scalars, the grid and extents in bytes; None if `reason` says why there is
    none. `exact`: where all sizes are at least 1 and it does not hold, the access does leave; else
    it is enough and may not be needed. `widths` are the conditions under which no arithmetic of its
    address wraps around. All of this holds where the scalars of `assumptions` are at least as much
    as is said there.
    """

    access: Access
    condition: Condition | None
    exact: bool = False
    reason: str | None = None
    widths: tuple[Condition, ...] = ()
    assumptions: tuple[tuple[Symbol, int], ...] = ()

    @property
    def op(self) -> Op:
        """The op that accesses memory."""
        return self.access.op

    @cached_property
    def whole(self) -> Condition:
        """The condition with those of the widths."""
        assert self.condition is not None
        return conjunction((self.condition, *self.widths))


def extent(argument: int) -> Symbol:
    """Give the bytes of an argument's tensor from its data pointer to its end."""
    return Symbol("scalar", (argument, "extent", 0), 0, _MOST_BYTES)


def conditions_of(module: Module) -> tuple[AccessCondition, ...]:
    """Give the condition of each access of a kernel; made once per module, then kept with it.

    Raises:
        NoKernel: the module has no function to run.

    """
    found = _conditions.get(module.op)
    if found is None:
        maker = _Maker(summarise(module))
        found = _conditions[module.op] = tuple(map(maker.access, maker.summary.accesses))
    return found


_conditions: weakref.WeakKeyDictionary[Op, tuple[AccessCondition, ...]] = (
    weakref.WeakKeyDictionary()
)


class _Without(Exception):
    """There is no condition, and why; never leaves this file."""


@dataclass(frozen=True, eq=False)
class _Bounded:
    """What bounds a term in one case, and the conditions of the case."""

    bounds: tuple[Bound, ...]
    term: Term
    given: tuple[Condition, ...]

    @property
    def unreachable(self) -> Condition:
        """That the parameters alone rule the case out."""
        return disjunction(~each for each in self.given if _is_decided_by_parameters(each))


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
        self._widths: dict[int, tuple[Condition, ...] | str] = {}

    def access(self, access: Access) -> AccessCondition:
        """Give the condition of one access."""
        try:
            return self._of(access)
        except _Without as reason:
            return AccessCondition(access, None, reason=str(reason))

    def _of(self, access: Access) -> AccessCondition:
        if access.argument is None:
            raise _Without(access.unknown or "its address comes from no argument")
        given = self._given(access.active)
        offset = self._assuming(access.offset)
        room = extent(access.argument).term - access.element_bytes
        parts, exact = [], True
        for case in self._cases(offset, given):
            upper = self._bounded(case, 1)
            lower = self._bounded(case, -1)
            inside = [at_least(room * b.scale + b.scale - 1 - b.limit) for b in upper.bounds]
            behind = [at_least(b.scale - 1 - b.limit) for b in lower.bounds]
            both = conjunction((disjunction(inside), disjunction(behind)))
            parts.append(disjunction((both, upper.unreachable)))
            exact = exact and disjunction(behind) is TRUE and self._is_exact(upper)
        condition = conjunction(parts)
        widths = _without_implied(self._all_widths(access))
        assumptions = self._assumptions((access.offset, access.active), access, condition)
        exact = exact and len(parts) == 1
        return AccessCondition(access, condition, exact, None, widths, assumptions)

    def _given(self, condition: Condition) -> tuple[Condition, ...]:
        return tuple(part.substitute(self._assuming) for part in condition.conjuncts())

    def _cases(
        self, term: Term, given: tuple[Condition, ...], left: int = _MOST_CASES
    ) -> Iterator[tuple[Term, tuple[Condition, ...]]]:
        """Give a term without choices, and what is given, in each case of those it has."""
        atom = varying_choice(term)
        either = next((each for each in given if isinstance(each, Or) and _is_linear(each)), None)
        if atom is None and either is None:
            yield term, given
            return
        if left < 2:
            if atom is not None:
                raise _Without("its address is chosen in too many ways")
            yield term, given
            return
        if atom is not None:
            for when, value in _options(atom):
                replaced = Substitution({atom: value})
                rest = tuple(part.substitute(replaced) for part in given)
                whole = conjunction((*rest, when.substitute(replaced)))
                yield from self._cases(replaced(term), whole.conjuncts(), left // 2)
            return
        assert either is not None
        for part in either.parts:
            others = tuple(each for each in given if each is not either)
            yield from self._cases(
                term, conjunction((*others, part)).conjuncts(), left // len(either.parts)
            )

    def _bounded(self, case: tuple[Term, tuple[Condition, ...]], sign: int) -> _Bounded:
        """Bound a term, or its negative, from above, by what is certified."""
        term, given = case[0] * sign, case[1]
        found = Elimination(_facts(given)).bounds(term)
        certifier = Certifier(given)
        certain = tuple(bound for bound in found if certifier.certifies(term, bound))
        if not certain:
            raise _Without(_why_unbounded(term, given, found, self.summary))
        return _Bounded(certain, term, given)

    def _is_exact(self, upper: _Bounded) -> bool:
        of_parameters = [each for each in upper.given if _is_decided_by_parameters(each)]
        return is_reached(upper.term, upper.bounds, upper.given, of_parameters)

    # -- widths ----------------------------------------------------------------------------------

    def _all_widths(self, access: Access) -> Iterator[Condition]:
        if not self.summary.arithmetic:
            return
        fed = feeding(access.op, self.summary.module)
        for arithmetic in self.summary.arithmetic:
            if arithmetic.op.index in fed:
                yield from self._width(arithmetic)

    def _width(self, arithmetic: Arithmetic) -> tuple[Condition, ...]:
        found = self._widths.get(id(arithmetic))
        if found is None:
            try:
                found = tuple(self._fits(arithmetic))
            except _Without as reason:
                found = f"{arithmetic.op.name} may leave its {arithmetic.bits} bits: {reason}"
            self._widths[id(arithmetic)] = found
        if isinstance(found, str):
            raise _Without(found)
        return found

    def _fits(self, arithmetic: Arithmetic) -> Iterator[Condition]:
        low, high = signed_range(arithmetic.bits)
        result = self._assuming(arithmetic.result)
        for sign, most in ((1, high), (-1, -low)):
            if (result * sign).high <= most:
                continue
            for case in self._cases(result, self._given(arithmetic.reached)):
                found = self._bounded(case, sign)
                inside = [at_least(b.scale * most + b.scale - 1 - b.limit) for b in found.bounds]
                whole = disjunction((*inside, found.unreachable))
                if whole is not TRUE:
                    yield whole

    # -- assumptions -----------------------------------------------------------------------------

    def _assumptions(
        self, made_of: tuple[Term, Condition], access: Access, condition: Condition
    ) -> tuple[tuple[Symbol, int], ...]:
        """Give what is assumed of the scalars that an access hangs on."""
        atoms = made_of[0].atoms() | made_of[1].atoms() | condition.atoms()
        fed = feeding(access.op, self.summary.module)
        for arithmetic in self.summary.arithmetic:
            if arithmetic.op.index in fed:
                atoms |= arithmetic.result.atoms() | arithmetic.reached.atoms()
        return tuple(pair for pair in self._least.items() if pair[0] in atoms)


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
    """Give what is assumed of scalars that may be negative: 0, or 1 of divisors and steps."""
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
    """Give terms that are never negative where conditions hold."""
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
    """Give what an atom may be, and when."""
    if isinstance(atom, Choice):
        return ((atom.condition, atom.then), (~atom.condition, atom.otherwise))
    left, right = atom.arguments  # type: ignore[attr-defined]
    return ((at_least(left - right), left), (at_least(right - left - 1), right))


def _is_decided_by_parameters(condition: Condition) -> bool:
    return not condition.opaques() and not any(
        not is_of_parameters(atom.term) for atom in condition.atoms()
    )


def _why_unbounded(
    term: Term, given: Sequence[Condition], found: Sequence[Bound], summary: Summary
) -> str:
    """Say in words why there is no bound."""
    contents = term.symbols("content")
    if contents:
        names = [value.name.lstrip("%") for value in summary.module.main.arguments]
        tensors = {
            names[symbol.key[1]]
            for symbol in contents
            if isinstance(symbol.key, tuple) and isinstance(symbol.key[1], int)
        }
        return f"its address hangs on what {', '.join(sorted(tensors)) or 'memory'} holds"
    unknown = term.symbols("unknown")
    if unknown:
        key = min(unknown, key=lambda symbol: symbol.order).key
        why = key[1] if isinstance(key, tuple) else "not followed"
        return f"its address hangs on an integer that is not followed ({why})"
    if found:
        return "a bound of its address was found, and not certified"
    del given
    return "its address has no bound by the parameters: the sign of a factor is not known"
