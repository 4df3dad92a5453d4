#!/usr/bin/env bash
# Triton: `while tl.load(flag) == 0: pass` is removed, with `.cv` and `.cg` too, so a kernel waits for nobody.
#
# Guess: a loop that loads until another program has stored a flag is kept; at worst its load is hoisted and it hangs.
#   `cache_modifier=".cv"`, which says to fetch again, keeps it in any case.
# Seen:  a load has no effect, so a loop of nothing else is dead code: neither loop nor load is in the TTIR, and what
#   the flag guards is read at once. `.cv` and `.cg` change nothing. The loop stays with `volatile=True`, with an atomic
#   operation, or if its body has a barrier or keeps the loaded value. On an H200 (Triton 3.6) the kernel ended with a
#   flag of 0; a test on a busy GPU, where the flag is mostly stored before, passes.
# Runs:  triton 3.9.0 and the python3 of PATH; no GPU. Triton 3.6.0 and 3.7.1 remove the same loops.
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
def waits(flag, data, out, WAY: tl.constexpr):
    if WAY == "plain":
        while tl.load(flag) == 0:
            pass
    elif WAY == ".cv":
        while tl.load(flag, cache_modifier=".cv") == 0:
            pass
    elif WAY == ".cg":
        while tl.load(flag, cache_modifier=".cg") == 0:
            pass
    elif WAY == "value kept":
        seen = tl.load(flag)
        while seen == 0:
            seen = tl.load(flag)
        tl.store(out + 1, seen)
    elif WAY == "barrier":
        while tl.load(flag) == 0:
            tl.debug_barrier()
    elif WAY == "volatile":
        while tl.load(flag, volatile=True) == 0:
            pass
    else:
        while tl.atomic_add(flag, 0) == 0:
            pass
    tl.store(out, tl.load(data))


def loops(text):
    """True if a line jumps to a label before it."""
    labels, jumps = set(), []
    for line in text.splitlines():
        if label := re.match(r"(\$L__BB\d+_\d+|\.LBB\d+_\d+):", line):
            labels.add(label[1])
        elif jump := re.search(r"\b(?:bra(?:\.uni)?|s_c?branch\S*)\s+(\$L__BB\d+_\d+|\.LBB\d+_\d+)", line):
            jumps.append(jump[1] in labels)
    return any(jumps)


print("triton", triton.__version__)
kinds = {"flag": "*i32", "data": "*i32", "out": "*i32", "WAY": "constexpr"}
for way in ("plain", ".cv", ".cg", "value kept", "barrier", "volatile", "atomic"):
    source = triton.compiler.ASTSource(waits, kinds, {(3,): way})
    nvidia = triton.compile(source, target=GPUTarget("cuda", 90, 32)).asm
    amd = triton.compile(source, target=GPUTarget("hip", "gfx942", 64)).asm
    loads = len(re.findall(r"tt\.load %flag|tt\.atomic_rmw", nvidia["ttir"]))
    print(f"{way}: the flag is read by {loads} ops of the TTIR; "
          f"sm_90 {'loops' if loops(nvidia['ptx']) else 'goes on'}, "
          f"gfx942 {'loops' if loops(amd['amdgcn']) else 'goes on'}")
PROGRAM
seen=$("$folder/venv/bin/python" -W ignore "$folder/program.py")
echo "$seen"
expected="triton 3.9.0
plain: the flag is read by 0 ops of the TTIR; sm_90 goes on, gfx942 goes on
.cv: the flag is read by 0 ops of the TTIR; sm_90 goes on, gfx942 goes on
.cg: the flag is read by 0 ops of the TTIR; sm_90 goes on, gfx942 goes on
value kept: the flag is read by 2 ops of the TTIR; sm_90 loops, gfx942 loops
barrier: the flag is read by 1 ops of the TTIR; sm_90 loops, gfx942 loops
volatile: the flag is read by 1 ops of the TTIR; sm_90 loops, gfx942 loops
atomic: the flag is read by 1 ops of the TTIR; sm_90 loops, gfx942 loops"
[ "$seen" = "$expected" ] || { echo changed; exit 1; }
