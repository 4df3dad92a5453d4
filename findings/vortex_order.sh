#!/usr/bin/env bash
# Vortex: a filter `x == 0.0` has no row of -0.0, `x > 5` has the NaNs and `x == NaN`, too; sums that wrap around raise.
#
# Guess: comparisons are IEEE 754's, as in DuckDB, Polars and pyarrow, except perhaps where a file's statistics are read.
# Seen:  everywhere, in memory as of a file, floats are ordered by their bits: -NaN, -infinity, ..., -0.0, 0.0, ..., NaN.
#   -0.0 is less than 0.0, NaN equals NaN and is more than infinity, so `x <= 5` and its negation are as of numbers.
#   Integers are computed in the column's type and checked: `x - 1 < 100` of UInt32 [0, 50, 200] raises.
# Runs:  vortex-data 0.90.0, pyarrow 25.0.1, numpy 2.4.6.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet --disable-pip-version-check vortex-data==0.90.0 pyarrow==25.0.1 numpy==2.4.6
cat > "$folder/program.py" <<'PROGRAM'
import sys
from importlib.metadata import version

import pyarrow as pa
import pyarrow.compute as pc
import vortex
import vortex.expr as ve

NAN, INFINITY = float("nan"), float("inf")
X = ve.column("x")
PATH = sys.argv[1]


def double(number):
    return ve.literal(vortex.float_(64), number)


def of_file(table, expression):
    vortex.io.write(vortex.array(table), PATH)
    return vortex.open(PATH).scan(expr=expression).read_all().to_arrow_array().field("x").to_pylist()


print(", ".join(f"{name} {version(name)}" for name in ("vortex-data", "pyarrow")))
floats = pa.table({"x": pa.array([-0.0, 0.0, 5.0, 7.0, INFINITY, NAN], pa.float64())})
print("x =", floats["x"].to_pylist())
FILTERS = (("==", X == double(0.0), pc.field("x") == 0.0), ("<", X < double(0.0), pc.field("x") < 0.0))
for name, expression, arrow in FILTERS:
    print(f"x {name} 0.0: vortex {of_file(floats, expression)}, pyarrow {floats.filter(arrow)['x'].to_pylist()}")
for name, expression, arrow in (
    ("x > 5", X > double(5.0), pc.field("x") > 5.0),
    ("x == NaN", X == double(NAN), pc.field("x") == NAN),
    ("x <= NaN", X <= double(NAN), pc.field("x") <= NAN),
    ("x != NaN", X != double(NAN), pc.field("x") != NAN),
):
    print(f"{name}: vortex {of_file(floats, expression)}, pyarrow {floats.filter(arrow)['x'].to_pylist()}")
integers = pa.table({"x": pa.array([0, 50, 200], pa.uint32())})
try:
    print(of_file(integers, ve.sub(X, ve.literal(vortex.uint(32), 1)) < ve.literal(vortex.uint(32), 100)))
except Exception as error:
    print("x - 1 < 100 of [0, 50, 200]:", str(error).splitlines()[0])
PROGRAM
seen=$("$folder/venv/bin/python" -W ignore "$folder/program.py" "$folder/table.vortex" 2> "$folder/errors")
echo "$seen"
expected='vortex-data 0.90.0, pyarrow 25.0.1
x = [-0.0, 0.0, 5.0, 7.0, inf, nan]
x == 0.0: vortex [0.0], pyarrow [-0.0, 0.0]
x < 0.0: vortex [-0.0], pyarrow []
x > 5: vortex [7.0, inf, nan], pyarrow [7.0, inf]
x == NaN: vortex [nan], pyarrow []
x <= NaN: vortex [-0.0, 0.0, 5.0, 7.0, inf, nan], pyarrow []
x != NaN: vortex [-0.0, 0.0, 5.0, 7.0, inf], pyarrow [-0.0, 0.0, 5.0, 7.0, inf, nan]
x - 1 < 100 of [0, 50, 200]: integer overflow in checked sub'
[ "$seen" = "$expected" ] || { echo changed; exit 1; }
