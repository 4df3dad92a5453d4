#!/usr/bin/env bash
# ptxas: `x / y - q` is not 0 where q is the very quotient `x / y`, stored before.
#
# Guess: PTX's `div.full.f32` is one instruction whose result is a float32 number; the subtraction after it rounds on
#   its own, so the same quotient less itself is 0.
# Seen:  with Triton 3.9.0 for sm_90, PTX has `div.full.f32` and a sum; ptxas writes the quotient as a product with a
#   reciprocal and fuses that product with the sum (FFMA, no FADD), although no `fma` is in the PTX. On an H100 (Triton
#   3.6), 1,024 of 1,024 differences were not 0, up to 6e-8; with enable_fp_fusion=False (--fmad=false) all were 0.
# Runs:  triton 3.9.0 and the python3 of PATH; no GPU: the values above were seen on one.
set -eu
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet --disable-pip-version-check triton==3.9.0 setuptools==80.9.0
cat > "$folder/program.py" <<'PROGRAM'
import os
import re
import subprocess
import tempfile

import triton
import triton.language as tl
from triton.backends.compiler import GPUTarget


def compiled(kernel, types, **options):
    types = {name: types.get(name, "constexpr") for name in kernel.arg_names}
    source = triton.compiler.ASTSource(kernel, types, {(len(types) - 1,): 128})
    return triton.compile(source, target=GPUTarget("cuda", 90, 32), options=options).asm


def machine_code(asm):
    with tempfile.NamedTemporaryFile(suffix=".cubin") as file:
        file.write(asm["cubin"])
        file.flush()
        folder = os.path.join(os.path.dirname(triton.__file__), "backends", "nvidia", "bin")
        text = subprocess.run([os.path.join(folder, "nvdisasm"), "-c", file.name], capture_output=True, text=True)
    return re.findall(r"\*/\s+(?:@!?U?P\d+ )?([A-Z][\w.]*)", text.stdout)


@triton.jit
def quotient(x, y, z, out, N: tl.constexpr):
    lanes = tl.arange(0, N)
    tl.store(out + lanes, tl.load(x + lanes) / tl.load(y + lanes) - tl.load(z + lanes))


print("triton", triton.__version__)
for fused in (True, False):
    asm = compiled(quotient, dict.fromkeys(("x", "y", "z", "out"), "*fp32"), enable_fp_fusion=fused)
    in_ptx = sorted(set(re.findall(r"\b(div|sub|add|fma)\.", asm["ptx"])) - {"add"})
    names = [name for name in machine_code(asm) if name in ("FADD", "FFMA")]
    print(f"enable_fp_fusion={fused}: PTX has {', '.join(in_ptx)}; the machine code ends with {names[-1]}")
PROGRAM
seen=$("$folder/venv/bin/python" -W ignore "$folder/program.py")
echo "$seen"
expected="triton 3.9.0
enable_fp_fusion=True: PTX has div, sub; the machine code ends with FFMA
enable_fp_fusion=False: PTX has div, sub; the machine code ends with FADD"
[ "$seen" = "$expected" ] || { echo changed; exit 1; }
