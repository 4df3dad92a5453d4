"""Checks of formulas, and other forms of them and of floats' rounded sums."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from math import isfinite
from typing import Final

from kvtrace.addons.invariance.trees import Tree, constant_of, tree
from kvtrace.ir import Op
from kvtrace.ir.floats import bits_from_float, float_from_bits
from kvtrace.ir.model import number_of
from kvtrace.ir.ops import MODULAR, SIGNED, operator_of
from kvtrace.symbolic.bits import wrapped
from kvtrace.symbolic.conditions import Condition, Opaque, at_least, equal, less
from kvtrace.symbolic.functions import Quotient, choice, quotient, remainder
from kvtrace.symbolic.terms import Term

Coordinates = tuple[Term, ...]
"""Indices of an element of a value, one for each axis."""

_ROUNDED_ONCE: Final = frozenset(
    {("f16", "f32"), ("bf16", "f32"), ("f32", "f64"), ("f16", "f64"), ("bf16", "f64")}
)
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


def with_remainders(term: Term) -> Term:
    """Return a term with remainders in place of subtracted quotients: `x - n * (x // n)`."""
    for atom in term.atoms():
        coefficient = term.coefficients.get((atom,), 0)
        if not isinstance(atom, Quotient) or not coefficient:
            continue
        dividend, divisor = atom.arguments
        constant_divisor = divisor.constant
        if constant_divisor is None or constant_divisor < 1 or coefficient % constant_divisor:
            continue
        factor = -coefficient // constant_divisor
        varying = ((monomial, step) for monomial, step in dividend.coefficients.items() if monomial)
        if all(term.coefficients.get(monomial) == factor * step for monomial, step in varying):
            remainder_term = remainder(dividend, divisor, floor=atom.floor)
            term = term - dividend * factor - atom.term * coefficient + remainder_term * factor
    return term


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
            compare = _COMPARING.get(number_of(op, "predicate"))
            return None if compare is None else compare(left, right)
        case "where", [Condition() as condition, Term() as then, Term() as otherwise]:
            result = choice(condition, then, otherwise)
        case "+", [Term() as left, Term() as right]:
            result = left + right
        case "-", [Term() as left, Term() as right]:
            result = left - right
        case "*", [Term() as left, Term() as right]:
            result = left * right
        case "<<", [Term() as left, Term(constant=int(count))] if 0 <= count < bits:
            result = left * (1 << count)
        case ">>", [Term() as left, Term(constant=int(count))] if 0 <= count < bits:
            whole = left if op.name in SIGNED else wrapped(left, bits, signed=False)
            result = quotient(whole, 1 << count, floor=True)
        case "cast", [Term() as left] if op.name in MODULAR:
            result = left
    return None if result is None or bits == 1 else wrapped(result, bits, signed=True)


#: Comparisons of signed integers, by their number in arith.cmpi.
_COMPARING: Final[Mapping[int, Callable[[Term, Term], Condition]]] = {
    0: equal, 1: lambda left, right: ~equal(left, right), 2: less,
    3: lambda left, right: at_least(right, left), 4: lambda left, right: less(right, left),
    5: at_least,
}  # fmt: skip


def rounded_once(node: Tree) -> Tree | None:
    """Return a sum or product in a wider type that is then narrowed as the op in the narrow type.

    Both give the same bits if the wider type has 2 * p + 2 bits for p of the narrower one: rounding
    twice is then rounding once (Figueroa 1995, doi:10.1145/221332.221334). Products of bfloat16 may
    fall below the normal numbers of float32.
    """
    if node.what != "op" or node.detail[0] != "arith.truncf" or node.parts[0].what != "op":
        return None
    narrow, (wide,) = node.detail[2], node.parts
    name, attributes, kind, position = wide.detail
    is_exact = (narrow, kind) in _ROUNDED_ONCE and (
        name != "arith.mulf" or kind != "f32" or narrow != "bf16"
    )
    if name not in ("arith.addf", "arith.subf", "arith.mulf") or not is_exact:
        return None
    operands = [_before_widening(part, narrow) for part in wide.parts]
    if any(operand is None for operand in operands):
        return None
    return tree("op", (name, attributes, narrow, position), tuple(filter(None, operands)))


def _before_widening(node: Tree, narrow: str) -> Tree | None:
    """Return the node of a narrow type that a node widens, or None; a constant may be of both."""
    if node.what == "op" and node.detail[0] == "arith.extf":
        return node.parts[0] if _float_type(node.parts[0]) == narrow else None
    value = constant_of(node)
    if value is None or not isfinite(value):
        return None
    bits = bits_from_float(value, narrow)
    is_exact = float_from_bits(bits, narrow) == value
    return tree("constant", (narrow, (bits,))) if is_exact else None


def _float_type(node: Tree) -> str | None:
    """Return the type of a node that is a constant, an element or an op's result, else None."""
    if node.what in ("op", "element"):
        return str(node.detail[2])
    return str(node.detail[0]) if node.what == "constant" else None
