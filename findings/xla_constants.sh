#!/usr/bin/env bash
# XLA: an expression of a constant is another number than the same expression of an argument.
# Relied on by: docs/hlo.md
#
# Guess: `jax.jit(f)(x)` and `jax.jit(lambda: f(x))()`, where x is a constant of the graph, have the same bits: the
#   compiler folds constants as it would compute them.
# Seen:  on a CPU (jaxlib 0.10.2) arguments below the least normal number count as zero, and results become zero;
#   folded expressions keep them. So `x == 0` of 1e-40 is true of an argument and false of a constant, `log(x)` is
#   -inf and -92.1, `x + x` is 0 and 2e-40, `exp2(-140)` is 0 and 7.2e-43, and `maximum(x, 0)` is 0 and 1e-40.
#   `x * 1` is 1e-40 both times, since it is removed. The maximum over an axis of -0.0 and 0.0 is 0.0 of arguments
#   and -0.0 of constants.
# Runs:  jax and jaxlib 0.10.2, NumPy 2.3.5; no accelerator.
set -eu
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet --disable-pip-version-check jax==0.10.2 jaxlib==0.10.2 numpy==2.3.5
cat > "$folder/program.py" <<'PROGRAM'
import jax
import jax.numpy as jnp
import numpy as np

small = np.array([1e-40, 1e-40], np.float32)
zeros = np.array([[-0.0, 0.0], [0.0, -0.0]], np.float32)
cases = {
    "x == 0": (lambda x: x == 0, small),
    "log(x)": (jnp.log, small),
    "x + x": (lambda x: x + x, small),
    "exp2(x - 140)": (lambda x: jnp.exp2(x - 140), small),
    "maximum(x, 0)": (lambda x: jnp.maximum(x, 0), small),
    "x * 1": (lambda x: x * np.float32(1), small),
    "max(zeros, 0)": (lambda x: jnp.max(x, 0), zeros),
}
print("jax", jax.__version__)
for name, (function, x) in cases.items():
    argument = np.asarray(jax.jit(function)(x))
    constant = np.asarray(jax.jit(lambda: function(jnp.asarray(x)))())
    print(f"{name}: {argument[0]:.3g} of an argument, {constant[0]:.3g} of a constant")
PROGRAM
seen=$("$folder/venv/bin/python" "$folder/program.py")
echo "$seen"
expected="jax 0.10.2
x == 0: 1 of an argument, 0 of a constant
log(x): -inf of an argument, -92.1 of a constant
x + x: 0 of an argument, 2e-40 of a constant
exp2(x - 140): 0 of an argument, 7.17e-43 of a constant
maximum(x, 0): 0 of an argument, 1e-40 of a constant
x * 1: 1e-40 of an argument, 1e-40 of a constant
max(zeros, 0): 0 of an argument, -0 of a constant"
[ "$seen" = "$expected" ] || { echo changed; exit 1; }
