"""Refusals of the evaluator: one sentence that names the op, the line and the kernel."""

import numpy as np
import pytest
import torch

from corpus.kernels.basic import vector_add
from kvtrace.evaluate import (
    BadArguments,
    ScalarArgument,
    Storage,
    TensorArgument,
    UnsupportedOp,
    evaluate,
    parsed,
)
from kvtrace.schema.errors import KvtraceError
from tests.kernels.launching import bind, compile_for
from tests.kernels.recording import Recorder

TEXT = """
"builtin.module"() ({
  "tt.func"() <{sym_name = "odd", sym_visibility = "public"}> ({
  ^bb0(%x: !tt.ptr<f32>, %flag: i32):
    %one = "arith.constant"() <{value = 1 : i32}> : () -> i32
    %v = "tt.load"(%x) <{operandSegmentSizes = array<i32: 1, 0, 0>}> : (!tt.ptr<f32>) -> f32
    %c = "arith.cmpi"(%flag, %one) <{predicate = 0 : i64}> : (i32, i32) -> i1
    %r = "scf.if"(%c) ({
      %w = "math.not_yet"(%v) : (f32) -> f32 loc("odd.py":12:3)
      "scf.yield"(%w) : (f32) -> ()
    }, {
      "scf.yield"(%v) : (f32) -> ()
    }) : (i1) -> f32
    "tt.store"(%x, %r) : (!tt.ptr<f32>, f32) -> ()
    "tt.return"() : () -> ()
  }) : () -> ()
}) : () -> ()
"""


def run_odd(flag, data):
    storage = Storage(4, data)
    tensor = TensorArgument("x", storage, 0, "fp32", (1,), (1,))
    recorder = Recorder()
    evaluate(parsed(TEXT), [tensor, ScalarArgument("flag", flag)], (1,), observers=[recorder])
    return recorder


def test_an_op_without_a_meaning_names_itself_its_line_and_its_kernel():
    with pytest.raises(UnsupportedOp) as refused:
        run_odd(1, np.zeros(4, np.uint8))

    text = str(refused.value)
    assert "'math.not_yet'" in text
    assert "odd.py:12" in text
    assert "'odd'" in text
    assert "evaluate/dialects" in text
    assert issubclass(UnsupportedOp, KvtraceError)


def test_an_unimplemented_op_that_never_runs_is_not_refused():
    run_odd(0, np.zeros(4, np.uint8))


def test_an_unimplemented_op_on_unknown_operands_has_unknown_results():
    recorder = run_odd(1, None)
    assert [access.kind for access in recorder.accesses] == ["load", "store"]


def test_an_unknown_type_is_refused_by_name():
    text = TEXT.replace('"math.not_yet"(%v) : (f32) -> f32', '"arith.truncf"(%v) : (f32) -> f8E3M4')
    text = text.replace("(%w) : (f32)", "(%w) : (f8E3M4)")
    tensor = TensorArgument("x", Storage(4, np.zeros(4, np.uint8)), 0, "fp32", (1,), (1,))

    with pytest.raises(UnsupportedOp, match=r"truncf.*f8E3M4.*odd\.py:12.*'odd'"):
        evaluate(parsed(text), [tensor, ScalarArgument("flag", 1)], (1,))


def test_arguments_must_fit_the_parameters():
    x = torch.zeros(8)
    arguments = {"x": x, "y": x, "out": x, "n": 8}
    module = compile_for(vector_add, arguments, {"BLOCK": 8})
    bound = bind(vector_add, arguments)

    with pytest.raises(BadArguments, match="4 parameters, but 3 arguments"):
        evaluate(module, bound[:3], (1,))
    with pytest.raises(BadArguments, match=r"'out' .* is a tensor"):
        evaluate(module, [*bound[:3], bound[2]], (1,))
    with pytest.raises(BadArguments, match=r"grid"):
        evaluate(module, bound, (1, -1))
    with pytest.raises(BadArguments, match="8 bytes"):
        Storage(16, np.zeros(8, np.uint8))
