"""Generator of docs/format.md, schema.json and row_types.py.

`python -m kvtrace.schema.document` writes them.
"""

import json
from pathlib import Path
from typing import Any, Final

import pyarrow as pa

from kvtrace.schema import table_types
from kvtrace.schema.table_types import Column, Table
from kvtrace.schema.tables import TABLES
from kvtrace.schema.versions import FORMAT_VERSION

SCHEMA_JSON: Final = Path(__file__).parent / "schema.json"
ROW_TYPES: Final = Path(__file__).parent / "row_types.py"
FORMAT_PAGE: Final = Path(__file__).parents[2] / "docs" / "format.md"

#: Python types of values in rows, by `type_text`; points in time are text, to the nanosecond.
_PYTHON_TYPES: Final = {
    "int32": "int",
    "int64": "int",
    "double": "float",
    "bool": "bool",
    "string": "str",
    "name": "str",
    "binary": "bytes",
    "facts": "list[tuple[str, str]]",
    "timestamp[ns, UTC]": "str",
}
_RUN: Final = {"run": "str"}  # the column that the reader adds
_ROW_TYPES_HEAD: Final = '''\
"""Types of rows, as `kvtrace.open("out/").kernels[0]`; docs/format.md has the columns' meanings.

Made from schema/tables.py by `python -m kvtrace.schema.document`; do not edit by hand. Rows are
dictionaries; points in time are text, to the nanosecond. None means "not known".
"""

from typing import TypedDict
'''

