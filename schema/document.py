"""Generator of docs/format.md, schema.json and row_types.py.

`python -m kvtrace.schema.document` writes them.
"""

import json
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Final

import pyarrow as pa

from kvtrace.schema import table_types
from kvtrace.schema.features import FEATURES
from kvtrace.schema.sum_tables import IDLE, SUMS, TILES
from kvtrace.schema.table_types import Column, Table
from kvtrace.schema.tables import CORE_TABLES, TABLES
from kvtrace.schema.versions import FORMAT_VERSION, version_numbers
from kvtrace.schema.vocabularies import VOCABULARIES, Vocabulary

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


def format_page() -> str:
    """Return the text of docs/format.md."""
    core = ", ".join(f"`{name}`" for name in CORE_TABLES)
    introduction = INTRODUCTION.format(
        version=FORMAT_VERSION,
        core=" and ".join(core.rsplit(", ", 1)),
        features=_two_columns("feature", "what the rows mean, and what a reader does", FEATURES),
        vocabularies="\n".join(map(_vocabulary_section, VOCABULARIES)),
        duckdb=DUCKDB_EXAMPLE,
        pyarrow=PYARROW_EXAMPLE,
    )
    return introduction + "".join(_table_sections())


def schema_json() -> str:
    """Return the text of schema.json: every table and column, for programs."""
    content = {
        "format_version": FORMAT_VERSION,
        "required_features": [
            {"name": name, "meaning": meaning} for name, meaning in FEATURES.items()
        ],
        "vocabularies": [
            {
                "name": vocabulary.name,
                "columns": list(vocabulary.columns),
                "words": [
                    {"word": word, "meaning": meaning} for word, meaning in vocabulary.words.items()
                ],
            }
            for vocabulary in VOCABULARIES
        ],
        "tables": [
            {
                "name": table.name,
                "row": table.row,
                "origin": table.origin,
                "profile": table.profile,
                "since": table.since,
                "sort": list(table.sort),
                "columns": [_column_entry(table, column) for column in table.columns],
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


def _two_columns(first: str, second: str, rows: Mapping[str, str]) -> str:
    lines = [f"| {first} | {second} |", "|---|---|"]
    return "\n".join([*lines, *(f"| `{name}` | {meaning} |" for name, meaning in rows.items())])


def _vocabulary_section(vocabulary: Vocabulary) -> str:
    columns = ", ".join(f"`{column}`" for column in vocabulary.columns)
    words = "\n".join(f"- `{word}`: {meaning}" for word, meaning in vocabulary.words.items())
    return f"### Words: {vocabulary.name}\n\nIn {columns}.\n\n{words}\n"


def _column_entry(table: Table, column: Column) -> dict[str, Any]:
    return {
        "name": column.name,
        "type": type_text(column.type),
        "arrow_type": str(column.type),
        "key": column.key,
        "required": column.name in table.required,
        "profile": table.profile_of(column),
        "unit": column.unit or None,
        "since": column.since,
        "meaning": column.meaning,
    }


def _table_sections() -> Iterator[str]:
    """Yield the section of each table; columns that are as in an earlier table are only named."""
    listed: dict[str, list[Column]] = {}
    for table in TABLES.values():
        shared = _shared_columns(table, listed)
        named = {column.name for columns in shared.values() for column in columns}
        listed[table.name] = [column for column in table.columns if column.name not in named]
        yield _table_section(table, listed[table.name], shared)


def _shared_columns(
    table: Table, listed: Mapping[str, list[Column]], least: int = 3
) -> dict[str, list[Column]]:
    """Return the table's columns that are listed by an earlier table, if there are a few."""
    shared: dict[str, list[Column]] = {}
    for column in table.columns:
        earlier = next((name for name, columns in listed.items() if column in columns), None)
        if earlier is not None:
            shared.setdefault(earlier, []).append(column)
    return {name: columns for name, columns in shared.items() if len(columns) >= least}


def _table_section(
    table: Table, listed: Sequence[Column], shared: Mapping[str, list[Column]]
) -> str:
    order = f"; ordered by {', '.join(f'`{name}`' for name in table.sort)}" if table.sort else ""
    profile = "Core profile; " if table.profile == "core" else "Extension; "
    lines = [
        f"\n### {table.name}\n",
        f"One row is {table.row}. {profile}{table.origin}, since {table.since}{order}.\n",
    ]
    for name, columns in shared.items():
        lines.append(f"As in [{name}](#{name}): {', '.join(map(_shown_name, columns))}.\n")
    for column in listed:
        remarks = ", ".join(_remarks(table, column))
        meaning = column.meaning + (f" ({remarks})" if remarks else "")
        kind = f"`{type_text(column.type)}` {column.unit}".rstrip()
        lines.append(f"- {_shown_name(column)} {kind}: {meaning}")
    return "\n".join(lines) + "\n"


def _shown_name(column: Column) -> str:
    return f"**`{column.name}`**" if column.key else f"`{column.name}`"


def _remarks(table: Table, column: Column) -> Iterator[str]:
    if column.name in table.required and not column.key:
        yield "*required*"
    if table.profile_of(column) != table.profile:
        yield "*extension*"
    if column.since != table.since and version_numbers(column.since) > version_numbers(table.since):
        yield f"since {column.since}"


def row_types() -> str:
    """Return the text of row_types.py: a TypedDict for the rows of each table but stored sums."""
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
    stored_sums = (*SUMS, *IDLE, *TILES)
    for table in TABLES.values():
        if table in stored_sums:
            continue
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


# -- prose of docs/format.md -----------------------------------------------------------------------


INTRODUCTION: Final = """\
# The trace format, version {version}

<!-- Made from schema/tables.py by `python -m kvtrace.schema.document`; do not edit by hand. -->

A trace is a directory of Parquet files with hive partitioning, which other tools read without
kvtrace ([what each keeps](compatibility.md#other-readers)). The tables are listed below;
`schema/schema.json` has the same lists for programs, and `schema/schema.schema.json` is the JSON
Schema of that file.

The version is that of the format, in every file and in `runs.schema_version`; kvtrace's own version
is in `runs.producer_version`. [compatibility.md](compatibility.md) says what versions may change.

MUST, SHOULD and MAY are those of RFC 2119.

## Profiles

The *core profile* is {core}:
what any recorder of GPU work knows. It is frozen: in every version 1.x, and in a version 2 if there
should be one, its tables and columns keep their names, types, units and meanings, at least until
the end of 2031. Columns that are added to its tables after 1.12, the columns marked *extension*
below, and all other tables are extensions, under the rules of minor versions.

A producer needs the columns marked *required*, which MUST be in each file of their table, and may
leave out every other column and every other table. `kvtrace trace validate out/ --profile core`
checks the core profile alone.

## What a producer does

1. Files are `TABLE/run=RUN/part-NNNNN.parquet`, numbered from 00000, and each MUST have the
   metadata `kvtrace.format_version`, `kvtrace.table` and `kvtrace.run_id` ([below](#versions)).
2. The file of `runs` MUST be written last, with one row, whose `run_id` is that of the folder.
3. Required columns MUST be there, and no column that the table does not have. What is not known
   MUST be null or left out; it is never 0, -1 or an empty text.
4. Types MUST be those of the tables; how a library encodes strings and lists (dictionaries, large
   offsets, views) is its own matter.
5. In a file, rows MUST be in the order of the table, nulls last. Ids MUST be unique in the run, and
   a reference that is not null MUST have its row.
6. `runs.required_features` MUST name each [feature](#required-features) that applies to the run.
7. A producer SHOULD name itself in `runs.producer` and `runs.producer_version`, and its words that
   are not [registered](#vocabularies) as `producer:word`. It SHOULD compress with zstd, and MAY
   leave out checksums.

## What a reader does

1. It MUST refuse a file of another major version, and MUST read one of a newer minor version,
   ignoring tables and columns that it does not know.
2. It MUST refuse a run whose `required_features` has a name that it does not know, saying which;
   it MAY read other runs of the directory.
3. Columns MUST be taken by name; one that a file lacks is full of nulls. Null MUST NOT be counted
   as 0, and what was not recorded MUST NOT be shown as absence.
4. Rows are those of all parts of a table's folder, those of passes included. A key of `stacks` or
   `artifacts` may occur more than once, with equal content.
5. Names that begin with a dot MUST be ignored, or read as [below](#journal-and-sealing). A run
   without a row of `runs` is not complete, and MUST NOT be shown as if it were.
6. A word that a reader does not know MUST be kept and SHOULD be shown as it is.
7. It SHOULD compare the content of an artifact with its hash.

## Required features

A reader counts wrongly if it ignores them, so a run names in `runs.required_features` those that
apply to it. Null, in runs of versions before 1.12, says nothing: there, rows may have weights since
1.7, and the others may apply since 1.0.

{features}

Whatever makes a reader show less, and not count wrongly, is no feature. Passes never add one.

## Vocabularies

These columns hold words of open lists. A word of one producer is `producer:word`, as `acme:tile`,
and needs no consent; one that several tools share is registered in `schema/vocabularies.py`. Words
never change their meanings. Lists of other columns are in the columns' meanings, and may grow, too.

{vocabularies}

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
- Nothing captured is ever overwritten. Names that begin with a dot are temporary, the journal, or
  `.times/`: figures that kvtrace keeps of long runs, or of many, and rows of many; it may be
  removed.

## Journal and sealing

While a process runs, its rows go to files ("segments") under `.journal/`, handed to the operating
system twice a second; newer launches, calls and kernels' names are in the run's spool,
`.journal/spool=<run_id>/`, written every 2 to 20 ms, and what is newer still in the file
`/dev/shm/kvtrace-<run_id>` of the recording machine, which outlives a killed process and goes when
the run is sealed. A spool is for the kvtrace that writes it, and has no promised format. What a row
refers to is always written before it.

Segment N of a table is sealed into part N when it has grown large or when the run ends: written
under a temporary name, flushed (fsync) and renamed; only then is the segment removed. So each row
is found exactly once, whenever the process is killed. The row of `runs` is sealed last: if it
exists, the run is complete. The file `.reserve` reserves space for that row, in case the disk fills
up; then writing stops after a complete batch, and `dropped_rows` counts what could not be kept.

A killed process leaves its journal. kvtrace's reader also reads the complete batches of journals,
and `kvtrace trace recover out/` seals them (`ended` stays null, `ending` is `killed`), with what
the spool has beyond them. An incomplete write at a segment's end is dropped and reported.

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

## Conventions

- Points in time are `timestamp[ns, UTC]`, from the realtime clock. Durations are int64 nanoseconds
  and end in `_ns`. Sizes are int64 bytes.
- Every column is nullable except the keys, in bold below. Null means "not known", never zero. A
  file may lack each column that is neither a key nor *required*.
- *name* is a dictionary-encoded string, for values that repeat. *facts* is `map<string, string>`
  with open-ended keys.
- Ids are unique inside a run; `stack_id` and `sha256` are hashes of content, equal across runs.
- `stack_id` is the first 8 bytes of BLAKE2b-64 over each frame's file, line, column and function
  as text (nothing for null), each followed by a NUL byte; read big-endian, without the top bit.
- `artifacts.bytes` is a zstd frame; `sha256` is of the plain content.
- An `artifact`, wherever a column or a field has one (`stages.artifact`, `value_artifact` …), is
  the `sha256` of a row of `artifacts`; null means that the content was not recorded.
- `launches.stream` is the program's handle of a stream, `gpu_kernels.stream` the number that the
  device's profiler gives it. They need not be equal: `launch_seq` says which launch an execution is
  of.
- Files are compressed with zstd, row groups hold up to 131,072 rows or 8 MiB, and pages have
  statistics, so range queries read little.

## Reading without kvtrace

Files of several versions differ in columns, so they are united by name; many engines take those of
one file instead, and lose the others [without a word](compatibility.md#other-readers). DuckDB:

```sql
{duckdb}
```

pyarrow:

```python
{pyarrow}
```

`kvtrace.schema.plain_reader` reads all of it, journals included, in one file of less than 220 lines
that imports pyarrow alone. It may be copied, with `schema.json` beside it. `read_runs` refuses a
run with a [required feature](#required-features) that is not among those that your program says it
takes into account:

```python
from kvtrace.schema.plain_reader import read_artifact, read_runs, read_table

for run in read_runs("out", features=["weights"]):
    launches = read_table("out", "launches", run["run_id"], ["weight"])
    print(run["run_id"], sum(weight or 1 for weight in launches["weight"].to_pylist()))
```

## Writing it from another program

A recorder for another library (CuPy, Numba) writes `runs`, `kernels`, `calls` and `launches`, and
`gpu_kernels` if it has times of the device, by the rules [above](#what-a-producer-does).
[needs.md](needs.md) says which columns each command needs; what needs Triton's IR is left out.
`examples/launch_recorder.py` does it for Numba's kernels in 60 lines, with `schemas()` of the plain
reader and nothing else of kvtrace.

- Each configuration that an autotuner tries is a variant: a row of `kernels`. Its trials are
  launches of the phases `warmup` and `autotune`, and the run has the feature `trials`.
- `calls.args` has an entry for each parameter, those of the type `constexpr` included: its value is
  a Python literal in `scalar` (`'4096'`, `'True'`), and also in `signature.constexpr`.
  `args.device` is written as torch does, `cuda:0`. In `signature.type`, another language's types
  are its own words.
- An execution has `launch_seq`, `call_id` or both; `correlation_id` can be left out. Copies and
  fills have the tool's word as their name, such as `memcpy host to device`.
- A kernel without `origin` is shown as of an unknown maker. Its IR, in any dialect, is a row of
  `artifacts` that `stages` names; of IR, kvtrace judges TTIR alone.
- Producers check what they write with `kvtrace trace validate out/ --profile core`: exit code 0, or
  what is wrong and where.
- Readers check themselves on the traces and answers in `schema/conformance/`
  ([conformance.md](conformance.md)), and on those in `schema/golden/`, one for each version,
  with every table, parts of a pass and a journal: `rows.json` beside each has its rows.

## Tables
"""

#: A test runs this query on a real trace, and on one of several versions.
DUCKDB_EXAMPLE: Final = """\
SELECT kernels.name, sum(coalesce(weight, 1)) AS launches,
       sum(coalesce(weight, 1) * (epoch_ns("exit") - epoch_ns("enter"))) AS host_ns
FROM read_parquet('out/launches/**/*.parquet', union_by_name = true) AS launches
JOIN read_parquet('out/calls/**/*.parquet', union_by_name = true) AS calls
  USING (run, call_id)
JOIN read_parquet('out/kernels/**/*.parquet', union_by_name = true) AS kernels
  USING (run, kernel_id)
GROUP BY kernels.name ORDER BY host_ns DESC, kernels.name;"""

PYARROW_EXAMPLE: Final = """\
import pyarrow as pa
import pyarrow.dataset as ds

launches = ds.dataset("out/launches", partitioning="hive")
schemas = [launches.schema, *(part.physical_schema for part in launches.get_fragments())]
united = pa.unify_schemas(schemas, promote_options="permissive")
rows = launches.replace_schema(united).to_table(columns=["run", "seq", "weight"])"""


if __name__ == "__main__":
    main()
