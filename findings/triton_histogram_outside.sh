#!/usr/bin/env bash
# Triton: `tl.histogram` counts a value beyond its bins in a wrong bin on AMD, and on NVIDIA with 3.6 and 3.7.
# Relied on by: docs/internals/coverage.md
#
# Guess: a value outside of 0 … bins - 1 is not counted, as in numpy.histogram and in Triton's interpreter, or is an
#   error of the caller's on every target.
# Seen:  AMD's bins are chosen by ballots on the value's lowest bits, at least one for each lane of the wave: 6 of a
#   wave of 64 and of 64 bins, 7 of 128 bins. No bound is compared, so 64 counts as 0 with 8 bins as with 64, and -1 as
#   63 with 64 bins, while 9 is dropped with 8 bins. On NVIDIA 3.6 and 3.7 do the same (5 bits for 8 bins); 3.9 compares
#   each value with the number of bins.
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
def counts(x, out, BINS: tl.constexpr):
    tl.store(out + tl.arange(0, BINS), tl.histogram(tl.load(x + tl.arange(0, 256)), BINS))


print("triton", triton.__version__)
for target in (GPUTarget("cuda", 90, 32), GPUTarget("hip", "gfx942", 64)):
    for bins in (8, 64, 128):
        source = triton.compiler.ASTSource(counts, {"x": "*i32", "out": "*i32", "BINS": "constexpr"}, {(2,): bins})
        llvm = triton.compile(source, target=target).asm["llir"]
        ballots = len(re.findall(r"call \S+ @llvm\S+(?:ballot|vote)", llvm))
        bounds = ", ".join(sorted(set(re.findall(r"icmp ult i32 \S+ (\d+)", llvm)))) or "nothing"
        print(f"{target.arch}, {bins} bins: {ballots} bits of a value, compared with {bounds}")
PROGRAM
seen=$("$folder/venv/bin/python" -W ignore "$folder/program.py")
echo "$seen"
expected="triton 3.9.0
90, 8 bins: 0 bits of a value, compared with 8
90, 64 bins: 0 bits of a value, compared with 64
90, 128 bins: 0 bits of a value, compared with 128
gfx942, 8 bins: 6 bits of a value, compared with nothing
gfx942, 64 bins: 6 bits of a value, compared with nothing
gfx942, 128 bins: 7 bits of a value, compared with nothing"
[ "$seen" = "$expected" ] || { echo changed; exit 1; }
