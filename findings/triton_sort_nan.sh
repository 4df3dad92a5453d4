#!/usr/bin/env bash
# Triton: `tl.sort` of numbers with a NaN returns another number twice in its place.
#
# Guess: NaN goes to one end, as in numpy.sort and torch.sort, or spoils the order; the elements stay the same.
# Seen:  of a pair each side decides for itself by `x > y`, false beside a NaN on both sides: the left keeps its
#   number and the right takes the left's too. So a NaN is replaced by a neighbor, or replaces all of them where it
#   comes first, and -0.0 beside 0.0 becomes two of one sign. On an H200 (Triton 3.6) [3, 1, NaN, 2, 7, …] has 2 twice and no NaN, ascending and descending, and
#   `tl.topk`, made of the same steps, leaves NaN out, which is the greatest for torch.topk. A top-k of a router or a
#   sampler so hides the NaN that its input has.
# Runs:  triton 3.9.0, numpy 2.4.6 and the python3 of PATH; no GPU: numpy computes the ops of the TTIR.
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

TYPES = {"f32": np.float32, "i32": np.int32, "i1": np.bool_}


@triton.jit
def ordered(x, out, LANES: tl.constexpr):
    lanes = tl.arange(0, LANES)
    tl.store(out + lanes, tl.sort(tl.load(x + lanes)))


def computed(ttir, numbers):
    """The stored block, by the ops that make it of the loaded one."""
    values = {}
    for result, op, text in re.findall(r'^    (%\w+) = "?([\w.]+)"?(.*)', ttir, re.M):
        if op == "tt.reduce":  # its type is in the line that ends its body
            axis = int(re.search(r"axis = (\d)", text)[1])
            values[result] = np.bitwise_xor.reduce(values[re.search(r"%\w+", text)[0]], axis)
            continue
        if op == "tt.load":
            values[result] = np.array(numbers, np.float32)
            continue
        block = re.findall(r"tensor<(\d[^<>!]*)>", text.split(" loc(")[0])
        if not block or op == "tt.addptr":
            continue
        *shape, element = block[-1].split("x")
        shape = tuple(map(int, shape))
        inputs = [values.get(name) for name in re.findall(r"%\w+", text)]
        values[result] = {
            "arith.constant": lambda: np.zeros(shape, TYPES[element]),
            "tt.make_range": lambda: np.arange(*shape, dtype=np.int32),
            "tt.reshape": lambda: inputs[0].reshape(shape),
            "tt.expand_dims": lambda: inputs[0].reshape(shape),
            "tt.broadcast": lambda: np.broadcast_to(inputs[0], shape),
            "tt.bitcast": lambda: np.ascontiguousarray(inputs[0]).view(TYPES[element]),
            "arith.xori": lambda: inputs[0] ^ inputs[1],
            "arith.cmpf": lambda: {"ogt": np.greater}[text.split()[0].strip(",")](*inputs),
            "arith.cmpi": lambda: {"ne": np.not_equal}[text.split()[0].strip(",")](*inputs),
            "arith.select": lambda: np.where(*inputs),
        }[op]()
    return values[re.search(r"tt\.store %\w+, (%\w+)", ttir)[1]].tolist()


print("triton", triton.__version__)
nan = float("nan")
for numbers in (
    [4.0, 2.0, 3.0, 1.0], [3.0, 1.0, nan, 2.0], [nan, 3.0, 2.0, 1.0], [2.0, 1.0, 3.0, nan], [-0.0, 0.0, 2.0, 1.0]
):
    kinds = {"x": "*fp32", "out": "*fp32", "LANES": "constexpr"}
    source = triton.compiler.ASTSource(ordered, kinds, {(2,): len(numbers)})
    ttir = triton.compile(source, target=GPUTarget("cuda", 90, 32)).asm["ttir"]
    print(f"{numbers}: {computed(ttir, numbers)}, by numpy {np.sort(numbers).tolist()}")
PROGRAM
seen=$("$folder/venv/bin/python" -W ignore "$folder/program.py")
echo "$seen"
expected="triton 3.9.0
[4.0, 2.0, 3.0, 1.0]: [1.0, 2.0, 3.0, 4.0], by numpy [1.0, 2.0, 3.0, 4.0]
[3.0, 1.0, nan, 2.0]: [1.0, 2.0, 2.0, 3.0], by numpy [1.0, 2.0, 3.0, nan]
[nan, 3.0, 2.0, 1.0]: [nan, nan, nan, nan], by numpy [1.0, 2.0, 3.0, nan]
[2.0, 1.0, 3.0, nan]: [1.0, 2.0, 1.0, 2.0], by numpy [1.0, 2.0, 3.0, nan]
[-0.0, 0.0, 2.0, 1.0]: [-0.0, -0.0, 1.0, 2.0], by numpy [-0.0, 0.0, 1.0, 2.0]"
[ "$seen" = "$expected" ] || { echo changed; exit 1; }
