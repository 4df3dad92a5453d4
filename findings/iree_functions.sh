#!/usr/bin/env bash
# IREE on a CPU: (-2)^3 and 0^0 are NaN, the sine of 1e7 is 0.54, and true + true is false.
# Relied on by: docs/hlo.md
#
# Guess: one StableHLO program has one meaning but for last bits and what the specification leaves open, in IREE as in XLA.
# Seen:  power is exp(y log x), so it is NaN for each negative x, for 0^0, 1^NaN and NaN^0; in StableHLO, as in IEEE 754,
#   these are -8, 1, 1, 1, and XLA has them. sine is off by 0.004 at 1e5 and has nothing to do with x at 1e7; tan(pi / 2)
#   is -inf. atan2(0, 0) and atan2(inf, inf) are NaN. `add` of Booleans, in StableHLO a logical or, is an exclusive one.
#   3e9 and NaN to int32 are -2147483648 on x86-64, where XLA has 2147483647 and 0. Integer division by 0, shifts beyond
#   the width, clamped indices, NaN in maximum and the order of sort are XLA's.
# Runs:  iree-base-compiler and iree-base-runtime 3.13.0 (llvm-cpu, generic x86-64), numpy 2.4.6 for the values beside.
set -eu
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet --disable-pip-version-check \
  iree-base-compiler==3.13.0 iree-base-runtime==3.13.0 numpy==2.4.6
cat > "$folder/program.py" <<'PROGRAM'
from importlib.metadata import version

import iree.compiler
import iree.runtime
import numpy as np

inf, nan = np.inf, np.nan
questions = {
    "power": (np.power, np.float32([-2, 2, 0, nan, 1]), np.float32([3, 3, 0, 0, nan])),
    "sine": (np.sin, np.float32([1, 1000, 1e5, 1e7])),
    "tan": (np.tan, np.float32([1, 1.5707964])),
    "atan2": (np.arctan2, np.float32([0, 0, 1, inf]), np.float32([-1, 0, 0, inf])),
    "add": (np.logical_or, np.array([True, True, False]), np.array([True, False, False])),
}
kinds = {"float32": "f32", "bool": "i1"}
functions = []
for name, (_, *arrays) in questions.items():
    shape = f"tensor<{arrays[0].size}x{kinds[arrays[0].dtype.name]}>"
    parameters = ", ".join(f"%a{place}: {shape}" for place in range(len(arrays)))
    operands = ", ".join(f"%a{place}" for place in range(len(arrays)))
    functions.append(
        f"func.func @{name}({parameters}) -> {shape} {{\n"
        f"  %r = stablehlo.{name} {operands} : {shape}\n  return %r : {shape}\n}}"
    )
options = {"target_backends": ["llvm-cpu"], "extra_args": ["--iree-llvmcpu-target-cpu=generic"]}
program = iree.compiler.compile_str("\n".join(functions), input_type="stablehlo", **options)
context = iree.runtime.SystemContext(config=iree.runtime.Config("local-sync"))
context.add_vm_module(iree.runtime.VmModule.copy_buffer(context.instance, program))
print("iree", version("iree-base-compiler"))
np.seterr(all="ignore")
for name, (expected, *arrays) in questions.items():
    result = np.asarray(context.modules.module[name](*arrays))
    print(f"{name} of {', '.join(str(array.tolist()) for array in arrays)}")
    print("  IREE: ", ", ".join(f"{y:.4g}" if y.dtype.kind == "f" else str(y) for y in result))
    print("  NumPy:", ", ".join(f"{y:.4g}" if y.dtype.kind == "f" else str(y) for y in expected(*arrays)))
PROGRAM
seen=$("$folder/venv/bin/python" -W ignore "$folder/program.py" 2> /dev/null)
echo "$seen"
expected="iree 3.13.0
power of [-2.0, 2.0, 0.0, nan, 1.0], [3.0, 3.0, 0.0, 0.0, nan]
  IREE:  nan, 8, nan, nan, nan
  NumPy: -8, 8, 1, 1, 1
sine of [1.0, 1000.0, 100000.0, 10000000.0]
  IREE:  0.8415, 0.8269, 0.03954, 0.5403
  NumPy: 0.8415, 0.8269, 0.03575, 0.4205
tan of [1.0, 1.5707963705062866]
  IREE:  1.557, -inf
  NumPy: 1.557, -2.288e+07
atan2 of [0.0, 0.0, 1.0, inf], [-1.0, 0.0, 0.0, inf]
  IREE:  3.142, nan, 1.571, nan
  NumPy: 3.142, 0, 1.571, 0.7854
add of [True, True, False], [True, False, False]
  IREE:  False, True, False
  NumPy: True, True, False"
[ "$seen" = "$expected" ] || { echo changed; exit 1; }
