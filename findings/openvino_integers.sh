#!/usr/bin/env bash
# OpenVINO on a CPU: 8-bit integers saturate and 16-bit ones wrap around; int64 is int32, and float64 is float32.
#
# Guess: an element type is computed in, as the operation's specification says, or refused; integers wrap around, or all
#   saturate.
# Seen:  uint8 200 + 100 is 255, 5 - 9 is 0, int8 -(-128) is 127; int16 and int32 wrap. int64 is taken modulo 2^32, without a
#   word, so 2^40 equals 2^41 and 2^40 + 1 is 1; float64 1 + 1e-10 equals 1 and 1e300 becomes 3.4e38, not infinity. An
#   int32 2^24 + 1 is summed in float32. The result's element type is int64 and float64 as asked for.
# Runs:  openvino 2026.4.1, numpy 2.3.5.
set -eu
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet --disable-pip-version-check openvino==2026.4.1 numpy==2.3.5
cat > "$folder/program.py" <<'PROGRAM'
import numpy as np
import openvino
from openvino import opset15 as ops


def result(op, kind, *arrays):
    parameters = [ops.parameter([len(array)], kind) for array in arrays]
    compiled = openvino.compile_model(openvino.Model([op(*parameters)], parameters), "CPU")
    return compiled([np.array(array, kind) for array in arrays])[0].ravel()[0].item()


def total(x):
    return ops.reduce_sum(x, np.array([0]))


print("openvino", openvino.__version__.split("-")[0])
for kind, op, x, y in (
    (np.uint8, ops.add, 200, 100),
    (np.uint8, ops.subtract, 5, 9),
    (np.int8, ops.multiply, 100, 100),
    (np.int16, ops.add, 30000, 30000),
    (np.int32, ops.add, 2**31 - 1, 1),
    (np.int64, ops.add, 2**31 - 1, 1),
    (np.int64, ops.add, 2**40, 1),
    (np.int64, ops.equal, 2**40, 2**41),
    (np.float64, ops.add, 1.0, 1e-10),
    (np.float64, ops.add, 1e300, 1.0),
    (np.float64, ops.equal, 1 + 1e-10, 1.0),
):
    print(f"{kind.__name__} {x}, {y}: {op.__name__} is {result(op, kind, [x], [y])}")
print("int8 -128: negative is", result(ops.negative, np.int8, [-128]))
print("int32 2^24 + 1, 0: reduce_sum is 2^24 +", result(total, np.int32, [2**24 + 1, 0]) - 2**24)
PROGRAM
seen=$("$folder/venv/bin/python" -W ignore "$folder/program.py")
echo "$seen"
expected='openvino 2026.4.1
uint8 200, 100: add is 255
uint8 5, 9: subtract is 0
int8 100, 100: multiply is 127
int16 30000, 30000: add is -5536
int32 2147483647, 1: add is -2147483648
int64 2147483647, 1: add is -2147483648
int64 1099511627776, 1: add is 1
int64 1099511627776, 2199023255552: equal is True
float64 1.0, 1e-10: add is 1.0
float64 1e+300, 1.0: add is 3.4028234663852886e+38
float64 1.0000000001, 1.0: equal is True
int8 -128: negative is 127
int32 2^24 + 1, 0: reduce_sum is 2^24 + 0'
[ "$seen" = "$expected" ] || { echo changed; exit 1; }
