#!/usr/bin/env bash
# TileLang: `T.round` of 2.5 is 2 on NVIDIA's and 3 on AMD's GPUs.
#
# Guess: a function of the language has one meaning, and `round` is that of Python, NumPy and IEEE 754: half to even;
#   targets differ in last bits at most.
# Seen:  compiled for CUDA `T.round` is `nearbyintf`, half to even, and for HIP `roundf`, half away from zero, so a
#   quantization differs by a whole step at each half. `T.exp` is `expf` and `__expf`, the fast one, of which no option
#   was asked, and `T.sigmoid` with it. Division, `sqrt`, `floor` and `tanh` are the same functions.
# Runs:  tilelang 0.1.15, torch 2.13.0 as it needs one; no GPU and no compiler of a vendor.
set -eu
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet --disable-pip-version-check tilelang==0.1.15 torch==2.13.0
cat > "$folder/program.py" <<'PROGRAM'
import re

import tilelang
import tilelang.language as T
from tilelang import tvm


@T.prim_func
def functions(x: T.Tensor((64,), "float32"), y: T.Tensor((5, 64), "float32")):
    with T.Kernel(1, threads=64):
        for i in T.Parallel(64):
            y[0, i] = T.round(x[i])
            y[1, i] = T.exp(x[i])
            y[2, i] = T.floor(x[i])
            y[3, i] = T.sqrt(x[i])
            y[4, i] = T.tanh(x[i])


print("tilelang", tilelang.__version__)
for options in ({"kind": "cuda", "arch": "sm_90"}, {"kind": "hip", "mcpu": "gfx942"}):
    target = tvm.target.Target(options)
    with target:
        lowered = tilelang.lower(functions, target=target, enable_host_codegen=False, enable_device_compile=False)
    calls = re.findall(r"= (\w+)\(x\[", lowered.kernel_source)
    print(f"{options['kind']}: {', '.join(calls)}")
PROGRAM
seen=$("$folder/venv/bin/python" -W ignore "$folder/program.py" 2> /dev/null)
echo "$seen"
expected="tilelang 0.1.15
cuda: nearbyintf, expf, floorf, sqrtf, tanhf
hip: roundf, __expf, floorf, sqrtf, tanhf"
[ "$seen" = "$expected" ] || { echo changed; exit 1; }
