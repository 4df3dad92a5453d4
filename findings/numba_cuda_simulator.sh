#!/usr/bin/env bash
# numba-cuda: the simulator has other numbers than the compiled kernel: 2147483647 + 1, float32 * 0.1, popc(-1), NaN.
#
# Guess: `NUMBA_ENABLE_CUDASIM=1` runs a kernel with the numbers of the compiled one, but for last bits.
# Seen:  the simulator computes with NumPy's scalars. int32 stays 32 bits wide there and is 64 in a kernel, so a sum wraps
#   around in one and not in the other; `x * 0.1` of a float32 is a float32 there and a float64 in a kernel; 1 << 40 is
#   0; the larger of NaN and 1 is NaN if NaN comes first (`max.f32` drops it); popc counts the digits of "-0b1"; clz of
#   an int8 counts from 32 bits.
# Runs:  numba-cuda 0.30.4, numba 0.68.1, nvidia-nvvm and nvidia-cuda-nvrtc 13.5.37 (PTX for sm_90), numpy 2.4.6; no GPU.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet --disable-pip-version-check --no-deps numba-cuda==0.30.4 numba==0.68.1 llvmlite==0.50.0 \
  cuda-bindings==13.5.0 cuda-core==1.2.2 cuda-pathfinder==1.9.1 nvidia-nvvm==13.5.37 nvidia-cuda-nvrtc==13.5.37 \
  nvidia-cuda-runtime==13.5.37 numpy==2.4.6 packaging==26.4
cat > "$folder/program.py" <<'PROGRAM'
import os
from importlib.metadata import version

import numba
import numpy as np
from numba import cuda

SIMULATED = os.environ.get("NUMBA_ENABLE_CUDASIM") == "1"
INSTRUCTIONS = ("add", "sub", "mul", "fma", "shl", "max", "popc", "clz", "div", "cvt.f64", "cvt.rn")


def total(x, out):
    out[0] = x[0] + x[1]


def scaled(x, out):
    out[0] = x[0] * 0.1 + x[1]


def shifted(x, out):
    out[0] = x[0] << 40


def larger(x, out):
    out[0] = max(x[0], x[1])


def bits(x, out):
    out[0] = cuda.popc(x[0])


def zeros(x, out):
    out[0] = cuda.clz(x[0])


def half(x, out):
    out[0] = x[0] / 3 * 3


CASES = (
    (total, "int32", "int64", [2147483647, 1]),
    (total, "uint8", "int64", [255, 1]),
    (scaled, "float32", "float64", [0.3, 1]),
    (half, "float32", "float64", [0.1, 0]),
    (shifted, "int32", "int64", [1, 0]),
    (larger, "float32", "float64", [float("nan"), 1]),
    (larger, "float32", "float64", [1, float("nan")]),
    (bits, "int32", "int32", [-1, 0]),
    (zeros, "int8", "int32", [1, 0]),
)


def simulated(function, dtype, out_dtype, numbers):
    out = np.zeros(1, out_dtype)
    with np.errstate(all="ignore"):
        cuda.jit(function)[1, 1](np.array(numbers, dtype), out)
    return out[0]


def compiled(function, dtype, out_dtype):
    types = tuple(numba.types.Array(getattr(numba, name), 1, "C") for name in (dtype, out_dtype))
    lines = [line.strip() for line in cuda.compile_ptx(function, types, cc=(9, 0))[0].splitlines()]
    return " ".join(line.split()[0] for line in lines if line.startswith(INSTRUCTIONS))


if not SIMULATED:
    print(", ".join(f"{name} {version(name)}" for name in ("numba-cuda", "numba")))
for function, dtype, out_dtype, numbers in CASES:
    seen = simulated(function, dtype, out_dtype, numbers) if SIMULATED else compiled(function, dtype, out_dtype)
    print(f"{'simulated' if SIMULATED else 'compiled'}: {function.__name__} of {dtype} {numbers}: {seen}")
PROGRAM
seen=$("$folder/venv/bin/python" -W ignore "$folder/program.py"
  NUMBA_ENABLE_CUDASIM=1 "$folder/venv/bin/python" -W ignore "$folder/program.py")
echo "$seen"
expected='numba-cuda 0.30.4, numba 0.68.1
compiled: total of int32 [2147483647, 1]: add.s64
compiled: total of uint8 [255, 1]: add.s64
compiled: scaled of float32 [0.3, 1]: cvt.f64.f32 cvt.f64.f32 fma.rn.f64
compiled: half of float32 [0.1, 0]: cvt.f64.f32 div.rn.f64 mul.f64
compiled: shifted of int32 [1, 0]: shl.b64
compiled: larger of float32 [nan, 1]: max.f32 cvt.f64.f32
compiled: larger of float32 [1, nan]: max.f32 cvt.f64.f32
compiled: bits of int32 [-1, 0]: popc.b32
compiled: zeros of int8 [1, 0]: clz.b32 sub.s16 add.s16
simulated: total of int32 [2147483647, 1]: -2147483648
simulated: total of uint8 [255, 1]: 0
simulated: scaled of float32 [0.3, 1]: 1.0299999713897705
simulated: half of float32 [0.1, 0]: 0.10000000894069672
simulated: shifted of int32 [1, 0]: 0
simulated: larger of float32 [nan, 1]: nan
simulated: larger of float32 [1, nan]: 1.0
simulated: bits of int32 [-1, 0]: 1
simulated: zeros of int8 [1, 0]: 31'
[ "$seen" = "$expected" ] || { echo changed; exit 1; }