_INTRODUCTION: Final = """\
# The trace format, version {version}

<!-- Made from schema/tables.py by `python -m kvtrace.schema.document`; do not edit by hand. -->

A trace is a directory of Parquet files. Any tool that reads Parquet with hive partitioning reads
it, without kvtrace. The tables are listed below; `schema/schema.json` has the same lists for
programs.

## Layout

```
out/
  launches/run=20260102-030405-678-9abcdef0/part-00000.parquet     captured
  launches/run=20260102-030405-678-9abcdef0/part-00001.parquet
  findings/run=20260102-030405-678-9abcdef0/part-sanitizer-00000.parquet  derived by a pass
  runs/run=20260102-030405-678-9abcdef0/part-00000.parquet         written last
  .journal/run=20260102-030407-111-0fedcba9/launches-00000.arrows  a run that is not sealed
```

- Each table has a folder, with one folder per run: `run=<run_id>`. A run is one process. The id is
  the time of its start in UTC, to the millisecond, with 32 random bits, so ids sort by time and
  processes never write to the same file. Ranks of one job share `group_id`.
- If a run has no rows of a table, the table has no folder for that run. A pass that found nothing
  writes an empty part, so "nothing found" differs from "not analyzed".
- A pass (`profiler`, `sanitizer` …) writes parts that carry its name. Running it again replaces all
  of its parts or none, and changes nothing else. It may add rows to `stacks` and `artifacts`; two
  passes may add the same row there, so take distinct `stack_id` or `sha256` when you join to them.
- Clients of other packages may add tables, named `client_<name>`. They are derived, and each of
  their files describes its rows and columns in its metadata.
- Nothing captured is ever overwritten. Names that begin with a dot are temporary or the journal.

## Journal and sealing

While a process runs, its rows go to files ("segments") under `.journal/`, handed to the operating
system twice a second. What they do not have yet is in the run's spool, `.journal/spool=<run_id>/`:
launches, calls and kernels' names, which a thread without Python writes every 20 ms, so that any
kill and any crash, also right after the first launch, loses 20 ms of launches in the median.
SIGTERM (if the program does not handle it), `exec` and `os._exit` wait until all rows are handed
over. What a row refers to is always written before it.

Segment N of a table is sealed into part N when it has grown large or when the run ends. The part is
written under a temporary name, flushed to disk (fsync) and renamed; only then is the segment
removed. So each row is found exactly once, whenever the process is killed. The row of `runs` is
sealed last: if it exists, the run is complete.

The file `.reserve` beside the segments reserves space for the run's last row, in case the disk
fills up.

A killed process leaves its journal. kvtrace's reader also reads the complete batches of journals,
and `kvtrace trace recover out/` seals them (`ended` stays null, `ending` is `killed`), with what
the spool has beyond them: of a kernel that was launched just before the process died perhaps the
name alone. A spool is for the kvtrace that writes it, and has no promised format. An
incomplete write at a segment's end is dropped and reported. On a full disk, writing stops after a
complete batch, everything before it stays readable, and `dropped_rows` counts the rows that could
not be kept until the program ended.

## Checksums

`kvtrace trace validate out/` finds any flipped bit that changes the data.

- The metadata in a part's footer has, as `kvtrace.sha256`, the SHA-256 of the whole file, with the
  64 digits of the checksum itself read as `0`. Its pages have Parquet's checksums, which kvtrace
  checks whenever it reads them. A tool that rewrites a part leaves `kvtrace.sha256` out.
- A segment is a sequence of frames: the schema, twice, then one for each batch. A frame is a header
  of 40 bytes, little-endian, and a payload. The header: `8b 6b 76 74 0d 0a 1a 93`; the number of
  the batch, 0 for the schema (uint32); its rows (uint32); the segment's rows before it (uint64);
  bytes of the payload (uint64); CRC-32 of the payload; CRC-32 of the header so far. Payloads are
  Arrow IPC messages; the schema's and one batch's, concatenated, are a stream. So damage costs only
  the batches that contain it.
- Segments that begin with `ff ff ff ff` are of older versions: one Arrow IPC stream.
- `recover` never deletes a segment with rows that it cannot read. It saves the other rows, reports
  what is lost and where, and moves the segment to `.journal/damaged/run=<run_id>/`, which
  `validate` reports until it is removed.

## Versions

Each file has in its key/value metadata:

| key | meaning |
|---|---|
| `kvtrace.format_version` | `MAJOR.MINOR` of this format |
| `kvtrace.table` | the table |
| `kvtrace.run_id` | the run |
| `kvtrace.pass` | derived parts: the pass |
| `kvtrace.settings` | derived parts: the pass's settings, JSON |
| `kvtrace.version` | derived parts: the version of kvtrace that ran the pass |
| `kvtrace.table_definition` | tables of clients: what rows and columns are, JSON |
| `kvtrace.sha256` | parts: checksum of the file |

A new minor version only adds nullable columns or tables, and the type of a column never changes. A
reader fills the columns that a file lacks with nulls, ignores those it does not know, and refuses
another major version.

## Conventions

- Points in time are `timestamp[ns, UTC]`, from the realtime clock. Durations are int64 nanoseconds
  and end in `_ns`. Sizes are int64 bytes.
- Every column is nullable except the keys, in bold below. Null means "not known", never zero.
- *name* is a dictionary-encoded string, for values that repeat. *facts* is `map<string, string>`
  with open-ended keys.
- Ids are unique inside a run, except `stack_id` and `sha256`, which are hashes of content, and
  therefore equal across runs.
- `stack_id` is the first 8 bytes of BLAKE2b-64 over each frame's file, line, column and function
  as text (nothing for null), each followed by a NUL byte; read big-endian, without the top bit.
- `artifacts.bytes` is a zstd frame; `sha256` is of the plain content.
- Files are compressed with zstd (not those of `runs`, which have one row), rows are in the order
  given for the table, row groups hold up to 131,072 rows or 8 MiB, and pages have statistics, so
  range queries read little.

## Reading without kvtrace

DuckDB:

```sql
{duckdb}
```

Polars:

```python
import polars as pl

launches = pl.scan_parquet("out/launches/**/*.parquet", hive_partitioning=True)
print(launches.group_by("run").len().collect())
```

pyarrow:

```python
{pyarrow}
```

`kvtrace.schema.plain_reader` reads all of it, journals included, in one file of less than 200 lines
that imports pyarrow alone. It may be copied, with `schema.json` beside it:

```python
from kvtrace.schema.plain_reader import read_artifact, read_runs, read_table

for run in read_runs("out"):
    print(run["run_id"], read_table("out", "launches", run["run_id"]).num_rows)
```

## Writing it from another program

A recorder for another library (CuPy, Numba) writes Parquet files to
`TABLE/run=RUN/part-00000.parquet`, `runs` last, each with the metadata above and every column of
the version that it names; what it does not know is null. `runs`, `kernels`, `calls` and `launches`
are enough for `kvtrace info`, `profile`, `diff`, `fleet`, `convert` and SQL; what needs Triton's IR
is left out. `examples/launch_recorder.py` does it for Numba's
kernels in 60 lines, with `schemas()` of the plain reader and nothing else of kvtrace.

- Producers check what they write with `kvtrace trace validate out/`: exit code 0, or what is wrong
  and where.
- Readers check themselves on the traces in `schema/golden/`, one for each version, with every
  table, parts of a pass and a journal: `rows.json` beside each has the rows that are to be read.

## Tables
"""

#: A test runs this query on a real trace.
DUCKDB_EXAMPLE: Final = """\
SELECT kernels.name, count(*) AS launches,
       sum(epoch_ns(launches."exit") - epoch_ns(launches."enter")) AS host_ns
FROM read_parquet('out/launches/**/*.parquet', hive_partitioning = true) AS launches
JOIN read_parquet('out/calls/**/*.parquet', hive_partitioning = true) AS calls
  USING (run, call_id)
JOIN read_parquet('out/kernels/**/*.parquet', hive_partitioning = true) AS kernels
  USING (run, kernel_id)
GROUP BY kernels.name ORDER BY host_ns DESC, kernels.name;"""

