"""Traces as nobody wrote them: one to three changes of a sound one, the same for the same numbers.

A change is made to values (ids, sizes, names, nulls, lists), to columns (dropped, retyped, added),
to a file's metadata, to files (links, devices, pipes, folders, cut, flipped) or to folders.
"""

import os
import random
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from kvtrace.schema.journal import SegmentReader, SegmentWriter
from kvtrace.schema.layout import JOURNAL, SEGMENT_SUFFIX
from kvtrace.schema.table_types import Column, Table
from kvtrace.schema.tables import TABLES
from kvtrace.schema.versions import captured_facts

HOSTILE = (
    "\x1b[31mred\x1b[0m",
    "two\nlines\r\x08\x9b31m",
    "</script><script>alert(1)</script>",
    "'; DROP TABLE launches; --",
    "{0} %s %(x)d ${HOME} `id` \\",
    "../../outside/secret",
    "/dev/zero",
    "",
    "\x00",
    "\u202eevil\ufffe",
    "x" * 1_000_000,
)
_NUMBERS = (-1, 0, 1, 2, 7, -(2**63), 2**63 - 1, 2**31, 2**32, 2**40, -(2**31), 10**18, 4096)
_TYPES = (
    pa.string(), pa.int8(), pa.int64(), pa.float64(), pa.binary(), pa.bool_(), pa.list_(pa.int64()),
    pa.null(), pa.timestamp("s"), pa.decimal128(38, 10), pa.large_string(),
    pa.dictionary(pa.int8(), pa.string()), pa.struct([("a", pa.int64())]),
)  # fmt: skip
_VERSIONS = (b"2.0", b"1.99", b"0.1", b"x", b"", b"999999999999.0", b"\xff\xfe", b"1.0\x1b[31m")

#: Changes one trace folder; what lies beside it may be linked to. Says what it did.
Mutation = Callable[[Path, random.Random], str]


def mutate(trace: Path, rng: random.Random) -> str:
    """Change a trace in place; return what was done."""
    done = []
    for _ in range(rng.choice((1, 1, 1, 2, 3))):
        mutation = rng.choices(*zip(*_MUTATIONS, strict=True))[0]
        try:
            done.append(mutation(trace, rng))
        except (
            OSError, pa.ArrowException, ValueError, TypeError, OverflowError, IndexError,
        ) as error:  # fmt: skip
            done.append(f"nothing ({type(error).__name__}: {str(error)[:60]})")
    return "; ".join(done)


# -- values and columns -----------------------------------------------------------------------


def _any_file(trace: Path, rng: random.Random) -> Path:
    """A file of rows; tables are as likely as each other, and those that are read most more."""
    files = [path for path in _files(trace) if path.suffix in (".parquet", SEGMENT_SUFFIX)]
    likely = [p for p in files if _table_of(p) in ("kernels", "calls", "launches", "artifacts")]
    return rng.choice(likely if likely and rng.random() < 0.4 else files)


def _files(trace: Path, pattern: str = "*") -> list[Path]:
    """The files in a trace; what another mutation made of them is left out."""
    paths = (path for path in trace.rglob(pattern) if path.is_file() and not path.is_symlink())
    return sorted(paths)


def _table_of(path: Path) -> str:
    return path.name.rpartition("-")[0] if path.suffix == SEGMENT_SUFFIX else path.parts[-3]


def _read(path: Path) -> pa.Table:
    if path.suffix == ".parquet":
        return pq.ParquetFile(path).read()
    with SegmentReader(path) as reader:
        return pa.Table.from_batches(list(reader))


def _write(path: Path, rows: pa.Table, metadata: dict[bytes, bytes]) -> None:
    """Write rows where they were, without the checksum that would tell."""
    metadata = {key: value for key, value in metadata.items() if key != b"kvtrace.sha256"}
    if path.suffix == ".parquet":
        pq.write_table(rows.replace_schema_metadata(metadata), path, compression="zstd")
        return
    columns = tuple(Column(field.name, field.type, "") for field in rows.schema)
    table = Table(_table_of(path), "", "captured", columns, ())
    run = path.parent.name.removeprefix("run=")
    path.unlink()
    segment = SegmentWriter(path, table, captured_facts(table.name, run))
    for batch in rows.combine_chunks().to_batches():
        segment.append(batch.cast(table.schema))
    segment.flush()
    segment.close()


