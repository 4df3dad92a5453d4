"""Ideal integers as polynomials over symbols and non-polynomial functions.

A `Term` is a polynomial with integer coefficients over `Atom`s, such as `1024 * program + lane`.
Terms never overflow; `bits.wrapped` returns the term for a fixed width. An atom is a `Symbol` or a
function of terms (`functions.py`: `Quotient`, `Minimum`, `Choice` …). Atoms are hash-consed: equal
atoms are one object. Terms are compared by their coefficients. Atoms and terms are immutable.
"""

from __future__ import annotations

import weakref
from collections.abc import Callable, Mapping
from hashlib import blake2b
from typing import Any, Final, Literal, TypeAlias

import numpy as np

from kvtrace.forks import Lock
from kvtrace.ir.integers import product_range, wrapped
from kvtrace.ir.integers import signed_range as signed_range

Kind = Literal["scalar", "program", "programs", "lane", "trip", "content", "set", "unknown"]
Key = int | tuple[Any, ...]
Monomial = tuple["Atom", ...]
"""A product of atoms, in ascending order of `Atom.order`, repeated for powers; () is 1."""
Resolve = Callable[["Symbol", tuple[Any, ...]], Any]
"""Function from a symbol and the numbers of its coordinates to the symbol's number."""
Interval: TypeAlias = tuple[int, int]
"""Smallest and largest value, both included."""
RangeOf: TypeAlias = Callable[["Term"], Interval]
"""Function from a term to its lower and upper bound."""

MOST_PROGRAMS: Final = (1 << 31) - 1
MOST_TRIPS: Final = 1 << 62

_MOST_SHOWN: Final = 30
"""Limit on the atoms of a printed term, as shared inner atoms would be printed repeatedly."""

#: Bits of `Atom.order` below those that say how deep an atom contains others.
_DIGEST_BITS: Final = 64
_interned: weakref.WeakValueDictionary[tuple[Any, ...], Atom] = weakref.WeakValueDictionary()
_interning = Lock(taken=True)


class Structured:
    """A part of atoms' keys that is made of parts, as a condition is."""

    __slots__ = ()

    def _parts(self) -> tuple[Any, ...]:
        """Return the terms, conditions and other fields by which it equals others of its class."""
        raise NotImplementedError


class Atom:
    """A factor in polynomials: an integer from `low` to `high`, both included.

    `order` sorts the atoms of a monomial, and alternatives of searches that end at a limit.
    """

    __slots__ = ("__weakref__", "high", "low", "order")
    low: int
    high: int
    order: int

    @property
    def term(self) -> Term:
        """The term that is this atom."""
        return Term({(self,): 1})

    def within(self) -> frozenset[Atom]:
        """Return this atom and all atoms inside its arguments or coordinates."""
        raise NotImplementedError

    def substituted(self, substitution: Substitution) -> Term:
        """Return the term for this atom with its inner atoms replaced."""
        raise NotImplementedError

    def compute(self, evaluation: Evaluation) -> Any:
        """Return the atom's number, or array of numbers, in an evaluation."""
        raise NotImplementedError


def intern(kind: type[Any], key: tuple[Any, ...], make: Callable[[], Any]) -> Any:
    """Return the unique atom of a class and a key; `make` builds the atom at its first use."""
    full = (kind, *key)
    atom = _interned.get(full)
    if atom is not None:
        return atom
    with _interning:
        atom = _interned.get(full)
        if atom is None:
            atom = make()
            atom.order = order_of(kind, key)
            _interned[full] = atom
        return atom


