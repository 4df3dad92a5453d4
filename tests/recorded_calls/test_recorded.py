"""Calls that do not fit their kernels' IR are not evaluated; the reason is a sentence."""

import pytest

from kvtrace.ir.parser import parse
from kvtrace.recorded_calls.arguments import CannotReplay
from kvtrace.recorded_calls.reading import call_of

MODULE = parse("""
"builtin.module"() ({
  "tt.func"() <{function_type = (!tt.ptr<f32>, i32) -> (), sym_name = "k"}> ({
  ^bb0(%x: !tt.ptr<f32>, %n: i32):
    "tt.return"() : () -> ()
  }) : () -> ()
}) : () -> ()
""")
TENSOR = {
    "name": "x", "kind": "tensor", "dtype": "fp32", "shape": [2, 2], "strides": [2, 1],
    "offset_bytes": 0, "storage_bytes": 64, "alias_group": None, "value_artifact": None,
    "address": None, "scalar": None, "alignment": 16, "device": None,
}  # fmt: skip
NUMBER = TENSOR | {
    "name": "n",
    "kind": "scalar",
    "dtype": "i32",
    "shape": None,
    "strides": None,
    "scalar": "4",
}
SIGNATURE = [{"name": "x", "type": "*fp32"}, {"name": "n", "type": "i32"}]


def call(args, signature):
    row = {"call_id": 0, "grid_x": 1, "grid_y": 1, "grid_z": 1, "args": args}
    kernel = {"name": "k", "signature": signature, "num_warps": 4}
    return call_of(row, kernel, MODULE, lambda _: None)


@pytest.mark.parametrize(
    ("args", "signature", "reason"),
    [
        ([TENSOR | {"strides": [1]}, NUMBER], SIGNATURE, "argument x has 1 strides for 2 axes"),
        ([TENSOR | {"shape": [4]}, NUMBER], SIGNATURE, "argument x has 2 strides for 1 axes"),
        ([TENSOR | {"strides": []}, NUMBER], SIGNATURE, "argument x has 0 strides for 2 axes"),
        ([TENSOR | {"kind": None}, NUMBER], SIGNATURE, "not have the kind of the argument x"),
        ([None, NUMBER], SIGNATURE, "not have the kind of the argument x"),
        ([TENSOR | {"dtype": None}, NUMBER], SIGNATURE, "not have the dtype of the argument x"),
        ([TENSOR | {"dtype": "acme:x"}, NUMBER], SIGNATURE, "argument x has the dtype 'acme:x'"),
        ([TENSOR | {"shape": [2, None]}, NUMBER], SIGNATURE, "all of the shape of the argument x"),
        ([TENSOR, NUMBER | {"scalar": "ten"}], SIGNATURE, "argument n has the value ten, which"),
        ([TENSOR, NUMBER | {"scalar": None}], SIGNATURE, "the value of the argument n"),
        ([TENSOR, NUMBER], [], "the parameters of the kernel .signature."),
        ([], SIGNATURE, "the arguments of the call .args."),
        ([TENSOR], SIGNATURE, "1 arguments were recorded for 2 parameters"),
        ([TENSOR], SIGNATURE[:1], "the IR has 2 parameters, the call 1"),
        ([], [], "the IR has 2 parameters, the call 0"),
    ],
)
def test_call_that_does_not_fit_the_ir_is_refused(args, signature, reason):
    assert len(call([TENSOR, NUMBER], SIGNATURE).arguments) == 2
    with pytest.raises(CannotReplay, match=reason):
        call(args, signature)
