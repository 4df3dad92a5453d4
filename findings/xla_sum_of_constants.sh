#!/usr/bin/env bash
# XLA: `(x + c) - c` of a compiled function is x, so that tricks of rounding and compensated sums are gone.
# Relied on by: docs/hlo.md
#
# Guess: XLA keeps the order of additions of floats, as it does not use fast math on a CPU: `jax.jit(f)(x)` and `f(x)`
#   differ in last bits at most.
# Seen:  of two constants that are added one after the other it makes one. Rounding by (x + 1.5 * 2^23) - 1.5 * 2^23
#   gives 0.7 for 0.7 (1.0 without `jit`), the error term of 1 + x (two-sum, Kahan) is 0 instead of 1e-9 where 1 is a
#   constant, x * 1e30 * 1e30 of 1e-30 is infinite (1e30), and x / 1e30 / 1e30 of 1e38 is 0 (1e-22). exp(x) * exp(y)
#   is exp(x + y): 1 for 100 and -100 (NaN).
# Runs:  jax and jaxlib 0.10.2, NumPy 2.4.6; no accelerator.
set -eu
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet --disable-pip-version-check jax==0.10.2 jaxlib==0.10.2 numpy==2.4.6
cat > "$folder/program.py" <<'PROGRAM'
import jax
import jax.numpy as jnp
import numpy as np

MAGIC, ONE, LARGE = np.float32(1.5 * 2**23), np.float32(1), np.float32(1e30)


def error_of_sum(x):
    total = ONE + x
    part = total - ONE
    return (ONE - (total - part)) + (x - part)


cases = {
    "(x + c) - c of 0.7": (lambda x: (x + MAGIC) - MAGIC, 0.7),
    "error of 1 + x of 1e-9": (error_of_sum, 1e-9),
    "x * 1e30 * 1e30 of 1e-30": (lambda x: x * LARGE * LARGE, 1e-30),
    "x / 1e30 / 1e30 of 1e38": (lambda x: x / LARGE / LARGE, 1e38),
    "exp(x) * exp(-x) of 100": (lambda x: jnp.exp(x) * jnp.exp(-x), 100),
}
print("jax", jax.__version__)
for name, (function, number) in cases.items():
    x = jnp.float32(number)
    print(f"{name}: {function(x):.3g} op by op, {jax.jit(function)(x):.3g} compiled")
PROGRAM
seen=$("$folder/venv/bin/python" "$folder/program.py")
echo "$seen"
expected="jax 0.10.2
(x + c) - c of 0.7: 1 op by op, 0.7 compiled
error of 1 + x of 1e-9: 1e-09 op by op, 0 compiled
x * 1e30 * 1e30 of 1e-30: 1e+30 op by op, inf compiled
x / 1e30 / 1e30 of 1e38: 1e-22 op by op, 0 compiled
exp(x) * exp(-x) of 100: nan op by op, 1 compiled"
[ "$seen" = "$expected" ] || { echo changed; exit 1; }
