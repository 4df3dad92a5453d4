#!/usr/bin/env bash
# DataFusion: `x = 0.0` finds no -0.0 in a Parquet file that DuckDB wrote, since Bloom filters tell the zeros apart.
#
# Guess: the two zeros are equal, in memory and in a file: Parquet's statistics are written so that a range has both.
# Seen:  Parquet's Bloom filters hash bytes, and the zeros' differ. DataFusion asks them for an equality, so that of
#   [-1, -0.0, 1, …] a file with a Bloom filter has no row `x = 0.0`; the table in memory has a third. DuckDB writes
#   such filters unasked where a dictionary pays, pyarrow and DataFusion on request. A range (`x <= 0 and x >= 0`) has
#   the rows, and DuckDB has them by `x = 0.0`. pyarrow's `==` has them, its `isin([0.0])` has none, in memory either.
# Runs:  datafusion 55.0.0, duckdb 2.0.1, pyarrow 25.0.1.
set -eu
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet --disable-pip-version-check datafusion==55.0.0 duckdb==2.0.1 pyarrow==25.0.1
cat > "$folder/program.py" <<'PROGRAM'
import sys

import datafusion
import duckdb
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.dataset as ds
import pyarrow.parquet as pq

table = pa.table({"x": [-1.0, -0.0, 1.0] * 100})
duckdb.register("numbers", table)


def by_datafusion(path):
    context = datafusion.SessionContext()
    context.register_record_batches("memory", [table.to_batches()])
    context.register_parquet("file", path)
    query = "select count(*) as rows from {} where {}"
    return {
        f"DataFusion {condition}": tuple(
            context.sql(query.format(source, condition)).to_pydict()["rows"][0] for source in ("memory", "file")
        )
        for condition in ("x = 0.0", "x in (0.0)", "x = -0.0", "x <= 0.0 and x >= 0.0")
    }


def by_others(path):
    sources = "numbers", f"'{path}'"
    x, dataset = pc.field("x"), ds.dataset(path)
    return {
        "DuckDB x = 0.0": tuple(
            duckdb.sql(f"select count(*) from {source} where x = 0.0").fetchall()[0][0] for source in sources
        ),
        **{
            f"pyarrow {name}": (table.filter(condition).num_rows, dataset.to_table(filter=condition).num_rows)
            for name, condition in (("==", x == 0.0), ("isin", x.isin([0.0])))
        },
    }


print("datafusion", datafusion.__version__, "duckdb", duckdb.__version__, "pyarrow", pa.__version__)
print("writer, reader: rows of the table in memory, of the file")
for writer in ("DuckDB", "pyarrow", "pyarrow with a Bloom filter"):
    file = f"{sys.argv[1]}/x.parquet"
    if writer == "DuckDB":
        duckdb.sql("select * from numbers").write_parquet(file)
    else:
        pq.write_table(table, file, **({"bloom_filter_options": {"x": {"ndv": 8}}} if "Bloom" in writer else {}))
    for question, rows in (by_datafusion(file) | by_others(file)).items():
        print(f"{writer}, {question}: {rows[0]}, {rows[1]}")
PROGRAM
seen=$("$folder/venv/bin/python" -W ignore "$folder/program.py" "$folder")
echo "$seen"
expected="datafusion 55.0.0 duckdb 2.0.1 pyarrow 25.0.1
writer, reader: rows of the table in memory, of the file
DuckDB, DataFusion x = 0.0: 100, 0
DuckDB, DataFusion x in (0.0): 100, 0
DuckDB, DataFusion x = -0.0: 100, 100
DuckDB, DataFusion x <= 0.0 and x >= 0.0: 100, 100
DuckDB, DuckDB x = 0.0: 100, 100
DuckDB, pyarrow ==: 100, 100
DuckDB, pyarrow isin: 0, 0
pyarrow, DataFusion x = 0.0: 100, 100
pyarrow, DataFusion x in (0.0): 100, 100
pyarrow, DataFusion x = -0.0: 100, 100
pyarrow, DataFusion x <= 0.0 and x >= 0.0: 100, 100
pyarrow, DuckDB x = 0.0: 100, 100
pyarrow, pyarrow ==: 100, 100
pyarrow, pyarrow isin: 0, 0
pyarrow with a Bloom filter, DataFusion x = 0.0: 100, 0
pyarrow with a Bloom filter, DataFusion x in (0.0): 100, 0
pyarrow with a Bloom filter, DataFusion x = -0.0: 100, 100
pyarrow with a Bloom filter, DataFusion x <= 0.0 and x >= 0.0: 100, 100
pyarrow with a Bloom filter, DuckDB x = 0.0: 100, 100
pyarrow with a Bloom filter, pyarrow ==: 100, 100
pyarrow with a Bloom filter, pyarrow isin: 0, 0"
[ "$seen" = "$expected" ] || { echo changed; exit 1; }
