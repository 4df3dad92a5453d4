#!/usr/bin/env bash
# XLA on a CPU: log(1e-40) is -103.97 in an array of three and -inf in one of four; cbrt(1e-40) is negative.
# Relied on by: docs/hlo.md
#
# Guess: a function of one number depends on this number alone. XLA takes numbers below the least normal one as zero, or
#   computes with them: log is -inf or -92.1, cbrt 0 or 4.6e-14, atan2(x, x) 0 or pi / 4.
# Seen:  what is left over from vectors is computed by other code: log is -103.97 at the end of arrays of 3, 5, 6 and 7, be
#   it of 1e-40 or 1e-45, and -inf elsewhere (log2: -inf everywhere). Of 400 ordinary numbers 28 have another last bit of
#   log, and 43 of exp, in arrays of 3 than in a long one, so a row's result changes with the batch. cbrt is -5.6e-16 for
#   positive and negative subnormals, atan2(x, x) NaN, in float64 0 and pi / 2; expm1 gives x itself, log1p and sqrt 0.
# Runs:  jaxlib 0.10.2 and jax on an x86-64 CPU with AVX-512; arguments, not constants.
set -eu
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet --disable-pip-version-check jax==0.10.2 jaxlib==0.10.2 numpy==2.3.5
cat > "$folder/program.py" <<'PROGRAM'
import jax
import jaxlib
import numpy as np
from jax import lax, numpy as jnp

jax.config.update("jax_enable_x64", True)
functions = {
    "log2": jnp.log2,
    "log1p": lax.log1p,
    "cbrt": lax.cbrt,
    "sqrt": lax.sqrt,
    "atan2(x, x)": lambda x: lax.atan2(x, x),
    "expm1": lax.expm1,
}
numbers = {np.float32: (1e-40, 1e-45, -1e-40, 0.0), np.float64: (1e-310, 5e-324, -1e-310, 0.0)}
print("jaxlib", jaxlib.__version__)
for dtype, values in numbers.items():
    print(f"{dtype.__name__}, of {', '.join(map(str, values))}:")
    for name, function in functions.items():
        print(f"  {name}: {', '.join(f'{float(y):.6g}' for y in jax.jit(function)(np.array(values, dtype)))}")
last = [float(jax.jit(lax.log)(np.full(length, 1e-40, np.float32))[-1]) for length in range(1, 10)]
print("log(1e-40) in arrays of 1, 2, … 9:", ", ".join(f"{y:.6g}" for y in last))
values = np.random.default_rng(0).uniform(0.01, 20, 400).astype(np.float32)
for name, function in (("log", lax.log), ("exp", lax.exp), ("tanh", lax.tanh)):
    compiled = jax.jit(function)
    together = np.asarray(compiled(values))
    alone = np.array([np.asarray(compiled(np.full(3, x)))[-1] for x in values])
    print(f"{name} of 400 numbers is another in an array of 3 for some: {bool((together != alone).any())}")
PROGRAM
seen=$("$folder/venv/bin/python" -W ignore "$folder/program.py" 2> /dev/null)
echo "$seen"
expected="jaxlib 0.10.2
float32, of 1e-40, 1e-45, -1e-40, 0.0:
  log2: -inf, -inf, -inf, -inf
  log1p: 0, 0, -0, 0
  cbrt: -5.59517e-16, -5.59517e-16, -5.59517e-16, 0
  sqrt: 0, 0, -0, 0
  atan2(x, x): nan, nan, nan, 0
  expm1: 9.99995e-41, 1.4013e-45, -9.99995e-41, 0
float64, of 1e-310, 5e-324, -1e-310, 0.0:
  log2: -inf, -inf, -inf, -inf
  log1p: 0, 0, -0, 0
  cbrt: 0, 0, -0, 0
  sqrt: 0, 0, -0, 0
  atan2(x, x): 1.5708, 1.5708, -1.5708, 0
  expm1: 1e-310, 4.94066e-324, -1e-310, 0
log(1e-40) in arrays of 1, 2, … 9: -inf, -inf, -103.972, -inf, -103.972, -103.972, -103.972, -inf, -inf
log of 400 numbers is another in an array of 3 for some: True
exp of 400 numbers is another in an array of 3 for some: True
tanh of 400 numbers is another in an array of 3 for some: False"
[ "$seen" = "$expected" ] || { echo changed; exit 1; }
