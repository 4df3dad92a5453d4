"""Reader of traces in one file that needs only pyarrow: copy it, with schema.json beside it.

    from plain_reader import read_runs, read_table

    for run in read_runs("out"):
        print(run["run_id"], read_table("out", "launches", run["run_id"]).num_rows)

The reader reads sealed and unsealed runs as described in docs/format.md: captured parts, parts of
passes, and whole batches of journals. Unlike kvtrace's own reader, it checks no checksums of files,
repairs nothing, and finds artifacts in other runs only by hash.
"""

import json
import re
import struct
import zlib
from collections.abc import Collection, Iterator, Sequence
from functools import cache
from pathlib import Path
from typing import Any, Final

import pyarrow as pa
import pyarrow.parquet as pq

#: The major version that this file reads.
MAJOR: Final = 1
_SCHEMA: Final = Path(__file__).with_name("schema.json")
_KEYS: Final = {"stacks": "stack_id", "artifacts": "sha256"}
PART: Final = re.compile(r"part-(?:[a-z][a-z0-9_-]*-)?(\d{5,})\.parquet")
_HEAD: Final = struct.Struct("<8sIIQQII")
_MAGIC: Final = b"\x8bkvt\r\n\x1a\x93"
_TYPES_BY_NAME: Final = {
    "string": pa.string(),
    "binary": pa.binary(),
    "bool": pa.bool_(),
    "int32": pa.int32(),
    "int64": pa.int64(),
    "double": pa.float64(),
    "timestamp[ns, UTC]": pa.timestamp("ns", tz="UTC"),
    "name": pa.dictionary(pa.int32(), pa.string()),
    "facts": pa.map_(pa.string(), pa.string()),
}


def format_version(path: Path = _SCHEMA) -> str:
    """Return the version of the format that `schemas` are of."""
    return str(json.loads(path.read_text(encoding="utf-8"))["format_version"])


@cache
def _columns(path: Path = _SCHEMA) -> dict[str, list[dict[str, Any]]]:
    tables = json.loads(path.read_text(encoding="utf-8"))["tables"]
    return {table["name"]: table["columns"] for table in tables}


@cache
def schemas(path: Path = _SCHEMA) -> dict[str, pa.Schema]:
    """Return the Arrow schema of each table, from schema.json."""
    return {name: pa.schema(map(_field, columns)) for name, columns in _columns(path).items()}


def read_runs(out: str | Path, features: Collection[str] = ()) -> list[dict[str, Any]]:
    """Return a row of `runs` for each run, oldest first; times are ns since 1970 (int).

    `features` are the required features that the caller takes into account when it counts.

    Raises:
        ValueError: a file has a newer major version or lacks a required column, or a run requires
            another feature.
        pyarrow.ArrowException, OSError: a file cannot be read.

    """
    rows_by_run = {}
    for run in _run_ids(Path(out)):
        rows = read_table(out, "runs", run)
        times = {f.name: pa.int64() for f in rows.schema if pa.types.is_timestamp(f.type)}
        schema = pa.schema({f.name: times.get(f.name, f.type) for f in rows.schema})
        last_row = rows.cast(schema).slice(max(rows.num_rows - 1, 0)).to_pylist()
        rows_by_run[run] = row = {**(last_row[0] if last_row else {}), "run_id": run}
        if unknown := {*(row.get("required_features") or ())}.difference(features):
            raise ValueError(f"run {run} requires {', '.join(sorted(unknown))}, unknown here")
    return list(rows_by_run.values())


def read_table(
    out: str | Path, name: str, run: str | None = None, columns: Sequence[str] | None = None
) -> pa.Table:
    """Return the rows of a table, of one run or (None) of all, with a last column `run`.

    Columns that a file lacks are null. Rows of `stacks` and `artifacts` that several parts of a run
    hold are returned once. Errors as `read_runs`.
    """
    schema = schemas()[name]
    names = [*(columns or schema.names)]
    keys = [_KEYS[name]] if name in _KEYS and _KEYS[name] not in names else []
    read_schema = pa.schema([schema.field(column).with_nullable(True) for column in names + keys])
    pieces = []
    for run_id in [run] if run is not None else _run_ids(Path(out)):
        stored = _stored_pieces(Path(out), name, run_id)
        rows = [read_schema.empty_table(), *(_with_schema(piece, read_schema) for piece in stored)]
        run_rows = _first_rows(name, pa.concat_tables(rows)).select(names)
        run_ids = pa.array([run_id] * run_rows.num_rows, pa.string())
        pieces.append(run_rows.append_column("run", run_ids))
    if not pieces:
        return read_schema.empty_table().append_column("run", pa.array([], pa.string()))
    return pa.concat_tables(pieces).unify_dictionaries()


