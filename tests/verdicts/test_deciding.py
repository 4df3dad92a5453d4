"""Integers of a kernel that decide something."""

import pytest
import torch
import triton
import triton.language as tl

from kvtrace.ir import parse
from kvtrace.verdicts.deciding import stored_index
from tests.kernels.launching import compile_for

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


@triton.jit
def left_by_a_loop(x, y, n, KIND: tl.constexpr):
    left = 0
    for k in range(n):
        if KIND == "data":
            left += tl.load(x + k)
        elif KIND == "trips":
            left += 1
        else:
            left += tl.load(x + k) * k
    tl.store(y, left)


@triton.jit
def masked(x, y, n, KIND: tl.constexpr):
    lanes = tl.arange(0, 16)
    here = lanes < n
    if KIND == "chosen data":
        value = tl.where(here, tl.load(x + lanes), 0)
    elif KIND == "data times the mask":
        value = tl.load(x + lanes) * here.to(tl.int32)
    elif KIND == "chosen lanes":
        value = tl.where(tl.load(x + lanes) > 0, lanes, -1)
    else:
        value = tl.cumsum(here.to(tl.int32), 0) * n + tl.program_id(0)
    tl.store(y + lanes, value)


@pytest.mark.parametrize(
    ("kernel", "kind", "is_index"),
    [
        (left_by_a_loop, "data", False),
        (left_by_a_loop, "trips", True),
        (left_by_a_loop, "data and trips", True),
        (masked, "chosen data", False),
        (masked, "data times the mask", False),
        (masked, "chosen lanes", True),
        (masked, "counted lanes", True),
    ],
)
def test_data_that_a_loop_adds_or_a_mask_chooses_are_no_indices(kernel, kind, is_index):
    x, y = (torch.zeros(16, dtype=torch.int32) for _ in range(2))
    module = compile_for(kernel, {"x": x, "y": y, "n": 9}, {"KIND": kind})
    (store,) = [op for op in module.ops if op.name == "tt.store"]

    assert (stored_index(store, module) is not None) == is_index
