"""Effects of a kernel that depend on the order of its programs."""

import pytest

from kvtrace.addons.check.diff_results import unordered
from kvtrace.ir import parse

KERNEL = """
"builtin.module"() ({{
  "tt.func"() <{{function_type = (!tt.ptr<{type}>, !tt.ptr<{type}>) -> (), sym_name = "k"}}> ({{
  ^bb0(%x: !tt.ptr<{type}>, %out: !tt.ptr<{type}>):
    %value = "tt.load"(%x) : (!tt.ptr<{type}>) -> {type}
    {op}
    "tt.return"() : () -> ()
  }}) : () -> ()
}}) : () -> ()
"""
UPDATE = (
    '%old = "tt.atomic_rmw"(%out, %value) <{{atomic_rmw_op = {number} : i32, sem = 4 : i32, '
    "scope = 1 : i32}}> : (!tt.ptr<{type}>, {type}) -> {type}"
)
STORE = '\n"tt.store"(%x, %old) : (!tt.ptr<{type}>, {type}) -> ()'
SWAP = (
    '%old = "tt.atomic_cas"(%out, %value, %value) <{{sem = 4 : i32, scope = 1 : i32}}> : '
    "(!tt.ptr<{type}>, {type}, {type}) -> {type}"
)


def reasons(op, type_, number=0):
    text = op.format(type=type_, number=number)
    return [text.partition(" ")[2] for text in unordered(parse(KERNEL.format(type=type_, op=text)))]


@pytest.mark.parametrize(
    ("type_", "number", "says"),
    [
        ("f32", 5, "adds floats"),
        ("f16", 5, "adds floats"),
        ("f32", 6, None),  # the largest is the same in any order
        ("i32", 4, None),
        ("i32", 1, None),
        ("i32", 10, "keeps the value of the program that writes last"),
    ],
)
def test_order_dependent_updates_are_named_with_their_reason(type_, number, says):
    why = reasons(UPDATE, type_, number)
    assert len(why) == (says is not None)
    assert all(says in reason for reason in why)


def test_an_update_is_order_dependent_if_its_result_is_used():
    (why,) = reasons(UPDATE + STORE, "i32", 4)
    assert "which the kernel uses" in why


def test_compare_and_swap_is_order_dependent():
    (why,) = reasons(SWAP, "i32")
    assert "compares and swaps" in why


def test_loads_and_stores_are_not_order_dependent():
    assert reasons('"tt.store"(%out, %value) : (!tt.ptr<{type}>, {type}) -> ()', "f32") == []