def read_artifact(out: str | Path, sha256: str) -> bytes | None:
    """Return an artifact's decompressed content, None if no run has it; errors as `read_runs`."""
    for run in _run_ids(Path(out)):
        for piece in _stored_pieces(Path(out), "artifacts", run):
            hashes = piece["sha256"].to_pylist()
            if sha256 in hashes:
                compressed = piece["bytes"][hashes.index(sha256)].as_buffer()
                return bytes(pa.input_stream(compressed, compression="zstd").read())
    return None


def _run_ids(out: Path) -> list[str]:
    folders = (*out.glob("runs/run=*"), *out.glob(".journal/run=*"))
    return sorted({folder.name.removeprefix("run=") for folder in folders})


def _stored_pieces(out: Path, name: str, run: str) -> Iterator[pa.Table]:
    """Yield a run's rows of a table: captured parts, parts of passes, unsealed segments."""
    segments = sorted((out / ".journal" / f"run={run}").glob(f"{name}-*.arrows"))
    parts = sorted((out / name / f"run={run}").glob("part-*.parquet"))
    matches = {path: PART.fullmatch(path.name) for path in parts}
    captured = {match[1] for path, match in matches.items() if match and _is_captured(path)}
    for path in sorted(filter(matches.get, parts), key=_is_captured, reverse=True):
        with pq.ParquetFile(path) as file:
            check_version(file.metadata.metadata, path)
            check_columns(file.schema_arrow.names, name, path)
            yield file.read()
    for path in segments:
        if path.stem.rpartition("-")[2] not in captured:
            yield from _segment_tables(path)


def _is_captured(path: Path) -> bool:
    return path.name.count("-") == 1


def _segment_tables(path: Path) -> Iterator[pa.Table]:
    """Yield the batches of a journal segment up to the first incomplete or damaged batch."""
    content = path.read_bytes()
    if content[:4] == b"\xff" * 4:  # of an older version: one stream
        with pa.ipc.open_stream(content) as stream:
            while True:
                try:
                    yield pa.Table.from_batches([stream.read_next_batch()])
                except (StopIteration, pa.ArrowException, OSError):
                    return
    offset, schema = 0, b""
    while offset + _HEAD.size <= len(content):
        magic, number, _, _, size, payload_crc, head_crc = _HEAD.unpack_from(content, offset)
        payload = content[offset + _HEAD.size : offset + _HEAD.size + size]
        is_head_whole = zlib.crc32(content[offset : offset + _HEAD.size - 4]) == head_crc
        if magic != _MAGIC or not is_head_whole or zlib.crc32(payload) != payload_crc:
            return
        offset += _HEAD.size + size
        if number == 0:
            schema = payload
            continue
        table = pa.ipc.open_stream(schema + payload).read_all()
        check_version(table.schema.metadata, path)
        yield table


def check_version(metadata: dict[bytes, bytes] | None, path: Path) -> None:
    """Raise ValueError unless a file's metadata names a version that this file reads."""
    version = (metadata or {}).get(b"kvtrace.format_version", b"").decode()
    if version.partition(".")[0] != str(MAJOR):
        raise ValueError(f"{path} has format version {version or 'none'}, and this reads {MAJOR}.x")


def check_columns(names: Collection[str], table: str, path: Path) -> None:
    """Raise ValueError unless a file of a table has each required column."""
    needed = [column["name"] for column in _columns()[table] if column["required"]]
    if missing := [name for name in needed if name not in names]:
        raise ValueError(
            f"{path} has no column {' and '.join(missing)}, which each file of {table} needs; "
            "write it again with its producer, or move it out of the trace"
        )


def _with_schema(rows: pa.Table, wanted: pa.Schema) -> pa.Table:
    columns = []
    for field in wanted:
        has_column = field.name in rows.column_names
        column = rows[field.name] if has_column else pa.nulls(rows.num_rows, field.type)
        encode = pa.types.is_dictionary(field.type) and not pa.types.is_dictionary(column.type)
        columns.append((column.dictionary_encode() if encode else column).cast(field.type))
    return pa.table(columns, schema=wanted)


def _first_rows(name: str, rows: pa.Table) -> pa.Table:
    if name not in _KEYS:
        return rows
    keys = rows[_KEYS[name]].to_pylist()
    first_indices = {key: index for index, key in reversed(list(enumerate(keys)))}
    return rows.take(pa.array(sorted(first_indices.values()), pa.int64()))


def _field(column: dict[str, Any]) -> pa.Field:
    return pa.field(column["name"], _arrow_type(column["type"]), nullable=not column["key"])


def _arrow_type(text: str) -> pa.DataType:
    """Return the Arrow type for the text of a type in schema.json, such as `list<int64>`."""
    if text in _TYPES_BY_NAME:
        return _TYPES_BY_NAME[text]
    outer, _, inner = text.partition("<")
    if outer == "list":
        return pa.list_(_arrow_type(inner[:-1]))
    field_types = (field.partition(": ") for field in re.split(r", (?=\w+: )", inner[:-1]))
    return pa.struct([(name, _arrow_type(kind)) for name, _, kind in field_types])
