#!/usr/bin/env bash
# Triton's interpreter: values of conversions, integers and booleans that the compiled kernel does not have.
#
# Guess: with TRITON_INTERPRET=1 a kernel has the compiled kernel's values, but for bf16 arithmetic, which the
#   documentation excludes, and the last bits of sums and transcendentals.
# Seen:  with Triton 3.7.1 these differ from an H100 (Triton 3.6.0, the values in parentheses): NaN in fp8e4nv is
#   480 in fp32 (NaN); in fp8e5 infinity is 65,536 and NaN 98,304 in fp32 (infinity, NaN), and 2^-16 is 0 in fp16
#   (2^-16); the largest subnormal of fp32 is 2^-6 in fp8e4nv and 2^-14 in fp8e5 (0); `not` of a block of i1 is
#   false for all (the negation); 1 + 1 of i1 is 1 (0); `umulhi` of int32 takes signed numbers (unsigned);
#   `~` of an unsigned integer raises OverflowError (the complement).
# Runs:  torch 2.13.0, which brings Triton 3.7.1; NumPy 2.3.5; no GPU.
set -eu
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet --disable-pip-version-check torch==2.13.0 triton==3.7.1 numpy==2.3.5
cat > "$folder/program.py" <<'PROGRAM'
import sys
import warnings

import numpy as np
import torch
import triton
import triton.language as tl

warnings.simplefilter("ignore")


@triton.jit
def kernel(x, y, out, OP: tl.constexpr):
    lanes = tl.arange(0, 4)
    a = tl.load(x + lanes)
    b = tl.load(y + lanes)
    if OP == "to":
        result = a.to(out.dtype.element_ty)
    elif OP == "not":
        result = not a
    elif OP == "add":
        result = a + b
    elif OP == "invert":
        result = ~a
    else:
        result = tl.umulhi(a, b)
    tl.store(out + lanes, result)


def answer(op, x, y, out):
    try:
        kernel[(1,)](x, y, out, op)
    except Exception as error:  # an answer, too
        return type(error.__cause__ or error).__name__
    return out.tolist()


def bits(dtype, *values):
    return torch.tensor(values, dtype=torch.uint8).view(dtype)


half, single = torch.zeros(4, dtype=torch.float16), torch.zeros(4)
e4m3, e5m2 = bits(torch.float8_e4m3fn, 0x7F, 0xFF, 0x08, 0x38), bits(torch.float8_e5m2, 0x7C, 0xFC, 0x01, 0x7E)
truth = torch.tensor([True, True, False, False])
bytes_ = torch.tensor([0, 1, 254, 255], dtype=torch.uint8)
words = torch.tensor([1, 2, -1, -3], dtype=torch.int32)
tiny = torch.tensor([2.0**-126 - 2.0**-149, 2.0**-126, 1.0, -0.0])
CASES = [
    ("e4m3 (NaN, -NaN, 2^-6, 1) to fp32", "to", e4m3, e4m3, single),
    ("e5m2 (inf, -inf, 2^-16, NaN) to fp16", "to", e5m2, e5m2, half),
    ("e5m2 (inf, -inf, 2^-16, NaN) to fp32", "to", e5m2, e5m2, single),
    ("not (True, True, False, False)", "not", truth, truth, torch.zeros(4, dtype=torch.bool)),
    ("i1 1 + 1, 1 + 0", "add", truth, torch.tensor([True, False, True, False]), torch.zeros(4, dtype=torch.bool)),
    ("~ u8 (0, 1, 254, 255)", "invert", bytes_, bytes_, bytes_.clone()),
    ("umulhi i32 (1, 2, -1, -3) by -1", "umulhi", words, torch.full((4,), -1, dtype=torch.int32), words.clone()),
    ("fp32 (2^-126 - 2^-149, 2^-126, 1, -0) to e4m3", "to", tiny, tiny, e4m3),
    ("fp32 (2^-126 - 2^-149, 2^-126, 1, -0) to e5m2", "to", tiny, tiny, e5m2),
]
for name, op, x, y, out in CASES:
    print(f"{name}: {answer(op, x, y, out.clone())}")
print("triton", triton.__version__, "torch", torch.__version__, "numpy", np.__version__, file=sys.stderr)
PROGRAM
seen=$(TRITON_INTERPRET=1 "$folder/venv/bin/python" "$folder/program.py")
echo "$seen"
expected="e4m3 (NaN, -NaN, 2^-6, 1) to fp32: [480.0, -480.0, 0.015625, 1.0]
e5m2 (inf, -inf, 2^-16, NaN) to fp16: [inf, -inf, 0.0, nan]
e5m2 (inf, -inf, 2^-16, NaN) to fp32: [65536.0, -65536.0, 1.52587890625e-05, 98304.0]
not (True, True, False, False): [False, False, False, False]
i1 1 + 1, 1 + 0: [True, True, True, False]
~ u8 (0, 1, 254, 255): OverflowError
umulhi i32 (1, 2, -1, -3) by -1: [-1, -1, 0, 0]
fp32 (2^-126 - 2^-149, 2^-126, 1, -0) to e4m3: [0.015625, 0.0, 1.0, -0.0]
fp32 (2^-126 - 2^-149, 2^-126, 1, -0) to e5m2: [6.103515625e-05, 0.0, 1.0, -0.0]"
[ "$seen" = "$expected" ] || { echo changed; exit 1; }
