#!/usr/bin/env bash
# Polars: a filter with a sum that wraps around skips the rows of a Parquet file which it finds in memory.
#
# Guess: `scan_parquet(file).filter(x - 1 < 100)` has the rows that the filter has of the same frame in memory.
# Seen:  the filter's arithmetic is done with the least and the greatest number of a row group, in the column's type,
#   and there it wraps around: of UInt32 [0, 50, 200] the least of x - 1 "is" 4294967295, so no row is read, though 49
#   is below 100. So is `10 - x < 6` of a greater number than 10, and `x + 1 > 100` or `x * 2 > 100` where the
#   greatest is the type's last. Columns that count from 0 (programs, grids, nanoseconds) meet it daily. With
#   use_statistics=False, and by DuckDB, which subtracts in a wider type, the rows are found.
# Runs:  polars 2.1.0, pyarrow 25.0.1, duckdb 2.0.1.
set -eu
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet --disable-pip-version-check polars==2.1.0 pyarrow==25.0.1 duckdb==2.0.1
cat > "$folder/program.py" <<'PROGRAM'
import sys

import duckdb
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq

x, path = pl.col("x"), f"{sys.argv[1]}/x.parquet"
questions = {
    "x - 1 < 100": (pa.uint32(), [0, 50, 200], x - 1 < 100),
    "10 - x < 6": (pa.uint32(), [1, 5, 200], 10 - x < 6),
    "x + 1 > 100": (pa.uint8(), [1, 150, 255], x + 1 > 100),
    "x * 2 > 100": (pa.int8(), [1, 60, 127], x * 2 > 100),
    "x + 1 > 5": (pa.int64(), [1, 10, 2**63 - 1], x + 1 > 5),
    "x > 100": (pa.uint32(), [0, 50, 200], x > 100),
}
print("polars", pl.__version__, "pyarrow", pa.__version__, "duckdb", duckdb.__version__)
for text, (kind, numbers, question) in questions.items():
    table = pa.table({"x": pa.array(numbers, kind)})
    pq.write_table(table, path)
    counts = [
        pl.from_arrow(table).filter(question).height,
        pl.scan_parquet(path).filter(question).collect().height,
        pl.scan_parquet(path, use_statistics=False).filter(question).collect().height,
    ]
    try:
        engine = duckdb.sql(f"select count(*) from '{path}' where {text}").fetchall()[0][0]
    except duckdb.OutOfRangeException:
        engine = "an error: out of range"
    print(f"{kind}, {text}: {counts[0]} in memory, {counts[1]} of the file, {counts[2]} without statistics, "
          f"DuckDB {engine}")
PROGRAM
seen=$("$folder/venv/bin/python" "$folder/program.py" "$folder")
echo "$seen"
expected="polars 2.1.0 pyarrow 25.0.1 duckdb 2.0.1
uint32, x - 1 < 100: 1 in memory, 0 of the file, 1 without statistics, DuckDB 2
uint32, 10 - x < 6: 1 in memory, 0 of the file, 1 without statistics, DuckDB 2
uint8, x + 1 > 100: 1 in memory, 0 of the file, 1 without statistics, DuckDB 2
int8, x * 2 > 100: 1 in memory, 0 of the file, 1 without statistics, DuckDB 2
int64, x + 1 > 5: 1 in memory, 0 of the file, 1 without statistics, DuckDB 2
uint32, x > 100: 1 in memory, 1 of the file, 1 without statistics, DuckDB 1"
[ "$seen" = "$expected" ] || { echo changed; exit 1; }
