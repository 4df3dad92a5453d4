"""Other forms of formulas, and of floats' rounded sums."""

from __future__ import annotations

from math import isfinite
from typing import Final

from kvtrace.addons.invariance.trees import constant_of
from kvtrace.ir.floats import bits_from_float, float_from_bits
from kvtrace.symbolic.conditions import in_order
from kvtrace.symbolic.functions import Quotient, remainder
from kvtrace.symbolic.terms import Term
from kvtrace.symbolic.trees.tree import Tree, tree

_ROUNDED_ONCE: Final = frozenset(
    {("f16", "f32"), ("bf16", "f32"), ("f32", "f64"), ("f16", "f64"), ("bf16", "f64")}
)


def with_remainders(term: Term) -> Term:
    """Return a term with remainders in place of subtracted quotients: `x - n * (x // n)`."""
    for atom in in_order(term.atoms()):
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
