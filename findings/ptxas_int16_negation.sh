#!/usr/bin/env bash
# ptxas: -x and |x| of int16 -32768, widened to int32, are 32768.
# Relied on by: docs/internals/coverage.md
#
# Guess: 16-bit arithmetic wraps: `neg.s16` and `abs.s16` of -32768 give -32768, and `cvt.s32.s16` keeps that number.
# Seen:  with Triton 3.7.1 for sm_90, ptxas computes both in 32 bits and leaves out the conversion after them: the
#   machine code extends the sign (PRMT) of what is loaded, not of the result. A sum in between (`abs(x) + 1`) is
#   extended again. On an H100 (Triton 3.6), `tl.abs` of int16 -32768 stored as int32 or int64 is 32768; of int8 -128
#   it is -128, of int16 as float32 -32768.0. Triton 3.8.0's PTX has a maximum for `abs`, and 3.9.0's ptxas extends
#   the negation: there both wrap.
# Runs:  triton 3.7.1 and the python3 of PATH; no GPU: the values above were seen on one.
set -eu
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet --disable-pip-version-check triton==3.7.1 setuptools==80.9.0
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
def negated(x, out, N: tl.constexpr):
    lanes = tl.arange(0, N)
    tl.store(out + lanes, -tl.load(x + lanes))


@triton.jit
def absolute(x, out, N: tl.constexpr):
    lanes = tl.arange(0, N)
    tl.store(out + lanes, tl.abs(tl.load(x + lanes)))


@triton.jit
def absolute_and_one(x, out, N: tl.constexpr):
    lanes = tl.arange(0, N)
    tl.store(out + lanes, tl.abs(tl.load(x + lanes)) + 1)


print("triton", triton.__version__)
for kernel in (negated, absolute, absolute_and_one):
    asm = compiled(kernel, {"x": "*i16", "out": "*i32"})
    in_ptx = re.findall(r"\b((?:neg|abs|sub|add|cvt)\.s(?:16|32\.s16))\b", asm["ptx"])
    names = machine_code(asm)
    names = names[names.index(next(name for name in names if name.startswith("LDG"))):]
    extended = names[: next(n for n, name in enumerate(names) if name.startswith("STG"))].count("PRMT")
    print(f"{kernel.__name__}: PTX has {', '.join(in_ptx)}; bytes are permuted {extended} time(s)")
PROGRAM
seen=$("$folder/venv/bin/python" -W ignore "$folder/program.py")
echo "$seen"
expected="triton 3.7.1
negated: PTX has neg.s16, cvt.s32.s16; bytes are permuted 1 time(s)
absolute: PTX has abs.s16, cvt.s32.s16; bytes are permuted 1 time(s)
absolute_and_one: PTX has abs.s16, add.s16, cvt.s32.s16; bytes are permuted 3 time(s)"
[ "$seen" = "$expected" ] || { echo changed; exit 1; }
