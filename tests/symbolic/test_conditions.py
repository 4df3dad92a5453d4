"""Conditions mean what they are made of, decide what ranges decide, and take numbers."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kvtrace.symbolic.conditions import (
    FALSE,
    TRUE,
    Opaque,
    at_least,
    conjunction,
    disjunction,
    equal,
    less,
)
from kvtrace.symbolic.functions import choice
from kvtrace.symbolic.terms import Symbol, lane, program, scalar
from tests.support.thorough import usually

A, B = Symbol("scalar", 3000, -4, 4), Symbol("scalar", 3001, 0, 6)


def leaf(kind, factor, shift):
    term = A.term * factor + B.term + shift
    if kind == "at least":
        return at_least(term), lambda a, b: a * factor + b + shift >= 0
    return equal(term), lambda a, b: a * factor + b + shift == 0


leaves = st.builds(
    leaf, st.sampled_from(["at least", "equal"]), st.integers(-3, 3), st.integers(-8, 8)
)


def joined(kind, left, right):
    if kind == "and":
        return left[0] & right[0], lambda a, b: left[1](a, b) and right[1](a, b)
    if kind == "or":
        return left[0] | right[0], lambda a, b: left[1](a, b) or right[1](a, b)
    return ~left[0], lambda a, b: not left[1](a, b)


predicates = st.recursive(
    leaves, lambda x: st.builds(joined, st.sampled_from(["and", "or", "not"]), x, x), max_leaves=6
)


@settings(max_examples=usually(75, thorough=300), deadline=None)
@given(predicates, st.integers(-4, 4), st.integers(0, 6))
def test_truth_of_conditions_equals_pythons(predicate, a, b):
    condition, python = predicate
    expected = python(a, b)
    assert condition.value({A: a, B: b}) == expected
    assert condition.substitute({A: a, B: b}) is (TRUE if expected else FALSE)
    assert condition.substitute({A: a}).value({B: b}) == expected
    assert (~~condition).value({A: a, B: b}) == expected
    if condition.decided is not None:
        assert condition.decided == expected


@settings(max_examples=usually(25, thorough=100), deadline=None)
@given(predicates)
def test_truths_of_arrays_equal_truths_of_single_numbers(predicate):
    condition, python = predicate
    a, b = np.arange(-4, 5)[:, None], np.arange(7)[None, :]
    found = np.broadcast_to(condition.values({A: a, B: b}), (9, 7))
    assert found.tolist() == [[python(i, j) for j in range(7)] for i in range(-4, 5)]


def test_conditions_are_decided_by_ranges_of_symbols():
    assert less(lane(0, 16), 16) is TRUE
    assert at_least(program(0), 0) is TRUE
    assert equal(lane(0, 16), 16) is FALSE
    assert equal(scalar(0), scalar(0)) is TRUE


def test_conjunctions_are_flat_and_contradictions_are_false():
    first, second, third = (at_least(scalar(i), 3) for i in range(3))
    both = conjunction((first & second, third & first))
    assert both.conjuncts() == (first, second, third)
    assert TRUE.conjuncts() == ()
    assert conjunction(()) is TRUE
    assert disjunction(()) is FALSE
    assert first & ~first is FALSE
    assert (equal(scalar(0)) | ~equal(scalar(0))) is TRUE
    assert conjunction((first, FALSE)) is FALSE


def test_opaque_conditions_have_the_truth_of_the_assignment():
    opaque = Opaque(7, "compares floats", (lane(0, 4),))
    condition = opaque & at_least(scalar(0), 3)
    assert condition.opaques() == {opaque}
    symbol = next(iter(scalar(0).atoms()))
    assert condition.value({opaque: True, symbol: 3})
    with pytest.raises(KeyError):
        condition.value({symbol: 3})
    moved = opaque.substitute({next(iter(lane(0, 4).atoms())): lane(1, 4)})
    assert moved != opaque


def test_atoms_of_a_condition_include_those_inside_choices():
    n, m = scalar(0), scalar(1)
    term = choice(at_least(n, 1), m, 0)
    symbol_n, symbol_m = next(iter(n.atoms())), next(iter(m.atoms()))
    assert term.atoms() >= {symbol_n, symbol_m}
    assert term.substitute({symbol_n: 5}) == m
    assert term.substitute({symbol_n: 0}) == 0
