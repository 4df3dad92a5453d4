#!/usr/bin/env bash
# Triton: `x >> n` of a negative int32 and a uint32 is an arithmetic shift whose result is unsigned: -8 >> 1 is 4294967292.
#
# Guess: the result is -4, as in C, where the left operand has the say, in NumPy and in Triton's interpreter; or
#   2147483644, if the operands become uint32 first, as they do for `+`, `<` and `min`.
# Seen:  neither: bits move by `arith.shrsi`, with the left operand's sign, and the result has the promoted type uint32,
#   so that widening fills in zeros. int8 -8 by uint8 1 is 252. `//` and `%` of mixed signs are refused, `<` is unsigned
#   (-1 < 1 is false). An H200 (Triton 3.6) has 4294967292 and 252, the interpreter -4.
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
def kernel(x, n, out, OP: tl.constexpr):
    i = tl.arange(0, 128)
    a, b = tl.load(x + i), tl.load(n + i)
    if OP == ">>":
        result = a >> b
    elif OP == "min":
        result = tl.minimum(a, b)
    else:
        result = a < b
    tl.store(out + i, result.to(tl.int64))


print("triton", triton.__version__)
for x, n in (("i32", "u32"), ("i8", "u8"), ("i32", "u8"), ("i8", "i32")):
    seen = []
    for op in (">>", "min", "<"):
        kinds = {"x": f"*{x}", "n": f"*{n}", "out": "*i64", "OP": "constexpr"}
        source = triton.compiler.ASTSource(kernel, kinds, {(3,): op})
        ttir = triton.compile(source, target=GPUTarget("cuda", 90, 32)).asm["ttir"]
        applied = re.search(r"arith\.(shr\w+|min\w+|cmpi \w+)", ttir)[1]
        seen.append(f"{op} is {applied}" + (f" and then {re.findall(r'arith.(ext[su]i)', ttir)[-1]}" if op == ">>" else ""))
    print(f"{x}, {n}: {'; '.join(seen)}")
PROGRAM
seen=$("$folder/venv/bin/python" -W ignore "$folder/program.py")
echo "$seen"
expected="triton 3.9.0
i32, u32: >> is shrsi and then extui; min is minui; < is cmpi ult
i8, u8: >> is shrsi and then extui; min is minui; < is cmpi ult
i32, u8: >> is shrsi and then extsi; min is minsi; < is cmpi slt
i8, i32: >> is shrsi and then extsi; min is minsi; < is cmpi slt"
[ "$seen" = "$expected" ] || { echo changed; exit 1; }