def _rewritten(change: Callable[[pa.Table, random.Random], tuple[pa.Table, str]]) -> Mutation:
    def mutation(trace: Path, rng: random.Random) -> str:
        path = _any_file(trace, rng)
        rows = _read(path)
        fresh, what = change(rows, rng)
        _write(path, fresh, dict(rows.schema.metadata or {}))
        return f"{_table_of(path)}: {what}"

    return mutation


def repeat_rows(path: Path, count: int) -> None:
    """Rewrite a part so that it has its first row again and again: a small file still."""
    row = pq.ParquetFile(path).read().slice(0, 1)
    metadata = {k: v for k, v in (row.schema.metadata or {}).items() if k != b"kvtrace.sha256"}
    place = pa.repeat(pa.scalar(0, pa.int64()), min(count, 1 << 16))
    chunk = row.replace_schema_metadata(metadata).take(place)
    with pq.ParquetWriter(path, chunk.schema, compression="zstd") as writer:
        for begin in range(0, count, 1 << 16):
            writer.write_table(chunk.slice(0, count - begin))


def _bomb(trace: Path, rng: random.Random) -> str:
    """One part with a row repeated, as far as it stays below 5 MB."""
    files = [path for path in _files(trace, "*.parquet") if pq.ParquetFile(path).metadata.num_rows]
    path = rng.choice(files)
    count = rng.choice((50_000, 300_000, 1_500_000))
    repeat_rows(path, count)
    if path.stat().st_size > 5 << 20:
        repeat_rows(path, 1)
        return f"{_table_of(path)}: its first row"
    return f"{_table_of(path)}: {count:,} rows, all alike"


def _nullable(rows: pa.Table) -> pa.Schema:
    return pa.schema([pa.field(field.name, field.type) for field in rows.schema])


def change_values(rows: pa.Table, rng: random.Random) -> tuple[pa.Table, str]:
    if not rows.num_rows:
        return rows, "no rows"
    place = rng.randrange(rows.num_columns)
    field = rows.schema.field(place)
    values = _plain(rows.column(place))
    count = len(values) if rng.random() < 0.3 else rng.choice((1, 1, 2))
    chosen = rng.sample(range(len(values)), min(count, len(values)))
    what = ""
    for index in chosen:
        other = values[rng.randrange(len(values))]
        values[index], what = _changed(field.type, values[index], other, rng)
    array = pa.array(values, field.type)
    fresh = rows.cast(_nullable(rows)).set_column(place, pa.field(field.name, field.type), array)
    return fresh, f"{field.name} of {len(chosen)} rows {what}"


def _plain(column: pa.ChunkedArray) -> list[Any]:
    if pa.types.is_timestamp(column.type):
        column = column.cast(pa.int64())
    listed: list[Any] = column.to_pylist()
    return listed


def _changed(kind: pa.DataType, value: Any, other: Any, rng: random.Random) -> tuple[Any, str]:
    """Another value of a type, and what it is; inside nested ones, mostly."""
    if rng.random() < 0.15:
        return None, "null"
    if rng.random() < 0.1:
        return other, "as in another row"
    if pa.types.is_dictionary(kind):
        return _changed(kind.value_type, value, other, rng)
    if pa.types.is_boolean(kind):
        return not value, "not"
    if pa.types.is_integer(kind) or pa.types.is_timestamp(kind):
        width = kind.bit_width if pa.types.is_integer(kind) else 64
        bound = 2 ** (width - 1)
        number = rng.choice((*_NUMBERS, (value or 0) + 1, -(value or 0)))
        return max(-bound, min(bound - 1, number)), f"= {number}"
    if pa.types.is_string(kind):
        text = rng.choice((*HOSTILE, _altered(value or "", rng)))
        return text, f"= {text[:24]!r}"
    if pa.types.is_binary(kind):
        return _altered_bytes(value or b"", rng), "bytes altered"
    if pa.types.is_map(kind):
        return _changed_map(kind, value, rng)
    if pa.types.is_list(kind):
        return _changed_list(kind, value, rng)
    if pa.types.is_struct(kind):
        field = kind.field(rng.randrange(kind.num_fields))
        entry = dict(value or {})
        entry[field.name], what = _changed(field.type, entry.get(field.name), None, rng)
        return entry, f".{field.name} {what}"
    return None, "null"


