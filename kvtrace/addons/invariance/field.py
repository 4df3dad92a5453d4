"""Trees evaluated in a finite field, at many elements of an output at once.

What the operations of floats become is one of four `Arithmetic`s. "ordered": random functions of
their operands, so that only what is computed in the same order is equal. "sums": sums are sums
modulo a prime, which have no order; a maximum is the root of a sum of powers, associative and
commutative too, of which -inf makes no difference (`numbers.py`). "exact": products are products
there as well, which are distributive, and a quotient the product with an inverse. "functions":
exponentials, logarithms and roots obey their laws, too (`functions.py`). Constants are the
numbers that they are; every other operation is a random function of its operands, and every element
of memory a random number. By the lemma of Schwartz and Zippel (Schwartz 1980,
doi:10.1145/322217.322225), two different polynomials of degree d agree at a random point with a
probability of at most d / P.
"""

from __future__ import annotations

import itertools
import zlib
from collections.abc import Collection, Iterable, Mapping, Sequence
from functools import reduce
from math import frexp
from time import thread_time
from typing import Any, Final, Literal

import numpy as np
from numpy.typing import NDArray

from kvtrace.addons.invariance.choices import (
    GREATER,
    ORDERED,
    as_written_once,
    choice_by_sign,
    comparison,
    extreme_of,
    predicate_of_choice,
)
from kvtrace.addons.invariance.functions import Functions, written_constant
from kvtrace.addons.invariance.numbers import (
    PRIME,
    RING,
    TRUTHS,
    Numbers,
    chosen,
    constant,
    difference_of,
    extreme,
    infinite,
    inverse,
    mixed,
    product_of,
    sum_of,
)
from kvtrace.addons.invariance.trees import COMMUTATIVE, TRIPS, Tree, bound, constant_of
from kvtrace.ir.floats import bits_from_float
from kvtrace.ir.ops import KINDS
from kvtrace.schema.errors import KvtraceError
from kvtrace.symbolic.conditions import And, AtLeast, Condition, Equal, Not, Or
from kvtrace.symbolic.functions import Choice, single
from kvtrace.symbolic.terms import Atom, Resolve, Symbol, Term

Arithmetic = Literal["ordered", "sums", "exact", "functions"]

_LEVELS: Final = 12
_AXES: Final = _LEVELS + 1
"""Of arrays: one for each level of bound symbols, and the last for elements of the output."""
_SUMS: Final = frozenset({"+", "-", "negate"})
_SMALL: Final = 8
"""Integers in memory are below this number, or near a number that formulas compare them with."""
_SPREAD: Final = np.asarray(
    [*range(-8, 0), *(sign * ((5 << n) + n) for n in range(1, 60) for sign in (-1, 1))], np.int64
)
"""Further values of integers that are data alone: negative ones, and of all magnitudes."""
_EXPONENTIAL: Final = "'__nv_exp"
"""How the symbols of libdevice's exponentials of both bases begin; `expm1` has no limit of 0."""
_ROOTS: Final = frozenset({"math.sqrt", "math.rsqrt", "tt.precise_sqrt"})
_LIBRARY_ROOTS: Final = ("__nv_sqrt", "__nv_rsqrt", "__ocml_sqrt", "__ocml_rsqrt")
_TRUE: Final[Numbers] = np.asarray(1, np.uint64)
_BEYOND_INT64: Final = 1 << 63
_MOST_ELEMENTS: Final = 1 << 22
_MOST_TRIPS: Final = 1 << 12
_MOST_ROUNDS: Final = 1 << 8
"""Trips of a `while`: most conditions are of random numbers here, and never end."""


class NotEvaluated(KvtraceError):
    """A tree has nodes that have no value in a field, or more than may be computed."""

    slug = "not-evaluated"


