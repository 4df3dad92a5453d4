#!/usr/bin/env bash
# Triton: `tl.softmax(x, 1)` of a square block is not the softmax of its rows.
# Relied on by: corpus/kernels/corners.py
#
# Guess: `tl.softmax(x, dim)` divides by sums along `dim`; of a matrix with dim 1, each row of the result adds up to 1.
# Seen:  with Triton 3.6.0 and 3.7.1 it takes the maxima and sums of rows, without keeping their axis, and broadcasts
#   them along columns: of a square block, element i, j is divided by the sum of row j, without a warning; other
#   shapes are refused. `keep_dims=True` gives the softmax. Triton 3.9.0 keeps the axis by itself.
#   On an H100 with Triton 3.6.0 the rows of equal numbers were no quarters.
# Runs:  triton 3.6.0 and 3.9.0 and the python3 of PATH; no GPU: the IR is read.
set -eu
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
for version in 3.6.0 3.9.0; do
  python3 -m venv "$folder/$version"
  "$folder/$version/bin/pip" install --quiet --disable-pip-version-check triton==$version setuptools==80.9.0
done
cat > "$folder/program.py" <<'PROGRAM'
import re

import triton
import triton.language as tl
from triton.backends.compiler import GPUTarget


@triton.jit
def kernel(x, out, KEEP: tl.constexpr):
    place = tl.arange(0, 16)[:, None] * 16 + tl.arange(0, 16)[None, :]
    if KEEP:
        tl.store(out + place, tl.softmax(tl.load(x + place), 1, keep_dims=True))
    else:
        tl.store(out + place, tl.softmax(tl.load(x + place), 1))


for keep in (False, True):
    types = {"x": "*fp32", "out": "*fp32", "KEEP": "constexpr"}
    source = triton.compiler.ASTSource(kernel, types, {(2,): keep})
    ttir = triton.compile(source, target=GPUTarget("cuda", 90, 32)).asm["ttir"]
    axes = re.findall(r"tt.expand_dims.*axis = (\d) : i32}> : \(?tensor<16xf32>|expand_dims.*axis = (\d).*<16xf32>", ttir)
    rows = {"1": "rows", "0": "columns"}
    print(triton.__version__, "keep_dims" if keep else "", *{rows[one or other] for one, other in axes})
PROGRAM
seen=$(for version in 3.6.0 3.9.0; do "$folder/$version/bin/python" -W ignore "$folder/program.py"; done)
echo "$seen"
expected="3.6.0  columns
3.6.0 keep_dims rows
3.9.0  rows
3.9.0 keep_dims rows"
[ "$seen" = "$expected" ] || { echo changed; exit 1; }
