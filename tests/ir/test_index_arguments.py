"""Pointer arguments whose integers matter to a kernel."""

import pytest
import triton
import triton.language as tl

from kvtrace.ir import parse
from kvtrace.ir.index_arguments import IndexArguments, index_arguments
from tests.support.compile_ttir import compile_generic

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


@pytest.mark.parametrize("op", ["arith.divsi", "arith.remui"])
def test_the_contents_of_divisors_matter(op):
    found = index_arguments(parse(KERNEL.format(op=op)))
    assert found == IndexArguments(frozenset({0}), frozenset({1}), frozenset({0}), (0, 1))


def test_contents_that_are_only_stored_are_not_relevant():
    found = index_arguments(parse(KERNEL.format(op="arith.addi")))
    assert found == IndexArguments(frozenset(), frozenset({1}), frozenset({0}), (0, 1))


def test_no_arguments_are_known_for_a_kernel_with_an_unknown_op():
    found = index_arguments(parse(KERNEL.format(op="new.op")))
    assert found == IndexArguments(None, None)


DESCRIBED = """
"builtin.module"() ({
  "tt.func"() <{function_type = (!tt.ptr<f32>, !tt.tensordesc<tensor<8xf32>>, i32) -> (),
      sym_name = "k"}> ({
  ^bb0(%x: !tt.ptr<f32>, %out: !tt.tensordesc<tensor<8xf32>>, %n: i32):
    %one = "arith.constant"() <{value = 1 : i64}> : () -> i64
    %made = "tt.make_tensor_descriptor"(%x, %n, %one) <{operandSegmentSizes = array<i32: 1, 1, 1>}>
        : (!tt.ptr<f32>, i32, i64) -> !tt.tensordesc<tensor<8xf32>>
    %value = "tt.descriptor_load"(%made, %n)
        : (!tt.tensordesc<tensor<8xf32>>, i32) -> tensor<8xf32>
    "tt.descriptor_store"(%out, %value, %n)
        : (!tt.tensordesc<tensor<8xf32>>, tensor<8xf32>, i32) -> ()
    "tt.return"() : () -> ()
  }) : () -> ()
}) : () -> ()
"""


def test_arguments_behind_descriptors_are_known_but_not_those_that_decide():
    found = index_arguments(parse(DESCRIBED))
    assert found == IndexArguments(None, frozenset({1}), frozenset({0}), (0, 1))


CALLED = """
"builtin.module"() ({
  "tt.func"() <{function_type = (!tt.ptr<i32>, !tt.ptr<i32>) -> (), sym_name = "k",
      sym_visibility = "public"}> ({
  ^bb0(%x: !tt.ptr<i32>, %out: !tt.ptr<i32>):
    "tt.call"(%out, %x) <{callee = @copy}> : (!tt.ptr<i32>, !tt.ptr<i32>) -> ()
    "tt.return"() : () -> ()
  }) : () -> ()
  "tt.func"() <{function_type = (!tt.ptr<i32>, !tt.ptr<i32>) -> (), sym_name = "copy",
      sym_visibility = "private"}> ({
  ^bb0(%to: !tt.ptr<i32>, %from: !tt.ptr<i32>):
    %value = "tt.load"(%from) : (!tt.ptr<i32>) -> i32
    "tt.store"(%to, %value) : (!tt.ptr<i32>, i32) -> ()
    "tt.return"() : () -> ()
  }) : () -> ()
}) : () -> ()
"""


def test_accesses_of_called_functions_are_those_of_the_arguments_passed_to_them():
    found = index_arguments(parse(CALLED))
    assert found == IndexArguments(frozenset(), frozenset({1}), frozenset({0}), (0, 1))


@triton.jit
def chosen(x, which, out, n, GATHERS: tl.constexpr, FILLS: tl.constexpr):
    lanes = tl.arange(0, 32)
    values = tl.load(x + lanes, lanes < n, 0.0) if FILLS else tl.load(x + lanes, lanes < n)
    numbers = tl.load(which + lanes)
    result = tl.gather(values, numbers, 0) if GATHERS else tl.where(numbers > 0, values, 1.0)
    tl.store(out + lanes, result)


@pytest.mark.parametrize("gathers", [True, False])
@pytest.mark.parametrize(("fills", "read"), [(True, set()), (False, {1})])
def test_contents_that_choose_among_lanes_matter_where_some_have_no_value(gathers, fills, read):
    types = {"x": "*fp32", "which": "*i32", "out": "*fp32", "n": "i32"}
    constants = {"GATHERS": gathers, "FILLS": fills}
    module = parse(
        compile_generic(chosen, types | dict.fromkeys(constants, "constexpr"), constants)
    )
    assert index_arguments(module).read == read


@triton.jit
def slots(counter, counts, out):
    number = tl.atomic_add(counter, tl.load(counts + tl.program_id(0)))
    tl.store(out + number, tl.program_id(0))


def test_contents_that_are_added_to_a_counter_of_slots_matter():
    types = dict.fromkeys(("counter", "counts", "out"), "*i32")
    assert index_arguments(parse(compile_generic(slots, types, {}))).read == {0, 1}
