"""Meanings of integer and Boolean ops of `arith` and `math`, and of comparisons of floats."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Final

from kvtrace.ir.attributes import DenseAttribute, IntegerAttribute
from kvtrace.ir.integers import PREDICATES
from kvtrace.ir.model import number_of
from kvtrace.ir.ops import may_overflow
from kvtrace.ir.types import integer_bits, shape_of
from kvtrace.symbolic.bits import BitOperator, bitwise, wrapped
from kvtrace.symbolic.conditions import FALSE, TRUE, Condition, at_least, equal, less
from kvtrace.symbolic.functions import choice, maximum, minimum, quotient, remainder
from kvtrace.symbolic.meanings import meaning
from kvtrace.symbolic.meanings.merging import chosen
from kvtrace.symbolic.terms import Term, as_term, signed_range

if TYPE_CHECKING:
    from kvtrace.ir import Op
    from kvtrace.symbolic.walk import Walk

_Binary = Callable[[Term, Term, int], Term]
_Logic = Callable[[Condition, Condition], Condition]

_MOST_PRODUCTS = 1024

RULES: Final[dict[str, _Binary]] = {}
"""Functions of two integers and their width, by op: the ideal result, or that of unsigned ones."""


def unsigned(term: Term, bits: int) -> Term:
    """Return the unsigned integer with the same bits as an integer of a width."""
    return wrapped(term, bits, signed=False)


def with_unsigned_contents(term: Term, bits: int) -> Term:
    """Return a term whose integers of `bits` bits from memory are read as unsigned.

    Not so those that only select which element is read.
    """
    contents = term.symbols("content")
    selecting = {inner for each in contents for at in each.at for inner in at.symbols("content")}
    low = signed_range(bits)[0]
    read = (each for each in contents if each.low == low and each not in selecting)
    return term.substitute({each: unsigned(each.term, bits) for each in read})


def signed(term: Term, bits: int) -> Term:
    """Return the signed integer with the same bits as an integer of a width."""
    return wrapped(term, bits, signed=True)


@meaning("arith.constant", "llvm.mlir.constant")
def constant(walk: Walk, op: Op) -> None:
    """Set a constant's number; a tensor of different numbers is unknown in their range."""
    value, attribute = op.results[0], op.attributes.get("value")
    bits = integer_bits(value.type)
    if bits is None:
        return
    if isinstance(attribute, IntegerAttribute):
        numbers = [attribute.value]
    elif isinstance(attribute, DenseAttribute):
        numbers = [int(number) for number in attribute.values]
    else:
        walk.set_unknown(value, op, "a constant that is not read")
        return
    if len(set(numbers)) > 1:
        bounds = (min(numbers), max(numbers))
        walk.set_unknown(value, op, "a constant tensor of different numbers", bounds)
    elif bits == 1:
        walk.set(value, TRUE if numbers[0] else FALSE)
    else:
        walk.set(value, as_term(numbers[0]))


@meaning("ub.poison", "llvm.mlir.undef", "llvm.mlir.poison")
def undefined(walk: Walk, op: Op) -> None:
    """Set the result to an unknown value."""
    walk.set_unknown(op.results[0], op, "an undefined value")


# -- sums, products, divisions ------------------------------------------------------------------


def _register(
    name: str, rule: _Binary, logic: _Logic | None = None, *, divides: bool = False
) -> None:
    """Register the meaning of an op on two integers, and on two Booleans by `logic`."""

    def binary(walk: Walk, op: Op) -> None:
        first, second = op.operand("left"), op.operand("right")
        bits = integer_bits(op.results[0].type)
        if bits == 1:
            if logic is None:
                walk.set_unknown(op.results[0], op, f"{op.name} of Booleans")
                return
            flags = walk.condition(first), walk.condition(second)
            walk.set(op.results[0], logic(*flags))
            if may_overflow(op) and _both(*flags) is not FALSE:
                count = choice(flags[0], 1, 0) + choice(flags[1], 1, 0)
                walk.note(op, count, 1, shape_of(op.results[0].type))
            return
        left, right = walk.term(first), walk.term(second)
        if divides:
            walk.record_division(op, right)
        if len(left.coefficients) * len(right.coefficients) > _MOST_PRODUCTS:
            walk.set_wrapped_unknown(op.results[0], op, "arithmetic of too many terms")
            return
        walk.set_computed(op, rule(left, right, bits or 64))

    RULES[name] = rule
    meaning(name)(binary)


def _differ(left: Condition, right: Condition) -> Condition:
    return (left & ~right) | (~left & right)


def _both(left: Condition, right: Condition) -> Condition:
    return left & right


def _either(left: Condition, right: Condition) -> Condition:
    return left | right


