"""Choices between two floats: maxima, minima and selections by a comparison, in one form each."""

from __future__ import annotations

from math import isfinite
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from kvtrace.addons.invariance.trees import EXTREMES, constant_of, function_of
from kvtrace.symbolic.trees.tree import Tree, tree

_GREATER, _LESS, _UNEQUAL = "2", "4", "13"
"""Predicates `ogt`, `olt` and `une` of arith.cmpf, as its attribute numbers them."""
GREATER: Final = int(_GREATER)
_EQUAL, _ABOVE, _BELOW, _NAN = 1, 2, 4, 8
_EITHER_WAY: Final = _ABOVE | _BELOW
_OUTCOMES: Final = (0, 1, 2, 3, 4, 5, 6, 7, 9, 10, 11, 12, 13, 14, 8, 15)
"""Outcomes of a comparison for which a predicate is true, as a sum, by the predicate's number."""
ORDERED: Final = frozenset({2, 3})
"""Basic predicates whose operands may not be exchanged."""
_NAN_IN_NAN_OUT: Final = frozenset({
    "arith.addf", "arith.subf", "arith.mulf", "arith.divf", "arith.negf", "arith.extf", "math.fma",
    "arith.maximumf", "arith.minimumf",
})  # fmt: skip
_FUNCTIONS: Final = frozenset({"exp", "exp2", "log", "log2", "sqrt", "rsqrt", "tanh", "abs"})
"""Ops and functions that return NaN if an operand is NaN."""
_DEEPEST: Final = 8


def extreme_kind(node: Tree, operator: str) -> tuple[bool, bool] | None:
    """Return (is a minimum, returns NaN if an operand is NaN) for a minimum or maximum.

    None: another node. A selection by a comparison counts, too; the sign of a zero is ignored.
    """
    name = node.detail[0]
    if name in EXTREMES:
        return name.startswith("arith.min"), name.endswith("imumf")
    if operator != "where":
        return None
    condition, if_true, if_false = node.parts
    is_either = condition.what == "op" and condition.detail[0] == "arith.ori"
    comparisons = {comparison(part) for part in (condition.parts if is_either else (condition,))}
    for predicate, is_minimum in ((_GREATER, False), (_LESS, True)):
        if comparisons == {(predicate, if_true, if_false), (_UNEQUAL, if_true, if_true)}:
            return is_minimum, True
        if comparisons == {(predicate, if_true, if_false)} and if_true.what == "constant":
            return is_minimum, True  # a NaN is not compared, and so it is the other
        if comparisons == {(predicate, if_true, if_false)} and if_false.what == "constant":
            return is_minimum, False
    return None


def comparison(node: Tree) -> tuple[str, Tree, Tree] | None:
    """Return the predicate and operands of a comparison of floats; None for another node.

    `(a <= 0) | (a != a)` is one comparison, which is true for NaNs, too.
    """
    if node.what == "op" and node.detail[0] == "arith.ori":
        return _comparison_or_nan(*node.parts) or _comparison_or_nan(*node.parts[::-1])
    if node.what != "op" or node.detail[0] != "arith.cmpf":
        return None
    predicate = dict(node.detail[1])["predicate"].partition(",")[0].rpartition("=")[2]
    return (predicate, node.parts[0], node.parts[1])


def _comparison_or_nan(compared: Tree, unequal: Tree) -> tuple[str, Tree, Tree] | None:
    first, nan = (
        comparison(part) if part.what == "op" and part.detail[0] == "arith.cmpf" else None
        for part in (compared, unequal)
    )
    if first is None or nan is None or nan[0] != _UNEQUAL or nan[1] is not nan[2]:
        return None
    outcomes, left, right = _OUTCOMES[int(first[0])], *first[1:]
    other = right if left is nan[1] else left if right is nan[1] else None
    if other is None or _constant(other) is None or not 0 < outcomes < _EQUAL | _EITHER_WAY:
        return None
    return str(_OUTCOMES.index(outcomes | _NAN)), left, right


def basic_predicate(predicate: int) -> tuple[int, bool, bool]:
    """Return (basic form, operands are exchanged, is negated) of a comparison's predicate."""
    outcomes = _OUTCOMES[predicate]
    is_negated = bool(outcomes & _NAN)
    if is_negated:
        outcomes ^= _EQUAL | _EITHER_WAY | _NAN
    is_exchanged = outcomes & _EITHER_WAY == _BELOW
    outcomes = _exchanged(outcomes) if is_exchanged else outcomes
    return _OUTCOMES.index(outcomes), is_exchanged, is_negated


