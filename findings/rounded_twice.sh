#!/usr/bin/env bash
# XLA and ml_dtypes: float64 to 8 and 16 bits is rounded once or twice, by library and type.
# Relied on by: docs/hlo.md
#
# Guess: a conversion rounds once, to the nearest number of the result's type; and a library that does so for
#   one narrow type does so for all.
# Seen:  XLA on a CPU (jaxlib 0.10.2) rounds float64 to float8_e4m3fn and float8_e5m2 once, and float64 to
#   bfloat16 twice, by way of float32: 1 + 2^-8 + 2^-40 becomes 1, not 1.0078125. ml_dtypes 0.6.0, which JAX
#   uses for arrays outside of jit, rounds all three twice: jax.jit(f)(x) and NumPy's f(x) differ for float8.
# Runs:  jax and jaxlib 0.10.2, ml_dtypes 0.6.0, NumPy 2.3.5.
set -eu
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet --disable-pip-version-check jax==0.10.2 jaxlib==0.10.2 ml_dtypes==0.6.0 numpy==2.3.5
cat > "$folder/program.py" <<'PROGRAM'
import sys
import jax, ml_dtypes, numpy as np

jax.config.update("jax_enable_x64", True)
for name, x, nearest in (
    ("float8_e4m3fn", 1 + 2**-4 + 2**-40, 1.125),
    ("float8_e5m2", 1 + 2**-3 + 2**-40, 1.25),
    ("bfloat16", 1 + 2**-8 + 2**-40, 1.0078125),
):
    dtype = np.dtype(getattr(ml_dtypes, name))
    by_numpy = np.array([x]).astype(dtype)
    by_xla = np.asarray(jax.jit(lambda a: a.astype(dtype))(np.array([x])))
    answers = ["once" if float(result[0]) == nearest else "twice" for result in (by_numpy, by_xla)]
    print(name, "ml_dtypes:", answers[0], "XLA:", answers[1])
print("jax", jax.__version__, "ml_dtypes", ml_dtypes.__version__, "NumPy", np.__version__, file=sys.stderr)
PROGRAM
seen=$("$folder/venv/bin/python" "$folder/program.py")
echo "$seen"
expected="float8_e4m3fn ml_dtypes: twice XLA: once
float8_e5m2 ml_dtypes: twice XLA: once
bfloat16 ml_dtypes: twice XLA: twice"
[ "$seen" = "$expected" ] || { echo changed; exit 1; }
