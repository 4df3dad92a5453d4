#!/usr/bin/env bash
# ONNX Runtime: ReduceSum of integers saturates, and of int64 loses the last bit; CumSum of the same wraps around.
#
# Guess: a sum of integers is exact modulo 2^32 or 2^64, as in NumPy, PyTorch and ONNX's own reference.
# Seen:  on a CPU ReduceSum, ReduceProd and ReduceSumSquare are computed in floating point and converted: three times 2^30
#   is 2147483647, 65537 squared too, and int64 2^53 + 1 and 0 add up to 2^53. CumSum has the wrapped and exact numbers, Add
#   wraps as well. The mean of three times of today in nanoseconds, 100 apart, is 100 off, though none of them
#   is far from it.
# Runs:  onnxruntime 1.32.0, onnx 1.23.2, numpy 2.3.5.
set -eu
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet --disable-pip-version-check onnxruntime==1.32.0 onnx==1.23.2 numpy==2.3.5
cat > "$folder/program.py" <<'PROGRAM'
import numpy as np
import onnx
import onnxruntime
from onnx import TensorProto, helper


def result(op, array, opset=18):
    kind = helper.np_dtype_to_tensor_dtype(array.dtype)
    values = [helper.make_tensor_value_info("x", kind, [len(array)]), helper.make_tensor_value_info("y", kind, [None])]
    inputs, axis = (["x", "axis"], [helper.make_tensor("axis", TensorProto.INT64, [], [0])]) if op == "CumSum" else (["x"], [])
    graph = helper.make_graph([helper.make_node(op, inputs, ["y"])], "g", values[:1], values[1:], axis)
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset)], ir_version=10)
    onnx.checker.check_model(model)
    session = onnxruntime.InferenceSession(model.SerializeToString(), providers=["CPUExecutionProvider"])
    return session.run(None, {"x": array})[0].ravel()[-1]


print("onnxruntime", onnxruntime.__version__, "onnx", onnx.__version__)
third = np.array([2**30] * 3, np.int32)
for op in ("ReduceSum", "CumSum", "ReduceMean"):
    print(f"{op} of three int32 of 2^30: {result(op, third)}")
print("ReduceSum of three int32 of -2^30:", result("ReduceSum", -third))
print("ReduceProd of two int32 of 65537:", result("ReduceProd", np.array([65537, 65537], np.int32)))
print("ReduceSumSquare of two int32 of 50000:", result("ReduceSumSquare", np.array([50000, 50000], np.int32)))
exact = np.array([2**53 + 1, 0], np.int64)
for op in ("ReduceSum", "CumSum", "ReduceMax"):
    print(f"{op} of int64 2^53 + 1 and 0 less 2^53: {result(op, exact) - 2**53}")
stamps = 1_700_000_000_000_000_000 + np.arange(3, dtype=np.int64) * 100
print("ReduceMean of three int64 100 apart, less the middle one:", result("ReduceMean", stamps) - stamps[1])
PROGRAM
seen=$("$folder/venv/bin/python" -W ignore "$folder/program.py")
echo "$seen"
expected='onnxruntime 1.32.0 onnx 1.23.2
ReduceSum of three int32 of 2^30: 2147483647
CumSum of three int32 of 2^30: -1073741824
ReduceMean of three int32 of 2^30: 1073741824
ReduceSum of three int32 of -2^30: -2147483648
ReduceProd of two int32 of 65537: 2147483647
ReduceSumSquare of two int32 of 50000: 2147483647
ReduceSum of int64 2^53 + 1 and 0 less 2^53: 0
CumSum of int64 2^53 + 1 and 0 less 2^53: 1
ReduceMax of int64 2^53 + 1 and 0 less 2^53: 1
ReduceMean of three int64 100 apart, less the middle one: -100'
[ "$seen" = "$expected" ] || { echo changed; exit 1; }
