#!/usr/bin/env bash
# TVM: a value that is computed in bfloat16 or float8 keeps all bits of its float32, in a buffer of that type, too.
#
# Guess: `x.astype("float8_e4m3fn").astype("float32")` rounds x, as with float16, at least where a buffer of the
#   narrow type lies between; a float8 out of range is NaN or 448.
# Seen:  for a CPU the computation is moved to float32 and the casts go away: of 300, 1000000 and 1.00390625 nothing is
#   rounded, though the buffer's type is float8 or bfloat16. float16 rounds. An int8 between two float32 holds 300. The
#   first rounding is where a kernel stores its output: there float8_e4m3fn of 1000000 is -15, of 70000 -1.125 and of NaN
#   1.5. So fusing two kernels changes more than last bits.
# Runs:  apache-tvm 0.27.0.post1, apache-tvm-ffi 0.1.15.post2, ml_dtypes 0.6.0, numpy 2.4.6; a CPU.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet --disable-pip-version-check apache-tvm==0.27.0.post1 apache-tvm-ffi==0.1.15.post2 \
  ml_dtypes==0.6.0 numpy==2.4.6
cat > "$folder/program.py" <<'PROGRAM'
import ml_dtypes
import numpy as np
import tvm
from tvm import te

NUMBERS = np.array([1.00390625, 300, 1000000, 70000, -7.7, np.nan], np.float32)


def outputs(narrow, stored):
    """Return the numbers after a cast to a type: as a kernel stores them, or as it reads them from a buffer between."""
    x = te.placeholder(NUMBERS.shape, "float32", name="x")
    between = te.compute(NUMBERS.shape, lambda i: x[i].astype(narrow), name="between")
    wide = te.compute(NUMBERS.shape, lambda i: between[i].astype("float32"), name="wide")
    kernel = tvm.compile(te.create_prim_func([x, between if stored else wide]), target="llvm")
    dtype = getattr(ml_dtypes, narrow, narrow) if stored else "float32"
    result = tvm.runtime.tensor(np.zeros(NUMBERS.shape, dtype))
    kernel(tvm.runtime.tensor(NUMBERS), result)
    return result.numpy().astype(np.float32).tolist()


print("apache-tvm", tvm.__version__)
print("numbers", NUMBERS.tolist())
for narrow in ("float16", "bfloat16", "float8_e4m3fn", "float8_e5m2"):
    print(f"{narrow}\n  buffer between: {outputs(narrow, False)}\n  stored:         {outputs(narrow, True)}")
print(f"int8\n  buffer between: {outputs('int8', False)[:2]}")
PROGRAM
seen=$("$folder/venv/bin/python" -W ignore "$folder/program.py")
echo "$seen"
expected='apache-tvm 0.27.0.post1
numbers [1.00390625, 300.0, 1000000.0, 70000.0, -7.699999809265137, nan]
float16
  buffer between: [1.00390625, 300.0, inf, inf, -7.69921875, nan]
  stored:         [1.00390625, 300.0, inf, inf, -7.69921875, nan]
bfloat16
  buffer between: [1.00390625, 300.0, 1000000.0, 70000.0, -7.699999809265137, nan]
  stored:         [1.0, 300.0, 999424.0, 70144.0, -7.6875, nan]
float8_e4m3fn
  buffer between: [1.00390625, 300.0, 1000000.0, 70000.0, -7.699999809265137, nan]
  stored:         [1.0, 288.0, -15.0, -1.125, -7.5, 1.5]
float8_e5m2
  buffer between: [1.00390625, 300.0, 1000000.0, 70000.0, -7.699999809265137, nan]
  stored:         [1.0, 320.0, -0.000244140625, inf, -8.0, 1.5]
int8
  buffer between: [1.0, 300.0]'
[ "$seen" = "$expected" ] || { echo changed; exit 1; }
