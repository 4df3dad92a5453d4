#!/usr/bin/env bash
# Triton: a Python number beside a float16 is rounded to float16 first, unless it divides.
#
# Guess: `x * 100000.0` of a float16 x is computed in float32 and rounded once, as PyTorch does, or it is refused, as
#   `x * 200` of an int8 x is ("out of range").
# Seen:  the number becomes a float16, which is infinite, without a warning: x * 100000.0 is infinite even of 0.001,
#   and a bfloat16 x is multiplied by 99840. `x / 1e-5` of the same x is computed in float32, so that two expressions of
#   one value differ, one of them infinite.
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
def product(out, x):
    tl.store(out, tl.load(x) * 100000.0)


@triton.jit
def quotient(out, x):
    tl.store(out, tl.load(x) / 1e-5)


print("triton", triton.__version__)
for kind in ("fp16", "bf16"):
    for kernel in (product, quotient):
        source = triton.compiler.ASTSource(kernel, {"out": f"*{kind}", "x": f"*{kind}"}, {})
        text = triton.compile(source, target=GPUTarget("cuda", 90, 32)).asm["ttir"]
        number, of_type = re.search(r"arith.constant (\S+) : (\w+)", text).groups()
        infinite = " (infinite)" if number == "0x7C00" else ""
        op = re.search(r"arith.(mulf|divf) .*: (\w+)", text)
        print(f"{kernel.fn.__name__} of {kind}: {op[1]} of {op[2]} by {number}{infinite}")
PROGRAM
seen=$("$folder/venv/bin/python" -W ignore "$folder/program.py")
echo "$seen"
expected="triton 3.9.0
product of fp16: mulf of f16 by 0x7C00 (infinite)
quotient of fp16: divf of f32 by 9.99999974E-6
product of bf16: mulf of bf16 by 9.984000e+04
quotient of bf16: divf of f32 by 9.99999974E-6"
[ "$seen" = "$expected" ] || { echo changed; exit 1; }
