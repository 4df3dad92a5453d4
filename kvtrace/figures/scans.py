"""Tables of a trace as DuckDB's views: Parquet parts where they lie, and what the reader gives.

Parts of sealed runs are scanned where they lie, so that a query over a hundred million launches
reads only the columns and row groups that it needs: by DuckDB itself, which takes a third of the
time, or for it by pyarrow, where it is to open no file, or a path would mean a pattern to it. What
a part of another minor version lacks is null. Runs that still have a journal, and parts of an older
major version of the format, go through the reader of the trace.
"""

import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from functools import reduce
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import pyarrow as pa

from kvtrace.schema.layout import OBSERVED, SHARED, fetch, part_numbers, pass_parts, run_folder
from kvtrace.schema.parts import open_part, part_facts
from kvtrace.schema.repair import LATEST
from kvtrace.schema.tables import TABLES

if TYPE_CHECKING:
    import duckdb
    import pyarrow.dataset as pds

    from kvtrace.schema.table_types import Table
    from kvtrace.schema.trace import Run, Trace

#: Several parts of a run may hold the same row of these.
_BY_CONTENT: Final = {"stacks": "stack_id", "artifacts": "sha256"}
#: A folder, or a run, whose name means only itself in a list of files with `run=` folders.
_PLAIN_FOLDER: Final = re.compile(r"[^*?\[\]{}=%\\:]*")
_PLAIN_RUN: Final = re.compile(r"[A-Za-z0-9_.-]+")

_Parts = Mapping[str, Sequence[Path]]


class _Part(NamedTuple):
    """A part that can be scanned where it lies, what columns it has, and how many rows."""

    path: Path
    columns: frozenset[str]
    rows: int


class Scans:
    """Views of the tables of some runs, made one by one; the parts of each are looked for once.

    `itself`: DuckDB opens the parts, which it could write then, too; what it is asked is known.
    """

    def __init__(self, trace: "Trace", runs: Sequence["Run"], *, itself: bool) -> None:
        self._trace = trace
        self._runs = runs
        self._itself = itself
        self._found: dict[str, dict[str, list[_Part]]] = {}

    def close(self, database: "duckdb.DuckDBPyConnection", tables: Iterable[str]) -> None:
        """Leave a database nothing to reach but the parts of these tables."""
        opened = tables if self._itself else ()
        found = [parts for name in opened for parts in self._parts(name).values()]
        paths = [str(part.path) for parts in found for part in parts]
        database.execute("SET TimeZone = 'UTC'")
        database.execute("SET enable_external_file_cache = false")
        database.execute("SET parquet_metadata_cache = true")  # a part that is there stays as it is
        database.execute("SET allowed_paths = ?", [paths])
        database.execute("SET enable_external_access = false")

    def create_view(
        self,
        database: "duckdb.DuckDBPyConnection",
        name: str,
        columns: Sequence[str] | None = None,
        repaired: Collection[str] = (),
        run_type: str = "VARCHAR",
    ) -> None:
        """Make the view of one table; errors as `Trace.table`.

        Args:
            database: where it is made.
            name: the table.
            columns: those that the view has; None: all.
            repaired: runs whose rows the reader has to repair.
            run_type: the type of its column `run`.

        """
        table = self._trace.definition(name, self._runs)
        found = {run: p for run, p in self._parts(name).items() if run not in repaired}
        rest = [run for run in self._runs if run.run_id not in found]
        parts = {run: several for run, several in found.items() if several}
        rows: pa.Table = self._trace.table(name, rest, columns)
        wanted = columns or [column.name for column in table.columns]
        names = ", ".join(_identifier(each) for each in wanted)
        view = database.from_arrow(rows).project(f"{names}, run::VARCHAR AS run")
        if parts:
            types = dict(zip(view.columns, view.types, strict=True))
            whole = self._whole(database, table, parts, types)
            key = _BY_CONTENT.get(name)
            if key and any(len(several) > 1 for several in parts.values()):
                once = whole.query("parts", f"SELECT DISTINCT ON (run, {key}) * FROM parts")  # noqa: S608
                assert once is not None  # a query that selects is a relation
                whole = once
            view = whole.union(view) if rows.num_rows else whole
        if run_type != "VARCHAR":
            view = view.project(f"* REPLACE (run::{run_type} AS run)")
        view.create_view(name)

    def parts(self, name: str) -> _Parts:
        """Return the parts of a table with all of its columns, by run; runs that have no others."""
        wanted = {column.name for column in self._trace.definition(name, self._runs).columns}
        return {
            run: [part.path for part in parts]
            for run, parts in self._parts(name).items()
            if parts and all(part.columns >= wanted for part in parts)
        }

    def _parts(self, name: str) -> dict[str, list[_Part]]:
        """Return the parts of a table that can be scanned, by run; no others' rows."""
        if name not in self._found:
            table = self._trace.definition(name, self._runs)
            sealed = [run for run in self._runs if run.sealed]
            found = {run.run_id: _scannable(self._trace.path, table, run) for run in sealed}
            self._found[name] = {run: parts for run, parts in found.items() if parts is not None}
        return self._found[name]

    def _whole(
        self,
        database: "duckdb.DuckDBPyConnection",
        table: "Table",
        parts: Mapping[str, Sequence[_Part]],
        types: Mapping[str, Any],
    ) -> "duckdb.DuckDBPyRelation":
        """Return the rows of parts; DamagedFile where the first of them, or its like, is none."""
        import duckdb  # counting rows takes none

        files = [part for several in parts.values() for part in several]
        fetch(part.path for part in files)
        try:
            if not (self._itself and in_plain_folders(self._trace.path, parts)):
                found = database.from_arrow(_dataset(self._trace.path / table.name, table, files))
                return found.project(", ".join(_identifier(name) for name in types))
            alike: dict[frozenset[str], list[_Part]] = {}
            for part in files:
                alike.setdefault(part.columns, []).append(part)
            scanned = (_scanned(database, each, types) for each in alike.values())
            return reduce(duckdb.DuckDBPyRelation.union, scanned)
        except duckdb.Error:
            for part in files:
                with open_part(part.path):
                    pass
            raise


