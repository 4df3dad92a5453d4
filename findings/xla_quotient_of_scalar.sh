#!/usr/bin/env bash
# XLA: a compiled division of an array by a number is a product, so floor(x / 41) of 41 is 0.
# Relied on by: docs/hlo.md
#
# Guess: division is correctly rounded, as IEEE 754 has it and as XLA does without fast math: x / 41 of 41 is 1.
# Seen:  an array divided by a scalar, constant or argument, is multiplied by its reciprocal: of the multiples of 41 up
#   to 41 * 4095, 1,644 quotients are below the integer, and their floor is 1 less; so with 47 and 55. Divided by an
#   array of the same numbers, none are. A third of all quotients by 3 have another last bit. An index that is computed
#   so is off by one.
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

floor = jax.jit(lambda x, y: jnp.floor(x / y))
print("jax", jax.__version__)
expected = np.arange(4096, dtype=np.float32)
for number in (3, 41, 47, 55):
    y = np.float32(number)
    x = expected * y
    wrong = [
        int((np.asarray(quotients) != expected).sum())
        for quotients in (
            jax.jit(lambda x: jnp.floor(x / y))(x), floor(x, y), floor(x, np.full_like(x, y)), np.floor(x / y),
        )
    ]
    print(f"x / {number}: wrong {wrong[0]} by a constant, {wrong[1]} by an argument, {wrong[2]} by an array, "
          f"{wrong[3]} with NumPy")
PROGRAM
seen=$("$folder/venv/bin/python" "$folder/program.py")
echo "$seen"
expected="jax 0.10.2
x / 3: wrong 0 by a constant, 0 by an argument, 0 by an array, 0 with NumPy
x / 41: wrong 1644 by a constant, 1644 by an argument, 0 by an array, 0 with NumPy
x / 47: wrong 488 by a constant, 488 by an argument, 0 by an array, 0 with NumPy
x / 55: wrong 488 by a constant, 488 by an argument, 0 by an array, 0 with NumPy"
[ "$seen" = "$expected" ] || { echo changed; exit 1; }