class Points:
    """Evaluates trees at elements of an output, given by arrays of their coordinates.

    `work` adds up how many numbers were computed, `largest` is the most of one node. `has_roots`:
    roots of the field were taken; of elements that are `undefined` a number has none.
    """

    def __init__(
        self,
        seed: int,
        arithmetic: Arithmetic,
        integers: Sequence[int] = (),
        deadline: float = float("inf"),
        data: Collection[object] = (),
    ) -> None:
        """Say what is in memory, and how it is computed with.

        Args:
            seed: Which random numbers are in memory.
            arithmetic: What the operations of floats become.
            integers: Integers that memory may hold besides small ones.
            deadline: When an evaluation is given up, by `time.thread_time`.
            data: Keys of integers that are data alone: they may be negative, or large.

        """
        self._data = data
        self._seed = seed
        self._arithmetic: Arithmetic = arithmetic
        self._integers = np.asarray((*range(_SMALL), *integers), np.int64)
        self._deadline = deadline
        self.work = 0
        self.largest = 0
        self.has_roots = False
        self.undefined: NDArray[np.bool_] = np.zeros(1, np.bool_)

    def content(self, symbol: Symbol, at: tuple[Any, ...]) -> Any:
        """Return the integers that memory holds at places."""
        places = [np.asarray(each, np.int64) for each in at]
        with np.errstate(over="ignore"):
            picked = mixed(self._seed, 3, _named(symbol.key), *places)
        choices = self._integers
        if symbol.key in self._data:  # half of the choices are of the spread
            spread = _SPREAD[(symbol.low <= _SPREAD) & (symbol.high >= _SPREAD)]
            choices = np.append(np.tile(choices, 1 + spread.size // choices.size), spread)
        return choices[(picked % np.uint64(choices.size)).astype(np.int64)]

    def values(self, tree: Tree, coordinates: Mapping[Symbol, NDArray[np.int64]]) -> Numbers:
        """Return the values of a tree, whose numbers are bound, at elements of the output.

        Raises:
            NotEvaluated: they cannot be computed.

        """
        count = max((np.size(each) for each in coordinates.values()), default=1)
        env = {
            symbol: np.asarray(each, np.int64).reshape((1,) * _LEVELS + (-1,))
            for symbol, each in coordinates.items()
        }
        run = _Evaluation(env, self._seed, self._arithmetic, self.content, self._deadline)
        try:
            found = run.of(tree)
        finally:
            self.work += run.work
            self.largest = max(self.largest, run.largest)
        if run.functions is not None and run.functions.undefined is not None:
            self.has_roots = True
            self.undefined = self.undefined | run.functions.undefined
        return np.broadcast_to(found, (1,) * _LEVELS + (count,)).reshape(count)


def data_of(trees: Iterable[Tree], placing: Iterable[Condition]) -> frozenset[object]:
    """Return the keys of integers in memory that are data alone.

    No address, mask, loop bound or condition of a store (`placing`) depends on them.
    """
    values, others = set[object](), set[object]()
    for node in (node for tree in trees for node in tree.walk()):
        keys = values if node.what in ("integer", "condition") else others
        keys |= {atom.key for each in node.formulas() for atom in each.symbols("content")}
    others |= {atom.key for each in placing for atom in each.symbols("content")}
    return frozenset(values - others)


def integers_of(trees: Iterable[Tree]) -> tuple[int, ...]:
    """Return integers that formulas compare loaded ones with, and those beside them."""
    found = set()
    for formula in (each for tree in trees for node in tree.walk() for each in node.formulas()):
        if formula.symbols("content"):
            found |= _numbers_in(formula)
    return tuple(sorted({n + apart for n in found for apart in (-1, 0, 1)} - {*range(_SMALL)}))


def _numbers_in(formula: Term | Condition) -> set[int]:
    waiting: list[Term | Condition] = [formula]
    found: set[int] = set()
    while waiting:
        each = waiting.pop()
        if isinstance(each, Condition):
            waiting += each.inside()
            continue
        number = each.coefficients.get((), 0)
        found |= {number, -number}
        for atom in {atom for monomial in each.coefficients for atom in monomial}:
            if (condition := getattr(atom, "condition", None)) is not None:
                waiting += (condition, atom.then, atom.otherwise)  # type: ignore[attr-defined]
            waiting += getattr(atom, "arguments", ())
    return found


def _total(array: Numbers, axis: int) -> Numbers:
    """Return the sum along an axis, which stays."""
    found: Numbers = array.sum(axis=axis, keepdims=True, dtype=np.uint64) % np.uint64(PRIME)
    return found


def _between(array: Numbers, axis: int, places: Sequence[int]) -> list[Numbers]:
    """Return the parts of an array between places of an axis."""
    index = (slice(None),) * axis
    return [array[(*index, slice(*pair))] for pair in itertools.pairwise(places)]


def _joined(first: Numbers, second: Numbers, axis: int) -> Numbers:
    """Return two arrays behind each other, of the larger extents along other axes."""
    shape = list(np.broadcast_shapes(_widened(first, axis, 1), _widened(second, axis, 1)))
    parts = []
    for each in (first, second):
        shape[axis] = each.shape[axis]
        parts.append(np.broadcast_to(each, shape))
    return np.concatenate(parts, axis)


def _named(text: object) -> int:
    return zlib.crc32(repr(text).encode())


def _root_of(name: str, attributes: Sequence[tuple[str, str]]) -> str:
    """Return the name of a root, of an op or of a library's function; empty: it is none."""
    if name in _ROOTS:
        return name
    texts = (text for _, text in attributes)
    return next((root for text in texts for root in _LIBRARY_ROOTS if root in text), "")


def _is_one(node: Tree) -> bool:
    if node.what != "constant" or node.parts:
        return False
    kind, bits = node.detail
    return constant(kind, bits[0]) == 1


def _inverse_of_power_of_two(node: Tree) -> int | None:
    """Return the inverse of a constant that is a power of two, where that is exact; else None."""
    value = constant_of(node) or 0.0
    if not 2.0**-10 <= abs(value) <= 2.0**10 or frexp(abs(value))[0] != 0.5:
        return None
    kind = node.detail[0]
    return constant(kind, bits_from_float(1 / value, kind))


def _is_relaxed(attributes: Sequence[tuple[str, str]]) -> bool:
    """Whether an op lets the compiler change what it computes."""
    return any(name == "fastmath" and "none" not in text for name, text in attributes)


def _is_exact(types: Sequence[str], form: Mapping[str, str]) -> bool:
    """Whether a product of matrices multiplies what it is given, and not as rounded first."""
    return set(types) == {"f32"} and "value=2," in form.get("inputPrecision", "")  # IEEE


class _Evaluation:
    def __init__(
        self,
        env: dict[Symbol, Any],
        seed: int,
        arithmetic: Arithmetic,
        content: Resolve,
        deadline: float,
    ) -> None:
        self._arithmetic = arithmetic
        self._ordered = arithmetic == "ordered"
        self._exact = arithmetic in ("exact", "functions")
        self.functions = Functions(self.of, seed) if arithmetic == "functions" else None
        self._content = content
        self._deadline = deadline
        self._env = env
        self._seed = seed
        self.work = self.largest = 0
        self._memo: dict[Tree, Numbers] = {}
        self._carried: dict[tuple[int, int], Numbers] = {}
        self._combined: tuple[Numbers, ...] = ()
        self._trips = 0

    def of(self, node: Tree) -> Numbers:
        """Return a node's value for all numbers of the symbols that are bound around it."""
        found = self._memo.get(node)
        if found is None:
            with np.errstate(over="ignore"):
                found = self._memo[node] = self._of(node)
            self.work += found.size
            self.largest = max(self.largest, found.size)
            if found.size > _MOST_ELEMENTS:
                raise NotEvaluated("it has too many elements")
            if thread_time() > self._deadline:
                raise NotEvaluated("it takes too long to be evaluated")
        return found

    def _of(self, node: Tree) -> Numbers:
        detail = node.detail
        match node.what:
            case "integer":
                value = self._integer(detail[0])
                inner = self._rare_truths(detail[0])
                if detail[1] == "i1" and not inner:
                    return (value & 1).astype(np.uint64)
                return mixed(self._seed, 1, value, *inner)
            case "condition":
                return self._decided(detail[0])
            case "constant":
                return self._constant(node)
            case "argument":
                return mixed(self._seed, 2, _named(detail))
            case "element":
                return self._element(node)
            case "op":
                return self._op(node)
            case "combined":
                return self._combined[int(detail[0])]
            case "reduction":
                return self._reduction(node)
            case "product":
                return self._matrix(node)
            case "loop":
                return self._loop(node)
            case "carried":
                return self._reference(node)
        raise NotEvaluated(f"it has {node.detail[0]}")

    # -- formulas --------------------------------------------------------------------------------

    def _integer(self, term: Term, *, is_address: bool = False) -> NDArray[np.int64]:
        if not is_address and _is_beyond(term):  # those that lead to addresses are small
            raise NotEvaluated("it has integers beyond 64 bits")
        try:
            return np.asarray(term.values(self._env, self._content), np.int64)
        except KeyError as error:
            raise NotEvaluated(f"it depends on {error}") from error

    def _truth(self, condition: Condition) -> NDArray[np.bool_]:
        if _is_beyond(condition):
            raise NotEvaluated("it has integers beyond 64 bits")
        try:
            return np.asarray(condition.values(self._env, self._content))
        except KeyError as error:
            raise NotEvaluated(f"it depends on {error}") from error

    def _decided(self, condition: Condition) -> Numbers:
        """Return a condition's truth; of a rare one, a random function of its operands."""
        if not _is_rare(condition):
            return self._truth(condition).astype(np.uint64)
        if isinstance(condition, Not):
            return difference_of(_TRUE, self._decided(condition.inner))
        if isinstance(condition, And | Or):
            join = TRUTHS["&" if isinstance(condition, And) else "|"]
            return reduce(join, map(self._decided, condition.parts))
        assert isinstance(condition, AtLeast | Equal)
        value, inner = self._integer(condition.term), self._rare_truths(condition.term)
        if isinstance(condition, Equal):
            return mixed(self._seed, 17, np.abs(value), *inner)
        truth = mixed(self._seed, 18, np.where(value < 0, ~value, value), *inner)
        return np.where(value < 0, difference_of(_TRUE, truth), truth)

    def _rare_truths(self, term: Term) -> list[Numbers]:
        """Return the truths of rare conditions that choose between integers in a formula."""
        choices = (atom for atom in term.atoms() if isinstance(atom, Choice))
        rare = {atom.condition for atom in choices if _is_rare(atom.condition)}
        return [self._decided(each) for each in sorted(rare, key=repr)]

    # -- nodes -----------------------------------------------------------------------------------

    def _constant(self, node: Tree) -> Numbers:
        kind, bits = node.detail
        if node.parts:
            return mixed(self._seed, 4, _named(node.detail), self.of(node.parts[0]))
        number = constant(kind, bits[0])
        if self.functions is not None and (known := written_constant(kind, bits[0])) is not None:
            number = known
        if number is not None:
            return np.full((1,) * _AXES, number, np.uint64)
        return mixed(self._seed, 4, _named((kind, bits))).reshape((1,) * _AXES)

    def _element(self, node: Tree) -> Numbers:
        name, offset, kind, padding = node.detail
        parts = list(node.parts)
        if offset is None:
            address: Any = self.of(parts.pop(0))
        else:
            address = self._integer(offset, is_address=True)
        value = mixed(self._seed, 5, _named((name, kind)), address)
        if not parts:
            return value
        other = self.of(parts[1]) if len(parts) > 1 else mixed(self._seed, 6, _named(padding))
        return chosen(self.of(parts[0]), value, other)

    def _op(self, node: Tree) -> Numbers:
        name, attributes, kind, position = node.detail
        values = [self.of(part) for part in node.parts]
        row = KINDS.get(name)
        operator = "where" if name == "where" else "" if row is None else row.operator
        signed = None if self._ordered else choice_by_sign(node)
        if signed is not None:
            of, ways = signed
            decides = self.of(of)
            is_positive = mixed(self._seed, 19, GREATER, decides, np.zeros_like(decides))
            return chosen(is_positive, *map(self.of, ways))
        extremes = None if self._ordered else extreme_of(node, operator)
        if extremes is not None:
            least, nans = extremes
            return extreme(values[-2], values[-1], least=least, nans=nans)
        if operator == "where":
            by = comparison(node.parts[0])
            if by is not None and not _is_relaxed(node.parts[0].detail[1]):
                predicate = predicate_of_choice(node, by, ordered=self._ordered)
                values[0] = self._compared(predicate, *by[1:])
            return chosen(*values)
        if (compared := comparison(node)) is not None and not _is_relaxed(attributes):
            return self._compared(*compared)
        if kind == "i1" and operator in TRUTHS:
            return TRUTHS[operator](*values)
        floats = kind.startswith(("f", "bf"))
        if name == "arith.extf":
            return values[0]  # every number of the narrower type is one of the wider
        if name in ("arith.sitofp", "arith.uitofp") and node.parts[0].what == "integer":
            exact = self._integer(node.parts[0].detail[0])
            if name == "arith.uitofp":
                exact = exact & ((1 << int(node.parts[0].detail[1][1:])) - 1)
            if kind == "f32" and (np.abs(exact) < 1 << 24).all():
                return (exact % PRIME).astype(np.uint64)
        inverted = _inverse_of_power_of_two(node.parts[1]) if name == "arith.divf" else None
        if inverted is not None:
            name, values = "arith.mulf", [values[0], np.full_like(values[1], inverted)]
            operator = "*"
        known = None if self.functions is None else self.functions.value(node)
        if known is not None:
            return known
        value: Numbers | None = None
        is_exact = self._exact
        if floats and operator in RING and (is_exact or (operator in _SUMS and not self._ordered)):
            value = RING[operator](*values)
        elif is_exact and (root := _root_of(name, attributes)):
            value = self._root(node, is_inverse="rsqrt" in root)
        elif name == "arith.divf" and is_exact:
            value = product_of(values[0], inverse(values[1]))
        elif name == "arith.mulf" and not _is_relaxed(attributes):
            value = self._multiplied(kind, *values)
        if operator in COMMUTATIVE and len(values) == 2:
            values_now = [np.minimum(*values), np.maximum(*values)]
        else:
            values_now = values
        if value is None:
            value = mixed(self._seed, 7, _named((name, attributes, kind, position)), *values_now)
        if operator == "extern" and any(_EXPONENTIAL in text for _, text in attributes):
            operator = "exp"
        return infinite(operator, values, value) if floats else value

    def _root(self, node: Tree, *, is_inverse: bool) -> Numbers:
        """Return a square root or its inverse: `1 / sqrt(x)` and `sqrt(1 / x)` are the same."""
        (radicand,) = node.parts
        is_division = radicand.what == "op" and radicand.detail[0] == "arith.divf"
        if is_division and _is_one(radicand.parts[0]):
            radicand, is_inverse = radicand.parts[1], not is_inverse
        root = mixed(self._seed, 20, self.of(radicand))
        return inverse(root) if is_inverse else root

    def _compared(self, predicate: str, one: Tree, other: Tree) -> Numbers:
        """Return the truth of a comparison of floats, the same in whichever way it is written."""
        number, is_turned, is_negated = as_written_once(int(predicate))
        values = [self.of(other), self.of(one)] if is_turned else [self.of(one), self.of(other)]
        if number not in ORDERED:
            values = [np.minimum(*values), np.maximum(*values)]
        truth = mixed(self._seed, 19, number, *values)
        return difference_of(_TRUE, truth) if is_negated else truth

    def _multiplied(self, kind: str, left: Numbers, right: Numbers) -> Numbers:
        """Multiply two floats where products are random functions."""
        return mixed(self._seed, 14, _named(kind), np.minimum(left, right), np.maximum(left, right))

    def _reduction(self, node: Tree) -> Numbers:
        _, extent, level, position, *scanned = node.detail
        axis = bound(level, extent)
        count = len(node.parts) // 2
        elements = self._under({axis: _along(level, extent)}, node.parts[count:])
        given = [np.broadcast_to(each, _widened(each, level, extent)) for each in elements]
        if scanned:
            return self._scan(node, given)
        before = self._combined
        if self._ordered:  # a device may take any order, the same for what is in the same places
            self._combined = tuple(mixed(11, n).reshape((1,) * _AXES) for n in range(2 * count))
            combining = self._under({}, node.parts[:count])
            self._combined = before
            places = _along(level, extent)
            totals = [_total(mixed(12, places, each), level) for each in given]
            what = _named((node.detail[0], extent, position))
            return mixed(self._seed, 13, what, *combining, *totals)
        while extent > 1:  # by halves, as many elements at once as there are
            half = extent // 2
            parts = [_between(each, level, (0, half, 2 * half, extent)) for each in given]
            self._combined = tuple(part[number] for number in (0, 1) for part in parts)
            given = self._under({}, node.parts[:count])
            given = [np.broadcast_to(each, _widened(each, level, half)) for each in given]
            if extent % 2:
                given = [
                    _joined(each, part[2], level) for each, part in zip(given, parts, strict=True)
                ]
            extent -= half
        self._combined = before
        return given[int(position)]

    def _scan(self, node: Tree, given: list[Numbers]) -> Numbers:
        """Return what a scan makes of the elements up to one of them."""
        name, extent, level, position, reverse, last = node.detail
        count = len(node.parts) // 2
        until, places = self._integer(last), _along(level, extent)
        if reverse:
            given = [np.flip(each, level) for each in given]
            until = extent - 1 - until
        before = self._combined
        if self._ordered:
            self._combined = tuple(mixed(11, n).reshape((1,) * _AXES) for n in range(2 * count))
            combining = self._under({}, node.parts[:count])
            self._combined = before
            totals = [
                _total(np.where(places <= until, mixed(15, places, each), np.uint64(0)), level)
                for each in given
            ]
            what = _named((name, extent, position, bool(reverse)))
            return mixed(self._seed, 16, what, *combining, *totals)
        totals = [each.take([0], level) for each in given]
        found = totals[int(position)]
        for place in range(1, extent):
            self._combined = (*totals, *(each.take([place], level) for each in given))
            totals = self._under({}, node.parts[:count])
            found = np.where(until >= place, totals[int(position)], found)
        self._combined = before
        return found

    def _matrix(self, node: Tree) -> Numbers:
        types, attributes, extent, level = node.detail
        left, right, added = node.parts
        factors = self._under({bound(level, extent): _along(level, extent)}, (left, right))
        form = dict(attributes)
        form.pop("maxNumImpreciseAcc", None)
        if not _is_exact(types, form):  # both are rounded first, or split, as the op says
            factors = [mixed(self._seed, 8, _named((types[:2], form)), each) for each in factors]
        product = product_of(*factors) if self._exact else self._multiplied(types[2], *factors)
        product = np.broadcast_to(product, _widened(product, level, extent))
        total = _total(product, level)
        if self._ordered:
            return mixed(self._seed, 9, extent, total, self.of(added))
        return sum_of(total, self.of(added))

    def _under(self, more: Mapping[Symbol, Any], nodes: tuple[Tree, ...]) -> list[Numbers]:
        """Evaluate nodes where more symbols have numbers."""
        before, memo = self._env, self._memo
        self._env, self._memo = {**before, **more}, {}
        try:
            return [self.of(node) for node in nodes]
        finally:
            self._env, self._memo = before, memo

    # -- loops -----------------------------------------------------------------------------------

    def _loop(self, node: Tree) -> Numbers:
        count, level, is_while, extents = node.detail
        if is_while:
            return self._while(node)
        trips = self._integer(count)
        total = max(int(trips.max(initial=0)), 0)
        self._trips += total
        if self._trips > _MOST_TRIPS:
            raise NotEvaluated("its loops have too many trips")
        pairs, envs = _definitions(node.parts, level, extents)
        trip = bound(level, TRIPS)
        outer = dict(self._carried)
        values = [
            self._under(env, (first,))[0] for env, (first, _) in zip(envs, pairs, strict=True)
        ]
        for number in range(total):
            following = self._next(level, values, pairs, envs, {trip: number})
            if trips.size > 1:  # elements whose loops are over keep what they have
                going_on = number < trips
                pairs_of = zip(following, values, strict=True)
                following = [np.where(going_on, new, old) for new, old in pairs_of]
            values = following
        self._carried = outer
        return values[0]

    def _next(
        self,
        level: int,
        values: list[Numbers],
        pairs: Sequence[tuple[Tree, Tree]],
        envs: Sequence[dict[Symbol, Any]],
        more: Mapping[Symbol, Any],
    ) -> list[Numbers]:
        """Return what a loop carries after another trip."""
        for place, value in enumerate(values):
            self._carried[level, place] = value
        return [
            self._under({**env, **more}, (following,))[0]
            for env, (_, following) in zip(envs, pairs, strict=True)
        ]

    def _while(self, node: Tree) -> Numbers:
        _, level, _, extents = node.detail
        goes_on, left, *rest = node.parts
        pairs, envs = _definitions(rest, level, extents)
        outer = dict(self._carried)
        values = [
            self._under(env, (first,))[0] for env, (first, _) in zip(envs, pairs, strict=True)
        ]
        found: Numbers = np.zeros((1,) * _AXES, np.uint64)
        active: NDArray[np.bool_] = np.ones((1,) * _AXES, np.bool_)
        for number in range(_MOST_ROUNDS):
            for place, value in enumerate(values):
                self._carried[level, place] = value
            trip = {bound(level, TRIPS): number}
            truth = self._under(trip, (goes_on,))[0]
            if np.where(active, truth, 0).max(initial=0) > 1:
                raise NotEvaluated("it has a loop that data end")
            ends = active & (truth == 0)
            if ends.any():
                found = np.where(ends, self._under(trip, (left,))[0], found)
            active = active & (truth != 0)
            if not active.any():
                self._carried = outer
                return found
            values = self._next(level, values, pairs, envs, trip)
        raise NotEvaluated("its loops have too many trips")

    def _reference(self, node: Tree) -> Numbers:
        level, number, given = node.detail
        value = self._carried[level, number]
        if not given:
            return value
        indices = [
            np.broadcast_to(self._integer(term), (1,) * _AXES)
            if np.ndim(self._integer(term)) == 0
            else self._integer(term)
            for term in given
        ]
        picked: list[Any] = list(np.ogrid[tuple(slice(extent) for extent in value.shape)])
        for offset, index in enumerate(indices):
            axis = level + 1 + offset
            picked[axis] = index if value.shape[axis] > 1 else np.zeros_like(index)
        return np.asarray(value[tuple(np.broadcast_arrays(*picked))])


def _definitions(
    parts: Sequence[Tree], level: int, extents: Sequence[tuple[int, ...]]
) -> tuple[list[tuple[Tree, Tree]], list[dict[Symbol, Any]]]:
    """Return first and next of what a loop carries, and the symbols of their elements."""
    pairs = [(parts[i], parts[i + 1]) for i in range(0, len(parts), 2)]
    envs = [
        {
            bound(level + 1 + n, extent): _along(level + 1 + n, extent)
            for n, extent in enumerate(own)
        }
        for own in extents
    ]
    return pairs, envs


def _is_beyond(formula: Term | Condition) -> bool:
    """Tell whether a formula of integers in memory may have a part that 64 bits do not hold.

    What counts programs, lanes and trips is far from that in any launch.
    """
    if not formula.symbols("content"):
        return False
    parts = [part for atom in formula.atoms() for part in getattr(atom, "arguments", ())]
    terms = [formula] if isinstance(formula, Term) else []
    return any(
        not (part.low >= -_BEYOND_INT64 and part.high < _BEYOND_INT64) and part.symbols("content")
        for part in (*terms, *parts)
    )


def _is_rare(condition: Condition) -> bool:
    """Tell whether a condition on integers in memory may have one truth for all tried numbers."""
    if isinstance(condition, AtLeast | Equal):
        return _is_of_data(condition.term)
    return any(isinstance(part, Condition) and _is_rare(part) for part in condition.inside())


def _is_of_data(term: Term) -> bool:
    """Tell whether a formula is more than the distance of an integer in memory from a place.

    Such distances are tried: small integers and those of `integers_of` are near places.
    """
    monomials = [each for each in term.coefficients if each]
    of_data = [each for each in monomials if any(atom.term.symbols("content") for atom in each)]
    return bool(of_data) and (
        len(of_data) == len(monomials)
        or any(
            len(each) > 1 or abs(term.coefficients[each]) != 1 or not _is_tried(each[0])
            for each in of_data
        )
    )


def _is_tried(atom: Atom | None) -> bool:
    """Tell whether an atom takes all values that are tried for integers in memory."""
    if isinstance(atom, Choice):
        return not _is_rare(atom.condition) and all(
            _is_tried(single(way)) for way in (atom.then, atom.otherwise) if way.symbols("content")
        )
    return isinstance(atom, Symbol)


def _along(level: int, extent: int) -> NDArray[np.int64]:
    if level >= _LEVELS:
        raise NotEvaluated("it is nested too deeply")
    shape = [1] * _AXES
    shape[level] = extent
    return np.arange(extent, dtype=np.int64).reshape(shape)


def _widened(array: Numbers, level: int, extent: int) -> tuple[int, ...]:
    shape = [1] * (_AXES - array.ndim) + list(array.shape)
    shape[level] = extent
    return tuple(shape)
