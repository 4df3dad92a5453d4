"""Evaluation of trees in a finite field, at many elements of an output at once.

Two trees are compared by evaluating both with random memory contents. The `Arithmetic` says which
laws the operations of floats obey:

- "ordered": none. Each operation is a random function of its operands, so that values are equal
  only if they are computed in the same order.
- "sums": sums are taken modulo a prime, so that their order does not matter. A maximum is the root
  of a sum of powers: associative, commutative, and unchanged by -inf (`numbers.py`).
- "exact": products, too, are taken modulo the prime, so that `a * (b + c)` equals `a * b + a * c`;
  a quotient is the product with an inverse.
- "functions": exponentials obey their laws, too (`exponentials.py`).

Constants keep their values; every other operation is a random function of its operands, and every
element of memory a random number. By the lemma of Schwartz and Zippel (Schwartz 1980,
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
    basic_predicate,
    choice_by_sign,
    comparison,
    extreme_kind,
    predicate_of_choice,
)
from kvtrace.addons.invariance.exponentials import Exponentials, source_constant
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
from kvtrace.addons.invariance.trees import (
    COMMUTATIVE,
    TRIPS,
    Tree,
    bound,
    constant_of,
    function_of,
    operator_of,
)
from kvtrace.ir.floats import bits_from_float
from kvtrace.schema.errors import KvtraceError
from kvtrace.symbolic.conditions import And, AtLeast, Condition, Equal, Not, Or
from kvtrace.symbolic.functions import Choice, single
from kvtrace.symbolic.terms import Atom, Resolve, Symbol, Term

Arithmetic = Literal["ordered", "sums", "exact", "functions"]

_LEVELS: Final = 12
_AXES: Final = _LEVELS + 1
"""Axes of each array: one for each level of bound symbols, the last for the output's elements."""
_SUMS: Final = frozenset({"+", "-", "negate"})
_SMALL: Final = 8
"""Random integers in memory are below this limit, or near a number in a comparison with them."""
_SPREAD: Final = np.asarray(
    [*range(-8, 0), *(sign * ((5 << n) + n) for n in range(1, 60) for sign in (-1, 1))], np.int64
)
"""Further values of integers that are data alone: negative ones, and of all magnitudes."""
_EXPONENTIALS: Final = frozenset({"exp", "exp2", "exp10"})
"""Functions whose limit at -inf is 0, unlike that of `expm1`."""
_TRUE: Final[Numbers] = np.asarray(1, np.uint64)
_BEYOND_INT64: Final = 1 << 63
_MOST_ELEMENTS: Final = 1 << 22
_MOST_TRIPS: Final = 1 << 12
_MOST_ROUNDS: Final = 1 << 8
"""Limit on the trips of a `while`: most conditions compare random numbers, and never end it."""


class NotEvaluated(KvtraceError):
    """A tree has a node without a value in the field, or too many elements, trips or levels."""

    slug = "not-evaluated"


