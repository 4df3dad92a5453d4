#!/usr/bin/env bash
# Triton: bfloat16 plus float16 is a float16, and infinite from 65520 on; int64 plus bfloat16 is a float32.
#
# Guess: two 16-bit floats of which neither holds the other meet in float32, as in PyTorch, JAX and NumPy's ml_dtypes, or
#   are refused; an integer takes the float's type, alike for both.
# Seen:  float16 wins over bfloat16 in either order, so 70000 in bfloat16 becomes infinity before it is added. An integer
#   beside float16 becomes a float16 (int32 70000 is infinity), beside bfloat16 both become float32. Only `/` and
#   `%` widen both to float32. On an H200 (Triton 3.6): 70000 + 1 is inf, inf and 70001.
# Runs:  triton 3.9.0 and the python3 of PATH; no GPU.
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
def kernel(x, y, out, OP: tl.constexpr):
    i = tl.arange(0, 128)
    a, b = tl.load(x + i), tl.load(y + i)
    if OP == "+":
        result = a + b
    elif OP == "max":
        result = tl.maximum(a, b)
    elif OP == "where":
        result = tl.where(a > b, a, b)
    else:
        result = a / b
    tl.store(out + i, result.to(tl.float64))


print("triton", triton.__version__)
names = {"+": "addf", "max": "maxnumf", "where": "select", "/": "divf"}
for x, y in (("fp16", "bf16"), ("bf16", "fp16"), ("i32", "fp16"), ("i32", "bf16"), ("i64", "bf16"), ("fp32", "bf16")):
    seen = []
    for op, name in names.items():
        kinds = {"x": f"*{x}", "y": f"*{y}", "out": "*fp64", "OP": "constexpr"}
        source = triton.compiler.ASTSource(kernel, kinds, {(3,): op})
        ttir = triton.compile(source, target=GPUTarget("cuda", 90, 32)).asm["ttir"]
        line = next(line for line in ttir.splitlines() if f"arith.{name} " in line)
        kind = re.findall(r"tensor<128x(\w+)>", line)[-1]
        seen.append(f"{op} in {kind}")
    print(f"{x}, {y}: {', '.join(seen)}")
PROGRAM
seen=$("$folder/venv/bin/python" -W ignore "$folder/program.py")
echo "$seen"
expected="triton 3.9.0
fp16, bf16: + in f16, max in f16, where in f16, / in f32
bf16, fp16: + in f16, max in f16, where in f16, / in f32
i32, fp16: + in f16, max in f16, where in f16, / in f32
i32, bf16: + in f32, max in f32, where in f32, / in f32
i64, bf16: + in f32, max in f32, where in f32, / in f32
fp32, bf16: + in f32, max in f32, where in f32, / in f32"
[ "$seen" = "$expected" ] || { echo changed; exit 1; }
