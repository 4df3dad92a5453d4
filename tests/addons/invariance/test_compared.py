"""Formulas of integers in memory that are proven equal, and numbers for which others differ."""

import itertools
import math

import numpy as np
import pytest

from kvtrace.addons.invariance.compared import TreeProver, differing_integers, sampled_indices
from kvtrace.addons.invariance.field import FieldEvaluator
from kvtrace.symbolic.conditions import at_least, equal
from kvtrace.symbolic.functions import choice, quotient, remainder
from kvtrace.symbolic.terms import Symbol
from kvtrace.symbolic.trees.tree import tree

HELD = Symbol(
    "content", ("content", "a"), -(1 << 31), (1 << 31) - 1, (Symbol("lane", 0, 0, 9).term,)
)
V = HELD.term


def integer(term):
    return tree("integer", (term, "i32"))


@pytest.mark.parametrize("least", [0, 1])
def test_nested_and_joined_bounds_are_proven_equal_if_they_are(least):
    one = choice(at_least(V), choice(at_least(49, V), V, 0), 0)
    other = choice(at_least(V, least) & at_least(49, V), V, 0)
    # of 0 both make 0
    assert TreeProver().are_equal(integer(one), integer(other))
    third = choice(at_least(V, least + 1) & at_least(49, V), V, 0)
    assert TreeProver().are_equal(integer(one), integer(third)) is (least == 0)


def test_trees_are_compared_below_equal_ops():
    made = [
        tree("op", ("arith.select", (), "f32", 0), (tree("condition", (condition,)), *parts))
        for condition, parts in (
            (at_least(V, 3), (integer(V), integer(V))),
            (~at_least(2, V), (integer(V), integer(V))),
            (~at_least(3, V), (integer(V), integer(V))),
        )
    ]
    assert TreeProver().are_equal(made[0], made[1])
    assert not TreeProver().are_equal(made[0], made[2])


@pytest.mark.parametrize(("kind", "alike"), [("content", True), ("trip", False)])
def test_trips_and_programs_of_two_kernels_are_not_equal(kind, alike):
    term = Symbol(kind, ("content", "a"), 0, 100).term
    one, other = choice(at_least(term, 3), 1, 0), choice(at_least(quotient(term, 3), 1), 1, 0)
    assert integer(one) is not integer(other)
    assert TreeProver().are_equal(integer(one), integer(other)) is alike


def test_differing_integers_include_a_number_that_random_inputs_miss():
    both = equal(remainder(V, 1000), 7) & equal(quotient(V, 1000), 3)
    assert 3007 in differing_integers([integer(V)], [integer(choice(both, 0, V))])


@pytest.mark.parametrize(
    ("names", "alike"),
    [
        (("math.rsqrt",), True),
        (("arith.divf", "math.sqrt"), True),
        (("math.sqrt", "arith.divf"), True),
        (("math.sqrt",), False),
        (("arith.divf", "math.rsqrt"), False),
    ],
)
def test_inverse_of_a_root_equals_the_root_of_the_inverse(names, alike):
    def made(names):
        found = tree("element", ("x", 4 * Symbol("lane", 0, 0, 9).term, "f32", ""))
        for name in reversed(names):
            parts = (tree("constant", ("f32", (0x3F800000,))),) if name == "arith.divf" else ()
            found = tree("op", (name, (), "f32", 0), (*parts, found))
        return FieldEvaluator(0, "exact").values(found, {Symbol("lane", 0, 0, 9): np.arange(10)})

    assert (made(names) == made(("arith.divf", "math.sqrt"))).all() == alike


@pytest.mark.parametrize("extents", [(), (7,), (2, 3, 5), (4, 0), (1 << 40, 1 << 12), (3, 1 << 62)])
def test_indices_are_those_of_all_elements_or_of_a_sample(extents):
    total, most = math.prod(extents), 50
    count, indices = sampled_indices(extents, most)
    assert len(indices) == len(extents)
    if total <= most:
        assert count == total
        rows = list(zip(*(index.tolist() for index in indices), strict=True))
        assert rows == [row for row in itertools.product(*map(range, extents)) if extents]
        return
    assert count == most
    assert [int(index[0]) for index in indices] == [0] * len(extents)
    if total < 2**63:
        assert [int(index[-1]) for index in indices] == [extent - 1 for extent in extents]
