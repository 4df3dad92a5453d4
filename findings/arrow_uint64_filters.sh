#!/usr/bin/env bash
# pyarrow: a filter of uint64 by a small number raises an error once a row is 2^63 or more, and `isin` only of a file.
#
# Guess: `field("x") == 5` compares in uint64, or in a type that holds both sides; what works in memory works of a file.
# Seen:  Python's 5 is an int64, and uint64 beside int64 are compared in int64, by a checked cast of the column: with one row
#   of 2^63 or more, `==`, `>` and read_table(filters=[("x", "==", 5)]) raise ArrowInvalid; until then they work, and
#   statistics of a file cannot save them. `isin([5])` is right in memory and raises of a file. Hashes, addresses and the
#   counters of GPUs are such columns. pa.scalar(5, pa.uint64()) is right everywhere, as are DuckDB and Polars.
# Runs:  pyarrow 25.0.1, polars 2.1.0, duckdb 2.0.1.
set -eu
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet --disable-pip-version-check pyarrow==25.0.1 polars==2.1.0 duckdb==2.0.1
cat > "$folder/program.py" <<'PROGRAM'
import sys

import duckdb
import polars as pl
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq


def rows(read):
    try:
        return read()["x"].to_pylist()
    except pa.ArrowInvalid as error:
        return str(error)


x, path = pc.field("x"), f"{sys.argv[1]}/x.parquet"
filters = {
    "x == 5": x == 5,
    "x > 5": x > 5,
    "x.isin([5])": x.isin([5]),
    "x == pa.scalar(5, pa.uint64())": x == pa.scalar(5, pa.uint64()),
}
print("pyarrow", pa.__version__, "polars", pl.__version__, "duckdb", duckdb.__version__)
for largest in (2**63 - 1, 2**64 - 1):
    table = pa.table({"x": pa.array([5, largest], pa.uint64())})
    pq.write_table(table, path)
    print(f"5 and {largest}:")
    for text, question in filters.items():
        in_memory, of_file = rows(lambda: table.filter(question)), rows(lambda: pq.read_table(path, filters=question))
        print(f"  {text}: {in_memory} in memory, {of_file if of_file != in_memory else 'the same'} of the file")
    found = pl.scan_parquet(path).filter(pl.col("x") == 5).collect().height
    print(f"  rows by Polars {found}, by DuckDB {len(duckdb.sql(f'select x from {path!r} where x = 5'))}")
PROGRAM
seen=$("$folder/venv/bin/python" "$folder/program.py" "$folder")
echo "$seen"
expected="pyarrow 25.0.1 polars 2.1.0 duckdb 2.0.1
5 and 9223372036854775807:
  x == 5: [5] in memory, the same of the file
  x > 5: [9223372036854775807] in memory, the same of the file
  x.isin([5]): [5] in memory, the same of the file
  x == pa.scalar(5, pa.uint64()): [5] in memory, the same of the file
  rows by Polars 1, by DuckDB 1
5 and 18446744073709551615:
  x == 5: Integer value 18446744073709551615 not in range: 0 to 9223372036854775807 in memory, the same of the file
  x > 5: Integer value 18446744073709551615 not in range: 0 to 9223372036854775807 in memory, the same of the file
  x.isin([5]): [5] in memory, Integer value 18446744073709551615 not in range: 0 to 9223372036854775807 of the file
  x == pa.scalar(5, pa.uint64()): [5] in memory, the same of the file
  rows by Polars 1, by DuckDB 1"
[ "$seen" = "$expected" ] || { echo changed; exit 1; }