def _unsigned_rule(rule: Callable[[Term, Term], Term]) -> _Binary:
    def of_unsigned(left: Term, right: Term, bits: int) -> Term:
        return signed(rule(unsigned(left, bits), unsigned(right, bits)), bits)

    return of_unsigned


def _shift_right_unsigned(left: Term, right: Term, bits: int) -> Term:
    return signed(bitwise("shr", unsigned(left, bits), right, bits), bits)


_register("arith.addi", lambda a, b, _: a + b, _differ)
_register("arith.subi", lambda a, b, _: a - b, _differ)
_register("arith.muli", lambda a, b, _: a * b, _both)
_register("arith.divsi", lambda a, b, _: quotient(a, b), divides=True)
_register("arith.remsi", lambda a, b, _: remainder(a, b), divides=True)
_register("arith.divui", _unsigned_rule(quotient), divides=True)
_register("arith.remui", _unsigned_rule(remainder), divides=True)
_register("arith.minsi", lambda a, b, _: minimum(a, b), _either)
_register("arith.maxsi", lambda a, b, _: maximum(a, b), _both)
_register("arith.minui", _unsigned_rule(minimum), _both)
_register("arith.maxui", _unsigned_rule(maximum), _either)
_register("arith.shrui", _shift_right_unsigned)


def _register_bits(name: str, operator: BitOperator, logic: _Logic | None = None) -> None:
    _register(name, lambda a, b, bits: bitwise(operator, a, b, bits), logic)


_register_bits("arith.andi", "and", _both)
_register_bits("arith.ori", "or", _either)
_register_bits("arith.xori", "xor", _differ)
_register_bits("arith.shli", "shl")
_register_bits("arith.shrsi", "shr")


@meaning("math.absi")
def absolute(walk: Walk, op: Op) -> None:
    """Set the result to the absolute value."""
    number = walk.term(op.operand("source"))
    walk.set_computed(op, maximum(number, -number))


@meaning("tt.mulhiui")
def high_product(walk: Walk, op: Op) -> None:
    """Set the result to the upper half of an unsigned product."""
    bits = integer_bits(op.results[0].type) or 64
    left, right = (unsigned(walk.term(value), bits) for value in op.operands)
    walk.set_computed(op, signed(quotient(left * right, 1 << bits), bits))


# -- comparisons and choices --------------------------------------------------------------------

_ORDERS: dict[str, Callable[[Term, Term], Condition]] = {
    "eq": equal,
    "ne": lambda a, b: ~equal(a, b),
    "lt": less,
    "le": lambda a, b: at_least(b, a),
    "gt": lambda a, b: less(b, a),
    "ge": at_least,
}


_EQUAL, _DIFFERENT = PREDICATES.index("eq"), PREDICATES.index("ne")


def comparison(left: Term, right: Term, predicate: int, bits: int) -> Condition | None:
    """Return the condition for an MLIR predicate on integers, or None for an unknown predicate."""
    if not 0 <= predicate < len(PREDICATES):
        return None
    name = PREDICATES[predicate]
    if name[0] == "u":
        left, right = unsigned(left, bits), unsigned(right, bits)
    return _ORDERS[name[-2:]](left, right)


@meaning("arith.cmpi")
def compare(walk: Walk, op: Op) -> None:
    """Set the result to the condition of an integer comparison."""
    predicate = number_of(op, "predicate", -1)
    first, second = op.operands
    bits = integer_bits(first.type) or 64
    if bits == 1:
        walk.set(op.results[0], _compared_booleans(walk, op, predicate))
        return
    compared = comparison(walk.term(first), walk.term(second), predicate, bits)
    if compared is None:
        walk.set_unknown(op.results[0], op, "a comparison that is not read")
    else:
        walk.set(op.results[0], compared)


def _compared_booleans(walk: Walk, op: Op, predicate: int) -> Condition:
    left, right = (walk.condition(value) for value in op.operands)
    if predicate in (_EQUAL, _DIFFERENT):
        differ = _differ(left, right)
        return differ if predicate == _DIFFERENT else ~differ
    return walk.opaque(op, "an order of Booleans", shape_of(op.results[0].type))


@meaning("arith.cmpf")
def compare_floats(walk: Walk, op: Op) -> None:
    """Set the result to an opaque condition."""
    walk.set_unknown(op.results[0], op, "compares floats")


@meaning("arith.select")
def select(walk: Walk, op: Op) -> None:
    """Set the result to the choice between two values."""
    condition = walk.condition(op.operand("condition"))
    first, second = (walk.formula(op.operand(name)) for name in ("first", "second"))
    walk.set(op.results[0], chosen(walk, op, op.results[0], condition, first, second))
