#!/usr/bin/env bash
# Triton: an argument of 1 is computed with as Python computes, and any other as C does.
# Relied on by: kvtrace/verdicts/sizes/sized_claims.py
#
# Guess: an expression of integer arguments has the same value whether or not the compiler specializes on them:
#   `do_not_specialize` costs or saves time alone.
# Seen:  an argument of 1 is a constant, and expressions of constants are Python's: for n = 1, (n - 2) // 4 is -1,
#   (n - 2) % 4 is 3, (n << 40) >> 40 is 1, and two Boolean arguments that are true add up to 2. With
#   `do_not_specialize`, or for n = 1 computed in the kernel, they are 0 and -1 (C's division), a shift beyond the
#   width, and 0 (a sum of one bit). `x + (n - 2) // 4` is outside its tensor for n = 1 alone. So it is with fbtriton
#   3.7.4 and Triton 3.7.1.
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
def quotient(out, n):
    tl.store(out, (n - 2) // 4)


@triton.jit
def remainder(out, n):
    tl.store(out, (n - 2) % 4)


@triton.jit
def shifted(out, n):
    tl.store(out, (n << 40) >> 40)


@triton.jit
def both(out, n):
    tl.store(out, n + n)


def stored(kernel, kind, constants):
    """Return the constant that a kernel stores, or the names of the ops that compute it."""
    source = triton.compiler.ASTSource(kernel, {"out": "*i32", "n": kind}, constants)
    text = triton.compile(source, target=GPUTarget("cuda", 90, 32)).asm["ttir"]
    constants = dict(re.findall(r"(%[-\w]+) = arith.constant (-?\d+) : i32", text))
    ops = re.findall(r"= arith\.(?!constant|extui)(\w+) .*: (i\d+)", text)
    value = re.search(r"tt.store %out, (%[-\w]+)", text)[1]
    return constants.get(value) or ", ".join(" ".join(op) for op in ops)


print("triton", triton.__version__)
for kernel, kind, one in ((quotient, "i32", 1), (remainder, "i32", 1), (shifted, "i32", 1), (both, "u1", True)):
    constant = stored(kernel, "constexpr", {(1,): one})
    print(f"{kernel.fn.__name__}: {constant} of the constant, {stored(kernel, kind, {})} of an argument")
PROGRAM
seen=$("$folder/venv/bin/python" -W ignore "$folder/program.py")
echo "$seen"
expected="triton 3.9.0
quotient: -1 of the constant, subi i32, divsi i32 of an argument
remainder: 3 of the constant, subi i32, remsi i32 of an argument
shifted: 1 of the constant, shli i32, shrsi i32 of an argument
both: 2 of the constant, addi i1 of an argument"
[ "$seen" = "$expected" ] || { echo changed; exit 1; }
