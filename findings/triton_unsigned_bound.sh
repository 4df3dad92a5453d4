#!/usr/bin/env bash
# Triton: `range(n)` of a loaded uint8 of 200 does not run; n is widened as if it had a sign.
#
# Guess: an unsigned bound is widened with zeros, so the loop runs 200 times, as it does in Triton's interpreter.
# Seen:  bounds of 8 and 16 bits become int32 by `arith.extsi`, whatever their sign: uint8 200 is -56, uint16 40000 is
#   -25536, and the loop and its stores do not run. uint32 and uint64 are compared as signed, and a start is widened like
#   an end; `n.to(tl.int32)` is 200. On an H200 (Triton 3.6) uint8 200 and uint16 40000 give no turn, uint8 100 gives 100.
#   So a kernel that takes counts from a uint8 tensor (experts, tokens of a block) is right until one reaches 128.
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
def counted(bound, out, FORM: tl.constexpr):
    n = tl.load(bound)
    if FORM == "range(n)":
        for turn in range(n):
            tl.store(out + turn, 1)
    elif FORM == "range(n, 1000)":
        for turn in range(n, 1000):
            tl.store(out + turn, 1)
    else:
        for turn in range(n.to(tl.int32)):
            tl.store(out + turn, 1)


print("triton", triton.__version__)
for element in ("u8", "u16", "u32", "u64"):
    for form in ("range(n)", "range(n, 1000)", "range(n.to(tl.int32))"):
        kinds = {"bound": f"*{element}", "out": "*i32", "FORM": "constexpr"}
        source = triton.compiler.ASTSource(counted, kinds, {(2,): form})
        compiled = triton.compile(source, target=GPUTarget("cuda", 90, 32)).asm
        ttir = compiled["ttir"]
        cast = re.search(r"arith\.(\w+) %n\S* : (\w+) to (\w+)", ttir)
        loop = "unsigned" if "scf.for unsigned" in ttir else "signed"
        print(f"{element}, {form}: {' '.join(cast.groups()) if cast else 'no cast'}, a {loop} loop")
PROGRAM
seen=$("$folder/venv/bin/python" -W ignore "$folder/program.py")
echo "$seen"
expected="triton 3.9.0
u8, range(n): extsi i8 i32, a signed loop
u8, range(n, 1000): extsi i8 i32, a signed loop
u8, range(n.to(tl.int32)): extui i8 i32, a signed loop
u16, range(n): extsi i16 i32, a signed loop
u16, range(n, 1000): extsi i16 i32, a signed loop
u16, range(n.to(tl.int32)): extui i16 i32, a signed loop
u32, range(n): no cast, a signed loop
u32, range(n, 1000): no cast, a signed loop
u32, range(n.to(tl.int32)): no cast, a signed loop
u64, range(n): no cast, a signed loop
u64, range(n, 1000): no cast, a signed loop
u64, range(n.to(tl.int32)): trunci i64 i32, a signed loop"
[ "$seen" = "$expected" ] || { echo changed; exit 1; }
