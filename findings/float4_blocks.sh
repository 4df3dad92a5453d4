#!/usr/bin/env bash
# MXFP4: 3.9 is 3 or 4, 7.5 is 6 or 8, 3.5 is 3 or 4, as gguf, MLX and ml_dtypes make blocks of one format.
#
# Guess: the OCP specification says how a block is made, so that three writers of it have the same bytes.
# Seen:  gguf takes the specification's scale, by the largest number's exponent, which leaves no room for 3.9 (3, an
#   error of 23 %) and 7.5 (6); MLX rounds log2 of a sixth of the largest number, so that 3.9 is 4 and 7.5 is 8. Both
#   round ties down (0.75 is 0.5, 3.5 is 3), and ml_dtypes, as the specification's default, to even (1 and 4); -0.25 is
#   -0.0 there alone.
# Runs:  gguf 0.19.0, mlx and mlx-cpu 0.32.4, ml_dtypes 0.6.0, numpy 2.4.6.
set -eu
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet --disable-pip-version-check gguf==0.19.0 mlx==0.32.4 mlx-cpu==0.32.4 ml_dtypes==0.6.0 numpy==2.4.6
cat > "$folder/program.py" <<'PROGRAM'
from importlib.metadata import version

import gguf
import ml_dtypes
import mlx.core as mx
import numpy as np

mx.set_default_device(mx.cpu)
MXFP4 = gguf.GGMLQuantizationType.MXFP4


def by_gguf(block):
    return gguf.quants.dequantize(gguf.quants.quantize(block, MXFP4), MXFP4)


def by_mlx(block):
    parts = mx.quantize(mx.array(block[None]), group_size=32, mode="mxfp4")
    return np.array(mx.dequantize(*parts, group_size=32, mode="mxfp4").astype(mx.float32))[0]


def by_ml_dtypes(block):
    """Return the block read as MXFP4 as the OCP specification says: the scale's exponent is that of the largest, less 2."""
    scale = np.float32(2.0 ** (np.floor(np.log2(np.abs(block).max())) - 2))
    return (block / scale).astype(ml_dtypes.float4_e2m1fn).astype(np.float32) * scale


print(", ".join(f"{name} {version(name)}" for name in ("gguf", "mlx", "ml_dtypes")))
for numbers in ([6, 0.25, 0.75, 1.25, 1.75, 2.5, 3.5, 5, -0.25], [3.9, 1], [7, 1], [7.5, 1], [1000, 100]):
    block = np.zeros(32, np.float32)
    block[: len(numbers)] = numbers
    print(f"{numbers}")
    for name, quantized in (("ml_dtypes", by_ml_dtypes), ("gguf", by_gguf), ("mlx", by_mlx)):
        print(f"  {name}: {quantized(block)[: len(numbers)].tolist()}")
PROGRAM
seen=$("$folder/venv/bin/python" -W ignore "$folder/program.py")
echo "$seen"
expected='gguf 0.19.0, mlx 0.32.4, ml_dtypes 0.6.0
[6, 0.25, 0.75, 1.25, 1.75, 2.5, 3.5, 5, -0.25]
  ml_dtypes: [6.0, 0.0, 1.0, 1.0, 2.0, 2.0, 4.0, 4.0, -0.0]
  gguf: [6.0, 0.0, 0.5, 1.0, 1.5, 2.0, 3.0, 4.0, 0.0]
  mlx: [6.0, 0.0, 0.5, 1.0, 1.5, 2.0, 3.0, 4.0, 0.0]
[3.9, 1]
  ml_dtypes: [3.0, 1.0]
  gguf: [3.0, 1.0]
  mlx: [4.0, 1.0]
[7, 1]
  ml_dtypes: [6.0, 1.0]
  gguf: [6.0, 1.0]
  mlx: [6.0, 1.0]
[7.5, 1]
  ml_dtypes: [6.0, 1.0]
  gguf: [6.0, 1.0]
  mlx: [8.0, 1.0]
[1000, 100]
  ml_dtypes: [768.0, 128.0]
  gguf: [768.0, 128.0]
  mlx: [1024.0, 128.0]'
[ "$seen" = "$expected" ] || { echo changed; exit 1; }
