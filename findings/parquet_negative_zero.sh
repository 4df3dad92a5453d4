#!/usr/bin/env bash
# DataFusion: `x = 0.0` finds no -0.0 in a Parquet file that DuckDB wrote, since Bloom filters tell the zeros apart.
#
# Guess: the two zeros are equal, in memory and in a file: Parquet's statistics are written so that a range has both.
# Seen:  Parquet's Bloom filters hash bytes, and the zeros' differ. DataFusion asks them for an equality, so that of
#   [-1, -0.0, 1, -1, …] a file with a Bloom filter has no row `x = 0.0` and the table in memory has them all; with 0.0, none is
#   `x = -0.0`. DuckDB writes Bloom filters unasked, pyarrow on request, DataFusion too. A range (`x <= 0 and x >= 0`) has
#   the row, and so has DuckDB, which reads its own filters with care. pyarrow's `==` has it, its `isin([0.0])` does not,
#   in memory either.
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
        condition: tuple(
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
print("rows of the table in memory and of the file")
for writer in ("DuckDB", "pyarrow", "pyarrow with a Bloom filter"):
    file = f"{sys.argv[1]}/x.parquet"
    if writer == "DuckDB":
        duckdb.sql("select * from numbers").write_parquet(file)
    else:
        pq.write_table(table, file, **({"bloom_filter_options": {"x": {"ndv": 8}}} if "Bloom" in writer else {}))
    print(f"written by {writer}: DataFusion {by_datafusion(file)}, {by_others(file)}")
PROGRAM
seen=$("$folder/venv/bin/python" -W ignore "$folder/program.py" "$folder")
echo "$seen"
expected="datafusion 55.0.0 duckdb 2.0.1 pyarrow 25.0.1
rows of the table in memory and of the file
written by DuckDB: DataFusion {'x = 0.0': (100, 0), 'x in (0.0)': (100, 0), 'x = -0.0': (100, 100), 'x <= 0.0 and x >= 0.0': (100, 100)}, {'DuckDB x = 0.0': (100, 100), 'pyarrow ==': (100, 100), 'pyarrow isin': (0, 0)}
written by pyarrow: DataFusion {'x = 0.0': (100, 100), 'x in (0.0)': (100, 100), 'x = -0.0': (100, 100), 'x <= 0.0 and x >= 0.0': (100, 100)}, {'DuckDB x = 0.0': (100, 100), 'pyarrow ==': (100, 100), 'pyarrow isin': (0, 0)}
written by pyarrow with a Bloom filter: DataFusion {'x = 0.0': (100, 0), 'x in (0.0)': (100, 0), 'x = -0.0': (100, 100), 'x <= 0.0 and x >= 0.0': (100, 100)}, {'DuckDB x = 0.0': (100, 100), 'pyarrow ==': (100, 100), 'pyarrow isin': (0, 0)}"
[ "$seen" = "$expected" ] || { echo changed; exit 1; }
