"""Ops read from the generic form's text: the same as the parser of the IR reads, and products."""

import pytest

from kvtrace.converters.report.dots import Dot, dots_of
from kvtrace.converters.report.generic_ops import generic_ops, op_lines
from kvtrace.ir import parse
from kvtrace.ir.model import Block
from tests.converters.replayed_trace import replayed


@pytest.fixture(scope="module")
def texts():
    """Generic and pretty TTIR of every variant of the training run, by kernel."""
    trace = replayed("train").trace
    found = {}
    for row in trace.table("kernels", columns=["name", "stages"]).to_pylist():
        stages = {stage["stage"]: stage["artifact"] for stage in row["stages"]}
        both = [trace.artifact(stages[name]).decode() for name in ("ttir_generic", "ttir")]
        found.setdefault(row["name"], tuple(both))
    return found


def origin(value):
    """Op, number and whether it is an argument, as `generic_ops` gives them."""
    owner = value.owner
    if isinstance(owner, Block):
        return (owner.region.owner.index, value.position, True)
    return (owner.index, value.position, False)


def test_ops_operands_and_nesting_are_those_of_the_parser(texts):
    for generic, _ in texts.values():
        ops, parsed = generic_ops(generic), parse(generic).ops
        assert [op.name for op in ops] == [op.name for op in parsed]
        for op, other in zip(ops, parsed, strict=True):
            assert [tuple(value) for value in op.operands] == [
                origin(value) for value in other.operands
            ]
            above = None if other.block is None else other.block.region.owner.index
            assert op.parent == above


def test_each_line_of_the_pretty_form_shows_its_op(texts):
    for generic, pretty in texts.values():
        lines = pretty.split("\n")
        ops = generic_ops(generic)
        found = op_lines(ops, pretty)
        assert len(found) >= len(ops) - 1
        for index, line in found.items():
            assert ops[index].name.removeprefix("builtin.") in lines[line]


def test_texts_that_do_not_match_give_no_lines(texts):
    generic, _ = texts["matmul_kernel"]
    _, pretty = texts["layer_norm_forward"]
    assert op_lines(generic_ops(generic), pretty) == {}
    assert generic_ops("no MLIR at all") == []


def test_a_matrix_product_knows_its_loads_its_store_and_its_loop(texts):
    generic, _ = texts["matmul_kernel"]
    ops = generic_ops(generic)

    (dot,) = dots_of(generic)

    assert (dot.m, dot.n, dot.k) == (32, 32, 32)
    assert [ops[index].name for index in (dot.a, dot.b, dot.c, dot.loop)] == [
        "tt.load", "tt.load", "tt.store", "scf.for",
    ]  # fmt: skip
    assert dot.a < dot.b < dot.op


def test_in_attention_what_cannot_be_told_is_none(texts):
    generic, _ = texts["attention_forward"]
    ops = generic_ops(generic)

    scores, mixed = dots_of(generic)

    assert (scores.m, scores.n, scores.k) == (16, 16, 32)
    assert (scores.b_transposed, mixed.b_transposed) == (True, False)
    assert scores.c is None  # it goes through a softmax, not to memory
    assert mixed.a is None  # made of the scores, not loaded
    assert ops[mixed.c].name == "tt.store"


SIBLINGS = """\
"builtin.module"() ({
  "tt.func"() <{sym_name = "f"}> ({
  ^bb0(%a: tensor<16x32xf16>, %c: i1):
    %0:2 = "scf.if"(%c) ({
      %1 = "tt.load"(%a) : (tensor<16x32xf16>) -> tensor<16x32xf16> loc("x"(#loc))
      "scf.yield"(%1, %1) : (tensor<16x32xf16>, tensor<16x32xf16>) -> ()
    }, {
      %1 = "tt.trans"(%a) : (tensor<16x32xf16>) -> tensor<32x16xf16>
      "scf.yield"(%1, %a) : (tensor<32x16xf16>, tensor<16x32xf16>) -> ()
    }) : (i1) -> (tensor<16x32xf16>, tensor<16x32xf16>)
    "tt.store"(%a, %0#1) : (tensor<16x32xf16>, tensor<16x32xf16>) -> ()
  }) : () -> ()
}) : () -> ()
"""


def test_names_of_sibling_regions_stand_for_values_of_their_own():
    ops = generic_ops(SIBLINGS)
    yields = [op for op in ops if op.name == "scf.yield"]
    assert [op.operands[0].op for op in yields] == [3, 5]
    assert tuple(ops[-1].operands[1]) == (2, 1, False)


def test_a_scaled_product_has_no_shape_of_its_factors():
    text = SIBLINGS.replace(
        '"tt.store"(%a, %0#1) : (tensor<16x32xf16>, tensor<16x32xf16>) -> ()',
        '%2 = "tt.dot_scaled"(%a, %a, %a) : (tensor<16x16xi8>, tensor<16x16xi8>, '
        "tensor<16x16xf32>) -> tensor<16x16xf32>",
    )
    assert dots_of(text) == (Dot(7, None, None, None, None, False, None, False, None, None),)
