#!/usr/bin/env bash
# ONNX Runtime: a NaN that comes first decides ReduceMax, ArgMax and Unique; one that comes later is not there.
#
# Guess: NaN is kept, as in NumPy and ONNX's reference, or ignored, wherever it stands; Unique has every value once.
# Seen:  on a CPU ReduceMax, ReduceMin and ArgMax of [NaN, 1, 3] are NaN and 0, of [1, NaN, 3] as if there were none. Unique
#   of [2, NaN, 1, NaN, 2] has the values 1 and 2 and says that 2 was there three times, and NaN, which has none of its own,
#   is restored as 1 by its inverse; of [NaN, 2, 1, NaN, 2] NaN is the only value, five times.
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

NAN = float("nan")


def results(op, array, outputs, **attributes):
    names = [f"y{n}" for n in range(len(outputs))]
    values = [helper.make_tensor_value_info(name, kind, [None]) for name, kind in zip(names, outputs)]
    source = helper.make_tensor_value_info("x", TensorProto.FLOAT, [len(array)])
    graph = helper.make_graph([helper.make_node(op, ["x"], names, **attributes)], "g", [source], values)
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)], ir_version=10)
    onnx.checker.check_model(model)
    session = onnxruntime.InferenceSession(model.SerializeToString(), providers=["CPUExecutionProvider"])
    return [result.ravel().tolist() for result in session.run(None, {"x": np.array(array, np.float32)})]


FLOAT, INT64 = TensorProto.FLOAT, TensorProto.INT64
print("onnxruntime", onnxruntime.__version__, "onnx", onnx.__version__)
for array in ([NAN, 1, 3], [1, NAN, 3], [1, 3, NAN]):
    largest, smallest = results("ReduceMax", array, [FLOAT]), results("ReduceMin", array, [FLOAT])
    place = results("ArgMax", array, [INT64], axis=0)
    print(f"{array}: ReduceMax {largest[0][0]}, ReduceMin {smallest[0][0]}, ArgMax {place[0][0]}")
for array in ([2, NAN, 1, NAN, 2], [NAN, 2, 1, NAN, 2]):
    values, _, inverse, counts = results("Unique", array, [FLOAT, INT64, INT64, INT64])
    print(f"Unique of {array}: {values}, counts {counts}, inverse {inverse}")
PROGRAM
seen=$("$folder/venv/bin/python" -W ignore "$folder/program.py")
echo "$seen"
expected='onnxruntime 1.32.0 onnx 1.23.2
[nan, 1, 3]: ReduceMax nan, ReduceMin nan, ArgMax 0
[1, nan, 3]: ReduceMax 3.0, ReduceMin 1.0, ArgMax 2
[1, 3, nan]: ReduceMax 3.0, ReduceMin 1.0, ArgMax 1
Unique of [2, nan, 1, nan, 2]: [1.0, 2.0], counts [2, 3], inverse [1, 1, 0, 0, 1]
Unique of [nan, 2, 1, nan, 2]: [nan], counts [5], inverse [0, 0, 0, 0, 0]'
[ "$seen" = "$expected" ] || { echo changed; exit 1; }
