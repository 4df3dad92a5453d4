#!/usr/bin/env bash
# Triton: after its loop, a loop's counter is no number at all.
# Relied on by: docs/rules/undefined-lanes.md
#
# Guess: after `for i in range(n)` the counter is n - 1, as in Python and in Triton's interpreter, or using it is an
#   error; an `i = 5` before the loop is what an empty loop leaves.
# Seen:  it compiles without a warning. `i` is poison after the loop, whatever it was before: for sm_90 the store takes
#   a register that nothing writes, for gfx942 the store is gone. A variable that the loop sets to `i` is n - 1.
#   Triton 3.7.1 and fbtriton 3.7.4 do the same.
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
def counter(out, n):
    i = 5
    for i in range(n):
        tl.store(out + 1, i)
    tl.store(out, i)


@triton.jit
def copied(out, n):
    last = 5
    for i in range(n):
        tl.store(out + 1, i)
        last = i
    tl.store(out, last)


def compiled(kernel, target):
    source = triton.compiler.ASTSource(kernel, {"out": "*i32", "n": "i32"}, {})
    return triton.compile(source, target=target).asm


print("triton", triton.__version__)
for kernel in (counter, copied):
    asm = compiled(kernel, GPUTarget("cuda", 90, 32))
    register = re.findall(r"st\.global\.b32 \[ %rd\d+ \+ 0 \], \{ (%r\d+) \}", asm["ptx"])[-1]
    written = re.search(rf"\.\w+\s+{register},|ld\S+ \{{ {register} ", asm["ptx"]) is not None
    poison = "ub.poison" in asm["ttir"]
    amd = compiled(kernel, GPUTarget("hip", "gfx942", 64))["amdgcn"]
    stores = any("offset" not in line for line in re.findall(r"global_store.*", amd))
    print(f"{kernel.fn.__name__}: poison {poison}; sm_90: the stored register is written {written}; "
          f"gfx942: it is stored {stores}")
PROGRAM
seen=$("$folder/venv/bin/python" -W ignore "$folder/program.py")
echo "$seen"
expected="triton 3.9.0
counter: poison True; sm_90: the stored register is written False; gfx942: it is stored False
copied: poison False; sm_90: the stored register is written True; gfx942: it is stored True"
[ "$seen" = "$expected" ] || { echo changed; exit 1; }
