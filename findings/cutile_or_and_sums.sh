#!/usr/bin/env bash
# cuTile: `n or 128` is True for every n, `n and 7` is True or False, and a sum of int8 is an int8.
#
# Guess: the language takes Python's syntax, so `or` has an operand for its value, or refuses integers; a sum of 8-bit
#   integers is wider, as in NumPy, PyTorch and Triton, since 128 ones do not fit.
# Seen:  the operands of `or` and `and` become Booleans, and the result, once it is an integer again, is 1 or 0. So a
#   default written as `size or 128` is 1. sum and cumsum of int8 are int8; of Booleans the sum is int32. Elsewhere the
#   language is strict: it refuses `x + 200` of int8, and int32 with uint32.
# Runs:  cuda-tile 1.7.0, numpy 2.4.6, compiled to Tile IR's bytecode for sm_100; no GPU.
set -eu
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet --disable-pip-version-check cuda-tile==1.7.0 numpy==2.4.6
cat > "$folder/program.py" <<'PROGRAM'
import io
from importlib.metadata import version

import cuda.tile as ct
from cuda.tile.compilation import ArrayConstraint, CallingConvention, KernelSignature, ScalarConstraint, export_kernel

seen = {}


@ct.kernel
def kernel(x, n):
    small = ct.load(x, (0,), (128,))
    total, running, count = ct.sum(small), ct.cumsum(small), ct.sum(small > 0)
    either, both = n or 128, n and 7
    ct.static_eval(seen.update({"n or 128": either, "n and 7": both}))
    ct.static_eval(seen.update({"sum of int8": total, "cumsum of int8": running, "sum of Booleans": count}))
    ct.static_eval(seen.update({name: str(value.dtype) for name, value in seen.items()}))


memory = {"stride_lower_bound_incl": 0, "alias_groups": (), "may_alias_internally": False}
array = ArrayConstraint(ct.int8, 1, index_dtype=ct.int32, **memory)
signature = KernelSignature([array, ScalarConstraint(ct.int32)], CallingConvention.cutile_python_v1(), "kernel")
options = {"gpu_code": "sm_100", "output_format": "tileir_bytecode", "bytecode_version": "13.1"}
export_kernel(kernel, [signature], io.BytesIO(), **options)
print("cuda-tile", version("cuda-tile"))
for name, dtype in seen.items():
    print(f"{name}: {dtype}")
PROGRAM
seen=$("$folder/venv/bin/python" -W ignore "$folder/program.py")
echo "$seen"
expected="cuda-tile 1.7.0
n or 128: bool_
n and 7: bool_
sum of int8: int8
cumsum of int8: int8
sum of Booleans: int32"
[ "$seen" = "$expected" ] || { echo changed; exit 1; }
