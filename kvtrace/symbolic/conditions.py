"""Predicates over terms: masks, branches, and claims for the prover.

Leaves are `AtLeast` (a term is >= 0), `Equal` (a term is 0) and `Opaque` (depends on floats, or on
ops that the walk does not follow). Use `at_least`, `less`, `equal`, `&`, `|` and `~`, not the
classes: they return TRUE or FALSE if the ranges of atoms decide, as for `at_least(lane + 1)`.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Final, TypeVar

import numpy as np

from kvtrace.symbolic.terms import (
    Atom,
    Evaluation,
    Key,
    Kind,
    Resolve,
    Structured,
    Substitution,
    Symbol,
    Term,
    as_term,
    order_of,
)

Ordered = TypeVar("Ordered", bound="Atom | Condition")


class Condition(Structured):
    """A predicate over terms; immutable, compared by structure."""

    __slots__ = ("_atoms", "_hash")
    _atoms: frozenset[Atom] | None
    _hash: int | None

    def __init__(self) -> None:
        self._atoms = self._hash = None

    @property
    def decided(self) -> bool | None:
        """The truth of `TRUE` or `FALSE`; None for other conditions."""
        return None

    def atoms(self) -> frozenset[Atom]:
        """Return all atoms of all terms in the condition, nested ones included."""
        if self._atoms is None:
            inside = [p.atoms() for p in self._parts() if isinstance(p, Term | Condition)]
            self._atoms = frozenset().union(*inside)
        return self._atoms

    def symbols(self, kind: Kind) -> frozenset[Symbol]:
        """Return the condition's symbols of a kind, also inside functions."""
        return frozenset(a for a in self.atoms() if isinstance(a, Symbol) and a.kind == kind)

    def inside(self) -> tuple[Term | Condition, ...]:
        """Return the condition's terms and conditions, one level down."""
        return tuple(part for part in self._parts() if isinstance(part, Term | Condition))

    def compared(self) -> Iterator[Term]:
        """Yield the terms of the condition's leaves."""
        for part in self.inside():
            yield from (part,) if isinstance(part, Term) else part.compared()

    def opaques(self) -> frozenset[Opaque]:
        """Return all opaque leaves that are not inside terms."""
        inside = [p.opaques() for p in self._parts() if isinstance(p, Condition)]
        return frozenset().union(*inside)

    def conjuncts(self) -> tuple[Condition, ...]:
        """Return the parts of an And, () for TRUE, and (self,) for all other conditions."""
        return (self,)

    def substitute(self, replacements: Mapping[Any, Term | int] | Substitution) -> Condition:
        """Return the condition with atoms replaced wherever they occur, and simplified."""
        if not isinstance(replacements, Substitution):
            replacements = Substitution(replacements)
        if replacements.leaves(self.atoms()):
            return self
        return self._substituted(replacements)

    def _substituted(self, substitution: Substitution) -> Condition:
        raise NotImplementedError

    def evaluate(self, evaluation: Evaluation) -> Any:
        """Return the condition's truth, or an array of truths, for the evaluation's numbers."""
        raise NotImplementedError

    def value(self, assignment: Mapping[Any, int], resolve: Resolve | None = None) -> bool:
        """Return whether the condition holds for numbers of symbols and opaque leaves.

        Raises:
            KeyError: a symbol, or an opaque leaf, has no number.

        """
        return bool(self.evaluate(Evaluation(assignment, resolve, arrays=False)))

    def values(self, assignment: Mapping[Any, Any], resolve: Resolve | None = None) -> Any:
        """Return a Boolean array for NumPy arrays of the symbols; see `Term.values`."""
        return np.asarray(self.evaluate(Evaluation(assignment, resolve, arrays=True)), bool)

    def __and__(self, other: Condition) -> Condition:
        """Return the conjunction of both conditions."""
        return conjunction((self, other))

    def __or__(self, other: Condition) -> Condition:
        """Return the disjunction of both conditions."""
        return disjunction((self, other))

    def __invert__(self) -> Condition:
        """Return the negation of the condition."""
        return Not(self)

    def __eq__(self, other: object) -> bool:
        """Return whether both conditions have the same structure."""
        if self is other:
            return True
        return (
            type(self) is type(other)
            and isinstance(other, Condition)
            and hash(self) == hash(other)
            and self._parts() == other._parts()
        )

    def __hash__(self) -> int:
        """Return the hash of the structure."""
        if self._hash is None:
            self._hash = hash((type(self).__name__, self._parts()))
        return self._hash

    @property
    def order(self) -> int:
        """The order among conditions, equal in every process."""
        return order_of(type(self), self._parts())


