#!/usr/bin/env bash
# Triton: whether a sum of int8 products wraps around or saturates depends on the number of a block's rows.
# Relied on by: docs/internals/coverage.md
#
# Guess: `tl.dot` of int8 adds in int32, which wraps around as all integers of the language do; or it saturates,
#   for each shape of a block.
# Seen:  with Triton 3.6.0 and 3.9.0 for sm_90 blocks of 16 and 32 rows use `mma` with `.satfinite`, which cuts off
#   after every 32 terms, blocks of 64 and 128 rows `wgmma` without it. On an H100, 127 * 127 * 32 added to 2^31 - 1
#   is 2147483647 with 16 rows and -2146967521 with 64. Two warps instead of four let 64 rows saturate, too. So an
#   autotuner that compares only times chooses between two results.
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


@triton.jit
def product(x, y, out, M: tl.constexpr):
    m, n, k = tl.arange(0, M)[:, None], tl.arange(0, 16), tl.arange(0, 32)
    left, right = tl.load(x + m * 32 + k[None, :]), tl.load(y + k[:, None] * 16 + n[None, :])
    tl.store(out + m * 16 + n[None, :], tl.dot(left, right, tl.load(out + m * 16 + n[None, :])))


print("triton", triton.__version__)
types = {"x": "*i8", "y": "*i8", "out": "*i32", "M": "constexpr"}
for rows in (16, 32, 64, 128):
    for warps in (2, 4):
        source = triton.compiler.ASTSource(product, types, {(3,): rows})
        target = GPUTarget("cuda", 90, 32)
        ptx = triton.compile(source, target=target, options={"num_warps": warps}).asm["ptx"]
        name = re.search(r"\b(wgmma|mma)[.\w]*s8", ptx)
        print(rows, "rows,", warps, "warps:", name[1], "saturates" if "satfinite" in name[0] else "wraps")
PROGRAM
seen=$("$folder/venv/bin/python" -W ignore "$folder/program.py")
echo "$seen"
expected="triton 3.9.0
16 rows, 2 warps: mma saturates
16 rows, 4 warps: mma saturates
32 rows, 2 warps: mma saturates
32 rows, 4 warps: mma saturates
64 rows, 2 warps: mma saturates
64 rows, 4 warps: wgmma wraps
128 rows, 2 warps: mma saturates
128 rows, 4 warps: wgmma wraps"
[ "$seen" = "$expected" ] || { echo changed; exit 1; }
