#!/usr/bin/env bash
# ONNX: the reference evaluator quantizes infinity to 0, and its LayerNormalization of float16 1000, 0, 0, 0 is 0.
#
# Guess: the reference has what the specification says: QuantizeLinear saturates, LayerNormalization computes in float32
#   (stash_type 1) unless told otherwise, the result has the declared type; a runtime differs in last bits at most.
# Seen:  3e9 and infinity become 0 of uint8 and -128 of int8, as the number becomes an int32 before it is clipped; the
#   normalization's squares are float16, infinite, its results 0; ReduceSumSquare of int32 is a negative int64; and
#   ReduceLogSumExp of -inf is NaN. The runtime has 255, 127, 1.732, 2147483647 and -inf; its MeanVarianceNormalization
#   of equal numbers is NaN, where the specification adds 1e-9.
# Runs:  onnx 1.23.2, onnxruntime 1.32.0 on a CPU, numpy 2.4.6.
set -eu
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet --disable-pip-version-check onnx==1.23.2 onnxruntime==1.32.0 numpy==2.4.6
cat > "$folder/program.py" <<'PROGRAM'
import numpy as np
import onnx
import onnxruntime
from onnx import helper
from onnx.reference import ReferenceEvaluator

np.seterr(all="ignore")


def information(name, kind, shape):
    return helper.make_tensor_value_info(name, helper.np_dtype_to_tensor_dtype(np.dtype(kind)), shape)


def results(op, kind, *arrays, **attributes):
    names = [f"x{number}" for number in range(len(arrays))]
    inputs = [information(name, array.dtype, array.shape) for name, array in zip(names, arrays)]
    shape = [] if op.startswith("Reduce") else arrays[0].shape
    nodes = [helper.make_node(op, names, ["y"], **attributes)]
    graph = helper.make_graph(nodes, "g", inputs, [information("y", kind, shape)])
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 22)], ir_version=10)
    onnx.checker.check_model(model)
    feed = dict(zip(names, arrays))
    session = onnxruntime.InferenceSession(model.SerializeToString(), providers=["CPUExecutionProvider"])
    reference, runtime = ReferenceEvaluator(model).run(None, feed)[0], session.run(None, feed)[0]
    print(f"{op} of {arrays[0].ravel().tolist()}:")
    for name, result in (("reference", reference), ("runtime", runtime)):
        print(f"  {name}: {np.round(np.asarray(result).astype(np.float64), 3).ravel().tolist()} ({result.dtype})")


print("onnx", onnx.__version__, "onnxruntime", onnxruntime.__version__)
values, one = np.array([300, 3e9, np.inf, -3e9], np.float32), np.array(1, np.float32)
for kind in (np.uint8, np.int8):
    results("QuantizeLinear", kind, values, one, np.array(0, kind))
results("LayerNormalization", np.float16, np.array([[1000, 0, 0, 0]], np.float16), np.ones(4, np.float16))
results("ReduceSumSquare", np.int32, np.array([50000, 50000], np.int32), keepdims=0)
results("ReduceLogSumExp", np.float32, np.array([-np.inf, -np.inf], np.float32), keepdims=0)
results("MeanVarianceNormalization", np.float32, np.ones((1, 1, 2, 2), np.float32))
PROGRAM
seen=$("$folder/venv/bin/python" -W ignore "$folder/program.py")
echo "$seen"
expected='onnx 1.23.2 onnxruntime 1.32.0
QuantizeLinear of [300.0, 3000000000.0, inf, -3000000000.0]:
  reference: [255.0, 0.0, 0.0, 0.0] (uint8)
  runtime: [255.0, 255.0, 255.0, 0.0] (uint8)
QuantizeLinear of [300.0, 3000000000.0, inf, -3000000000.0]:
  reference: [127.0, -128.0, -128.0, -128.0] (int8)
  runtime: [127.0, 127.0, 127.0, -128.0] (int8)
LayerNormalization of [1000.0, 0.0, 0.0, 0.0]:
  reference: [0.0, -0.0, -0.0, -0.0] (float16)
  runtime: [1.732, -0.577, -0.577, -0.577] (float16)
ReduceSumSquare of [50000, 50000]:
  reference: [-3589934592.0] (int64)
  runtime: [2147483647.0] (int32)
ReduceLogSumExp of [-inf, -inf]:
  reference: [nan] (float32)
  runtime: [-inf] (float32)
MeanVarianceNormalization of [1.0, 1.0, 1.0, 1.0]:
  reference: [0.0, 0.0, 0.0, 0.0] (float32)
  runtime: [nan, nan, nan, nan] (float32)'
[ "$seen" = "$expected" ] || { echo changed; exit 1; }