class Constant(Condition):
    """A condition that always or never holds: `TRUE` and `FALSE`."""

    __slots__ = ("truth",)

    def __init__(self, *, truth: bool) -> None:
        super().__init__()
        self.truth = truth

    @property
    def decided(self) -> bool | None:
        """The constant's truth."""
        return self.truth

    def _parts(self) -> tuple[Any, ...]:
        return (self.truth,)

    def conjuncts(self) -> tuple[Condition, ...]:
        """Return () for TRUE, and (self,) for FALSE."""
        return () if self.truth else (self,)

    def evaluate(self, evaluation: Evaluation) -> Any:  # noqa: ARG002
        """Return the constant's truth."""
        return self.truth

    def __invert__(self) -> Condition:
        """Return the other constant."""
        return FALSE if self.truth else TRUE

    def __repr__(self) -> str:
        return str(self.truth)


TRUE: Final = Constant(truth=True)
FALSE: Final = Constant(truth=False)


class _TermCondition(Condition):
    """Base class of conditions on one `term`."""

    __slots__ = ("term",)

    def __init__(self, term: Term) -> None:
        super().__init__()
        self.term = term

    def _parts(self) -> tuple[Any, ...]:
        return (self.term,)


class AtLeast(_TermCondition):
    """`term` >= 0."""

    __slots__ = ()

    def _substituted(self, substitution: Substitution) -> Condition:
        return at_least(substitution(self.term))

    def evaluate(self, evaluation: Evaluation) -> Any:
        """Return whether the term's number is at least 0."""
        return evaluation(self.term) >= 0

    def __invert__(self) -> Condition:
        """Return the condition `term` <= -1."""
        return at_least(-self.term - 1)

    def __repr__(self) -> str:
        return f"{self.term!r} >= 0"


class Equal(_TermCondition):
    """`term` == 0."""

    __slots__ = ()

    def _substituted(self, substitution: Substitution) -> Condition:
        return equal(substitution(self.term))

    def evaluate(self, evaluation: Evaluation) -> Any:
        """Return whether the term's number is 0."""
        return evaluation(self.term) == 0

    def __repr__(self) -> str:
        return f"{self.term!r} == 0"


class Opaque(Condition):
    """A Boolean that the walk does not follow; `reason` explains why.

    `key` is an op index, or a tuple of an op index and calls. The Boolean may differ between values
    of the terms `at`, as a `Symbol` of kind "unknown" does.
    """

    __slots__ = ("at", "key", "reason")

    def __init__(self, key: Key, reason: str, at: tuple[Term, ...] = ()) -> None:
        super().__init__()
        self.key = key
        self.reason = reason
        self.at = at

    def _parts(self) -> tuple[Any, ...]:
        return (self.key, self.reason, *self.at)

    def opaques(self) -> frozenset[Opaque]:
        """Return a set with this condition."""
        return frozenset((self,))

    def _substituted(self, substitution: Substitution) -> Condition:
        return Opaque(self.key, self.reason, tuple(substitution(term) for term in self.at))

    def evaluate(self, evaluation: Evaluation) -> Any:
        """Return the truth that the evaluation's assignment has for this condition."""
        return evaluation.atom(self)

    def compute(self, evaluation: Evaluation) -> Any:  # noqa: ARG002
        """Raise KeyError, as the assignment has no truth for this condition."""
        raise KeyError(self)

    def __repr__(self) -> str:
        return f"opaque[{self.key}: {self.reason}]"


class Not(Condition):
    """The negation of `inner`: an Equal, an Opaque, an And or an Or."""

    __slots__ = ("inner",)

    def __init__(self, inner: Condition) -> None:
        super().__init__()
        self.inner = inner

    def _parts(self) -> tuple[Any, ...]:
        return (self.inner,)

    def _substituted(self, substitution: Substitution) -> Condition:
        return ~self.inner.substitute(substitution)

    def evaluate(self, evaluation: Evaluation) -> Any:
        """Return the negated truth."""
        return np.logical_not(self.inner.evaluate(evaluation))

    def __invert__(self) -> Condition:
        """Return the negated condition."""
        return self.inner

    def __repr__(self) -> str:
        return f"not ({self.inner!r})"


