#!/usr/bin/env bash
# TVM: int8 of 300.0 is 127 in the first 16 places of an array of 17 and 44 in the last.
#
# Guess: a cast that overflows is one number on one CPU: it saturates, or the lowest bits are kept.
# Seen:  loops are vectorized, and the vectors of four and more saturate, as the instruction that narrows them does; what
#   is left over is cast number by number and keeps the lowest bits. So an array of three has 44, of four 127, and
#   -1.0 is 255 or 0 as uint8. 3e9 is -128 in a vector and 0 alone.
# Runs:  apache-tvm 0.27.0.post1, apache-tvm-ffi 0.1.15.post2, ml_dtypes 0.6.0, numpy 2.4.6; a CPU (x86-64).
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet --disable-pip-version-check apache-tvm==0.27.0.post1 apache-tvm-ffi==0.1.15.post2 \
  ml_dtypes==0.6.0 numpy==2.4.6
cat > "$folder/program.py" <<'PROGRAM'
import numpy as np
import tvm
from tvm import te


def cast(number, count, dtype):
    """Return an array of equal numbers, cast by one kernel."""
    x = te.placeholder((count,), "float32", name="x")
    y = te.compute((count,), lambda i: x[i].astype(dtype), name="y")
    kernel = tvm.compile(te.create_prim_func([x, y]), target={"kind": "llvm", "mtriple": "x86_64-linux-gnu"})
    result = tvm.runtime.tensor(np.zeros(count, dtype))
    kernel(tvm.runtime.tensor(np.full(count, number, np.float32)), result)
    return result.numpy()


print("apache-tvm", tvm.__version__)
for number, dtype in ((300.0, "int8"), (40000.0, "int8"), (3e9, "int8"), (-1.0, "uint8")):
    print(f"{dtype} of {number}")
    for count in (1, 3, 4, 17):
        numbers = cast(number, count, dtype)
        print(f"  in an array of {count}: {numbers[0]} first, {numbers[-1]} last")
PROGRAM
seen=$("$folder/venv/bin/python" -W ignore "$folder/program.py")
echo "$seen"
expected='apache-tvm 0.27.0.post1
int8 of 300.0
  in an array of 1: 44 first, 44 last
  in an array of 3: 44 first, 44 last
  in an array of 4: 127 first, 127 last
  in an array of 17: 127 first, 44 last
int8 of 40000.0
  in an array of 1: 64 first, 64 last
  in an array of 3: 64 first, 64 last
  in an array of 4: 127 first, 127 last
  in an array of 17: 127 first, 64 last
int8 of 3000000000.0
  in an array of 1: 0 first, 0 last
  in an array of 3: 0 first, 0 last
  in an array of 4: -128 first, -128 last
  in an array of 17: -128 first, 0 last
uint8 of -1.0
  in an array of 1: 255 first, 255 last
  in an array of 3: 255 first, 255 last
  in an array of 4: 0 first, 0 last
  in an array of 17: 0 first, 255 last'
[ "$seen" = "$expected" ] || { echo changed; exit 1; }