def order_of(kind: type[Any], key: tuple[Any, ...]) -> int:
    """Return the order of an atom or condition, which its class and key decide alone.

    It comes after atoms inside it; of two that contain as deep ones, a digest decides.
    """
    inner: list[int] = []
    text = repr((kind.__name__, _plain(key, inner)))
    depth = 1 + max((order >> _DIGEST_BITS for order in inner), default=0)
    digest = blake2b(text.encode(), digest_size=_DIGEST_BITS // 8).digest()
    return depth << _DIGEST_BITS | int.from_bytes(digest, "big")


def _plain(part: Any, inner: list[int]) -> Any:
    """Return a part of a key with the order of each atom in its place; `inner` collects them."""
    if isinstance(part, Term):
        monomials = [([a.order for a in m], number) for m, number in part.coefficients.items()]
        inner += [order for orders, _ in monomials for order in orders]
        return sorted(monomials)
    if isinstance(part, Atom):
        inner.append(part.order)
        return part.order
    if isinstance(part, tuple):
        return tuple(_plain(element, inner) for element in part)
    if isinstance(part, Structured):
        return type(part).__name__, _plain(part._parts(), inner)
    return part


class Symbol(Atom):
    """An integer that represents itself, from `low` to `high`.

    | kind | key | meaning |
    |---|---|---|
    | scalar | index of the kernel's argument | the argument's number, signed |
    | program | axis | the program's index along an axis of the grid |
    | programs | axis | the grid's extent along an axis |
    | lane | axis | the index along an axis of the tensor at hand: positional |
    | trip | loop | the loop's iteration, from 0; loop is its op index, or a tuple of it and calls |
    | content | load | an integer from memory; load is an op index, or a tuple of it and calls |
    | set | 0 | which of several recorded contents is read |
    | unknown | op, reason | an integer that the walk does not follow |

    A content or unknown varies over its coordinates `at` (of a content, its byte offset). Symbols
    with one key and different coordinates are different; substitutions apply to coordinates, too.
    """

    __slots__ = ("_within", "at", "key", "kind")
    kind: Kind
    key: Key
    at: tuple[Term, ...]
    _within: frozenset[Atom] | None

    def __new__(  # noqa: D102
        cls, kind: Kind, key: Key, low: int, high: int, at: tuple[Term, ...] = ()
    ) -> Symbol:
        def make() -> Symbol:
            symbol = object.__new__(cls)
            symbol.kind, symbol.key, symbol.low, symbol.high, symbol.at = kind, key, low, high, at
            symbol._within = frozenset((symbol,)).union(*(t.atoms() for t in at)) if at else None
            return symbol

        symbol: Symbol = intern(cls, (kind, key, low, high, at), make)
        return symbol

    def within(self) -> frozenset[Atom]:
        """Return the symbol and all atoms of its coordinates."""
        return frozenset((self,)) if self._within is None else self._within

    def substituted(self, substitution: Substitution) -> Term:
        """Return the symbol with atoms of its coordinates replaced."""
        at = tuple(substitution(term) for term in self.at)
        return Symbol(self.kind, self.key, self.low, self.high, at).term

    def compute(self, evaluation: Evaluation) -> Any:
        """Return the number from `evaluation.resolve`; KeyError for kinds without one."""
        if evaluation.resolve is None or self.kind not in ("content", "unknown"):
            raise KeyError(self)
        return evaluation.resolve(self, tuple(evaluation(term) for term in self.at))

    def __repr__(self) -> str:
        at = f" at {', '.join(map(repr, self.at))}" if self.at else ""
        return f"{self.kind}[{self.key}{at}]"


def scalar(index: int, bits: int = 32) -> Term:
    """Return the term for the kernel's integer argument at an index, signed."""
    return Symbol("scalar", index, *signed_range(bits)).term


def program(axis: int) -> Term:
    """Return the term for the program's index along an axis of the grid."""
    return Symbol("program", axis, 0, MOST_PROGRAMS - 1).term


def programs(axis: int) -> Term:
    """Return the term for the grid's extent along an axis."""
    return Symbol("programs", axis, 1, MOST_PROGRAMS).term


def lane(axis: int, extent: int) -> Term:
    """Return the term for the index along an axis of the tensor at hand; 0 if the extent is 1."""
    return Symbol("lane", axis, 0, extent - 1).term if extent > 1 else ZERO


class Term:
    """A polynomial; see the module's docstring.

    `coefficients` maps monomials to their nonzero coefficients, and must not be changed.
    """

    __slots__ = ("_atoms", "_bounds", "_hash", "coefficients")
    coefficients: dict[Monomial, int]
    _atoms: frozenset[Atom] | None
    _bounds: tuple[int, int] | None
    _hash: int | None

    def __init__(self, coefficients: dict[Monomial, int]) -> None:
        self.coefficients = coefficients
        self._atoms = self._bounds = self._hash = None

    # -- properties ------------------------------------------------------------------------------

    @property
    def constant(self) -> int | None:
        """The number of a constant term, else None."""
        coefficients = self.coefficients
        if not coefficients:
            return 0
        return coefficients.get(()) if len(coefficients) == 1 else None

    @property
    def low(self) -> int:
        """Lower bound of the term, by interval arithmetic over the atoms' ranges."""
        return self._range()[0]

    @property
    def high(self) -> int:
        """Upper bound of the term, by interval arithmetic over the atoms' ranges."""
        return self._range()[1]

    def _range(self) -> Interval:
        if self._bounds is None:
            low = high = 0
            for monomial, coefficient in self.coefficients.items():
                first, last = product_range([(atom.low, atom.high) for atom in monomial])
                low += coefficient * (first if coefficient > 0 else last)
                high += coefficient * (last if coefficient > 0 else first)
            self._bounds = (low, high)
        return self._bounds

    def atoms(self) -> frozenset[Atom]:
        """Return all atoms, including those inside functions and coordinates."""
        if self._atoms is None:
            direct = {atom for monomial in self.coefficients for atom in monomial}
            self._atoms = frozenset().union(*(atom.within() for atom in direct))
        return self._atoms

    def affine(self) -> tuple[int, dict[Atom, int]] | None:
        """Return (constant, coefficients by atom), or None if some monomial has several factors."""
        form: dict[Atom, int] = {}
        constant = 0
        for monomial, coefficient in self.coefficients.items():
            if len(monomial) > 1:
                return None
            if monomial:
                form[monomial[0]] = coefficient
            else:
                constant = coefficient
        return constant, form

    def symbols(self, kind: Kind) -> frozenset[Symbol]:
        """Return the term's symbols of a kind, also inside functions."""
        return frozenset(a for a in self.atoms() if isinstance(a, Symbol) and a.kind == kind)

    # -- arithmetic ------------------------------------------------------------------------------

    def __add__(self, other: Term | int) -> Term:
        """Return `self + other`."""
        return plus(self, as_term(other), 1)

    def __radd__(self, other: int) -> Term:
        """Return `other + self`."""
        return plus(self, as_term(other), 1)

    def __sub__(self, other: Term | int) -> Term:
        """Return `self - other`."""
        return plus(self, as_term(other), -1)

    def __rsub__(self, other: int) -> Term:
        """Return `other - self`."""
        return plus(as_term(other), self, -1)

    def __neg__(self) -> Term:
        """Return `-self`."""
        return Term({monomial: -number for monomial, number in self.coefficients.items()})

    def __mul__(self, other: Term | int) -> Term:
        """Return `self * other`, multiplied out."""
        return _product(self, as_term(other))

    __rmul__ = __mul__

    def __eq__(self, other: object) -> bool:
        """Return whether two polynomials are equal; an int is a constant polynomial."""
        if isinstance(other, Term):
            return self is other or self.coefficients == other.coefficients
        return isinstance(other, int) and self.constant == other

    def __hash__(self) -> int:
        """Return the hash of the coefficients; a constant has its number's hash."""
        if self._hash is None:
            constant = self.constant
            items = frozenset(self.coefficients.items()) if constant is None else constant
            self._hash = hash(items)
        return self._hash

    # -- numbers ---------------------------------------------------------------------------------

    def substitute(self, replacements: Mapping[Any, Term | int] | Substitution) -> Term:
        """Return the term with atoms replaced at once; many terms should share a Substitution."""
        if not isinstance(replacements, Substitution):
            replacements = Substitution(replacements)
        return replacements(self)

    def value(self, assignment: Mapping[Any, int], resolve: Resolve | None = None) -> int:
        """Return the exact number of the term for the symbols' numbers in `assignment`.

        `resolve` is called for content and unknown symbols without a number.

        Raises:
            KeyError: a symbol has no number.
        """
        return int(Evaluation(assignment, resolve, arrays=False)(self))

    def values(self, assignment: Mapping[Any, Any], resolve: Resolve | None = None) -> Any:
        """Return the term's numbers for int64 arrays of the symbols, whose shapes broadcast.

        The numbers are computed in 64 bits: larger ideal values wrap around.

        Raises:
            KeyError: a symbol has no number.
        """
        return Evaluation(assignment, resolve, arrays=True)(self)

    def __repr__(self) -> str:
        if not self.coefficients:
            return "0"
        if len(self.atoms()) > _MOST_SHOWN:
            return f"<a sum of {len(self.coefficients)} over {len(self.atoms())} atoms>"
        parts = []
        for monomial, coefficient in self.coefficients.items():
            factors = [repr(atom) for atom in monomial]
            if coefficient != 1 or not factors:
                factors.insert(0, str(coefficient))
            parts.append("*".join(factors))
        return " + ".join(parts)


def range_of(term: Term) -> Interval:
    """Return the lower and upper bound of a term, by its atoms' own ranges."""
    return term.low, term.high


def as_term(number: Term | int) -> Term:
    """Return an int as a constant term, and a term unchanged."""
    if isinstance(number, Term):
        return number
    return Term({(): int(number)}) if number else ZERO


ZERO: Final = Term({})
ONE: Final = Term({(): 1})


def plus(left: Term, right: Term, factor: int) -> Term:
    """Return `left + factor * right`, for a factor that is not 0."""
    if not right.coefficients:
        return left
    total = dict(left.coefficients)
    for monomial, number in right.coefficients.items():
        coefficient = total.get(monomial, 0) + factor * number
        if coefficient:
            total[monomial] = coefficient
        else:
            del total[monomial]
    return Term(total)


def _order(atom: Atom) -> int:
    return atom.order


def _product(left: Term, right: Term) -> Term:
    if (number := right.constant) is not None:
        return _scaled(left, number)
    if (number := left.constant) is not None:
        return _scaled(right, number)
    total: dict[Monomial, int] = {}
    for first, left_coefficient in left.coefficients.items():
        for second, right_coefficient in right.coefficients.items():
            monomial = tuple(sorted(first + second, key=_order)) if first and second else (
                first or second
            )  # fmt: skip
            total[monomial] = total.get(monomial, 0) + left_coefficient * right_coefficient
    return Term({monomial: number for monomial, number in total.items() if number})


def _scaled(term: Term, number: int) -> Term:
    if number == 1:
        return term
    if number == 0:
        return ZERO
    return Term({m: number * coefficient for m, coefficient in term.coefficients.items()})


class Substitution:
    """A replacement of atoms by terms, for many terms and conditions; cached by atom."""

    def __init__(self, replacements: Mapping[Any, Term | int]) -> None:
        self._replaced: dict[Atom, Term | Atom] = {
            atom: as_term(replacement) for atom, replacement in replacements.items()
        }
        self._keys = frozenset(self._replaced)

    def leaves(self, atoms: frozenset[Atom]) -> bool:
        """Return whether none of the given atoms is replaced."""
        return self._keys.isdisjoint(atoms)

    def range_of(self, term: Term) -> Interval:
        """Return the bounds by which terms are simplified after the replacement."""
        return range_of(term)

    def __call__(self, term: Term) -> Term:
        """Return the term with its atoms replaced."""
        return term if self.leaves(term.atoms()) else self._substituted(term)

    def _substituted(self, term: Term) -> Term:
        total: dict[Monomial, int] = {}
        for monomial, coefficient in term.coefficients.items():
            atoms: list[Atom] = []
            factor: Term | None = None  # of replacements that are sums; none in most monomials
            for atom in monomial:
                replacement = self._of(atom)
                if isinstance(replacement, Atom):
                    atoms.append(replacement)
                elif (number := replacement.constant) is not None:
                    coefficient *= number
                else:
                    factor = replacement if factor is None else _product(factor, replacement)
            if not coefficient:
                continue
            if factor is None:
                monomial = tuple(atoms)
                total[monomial] = total.get(monomial, 0) + coefficient
                continue
            product = _product(Term({tuple(atoms): coefficient}), factor) if atoms else factor
            scale = 1 if atoms else coefficient
            for monomial, number in product.coefficients.items():
                total[monomial] = total.get(monomial, 0) + number * scale
        return Term({monomial: number for monomial, number in total.items() if number})

    def _of(self, atom: Atom) -> Term | Atom:
        replacement = self._replaced.get(atom)
        if replacement is None:
            is_unchanged = self._keys.isdisjoint(atom.within())
            replacement = self._replaced[atom] = atom if is_unchanged else atom.substituted(self)
        return replacement


class Evaluation:
    """Evaluation of terms for numbers, or arrays, of their symbols; cached by atom."""

    def __init__(
        self, assignment: Mapping[Any, Any], resolve: Resolve | None, *, arrays: bool
    ) -> None:
        self.assignment = assignment
        self.resolve = resolve
        self.arrays = arrays
        self._known: dict[Any, Any] = {}

    def __call__(self, term: Term) -> Any:
        """Return the number of a term, or an int64 array."""
        total: Any = 0
        for monomial, coefficient in term.coefficients.items():
            product: Any = wrapped(coefficient, 64) if self.arrays else coefficient
            for atom in monomial:
                product = product * self.atom(atom)
            total = total + product
        return np.asarray(total, np.int64) if self.arrays else total

    def atom(self, atom: Any) -> Any:
        """Return the number of an atom, or the truth of an opaque condition."""
        cached = self._known.get(atom)
        if cached is not None:
            return cached
        number = self.assignment.get(atom)
        if number is None:
            number = atom.compute(self)
        elif self.arrays:
            number = np.asarray(number)
        self._known[atom] = number
        return number