def _changed_map(kind: pa.MapType, value: Any, rng: random.Random) -> tuple[Any, str]:
    entries = list(value or ())
    if entries and rng.random() < 0.3:
        return entries + entries, "keys twice"
    fresh, what = _changed(kind.item_type, None, None, rng)
    key = rng.choice((*HOSTILE, *(key for key, _ in entries)))
    return [*(pair for pair in entries if pair[0] != key), (key, fresh)], f"[{key[:16]!r}] {what}"


def _changed_list(kind: pa.ListType, value: Any, rng: random.Random) -> tuple[Any, str]:
    entries = list(value or ())
    chance = rng.random()
    if not entries or chance < 0.1:
        return [], "empty"
    if chance < 0.2:
        return entries[: rng.randrange(len(entries))], "shorter"
    if chance < 0.3:
        return entries * rng.choice((2, 1000)), "longer"
    index = rng.randrange(len(entries))
    entries[index], what = _changed(kind.value_type, entries[index], entries[0], rng)
    return entries, f"[{index}]{what}"


def _altered(text: str, rng: random.Random) -> str:
    if not text:
        return "x"
    at = rng.randrange(len(text))
    return rng.choice((text[:at], text[:at] + rng.choice("\x1b\n(%,9'\"<") + text[at + 1 :]))


def _altered_bytes(content: bytes, rng: random.Random) -> bytes:
    at = rng.randrange(len(content)) if content else 0
    flipped = (
        content[:at] + bytes([content[at] ^ 1 << rng.randrange(8)]) + content[at + 1 :]
        if content
        else b"x"
    )
    return rng.choice((content[:at], flipped, b"\xff\xfe\x00" * 9, bytes(1_000_000), b""))


