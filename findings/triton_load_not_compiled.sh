#!/usr/bin/env bash
# Triton: a volatile load with a cache modifier compiles to PTX that ptxas refuses; `not x` of an int32 does not compile.
#
# Guess: `tl.load(x, cache_modifier=".cg", volatile=True)` is refused by the language or loads past the L1 cache; `not`
#   of an integer is true where it is 0, as in Python and in a condition of `if`.
# Seen:  with Triton 3.9.0 for sm_90 the frontend takes the load, and ptxas ends with "Modifier '.volatile' cannot be
#   combined with modifier '.cg'"; `not` of an int32 ends with "Cannot bitcast data-type of size 32 to data-type of
#   size 1".
# Runs:  triton 3.9.0 and the python3 of PATH; no GPU.
set -eu
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet --disable-pip-version-check triton==3.9.0 setuptools==80.9.0
cat > "$folder/program.py" <<'PROGRAM'
import re

import triton
import triton.language as tl
from triton.backends.compiler import GPUTarget


def compiled(kernel, types, **options):
    types = {name: types.get(name, "constexpr") for name in kernel.arg_names}
    source = triton.compiler.ASTSource(kernel, types, {(len(types) - 1,): 128})
    return triton.compile(source, target=GPUTarget("cuda", 90, 32), options=options).asm




@triton.jit
def volatile(x, out, N: tl.constexpr):
    lanes = tl.arange(0, N)
    tl.store(out + lanes, tl.load(x + lanes, cache_modifier=".cg", volatile=True))


@triton.jit
def negated(x, out, N: tl.constexpr):
    lanes = tl.arange(0, N)
    tl.store(out + lanes, tl.where(not tl.load(x + lanes), 1, 2))


print("triton", triton.__version__)
for kernel in (volatile, negated):
    try:
        compiled(kernel, {"x": "*i32", "out": "*i32"})
    except Exception as error:
        while error.__cause__ is not None:
            error = error.__cause__
        reason = re.search(r"Modifier .*|Cannot bitcast .* of size 1\b", str(error))
        print(f"{kernel.__name__}: {type(error).__name__}: {reason and reason[0]}")
    else:
        print(f"{kernel.__name__}: compiled")
PROGRAM
seen=$("$folder/venv/bin/python" -W ignore "$folder/program.py" 2> /dev/null | grep -E "^(triton|volatile|negated)")
echo "$seen"
expected="triton 3.9.0
volatile: PTXASError: Modifier '.volatile' cannot be combined with modifier '.cg'
negated: ValueError: Cannot bitcast data-type of size 32 to data-type of size 1"
[ "$seen" = "$expected" ] || { echo changed; exit 1; }