class FieldEvaluator:
    """Evaluator of trees at elements of an output, given by arrays of their coordinates.

    `work` is the number of values computed so far, `largest` the number for the largest node.
    """

    def __init__(
        self,
        seed: int,
        arithmetic: Arithmetic,
        integers: Sequence[int] = (),
        deadline: float = float("inf"),
        data: Collection[object] = (),
    ) -> None:
        """Choose the random memory contents and the arithmetic.

        Args:
            seed: Seed of the random numbers in memory.
            arithmetic: The laws that operations of floats obey.
            integers: Integers that memory may hold besides small ones.
            deadline: The `time.thread_time` at which an evaluation is given up.
            data: Keys of integers that are only data (`data_keys`): they may be negative, or large.

        """
        self._data = data
        self._seed = seed
        self._arithmetic: Arithmetic = arithmetic
        self._integers = np.asarray((*range(_SMALL), *integers), np.int64)
        self._deadline = deadline
        self.work = 0
        self.largest = 0

    def content(self, symbol: Symbol, at: tuple[Any, ...]) -> Any:
        """Return the random integers that a tensor holds at the given indices."""
        index_arrays = [np.asarray(index, np.int64) for index in at]
        with np.errstate(over="ignore"):
            random_numbers = mixed(self._seed, 3, _named(symbol.key), *index_arrays)
        choices = self._integers
        if symbol.key in self._data:  # half of the choices are of the spread
            spread = _SPREAD[(symbol.low <= _SPREAD) & (symbol.high >= _SPREAD)]
            choices = np.append(np.tile(choices, 1 + spread.size // choices.size), spread)
        return choices[(random_numbers % np.uint64(choices.size)).astype(np.int64)]

    def values(self, tree: Tree, coordinates: Mapping[Symbol, NDArray[np.int64]]) -> Numbers:
        """Return the values of a bound tree at elements of the output.

        Raises:
            NotEvaluated: the tree cannot be evaluated.

        """
        count = max((np.size(array) for array in coordinates.values()), default=1)
        env = {
            symbol: np.asarray(array, np.int64).reshape((1,) * _LEVELS + (-1,))
            for symbol, array in coordinates.items()
        }
        run = _Evaluation(env, self._seed, self._arithmetic, self.content, self._deadline)
        try:
            values = run.of(tree)
        finally:
            self.work += run.work
            self.largest = max(self.largest, run.largest)
        return np.broadcast_to(values, (1,) * _LEVELS + (count,)).reshape(count)


def data_keys(trees: Iterable[Tree], store_conditions: Iterable[Condition]) -> frozenset[object]:
    """Return the keys of the integers in memory that are only data.

    No address, mask, loop bound or store condition depends on these integers.
    """
    data, placing = set[object](), set[object]()
    for node in (node for tree in trees for node in tree.walk()):
        keys = data if node.what in ("integer", "condition") else placing
        keys |= {atom.key for formula in node.formulas() for atom in formula.symbols("content")}
    placing |= {atom.key for formula in store_conditions for atom in formula.symbols("content")}
    return frozenset(data - placing)


def compared_integers(trees: Iterable[Tree]) -> tuple[int, ...]:
    """Return the constants of formulas of loaded integers, and their neighbors; sorted."""
    constants = set()
    for formula in (
        node_formula for tree in trees for node in tree.walk() for node_formula in node.formulas()
    ):
        if formula.symbols("content"):
            constants |= _numbers_in(formula)
    return tuple(sorted({n + step for n in constants for step in (-1, 0, 1)} - {*range(_SMALL)}))


def _numbers_in(formula: Term | Condition) -> set[int]:
    pending: list[Term | Condition] = [formula]
    numbers: set[int] = set()
    while pending:
        part = pending.pop()
        if isinstance(part, Condition):
            pending += part.inside()
            continue
        number = part.coefficients.get((), 0)
        numbers |= {number, -number}
        for atom in {atom for monomial in part.coefficients for atom in monomial}:
            if (condition := getattr(atom, "condition", None)) is not None:
                pending += (condition, atom.then, atom.otherwise)  # type: ignore[attr-defined]
            pending += getattr(atom, "arguments", ())
    return numbers


def _total(array: Numbers, axis: int) -> Numbers:
    """Return the sum modulo the prime along an axis, which is kept with extent 1."""
    total: Numbers = array.sum(axis=axis, keepdims=True, dtype=np.uint64) % np.uint64(PRIME)
    return total


def _between(array: Numbers, axis: int, boundaries: Sequence[int]) -> list[Numbers]:
    """Return the slices of an array between consecutive indices of an axis."""
    index = (slice(None),) * axis
    return [array[(*index, slice(*pair))] for pair in itertools.pairwise(boundaries)]


def _joined(first: Numbers, second: Numbers, axis: int) -> Numbers:
    """Concatenate two arrays along an axis, after broadcasting them along the other axes."""
    shape = list(np.broadcast_shapes(_widened(first, axis, 1), _widened(second, axis, 1)))
    parts = []
    for array in (first, second):
        shape[axis] = array.shape[axis]
        parts.append(np.broadcast_to(array, shape))
    return np.concatenate(parts, axis)


def _named(text: object) -> int:
    return zlib.crc32(repr(text).encode())


def _inverse_of_power_of_two(node: Tree) -> int | None:
    """Return 1 / c in the field for a constant c that is a power of two, 2^-10 to 2^10, or None."""
    value = constant_of(node) or 0.0
    if not 2.0**-10 <= abs(value) <= 2.0**10 or frexp(abs(value))[0] != 0.5:
        return None
    kind = node.detail[0]
    return constant(kind, bits_from_float(1 / value, kind))


def _is_relaxed(attributes: Sequence[tuple[str, str]]) -> bool:
    """Return whether fast-math attributes allow the compiler to change the op's result."""
    return any(name == "fastmath" and "none" not in text for name, text in attributes)


def _is_exact(types: Sequence[str], form: Mapping[str, str]) -> bool:
    """Return whether a matrix product multiplies its f32 operands without rounding them first."""
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
        self._exponentials = Exponentials(self.of, seed) if arithmetic == "functions" else None
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
        """Return a node's values for all values of the symbols bound around the node."""
        value = self._memo.get(node)
        if value is None:
            with np.errstate(over="ignore"):
                value = self._memo[node] = self._of(node)
            self.work += value.size
            self.largest = max(self.largest, value.size)
            if value.size > _MOST_ELEMENTS:
                raise NotEvaluated("it has too many elements")
            if thread_time() > self._deadline:
                raise NotEvaluated("it takes too long to be evaluated")
        return value

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
        """Return a condition's truth, or a random function of its operands if `_is_rare`."""
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
        """Return the values of the rare conditions in a formula's choices, in a fixed order."""
        choices = (atom for atom in term.atoms() if isinstance(atom, Choice))
        rare = {atom.condition for atom in choices if _is_rare(atom.condition)}
        return [self._decided(condition) for condition in sorted(rare, key=repr)]

    # -- nodes -----------------------------------------------------------------------------------

    def _constant(self, node: Tree) -> Numbers:
        kind, bits = node.detail
        if node.parts:
            return mixed(self._seed, 4, _named(node.detail), self.of(node.parts[0]))
        number = constant(kind, bits[0])
        if self._exponentials is not None:
            decimal = source_constant(kind, bits[0])
            number = number if decimal is None else decimal
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
        operator = operator_of(node)
        choice_of_sign = None if self._ordered else choice_by_sign(node)
        if choice_of_sign is not None:
            sign_operand, branches = choice_of_sign
            sign_value = self.of(sign_operand)
            is_positive = mixed(self._seed, 19, GREATER, sign_value, np.zeros_like(sign_value))
            return chosen(is_positive, *map(self.of, branches))
        extremes = None if self._ordered else extreme_kind(node, operator)
        if extremes is not None:
            is_minimum, passes_nans = extremes
            return extreme(values[-2], values[-1], least=is_minimum, nans=passes_nans)
        if operator == "where":
            selector = comparison(node.parts[0])
            if selector is not None and not _is_relaxed(node.parts[0].detail[1]):
                predicate = predicate_of_choice(node, selector, ordered=self._ordered)
                values[0] = self._compared(predicate, *selector[1:])
            return chosen(*values)
        if (compared := comparison(node)) is not None and not _is_relaxed(attributes):
            return self._compared(*compared)
        if kind == "i1" and operator in TRUTHS:
            return TRUTHS[operator](*values)
        is_float = kind.startswith(("f", "bf"))
        if name == "arith.extf":
            return values[0]  # every number of the narrower type is one of the wider
        if name in ("arith.sitofp", "arith.uitofp") and node.parts[0].what == "integer":
            integer_value = self._integer(node.parts[0].detail[0])
            if name == "arith.uitofp":
                integer_value = integer_value & ((1 << int(node.parts[0].detail[1][1:])) - 1)
            if kind == "f32" and (np.abs(integer_value) < 1 << 24).all():
                return (integer_value % PRIME).astype(np.uint64)
        reciprocal = _inverse_of_power_of_two(node.parts[1]) if name == "arith.divf" else None
        if reciprocal is not None:
            name, values = "arith.mulf", [values[0], np.full_like(values[1], reciprocal)]
            operator = "*"
        exponential = None if self._exponentials is None else self._exponentials.value(node)
        if exponential is not None:
            return exponential
        value: Numbers | None = None
        is_exact = self._exact
        if (
            is_float
            and operator in RING
            and (is_exact or (operator in _SUMS and not self._ordered))
        ):
            value = RING[operator](*values)
        elif is_exact and function_of(node) in ("sqrt", "rsqrt"):
            value = self._root(node, is_inverse=function_of(node) == "rsqrt")
        elif name == "arith.divf" and is_exact:
            value = product_of(values[0], inverse(values[1]))
        elif name == "arith.mulf" and not _is_relaxed(attributes):
            value = self._multiplied(kind, *values)
        if operator in COMMUTATIVE and len(values) == 2:
            operands = [np.minimum(*values), np.maximum(*values)]
        else:
            operands = values
        if value is None:
            value = mixed(self._seed, 7, _named((name, attributes, kind, position)), *operands)
        if function_of(node) in _EXPONENTIALS:
            operator = "exp"
        return infinite(operator, values, value) if is_float else value

    def _root(self, node: Tree, *, is_inverse: bool) -> Numbers:
        """Return a node's square root, or the inverse.

        Equal for `1 / sqrt(x)` and `sqrt(1 / x)`.
        """
        (radicand,) = node.parts
        is_division = radicand.what == "op" and radicand.detail[0] == "arith.divf"
        if is_division and constant_of(radicand.parts[0]) == 1:
            radicand, is_inverse = radicand.parts[1], not is_inverse
        root = mixed(self._seed, 20, self.of(radicand))
        return inverse(root) if is_inverse else root

    def _compared(self, predicate: str, left: Tree, right: Tree) -> Numbers:
        """Return a float comparison's truth; equal for `a < b`, `b > a` and `!(a >= b)`."""
        basic, exchanged, is_negated = basic_predicate(int(predicate))
        values = [self.of(right), self.of(left)] if exchanged else [self.of(left), self.of(right)]
        if basic not in ORDERED:
            values = [np.minimum(*values), np.maximum(*values)]
        truth = mixed(self._seed, 19, basic, *values)
        return difference_of(_TRUE, truth) if is_negated else truth

    def _multiplied(self, kind: str, left: Numbers, right: Numbers) -> Numbers:
        """Return a commutative random function of two floats, in place of their product."""
        return mixed(self._seed, 14, _named(kind), np.minimum(left, right), np.maximum(left, right))

    def _reduction(self, node: Tree) -> Numbers:
        _, extent, level, position, *scanned = node.detail
        axis = bound(level, extent)
        count = len(node.parts) // 2
        elements = self._under({axis: _along(level, extent)}, node.parts[count:])
        arrays = [np.broadcast_to(array, _widened(array, level, extent)) for array in elements]
        if scanned:
            return self._scan(node, arrays)
        outer_combined = self._combined
        if self._ordered:  # a device may use any order, the same for equal positions
            self._combined = tuple(mixed(11, n).reshape((1,) * _AXES) for n in range(2 * count))
            combining = self._under({}, node.parts[:count])
            self._combined = outer_combined
            positions = _along(level, extent)
            totals = [_total(mixed(12, positions, array), level) for array in arrays]
            op_hash = _named((node.detail[0], extent, position))
            return mixed(self._seed, 13, op_hash, *combining, *totals)
        while extent > 1:  # combine both halves, until one element remains
            half = extent // 2
            halves = [_between(array, level, (0, half, 2 * half, extent)) for array in arrays]
            self._combined = tuple(part[number] for number in (0, 1) for part in halves)
            arrays = self._under({}, node.parts[:count])
            arrays = [np.broadcast_to(array, _widened(array, level, half)) for array in arrays]
            if extent % 2:
                arrays = [
                    _joined(array, part[2], level)
                    for array, part in zip(arrays, halves, strict=True)
                ]
            extent -= half
        self._combined = outer_combined
        return arrays[int(position)]

    def _scan(self, node: Tree, elements: list[Numbers]) -> Numbers:
        """Return a scan's result at one position: the combination of all elements up to it."""
        name, extent, level, position, reverse, last = node.detail
        count = len(node.parts) // 2
        last_position, positions = self._integer(last), _along(level, extent)
        if reverse:
            elements = [np.flip(array, level) for array in elements]
            last_position = extent - 1 - last_position
        outer_combined = self._combined
        if self._ordered:
            self._combined = tuple(mixed(11, n).reshape((1,) * _AXES) for n in range(2 * count))
            combining = self._under({}, node.parts[:count])
            self._combined = outer_combined
            totals = [
                _total(
                    np.where(positions <= last_position, mixed(15, positions, array), np.uint64(0)),
                    level,
                )
                for array in elements
            ]
            op_hash = _named((name, extent, position, bool(reverse)))
            return mixed(self._seed, 16, op_hash, *combining, *totals)
        totals = [array.take([0], level) for array in elements]
        result = totals[int(position)]
        for index in range(1, extent):
            self._combined = (*totals, *(array.take([index], level) for array in elements))
            totals = self._under({}, node.parts[:count])
            result = np.where(last_position >= index, totals[int(position)], result)
        self._combined = outer_combined
        return result

    def _matrix(self, node: Tree) -> Numbers:
        types, attributes, extent, level = node.detail
        left, right, addend = node.parts
        factors = self._under({bound(level, extent): _along(level, extent)}, (left, right))
        form = dict(attributes)
        form.pop("maxNumImpreciseAcc", None)
        if not _is_exact(types, form):  # both are rounded first, or split, as the op says
            factors = [
                mixed(self._seed, 8, _named((types[:2], form)), factor) for factor in factors
            ]
        product = product_of(*factors) if self._exact else self._multiplied(types[2], *factors)
        product = np.broadcast_to(product, _widened(product, level, extent))
        total = _total(product, level)
        if self._ordered:
            return mixed(self._seed, 9, extent, total, self.of(addend))
        return sum_of(total, self.of(addend))

    def _under(self, bindings: Mapping[Symbol, Any], nodes: tuple[Tree, ...]) -> list[Numbers]:
        """Return the values of nodes with further symbols bound."""
        outer_env, memo = self._env, self._memo
        self._env, self._memo = {**outer_env, **bindings}, {}
        try:
            return [self.of(node) for node in nodes]
        finally:
            self._env, self._memo = outer_env, memo

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
            if trips.size > 1:  # elements whose loops have ended keep their values
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
        """Return a loop's carried values after one more trip; `more` binds the trip's symbol.

        `pairs` has the initial and the following tree of each value, `envs` the symbols' values.
        """
        for index, value in enumerate(values):
            self._carried[level, index] = value
        return [
            self._under({**env, **more}, (following,))[0]
            for env, (_, following) in zip(envs, pairs, strict=True)
        ]

    def _while(self, node: Tree) -> Numbers:
        _, level, _, extents = node.detail
        running, result_tree, *rest = node.parts
        pairs, envs = _definitions(rest, level, extents)
        outer = dict(self._carried)
        values = [
            self._under(env, (first,))[0] for env, (first, _) in zip(envs, pairs, strict=True)
        ]
        result: Numbers = np.zeros((1,) * _AXES, np.uint64)
        active: NDArray[np.bool_] = np.ones((1,) * _AXES, np.bool_)
        for number in range(_MOST_ROUNDS):
            for index, value in enumerate(values):
                self._carried[level, index] = value
            trip = {bound(level, TRIPS): number}
            is_running = self._under(trip, (running,))[0]
            if np.where(active, is_running, 0).max(initial=0) > 1:
                raise NotEvaluated("it has a loop that data end")
            ends = active & (is_running == 0)
            if ends.any():
                result = np.where(ends, self._under(trip, (result_tree,))[0], result)
            active = active & (is_running != 0)
            if not active.any():
                self._carried = outer
                return result
            values = self._next(level, values, pairs, envs, trip)
        raise NotEvaluated("its loops have too many trips")

    def _reference(self, node: Tree) -> Numbers:
        level, number, terms = node.detail
        value = self._carried[level, number]
        if not terms:
            return value
        indices = [
            np.broadcast_to(self._integer(term), (1,) * _AXES)
            if np.ndim(self._integer(term)) == 0
            else self._integer(term)
            for term in terms
        ]
        selection: list[Any] = list(np.ogrid[tuple(slice(extent) for extent in value.shape)])
        for offset, index in enumerate(indices):
            axis = level + 1 + offset
            selection[axis] = index if value.shape[axis] > 1 else np.zeros_like(index)
        return np.asarray(value[tuple(np.broadcast_arrays(*selection))])


def _definitions(
    parts: Sequence[Tree], level: int, extents: Sequence[tuple[int, ...]]
) -> tuple[list[tuple[Tree, Tree]], list[dict[Symbol, Any]]]:
    """Return (initial, next) trees of each carried value, and the symbols of its elements."""
    initial_and_next = [(parts[i], parts[i + 1]) for i in range(0, len(parts), 2)]
    envs = [
        {
            bound(level + 1 + n, extent): _along(level + 1 + n, extent)
            for n, extent in enumerate(shape)
        }
        for shape in extents
    ]
    return initial_and_next, envs


def _is_beyond(formula: Term | Condition) -> bool:
    """Return whether a formula of loaded integers may overflow 64 bits in some part.

    Formulas of programs, lanes and trips alone do not overflow in any launch.
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
    """Return whether random integers may never satisfy a condition, as `a % 1000 == 7`."""
    if isinstance(condition, AtLeast | Equal):
        return _is_of_data(condition.term)
    return any(isinstance(part, Condition) and _is_rare(part) for part in condition.inside())


def _is_of_data(term: Term) -> bool:
    """Return whether a term is more than the difference of one loaded integer and an index.

    Random integers cover such differences: they are small, or from `compared_integers`.
    """
    monomials = [monomial for monomial in term.coefficients if monomial]
    of_data = [
        monomial for monomial in monomials if any(atom.term.symbols("content") for atom in monomial)
    ]
    return bool(of_data) and (
        len(of_data) == len(monomials)
        or any(
            len(monomial) > 1 or abs(term.coefficients[monomial]) != 1 or not _is_tried(monomial[0])
            for monomial in of_data
        )
    )


def _is_tried(atom: Atom | None) -> bool:
    """Return whether an atom takes all values that random memory has for a loaded integer."""
    if isinstance(atom, Choice):
        return not _is_rare(atom.condition) and all(
            _is_tried(single(branch))
            for branch in (atom.then, atom.otherwise)
            if branch.symbols("content")
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
