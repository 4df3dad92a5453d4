"""Lines of ops in the texts of their module, and its products."""

import pytest

from kvtrace.converters.report.sources import block_sources
from kvtrace.converters.report.views.call import Dot, dots_of
from kvtrace.converters.report.views.lines import op_lines
from kvtrace.ir import parse
from tests.converters.replayed_trace import context_of, replayed
from tests.support.packed import read_json


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


def test_each_line_of_a_text_shows_its_op(texts):
    for generic, pretty in texts.values():
        ops = parse(generic).ops
        for text, most_left_out in ((generic, 0), (pretty, 1)):
            lines = text.split("\n")
            found = op_lines(ops, text)
            assert len(found) >= len(ops) - most_left_out
            for index, line in found.items():
                assert ops[index].name.removeprefix("builtin.") in lines[line]


def test_texts_that_do_not_match_give_no_lines(texts):
    generic, _ = texts["matmul_kernel"]
    _, pretty = texts["layer_norm_forward"]
    assert op_lines(parse(generic).ops, pretty) == {}
    assert op_lines(parse(generic).ops, "no MLIR at all") == {}


def test_matmul_is_linked_to_its_loads_store_and_loop(texts):
    generic, _ = texts["matmul_kernel"]
    module = parse(generic)
    ops = module.ops

    (dot,) = dots_of(module)

    assert (dot.m, dot.n, dot.k) == (32, 32, 32)
    assert [ops[index].name for index in (dot.a, dot.b, dot.c, dot.loop)] == [
        "tt.load", "tt.load", "tt.store", "scf.for",
    ]  # fmt: skip
    assert dot.a < dot.b < dot.op


def test_unknown_facts_of_an_attention_kernel_are_none(texts):
    generic, _ = texts["attention_forward"]
    module = parse(generic)

    scores, mixed = dots_of(module)

    assert (scores.m, scores.n, scores.k) == (16, 16, 32)
    assert (scores.b_transposed, mixed.b_transposed) == (True, False)
    assert scores.c is None  # it goes through a softmax, not to memory
    assert mixed.a is None  # made of the scores, not loaded
    assert module.ops[mixed.c].name == "tt.store"


PRODUCT = """\
"builtin.module"() ({
  "tt.func"() <{sym_name = "f"}> ({
  ^bb0(%a: tensor<16x16xi8>, %out: !tt.tensordesc<tensor<1x16xf32>>, %rows: tensor<16xi32>, %c: i32):
    %zero = "arith.constant"() <{value = dense<0.0> : tensor<16x16xf32>}> : () -> tensor<16x16xf32>
    %0 = "tt.dot_scaled"(%a, %a, %zero) : (tensor<16x16xi8>, tensor<16x16xi8>, tensor<16x16xf32>) -> tensor<16x16xf32>
    "tt.descriptor_scatter"(%out, %rows, %c, %0) : (!tt.tensordesc<tensor<1x16xf32>>, tensor<16xi32>, i32, tensor<16x16xf32>) -> ()
    "tt.return"() : () -> ()
  }) : () -> ()
}) : () -> ()
"""  # noqa: E501


def test_a_scaled_product_has_no_shape_of_its_factors_and_gets_to_rows_that_are_scattered():
    found = dots_of(parse(PRODUCT))
    assert found == (Dot(3, None, None, None, None, False, None, False, 4, None),)


@pytest.mark.process
def test_unreadable_ir_gives_a_page_without_its_ops(monkeypatch):
    context = context_of(replayed("train"))
    assert context.module(0) is not None

    broken = context_of(replayed("train"))
    monkeypatch.setattr(type(broken), "stage", lambda *_: "no MLIR at all")
    assert broken.module(0) is None
    listed = (block for source in block_sources() for block in source.blocks(broken))
    blocks = {block.name: block.pack for block in listed}
    assert read_json(blocks["lines/0"]())["stages"] == {}
    assert read_json(blocks["call/0"]())["dots"] == []
