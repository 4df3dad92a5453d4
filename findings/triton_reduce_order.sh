#!/usr/bin/env bash
# Triton: `tl.reduce` combines elements out of order; of a recurrence it has another result than the scan's last.
# Relied on by: docs/check.md
#
# Guess: an associative function is enough, as for `tl.associative_scan`: elements are combined from left to right, in
#   whatever grouping, so reduce((a, b)) of the maps x -> a x + b is the composition of all, the scan's last element.
# Seen:  in a warp lane 0 is combined with lane 16, then with 8 and 24 (butterfly shuffles), so the order is 0, 16, 8,
#   24, 4, …; the elements of one thread come before, and warps after. On an H200 (Triton 3.6, numbers of torch.rand,
#   seed 0) h = a h + b over 32 elements is 1.9009 by reduce and 1.1229 by the scan and by a loop; over 128 it is 0.4197
#   with one warp and 0.6493 with four, where 0.4194 is right. The interpreter goes from left to right and has 1.1229.
#   The documentation asks for no commutative function.
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
def after(a0, b0, a1, b1):
    return a0 * a1, b0 * a1 + b1


@triton.jit
def composed(a, b, out, SCAN: tl.constexpr):
    i = tl.arange(0, 32)
    maps = (tl.load(a + i), tl.load(b + i))
    if SCAN:
        _, last = tl.associative_scan(maps, 0, after)
        tl.store(out + i, last)
    else:
        _, whole = tl.reduce(maps, 0, after)
        tl.store(out, whole)


print("triton", triton.__version__)
for scan in (False, True):
    kinds = {"a": "*fp32", "b": "*fp32", "out": "*fp32", "SCAN": "constexpr"}
    source = triton.compiler.ASTSource(composed, kinds, {(3,): scan})
    ptx = triton.compile(source, target=GPUTarget("cuda", 90, 32), options={"num_warps": 1}).asm["ptx"]
    shuffles = re.findall(r"shfl\.sync\.(\w+)\.b32\s+%r\d+, %r\d+, (\d+)", ptx)[::2]  # of a; b's are the same
    lanes = [[lane] for lane in range(32)]
    for mode, text in shuffles:
        distance = int(text)
        if mode == "bfly":  # this lane's is the left operand, as `after` gets it
            lanes = [lanes[lane] + lanes[lane ^ distance] for lane in range(32)]
        else:  # "up": the right one
            lanes = [(lanes[lane - distance] if lane >= distance else []) + lanes[lane] for lane in range(32)]
    order = lanes[31 if scan else 0]
    name = "scan" if scan else "reduce"
    print(f"{name}: {' '.join(f'{mode} {distance}' for mode, distance in shuffles)}")
    print(f"  order of elements: {' '.join(map(str, order[:10]))} … {' '.join(map(str, order[-4:]))}")
PROGRAM
seen=$("$folder/venv/bin/python" -W ignore "$folder/program.py")
echo "$seen"
expected="triton 3.9.0
reduce: bfly 16 bfly 8 bfly 4 bfly 2 bfly 1
  order of elements: 0 16 8 24 4 20 12 28 2 18 … 7 23 15 31
scan: up 1 up 2 up 4 up 8 up 16
  order of elements: 0 1 2 3 4 5 6 7 8 9 … 28 29 30 31"
[ "$seen" = "$expected" ] || { echo changed; exit 1; }
