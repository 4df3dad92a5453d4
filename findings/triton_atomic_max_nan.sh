#!/usr/bin/env bash
# Triton: `tl.atomic_max` keeps NaN and `tl.atomic_min` drops it, unless NaN's sign is set: then it is the other way.
#
# Guess: both ignore NaN, as `tl.max` and `tl.min` do, or both keep it, as PyTorch's reductions do.
# Seen:  on NVIDIA and AMD each is one of two atomic operations on integers, by the sign bit: for a maximum the signed
#   maximum or the unsigned minimum. NaN is then a number beyond infinity. A NaN as GPUs make it (sign clear) replaces
#   any maximum for good and never a minimum; NaN from `-x`, or from x86's 0/0, replaces any minimum, never a maximum.
# Runs:  triton 3.9.0, numpy 2.4.6 and the python3 of PATH; no GPU: numpy computes the compiled integer operations.
set -eu
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet --disable-pip-version-check triton==3.9.0 setuptools==80.9.0 numpy==2.4.6
cat > "$folder/program.py" <<'PROGRAM'
import re

import numpy as np
import triton
import triton.language as tl
from triton.backends.compiler import GPUTarget


@triton.jit
def maximum(p, x):
    tl.atomic_max(p, tl.load(x))


@triton.jit
def minimum(p, x):
    tl.atomic_min(p, tl.load(x))


def stored(operations, old, new):
    """Memory after the compiled operations: the first if the sign is clear, else the second."""
    name = operations[1] if np.signbit(new) else operations[0]
    kind = {"s": np.int32, "u": np.uint32}[name[-3]]
    pair = np.array([old, new], np.float32).view(kind)
    return np.array([pair.max() if name.startswith("max") else pair.min()]).view(np.float32)[0]


print("triton", triton.__version__)
nan = np.float32(np.nan)
for kernel in (maximum, minimum):
    source = triton.compiler.ASTSource(kernel, {"p": "*fp32", "x": "*fp32"})
    ptx = triton.compile(source, target=GPUTarget("cuda", 90, 32)).asm["ptx"]
    amd = triton.compile(source, target=GPUTarget("hip", "gfx942", 64)).asm["amdgcn"]
    operations = re.findall(r"atom\.global\S*\.((?:max|min)\.[su]32)", ptx)
    print(f"{kernel.__name__}: {operations}, {re.findall(r'global_atomic_[su](?:max|min)', amd)}")
    for old in (1.0, -1.0):
        values = [stored(operations, old, new) for new in (nan, -nan, np.float32(2), np.float32(-2))]
        print(f"  of {old} and NaN, -NaN, 2, -2: " + ", ".join(map(str, values)))
PROGRAM
seen=$("$folder/venv/bin/python" -W ignore "$folder/program.py")
echo "$seen"
expected="triton 3.9.0
maximum: ['max.s32', 'min.u32'], ['global_atomic_smax', 'global_atomic_umin']
  of 1.0 and NaN, -NaN, 2, -2: nan, 1.0, 2.0, 1.0
  of -1.0 and NaN, -NaN, 2, -2: nan, -1.0, 2.0, -1.0
minimum: ['min.s32', 'max.u32'], ['global_atomic_smin', 'global_atomic_umax']
  of 1.0 and NaN, -NaN, 2, -2: 1.0, nan, 1.0, -2.0
  of -1.0 and NaN, -NaN, 2, -2: -1.0, nan, -1.0, -2.0"
[ "$seen" = "$expected" ] || { echo changed; exit 1; }
