#!/usr/bin/env bash
# ONNX Runtime: a float16 is infinite as an output, and its square root is 300: results of float16 are kept in float32.
#
# Guess: a tensor has one value, rounded to its type; without optimizations each operator rounds its result, and a cast
#   to float16 does always.
# Seen:  on a CPU operators of float16 run in float32, and between two of them the casts are taken out, with all
#   optimizations disabled, too, and with them a cast that the model has itself. a = x + x of 60000 is infinite as the
#   model's output and 120000 where `a - x` reads it; IsInf of x * x is true and its square root is 300. Overflow that a
#   GPU has is not seen there.
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
from onnx import TensorProto, helper

node = helper.make_node
LEVELS = onnxruntime.GraphOptimizationLevel


def results(nodes, outputs, value, level):
    def information(name):
        return helper.make_tensor_value_info(name, TensorProto.FLOAT16, [1])

    graph = helper.make_graph(nodes, "g", [information("x")], [information(name) for name in outputs])
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 21)], ir_version=10)
    onnx.checker.check_model(model)
    options = onnxruntime.SessionOptions()
    options.graph_optimization_level = level
    session = onnxruntime.InferenceSession(model.SerializeToString(), options, providers=["CPUExecutionProvider"])
    arrays = session.run(None, {"x": np.array([value], np.float16)})
    return ", ".join(f"{name} {array[0]:g}" for name, array in zip(outputs, arrays))


difference = [node("Add", ["x", "x"], ["a"]), node("Sub", ["a", "x"], ["y"])]
casts = [node("Cast", ["a"], ["b"], to=TensorProto.FLOAT), node("Cast", ["b"], ["c"], to=TensorProto.FLOAT16)]
cast = [difference[0], *casts, node("Sub", ["c", "x"], ["y"])]
asked = [node("IsInf", ["a"], ["i"]), node("Cast", ["i"], ["infinite"], to=TensorProto.FLOAT16)]
root = [node("Mul", ["x", "x"], ["a"]), *asked, node("Sqrt", ["a"], ["y"])]
print("onnxruntime", onnxruntime.__version__, "onnx", onnx.__version__)
for name, level in (("no optimization", LEVELS.ORT_DISABLE_ALL), ("all optimizations", LEVELS.ORT_ENABLE_ALL)):
    print(name)
    print("  a = x + x, y = a - x, x = 60000:", results(difference, ["a", "y"], 60000, level))
    print("  y = float16(float32(a)) - x:", results(cast, ["a", "y"], 60000, level))
    print("  a = x * x, y = sqrt(a), x = 300:", results(root, ["a", "infinite", "y"], 300, level))
PROGRAM
seen=$("$folder/venv/bin/python" -W ignore "$folder/program.py")
echo "$seen"
expected='onnxruntime 1.32.0 onnx 1.23.2
no optimization
  a = x + x, y = a - x, x = 60000: a inf, y 60000
  y = float16(float32(a)) - x: a inf, y 60000
  a = x * x, y = sqrt(a), x = 300: a inf, infinite 1, y 300
all optimizations
  a = x + x, y = a - x, x = 60000: a inf, y 60000
  y = float16(float32(a)) - x: a inf, y 60000
  a = x * x, y = sqrt(a), x = 300: a inf, infinite 1, y 300'
[ "$seen" = "$expected" ] || { echo changed; exit 1; }
