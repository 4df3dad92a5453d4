#!/usr/bin/env bash
# Triton: `tl.topk(x, k)` of float16 is float32, unless k is all of x; of uint8 it is int32.
#
# Guess: topk selects elements, so their type is that of x, whatever k is, as with `tl.sort`.
# Seen:  where elements are left out, `tl.max` compares them, which widens to 32 bits: topk of float16 or bfloat16 is
#   float32, of int8 int32, of uint8 a signed int32. For k = 128 of 128 it is the type of x. So a product of the chosen
#   int8 wraps around or not as k says, where autotuning or a model's size chooses k. max itself widens, and with
#   `return_indices=True` it does not.
# Runs:  triton 3.9.0 and the python3 of PATH; no GPU.
set -eu
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
export TRITON_CACHE_DIR="$folder/cache"
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet --disable-pip-version-check triton==3.9.0 setuptools==80.9.0
cat > "$folder/program.py" <<'PROGRAM'
import triton
import triton.language as tl
from triton.backends.compiler import GPUTarget


@triton.jit
def kernel(x, out):
    values = tl.load(x + tl.arange(0, 128))
    tl.static_print("  topk(x, 4)", tl.topk(values, 4).dtype, "topk(x, 128)", tl.topk(values, 128).dtype)
    tl.static_print("  sort(x)", tl.sort(values).dtype, "max(x)", tl.max(values).dtype)
    tl.static_print("  max(x, return_indices=True)", tl.max(values, 0, return_indices=True)[0].dtype)
    tl.store(out + tl.arange(0, 4), tl.topk(values, 4) * 100)


@triton.jit
def all_of_them(x, out):
    values = tl.load(x + tl.arange(0, 128))
    tl.store(out + tl.arange(0, 128), tl.topk(values, 128) * 100)


def product(kernel, dtype):
    source = triton.compiler.ASTSource(kernel, {"x": "*" + dtype, "out": "*i32"})
    text = triton.compile(source, target=GPUTarget("cuda", 90, 32)).asm["ttir"]
    products = [line for line in text.splitlines() if "arith.muli" in line or "arith.mulf" in line]
    return products[-1].split(": ")[1].split(" loc")[0]


print("triton", triton.__version__)
for dtype in ("fp16", "i8", "u8"):
    print(dtype, flush=True)
    few = product(kernel, dtype)
    print("  topk(x, 4) * 100 is a product of", few, "and topk(x, 128) * 100 of", product(all_of_them, dtype), flush=True)
PROGRAM
seen=$("$folder/venv/bin/python" -W ignore "$folder/program.py")
echo "$seen"
expected='triton 3.9.0
fp16
  topk(x, 4) fp32 topk(x, 128) fp16
  sort(x) fp16 max(x) fp32
  max(x, return_indices=True) fp16
  topk(x, 4) * 100 is a product of tensor<4xf32> and topk(x, 128) * 100 of tensor<128xf16>
i8
  topk(x, 4) int32 topk(x, 128) int8
  sort(x) int8 max(x) int32
  max(x, return_indices=True) int8
  topk(x, 4) * 100 is a product of tensor<4xi32> and topk(x, 128) * 100 of tensor<128xi8>
u8
  topk(x, 4) int32 topk(x, 128) uint8
  sort(x) uint8 max(x) int32
  max(x, return_indices=True) uint8
  topk(x, 4) * 100 is a product of tensor<4xi32> and topk(x, 128) * 100 of tensor<128xi8>'
[ "$seen" = "$expected" ] || { echo changed; exit 1; }
