#!/usr/bin/env bash
# Mojo: tanh of float16 falls from 0.9917 at 3 to 0.866 at infinity, ldexp(1, -130) is -8.5e37, exp2(128) is 8.5e37.
#
# Guess: functions are right but for last bits: tanh rises to 1, a power of two that does not fit is 0 or infinite, and
#   a float64 has the accuracy of a float64.
# Seen:  on a CPU tanh of float16 falls beyond 3 and is wrong by 13 % for large arguments; an exponent that does not fit
#   reaches the sign of ldexp; exp2 of float32 stays between 2^-126 and 2^126, exp is infinite from 88.5 on (88.72);
#   exp of a float64 has 12 right digits of 16; sinh(89) is NaN and cosh(89) infinite (2.2e38).
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
from std.utils.numerics import inf


def main():
    var one = Float32(len(argv()))
    var x = SIMD[DType.float32, 8](0.5, 1, 2, 3, 5, 8, 20, inf[DType.float32]()) * one
    print("x", x)
    print("tanh of float16", tanh(x.cast[DType.float16]()))
    print("tanh of float32", tanh(x))
    print("ldexp(1, -130)", ldexp(one, Int32(-130)), "ldexp(1, 200)", ldexp(one, Int32(200)))
    print("exp2 of 126, 127, 128, inf", exp2(SIMD[DType.float32, 4](126, 127, 128, inf[DType.float32]()) * one))
    print("exp2 of -126, -127, -149, -inf", exp2(SIMD[DType.float32, 4](-126, -127, -149, -inf[DType.float32]()) * one))
    print("exp of 88, 88.5, -87.4, -88", exp(SIMD[DType.float32, 4](88, 88.5, -87.4, -88) * one))
    print("exp of float64 1, 2", exp((SIMD[DType.float32, 2](1, 2) * one).cast[DType.float64]()))
    print("sinh(89)", sinh(89 * one), "cosh(89)", cosh(89 * one))
PROGRAM
seen=$("$folder/venv/bin/mojo" --version; HOME=$folder "$folder/venv/bin/mojo" run "$folder/program.mojo" 2> "$folder/errors")
echo "$seen"
expected='Mojo 1.2.0 (2016d0cd)
x [0.5, 1.0, 2.0, 3.0, 5.0, 8.0, 20.0, inf]
tanh of float16 [0.46191406, 0.76171875, 0.9633789, 0.9916992, 0.9746094, 0.8984375, 0.86621094, 0.86621094]
tanh of float32 [0.46211717, 0.7615942, 0.9640276, 0.9950547, 0.99990916, 0.99999976, 1.0, 1.0]
ldexp(1, -130) -8.507059e+37 ldexp(1, 200) -1.3877788e-17
exp2 of 126, 127, 128, inf [8.507059e+37, 8.507059e+37, 8.507059e+37, 8.507059e+37]
exp2 of -126, -127, -149, -inf [1.1754944e-38, 1.1754944e-38, 1.1754944e-38, 1.1754944e-38]
exp of 88, 88.5, -87.4, -88 [1.6516359e+38, inf, 1.103219e-38, 0.0]
exp of float64 1, 2 [2.718281828459813, 7.389056098936909]
sinh(89) nan cosh(89) inf'
[ "$seen" = "$expected" ] || { echo changed; exit 1; }
