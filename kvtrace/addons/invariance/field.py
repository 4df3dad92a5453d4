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

from collections.abc import Collection, Mapping, Sequence
from functools import reduce
from math import frexp
from time import thread_time
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from kvtrace.addons.invariance.choices import (
    GREATER,
    ORDERED,
    basic_predicate,
    choice_by_sign,
    comparison,
    extreme_kind,
    outcomes_of,
    predicate_of_choice,
)
from kvtrace.addons.invariance.exponentials import Exponentials, unrounded_constant
from kvtrace.addons.invariance.formulas import rounded_once
from kvtrace.addons.invariance.loaded_integers import (
    SMALL,
    is_rare,
    is_sum_of_integers,
    may_exceed_int64,
    with_integers_of_all_sizes,
)
from kvtrace.addons.invariance.numbers import (
    INFINITY,
    MINUS_INFINITY,
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
from kvtrace.addons.invariance.repeated import (
    AXES,
    INTEGERS,
    LEVELS,
    Arithmetic,
    NotEvaluated,
    RepeatedValues,
    named,
)
from kvtrace.addons.invariance.trees import constant_of, function_of
from kvtrace.evaluate.shadows.errors.roundings import largest_whole
from kvtrace.ir.floats import bits_from_float
from kvtrace.symbolic.conditions import And, AtLeast, Condition, Equal, Not, Or, in_order
from kvtrace.symbolic.functions import Choice
from kvtrace.symbolic.terms import Symbol, Term
from kvtrace.symbolic.trees.tree import COMMUTATIVE, Tree, operator_of

_SUMS: Final = frozenset({"+", "-", "negate"})
_EXPONENTIALS: Final = frozenset({"exp", "exp2", "exp10"})
"""Functions whose limit at -inf is 0, unlike that of `expm1`."""
_TRUE: Final[Numbers] = np.asarray(1, np.uint64)
_MOST_ELEMENTS: Final = 1 << 22


def _inverse_of_power_of_two(node: Tree) -> int | None:
    """Return 1 / c in the field for a constant c that is a power of two, 2^-10 to 2^10, or None."""
    value = constant_of(node) or 0.0
    if not 2.0**-10 <= abs(value) <= 2.0**10 or frexp(abs(value))[0] != 0.5:
        return None
    kind = node.detail[0]
    return constant(kind, bits_from_float(1 / value, kind))


def _unsigned_shift(node: Tree) -> int | None:
    """Return the bits that an op, also a division, shifts an unsigned integer right, or None."""
    name = node.detail[0]
    if name not in ("arith.divui", "arith.shrui") or node.parts[1].what != "integer":
        return None
    number = node.parts[1].detail[0].constant or 0
    if name == "arith.shrui":
        return int(number) if number >= 0 else None
    return int(number).bit_length() - 1 if number > 0 and not number & (number - 1) else None


def _is_relaxed(attributes: Sequence[tuple[str, str]]) -> bool:
    """Return whether fast-math attributes allow the compiler to change the op's result."""
    return any(name == "fastmath" and "none" not in text for name, text in attributes)


class FieldEvaluator(RepeatedValues):
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
        super().__init__(seed, arithmetic)
        self._data = data
        self._integers = np.asarray((*range(SMALL), *integers), np.int64)
        self._deadline = deadline
        self._exponentials = Exponentials(self.of, seed) if arithmetic == "functions" else None
        self.work = self.largest = 0

    def content(self, symbol: Symbol, at: tuple[Any, ...]) -> Any:
        """Return the random integers that a tensor holds at the given indices."""
        index_arrays = [np.asarray(index, np.int64) for index in at]
        with np.errstate(over="ignore"):
            random_numbers = mixed(self._seed, 3, named(symbol.key), *index_arrays)
        choices = self._integers
        if symbol.key in self._data:
            choices = with_integers_of_all_sizes(choices, symbol)
        return choices[(random_numbers % np.uint64(choices.size)).astype(np.int64)]

    def values(self, tree: Tree, coordinates: Mapping[Symbol, NDArray[np.int64]]) -> Numbers:
        """Return the values of a bound tree at elements of the output.

        Raises:
            NotEvaluated: the tree cannot be evaluated.

        """
        count = max((np.size(array) for array in coordinates.values()), default=1)
        env = {
            symbol: np.asarray(array, np.int64).reshape((1,) * LEVELS + (-1,))
            for symbol, array in coordinates.items()
        }
        self._trips = 0
        (values,) = self._under(env, (tree,))
        return np.broadcast_to(values, (1,) * LEVELS + (count,)).reshape(count)

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
                return self._integer_number(*detail)
            case "condition":
                return self._decided(detail[0])
            case "constant":
                return self._constant(node)
            case "argument":
                return mixed(self._seed, 2, named(detail))
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
        if not is_address and may_exceed_int64(term):  # those that lead to addresses are small
            raise NotEvaluated("it has integers beyond 64 bits")
        try:
            return np.asarray(term.values(self._env, self.content), np.int64)
        except KeyError as error:
            raise NotEvaluated(f"it depends on {error}") from error

    def _truth(self, condition: Condition) -> NDArray[np.bool_]:
        if may_exceed_int64(condition):
            raise NotEvaluated("it has integers beyond 64 bits")
        try:
            return np.asarray(condition.values(self._env, self.content))
        except KeyError as error:
            raise NotEvaluated(f"it depends on {error}") from error

    def _decided(self, condition: Condition) -> Numbers:
        """Return a condition's truth, or a random function of its operands if `is_rare`."""
        if not is_rare(condition):
            return self._truth(condition).astype(np.uint64)
        if isinstance(condition, Not):
            return difference_of(_TRUE, self._decided(condition.inner))
        if isinstance(condition, And | Or):
            join = TRUTHS["&" if isinstance(condition, And) else "|"]
            return reduce(join, map(self._decided, condition.parts))
        assert isinstance(condition, AtLeast | Equal)
        for atom in in_order(condition.term.atoms()):
            if isinstance(atom, Choice) and not is_rare(atom.condition):  # such as a load's mask
                forms = (condition.substitute({atom: part}) for part in (atom.then, atom.otherwise))
                return chosen(self._decided(atom.condition), *map(self._decided, forms))
        value, inner = self._integer(condition.term), self._rare_truths(condition.term)
        if isinstance(condition, Equal):
            return mixed(self._seed, 17, np.abs(value), *inner)
        truth = mixed(self._seed, 18, np.where(value < 0, ~value, value), *inner)
        return np.where(value < 0, difference_of(_TRUE, truth), truth)

    def _rare_truths(self, term: Term) -> list[Numbers]:
        """Return the values of the rare conditions in a formula's choices, in a fixed order."""
        choices = (atom for atom in term.atoms() if isinstance(atom, Choice))
        rare = {atom.condition for atom in choices if is_rare(atom.condition)}
        return [self._decided(condition) for condition in sorted(rare, key=repr)]

    def _integer_number(self, term: Term, kind: str) -> Numbers:
        """Return a formula as a number, such that sums of formulas are sums in the field.

        A loaded integer, and what is no sum of such, is a random number of its value and type: one
        of another width wraps elsewhere. 0 is 0.
        """
        value, inner = self._integer(term), self._rare_truths(term)
        if kind == "i1" and not inner:
            return (value & 1).astype(np.uint64)
        if inner or not is_sum_of_integers(term):
            number = mixed(self._seed, 1, named(kind), value, *inner)
            return number if inner else np.where(value == 0, np.uint64(0), number)
        total: Numbers = np.asarray(term.coefficients.get((), 0) % PRIME, np.uint64)
        for atom, factor in (
            (monomial[0], n) for monomial, n in term.coefficients.items() if monomial
        ):
            if isinstance(atom, Choice):
                then, otherwise = (
                    self._integer_number(part, kind) for part in (atom.then, atom.otherwise)
                )
                number = np.where(self._truth(atom.condition), then, otherwise)
            else:
                value = self._integer(atom.term)
                random = mixed(self._seed, 1, named(kind), value)
                number = np.where(value == 0, np.uint64(0), random)
            total = sum_of(total, product_of(np.uint64(factor % PRIME), number))
        return total

    # -- nodes -----------------------------------------------------------------------------------

    def _constant(self, node: Tree) -> Numbers:
        kind, bits = node.detail
        if node.parts:
            return mixed(self._seed, 4, named(node.detail), self.of(node.parts[0]))
        exact = constant if self._exponentials is None else unrounded_constant
        number = exact(kind, bits[0])
        if number is not None:
            return np.full((1,) * AXES, number, np.uint64)
        return mixed(self._seed, 4, named((kind, bits))).reshape((1,) * AXES)

    def _element(self, node: Tree) -> Numbers:
        name, offset, kind, padding = node.detail
        parts = list(node.parts)
        if offset is None:
            address: Any = self.of(parts.pop(0))
        else:
            address = self._integer(offset, is_address=True)
        value = mixed(self._seed, 5, named((name, kind)), address)
        if not parts:
            return value
        other = self.of(parts[1]) if len(parts) > 1 else mixed(self._seed, 6, named(padding))
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
        if (narrow := rounded_once(node)) is not None:
            return self.of(narrow)
        if name in ("arith.sitofp", "arith.uitofp") and node.parts[0].what == "integer":
            integer_value = self._integer(node.parts[0].detail[0])
            if name == "arith.uitofp":
                integer_value = integer_value & ((1 << int(node.parts[0].detail[1][1:])) - 1)
            if is_float and (np.abs(integer_value) <= largest_whole(kind)).all():
                return (integer_value % PRIME).astype(np.uint64)
            values = [mixed(self._seed, 1, integer_value)]
        if (bits := _unsigned_shift(node)) is not None:
            return mixed(self._seed, 24, named(kind), bits, values[0])
        multiplier = _inverse_of_power_of_two(node.parts[1]) if name == "arith.divf" else None
        if self._ordered and name == "arith.addf" and node.parts[0] is node.parts[1]:
            multiplier = 2
        if multiplier is not None:
            name, values = "arith.mulf", [values[0], np.full_like(values[1], multiplier)]
            operator = "*"
        exponential = None if self._exponentials is None else self._exponentials.value(node)
        if exponential is not None:
            return exponential
        value: Numbers | None = None
        is_exact = self._exact
        is_ring = is_exact or (operator in _SUMS and not self._ordered)
        if operator in RING and (is_ring if is_float else kind in INTEGERS):
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
            value = mixed(self._seed, 7, named((name, attributes, kind, position)), *operands)
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
        truth = difference_of(_TRUE, truth) if is_negated else truth
        known = self._known(left), self._known(right)  # of lanes that masks pad
        is_unknown = np.isnan(known[0]) | np.isnan(known[1])
        return np.where(is_unknown, truth, outcomes_of(predicate, *known))

    def _known(self, node: Tree) -> NDArray[np.float64]:
        """Return the numbers of lanes that are 0 or infinite, or of a constant; NaN for others."""
        value, number = self.of(node), constant_of(node)
        if number is not None:
            return np.full(value.shape, number)
        infinities = [value == INFINITY, value == MINUS_INFINITY]
        return np.select([value == 0, *infinities], [0.0, np.inf, -np.inf], np.nan)
