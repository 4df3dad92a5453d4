#!/usr/bin/env bash
# Triton: a constant beyond its type is stored as whatever a register holds, though an argument saturates.
# Relied on by: docs/rules/undefined-lanes.md
#
# Guess: `tl.full(..., 3e9, tl.float32).to(tl.int32)` is 2147483647, as the device's conversion of a loaded 3e9 is, and
#   `x << 32` is 0, as the device's shift by a loaded 32 is; or both are refused.
# Seen:  both compile, the shift with a warning. They are poison to LLVM: for sm_90 the store takes a register that
#   nothing writes, for gfx942 the store is gone. Of a loaded number there is a conversion (`cvt.rzi.s32.f32`) and a
#   shift (`shl.b32`), which saturate. Triton's interpreter has numbers.
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
def constant_cast(out, x, f):
    tl.store(out, tl.full((), 3e9, tl.float32).to(tl.int32))


@triton.jit
def loaded_cast(out, x, f):
    tl.store(out, tl.load(f).to(tl.int32))


@triton.jit
def constant_shift(out, x, f):
    tl.store(out, tl.load(x) << 32)


@triton.jit
def loaded_shift(out, x, f):
    tl.store(out, tl.load(x) << tl.load(x + 1))


print("triton", triton.__version__)
for kernel in (constant_cast, loaded_cast, constant_shift, loaded_shift):
    source = triton.compiler.ASTSource(kernel, {"out": "*i32", "x": "*i32", "f": "*fp32"}, {})
    ptx = triton.compile(source, target=GPUTarget("cuda", 90, 32)).asm["ptx"]
    register = re.search(r"st\.global\.b32 \[ %rd\d+ \+ 0 \], \{ (%r\d+) \}", ptx)[1]
    writer = re.search(rf"(\S+)\s+{register},", ptx)
    amd = triton.compile(source, target=GPUTarget("hip", "gfx942", 64)).asm["amdgcn"].count("global_store")
    print(f"{kernel.fn.__name__}: stores what {writer[1] if writer else 'nothing'} wrote (sm_90); {amd} stores (gfx942)")
PROGRAM
seen=$("$folder/venv/bin/python" -W ignore "$folder/program.py")
echo "$seen"
expected="triton 3.9.0
constant_cast: stores what nothing wrote (sm_90); 0 stores (gfx942)
loaded_cast: stores what cvt.rzi.s32.f32 wrote (sm_90); 1 stores (gfx942)
constant_shift: stores what nothing wrote (sm_90); 0 stores (gfx942)
loaded_shift: stores what shl.b32 wrote (sm_90); 1 stores (gfx942)"
[ "$seen" = "$expected" ] || { echo changed; exit 1; }
