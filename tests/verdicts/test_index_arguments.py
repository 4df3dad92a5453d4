"""Which tensors' integers matter to a kernel."""

import pytest

from kvtrace.ir import parse
from kvtrace.verdicts.index_arguments import IndexArguments, index_arguments

KERNEL = """
"builtin.module"() ({{
  "tt.func"() <{{function_type = (!tt.ptr<i32>, !tt.ptr<i32>) -> (), sym_name = "k"}}> ({{
  ^bb0(%x: !tt.ptr<i32>, %out: !tt.ptr<i32>):
    %n = "arith.constant"() <{{value = 7 : i32}}> : () -> i32
    %loaded = "tt.load"(%x) : (!tt.ptr<i32>) -> i32
    %made = "{op}"(%n, %loaded) : (i32, i32) -> i32
    "tt.store"(%out, %made) : (!tt.ptr<i32>, i32) -> ()
    "tt.return"() : () -> ()
  }}) : () -> ()
}}) : () -> ()
"""


@pytest.mark.parametrize(
    "op", ["arith.divsi", "arith.remui", "arith.floordivsi", "arith.ceildivui"]
)
def test_divisors_matter(op):
    found = index_arguments(parse(KERNEL.format(op=op)))
    assert found == IndexArguments(frozenset({0}), frozenset({1}), frozenset({0}))


def test_what_is_only_stored_does_not():
    found = index_arguments(parse(KERNEL.format(op="arith.addi")))
    assert found == IndexArguments(frozenset(), frozenset({1}), frozenset({0}))


def test_nothing_is_known_of_ops_that_are_not():
    found = index_arguments(parse(KERNEL.format(op="new.op")))
    assert found == IndexArguments(None, None)
