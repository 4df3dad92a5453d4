#!/usr/bin/env bash
# Mojo: exp(NaN) is infinite, tanh(NaN) is 1, acos(NaN) is 0 and exp2(NaN) is 8.5e37.
#
# Guess: functions of NaN are NaN, on a CPU at least, as the standard library's log, sin, erf and cbrt are.
# Seen:  exp, exp2, tanh, cosh and acos of NaN are as of the largest argument, as if it had been clamped first: min, max
#   and clamp drop NaN, and so does the maximum of all elements. `acos(2)` is 0 and `asin(2)` NaN.
# Runs:  mojo, mojo-compiler and mojo-compiler-mojo-libs 1.2.0; a CPU.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet --disable-pip-version-check --no-deps mojo==1.2.0 mojo-compiler==1.2.0 \
  mojo-compiler-mojo-libs==1.2.0 mojo-lldb-libs==1.2.0
cat > "$folder/program.mojo" <<'PROGRAM'
from std.math import *
from std.sys import argv
from std.utils.numerics import inf, nan


def main():
    var one = Float32(len(argv()))
    var x = SIMD[DType.float32, 4](nan[DType.float32](), inf[DType.float32](), -0.0, 2) * one
    print("x", x)
    print("exp", exp(x))
    print("exp2", exp2(x))
    print("tanh", tanh(x))
    print("cosh", cosh(x))
    print("acos", acos(x), "asin", asin(x))
    print("log", log(x))
    print("sin", sin(x))
    print("erf", erf(x))
    print("exp of float64", exp(x.cast[DType.float64]()))
    print("tanh of bfloat16", tanh(x.cast[DType.bfloat16]()))
    print("clamp(x, 0, 1)", clamp(x, 0, 1))
    print("max(x, 1)", max(x, 1), "max(1, x)", max(SIMD[DType.float32, 4](1), x))
    print("reduce_max", x.reduce_max(), "reduce_min", x.reduce_min())
PROGRAM
seen=$("$folder/venv/bin/mojo" --version; HOME=$folder "$folder/venv/bin/mojo" run "$folder/program.mojo" 2> "$folder/errors")
echo "$seen"
expected='Mojo 1.2.0 (2016d0cd)
x [nan, inf, -0.0, 2.0]
exp [inf, inf, 1.0, 7.389056]
exp2 [8.507059e+37, 8.507059e+37, 1.0, 4.0]
tanh [1.0, 1.0, -0.0, 0.9640276]
cosh [inf, inf, 1.0, 3.7621958]
acos [0.0, 0.0, 1.5707964, 0.0] asin [nan, nan, -0.0, nan]
log [nan, inf, -inf, 0.6931472]
sin [nan, nan, -0.0, 0.9092974]
erf [nan, 1.0, -0.0, 0.9953223]
exp of float64 [inf, inf, 1.0, 7.389056098936909]
tanh of bfloat16 [0.99609375, 0.99609375, -0.0, 0.9609375]
clamp(x, 0, 1) [1.0, 1.0, 0.0, 1.0]
max(x, 1) [1.0, inf, 1.0, 2.0] max(1, x) [1.0, inf, 1.0, 2.0]
reduce_max inf reduce_min -0.0'
[ "$seen" = "$expected" ] || { echo changed; exit 1; }
