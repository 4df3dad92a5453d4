#!/usr/bin/env bash
# MLX: erf(1e-7) is 0, exp(88.7) is infinite, the mean of two int32 of 2147483647 is -1, and a mean of float16
#   overflows.
#
# Guess: functions of float32 are right but for last bits, and exp up to 88.72; a mean in float32 adds in float32; a
#   mean of float16 is finite where its sum is; uint64 and int64 meet in float64, as in NumPy, or in int64.
# Seen:  on a CPU erf has an absolute error near 0; integers are added in 32 bits before their mean becomes a float32;
#   the sum 60000 + 60000 - 60000 of float16 is finite and the mean of 60000 and 60000 is not; uint64 and int64 meet in
#   float32; sum of int8 is int32, cumsum of it int8.
# Runs:  mlx and mlx-cpu 0.32.4.
set -eu
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet --disable-pip-version-check mlx==0.32.4 mlx-cpu==0.32.4
cat > "$folder/program.py" <<'PROGRAM'
from importlib.metadata import version

import mlx.core as mx

mx.set_default_device(mx.cpu)


def shown(name, array):
    print(f"{name}: {array.tolist()} ({str(array.dtype).split('.')[-1]})")


print("mlx", version("mlx"))
shown("erf of 1e-7, 1e-5, 1e-3", mx.erf(mx.array([1e-7, 1e-5, 1e-3])))
shown("exp of 88.0, 88.7, -87.5", mx.exp(mx.array([88.0, 88.7, -87.5])))
shown("mean of two int32 of 2147483647", mx.mean(mx.array([2147483647, 2147483647])))
shown("mean of two float16 of 60000", mx.mean(mx.array([60000, 60000], dtype=mx.float16)))
shown("sum of float16 60000, 60000, -60000", mx.sum(mx.array([60000, 60000, -60000], dtype=mx.float16)))
shown("uint64 16777217 + int64 0", mx.array([16777217], dtype=mx.uint64) + mx.array([0], dtype=mx.int64))
shown("uint32 3 - int32 5", mx.array([3], dtype=mx.uint32) - mx.array([5]))
shown("sum of int8 100, 100", mx.sum(mx.array([100, 100], dtype=mx.int8)))
shown("cumsum of int8 100, 100", mx.cumsum(mx.array([100, 100], dtype=mx.int8)))
shown("arange(0, 1, 0.1)[9]", mx.arange(0, 1, 0.1)[9])
PROGRAM
seen=$("$folder/venv/bin/python" -W ignore "$folder/program.py")
echo "$seen"
expected='mlx 0.32.4
erf of 1e-7, 1e-5, 1e-3: [0.0, 1.1086438462371007e-05, 0.0011284106876701117] (float32)
exp of 88.0, 88.7, -87.5: [1.6516332237746901e+38, inf, 9.98234579240284e-39] (float32)
mean of two int32 of 2147483647: -1.0 (float32)
mean of two float16 of 60000: inf (float16)
sum of float16 60000, 60000, -60000: 60000.0 (float16)
uint64 16777217 + int64 0: [16777216.0] (float32)
uint32 3 - int32 5: [-2] (int64)
sum of int8 100, 100: 200 (int32)
cumsum of int8 100, 100: [100, -56] (int8)
arange(0, 1, 0.1)[9]: 0.9000000953674316 (float32)'
[ "$seen" = "$expected" ] || { echo changed; exit 1; }
