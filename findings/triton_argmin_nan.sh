#!/usr/bin/env bash
# Triton: `tl.argmin` and `tl.min(return_indices=True)` forget what they saw before a NaN.
#
# Guess: NaN is ignored, as by `tl.min`, or wins, as by `torch.argmin` and Triton's interpreter.
# Seen:  two elements are compared by `<` and `==`, both false beside a NaN, and then the second is taken: a NaN
#   replaces the least number so far, and the next number replaces the NaN. Of 0, 1, …, 4, NaN, 6, 7 a thread has 6
#   at 6. Which numbers come before a NaN is a matter of layouts: on an H200 (Triton 3.6) 0, 1, 2, … with a NaN at 5
#   and in the middle has its least at 0 among 64 numbers and "6 at 6" among 1,024, where `tl.min(x)` is 0, and of
#   16 numbers the last one, if NaN, is the result. `tl.max` with indices and `tl.argmax` have the same ops.
# Runs:  triton 3.9.0, numpy 2.4.6 and the python3 of PATH; no GPU: numpy computes the ops of the TTIR, one by one.
set -eu
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet --disable-pip-version-check triton==3.9.0 setuptools==80.9.0 numpy==2.4.6
cat > "$folder/program.py" <<'PROGRAM'
import re
from functools import reduce

import numpy as np
import triton
import triton.language as tl
from triton.backends.compiler import GPUTarget

COMPUTE = {
    "arith.cmpf oeq": np.equal, "arith.cmpf olt": np.less, "arith.cmpf ogt": np.greater,
    "arith.cmpi slt": np.less, "arith.andi": np.logical_and, "arith.ori": np.logical_or,
    "arith.select": lambda chosen, first, second: first if chosen else second,
}


@triton.jit
def least(x, out, place):
    number, index = tl.min(tl.load(x + tl.arange(0, 128)), 0, return_indices=True)
    tl.store(out, number)
    tl.store(place, index)


@triton.jit
def greatest(x, out, place):
    number, index = tl.max(tl.load(x + tl.arange(0, 128)), 0, return_indices=True)
    tl.store(out, number)
    tl.store(place, index)


def combiner(ttir):
    """The body of the reduction as a Python function of two pairs, and its ops."""
    body = re.search(r'"tt\.reduce".*?\^bb0\((.*?)\):\n(.*?)tt\.reduce\.return (\S+), (\S+) :', ttir, re.S)
    names = re.findall(r"(%\w+):", body[1])
    ops = re.findall(r"(%\w+) = (arith\.cmp\w (?=\w+,)\w+,|arith\.\w+) (.*?) : ", body[2])

    def combined(first, second):
        values = dict(zip(names, (*first, *second)))
        for result, op, operands in ops:
            values[result] = COMPUTE[op.rstrip(",")](*(values[name] for name in operands.split(", ")))
        return values[body[3]], values[body[4]]

    return combined, [op.rstrip(",") for _, op, _ in ops]


print("triton", triton.__version__)
for kernel, numbers in ((least, [0, 1, 2, 3, 4, np.nan, 6, 7]), (greatest, [7, 6, 5, 4, 3, np.nan, 1, 0])):
    source = triton.compiler.ASTSource(kernel, {"x": "*fp32", "out": "*fp32", "place": "*i32"})
    combined, ops = combiner(triton.compile(source, target=GPUTarget("cuda", 90, 32)).asm["ttir"])
    pairs = [(np.float32(number), index) for index, number in enumerate(numbers)]
    print(f"{kernel.__name__}: {', '.join(ops)}")
    for length in (5, 6, 8):
        number, index = reduce(combined, pairs[:length])
        print(f"  of {numbers[:length]}: {number} at {index}")
PROGRAM
seen=$("$folder/venv/bin/python" -W ignore "$folder/program.py")
echo "$seen"
expected="triton 3.9.0
least: arith.cmpf oeq, arith.cmpi slt, arith.andi, arith.cmpf olt, arith.ori, arith.select, arith.select
  of [0, 1, 2, 3, 4]: 0.0 at 0
  of [0, 1, 2, 3, 4, nan]: nan at 5
  of [0, 1, 2, 3, 4, nan, 6, 7]: 6.0 at 6
greatest: arith.cmpf oeq, arith.cmpi slt, arith.andi, arith.cmpf ogt, arith.ori, arith.select, arith.select
  of [7, 6, 5, 4, 3]: 7.0 at 0
  of [7, 6, 5, 4, 3, nan]: nan at 5
  of [7, 6, 5, 4, 3, nan, 1, 0]: 1.0 at 6"
[ "$seen" = "$expected" ] || { echo changed; exit 1; }
