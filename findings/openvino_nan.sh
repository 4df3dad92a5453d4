#!/usr/bin/env bash
# OpenVINO on a CPU: NaN > 1 and 1 > NaN are true, and the softmax of a row with NaN has zeros.
#
# Guess: each comparison with NaN is false; a softmax of NaN is NaN in the whole row, so that it is noticed.
# Seen:  `greater` and `greater_equal` are computed as "not less" and are true of NaN on either side; `less` and `equal` are
#   false. A mask `x > threshold` so lets every NaN through. `maximum` has its second operand for NaN, and a reduction
#   forgets what came before a NaN: least and greatest of [1, NaN, 3] are both 3. softmax of [NaN, 1, 2] is
#   [NaN, 0, 0]. Without NaN: erf of 1e-5 is 2 % too small.
# Runs:  openvino 2026.4.1, numpy 2.3.5, with INFERENCE_PRECISION_HINT f32.
set -eu
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet --disable-pip-version-check openvino==2026.4.1 numpy==2.3.5
cat > "$folder/program.py" <<'PROGRAM'
import numpy as np
import openvino
from openvino import opset15 as ops

NAN, INF = float("nan"), float("inf")


def result(op, *arrays):
    parameters = [ops.parameter([len(array)], np.float32) for array in arrays]
    model = openvino.Model([op(*parameters)], parameters)
    compiled = openvino.compile_model(model, "CPU", {"INFERENCE_PRECISION_HINT": "f32"})
    return compiled([np.array(array, np.float32) for array in arrays])[0].tolist()


def softmax(x):
    return ops.softmax(x, 0)


print("openvino", openvino.__version__.split("-")[0], "nan and 1, 1 and nan, 2 and 1:")
for op in (ops.greater, ops.greater_equal, ops.less, ops.less_equal, ops.equal, ops.maximum, ops.minimum):
    print(f"  {op.__name__}: {result(op, [NAN, 1, 2], [1, NAN, 1])}")
for array in ([NAN, 1, 3], [1, NAN, 3], [1, 3, NAN]):
    least, greatest = (result(lambda x: op(x, np.array([0])), array) for op in (ops.reduce_min, ops.reduce_max))
    print(f"{array}: reduce_min {least}, reduce_max {greatest}")
print(f"softmax of nan, 1, 2: {result(softmax, [NAN, 1, 2])}, of inf, 1: {result(softmax, [INF, 1])}")
print("erf of 1e-5, 1e-3:", *(f"{value:.4g}" for value in result(ops.erf, [1e-5, 1e-3])))
PROGRAM
seen=$("$folder/venv/bin/python" -W ignore "$folder/program.py")
echo "$seen"
expected='openvino 2026.4.1 nan and 1, 1 and nan, 2 and 1:
  greater: [True, True, True]
  greater_equal: [True, True, True]
  less: [False, False, False]
  less_equal: [False, False, False]
  equal: [False, False, False]
  maximum: [1.0, nan, 2.0]
  minimum: [1.0, nan, 1.0]
[nan, 1, 3]: reduce_min 1.0, reduce_max 3.0
[1, nan, 3]: reduce_min 3.0, reduce_max 3.0
[1, 3, nan]: reduce_min nan, reduce_max nan
softmax of nan, 1, 2: [nan, 0.0, 0.0], of inf, 1: [nan, 0.0]
erf of 1e-5, 1e-3: 1.109e-05 0.001128'
[ "$seen" = "$expected" ] || { echo changed; exit 1; }
