#!/usr/bin/env bash
# Triton: a float beyond int8 or uint8 becomes another number on NVIDIA, on AMD and in PyTorch.
# Relied on by: docs/internals/coverage.md
#
# Guess: `.to(tl.int8)` saturates, as to int32, or keeps the low bits, as PyTorch's: 300.0 is 127 or 44, and -1.0 to
#   uint8 is 0 or 255, alike on all GPUs.
# Seen:  it does both. NVIDIA converts to 16 bits, saturated, and stores the low eight: 300 is 44 and 40000 is -1. To
#   uint8 the 16 bits have no sign: -1 and -300 are 0, 300 is 44, 70000 is 255. AMD converts to a signed int32 and
#   stores its low eight bits, of float16 to int16: -1 to uint8 is 255, 40000 is 64. On an H200 (Triton 3.6, torch 2.11)
#   the numbers of sm_90 below came out, and `x.to(torch.uint8)` had 255, 212, 44, 64 and 112, as AMD. A kernel that
#   quantizes without `tl.clamp` so agrees with PyTorch on AMD and not on NVIDIA.
# Runs:  triton 3.9.0, numpy 2.4.6 and the python3 of PATH; no GPU: numpy computes the compiled instructions.
set -eu
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet --disable-pip-version-check triton==3.9.0 setuptools==80.9.0 numpy==2.4.6
cat > "$folder/program.py" <<'PROGRAM'
import re

import numpy as np
import triton
import triton.language as tl
from triton.backends.compiler import GPUTarget


@triton.jit
def converted(x, out):
    lanes = tl.arange(0, 128)
    tl.store(out + lanes, tl.load(x + lanes).to(out.dtype.element_ty))


def stored(instruction, kind):
    """The numbers below by an instruction that saturates, and a store of its result's low bits."""
    sign, bits = re.search(r"([siu])(16|32)", instruction).groups()
    wide = np.iinfo(f"{'uint' if sign == 'u' else 'int'}{bits}")
    whole = np.clip(np.trunc(numbers), wide.min, wide.max).astype(wide.dtype)
    return whole.astype(kind).tolist()


numbers = np.array([-1.0, -300.0, 300.0, 40000.0, 70000.0])
print("triton", triton.__version__, "numbers", numbers.tolist())
for short, kind in (("i8", np.int8), ("u8", np.uint8)):
    for target in (GPUTarget("cuda", 90, 32), GPUTarget("hip", "gfx942", 64)):
        source = triton.compiler.ASTSource(converted, {"x": "*fp32", "out": f"*{short}"})
        asm = triton.compile(source, target=target).asm
        text = asm["ptx"] if target.backend == "cuda" else asm["amdgcn"]
        (instruction,) = set(re.findall(r"cvt\.rzi\.\S+|v_cvt_[iu]\d+_f32", text))
        print(f"to {short} on {target.arch}: {instruction} has {stored(instruction, kind)}")
PROGRAM
seen=$("$folder/venv/bin/python" -W ignore "$folder/program.py")
echo "$seen"
expected="triton 3.9.0 numbers [-1.0, -300.0, 300.0, 40000.0, 70000.0]
to i8 on 90: cvt.rzi.s16.f32 has [-1, -44, 44, -1, -1]
to i8 on gfx942: v_cvt_i32_f32 has [-1, -44, 44, 64, 112]
to u8 on 90: cvt.rzi.u16.f32 has [0, 0, 44, 64, 255]
to u8 on gfx942: v_cvt_i32_f32 has [255, 212, 44, 64, 112]"
[ "$seen" = "$expected" ] || { echo changed; exit 1; }
