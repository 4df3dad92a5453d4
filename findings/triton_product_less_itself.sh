#!/usr/bin/env bash
# Triton: `x * y - x * y` is not 0, and a sum made in float32 is computed in float16.
# Relied on by: docs/internals/coverage.md
#
# Guess: equal products are one value, so their difference is 0; `(a * b).to(tl.float32) + c.to(tl.float32)` rounds the
#   product to float16 and adds in float32, whatever the type of the store.
# Seen:  with Triton 3.9.0 for sm_90, LLVM fuses one of the equal products with the subtraction: fma(x, y, -(x * y)) is
#   what rounding cut off. Stored to float16, the sum is narrowed and fused: one `fma.rn.f16`, the product never
#   rounded; stored to float32 it is as written. On an H100 (Triton 3.6), 1 + 2^-12 times itself less the same product
#   is 2^-24, and (1 + 2^-6)^2 - (1 + 2^-5) in float16 is 2^-12 by way of float32, too.
# Runs:  triton 3.9.0 and the python3 of PATH; no GPU: the values above were seen on one.
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


def compiled(kernel, types, **options):
    types = {name: types.get(name, "constexpr") for name in kernel.arg_names}
    source = triton.compiler.ASTSource(kernel, types, {(len(types) - 1,): 128})
    return triton.compile(source, target=GPUTarget("cuda", 90, 32), options=options).asm




@triton.jit
def itself(x, y, out, N: tl.constexpr):
    lanes = tl.arange(0, N)
    a, b = tl.load(x + lanes), tl.load(y + lanes)
    tl.store(out + lanes, a * b - a * b)


@triton.jit
def widened(x, y, z, out, N: tl.constexpr):
    lanes = tl.arange(0, N)
    product = tl.load(x + lanes) * tl.load(y + lanes)
    tl.store(out + lanes, product.to(tl.float32) + tl.load(z + lanes).to(tl.float32))


def sums(asm):
    return ", ".join(re.findall(r"\b((?:fma|mul|add|sub)(?:\.rn)?\.f\d\d)\b", asm["ptx"]))


print("triton", triton.__version__)
print("x * y - x * y:", sums(compiled(itself, dict.fromkeys(("x", "y", "out"), "*fp32"))))
for target in ("fp16", "fp32"):
    types = dict.fromkeys(("x", "y", "z"), "*fp16") | {"out": f"*{target}"}
    print(f"float16 products added in float32, stored as {target}:", sums(compiled(widened, types)))
PROGRAM
seen=$("$folder/venv/bin/python" -W ignore "$folder/program.py")
echo "$seen"
expected="triton 3.9.0
x * y - x * y: mul.f32, fma.rn.f32
float16 products added in float32, stored as fp16: fma.rn.f16
float16 products added in float32, stored as fp32: mul.f16, add.f32"
[ "$seen" = "$expected" ] || { echo changed; exit 1; }
