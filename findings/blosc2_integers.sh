#!/usr/bin/env bash
# Blosc2: `(a / b)[:]` of the integers -7 and 2 is -3.0 and `(a / b)[0:4]` is -3.5; `a < 7.5` of 7 is false.
#
# Guess: a lazy expression has NumPy's values, or in another type, whichever part of it is read; a number is compared
#   exactly, or refused where it does not fit.
# Seen:  the whole array is computed by a compiler of Blosc2's own, parts by numexpr. The first divides int32 as integers
#   and converts the quotient to float32, has remainders with the dividend's sign, and cuts a number to the column's
#   type: `a < 7.5` is `a < 7`, `a + 0.5 > a` is never true, `a < 3000000000` neither, and `u < 300` of uint8 is `u < 44`.
#   Sums and means are as the parts or as the whole: the mean of a / b is wrong, the number of `u < 300` right.
# Runs:  blosc2 4.14.1, numexpr 2.14.2, numpy 2.4.6.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet --disable-pip-version-check blosc2==4.14.1 numexpr==2.14.2 numpy==2.4.6
cat > "$folder/program.py" <<'PROGRAM'
from importlib.metadata import version

import blosc2
import numpy as np

A = np.array([-7, 7, 9, 5] * 2000, np.int32)
B = np.array([2, -2, 4, 3] * 2000, np.int32)
U = np.array([0, 255, 200, 1] * 2000, np.uint8)


def shown(array):
    return f"{[round(number, 4) for number in array[:4].tolist()]} ({array.dtype})"


print(", ".join(f"{name} {version(name)}" for name in ("blosc2", "numexpr", "numpy")))
a, b, u = (blosc2.asarray(array) for array in (A, B, U))
print(f"a = {A[:4].tolist()}, b = {B[:4].tolist()} (int32), u = {U[:4].tolist()} (uint8), repeated")
for name, lazy, expected in (
    ("a / b", a / b, A / B),
    ("a % b", a % b, A % B),
    ("a < 7.5", a < 7.5, A < 7.5),
    ("a + 0.5 > a", a + 0.5 > a, A + 0.5 > A),
    ("a < 3000000000", a < 3000000000, A < 3000000000),
    ("u < 300", u < 300, U < 300),
):
    print(f"{name}\n  numpy  {shown(expected)}\n  [:]    {shown(lazy[:])}\n  [0:4]  {shown(lazy[0:4])}")
print("mean of a / b: numpy", round(np.mean(A / B).item(), 4), "blosc2", float((a / b).mean()))
print("count of u < 300: numpy", np.sum(U < 300), "blosc2", int((u < 300).sum()))
PROGRAM
seen=$("$folder/venv/bin/python" -W ignore "$folder/program.py")
echo "$seen"
expected='blosc2 4.14.1, numexpr 2.14.2, numpy 2.4.6
a = [-7, 7, 9, 5], b = [2, -2, 4, 3] (int32), u = [0, 255, 200, 1] (uint8), repeated
a / b
  numpy  [-3.5, -3.5, 2.25, 1.6667] (float64)
  [:]    [-3.0, -3.0, 2.0, 1.0] (float32)
  [0:4]  [-3.5, -3.5, 2.25, 1.6667] (float32)
a % b
  numpy  [1, -1, 1, 2] (int32)
  [:]    [-1, 1, 1, 2] (int32)
  [0:4]  [1, -1, 1, 2] (int32)
a < 7.5
  numpy  [1, 1, 0, 1] (bool)
  [:]    [1, 0, 0, 1] (bool)
  [0:4]  [1, 1, 0, 1] (bool)
a + 0.5 > a
  numpy  [1, 1, 1, 1] (bool)
  [:]    [0, 0, 0, 0] (bool)
  [0:4]  [1, 1, 1, 1] (bool)
a < 3000000000
  numpy  [1, 1, 1, 1] (bool)
  [:]    [0, 0, 0, 0] (bool)
  [0:4]  [1, 1, 1, 1] (bool)
u < 300
  numpy  [1, 1, 1, 1] (bool)
  [:]    [1, 0, 0, 1] (bool)
  [0:4]  [1, 1, 1, 1] (bool)
mean of a / b: numpy -0.7708 blosc2 -0.75
count of u < 300: numpy 8000 blosc2 8000'
[ "$seen" = "$expected" ] || { echo changed; exit 1; }
