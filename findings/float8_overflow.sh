#!/usr/bin/env bash
# float8_e4m3fn: 1000 and infinity are 448 for PyTorch, and NaN for ml_dtypes and XLA.
#
# Guess: the type has a NaN and no infinity, so what is too large is NaN; libraries that exchange such arrays agree.
# Seen:  PyTorch saturates: 465, 1000, 1e30 and infinity are 448. ml_dtypes and XLA have NaN from 465 on. Of float8_e5m2,
#   which has infinities, all three agree, and none saturates. So a scale that is too small, or an infinity that is to
#   be noticed, is a finite number in one library and NaN in the next.
# Runs:  torch 2.13.0, ml_dtypes 0.6.0, jax and jaxlib 0.10.2; no accelerator.
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

numbers = np.array([448, 464, 465, 1000, 1e30, np.inf, -np.inf], np.float32)
print("torch", torch.__version__.split("+")[0], "ml_dtypes", ml_dtypes.__version__, "jax", jax.__version__)
for name in ("float8_e4m3fn", "float8_e5m2"):
    results = {
        "torch": torch.from_numpy(numbers).to(getattr(torch, name)).float().numpy(),
        "ml_dtypes": numbers.astype(getattr(ml_dtypes, name)).astype(np.float32),
        "XLA": np.asarray(jax.jit(lambda x: x.astype(getattr(jnp, name)).astype(jnp.float32))(numbers)),
    }
    print(f"{name} of {numbers.tolist()}")
    for library, values in results.items():
        print(f"  {library}: {values.tolist()}")
PROGRAM
seen=$("$folder/venv/bin/python" -W ignore "$folder/program.py")
echo "$seen"
expected="torch 2.13.0 ml_dtypes 0.6.0 jax 0.10.2
float8_e4m3fn of [448.0, 464.0, 465.0, 1000.0, 1.0000000150474662e+30, inf, -inf]
  torch: [448.0, 448.0, 448.0, 448.0, 448.0, 448.0, -448.0]
  ml_dtypes: [448.0, 448.0, nan, nan, nan, nan, nan]
  XLA: [448.0, 448.0, nan, nan, nan, nan, nan]
float8_e5m2 of [448.0, 464.0, 465.0, 1000.0, 1.0000000150474662e+30, inf, -inf]
  torch: [448.0, 448.0, 448.0, 1024.0, inf, inf, -inf]
  ml_dtypes: [448.0, 448.0, 448.0, 1024.0, inf, inf, -inf]
  XLA: [448.0, 448.0, 448.0, 1024.0, inf, inf, -inf]"
[ "$seen" = "$expected" ] || { echo changed; exit 1; }
