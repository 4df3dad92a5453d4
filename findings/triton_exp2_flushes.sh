#!/usr/bin/env bash
# Triton: `tl.exp` keeps subnormal results and `tl.exp2` does not; `tl.sqrt` and `tl.rsqrt` take subnormals for zero.
# Relied on by: docs/internals/coverage.md
#
# Guess: `exp` is `exp2` of a multiple, so that both treat numbers below 2^-126 alike, as `+` and `*` do.
# Seen:  on NVIDIA `exp` is `ex2.approx.f32` and `exp2` is `ex2.approx.ftz.f32`: exp2(-130) is 0, and exp(-130 ln 2) is
#   2^-130. A softmax rewritten to exp2 has zeros where the other had small numbers. sqrt(1e-40) is 0 in place of
#   1e-20, a normal number, and rsqrt(1e-40) is infinite; `sqrt_rn` and `/` keep subnormals. On AMD the same three are
#   the bare instructions, and `exp`, `sqrt_rn` and `/` those of LLVM, which scale subnormals first.
# Runs:  triton 3.9.0 and the python3 of PATH; no GPU. Triton 3.6.0 and 3.7.1 have the same PTX.
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
def function(x, out, KIND: tl.constexpr):
    number = tl.load(x)
    if KIND == "exp":
        number = tl.exp(number)
    elif KIND == "exp2":
        number = tl.exp2(number)
    elif KIND == "sqrt":
        number = tl.sqrt(number)
    elif KIND == "sqrt_rn":
        number = tl.sqrt_rn(number)
    elif KIND == "rsqrt":
        number = tl.rsqrt(number)
    else:
        number = 1.0 / number
    tl.store(out, number)


print("triton", triton.__version__)
for kind in ("exp", "exp2", "sqrt", "sqrt_rn", "rsqrt", "1 / x"):
    source = triton.compiler.ASTSource(function, {"x": "*fp32", "out": "*fp32", "KIND": "constexpr"}, {(2,): kind})
    ptx = triton.compile(source, target=GPUTarget("cuda", 90, 32)).asm["ptx"]
    llvm = triton.compile(source, target=GPUTarget("hip", "gfx942", 64)).asm["llir"]
    nvidia = re.findall(r"\b(?:ex2|sqrt|rsqrt|div)\.\S+", ptx)
    amd = re.findall(r"call \S+ @(llvm\.(?:amdgcn\.)?(?:exp|sqrt|rsq)\w*)|(fdiv) ", llvm)
    print(f"{kind}: {nvidia}, {[first or second for first, second in amd]}")
PROGRAM
seen=$("$folder/venv/bin/python" -W ignore "$folder/program.py")
echo "$seen"
expected="triton 3.9.0
exp: ['ex2.approx.f32'], ['llvm.exp2']
exp2: ['ex2.approx.ftz.f32'], ['llvm.amdgcn.exp2']
sqrt: ['sqrt.approx.ftz.f32'], ['llvm.amdgcn.sqrt']
sqrt_rn: ['sqrt.rn.f32'], ['llvm.sqrt']
rsqrt: ['rsqrt.approx.ftz.f32'], ['llvm.amdgcn.rsq']
1 / x: ['div.full.f32'], ['fdiv']"
[ "$seen" = "$expected" ] || { echo changed; exit 1; }
