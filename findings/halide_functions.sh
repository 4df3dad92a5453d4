#!/usr/bin/env bash
# Halide: log of infinity is 88.72, exp of infinity 0, erf of infinity NaN, and floor(x / 41) of 41 is 0.
#
# Guess: without fast_exp and fast_log the functions are those of the C library, infinity included; a quotient is
#   correctly rounded; `strict_float` makes all of it IEEE.
# Seen:  on a CPU exp, log and erf of float32 are Halide's own, and know no infinity, with `strict_float`, too. x / 41
#   is a product with a rounded reciprocal, (x + 1e10) - 1e10 is x, and x == x is true of NaN, unless strict_float is
#   asked for; max(x, 1) and max(1, x) of NaN differ with it.
# Runs:  halide 21.0.0 on a CPU, numpy 2.4.6.
set -eu
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet --disable-pip-version-check halide==21.0.0 numpy==2.4.6
cat > "$folder/program.py" <<'PROGRAM'
from importlib.metadata import version

import halide as hl
import numpy as np

x = hl.Var("x")


def shown(name, function, values):
    array = hl.Buffer(np.array(values, np.float32))
    computed = hl.Func()
    computed[x] = function(array[x])
    plain = np.array(computed.realize([len(values)])).tolist()
    strict = hl.Func()
    strict[x] = hl.strict_float(function(array[x]))
    print(f"{name} of {values}: {plain}; strict_float: {np.array(strict.realize([len(values)])).tolist()}")


inf = float("inf")
print("halide", version("halide"))
shown("log", hl.log, [inf, 1e-40, 1.0])
shown("erf", hl.erf, [inf, -inf, 1.0])
shown("exp", hl.exp, [inf, -inf, float("nan")])
shown("floor(x / 41)", lambda value: hl.floor(value / 41.0), [41.0, 82.0, 123.0])
shown("(x + 1e10) - 1e10", lambda value: (value + 1e10) - 1e10, [1.0])
shown("select(x == x, 1, 0)", lambda value: hl.cast(hl.Float(32), hl.select(value == value, 1, 0)), [float("nan")])
shown("max(x, 1)", lambda value: hl.max(value, 1.0), [float("nan")])
shown("max(1, x)", lambda value: hl.max(hl.f32(1.0), value), [float("nan")])
PROGRAM
seen=$("$folder/venv/bin/python" -W ignore "$folder/program.py")
echo "$seen"
expected='halide 21.0.0
log of [inf, 1e-40, 1.0]: [88.72283935546875, -88.02122497558594, 0.0]; strict_float: [88.72283935546875, -88.02122497558594, 0.0]
erf of [inf, -inf, 1.0]: [nan, nan, 0.842700719833374]; strict_float: [nan, nan, 0.842700719833374]
exp of [inf, -inf, nan]: [0.0, 0.0, 0.0]; strict_float: [0.0, 0.0, 0.0]
floor(x / 41) of [41.0, 82.0, 123.0]: [0.0, 1.0, 3.0]; strict_float: [1.0, 2.0, 3.0]
(x + 1e10) - 1e10 of [1.0]: [1.0]; strict_float: [0.0]
select(x == x, 1, 0) of [nan]: [1.0]; strict_float: [0.0]
max(x, 1) of [nan]: [1.0]; strict_float: [1.0]
max(1, x) of [nan]: [1.0]; strict_float: [nan]'
[ "$seen" = "$expected" ] || { echo changed; exit 1; }
