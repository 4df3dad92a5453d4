#!/usr/bin/env bash
# Parquet readers: a filter for NaN finds none, since the statistics that skip row groups do not know of them.
#
# Guess: a filter of a file has the rows that the same filter has of the table in memory; at worst engines differ on
#   `x > 100`, since DuckDB, DataFusion and Polars order NaN above all numbers.
# Seen:  the least and greatest number of a column leave NaN out, and engines skip by them. Of [5.0, 5.0, NaN] in one
#   row group pyarrow, DuckDB and DataFusion find no NaN, by `isnan(x)` itself, by `x != 5` and by `not (x = 5)`; in
#   memory each finds it. Of [1.0, 5.0, NaN] `not (x <= 5)` has none in all three. Polars has them all. It depends on
#   the writer: DuckDB writes no statistics for a column with NaN, so its own files are right.
# Runs:  duckdb 2.0.1, pyarrow 25.0.1, polars 2.1.0, datafusion 55.0.0.
set -eu
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet --disable-pip-version-check duckdb==2.0.1 pyarrow==25.0.1 polars==2.1.0 \
  datafusion==55.0.0
cat > "$folder/program.py" <<'PROGRAM'
import sys

import datafusion
import duckdb
import polars as pl
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.dataset as ds
import pyarrow.parquet as pq

x = pc.field("x")
questions = {
    "isnan(x)": ([5.0, 5.0, float("nan")], pc.is_nan(x), pl.col("x").is_nan()),
    "x != 5": ([5.0, 5.0, float("nan")], x != 5, pl.col("x") != 5),
    "not (x = 5)": ([5.0, 5.0, float("nan")], ~(x == 5), ~(pl.col("x") == 5)),
    "not (x <= 5)": ([1.0, 5.0, float("nan")], ~(x <= 5), ~(pl.col("x") <= 5)),
    "x > 100": ([1.0, 5.0, float("nan")], x > 100, pl.col("x") > 100),
}
print("duckdb", duckdb.__version__, "pyarrow", pa.__version__, "polars", pl.__version__,
      "datafusion", datafusion.__version__)
for text, (numbers, arrow, polars) in questions.items():
    table, path = pa.table({"x": numbers}), f"{sys.argv[1]}/x.parquet"
    pq.write_table(table, path)
    duckdb.register("numbers", table)
    context = datafusion.SessionContext()
    context.register_record_batches("memory", [table.to_batches()])
    context.register_parquet("file", path)
    counts = {
        "pyarrow": (table.filter(arrow).num_rows, ds.dataset(path).to_table(filter=arrow).num_rows),
        "duckdb": tuple(
            duckdb.sql(f"select count(*) from {source} where {text}").fetchall()[0][0]
            for source in ("numbers", f"'{path}'")
        ),
        "polars": (
            pl.from_arrow(table).filter(polars).height,
            pl.scan_parquet(path).filter(polars).collect().height,
        ),
        "datafusion": tuple(
            context.sql(f"select count(*) as rows from {source} where {text}").to_pydict()["rows"][0]
            for source in ("memory", "file")
        ),
    }
    print(f"{text}:", ", ".join(f"{name} {memory} in memory, {file} of the file"
                                for name, (memory, file) in counts.items()))
PROGRAM
seen=$("$folder/venv/bin/python" "$folder/program.py" "$folder")
echo "$seen"
expected="duckdb 2.0.1 pyarrow 25.0.1 polars 2.1.0 datafusion 55.0.0
isnan(x): pyarrow 1 in memory, 0 of the file, duckdb 1 in memory, 0 of the file, polars 1 in memory, 1 of the file, datafusion 1 in memory, 0 of the file
x != 5: pyarrow 1 in memory, 0 of the file, duckdb 1 in memory, 0 of the file, polars 1 in memory, 1 of the file, datafusion 1 in memory, 0 of the file
not (x = 5): pyarrow 1 in memory, 0 of the file, duckdb 1 in memory, 0 of the file, polars 1 in memory, 1 of the file, datafusion 1 in memory, 0 of the file
not (x <= 5): pyarrow 1 in memory, 0 of the file, duckdb 1 in memory, 0 of the file, polars 1 in memory, 1 of the file, datafusion 1 in memory, 0 of the file
x > 100: pyarrow 0 in memory, 0 of the file, duckdb 1 in memory, 0 of the file, polars 1 in memory, 1 of the file, datafusion 1 in memory, 0 of the file"
[ "$seen" = "$expected" ] || { echo changed; exit 1; }
