#!/usr/bin/env bash
# numba-cuda: `x**2` of integers is rounded to float64 and back, so 94906267**2 is one less than 94906267 * 94906267.
#
# Guess: a power of integers by a constant is made of integer products, or it is a float; `x**2` is `x * x`, and a
#   kernel has the numbers of the same function under `njit`.
# Seen:  its type is int64, its products are exact or wrap around, and then two conversions follow: to float64, to the
#   nearest, and to int64. So all beyond 2^53 loses its low bits, `x**3` of a uint64 in a hash as well. `njit` for the
#   CPU and the simulator are exact.
# Runs:  numba-cuda 0.30.4, numba 0.68.1, nvidia-nvvm and nvidia-cuda-nvrtc 13.5.37 (PTX for sm_90), numpy 2.4.6; no GPU.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet --disable-pip-version-check --no-deps numba-cuda==0.30.4 numba==0.68.1 llvmlite==0.50.0 \
  cuda-bindings==13.5.0 cuda-core==1.2.2 cuda-pathfinder==1.9.1 nvidia-nvvm==13.5.37 nvidia-cuda-nvrtc==13.5.37 \
  nvidia-cuda-runtime==13.5.37 numpy==2.4.6 packaging==26.4
cat > "$folder/program.py" <<'PROGRAM'
from importlib.metadata import version

import numba
import numpy as np
from numba import cuda

print(", ".join(f"{name} {version(name)}" for name in ("numba-cuda", "numba")))


def square(x):
    return x**2


def product(x):
    return x * x


def cube(x):
    return x**3


for function, dtype in ((product, numba.int64), (square, numba.int64), (square, numba.int32), (cube, numba.uint64)):
    ptx, result = cuda.compile_ptx(function, (dtype,), device=True, cc=(9, 0))
    steps = [line.split()[0] for line in ptx.splitlines() if line.strip().startswith(("mul", "cvt.rn", "cvt.rz"))]
    print(f"{function.__name__} of {dtype} is {result}: {' '.join(steps)}")
exact = 94906267**2
print("94906267**2: njit", numba.njit(square)(np.int64(94906267)), "by those conversions", int(np.float64(exact)))
PROGRAM
seen=$("$folder/venv/bin/python" -W ignore "$folder/program.py")
echo "$seen"
expected='numba-cuda 0.30.4, numba 0.68.1
product of int64 is int64: mul.lo.s64
square of int64 is int64: mul.lo.s64 cvt.rn.f64.s64 cvt.rzi.s64.f64
square of int32 is int64: mul.wide.s32 cvt.rn.f64.s64 cvt.rzi.s64.f64
cube of uint64 is int64: mul.lo.s64 mul.lo.s64 cvt.rn.f64.s64 cvt.rzi.s64.f64
94906267**2: njit 9007199515875289 by those conversions 9007199515875288'
[ "$seen" = "$expected" ] || { echo changed; exit 1; }