class _CompoundCondition(Condition):
    """Base class of conditions made of the conditions `parts`."""

    __slots__ = ("parts",)

    def __init__(self, parts: tuple[Condition, ...]) -> None:
        super().__init__()
        self.parts = parts

    def _parts(self) -> tuple[Any, ...]:
        return self.parts


class And(_CompoundCondition):
    """The conjunction of `parts`: two or more, none of them an And."""

    __slots__ = ()

    def conjuncts(self) -> tuple[Condition, ...]:
        """Return the parts."""
        return self.parts

    def _substituted(self, substitution: Substitution) -> Condition:
        return conjunction(part.substitute(substitution) for part in self.parts)

    def evaluate(self, evaluation: Evaluation) -> Any:
        """Return whether all parts hold; without arrays, stop at the first false part."""
        if not evaluation.arrays:
            return all(part.evaluate(evaluation) for part in self.parts)
        truth: Any = True
        for part in self.parts:
            truth = truth & part.evaluate(evaluation)
        return truth

    def __invert__(self) -> Condition:
        """Return the disjunction of the negated parts."""
        return disjunction(~part for part in self.parts)

    def __repr__(self) -> str:
        return " and ".join(f"({part!r})" for part in self.parts)


class Or(_CompoundCondition):
    """The disjunction of `parts`: two or more, none of them an Or."""

    __slots__ = ()

    def _substituted(self, substitution: Substitution) -> Condition:
        return disjunction(part.substitute(substitution) for part in self.parts)

    def evaluate(self, evaluation: Evaluation) -> Any:
        """Return whether some part holds; without arrays, stop at the first true part."""
        if not evaluation.arrays:
            return any(part.evaluate(evaluation) for part in self.parts)
        truth: Any = False
        for part in self.parts:
            truth = truth | part.evaluate(evaluation)
        return truth

    def __invert__(self) -> Condition:
        """Return the conjunction of the negated parts."""
        return conjunction(~part for part in self.parts)

    def __repr__(self) -> str:
        return " or ".join(f"({part!r})" for part in self.parts)


# -- constructors --------------------------------------------------------------------------------


def at_least(term: Term | int, other: Term | int = 0) -> Condition:
    """Return the condition `term >= other`."""
    gap = as_term(term) - other
    if gap.low >= 0:
        return TRUE
    return FALSE if gap.high < 0 else AtLeast(gap)


def less(term: Term | int, other: Term | int) -> Condition:
    """Return the condition `term < other`."""
    return at_least(as_term(other) - term - 1)


def within(term: Term | int, limit: int) -> Condition:
    """Return the condition `0 <= term < limit`."""
    return conjunction((at_least(term), less(term, limit)))


def equal(term: Term | int, other: Term | int = 0) -> Condition:
    """Return the condition `term == other`."""
    gap = as_term(term) - other
    if gap.low > 0 or gap.high < 0:
        return FALSE
    return TRUE if gap.low == gap.high else Equal(gap)


def in_order(parts: Iterable[Ordered]) -> list[Ordered]:
    """Return atoms or conditions in their order, which is equal in every process."""
    return sorted(parts, key=lambda part: part.order)


def conjunction(conditions: Iterable[Condition]) -> Condition:
    """Return the conjunction of conditions; TRUE if there are none."""
    parts: dict[Condition, None] = {}
    for condition in conditions:
        for part in condition.conjuncts():
            if part is FALSE or (parts and _negated(part) in parts):
                return FALSE
            parts[part] = None
    if not parts:
        return TRUE
    return next(iter(parts)) if len(parts) == 1 else And(tuple(parts))


def disjunction(conditions: Iterable[Condition]) -> Condition:
    """Return the disjunction of conditions; FALSE if there are none."""
    parts: dict[Condition, None] = {}
    for condition in conditions:
        for part in condition.parts if isinstance(condition, Or) else (condition,):
            if part is TRUE or _negated(part) in parts:
                return TRUE
            if part is not FALSE:
                parts[part] = None
    if not parts:
        return FALSE
    return next(iter(parts)) if len(parts) == 1 else Or(tuple(parts))


def _negated(part: Condition) -> Condition | None:
    """Return the negation of a leaf or of a Not; None for other conditions."""
    if isinstance(part, Not):
        return part.inner
    return ~part if isinstance(part, AtLeast | Equal | Opaque) else None
