#!/usr/bin/env bash
# PyTorch: a frame under torch.compile may have a code object that cannot be hashed.
# Relied on by: kvtrace/addons/graphs/hlo/errors.py
#
# Guess: code objects are hashable, so a profiler or tracer may use frame.f_code as a key of a dictionary.
# Seen:  where a compiled function has, across a graph break, a closure that a function of another module
#   returned, Dynamo's code for it has that module's whole globals among its constants: hash() of the code
#   raises TypeError: unhashable type: 'dict', and the code keeps the module's globals alive.
# Runs:  torch 2.13.0 with NumPy 2.3.5 and the python3 of PATH.
set -eu
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet --disable-pip-version-check torch==2.13.0 numpy==2.3.5
cat > "$folder/layers.py" <<'MODULE'
def scaled(factor):
    return lambda x: x * factor
MODULE
cat > "$folder/program.py" <<'PROGRAM'
import sys
import torch
from layers import scaled

codes = []

@torch.compiler.disable
def note_stack(x):
    frame = sys._getframe(1)
    while frame is not None:
        codes.append(frame.f_code)
        frame = frame.f_back
    return x

def function(x):
    layer = scaled(2)
    return layer(note_stack(x + 1))

torch.compile(function, backend="eager")(torch.ones(3))
for code in codes:
    try:
        hash(code)
    except TypeError as error:
        dicts = [constant for constant in code.co_consts if isinstance(constant, dict)]
        print(f"{code.co_name}: {error}; constants: {[names['__name__'] for names in dicts]}")
print("torch", torch.__version__, file=sys.stderr)
PROGRAM
seen=$(cd "$folder" && venv/bin/python program.py)
echo "$seen"
[ "$seen" = "function: unhashable type: 'dict'; constants: ['layers']" ] || { echo changed; exit 1; }
