#!/usr/bin/env bash
# Warp: a variable that is set to 5 and then names a loop of no pass is no longer 5, but what the memory held.
#
# Guess: as in Python, `k` stays 5 after `for k in range(0)`, and is 3 after `for k in range(4)`.
# Seen:  where the bound is an argument the loop has a variable of its own without a value, and what follows reads that,
#   though the function is compiled with the 5 beside it. With a constant bound, which is unrolled, k is 5; after one pass
#   or more it is as in Python. Nothing is reported, and the number differs from run to run.
# Runs:  warp-lang 1.19.0, numpy 2.4.6; a CPU.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet --disable-pip-version-check warp-lang==1.19.0 numpy==2.4.6
cat > "$folder/program.py" <<'PROGRAM'
import contextlib
import io
import re
import tempfile
from pathlib import Path

import warp as wp


@wp.kernel
def argument(n: int, out: wp.array(dtype=wp.int32)):
    k = int(5)
    for k in range(n):
        pass
    out[0] = k


@wp.kernel
def constant(n: int, out: wp.array(dtype=wp.int32)):
    k = int(5)
    for k in range(0):
        pass
    out[0] = k


def after(kernel, n):
    with contextlib.redirect_stdout(io.StringIO()):
        out = wp.zeros(1, dtype=wp.int32, device="cpu")
        wp.launch(kernel, 1, [n, out], device="cpu")
    return out.numpy()[0]


wp.config.quiet = True
wp.config.kernel_cache_dir = tempfile.mkdtemp()
wp.config.enable_backward = False
print("warp", wp.__version__)
print("range(4): k is", after(argument, 4))
print("constant range(0): k is", after(constant, 0))
print("range(n) of n = 0: k is 5", bool(after(argument, 0) == 5))
(path,) = Path(wp.config.kernel_cache_dir).rglob("*.cpp")
lines = [" ".join(re.sub("//.*", "", line).split()) for line in path.read_text().splitlines()]
stored = next(place for place, line in enumerate(lines) if line.startswith("wp::array_store") and "var_3" in line)
print("\n".join(line for line in lines[: stored + 1] if re.search(r"\bvar_3\b", line)))
PROGRAM
seen=$(TMPDIR=$folder "$folder/venv/bin/python" -W ignore "$folder/program.py" 2> "$folder/errors")
echo "$seen"
expected='warp 1.19.0
range(4): k is 3
constant range(0): k is 5
range(n) of n = 0: k is 5 False
wp::int32 var_3;
var_3 = wp::iter_next(var_2);
wp::array_store(var_out, var_4, var_3);'
[ "$seen" = "$expected" ] || { echo changed; exit 1; }
