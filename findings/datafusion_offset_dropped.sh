#!/usr/bin/env bash
# DataFusion: `timestamptz '… +00'` is no instant: beside a column of another zone it is that zone's wall clock.
#
# Guess: a literal with an offset is the instant that it says, whatever zone a column of instants is shown in.
# Seen:  `timestamptz '1970-01-01 00:00:00+00'` has the type Timestamp(ns) without a zone; the offset is applied and
#   dropped. Compared with a column of zone America/New_York it is midnight there, 5 h later: all three instants
#   around 1970 are before it, where one is. As a string without a type, and with arrow_cast, it is the instant. So
#   one instant written once with zone UTC and once with another compares equal column to column, and differs from
#   one literal. DuckDB has one row each time.
# Runs:  datafusion 55.0.0, duckdb 2.0.1, pyarrow 25.0.1.
set -eu
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet --disable-pip-version-check datafusion==55.0.0 duckdb==2.0.1 pyarrow==25.0.1 \
  pytz==2025.2
cat > "$folder/program.py" <<'PROGRAM'
import datafusion
import duckdb
import pyarrow as pa

instants = pa.array([-1, 0, 1], pa.int64())
zones = {"utc": "UTC", "york": "America/New_York"}
table = pa.table({name: instants.cast(pa.timestamp("us", zone)) for name, zone in zones.items()})
context = datafusion.SessionContext()
context.register_record_batches("events", [table.to_batches()])
duckdb.sql("set timezone = 'UTC'")
duckdb.register("events", table)
print("datafusion", datafusion.__version__, "duckdb", duckdb.__version__, "pyarrow", pa.__version__)
for question in (
    "utc = york",
    "utc < timestamptz '1970-01-01 00:00:00+00'",
    "york < timestamptz '1970-01-01 00:00:00+00'",
    "york < timestamptz '1970-01-01 02:00:00+02'",
    "york < '1970-01-01T00:00:00Z'",
):
    query = f"select count(*) as rows from events where {question}"
    rows = context.sql(query).to_pydict()["rows"][0]
    print(f"{question}: DataFusion {rows}, DuckDB {duckdb.sql(query).fetchall()[0][0]}")
literal = context.sql("select arrow_typeof(timestamptz '1970-01-01 02:00:00+02') as type").to_pydict()["type"][0]
print("type of the literal:", literal)
PROGRAM
seen=$("$folder/venv/bin/python" "$folder/program.py")
echo "$seen"
expected="datafusion 55.0.0 duckdb 2.0.1 pyarrow 25.0.1
utc = york: DataFusion 3, DuckDB 3
utc < timestamptz '1970-01-01 00:00:00+00': DataFusion 1, DuckDB 1
york < timestamptz '1970-01-01 00:00:00+00': DataFusion 3, DuckDB 1
york < timestamptz '1970-01-01 02:00:00+02': DataFusion 3, DuckDB 1
york < '1970-01-01T00:00:00Z': DataFusion 1, DuckDB 1
type of the literal: Timestamp(ns)"
[ "$seen" = "$expected" ] || { echo changed; exit 1; }
