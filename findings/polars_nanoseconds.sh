#!/usr/bin/env bash
# Polars: a column of nanoseconds that is compared with a Python datetime or timedelta is cut to microseconds first.
#
# Guess: nanoseconds are compared as such, since a microsecond is 1,000 of them: pyarrow, pandas and DuckDB do so.
# Seen:  the coarser unit wins. Durations of 1 and 999 ns are not `> timedelta(0)` and are `== timedelta(0)`, as
#   kernels or gaps between them may take; an instant 456 ns after t is `== t`, not `> t`, and `column - t` is in
#   microseconds. `is_in([t])` does not find what `== t` and `is_between(t, t)` do. Compared with
#   `pl.duration(nanoseconds=0)` or `pl.lit(t, pl.Datetime("ns"))` they are exact.
# Runs:  polars 2.1.0, pyarrow 25.0.1, pandas 2.3.3, duckdb 2.0.1.
set -eu
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet --disable-pip-version-check polars==2.1.0 pyarrow==25.0.1 pandas==2.3.3 \
  duckdb==2.0.1
cat > "$folder/program.py" <<'PROGRAM'
from datetime import datetime, timedelta

import duckdb
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.compute as pc

start, nothing = datetime(2001, 9, 9, 1, 46, 40, 123456), timedelta(0)
instants, durations = [1_000_000_000_123_456_000, 1_000_000_000_123_456_456], [0, 1, 999, 1000]
table = pl.DataFrame({"t": pl.Series(instants).cast(pl.Datetime("ns"))})
times = pl.DataFrame({"d": pl.Series(durations).cast(pl.Duration("ns"))})
t, d = pl.col("t"), pl.col("d")

print("polars", pl.__version__, "pyarrow", pa.__version__, "pandas", pd.__version__, "duckdb", duckdb.__version__)
conditions = {
    "d > 0": d > nothing, "d == 0": d == nothing, "d > pl.duration": d > pl.duration(nanoseconds=0),
}
print("polars, durations:", {name: times.filter(condition).height for name, condition in conditions.items()})
conditions = {
    "t == start": t == start, "t > start": t > start, "is_between": t.is_between(start, start),
    "is_in": t.is_in([start]), "t > pl.lit": t > pl.lit(start, pl.Datetime("ns")),
}
print("polars, instants:", {name: table.filter(condition).height for name, condition in conditions.items()})
after = table.select(t - start)["t"]
print("polars, differences:", after.dtype, after.cast(pl.Int64).to_list())
arrow, frame = pa.table({"d": pa.array(durations, pa.duration("ns"))}), pd.DataFrame({"d": pd.to_timedelta(durations)})
moments = pa.table({"t": pa.array(instants, pa.timestamp("ns"))})
duckdb.register("moments", moments)
later = f"select count(*) from moments where t > timestamp '{start}'"
print("others:", {
    "pyarrow d > 0": arrow.filter(pc.field("d") > nothing).num_rows,
    "pandas d > 0": int((frame.d > nothing).sum()),
    "pyarrow t > start": moments.filter(pc.field("t") > start).num_rows,
    "pandas t > start": int((moments.to_pandas().t > start).sum()),
    "duckdb t > start": duckdb.sql(later).fetchall()[0][0],
})
PROGRAM
seen=$("$folder/venv/bin/python" -W ignore "$folder/program.py")
echo "$seen"
expected="polars 2.1.0 pyarrow 25.0.1 pandas 2.3.3 duckdb 2.0.1
polars, durations: {'d > 0': 1, 'd == 0': 3, 'd > pl.duration': 3}
polars, instants: {'t == start': 2, 't > start': 0, 'is_between': 2, 'is_in': 1, 't > pl.lit': 1}
polars, differences: Duration(time_unit='us') [0, 0]
others: {'pyarrow d > 0': 3, 'pandas d > 0': 3, 'pyarrow t > start': 1, 'pandas t > start': 1, 'duckdb t > start': 1}"
[ "$seen" = "$expected" ] || { echo changed; exit 1; }