def _replace_artifact(trace: Path, rng: random.Random) -> str:
    """Other content with a hash and a size that are right, and whoever refers to it does."""
    from kvtrace.schema.content import artifact_row

    files = _files(trace / "artifacts", "*.parquet")
    path = rng.choice(files)
    rows = _read(path)
    listed = rows.to_pylist()
    row = rng.choice(listed)
    content = pa.input_stream(pa.py_buffer(row["bytes"]), compression="zstd").read()
    what, fresh = rng.choice(
        (
            ("not UTF-8", b"\xff\xfe" + content),
            ("cut", content[: len(content) // 2]),
            ("empty", b""),
            ("a bomb", bytes(400 << 20)),
            ("a line of 1 MB", b"x" * 1_000_000),
            ("with escapes", content.replace(b"\n", b"\x1b[31m\n")),
            ("deep", b"(" * 200_000),
            ("other numbers", content.replace(b"1", b"99999999999")),
            ("hostile names", content.replace(b"%arg0", b"%</script>\x1b")),
        )
    )
    old, new = row["sha256"], artifact_row(row["kind"], fresh)
    listed = [
        new | {"kind": entry["kind"]} if entry["sha256"] == old else entry for entry in listed
    ]
    listed.sort(key=lambda entry: entry["sha256"])
    _write(path, pa.Table.from_pylist(listed, _nullable(rows)), dict(rows.schema.metadata))
    for other in _files(trace, "*.parquet"):
        _rename_artifact(other, old, new["sha256"])
    return f"artifact of kind {row['kind']}: {what}"


def _rename_artifact(path: Path, old: str, new: str) -> None:
    rows = _read(path)
    text = path.parts[-3]
    if text not in ("kernels", "calls", "contents"):
        return

    def renamed(value: Any) -> Any:
        if isinstance(value, list):
            return [renamed(item) for item in value]
        if isinstance(value, dict):
            return {key: renamed(item) for key, item in value.items()}
        return new if value == old else value

    for place, field in enumerate(rows.schema):
        if not pa.types.is_timestamp(field.type) and not pa.types.is_map(field.type):
            values = [renamed(value) for value in rows.column(place).to_pylist()]
            rows = rows.set_column(place, field, pa.array(values, field.type))
    _write(path, rows, dict(rows.schema.metadata))


def change_columns(rows: pa.Table, rng: random.Random) -> tuple[pa.Table, str]:
    rows = rows.cast(_nullable(rows))
    place = rng.randrange(rows.num_columns)
    name = rows.column_names[place]
    match rng.randrange(7):
        case 0:
            return rows.drop_columns([name]), f"without {name}"
        case 1:
            names = list(rows.column_names)
            names[place] = rng.choice((*HOSTILE[:8], name.upper(), rng.choice(names)))
            return rows.rename_columns(names), f"{name} renamed to {names[place][:20]!r}"
        case 2:
            return _retyped(rows, place, rng.choice(_TYPES))
        case 3:
            kind = rng.choice(_TYPES)
            fresh = pa.nulls(rows.num_rows, kind)
            return rows.append_column(rng.choice((*HOSTILE[:8], "run")), fresh), f"one more: {kind}"
        case 4:
            fresh = pa.nulls(rows.num_rows, rows.column(place).type)
            return rows.set_column(place, name, fresh), f"{name} all null"
        case 5:
            order = rng.sample(rows.column_names, rows.num_columns)
            return rows.select(order), "columns in another order"
        case _:
            return rows.select([name]), f"only {name}"


def _retyped(rows: pa.Table, place: int, kind: pa.DataType) -> tuple[pa.Table, str]:
    name, column = rows.column_names[place], rows.column(place)
    try:
        fresh = column.cast(kind)
    except pa.ArrowException:
        fresh = pa.nulls(rows.num_rows, kind)
    return rows.set_column(place, name, fresh), f"{name} as {kind}"


def change_rows(rows: pa.Table, rng: random.Random) -> tuple[pa.Table, str]:
    count = rows.num_rows
    match rng.randrange(5):
        case 0:
            return rows.slice(0, 0), "no rows"
        case 1:
            return pa.concat_tables([rows] * rng.choice((2, 50))), "rows repeated"
        case 2:
            return rows.take(pa.array(rng.sample(range(count), count))), "rows shuffled"
        case 3:
            chosen_rows = rng.sample(range(count), count // 2)
            return rows.take(pa.array(sorted(chosen_rows), pa.int64())), "half of the rows"
        case _:
            return rows.slice(1), "without the first row"


# -- metadata, files, folders -----------------------------------------------------------------


def _change_metadata(trace: Path, rng: random.Random) -> str:
    path = rng.choice(_files(trace, "*.parquet"))
    rows = _read(path)
    metadata = dict(rows.schema.metadata or {})
    key = rng.choice(
        (b"kvtrace.format_version", b"kvtrace.format_version", b"kvtrace.table", b"kvtrace.run_id",
         b"kvtrace.pass", b"kvtrace.settings", b"kvtrace.table_definition")
    )  # fmt: skip
    if rng.random() < 0.2:
        metadata.pop(key, None)
    elif key == b"kvtrace.format_version":
        metadata[key] = rng.choice(_VERSIONS)
    else:
        metadata[key] = rng.choice(
            (*(text.encode("utf-8", "replace") for text in HOSTILE), b"[]", b"{", b"\xff", b"null",
             b'{"row": 1, "columns": 2}')
        )  # fmt: skip
    _write(path, rows, metadata)
    return f"{_table_of(path)}: {key.decode()} is {metadata.get(key, b'not there')[:20]!r}"


def _change_file(trace: Path, rng: random.Random) -> str:
    path = rng.choice(_files(trace))
    content = path.read_bytes()
    outside = trace.parent / "outside"
    chance = rng.randrange(14)
    at = rng.randrange(len(content)) if content else 0
    if chance in (0, 1, 2):
        bit = bytes([content[at] ^ 1 << rng.randrange(8)]) if content else b"x"
        path.write_bytes(content[:at] + bit + content[at + 1 :])
        return f"{_named(trace, path)}: a bit of byte {at} of {len(content)} flipped"
    if chance == 3:
        path.write_bytes(content[:at])
        return f"{_named(trace, path)}: cut to {at} bytes"
    if chance == 4:
        path.write_bytes(content[:at] + rng.randbytes(64) + content[at + 64 :])
        return f"{_named(trace, path)}: noise at {at}"
    if chance == 5:
        other = rng.choice(_files(trace, "*.parquet"))
        path.write_bytes(other.read_bytes())
        return f"{_named(trace, path)}: is {_named(trace, other)}"
    path.unlink()
    match chance:
        case 6:
            path.write_bytes(b"")
            return f"{_named(trace, path)}: empty"
        case 7:
            path.mkdir()
            return f"{_named(trace, path)}: a folder"
        case 8:
            os.mkfifo(path)
            return f"{_named(trace, path)}: a pipe"
        case 9:
            path.symlink_to(rng.choice(("/dev/zero", "/dev/full")))
            return f"{_named(trace, path)}: a device"
        case 10:
            path.symlink_to(path.name)
            return f"{_named(trace, path)}: a link to itself"
        case 11:
            path.symlink_to(outside / "precious")
            return f"{_named(trace, path)}: a link to what is none of it"
        case 12:
            with path.open("wb") as file:
                file.truncate(1 << 40)
            return f"{_named(trace, path)}: a terabyte of nothing"
        case _:
            return f"{_named(trace, path)}: gone"


def _named(trace: Path, path: Path) -> str:
    return str(path.relative_to(trace))


def _change_folder(trace: Path, rng: random.Random) -> str:
    folders = sorted(path for path in trace.rglob("*") if path.is_dir())
    folder = rng.choice(folders)
    outside = trace.parent / "outside"
    what = _named(trace, folder)
    match rng.randrange(7):
        case 0:
            moved = outside / f"moved-{rng.randrange(10**9)}"
            folder.rename(moved)
            folder.symlink_to(moved)
            return f"{what}: a link to a folder elsewhere"
        case 1:
            shutil.rmtree(folder)
            return f"{what}: gone"
        case 2:
            shutil.rmtree(folder)
            folder.write_bytes(b"x")
            return f"{what}: a file"
        case 3:
            run = rng.choice(sorted(path for path in folders if path.name.startswith("run=")))
            name = rng.choice(HOSTILE[:5]).replace("/", "_").replace("\0", "")
            shutil.copytree(run, run.with_name(f"run={name}"), symlinks=True)
            return f"{_named(trace, run)}: there as {name!r}, too"
        case 4:
            name = rng.choice(("client_\x1b[31m", "client_x", "\x1b[31mred", "launches\n", ".x"))
            shutil.copytree(folder, trace / name, symlinks=True)
            return f"{what}: there as {name!r}, too"
        case 5:
            return _leave_plan(trace, rng)
        case _:
            run = rng.choice(sorted(path for path in folders if path.name.startswith("run=")))
            name = rng.choice(
                ("part-\x1b[31m-00000.parquet", "part-99999.parquet", "part-00001.parquet",
                 "part-x-00000.parquet", ".part-x-1.tmp", "launches-00007.arrows", "x" * 250)
            )  # fmt: skip
            (run / name).write_bytes(
                rng.choice((b"", b"PAR1" * 9, b"\xff\xff\xff\xff" + b"x" * 99))
            )
            return f"{_named(trace, run)}: {name[:30]!r} in it"


def _leave_plan(trace: Path, rng: random.Random) -> str:
    """What a killed pass or compaction is said to have left."""
    journal = trace / JOURNAL
    journal.mkdir(exist_ok=True)
    table = rng.choice(sorted(TABLES))
    run = rng.choice(("../../outside", "x", "\x1b[31m", "..", "."))
    text = rng.choice(
        (
            "{}", "[", "null", '{"run": 1, "pass_name": 2, "fresh": 3}', "\x1b[31m",
            f'{{"run": "{run}", "pass_name": "golden", "fresh": {{"{table}": ".part-x-1.tmp"}}}}',
            f'{{"run": "x", "pass_name": "golden", "fresh": {{"../{table}": "../../precious"}}}}',
            "[" * 100_000,
        )
    )  # fmt: skip
    (journal / "replacement-0123456789abcdef.json").write_text(text)
    plan_folder = journal / "compaction-0123-999999999"
    if rng.random() < 0.5:
        plan_folder.symlink_to(trace.parent / "outside")
    return f"a plan {text[:60]!r}"


_MUTATIONS: tuple[tuple[Mutation, int], ...] = (
    (_rewritten(change_values), 10),
    (_rewritten(change_columns), 4),
    (_rewritten(change_rows), 2),
    (_replace_artifact, 3),
    (_change_metadata, 2),
    (_change_file, 4),
    (_change_folder, 3),
    (_bomb, 2),
)
