#!/usr/bin/env bash
# Triton: a count of Booleans has no sign: `tl.sum(mask) - 5 < 0` is never true, and a cumsum less 1 is 4294967295.
#
# Guess: sum and cumsum of Booleans are int32, as histogram, argmax and max of them are; randint is int32, as its docs
#   say.
# Seen:  they are uint32, as is randint: a Boolean counts as an unsigned integer of one bit. So `count - 5 < 0` compares
#   unsigned numbers, false of each count, and the idiom that moves chosen elements together, a cumsum less 1, gives
#   4294967295 to all before the first one: `>= 0` keeps these, too, and the offset is widened without a sign, 16 GiB
#   ahead of int32. With `dtype=tl.int32` both are as meant.
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
def counts(x, out):
    positive = tl.load(x + tl.arange(0, 128)) > 0
    count, places = tl.sum(positive), tl.cumsum(positive)
    tl.static_print("sum", count.dtype, "cumsum", places.dtype, "cumprod", tl.cumprod(positive).dtype)
    tl.static_print("max", tl.max(positive).dtype, "histogram", tl.histogram(positive.to(tl.int32), 2).dtype)
    tl.static_print("randint", tl.randint(1, tl.arange(0, 128)).dtype)
    tl.store(out, count)


@triton.jit
def enough(x, out):
    count = tl.sum(tl.load(x + tl.arange(0, 128)) > 0)
    tl.store(out, count - 5 < 0)


@triton.jit
def compacted(x, out):
    positive = tl.load(x + tl.arange(0, 128)) > 0
    places = tl.cumsum(positive) - 1
    tl.store(out + places, tl.arange(0, 128), mask=places >= 0)


@triton.jit
def compacted_signed(x, out):
    positive = tl.load(x + tl.arange(0, 128)) > 0
    places = tl.cumsum(positive, dtype=tl.int32) - 1
    tl.store(out + places, tl.arange(0, 128), mask=places >= 0)


def compiled(kernel, out):
    source = triton.compiler.ASTSource(kernel, {"x": "*fp32", "out": out})
    return triton.compile(source, target=GPUTarget("cuda", 90, 32)).asm


print("triton", triton.__version__)
compiled(counts, "*i32")
for kernel, out in ((enough, "*i1"), (compacted, "*i32"), (compacted_signed, "*i32")):
    text = compiled(kernel, out)["ttir"]
    compared = ", ".join(re.findall(r"arith\.cmpi (\w+)", text))
    places = re.findall(r"(arith\.ext\w+) %places[\w.]*", text)
    print(f"{kernel.__name__}: compared by {compared}; places widened by {places[0] if places else 'nothing'}")
PROGRAM
seen=$("$folder/venv/bin/python" -W ignore "$folder/program.py")
echo "$seen"
expected='triton 3.9.0
sum uint32 cumsum uint32 cumprod uint32
max int32 histogram int32
randint uint32
enough: compared by ult; places widened by nothing
compacted: compared by uge; places widened by arith.extui
compacted_signed: compared by sge; places widened by nothing'
[ "$seen" = "$expected" ] || { echo changed; exit 1; }
