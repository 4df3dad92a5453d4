"""Trees in a finite field: sums have no order there, and all else has."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from kvtrace.addons.invariance.field import FieldEvaluator
from kvtrace.addons.invariance.repeated import Arithmetic
from kvtrace.symbolic.terms import Symbol, as_term
from kvtrace.symbolic.trees.tree import Tree, tree


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


def integer(number: int, kind: str = "i32") -> Tree:
    content = Symbol("content", "n", -(1 << 31), (1 << 31) - 1, (as_term(number),))
    return tree("integer", (content.term, kind))


def operation(name: str, kind: str, *parts: Tree) -> Tree:
    return tree("op", (name, (), kind, 0), parts)


def test_sums_of_integers_have_no_order_but_a_width() -> None:
    one, two, three = map(integer, (1, 2, 3))
    left = operation("arith.addi", "i32", operation("arith.addi", "i32", one, two), three)
    right = operation("arith.addi", "i32", one, operation("arith.addi", "i32", two, three))
    wide = operation("arith.addi", "i64", integer(1, "i64"), integer(2, "i64"))
    narrow = operation("arith.addi", "i32", one, two)
    floats = [operation("arith.sitofp", "f32", total) for total in (narrow, wide)]

    assert field_value(left, "ordered") == field_value(right, "ordered")
    assert field_value(floats[0], "ordered") != field_value(floats[1], "ordered")


def test_sum_in_a_wider_type_is_rounded_once() -> None:
    def rounded(name: str, narrow: str, wide: str) -> tuple[Tree, Tree]:
        values = [tree("element", (side, as_term(0), narrow, "")) for side in ("x", "y")]
        extended = (operation("arith.extf", wide, value) for value in values)
        inside = operation(name, wide, *extended)
        return operation("arith.truncf", narrow, inside), operation(name, narrow, *values)

    def are_equal(pair: tuple[Tree, Tree]) -> bool:
        first, second = (field_value(node, "ordered") for node in pair)
        return first == second

    assert are_equal(rounded("arith.addf", "f16", "f32"))
    assert are_equal(rounded("arith.mulf", "f32", "f64"))
    assert not are_equal(rounded("arith.mulf", "bf16", "f32"))
    assert not are_equal(rounded("arith.divf", "f16", "f32"))


def test_twice_a_number_is_its_sum_with_itself() -> None:
    two = tree("constant", ("f32", (0x40000000,)))
    product = tree("op", ("arith.mulf", (), "f32", 0), (element(1), two))

    assert field_value(added(element(1), element(1)), "ordered") == field_value(product, "ordered")
    assert field_value(added(element(1), element(2)), "ordered") != field_value(product, "ordered")
