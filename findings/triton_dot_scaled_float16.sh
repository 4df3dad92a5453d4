#!/usr/bin/env bash
# Triton: `tl.dot_scaled` of fp4 and float16 has NaN for 0 times 2^16, and infinity for 0.5 times 2^16.
# Relied on by: docs/internals/coverage.md
#
# Guess: a scale is a power of two from 2^-127 to 2^127 and is applied without a rounding, or in float32 at least.
# Seen:  beside a float16 operand sm_90 and sm_100 convert the scale to float16 first. Bytes from 143 on (2^16) are
#   infinite, so that an element 0.0 of such a block is NaN and 0.5 is infinite, where the product, 32768, is a float16;
#   bytes to 102 (2^-25) are 0. gfx942 multiplies in float32 and gives 0 and 32768. Beside bfloat16 all have these.
#   The documentation names bfloat16 as the type of scaled operands, and float16 for gfx942 alone.
# Runs:  triton 3.9.0, numpy 2.4.6 and the python3 of PATH; no GPU. Triton 3.6.0 does so on gfx942, too.
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
def product(a, b, scales, out):
    rows, columns, packed, blocks = tl.arange(0, 128), tl.arange(0, 64), tl.arange(0, 32), tl.arange(0, 2)
    left = tl.load(a + rows[:, None] * 32 + packed[None, :])
    right = tl.load(b + columns[:, None] * 64 + columns[None, :])
    scale = tl.load(scales + rows[:, None] * 2 + blocks[None, :])
    other: tl.constexpr = "fp16" if right.dtype == tl.float16 else "bf16"
    total = tl.dot_scaled(left, scale, "e2m1", right, None, other)
    tl.store(out + rows[:, None] * 64 + columns[None, :], total)


def compiled(target, other):
    types = {"a": "*u8", "b": "*" + other, "scales": "*u8", "out": "*fp32"}
    return triton.compile(triton.compiler.ASTSource(product, types), target=target).asm


print("triton", triton.__version__)
for chip in (90, 100):
    for other in ("fp16", "bf16"):
        ir = compiled(GPUTarget("cuda", chip, 32), other)["ttgir"]
        steps = re.findall(r"= arith\.(truncf|mulf) .*? : tensor<\d+x\d+x(\w+),", ir)
        print(f"sm_{chip}, e2m1 and {other}:", [" of ".join(step) for step in steps])
ir = compiled(GPUTarget("hip", "gfx942", 64), "fp16")["llir"]
print("gfx942, e2m1 and fp16:", sorted(set(re.findall(r"fmul \w+|fptrunc \w+", ir))))
scale = np.float32(2.0**16)
with np.errstate(all="ignore"):
    for element in (0.0, 0.5):
        late = np.float16(np.float32(element) * scale)
        print(f"{element} * 2^16: {np.float16(element) * np.float16(scale)} or {late}")
PROGRAM
seen=$("$folder/venv/bin/python" -W ignore "$folder/program.py")
echo "$seen"
expected="triton 3.9.0
sm_90, e2m1 and fp16: ['truncf of f32', 'mulf of f16']
sm_90, e2m1 and bf16: ['mulf of bf16']
sm_100, e2m1 and fp16: ['truncf of f32', 'mulf of f16']
sm_100, e2m1 and bf16: ['mulf of bf16']
gfx942, e2m1 and fp16: ['fmul float', 'fptrunc float']
0.0 * 2^16: nan or 0.0
0.5 * 2^16: inf or 32768.0"
[ "$seen" = "$expected" ] || { echo changed; exit 1; }
