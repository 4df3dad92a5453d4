#!/usr/bin/env bash
# DuckDB, Polars, DataFusion, pyarrow: a sum beyond int64 is negative in three, and 1.5 as an integer is 2 in DuckDB, else 1.
#
# Guess: a sum that does not fit raises an error, or is wider, as in SQL; round() goes away from zero and a cast cuts off,
#   in each engine, so round(x) and x::int differ by at most the fraction.
# Seen:  sums of int64 and uint64 wrap around without a word in Polars, DataFusion and pyarrow; DuckDB has the number. The
#   mean of the same column is right in all. A cast to int rounds half to even in DuckDB (0.5 is 0, 1.5 and 2.5 are 2),
#   where its round(2.5) is 3; Polars rounds half to even and casts by cutting off; DataFusion rounds away
#   from zero and cuts off; pyarrow's cast refuses 1.5. A product of Polars' decimals with 3 digits has 3 digits:
#   1.005 * 1.005 is 1.010, elsewhere 1.010025.
# Runs:  duckdb 2.0.1, polars 2.1.0, datafusion 55.0.0, pyarrow 25.0.1.
set -eu
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet --disable-pip-version-check \
  duckdb==2.0.1 polars==2.1.0 datafusion==55.0.0 pyarrow==25.0.1
cat > "$folder/program.py" <<'PROGRAM'
import decimal

import datafusion
import duckdb
import polars as pl
import pyarrow as pa
import pyarrow.compute as pc

large = pa.table({"i": pa.array([2**63 - 1, 1], pa.int64()), "u": pa.array([2**64 - 1, 2], pa.uint64())})
halves = pa.table({"f": pa.array([0.5, 1.5, 2.5, -2.5])})
exact = pa.table({"d": pa.array([decimal.Decimal("1.005")], pa.decimal128(10, 3))})
context = datafusion.SessionContext()
for name, table in (("large", large), ("halves", halves), ("exact", exact)):
    context.from_arrow(table, name=name)


def by_datafusion(query):
    return [tuple(row.values()) for batch in context.sql(query).collect() for row in batch.to_pylist()]


def by_duckdb(query):
    return duckdb.sql(query).fetchall()


def shown(rows):
    return ", ".join(" ".join(f"{cell:g}" if isinstance(cell, float) else str(cell) for cell in row) for row in rows)


i, u, f, d = (pl.col(name) for name in "iufd")
sums, rounded, product = (pl.from_arrow(table) for table in (large, halves, exact))
questions = {
    "sum(i), sum(u), avg(i)": ("large", sums.select(i.sum(), u.sum(), i.mean().alias("m")).rows()),
    "round(f), f::int": ("halves", rounded.select(f.round(), f.cast(pl.Int32).alias("c")).rows()),
    "d * d": ("exact", product.select(d * d).rows()),
}
print("duckdb", duckdb.__version__, "polars", pl.__version__, "datafusion", datafusion.__version__)
for text, (table, polars_rows) in questions.items():
    query = f"select {text} from {table}"
    print(f"{text}\n  DuckDB {shown(by_duckdb(query))}\n  Polars {shown(polars_rows)}")
    print(f"  DataFusion {shown(by_datafusion(query))}")
print("pyarrow", pa.__version__, pc.sum(large["i"]), pc.sum(large["u"]), pc.round(halves["f"]).to_pylist())
PROGRAM
seen=$("$folder/venv/bin/python" -W ignore "$folder/program.py")
echo "$seen"
expected="duckdb 2.0.1 polars 2.1.0 datafusion 55.0.0
sum(i), sum(u), avg(i)
  DuckDB 9223372036854775808 18446744073709551617 4.61169e+18
  Polars -9223372036854775808 1 4.61169e+18
  DataFusion -9223372036854775808 1 4.61169e+18
round(f), f::int
  DuckDB 1 0, 2 2, 3 2, -3 -2
  Polars 0 0, 2 1, 2 2, -2 -2
  DataFusion 1 0, 2 1, 3 2, -3 -2
d * d
  DuckDB 1.010025
  Polars 1.010
  DataFusion 1.010025
pyarrow 25.0.1 -9223372036854775808 1 [0.0, 2.0, 2.0, -2.0]"
[ "$seen" = "$expected" ] || { echo changed; exit 1; }
