"""Kernels and findings of traces that are compared."""

from tests.converters.written_trace import (
    Kernel,
    Launches,
)

TTIR = """module {
  tt.func public @scale(%x: !tt.ptr<f32>) {
    %0 = tt.make_range {end = 128 : i32, start = 0 : i32} : tensor<128xi32>
    %1 = tt.splat %x : !tt.ptr<f32> -> tensor<128x!tt.ptr<f32>>
    %2 = tt.addptr %1, %0 : tensor<128x!tt.ptr<f32>>, tensor<128xi32>
    %3 = tt.load %2 : tensor<128x!tt.ptr<f32>>
    tt.store %2, %3 : tensor<128x!tt.ptr<f32>>
    tt.return
  }
}
"""
SCALE = Kernel(ttir=TTIR, calls=(Launches(number=5),))
OTHER = Kernel(name="softmax", line=40, calls=(Launches(number=3, shape=(7, 9)),))
LINE_3 = [("/home/user/kernels.py", 12, 14, "scale")]


def finding(identity, stack, **values):
    from kvtrace.schema.content import stack_id

    row = {
        "finding_id": identity, "call_id": 0, "op_index": 3, "rule": "out-of-bounds",
        "verdict": "violation", "severity": "error", "access": "load", "arg": "x_ptr",
        "stack_id": stack_id(stack),
    }  # fmt: skip
    return row | values
