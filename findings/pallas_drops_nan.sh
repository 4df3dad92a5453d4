#!/usr/bin/env bash
# Pallas: `jnp.maximum`, `relu`, `clip` and `jnp.max` drop NaN in kernels for Triton, and keep it everywhere else.
#
# Guess: a function of jax.numpy has its documented result in a kernel, too: of NaN and a number the maximum is NaN.
# Seen:  for Triton they become `arith.maxnumf` and `arith.minnumf`, which give the number: relu(NaN) is 0 and the
#   maximum of a row with NaN is finite, so that the NaN is hidden from there on. XLA without Pallas and Pallas's own
#   interpreter, with which such kernels are tested, give NaN. Conversions to integers, which are clamped first, use the
#   other operations, `arith.minimumf` and `arith.maximumf`.
# Runs:  jax and jaxlib 0.10.2 (CPU): lowered for CUDA, interpreted on the CPU; no GPU.
set -eu
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet --disable-pip-version-check jax==0.10.2 jaxlib==0.10.2
cat > "$folder/program.py" <<'PROGRAM'
import contextlib
import io
import re

import jax
import jax.numpy as jnp
from jax.experimental import pallas as pl
from jax.experimental.pallas import triton as plgpu

functions = {
    "maximum(x, 1)": lambda x: jnp.maximum(x, 1.0),
    "relu(x)": jax.nn.relu,
    "clip(x, 0, 1)": lambda x: jnp.clip(x, 0.0, 1.0),
    "max(x)": lambda x: jnp.broadcast_to(jnp.max(x), x.shape),
    "x.astype(int32)": lambda x: x.astype(jnp.int32).astype(jnp.float32),
}


def kernel(function, **options):
    def body(x, out):
        out[...] = function(x[...])

    return pl.pallas_call(body, out_shape=jax.ShapeDtypeStruct((128,), jnp.float32), **options)


def triton_operations(function):
    text, params = io.StringIO(), plgpu.CompilerParams(num_warps=4, num_stages=1)
    with contextlib.redirect_stdout(text):
        traced = jax.jit(kernel(function, debug=True, compiler_params=params)).trace(jnp.zeros(128))
        traced.lower(lowering_platforms=("cuda",))
    return re.findall(r"arith\.(?:max|min)\w+", text.getvalue())


print("jax", jax.__version__)
numbers = jnp.zeros(128).at[5].set(jnp.nan)
for name, function in functions.items():
    plain, interpreted = function(numbers)[5], kernel(function, interpret=True)(numbers)[5]
    print(f"{name} of NaN: {plain} by XLA, {interpreted} interpreted; for Triton {triton_operations(function)}")
PROGRAM
seen=$("$folder/venv/bin/python" -W ignore "$folder/program.py")
echo "$seen"
expected="jax 0.10.2
maximum(x, 1) of NaN: nan by XLA, nan interpreted; for Triton ['arith.maxnumf']
relu(x) of NaN: nan by XLA, nan interpreted; for Triton ['arith.maxnumf']
clip(x, 0, 1) of NaN: nan by XLA, nan interpreted; for Triton ['arith.maxnumf', 'arith.minnumf']
max(x) of NaN: nan by XLA, nan interpreted; for Triton ['arith.maxnumf']
x.astype(int32) of NaN: 0.0 by XLA, 0.0 interpreted; for Triton ['arith.minimumf', 'arith.maximumf']"
[ "$seen" = "$expected" ] || { echo changed; exit 1; }
