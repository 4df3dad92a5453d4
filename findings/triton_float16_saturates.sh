#!/usr/bin/env bash
# Triton on AMD: a kernel that converts anything to an 8-bit float also computes float16 differently.
# Relied on by: docs/internals/coverage.md
#
# Guess: how 8-bit floats are made concerns these numbers alone; a float16 product beside them overflows to infinity.
# Seen:  a conversion to an 8-bit float, by an instruction or in software, sets bit 23 of MODE at the kernel's start
#   and never takes it back: FP16_OVFL of AMD's ISA, by which each float16 result that overflows is ±65504, and only
#   infinite operands give infinity. A test for overflow, `x * y == inf`, is false in that kernel, and true on NVIDIA and
#   in the same kernel without the conversion. The other direction, a load of 8-bit floats, leaves the mode as it is.
# Runs:  triton 3.9.0 and the python3 of PATH; no GPU. Triton 3.6.0 gives the same lines.
set -eu
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet --disable-pip-version-check triton==3.9.0 setuptools==80.9.0
cat > "$folder/program.py" <<'PROGRAM'
import re

import triton
import triton.language as tl
from triton.backends.compiler import GPUTarget


@triton.jit
def product(x, y, products, source, narrow, KIND: tl.constexpr):
    lane = tl.arange(0, 128)
    tl.store(products + lane, tl.load(x + lane) * tl.load(y + lane))
    if KIND is not None:
        tl.store(narrow + lane, tl.load(source + lane).to(KIND))


def instructions(chip, source, kind, name):
    types = {"x": "*fp16", "y": "*fp16", "products": "*fp16", "source": "*" + source, "narrow": "*" + name}
    target = GPUTarget("hip", chip, 64)
    asked = triton.compiler.ASTSource(product, types | {"KIND": "constexpr"}, {(5,): kind})
    lines = triton.compile(asked, target=target).asm["amdgcn"].splitlines()
    found = (re.search(r"hwreg\(HW_REG_MODE, 23, 1\), 1|v_mul_f16", line) for line in lines)
    return ", ".join(match.group() for match in found if match)


print("triton", triton.__version__)
for chip in ("gfx90a", "gfx942", "gfx950"):
    for source, kind, name in (("fp32", None, "fp32"), ("fp32", tl.bfloat16, "bf16"), ("fp8e5", tl.float32, "fp32"),
                               ("fp32", tl.float8e5, "fp8e5"), ("fp32", tl.float8e4nv, "fp8e4nv")):
        beside = "nothing else" if kind is None else f"{source} to {name}"
        print(f"{chip}, product and {beside}: {instructions(chip, source, kind, name)}")
PROGRAM
seen=$("$folder/venv/bin/python" -W ignore "$folder/program.py")
echo "$seen"
expected="triton 3.9.0
gfx90a, product and nothing else: v_mul_f16
gfx90a, product and fp32 to bf16: v_mul_f16
gfx90a, product and fp8e5 to fp32: v_mul_f16
gfx90a, product and fp32 to fp8e5: hwreg(HW_REG_MODE, 23, 1), 1, v_mul_f16
gfx90a, product and fp32 to fp8e4nv: hwreg(HW_REG_MODE, 23, 1), 1, v_mul_f16
gfx942, product and nothing else: v_mul_f16
gfx942, product and fp32 to bf16: v_mul_f16
gfx942, product and fp8e5 to fp32: v_mul_f16
gfx942, product and fp32 to fp8e5: hwreg(HW_REG_MODE, 23, 1), 1, v_mul_f16
gfx942, product and fp32 to fp8e4nv: hwreg(HW_REG_MODE, 23, 1), 1, v_mul_f16
gfx950, product and nothing else: v_mul_f16
gfx950, product and fp32 to bf16: v_mul_f16
gfx950, product and fp8e5 to fp32: v_mul_f16
gfx950, product and fp32 to fp8e5: hwreg(HW_REG_MODE, 23, 1), 1, v_mul_f16
gfx950, product and fp32 to fp8e4nv: hwreg(HW_REG_MODE, 23, 1), 1, v_mul_f16"
[ "$seen" = "$expected" ] || { echo changed; exit 1; }
