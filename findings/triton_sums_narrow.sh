#!/usr/bin/env bash
# Triton: `tl.sum` of bfloat16 adds in bfloat16, beside `tl.max` and int16, which are widened; 3.9's `cumsum`, too.
# Relied on by: docs/internals/coverage.md
#
# Guess: bfloat16 is widened to float32 in each reduction, as in `tl.max` and in PyTorch, or fp16 and bf16 are alike.
# Seen:  `sum` widens neither, though it widens int8 and int16 to int32. `cumsum` and `cumprod` of bfloat16 are computed
#   and returned in float32 by Triton 3.6 and 3.7, in bfloat16 by 3.9. On an H200 (Triton 3.6) the sum of 512 and 1,023
#   ones in bfloat16 is 1504, 1528 or 1536 with 1, 4 or 8 warps, and the last of `cumsum` 1535; of 4096 and ones in
#   float16 the sum is 5088, 5112 or 5116, where `torch.sum` has 5120. So `num_warps` moves a result by 2 %.
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
def reduced(x, out, KIND: tl.constexpr):
    numbers = tl.load(x + tl.arange(0, 128))
    if KIND == "sum":
        result = tl.sum(numbers, 0)
    elif KIND == "max":
        result = tl.max(numbers, 0)
    elif KIND == "cumsum":
        result = tl.max(tl.cumsum(numbers, 0).to(tl.float64), 0)
    else:
        result = tl.max(tl.cumprod(numbers, 0).to(tl.float64), 0)
    tl.store(out, result.to(tl.float64))


print("triton", triton.__version__)
for kind in ("sum", "cumsum", "cumprod", "max"):
    types = []
    for element in ("fp16", "bf16", "i8", "i16"):
        kinds = {"x": f"*{element}", "out": "*fp64", "KIND": "constexpr"}
        source = triton.compiler.ASTSource(reduced, kinds, {(2,): kind})
        ttir = triton.compile(source, target=GPUTarget("cuda", 90, 32)).asm["ttir"]
        added = re.search(r"(?:reduce|scan)\.return %[^:]* : (\w+)", ttir)[1]
        types.append(f"{element} in {added}")
    print(f"{kind}: {', '.join(types)}")
PROGRAM
seen=$("$folder/venv/bin/python" -W ignore "$folder/program.py")
echo "$seen"
expected="triton 3.9.0
sum: fp16 in f16, bf16 in bf16, i8 in i32, i16 in i32
cumsum: fp16 in f16, bf16 in bf16, i8 in i32, i16 in i32
cumprod: fp16 in f16, bf16 in bf16, i8 in i32, i16 in i32
max: fp16 in f32, bf16 in f32, i8 in i32, i16 in i32"
[ "$seen" = "$expected" ] || { echo changed; exit 1; }
