#!/usr/bin/env bash
# Triton: `n or 128` is 128 whatever n is, and `n and 7` is n.
#
# Guess: `or` and `and` of integers are as in Python (5 or 128 is 5, 5 and 7 is 7), or logical (1), or refused, as
#   `n or m` of two arguments is.
# Seen:  a constant decides alone, and the argument beside it is never looked at: `n or 128` stores 128 and `n and 7`
#   stores n, for each n. With n = 1, which the compiler makes a constant, `n or 128` is 1 and `n and 7` is 7. So the
#   usual default for 0 replaces every size but 1, without a warning. fbtriton 3.7.4 and Triton 3.7.1 do the same.
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
def default(out, n):
    tl.store(out, n or 128)


@triton.jit
def conjunction(out, n):
    tl.store(out, n and 7)


print("triton", triton.__version__)
for kernel in (default, conjunction):
    for constants in ({}, {(1,): 1}):
        kinds = {"out": "*i32", "n": "constexpr" if constants else "i32"}
        source = triton.compiler.ASTSource(kernel, kinds, constants)
        text = triton.compile(source, target=GPUTarget("cuda", 90, 32)).asm["ttir"]
        values = dict(re.findall(r"(%[-\w]+) = (arith\.\w+.*?)(?: loc|$)", text, re.M))
        value = re.search(r"tt.store %out, (%[-\w]+)", text)[1]
        print(f"{kernel.fn.__name__}, n {'1' if constants else 'of an argument'}: {values.get(value, value)}")
PROGRAM
seen=$("$folder/venv/bin/python" -W ignore "$folder/program.py")
echo "$seen"
expected="triton 3.9.0
default, n of an argument: arith.constant 128 : i32
default, n 1: arith.constant 1 : i32
conjunction, n of an argument: %n
conjunction, n 1: arith.constant 7 : i32"
[ "$seen" = "$expected" ] || { echo changed; exit 1; }
