"""Formulas in trees: whether they are followed, and those of integer ops that may wrap around."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from kvtrace.ir import Op
from kvtrace.ir.integers import PREDICATES
from kvtrace.ir.model import number_of
from kvtrace.ir.ops import MODULAR, operator_of
from kvtrace.symbolic.bits import wrapped
from kvtrace.symbolic.conditions import Condition, Opaque
from kvtrace.symbolic.functions import choice
from kvtrace.symbolic.meanings.arith import RULES, comparison
from kvtrace.symbolic.terms import Term
from kvtrace.symbolic.trees.tree import Tree

Coordinates = tuple[Term, ...]
"""Indices of an element of a value, one for each axis."""

_HINTS: Final = ("tt.divisibility", "tt.contiguity", "tt.constancy", "operandSegmentSizes")


def is_followed(formula: Term | Condition) -> bool:
    """Return whether a formula has no value or truth that the symbolic walk does not follow."""
    if formula.symbols("unknown"):
        return False
    return not (isinstance(formula, Condition) and formula.opaques()) and not any(
        leaf for atom in formula.atoms() for leaf in _opaques(atom)
    )


def _opaques(atom: object) -> frozenset[Opaque]:
    condition = getattr(atom, "condition", None)
    return condition.opaques() if isinstance(condition, Condition) else frozenset()


def attributes_of(op: Op) -> tuple[tuple[str, str], ...]:
    """Return the sorted (name, text) of an op's attributes, without hints for the compiler."""
    return tuple(
        sorted(
            (name, str(attribute))
            for name, attribute in op.attributes.items()
            if name not in _HINTS
        )
    )


def folded_formula(op: Op, kind: str, parts: Sequence[Tree]) -> Term | Condition | None:
    """Return the formula of an integer op's result, wrapped to the type's width; else None.

    The symbolic walk has formulas only for results that do not overflow.
    """
    bits = int(kind[1:]) if kind in ("i1", "i8", "i16", "i32", "i64") else 0
    if not bits or any(part.what not in ("integer", "condition") for part in parts):
        return None
    result: Term | None = None
    match operator_of(op), [part.detail[0] for part in parts]:
        case "compare", [Term() as left, Term() as right]:
            predicate = number_of(op, "predicate")
            is_unsigned = PREDICATES[predicate][0] == "u"
            return None if is_unsigned else comparison(left, right, predicate, bits)
        case "where", [Condition() as condition, Term() as then, Term() as otherwise]:
            result = choice(condition, then, otherwise)
        case "+" | "-" | "*" | "<<" | ">>" as operator, [Term() as left, Term() as right]:
            is_shift, count = operator in ("<<", ">>"), right.constant
            if not is_shift or (count is not None and 0 <= count < bits):
                result = RULES[op.name](left, right, bits)
        case "cast", [Term() as left] if op.name in MODULAR:
            result = left
    return None if result is None or bits == 1 else wrapped(result, bits, signed=True)
