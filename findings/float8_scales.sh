#!/usr/bin/env bash
# float8_e8m0fnu, the scales of MX formats: of -1 and of 0 PyTorch makes 1 and 2^-127, ml_dtypes and XLA make NaN.
#
# Guess: a conversion to a type without zero and sign gives NaN for both in all three, or the smallest number for zero;
#   that of other types is the nearest number, and NaN becomes NaN where there is one, else the same in all.
# Seen:  PyTorch leaves the sign out, so a scale of -1 is +1 without a word. ml_dtypes and XLA agree here, and give -0.0
#   for NaN in float4_e2m1fn. In int4 they differ: 1000 is -8 by ml_dtypes and 7 by XLA, infinity 0 and 7.
# Runs:  torch 2.13.0, ml_dtypes 0.6.0, jax and jaxlib 0.10.2 (CPU).
set -eu
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet --disable-pip-version-check torch==2.13.0 ml_dtypes==0.6.0 jax==0.10.2 \
  jaxlib==0.10.2 numpy==2.3.5
cat > "$folder/program.py" <<'PROGRAM'
import jax
import jax.numpy as jnp
import ml_dtypes
import numpy as np
import torch

scales = np.array([-1, 0, 1.5, 2.0**-128, np.inf, np.nan], np.float32)
numbers = np.array([1000, -1000, np.inf, np.nan, -0.1], np.float32)


def by_xla(array, dtype, wide):
    return np.asarray(jax.jit(lambda x: x.astype(dtype).astype(wide))(array)).tolist()


print("torch", torch.__version__.split("+")[0], "ml_dtypes", ml_dtypes.__version__, "jax", jax.__version__)
with np.errstate(all="ignore"):
    print("to float8_e8m0fnu:", scales.tolist())
    print("  torch:", torch.tensor(scales).to(torch.float8_e8m0fnu).float().tolist())
    print("  ml_dtypes:", scales.astype(ml_dtypes.float8_e8m0fnu).astype(np.float32).tolist())
    print("  XLA:", by_xla(scales, jnp.float8_e8m0fnu, jnp.float32))
    for name, wide in (("float4_e2m1fn", np.float32), ("int4", np.int32)):
        print(f"to {name}:", numbers.tolist())
        print("  ml_dtypes:", numbers.astype(getattr(ml_dtypes, name)).astype(wide).tolist())
        print("  XLA:", by_xla(numbers, getattr(jnp, name), wide))
PROGRAM
seen=$("$folder/venv/bin/python" -W ignore "$folder/program.py")
echo "$seen"
expected="torch 2.13.0 ml_dtypes 0.6.0 jax 0.10.2
to float8_e8m0fnu: [-1.0, 0.0, 1.5, 2.938735877055719e-39, inf, nan]
  torch: [1.0, 5.877471754111438e-39, 2.0, 5.877471754111438e-39, nan, nan]
  ml_dtypes: [nan, nan, 2.0, 5.877471754111438e-39, nan, nan]
  XLA: [nan, nan, 2.0, 5.877471754111438e-39, nan, nan]
to float4_e2m1fn: [1000.0, -1000.0, inf, nan, -0.10000000149011612]
  ml_dtypes: [6.0, -6.0, 6.0, -0.0, -0.0]
  XLA: [6.0, -6.0, 6.0, -0.0, -0.0]
to int4: [1000.0, -1000.0, inf, nan, -0.10000000149011612]
  ml_dtypes: [-8, -8, 0, 0, 0]
  XLA: [7, -8, 7, 0, 0]"
[ "$seen" = "$expected" ] || { echo changed; exit 1; }
