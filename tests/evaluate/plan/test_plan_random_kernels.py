"""Random affine kernels: by plan and by arrays, bit by bit and element by element."""

import numpy as np
from hypothesis import example, given, settings
from hypothesis import strategies as st

from kvtrace.evaluate import ScalarArgument, Storage, TensorArgument, evaluate, parsed
from kvtrace.evaluate.plan import explain
from tests.evaluate.plan.both_ways import Facts
from tests.support.thorough import usually


def kernel(loops, divisor, diagonal):
    """Copy with a factor: addresses from two program ids, a lane axis or two, and trips.

    The block's rows go along `row` elements, its columns along `column`; the second program id is
    divided into a quotient and a remainder. With `diagonal`, the mask is about both lane axes.
    """
    wide = "tensor<8x16xi32>"
    mask = '"arith.andi"(%inside_rows, %inside_columns) : (BOOL, BOOL) -> BOOL'
    if diagonal:
        mask = '"arith.cmpi"(%r, %c) <{predicate = 5 : i64}> : (WIDE, WIDE) -> BOOL'
    text = f"""
"builtin.module"() ({{
  "tt.func"() <{{sym_name = "random", sym_visibility = "public"}}> ({{
  ^bb0(%x: !tt.ptr<f32>, %y: !tt.ptr<f32>, %a: i32, %b: i32, %row: i32, %column: i32,
       %by_trip: i32, %shift: i32, %rows: i32, %columns: i32):
    %zero = "arith.constant"() <{{value = 0 : i32}}> : () -> i32
    %one = "arith.constant"() <{{value = 1 : i32}}> : () -> i32
    %trips = "arith.constant"() <{{value = {loops} : i32}}> : () -> i32
    %d = "arith.constant"() <{{value = {divisor} : i32}}> : () -> i32
    %p = "tt.get_program_id"() <{{axis = 0 : i32}}> : () -> i32
    %q = "tt.get_program_id"() <{{axis = 1 : i32}}> : () -> i32
    %high = "arith.divsi"(%q, %d) : (i32, i32) -> i32
    %low = "arith.remsi"(%q, %d) : (i32, i32) -> i32
    %pa = "arith.muli"(%p, %a) : (i32, i32) -> i32
    %lb = "arith.muli"(%low, %b) : (i32, i32) -> i32
    %base0 = "arith.addi"(%pa, %lb) : (i32, i32) -> i32
    %base1 = "arith.addi"(%base0, %high) : (i32, i32) -> i32
    %base2 = "arith.addi"(%base1, %shift) : (i32, i32) -> i32
    %lane0 = "tt.make_range"() <{{start = 0 : i32, end = 8 : i32}}> : () -> tensor<8xi32>
    %lane1 = "tt.make_range"() <{{start = 0 : i32, end = 16 : i32}}> : () -> tensor<16xi32>
    %r0 = "tt.expand_dims"(%lane0) <{{axis = 1 : i32}}> : (tensor<8xi32>) -> tensor<8x1xi32>
    %c0 = "tt.expand_dims"(%lane1) <{{axis = 0 : i32}}> : (tensor<16xi32>) -> tensor<1x16xi32>
    %r = "tt.broadcast"(%r0) : (tensor<8x1xi32>) -> WIDE
    %c = "tt.broadcast"(%c0) : (tensor<1x16xi32>) -> WIDE
    %rows_ = "tt.splat"(%rows) : (i32) -> WIDE
    %columns_ = "tt.splat"(%columns) : (i32) -> WIDE
    %tile = "arith.constant"() <{{value = dense<8> : WIDE}}> : () -> WIDE
    %p_ = "tt.splat"(%p) : (i32) -> WIDE
    %start = "arith.muli"(%p_, %tile) : (WIDE, WIDE) -> WIDE
    %place = "arith.addi"(%start, %r) : (WIDE, WIDE) -> WIDE
    %inside_rows = "arith.cmpi"(%place, %rows_) <{{predicate = 2 : i64}}> : (WIDE, WIDE) -> BOOL
    %inside_columns = "arith.cmpi"(%c, %columns_) <{{predicate = 2 : i64}}> : (WIDE, WIDE) -> BOOL
    %mask = {mask}
    %row_ = "tt.splat"(%row) : (i32) -> WIDE
    %column_ = "tt.splat"(%column) : (i32) -> WIDE
    %ro = "arith.muli"(%r, %row_) : (WIDE, WIDE) -> WIDE
    %co = "arith.muli"(%c, %column_) : (WIDE, WIDE) -> WIDE
    %rc = "arith.addi"(%ro, %co) : (WIDE, WIDE) -> WIDE
    %b_ = "tt.splat"(%base2) : (i32) -> WIDE
    %o = "arith.addi"(%rc, %b_) : (WIDE, WIDE) -> WIDE
    %xs = "tt.splat"(%x) : (!tt.ptr<f32>) -> POINTERS
    %ys = "tt.splat"(%y) : (!tt.ptr<f32>) -> POINTERS
    %x0 = "tt.addptr"(%xs, %o) : (POINTERS, WIDE) -> POINTERS
    %y0 = "tt.addptr"(%ys, %o) : (POINTERS, WIDE) -> POINTERS
    %step = "tt.splat"(%by_trip) : (i32) -> WIDE
    %end:2 = "scf.for"(%zero, %trips, %one, %x0, %y0) ({{
    ^bb0(%t: i32, %xt: POINTERS, %yt: POINTERS):
      %v = "tt.load"(%xt, %mask) <{{operandSegmentSizes = array<i32: 1, 1, 0>}}>
           : (POINTERS, BOOL) -> tensor<8x16xf32>
      %w = "arith.addf"(%v, %v) : (tensor<8x16xf32>, tensor<8x16xf32>) -> tensor<8x16xf32>
      "tt.store"(%yt, %w, %mask) : (POINTERS, tensor<8x16xf32>, BOOL) -> ()
      %xn = "tt.addptr"(%xt, %step) : (POINTERS, WIDE) -> POINTERS
      %yn = "tt.addptr"(%yt, %step) : (POINTERS, WIDE) -> POINTERS
      "scf.yield"(%xn, %yn) : (POINTERS, POINTERS) -> ()
    }}) : (i32, i32, i32, POINTERS, POINTERS) -> (POINTERS, POINTERS)
    "tt.return"() : () -> ()
  }}) : () -> ()
}}) : () -> ()
"""
    return (
        text.replace("WIDE", wide)
        .replace("BOOL", "tensor<8x16xi1>")
        .replace("POINTERS", "tensor<8x16x!tt.ptr<f32>>")
    )


