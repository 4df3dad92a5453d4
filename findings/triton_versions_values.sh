#!/usr/bin/env bash
# Triton: expressions whose values another release changes, without a warning in either.
# Relied on by: docs/internals/coverage.md
#
# Guess: between two releases a kernel's values may differ in last bits and in the order of sums; negation,
#   constants, conversions and integers keep them.
# Seen:  from Triton 3.6.0 to 3.9.0, of six expressions for sm_90, each as its IR has it and an H100 computed it:
#   `-x` of 0.0 was 0 - x, so 0.0, and is -0.0; `tl.full(.., -0.0, ..)` was 0.0 and is -0.0; 0.5 stored into a Boolean
#   was converted to an integer first, so false, and is true; `tl.cumprod` of int8 wrapped at 8 bits and is computed in
#   32; `tl.maximum(x, 0.1)` of fp64 took 0.1 in fp32 and takes it in fp64. `x % y` is as it was.
# Runs:  triton 3.6.0 and 3.9.0 and the python3 of PATH; no GPU: the IR is read.
set -eu
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
for version in 3.6.0 3.9.0; do
  python3 -m venv "$folder/$version"
  "$folder/$version/bin/pip" install --quiet --disable-pip-version-check triton==$version setuptools==80.9.0
done
cat > "$folder/program.py" <<'PROGRAM'
import triton
import triton.language as tl
from triton.backends.compiler import GPUTarget


@triton.jit
def kernel(x, out, OP: tl.constexpr):
    lanes = tl.arange(0, 16)
    if OP == "negation":
        tl.store(out + lanes, -tl.load(x + lanes))
    elif OP == "full":
        tl.store(out + lanes, tl.full([16], -0.0, tl.float32))
    elif OP == "store":
        tl.store(out + lanes, tl.load(x + lanes))
    elif OP == "cumprod":
        tl.store(out + lanes, tl.cumprod(tl.load(x + lanes), 0))
    elif OP == "maximum":
        tl.store(out + lanes, tl.maximum(tl.load(x + lanes), 0.1))
    else:
        tl.store(out + lanes, tl.load(x + lanes) % tl.load(out + lanes))


MARKS = {
    "negation": ("fp32", "fp32", "arith.negf"),
    "full": ("fp32", "fp32", "dense<-0.0"),
    "store": ("fp32", "i1", "arith.cmpf une"),
    "cumprod": ("i8", "i32", ": i32 loc"),
    "maximum": ("fp64", "fp64", "dense<1.000000e-01>"),
    "remainder": ("fp32", "fp32", "arith.remf"),
}
for case, (source, target, mark) in MARKS.items():
    types = {"x": f"*{source}", "out": f"*{target}", "OP": "constexpr"}
    text = triton.compiler.ASTSource(kernel, types, {(2,): case})
    ttir = triton.compile(text, target=GPUTarget("cuda", 90, 32)).asm["ttir"]
    lines = [line for line in ttir.splitlines() if case != "cumprod" or "arith.muli" in line]
    print(triton.__version__, case, any(mark in line for line in lines))
PROGRAM
seen=$(for version in 3.6.0 3.9.0; do "$folder/$version/bin/python" -W ignore "$folder/program.py"; done)
echo "$seen"
expected="3.6.0 negation False
3.6.0 full False
3.6.0 store False
3.6.0 cumprod False
3.6.0 maximum False
3.6.0 remainder True
3.9.0 negation True
3.9.0 full True
3.9.0 store True
3.9.0 cumprod True
3.9.0 maximum True
3.9.0 remainder True"
[ "$seen" = "$expected" ] || { echo changed; exit 1; }
