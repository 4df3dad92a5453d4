"""Trees in a finite field: sums have no order there, and all else has."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from kvtrace.addons.invariance.field import FieldEvaluator
from kvtrace.addons.invariance.repeated import Arithmetic
from kvtrace.addons.invariance.trees import Tree, tree
from kvtrace.symbolic.terms import as_term


def field_value(node: Tree, arithmetic: Arithmetic = "sums") -> int:
    (found,) = FieldEvaluator(1, arithmetic).values(node, {})
    return int(found)


def element(number: int) -> Tree:
    return tree("element", ("x", as_term(4 * number), "f32", ""))


def added(left: Tree, right: Tree) -> Tree:
    return tree("op", ("arith.addf", (), "f32", 0), (left, right))


def summed(numbers: list[int], order: list[int]) -> Tree:
    """Add elements pair by pair, which pair next is chosen by `order`."""
    nodes = [element(number) for number in numbers]
    for choice in order:
        if len(nodes) == 1:
            break
        left = nodes.pop(choice % len(nodes))
        right = nodes.pop(choice % len(nodes))
        nodes.append(added(left, right))
    while len(nodes) > 1:
        nodes.append(added(nodes.pop(), nodes.pop()))
    return nodes[0]


@given(st.lists(st.integers(0, 99), min_size=2, max_size=8), st.lists(st.integers(0, 9)))
def test_reordered_sums_have_equal_values(numbers: list[int], order: list[int]) -> None:
    plain = summed(numbers, [])
    other = summed(list(np.random.default_rng(len(order)).permutation(numbers)), order)

    assert field_value(plain) == field_value(other)


@given(st.lists(st.integers(0, 99), min_size=2, max_size=8), st.integers(0, 99))
def test_sum_with_another_summand_has_another_value(numbers: list[int], extra: int) -> None:
    more = field_value(summed([*numbers, extra], []))

    assert field_value(summed(numbers, [])) != more


def test_ordered_arithmetic_distinguishes_orders_of_sums() -> None:
    one = added(added(element(1), element(2)), element(3))
    other = added(element(1), added(element(2), element(3)))
    exchanged = added(element(3), added(element(2), element(1)))

    assert field_value(one, "ordered") != field_value(other, "ordered")
    assert field_value(one, "ordered") == field_value(exchanged, "ordered")
