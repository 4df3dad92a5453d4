#!/usr/bin/env bash
# Triton: `tl.dot(a, b)` of float32 is TF32, and `allow_tf32=None` is not: None is not the same as left out.
#
# Guess: an argument that is None is one left out; the default is TF32 on NVIDIA and IEEE on AMD, which has no TF32.
# Seen:  left out, both arguments give TF32 on sm_80, sm_90 and on gfx942, whose matrix cores have xf32 (10 bits), and IEEE
#   on gfx950, which lost it. A literal `input_precision=None` takes the backend's own default: TF32 on NVIDIA, IEEE on
#   gfx942. `allow_tf32=None` passed on as a tl.constexpr, or written, is IEEE everywhere, by FMA in place of tensor cores
#   on NVIDIA. `allow_tf32=True` is dropped in silence on gfx950, where input_precision="tf32" is refused, as "tf32x3" is on
#   both. So a wrapper that passes its own None on changes 13 bits of the factors, and the speed.
# Runs:  triton 3.9.0 (3.6.0 and 3.7.1 have the same defaults) and the python3 of PATH; no GPU.
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
def product(a, b, out, WAY: tl.constexpr, NONE: tl.constexpr):
    i = tl.arange(0, 32)
    places = i[:, None] * 32 + i[None, :]
    x, y = tl.load(a + places), tl.load(b + places)
    if WAY == "nothing":
        result = tl.dot(x, y)
    elif WAY == "input_precision=None":
        result = tl.dot(x, y, input_precision=NONE)
    elif WAY == "allow_tf32=None":
        result = tl.dot(x, y, allow_tf32=NONE)
    elif WAY == "allow_tf32=True":
        result = tl.dot(x, y, allow_tf32=True)
    elif WAY == "input_precision='tf32'":
        result = tl.dot(x, y, input_precision="tf32")
    else:
        result = tl.dot(x, y, input_precision="tf32x3")
    tl.store(out + places, result)


targets = {
    "sm_80": GPUTarget("cuda", 80, 32),
    "sm_90": GPUTarget("cuda", 90, 32),
    "gfx942": GPUTarget("hip", "gfx942", 64),
    "gfx950": GPUTarget("hip", "gfx950", 64),
}
ways = ("nothing", "input_precision=None", "allow_tf32=None", "allow_tf32=True", "input_precision='tf32'", "tf32x3")
print("triton", triton.__version__)
for way in ways:
    seen = []
    for name, target in targets.items():
        kinds = {"a": "*fp32", "b": "*fp32", "out": "*fp32", "WAY": "constexpr", "NONE": "constexpr"}
        source = triton.compiler.ASTSource(product, kinds, {(3,): way, (4,): None})
        try:
            compiled = triton.compile(source, target=target).asm
        except triton.CompilationError:
            seen.append(f"{name} refused")
            continue
        code = compiled["ptx" if target.backend == "cuda" else "amdgcn"]
        used = re.findall(r"f32\.(tf32)\.tf32|v_mfma_f32_\w+?_(xf32|f32)\b|(fma)\.rn\.f32", code)
        seen.append(f"{name} {' '.join(sorted({kind for op in used for kind in op if kind}))}")
    print(f"{way}: {', '.join(seen)}")
PROGRAM
seen=$("$folder/venv/bin/python" -W ignore "$folder/program.py" 2> /dev/null)
echo "$seen"
expected="triton 3.9.0
nothing: sm_80 tf32, sm_90 tf32, gfx942 xf32, gfx950 f32
input_precision=None: sm_80 tf32, sm_90 tf32, gfx942 f32, gfx950 f32
allow_tf32=None: sm_80 fma, sm_90 fma, gfx942 f32, gfx950 f32
allow_tf32=True: sm_80 tf32, sm_90 tf32, gfx942 xf32, gfx950 f32
input_precision='tf32': sm_80 tf32, sm_90 tf32, gfx942 xf32, gfx950 refused
tf32x3: sm_80 tf32, sm_90 tf32, gfx942 refused, gfx950 refused"
[ "$seen" = "$expected" ] || { echo changed; exit 1; }