_NUMBERS = ("a", "b", "row", "column", "by_trip", "shift", "rows", "columns")


@st.composite
def launches(draw):
    small = st.integers(-3, 20)
    numbers = {
        "a": draw(st.sampled_from([0, 1, 16, 128, 600])),
        "b": draw(st.sampled_from([0, 1, 2000, 3000])),
        "row": draw(st.sampled_from([0, 1, 16, 17, 70])),
        "column": draw(st.sampled_from([0, 1, 1, 2, -1])),
        "by_trip": draw(st.sampled_from([0, 1, 16, 5000])),
        "shift": draw(st.integers(0, 40)),
        "rows": draw(small),
        "columns": draw(small),
    }
    grid = (draw(st.integers(1, 4)), draw(st.integers(1, 7)))
    code = kernel(draw(st.integers(0, 3)), draw(st.integers(1, 4)), draw(st.booleans()))
    return code, numbers, grid, draw(st.booleans())


def arguments_of(numbers, data, shared):
    x = Storage(data.nbytes, data.copy().view(np.uint8))
    y = x if shared else Storage(data.nbytes, np.zeros(data.nbytes, np.uint8))
    size = len(data)
    tensors = [TensorArgument(n, s, 0, "fp32", (size,), (1,)) for n, s in (("x", x), ("y", y))]
    return [*tensors, *(ScalarArgument(name, numbers[name]) for name in _NUMBERS)]


STAYING = dict.fromkeys(_NUMBERS, 0) | {"rows": 1, "columns": 1}
"""Pointers that each trip moves by nothing: what is read there is read before the loop."""


@settings(max_examples=usually(60, thorough=120), deadline=None)
@given(launches())
@example((kernel(0, 2, False), STAYING, (1, 1), False))
def test_random_affine_kernels_have_equal_results_by_plan_and_by_arrays(launch):
    code, numbers, grid, shared = launch
    module = parsed(code)
    data = np.random.default_rng(0).standard_normal(40_000).astype(np.float32)
    outcomes = []
    for planned in (True, False):
        arguments = arguments_of(numbers, data, shared)
        facts = Facts()
        evaluate(module, arguments, grid, observers=(facts,), planned=planned)
        outcomes.append((arguments[1].storage.data, facts))
    (ours, our_facts), (theirs, their_facts) = outcomes

    if explain(module, arguments, grid) == "planned":
        assert np.array_equal(ours, theirs)
    assert our_facts.summary() == their_facts.summary()
    assert our_facts.by_trip == our_facts.elements
    assert our_facts.defects == their_facts.defects
