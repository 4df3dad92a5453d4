"""Which integers of a kernel decide something."""

import pytest

from kvtrace.ir import parse
from kvtrace.verdicts.deciding import stored_index

KERNEL = """
"builtin.module"() ({{
  "tt.func"() <{{function_type = ({block}, i32) -> (), sym_name = "k"}}> ({{
  ^bb0(%d: {block}, %column: i32):
    %rows = "tt.make_range"() <{{start = 0 : i32, end = 32 : i32}}> : () -> tensor<32xi32>
    %data = "arith.constant"() <{{value = dense<1> : tensor<32x32xi32>}}> : () -> tensor<32x32xi32>
    %wide = "tt.expand_dims"(%rows) <{{axis = 0 : i32}}> : (tensor<32xi32>) -> tensor<1x32xi32>
    %places = "tt.broadcast"(%wide) : (tensor<1x32xi32>) -> tensor<32x32xi32>
    "tt.descriptor_scatter"(%d, %rows, %column, {value})
        : ({block}, tensor<32xi32>, i32, tensor<32x32xi32>) -> ()
    "tt.return"() : () -> ()
  }}) : () -> ()
}}) : () -> ()
"""


@pytest.mark.parametrize(("value", "is_index"), [("%places", True), ("%data", False)])
def test_rows_that_are_scattered_may_be_indices(value, is_index):
    module = parse(KERNEL.format(value=value, block="!tt.tensordesc<tensor<1x32xi32>>"))
    (scatter,) = [op for op in module.ops if op.name == "tt.descriptor_scatter"]

    stored = stored_index(scatter, module)
    assert (stored is scatter.operand("value")) == is_index
