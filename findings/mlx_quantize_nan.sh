#!/usr/bin/env bash
# MLX: one NaN in a block of MXFP4 or NVFP4 makes all of it 0, in one of MXFP8 each 0 becomes -896.
#
# Guess: a block that has a NaN or an infinity is read as NaN, by its scale's NaN (255), or the others keep their
#   values.
# Seen:  on a CPU the scale is that of a finite number (2, or 448 of NVFP4), and all elements of 4 bits are 0, so that a
#   NaN in activations disappears; all elements of MXFP8 are 896 or -896, whatever they were.
# Runs:  mlx and mlx-cpu 0.32.4, numpy 2.4.6.
set -eu
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet --disable-pip-version-check mlx==0.32.4 mlx-cpu==0.32.4 numpy==2.4.6
cat > "$folder/program.py" <<'PROGRAM'
from importlib.metadata import version

import mlx.core as mx
import numpy as np

mx.set_default_device(mx.cpu)
print("mlx", version("mlx"))
for mode, size in (("mxfp4", 32), ("mxfp8", 32), ("nvfp4", 16)):
    for first in (2.0, float("inf"), float("nan")):
        block = np.zeros(32, np.float32)
        block[:4] = first, 1.0, 0.0, -2.0
        parts = mx.quantize(mx.array(block[None]), group_size=size, mode=mode)
        read = mx.dequantize(*parts, group_size=size, mode=mode)
        print(f"{mode}, {block[:4].tolist()}: scale byte {parts[1].tolist()[0][0]}, read as {read.tolist()[0][:4]}")
PROGRAM
seen=$("$folder/venv/bin/python" -W ignore "$folder/program.py")
echo "$seen"
expected='mlx 0.32.4
mxfp4, [2.0, 1.0, 0.0, -2.0]: scale byte 126, read as [2.0, 1.0, 0.0, -2.0]
mxfp4, [inf, 1.0, 0.0, -2.0]: scale byte 128, read as [0.0, 0.0, 0.0, 0.0]
mxfp4, [nan, 1.0, 0.0, -2.0]: scale byte 128, read as [0.0, 0.0, 0.0, 0.0]
mxfp8, [2.0, 1.0, 0.0, -2.0]: scale byte 120, read as [2.0, 1.0, 0.0, -2.0]
mxfp8, [inf, 1.0, 0.0, -2.0]: scale byte 128, read as [896.0, 896.0, -896.0, -896.0]
mxfp8, [nan, 1.0, 0.0, -2.0]: scale byte 128, read as [896.0, 896.0, -896.0, -896.0]
nvfp4, [2.0, 1.0, 0.0, -2.0]: scale byte 43, read as [2.0625, 1.03125, 0.0, -2.0625]
nvfp4, [inf, 1.0, 0.0, -2.0]: scale byte 126, read as [0.0, 0.0, 0.0, 0.0]
nvfp4, [nan, 1.0, 0.0, -2.0]: scale byte 126, read as [0.0, 0.0, 0.0, 0.0]'
[ "$seen" = "$expected" ] || { echo changed; exit 1; }
