#!/usr/bin/env bash
# Triton: `x % 1.0` and `x % y` with y = 1.0 have zeros of other signs.
# Relied on by: docs/internals/coverage.md
#
# Guess: a remainder is the same number whether the divisor is known to the compiler or not; it has the dividend's
#   sign, as C's `fmod`, or never has one.
# Seen:  with Triton 3.6.0 and 3.9.0 for sm_90, a divisor that is a constant power of two from 1 on gives the
#   dividend's sign (`copysign`), any other one (0.5, 3.0, or a loaded 1.0) that of the sum `x - trunc(x / y) * y`. On
#   an H100, -3.0 % 1.0 is -0.0 of the constant and 0.0 of the loaded number; in fp16 and bf16, 0.0 of both.
# Runs:  triton 3.9.0 and the python3 of PATH; no GPU: the values above were seen on one.
set -eu
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet --disable-pip-version-check triton==3.9.0 setuptools==80.9.0
cat > "$folder/program.py" <<'PROGRAM'
import triton
import triton.language as tl
from triton.backends.compiler import GPUTarget


@triton.jit
def rest(x, y, out, C: tl.constexpr):
    lanes = tl.arange(0, 128)
    if C == 0:
        tl.store(out + lanes, tl.load(x + lanes) % tl.load(y + lanes))
    else:
        tl.store(out + lanes, tl.load(x + lanes) % C)


print("triton", triton.__version__)
for kind, target in (("fp32", "fp32"), ("fp64", "fp64"), ("fp16", "fp16")):
    signs = []
    for divisor in (0, 1.0, 2.0, 0.5, 3.0):
        types = {"x": f"*{kind}", "y": f"*{kind}", "out": f"*{target}", "C": "constexpr"}
        source = triton.compiler.ASTSource(rest, types, {(3,): divisor})
        ptx = triton.compile(source, target=GPUTarget("cuda", 90, 32)).asm["ptx"]
        signs.append(f"{divisor or 'loaded'} {'dividend' if 'copysign' in ptx else 'sum'}")
    print(f"{kind} to {target}, whose sign:", ", ".join(signs))
PROGRAM
seen=$("$folder/venv/bin/python" -W ignore "$folder/program.py")
echo "$seen"
expected="triton 3.9.0
fp32 to fp32, whose sign: loaded sum, 1.0 dividend, 2.0 dividend, 0.5 sum, 3.0 sum
fp64 to fp64, whose sign: loaded sum, 1.0 dividend, 2.0 dividend, 0.5 sum, 3.0 sum
fp16 to fp16, whose sign: loaded sum, 1.0 sum, 2.0 sum, 0.5 sum, 3.0 sum"
[ "$seen" = "$expected" ] || { echo changed; exit 1; }
