#!/usr/bin/env bash
# Triton: a loop whose step is negative at run time does nothing, and one whose step is a constant counts down.
#
# Guess: `for i in range(10, 0, step)` with step = -1 counts down, as in Python and in Triton's interpreter, or is
#   refused: a constant step of -1 does count down.
# Seen:  with `step` an argument (no integer but 1 is a constant) the loop is one that counts up from 10 to 0, so it
#   never begins: the compiler removes it with all its stores, for each value of step.
# Runs:  triton 3.9.0 and the python3 of PATH; no GPU.
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
def down(out, step):
    for i in range(10, 0, step):
        tl.store(out + i, i)


print("triton", triton.__version__)
for kind, constants in (("i32", {}), ("constexpr", {(1,): -1})):
    source = triton.compiler.ASTSource(down, {"out": "*i32", "step": kind}, constants)
    asm = triton.compile(source, target=GPUTarget("cuda", 90, 32)).asm
    loops, stores = asm["ttir"].count("scf.for"), asm["ptx"].count("st.global")
    print(f"step {constants.get((1,), 'of an argument')}: {loops} loop, {stores} stores in PTX")
PROGRAM
seen=$("$folder/venv/bin/python" -W ignore "$folder/program.py")
echo "$seen"
expected="triton 3.9.0
step of an argument: 0 loop, 0 stores in PTX
step -1: 1 loop, 10 stores in PTX"
[ "$seen" = "$expected" ] || { echo changed; exit 1; }
