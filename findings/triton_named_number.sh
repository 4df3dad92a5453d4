#!/usr/bin/env bash
# Triton: a number with a name is another number: `c = 100; x * c` of int8 does not wrap around where `x * 100` does.
#
# Guess: giving a constant a name changes nothing, as in Python; a name is what one makes of a magic number.
# Seen:  a number that is assigned becomes a tensor of int32 or float32, which widens what it meets; a literal takes the type
#   of what it meets. So `x * 100` of int8 is computed in 8 bits and `x * c` in 32; `x * 100.25` of float16 in float16
#   and `x * c` in float32. Of float64 it is the other way: `x * 0.1` has 0.1, and `c = 0.1; x * c` has
#   0.10000000149. `c: tl.constexpr = 0.1`, or a number passed to another function, is as the literal.
#   On an H200 (Triton 3.6), int8 100 + 100 stored as int32 is -56 and 200 with a name, float16 0.5 * 100000.0 stored as
#   float32 is infinite and 50000.
# Runs:  triton 3.9.0 and the python3 of PATH; no GPU.
set -eu
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
export TRITON_CACHE_DIR="$folder/cache"
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet --disable-pip-version-check triton==3.9.0 setuptools==80.9.0
cat > "$folder/program.py" <<'PROGRAM'
import re

import triton
import triton.language as tl
from triton.backends.compiler import GPUTarget

@triton.jit
def scaled(x, number):
    return x * number


@triton.jit
def literal(x, out, FLOAT: tl.constexpr):
    tl.store(out, tl.load(x) * 100.25 if FLOAT else tl.load(x) * 100)


@triton.jit
def named(x, out, FLOAT: tl.constexpr):
    number = 100.25 if FLOAT else 100
    tl.store(out, tl.load(x) * number)


@triton.jit
def named_constexpr(x, out, FLOAT: tl.constexpr):
    number: tl.constexpr = 100.25 if FLOAT else 100
    tl.store(out, tl.load(x) * number)


@triton.jit
def passed_on(x, out, FLOAT: tl.constexpr):
    tl.store(out, scaled(tl.load(x), 100.25 if FLOAT else 100))


@triton.jit
def fp64_literal(x, out, FLOAT: tl.constexpr):
    tl.store(out, tl.load(x) * 0.1)


@triton.jit
def fp64_named(x, out, FLOAT: tl.constexpr):
    number = 0.1
    tl.store(out, tl.load(x) * number)


def arithmetic(kernel, x, out, floating):
    source = triton.compiler.ASTSource(kernel, {"x": x, "out": out, "FLOAT": "constexpr"}, {(2,): floating})
    text = triton.compile(source, target=GPUTarget("cuda", 90, 32)).asm["ttir"]
    ops = re.findall(r"arith\.(mulf|muli|extsi|extf|truncf|constant)( [\d.e+-]+)?[^:\n]*: (\w+)(?: to (\w+))?", text)
    return "; ".join(name + value + " " + " to ".join(filter(None, types)) for name, value, *types in ops)


print("triton", triton.__version__)
for kernel in (literal, named, named_constexpr, passed_on):
    print(f"{kernel.__name__}, int8: {arithmetic(kernel, '*i8', '*i32', 0)}")
for kernel in (literal, named, named_constexpr, passed_on):
    print(f"{kernel.__name__}, fp16: {arithmetic(kernel, '*fp16', '*fp32', 1)}")
for kernel in (fp64_literal, fp64_named):
    print(f"{kernel.__name__}: {arithmetic(kernel, '*fp64', '*fp64', 1)}")
PROGRAM
seen=$("$folder/venv/bin/python" -W ignore "$folder/program.py")
echo "$seen"
expected='triton 3.9.0
literal, int8: constant 100 i8; muli i8; extsi i8 to i32
named, int8: constant 100 i32; extsi i8 to i32; muli i32
named_constexpr, int8: constant 100 i8; muli i8; extsi i8 to i32
passed_on, int8: constant 100 i8; muli i8; extsi i8 to i32
literal, fp16: constant 1.002500e+02 f16; mulf f16; extf f16 to f32
named, fp16: constant 1.002500e+02 f32; extf f16 to f32; mulf f32
named_constexpr, fp16: constant 1.002500e+02 f16; mulf f16; extf f16 to f32
passed_on, fp16: constant 1.002500e+02 f16; mulf f16; extf f16 to f32
fp64_literal: constant 1.000000e-01 f64; mulf f64
fp64_named: constant 0.10000000149011612 f64; mulf f64'
[ "$seen" = "$expected" ] || { echo changed; exit 1; }
