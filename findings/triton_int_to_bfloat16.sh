#!/usr/bin/env bash
# Triton: an integer becomes another bfloat16 on an A100 than on an H100, and on an H100 another than in PyTorch.
# Relied on by: docs/internals/coverage.md
#
# Guess: an int32 is rounded to bfloat16 once, or by way of float32, alike on all targets, as fp64 is.
# Seen:  sm_90 and sm_100 have one instruction, `cvt.rn.bf16.s32`, and round once: 16842753 is 16908288, the nearer. For
#   sm_80 and gfx942 it goes by float32, which drops the last 1, and then ties to even: 16777216. PyTorch 2.11 has
#   16777216 on an H200, too, where Triton 3.6 had 16908288. From fp64 sm_80 rounds once, as it corrects the float32.
# Runs:  triton 3.9.0, ml_dtypes 0.6.0, numpy 2.4.6 and the python3 of PATH; no GPU: numpy computes the conversions.
set -eu
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet --disable-pip-version-check triton==3.9.0 setuptools==80.9.0 \
  ml_dtypes==0.6.0 numpy==2.4.6
cat > "$folder/program.py" <<'PROGRAM'
import re
from fractions import Fraction

import ml_dtypes
import numpy as np
import triton
import triton.language as tl
from triton.backends.compiler import GPUTarget


@triton.jit
def converted(x, out):
    lanes = tl.arange(0, 128)
    tl.store(out + lanes, tl.load(x + lanes).to(out.dtype.element_ty))


number = 16842753
by_way = np.float32(number).astype(ml_dtypes.bfloat16)
near = [by_way, np.nextafter(by_way, ml_dtypes.bfloat16(np.inf))]
once = min(near, key=lambda value: abs(Fraction(float(value)) - number))
print("triton", triton.__version__)
for name, kind in (("int32", "i32"), ("fp64", "fp64")):
    for target in (80, 90, 100, "gfx942"):
        gpu = GPUTarget("hip", target, 64) if target == "gfx942" else GPUTarget("cuda", target, 32)
        source = triton.compiler.ASTSource(converted, {"x": f"*{kind}", "out": "*bf16"})
        asm = triton.compile(source, target=gpu).asm
        text = asm["amdgcn"] if target == "gfx942" else asm["ptx"]
        conversions = r"cvt\.rn\.\S+|cvt\.f64\.f32|v_cvt_\w+_[iu]32|v_cvt_\w*f64\w*"
        found = sorted(set(re.findall(conversions, text)))
        print(f"{name} for {target}: {', '.join(found)}")
print(f"{number}: {int(once)} rounded once, {int(by_way)} by way of float32")
PROGRAM
seen=$("$folder/venv/bin/python" -W ignore "$folder/program.py")
echo "$seen"
expected="triton 3.9.0
int32 for 80: cvt.rn.bf16.f32, cvt.rn.f32.s32
int32 for 90: cvt.rn.bf16.s32
int32 for 100: cvt.rn.bf16.s32
int32 for gfx942: v_cvt_f32_i32
fp64 for 80: cvt.f64.f32, cvt.rn.bf16.f32, cvt.rn.f32.f64
fp64 for 90: cvt.rn.bf16.f64
fp64 for 100: cvt.rn.bf16.f64
fp64 for gfx942: v_cvt_f32_f64_e32, v_cvt_f64_f32_e32
16842753: 16908288 rounded once, 16777216 by way of float32"
[ "$seen" = "$expected" ] || { echo changed; exit 1; }