PYARROW_EXAMPLE: Final = """\
import pyarrow.dataset as ds

launches = ds.dataset("out/launches", partitioning="hive").to_table(columns=["run", "seq"])"""


def format_page() -> str:
    """Return the text of docs/format.md."""
    introduction = _INTRODUCTION.format(
        version=FORMAT_VERSION, duckdb=DUCKDB_EXAMPLE, pyarrow=PYARROW_EXAMPLE
    )
    return introduction + "".join(_table_section(table) for table in TABLES.values())


def schema_json() -> str:
    """Return the text of schema.json: every table and column, for programs."""
    content = {
        "format_version": FORMAT_VERSION,
        "tables": [
            {
                "name": table.name,
                "row": table.row,
                "origin": table.origin,
                "since": table.since,
                "sort": list(table.sort),
                "columns": [_column_entry(column) for column in table.columns],
            }
            for table in TABLES.values()
        ],
    }
    return json.dumps(content, indent=1, ensure_ascii=False) + "\n"


def type_text(kind: pa.DataType) -> str:
    """Return the text of an Arrow type in docs/format.md and schema.json, such as `name`."""
    if pa.types.is_dictionary(kind):
        return "name"
    if pa.types.is_map(kind):
        return "facts"
    if pa.types.is_list(kind):
        return f"list<{type_text(kind.value_type)}>"
    if pa.types.is_struct(kind):
        fields_text = ", ".join(f"{field.name}: {type_text(field.type)}" for field in kind)
        return f"struct<{fields_text}>"
    if pa.types.is_timestamp(kind):
        return f"timestamp[{kind.unit}, {kind.tz}]"
    return str(kind)


def _column_entry(column: Column) -> dict[str, Any]:
    return {
        "name": column.name,
        "type": type_text(column.type),
        "arrow_type": str(column.type),
        "key": column.key,
        "unit": column.unit or None,
        "since": column.since,
        "meaning": column.meaning,
    }


def _table_section(table: Table) -> str:
    order = f"; ordered by {', '.join(f'`{name}`' for name in table.sort)}" if table.sort else ""
    lines = [
        f"\n### {table.name}\n",
        f"One row is {table.row}. {table.origin.capitalize()}, since {table.since}{order}.\n",
        "| column | type | unit | meaning |",
        "|---|---|---|---|",
    ]
    for column in table.columns:
        name = f"**`{column.name}`**" if column.key else f"`{column.name}`"
        since = "" if column.since == table.since else f" (since {column.since})"
        cells = (name, f"`{type_text(column.type)}`", column.unit, column.meaning + since)
        lines.append("| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |")
    return "\n".join(lines) + "\n"


def row_types() -> str:
    """Return the text of row_types.py: a TypedDict for the rows of each table."""
    names = {
        struct: _class_name(name)
        for name, struct in vars(table_types).items()
        if isinstance(struct, pa.StructType)
    }
    classes = [
        _typed_dict(
            name,
            "A value of a column with fields.",
            {field.name: f"{_python_type(field.type, names)} | None" for field in struct},
        )
        for struct, name in names.items()
    ]
    for table in TABLES.values():
        fields = {
            column.name: _python_type(column.type, names) + ("" if column.key else " | None")
            for column in table.columns
        }
        description = f"A row of the table `{table.name}`."
        classes.append(_typed_dict(_class_name(table.name) + "Row", description, fields | _RUN))
    return _ROW_TYPES_HEAD + "".join(classes)


def _typed_dict(name: str, description: str, fields: dict[str, str]) -> str:
    lines = [f"    {field}: {kind}\n" for field, kind in fields.items()]
    return f'\n\nclass {name}(TypedDict):\n    """{description}"""\n\n{"".join(lines)}'


def _class_name(name: str) -> str:
    return "".join(part.capitalize() for part in name.split("_"))


def _python_type(kind: pa.DataType, names: dict[pa.DataType, str]) -> str:
    """Return the type of a value in a row in Python; `names` has the classes of structs."""
    if pa.types.is_list(kind):
        return f"list[{_python_type(kind.value_type, names)}]"
    return names[kind] if pa.types.is_struct(kind) else _PYTHON_TYPES[type_text(kind)]


def main() -> None:
    """Write docs/format.md, schema.json and row_types.py."""
    ROW_TYPES.write_text(row_types(), encoding="utf-8")
    FORMAT_PAGE.write_text(format_page(), encoding="utf-8")
    SCHEMA_JSON.write_text(schema_json(), encoding="utf-8")


if __name__ == "__main__":
    main()
