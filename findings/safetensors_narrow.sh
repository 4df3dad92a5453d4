#!/usr/bin/env bash
# safetensors: float4 values and MX scales are written, and read by `load_file` alone.
#
# Guess: `load(save(x))` and `load_file` after `save_file` are one reader, and a type that is written is read.
# Seen:  float8_e8m0fnu, the scales of MX formats, and float4_e2m1fn_x2 are written as F8_E8M0 and F4 and read by
#   `load_file`; `load` of the same bytes raises a KeyError. A float4 tensor of 4 × 8 bytes is 4 × 16
#   in the file's header, and `get_slice` of it fails, since torch counts pairs: a reader that takes a shard of rows has
#   the scales and not the values.
# Runs:  safetensors 0.8.0, torch 2.13.0, numpy 2.3.5.
set -eu
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet --disable-pip-version-check torch==2.13.0 safetensors==0.8.0 numpy==2.3.5
cat > "$folder/program.py" <<'PROGRAM'
import sys
from pathlib import Path

import safetensors
import safetensors.torch
import torch


def result(read):
    try:
        return tuple(read().shape)
    except (KeyError, RuntimeError) as error:
        return repr(error)


print("safetensors", safetensors.__version__, "torch", torch.__version__.partition("+")[0])
path = Path(sys.argv[1]) / "x.safetensors"
for tensor in (
    torch.ones(4, 16).to(torch.float8_e4m3fn),
    torch.full((4, 1), 127, dtype=torch.uint8).view(torch.float8_e8m0fnu),
    torch.zeros(4, 8, dtype=torch.uint8).view(torch.float4_e2m1fn_x2),
):
    safetensors.torch.save_file({"x": tensor}, path)
    with safetensors.safe_open(path, "pt") as file:
        part = file.get_slice("x")
        print(f"{tensor.dtype} {tuple(tensor.shape)}: {part.get_dtype()} {part.get_shape()} in the file")
        print("  two rows by get_slice:", result(lambda: part[0:2]))
    print("  load_file:", result(lambda: safetensors.torch.load_file(path)["x"]))
    print("  load:", result(lambda: safetensors.torch.load(path.read_bytes())["x"]))
PROGRAM
seen=$("$folder/venv/bin/python" -W ignore "$folder/program.py" "$folder")
echo "$seen"
expected="safetensors 0.8.0 torch 2.13.0
torch.float8_e4m3fn (4, 16): F8_E4M3 [4, 16] in the file
  two rows by get_slice: (2, 16)
  load_file: (4, 16)
  load: (4, 16)
torch.float8_e8m0fnu (4, 1): F8_E8M0 [4, 1] in the file
  two rows by get_slice: (2, 1)
  load_file: (4, 1)
  load: KeyError('F8_E8M0')
torch.float4_e2m1fn_x2 (4, 8): F4 [4, 16] in the file
  two rows by get_slice: RuntimeError(\"shape '[4, 16]' is invalid for input of size 32\")
  load_file: (4, 8)
  load: KeyError('F4')"
[ "$seen" = "$expected" ] || { echo changed; exit 1; }