def _scanned(
    database: "duckdb.DuckDBPyConnection", parts: Sequence[_Part], types: Mapping[str, Any]
) -> "duckdb.DuckDBPyRelation":
    """Return the rows of parts with the same columns, with others of these types as null."""
    files = ", ".join(quoted(str(part.path)) for part in parts)
    known = {*parts[0].columns, "run"}
    columns = ", ".join(
        _identifier(name)
        if name in known
        else f"CAST(NULL AS {types[name]}) AS {_identifier(name)}"
        for name in types
    )
    how = "hive_partitioning = true, hive_types_autocast = false"
    return database.sql(f"SELECT {columns} FROM read_parquet([{files}], {how})")  # noqa: S608


def in_plain_folders(out: Path, parts: Iterable[str]) -> bool:
    """Whether no path of parts of these runs of a trace would mean a pattern to who scans them."""
    plain = _PLAIN_FOLDER.fullmatch(str(out)) is not None
    return plain and all(_PLAIN_RUN.fullmatch(run) for run in parts)


def row_count(trace: "Trace", run: "Run", name: str) -> int:
    """Count the rows of one of the format's tables; errors as `Trace.pieces`."""
    table = trace.definition(name)
    parts = _scannable(trace.path, table, run) if run.sealed else None
    if parts is not None:
        return sum(part.rows for part in parts)
    return sum(piece.num_rows for piece in trace.pieces(name, [run], table.keys[:1]))


def sound_rows(trace: "Trace", run: "Run", name: str, columns: Sequence[str]) -> int | None:
    """Count the rows of a table, if none of these columns has what the reader would repair.

    That is what statistics in the parts of a sealed run say; None where they do not. They do
    not show an end before its begin.
    """
    table = trace.definition(name, [run])
    found = _scannable(trace.path, table, run) if run.sealed else None
    if found is None:
        return None
    count = 0
    for each in found:
        with open_part(each.path) as part:
            metadata = part.metadata
            places = {metadata.schema.column(i).path: i for i in range(metadata.num_columns)}
            if not places.keys() >= set(columns):
                return None
            for group in map(metadata.row_group, range(metadata.num_row_groups)):
                for column in columns:
                    if not _sound(group.column(places[column]), column in table.keys):
                        return None
            count += metadata.num_rows
    return count


def _sound(chunk: Any, key: bool) -> bool:
    told = chunk.statistics
    if told is None or not told.has_null_count:
        return False
    if key and told.null_count:
        return False
    if chunk.statistics.logical_type.type != "TIMESTAMP":
        return True
    if not told.has_min_max:
        return bool(told.null_count == chunk.num_values)
    return bool(told.min_raw >= -LATEST and told.max_raw <= LATEST)


def _scannable(out: Path, table: "Table", run: "Run") -> list[_Part] | None:
    """Parts of a run and table, or None where they have to be read by `Trace.table`."""
    folder = run_folder(out, table.name, run.run_id)
    if table.name == "findings" and pass_parts(folder, OBSERVED):
        return None  # of what the run saw and what judging found, readers are given one of each
    if table.name == "artifacts" and SHARED in run.settings:
        return None  # other runs hold some
    wanted = frozenset(column.name for column in table.columns)
    found = []
    for path in (*part_numbers(folder).values(), *pass_parts(folder)):
        with open_part(path) as file:
            part_facts(file, path, table.name)  # refuses a file of another format or table
            columns = frozenset(file.schema_arrow.names)
            rows = file.metadata.num_rows
        # A client's own table may differ in more than columns that came later.
        odd = columns != wanted and (table.name not in TABLES or "run" in columns)
        if odd:
            return None
        found.append(_Part(path, columns & wanted, rows))
    return found


def _dataset(folder: Path, table: "Table", parts: Sequence[_Part]) -> "pds.Dataset":
    """Return the parts of several runs with a column `run`, which their folders' names say."""
    import pyarrow.dataset as pds  # which takes a tenth of a second, and is not needed for most

    run = pa.field("run", pa.string())
    return pds.dataset(
        [str(part.path) for part in parts],
        schema=pa.schema([*table.schema, run]),
        format="parquet",
        partitioning=pds.HivePartitioning(pa.schema([run]), segment_encoding="none"),
        partition_base_dir=str(folder),
    )


def _identifier(name: str) -> str:
    """Return a name as SQL's identifier, whatever is in it."""
    return '"' + name.replace('"', '""') + '"'


def quoted(value: str) -> str:
    """Return a value as SQL's text."""
    return "'" + value.replace("'", "''") + "'"