def outcomes_of(predicate: str, left: NDArray[np.float64], right: NDArray[np.float64]) -> Any:
    """Return the truth of a comparison for each pair of numbers; none of them is a NaN."""
    outcomes = np.select([left > right, left < right], [_ABOVE, _BELOW], _EQUAL)
    return outcomes & _OUTCOMES[int(predicate)] != 0


def _exchanged(outcomes: int) -> int:
    """Return the outcomes that a predicate is true for when its operands are exchanged."""
    is_one_way = outcomes & _EITHER_WAY in (_ABOVE, _BELOW)
    return outcomes ^ _EITHER_WAY if is_one_way else outcomes


def predicate_of_choice(node: Tree, comparison: tuple[str, Tree, Tree], *, ordered: bool) -> str:
    """Return a choice's predicate, simplified where both of its values are the same.

    Args:
        node: The choice.
        comparison: (predicate, first, second operand) of the comparison that decides it.
        ordered: Whether the sign of a zero counts.

    """
    outcomes, compared, (_, *values) = _OUTCOMES[int(comparison[0])], comparison[1:], node.parts
    if not ordered and {*compared} == {*values}:
        is_one_way = outcomes & _EITHER_WAY in (_ABOVE, _BELOW)
        return str(_OUTCOMES.index(outcomes & ~_EQUAL if is_one_way else outcomes))
    unknown_operands = [operand for operand in compared if _constant(operand) is None]
    if all(_is_nan_where(branch, operand) for branch in values for operand in unknown_operands):
        of_numbers = outcomes & ~_NAN  # one form of the two that are equal without NaNs
        is_negative = of_numbers.bit_count() == 2
        return str(_OUTCOMES.index(of_numbers | _NAN * is_negative))
    return comparison[0]


def choice_by_sign(node: Tree) -> tuple[Tree, tuple[Tree, Tree]] | None:
    """Return (x, (multiple for positive x, multiple for negative x)), or None.

    The node selects between two multiples of x by the sign of x; the larger of `x` and `0.01 * x`
    is such a choice. Both multiples are NaN if x is, and equal except for a zero's sign if x is 0.
    """
    name, parts = node.detail[0], node.parts
    if function_of(node) in ("abs", "fabs"):
        return parts[0], (parts[0], tree("op", ("arith.negf", (), node.detail[2], 0), parts))
    if name in EXTREMES:
        for x, multiple in (parts, parts[::-1]):
            factor = _factor(multiple, x)
            if factor is not None and factor > 0 and factor != 1 and multiple is not x:
                is_other_larger = factor > 1
                is_other_first = is_other_larger == name.startswith("arith.max")
                return x, (multiple, x) if is_other_first else (x, multiple)
        return None
    if len(parts) != 3 or (sign_comparison := comparison(parts[0])) is None:
        return None
    outcomes, x, zero = _OUTCOMES[int(sign_comparison[0])], *sign_comparison[1:]
    if _constant(x) == 0:
        x, zero, outcomes = zero, x, _exchanged(outcomes)
    if _constant(zero) != 0 or any(_factor(branch, x) is None for branch in parts[1:]):
        return None
    if outcomes & _EITHER_WAY not in (_ABOVE, _BELOW):
        return None
    return x, (parts[1], parts[2]) if outcomes & _ABOVE else (parts[2], parts[1])


def _factor(node: Tree, number: Tree) -> float | None:
    """Return the constant factor of a node that is a multiple of `number`, else None."""
    if node is number:
        return 1.0
    if node.what != "op" or number not in node.parts:
        return None
    is_negated = node.detail[0] == "arith.subf" and _constant(node.parts[0]) == 0
    if node.detail[0] == "arith.negf" or is_negated:
        return -1.0
    if node.detail[0] != "arith.mulf":
        return None
    left, right = node.parts
    return _constant(right if left is number else left)


def _constant(node: Tree) -> float | None:
    """Return the value of a finite constant; None for another node."""
    value = constant_of(node)
    return value if value is not None and isfinite(value) else None


def _is_nan_where(node: Tree, number: Tree, depth: int = _DEEPEST) -> bool:
    """Return whether a node is a NaN wherever `number` is one."""
    if node is number:
        return True
    if node.what != "op" or not depth:
        return False
    name = node.detail[0]
    passes = name in _NAN_IN_NAN_OUT or function_of(node) in _FUNCTIONS
    return passes and any(_is_nan_where(part, number, depth - 1) for part in node.parts)
