"""Numbers that `constant_of` gets from ops with constant results."""

import pytest

from kvtrace.ir import parse
from kvtrace.ir.flow import constant_of


def result_of(op):
    """The result of an op inside of a kernel."""
    text = f""""builtin.module"() ({{
  "tt.func"() <{{function_type = (i32) -> (), sym_name = "kernel"}}> ({{
  ^bb0(%x: i32):
    %c = {op}
    "tt.return"() : () -> ()
  }}) : () -> ()
}}) : () -> ()
"""
    return parse(text).main.op.regions[0].blocks[0].ops[0].results[0]


@pytest.mark.parametrize(
    ("constant", "number"),
    [
        ('"arith.constant"() <{value = -7 : i32}> : () -> i32', -7),
        ('"arith.constant"() <{value = true}> : () -> i1', 1),
        ('"arith.constant"() <{value = 2.5 : f32}> : () -> f32', 2.5),
        ('"arith.constant"() <{value = dense<3> : tensor<4xi32>}> : () -> tensor<4xi32>', 3),
        (
            '"arith.constant"() <{value = dense<[1, 2]> : tensor<2xi32>}> : () -> tensor<2xi32>',
            None,
        ),
        ('"llvm.mlir.constant"() <{value = 5 : i64}> : () -> i64', 5),
        ('"arith.addi"(%x, %x) : (i32, i32) -> i32', None),
    ],
)
def test_constant_of_equal_elements_is_one_number(constant, number):
    assert constant_of(result_of(constant)) == number


def test_argument_is_not_a_constant():
    total = result_of('"arith.addi"(%x, %x) : (i32, i32) -> i32')
    assert constant_of(total.owner.operand("left")) is None
