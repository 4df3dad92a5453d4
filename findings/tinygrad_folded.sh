#!/usr/bin/env bash
# tinygrad: x - x is 0 and x / x is 1 of NaN, infinity and zero, and a uint8 255 is less than 5.
#
# Guess: a compiler folds x - x, x / x and x * 0 only where no NaN can be, or under a fast-math flag; a comparison of integers
#   that wrap around is not rewritten.
# Seen:  it folds all three of one tensor, so that tests for NaN by `x - x` find none; of a second tensor with the same
#   numbers they are NaN. `x - 1 < 5` becomes `x < 6`, so uint8 0 - 1, which is 255, is less than 5, and is not if
#   the 1 is loaded; int32 2^31 - 1 + 1, which is negative, is not less than 0. round(8388609.0) is 8388610.
# Runs:  tinygrad 0.14.0 with DEV=PYTHON, which runs what every device's code is made from; no compiler, no GPU.
set -eu
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet --disable-pip-version-check tinygrad==0.14.0
cat > "$folder/program.py" <<'PROGRAM'
import math
import os

os.environ["DEV"] = "PYTHON"
from importlib.metadata import version

from tinygrad import Tensor, dtypes

NAN, INF = math.nan, math.inf


def values(*numbers, dtype=dtypes.float):
    return Tensor(list(numbers), dtype=dtype).realize()


print("tinygrad", version("tinygrad"))
x, same = values(NAN, INF, 0.0, 2.0), values(NAN, INF, 0.0, 2.0)
print("x - x:", (x - x).tolist(), "x - same numbers:", (x - same).tolist())
print("x / x:", (x / x).tolist(), "x / same numbers:", (x / same).tolist())
print("x * 0:", (x * 0).tolist(), "x * loaded 0:", (x * values(0.0, 0.0, 0.0, 0.0)).tolist())
zero, one = values(0, dtype=dtypes.uint8), values(1, dtype=dtypes.uint8)
print("uint8 0 - 1:", (zero - 1).item(), "less than 5:", (zero - 1 < 5).item(), "less a loaded 1 less than 5:", (zero - one < 5).item())
top, one = values(2**31 - 1, dtype=dtypes.int), values(1, dtype=dtypes.int)
print("int32 2^31 - 1 + 1:", (top + 1).item(), "less than 0:", (top + 1 < 0).item(), "plus a loaded 1 less than 0:", (top + one < 0).item())
print("round of 8388609:", values(8388609.0).round().item())
PROGRAM
seen=$("$folder/venv/bin/python" -W ignore "$folder/program.py")
echo "$seen"
expected='tinygrad 0.14.0
x - x: [0.0, 0.0, 0.0, 0.0] x - same numbers: [nan, nan, 0.0, 0.0]
x / x: [1.0, 1.0, 1.0, 1.0] x / same numbers: [nan, nan, nan, 1.0]
x * 0: [0.0, 0.0, 0.0, 0.0] x * loaded 0: [nan, nan, 0.0, 0.0]
uint8 0 - 1: 255 less than 5: True less a loaded 1 less than 5: False
int32 2^31 - 1 + 1: -2147483648 less than 0: False plus a loaded 1 less than 0: True
round of 8388609: 8388610.0'
[ "$seen" = "$expected" ] || { echo changed; exit 1; }
