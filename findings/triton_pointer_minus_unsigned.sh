#!/usr/bin/env bash
# Triton: a pointer minus an unsigned offset lies behind the pointer, up to 2^32 elements behind.
#
# Guess: `p - n` is n elements before p for any integer type of n, as `p + n` is n elements after it.
# Seen:  an unsigned offset of 8, 16 or 32 bits is negated in its own type, where it wraps around, and then widened
#   without a sign: `p - 1` is p + 255, p + 65535 or p + 4294967295. Signed offsets and unsigned ones of 64 bits are as
#   guessed.
# Runs:  triton 3.9.0 and the python3 of PATH; no GPU. Triton 3.6.0 does the same.
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
def before(p, KIND: tl.constexpr):
    tl.store(p - tl.full((), 1, KIND), 1.0)


print("triton", triton.__version__)
for kind in (tl.int8, tl.int32, tl.uint8, tl.uint16, tl.uint32, tl.uint64):
    source = triton.compiler.ASTSource(before, {"p": "*fp32", "KIND": "constexpr"}, {(1,): kind})
    ptx = triton.compile(source, target=GPUTarget("cuda", 90, 32)).asm["ptx"]
    bytes_ = int(re.search(r"add\.s64\s+\S+, \S+, (-?\d+);", ptx).group(1))
    print(f"p - 1 of {kind}: p + {bytes_ // 4}")
PROGRAM
seen=$("$folder/venv/bin/python" -W ignore "$folder/program.py")
echo "$seen"
expected="triton 3.9.0
p - 1 of int8: p + -1
p - 1 of int32: p + -1
p - 1 of uint8: p + 255
p - 1 of uint16: p + 65535
p - 1 of uint32: p + 4294967295
p - 1 of uint64: p + -1"
[ "$seen" = "$expected" ] || { echo changed; exit 1; }
