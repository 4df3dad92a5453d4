"""Terms are exact: what is built, simplified, bounded and substituted has the value it should."""

import gc
import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kvtrace.symbolic.bits import Wrap, bitwise, wrapped
from kvtrace.symbolic.conditions import at_least, equal, less
from kvtrace.symbolic.functions import Quotient, choice, maximum, minimum, quotient, remainder
from kvtrace.symbolic.terms import (
    Substitution,
    Symbol,
    Term,
    _interned,
    as_term,
    lane,
    program,
    scalar,
)
from tests.support.thorough import usually

SYMBOLS = [Symbol("scalar", 1000 + i, low, high) for i, (low, high) in enumerate(
    [(-6, 9), (0, 7), (1, 5), (-9, -1)]
)]  # fmt: skip


class Expression:
    """A term, and what Python says that its value is."""

    def __init__(self, term, python):
        self.term = term
        self.python = python


def symbol_expression(symbol):
    return Expression(symbol.term, lambda values: values[symbol])


def constant_expression(number):
    return Expression(as_term(number), lambda values: number)


def truncated(left, right):
    return 0 if right == 0 else math.trunc(left / right)


def rounded_down(left, right):
    return 0 if right == 0 else left // right


def binary(term_of, python_of):
    def build(left, right):
        return Expression(
            term_of(left.term, right.term),
            lambda values: python_of(left.python(values), right.python(values)),
        )

    return build


def wrapped_number(number, bits, signed):
    number %= 1 << bits
    return number - (1 << bits) if signed and number >> (bits - 1) else number


OPERATIONS = [
    binary(lambda a, b: a + b, lambda a, b: a + b),
    binary(lambda a, b: a - b, lambda a, b: a - b),
    binary(lambda a, b: a * b, lambda a, b: a * b),
    binary(quotient, truncated),
    binary(remainder, lambda a, b: a - b * truncated(a, b)),
    binary(lambda a, b: quotient(a, b, floor=True), rounded_down),
    binary(lambda a, b: remainder(a, b, floor=True), lambda a, b: a - b * rounded_down(a, b)),
    binary(minimum, min),
    binary(maximum, max),
    binary(lambda a, b: bitwise("and", a, b, 64), lambda a, b: a & b),
    binary(lambda a, b: bitwise("or", a, b, 64), lambda a, b: a | b),
    binary(lambda a, b: bitwise("xor", a, b, 64), lambda a, b: a ^ b),
    binary(lambda a, b: bitwise("shl", a, remainder(b, 5, floor=True), 64),
           lambda a, b: a << (b % 5)),
    binary(lambda a, b: bitwise("shr", a, remainder(b, 5, floor=True), 64),
           lambda a, b: a >> (b % 5)),
    binary(lambda a, b: choice(less(a, b), a + 1, b), lambda a, b: a + 1 if a < b else b),
    binary(lambda a, b: choice(equal(a, b), 3, b), lambda a, b: 3 if a == b else b),
    binary(lambda a, b: wrapped(a + b, 4, signed=True), lambda a, b: wrapped_number(a + b, 4, 1)),
    binary(lambda a, b: wrapped(a - b, 5, signed=False), lambda a, b: wrapped_number(a - b, 5, 0)),
]  # fmt: skip

leaves = st.one_of(
    st.sampled_from(SYMBOLS).map(symbol_expression),
    st.integers(-8, 8).map(constant_expression),
)
expressions = st.recursive(
    leaves,
    lambda inner: st.builds(
        lambda operation, left, right: operation(left, right),
        st.sampled_from(OPERATIONS), inner, inner,
    ),
    max_leaves=6,
)  # fmt: skip
assignments = st.fixed_dictionaries({s: st.integers(s.low, s.high) for s in SYMBOLS})


@settings(max_examples=usually(100, thorough=400), deadline=None)
@given(expressions, assignments)
def test_value_and_range_of_terms_are_correct(expression, values):
    expected = expression.python(values)
    assert expression.term.value(values) == expected
    assert expression.term.low <= expected <= expression.term.high


@settings(max_examples=usually(50, thorough=200), deadline=None)
@given(expressions, assignments, st.sets(st.sampled_from(SYMBOLS)))
def test_substituting_numbers_keeps_the_value(expression, values, some):
    left = {symbol: number for symbol, number in values.items() if symbol not in some}
    inner = expression.term.substitute({symbol: values[symbol] for symbol in some})
    assert not inner.atoms() & some
    assert inner.value(left) == expression.python(values)


@settings(max_examples=usually(37, thorough=150), deadline=None)
@given(expressions, expressions, assignments)
def test_substituted_term_equals_evaluation_of_the_inner_term_first(outer, inner, values):
    symbol = Symbol("scalar", 2000, inner.term.low, inner.term.high)
    replaced = SYMBOLS[0]
    low, high = inner.term.low, inner.term.high
    if not replaced.low <= low <= high <= replaced.high:
        return  # the range of what is replaced must hold what replaces it
    substituted = outer.term.substitute({replaced: inner.term})
    with_inner = {**values, replaced: inner.python(values), symbol: 0}
    assert substituted.value(values) == outer.python(with_inner)


@settings(max_examples=usually(37, thorough=150), deadline=None)
@given(expressions, st.lists(assignments, min_size=1, max_size=5))
def test_values_of_arrays_equal_values_of_single_numbers(expression, points):
    arrays = {s: np.array([point[s] for point in points]) for s in SYMBOLS}
    found = np.broadcast_to(expression.term.values(arrays), len(points))
    assert found.tolist() == [expression.python(point) for point in points]


def test_equal_atoms_are_one_object_and_are_garbage_collected():
    n = scalar(77)
    first, second = quotient(n, 3), quotient(n, 3)
    assert next(iter(first.coefficients))[0] is next(iter(second.coefficients))[0]
    assert hash(first) == hash(second)
    assert first == second

    gc.collect()
    before = len(_interned)
    many = [quotient(n, 1000 + i) for i in range(50)]
    assert len(_interned) == before + 50
    del many
    gc.collect()
    assert len(_interned) <= before


def test_division_of_a_block_index_simplifies():
    offset = program(0) * 128 + lane(0, 128)
    assert quotient(offset, 128) == program(0)
    assert remainder(offset, 128) == lane(0, 128)
    assert quotient(offset, 256) == quotient(program(0) * 128 + lane(0, 128), 256)
    assert isinstance(quotient(quotient(offset, 300), 2).affine()[1].popitem()[0], Quotient)


def test_wrap_simplifies_if_the_value_fits():
    n = scalar(0)
    high = wrapped(n * 4, 32, signed=True)
    (atom,) = high.affine()[1]
    assert isinstance(atom, Wrap)
    symbol = next(iter(n.atoms()))
    assert high.substitute({symbol: 1000}) == 4000
    assert high.substitute({symbol: (1 << 30) + 1}) == 4
    assert wrapped(-1, 32, signed=False) == (1 << 32) - 1


def test_low_mask_is_a_remainder_and_disjoint_or_a_sum():
    n = program(0)
    assert bitwise("and", n * 16 + lane(0, 16), 15, 32) == lane(0, 16)
    assert bitwise("and", n * 16 + lane(0, 16), -16, 32) == n * 16
    assert bitwise("or", n * 16, 5, 32) == n * 16 + 5
    assert bitwise("xor", n, -1, 32) == -n - 1


def test_coordinates_are_substituted_and_resolved():
    loaded = Symbol("content", 12, 0, 99, (lane(0, 8) * 4,)).term
    moved = loaded.substitute({next(iter(lane(0, 8).atoms())): lane(1, 8)})
    assert loaded != moved
    assert loaded != loaded.substitute({next(iter(lane(0, 8).atoms())): 3})
    table = np.arange(100) * 2
    lanes = {next(iter(lane(1, 8).atoms())): np.arange(8)}
    found = (moved + 1).values(lanes, lambda symbol, at: table[at[0]])
    assert found.tolist() == [8 * i + 1 for i in range(8)]
    with pytest.raises(KeyError):
        moved.values(lanes)


def test_affine_form_is_none_for_products_of_atoms():
    n, m = scalar(0), scalar(1)
    constant, form = (n * 3 - m + 5).affine()
    assert constant == 5
    assert sorted(form.values()) == [-1, 3]
    assert (n * m).affine() is None
    assert as_term(4).affine() == (4, {})


def test_substitution_applies_to_many_terms_and_conditions():
    n, symbol = scalar(5), next(iter(scalar(5).atoms()))
    substitution = Substitution({symbol: 9})
    assert [substitution(n * i) for i in range(3)] == [0, 9, 18]
    assert at_least(n, 10).substitute(substitution).decided is False
    assert isinstance(n.substitute(substitution), Term)


def test_atoms_are_ordered_alike_whatever_was_made_first():
    def symbol(number):
        return lambda: Symbol("unknown", ((number, 0), "order"), 0, 99).term

    def inside(number):
        return lambda: quotient(symbol(number)() + symbol(number + 1)(), as_term(7))

    def names(makers):
        terms = [make() for make in makers]
        atoms = {atom for term in terms for atom in term.atoms()}
        return [repr(atom) for atom in sorted(atoms, key=lambda atom: atom.order)]

    makers = [make(number) for make in (inside, symbol) for number in range(9)]
    forward = names(makers)
    gc.collect()

    assert names(makers[::-1]) == forward
    assert len(forward) == 19
    assert [name.startswith("Quotient") for name in forward] == [False] * 10 + [True] * 9
