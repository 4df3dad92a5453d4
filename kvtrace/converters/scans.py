"""Tables of a trace as DuckDB's views: Parquet parts where they lie, and what the reader gives.

Parts of sealed runs are scanned where they lie, so that a query over a hundred million launches
reads only the columns and row groups that it needs: by DuckDB itself, which takes a third of the
time, or for it by pyarrow, where it is to open no file, or a path would mean a pattern to it. Runs
that still have a journal, and parts of an older version of the format, go through the reader of
the trace.
"""

import re
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import duckdb
import pyarrow as pa

from kvtrace.schema.layout import OBSERVED, SHARED, fetch, part_numbers, pass_parts, run_folder
from kvtrace.schema.parts import open_part, part_facts
from kvtrace.schema.repair import LATEST
from kvtrace.schema.versions import FORMAT_VERSION

if TYPE_CHECKING:
    import pyarrow.dataset as pds

    from kvtrace.schema.tables import Table
    from kvtrace.schema.trace import Run, Trace

#: Several parts of a run may hold the same row of these.
_BY_CONTENT: Final = {"stacks": "stack_id", "artifacts": "sha256"}
#: A folder, or a run, whose name means only itself in a list of files with `run=` folders.
_PLAIN_FOLDER: Final = re.compile(r"[^*?\[\]{}=%\\:]*")
_PLAIN_RUN: Final = re.compile(r"[A-Za-z0-9_.-]+")

_Parts = Mapping[str, Sequence[Path]]


class Scans:
    """Views of the tables of some runs, made one by one; the parts of each are looked for once.

    `itself`: DuckDB opens the parts, which it could write then, too; what it is asked is known.
    """

    def __init__(self, trace: "Trace", runs: Sequence["Run"], *, itself: bool) -> None:
        self._trace = trace
        self._runs = runs
        self._itself = itself
        self._parts: dict[str, _Parts] = {}

    def close(self, database: duckdb.DuckDBPyConnection, tables: Iterable[str]) -> None:
        """Leave a database nothing to reach but the parts of these tables."""
        opened = tables if self._itself else ()
        parts = [files for name in opened for files in self.parts(name).values()]
        paths = [str(path) for files in parts for path in files]
        database.execute("SET TimeZone = 'UTC'")
        database.execute("SET enable_external_file_cache = false")
        database.execute("SET allowed_paths = ?", [paths])
        database.execute("SET enable_external_access = false")

    def create_view(self, database: duckdb.DuckDBPyConnection, name: str) -> None:
        """Make the view of one table; errors as `Trace.table`."""
        table = self._trace.definition(name, self._runs)
        parts = self.parts(name)
        names = ", ".join(_identifier(column.name) for column in table.columns)
        rest = [run for run in self._runs if run.run_id not in parts]
        rows: pa.Table = self._trace.table(name, rest)
        view = database.from_arrow(rows).project(f"{names}, run::VARCHAR AS run")
        if parts:
            scanned = self._whole(database, table, parts)
            key = _BY_CONTENT.get(name)
            several = any(len(files) > 1 for files in parts.values())
            once = f"DISTINCT ON (run, {key}) " if key and several else ""
            whole = scanned.query("parts", f"SELECT {once}{names}, run FROM parts")  # noqa: S608
            assert whole is not None  # a query that selects is a relation
            view = whole.union(view) if rows.num_rows else whole
        view.create_view(name)

    def parts(self, name: str) -> _Parts:
        """Return the parts of a table that can be read as they are, by run; no others' rows."""
        if name not in self._parts:
            table = self._trace.definition(name, self._runs)
            found = {
                run.run_id: _parts_as_they_are(self._trace.path, table, run)
                for run in self._runs
                if run.sealed
            }
            self._parts[name] = {run: files for run, files in found.items() if files}
        return self._parts[name]

    def _whole(
        self, database: duckdb.DuckDBPyConnection, table: "Table", parts: _Parts
    ) -> duckdb.DuckDBPyRelation:
        """Return the rows of parts; DamagedFile where the first of them, or its like, is none."""
        try:
            return self._scanned(database, table, parts)
        except duckdb.Error:
            for path in (path for files in parts.values() for path in files):
                with open_part(path):
                    pass
            raise

    def _scanned(
        self, database: duckdb.DuckDBPyConnection, table: "Table", parts: _Parts
    ) -> duckdb.DuckDBPyRelation:
        fetch(path for files in parts.values() for path in files)
        if not (self._itself and in_plain_folders(self._trace.path, parts)):
            return database.from_arrow(_dataset(self._trace.path / table.name, table, parts))
        files = ", ".join(_text(str(path)) for each in parts.values() for path in each)
        how = "hive_partitioning = true, hive_types_autocast = false"
        return database.sql(f"SELECT * FROM read_parquet([{files}], {how})")  # noqa: S608


def in_plain_folders(out: Path, parts: _Parts) -> bool:
    """Whether no path of these parts of a trace would mean a pattern to who scans them."""
    plain = _PLAIN_FOLDER.fullmatch(str(out)) is not None
    return plain and all(_PLAIN_RUN.fullmatch(run) for run in parts)


def sound_rows(trace: "Trace", run: "Run", name: str, columns: Sequence[str]) -> int | None:
    """Count the rows of a table, if none of these columns has what the reader would repair.

    That is what statistics in the parts of a sealed run say; None where they do not. An end before
    its begin is not told by them.
    """
    table = trace.definition(name, [run])
    files = _parts_as_they_are(trace.path, table, run) if run.sealed else None
    if files is None or (not files and part_numbers(run_folder(trace.path, name, run.run_id))):
        return None
    count = 0
    for path in files:
        with open_part(path) as part:
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


def _parts_as_they_are(out: Path, table: "Table", run: "Run") -> list[Path]:
    """Parts of a run and table, or none where they have to be read by `Trace.table`."""
    folder = run_folder(out, table.name, run.run_id)
    files = [*part_numbers(folder).values(), *pass_parts(folder)]
    if table.name == "findings" and pass_parts(folder, OBSERVED):
        return []  # of what the run saw and what judging found, readers are given one of each
    if table.name == "artifacts" and SHARED in run.settings:
        return []  # other runs hold some
    wanted = {column.name for column in table.columns}
    for path in files:
        with open_part(path) as part:
            facts = part_facts(part, path, table.name)
            if facts.format_version != FORMAT_VERSION or set(part.schema_arrow.names) != wanted:
                return []
    return files


def _dataset(folder: Path, table: "Table", parts: _Parts) -> "pds.Dataset":
    """Return the parts of several runs with a column `run`, which their folders' names say."""
    import pyarrow.dataset as pds  # which takes a tenth of a second, and is not needed for most

    run = pa.field("run", pa.string())
    return pds.dataset(
        [str(path) for files in parts.values() for path in files],
        schema=pa.schema([*table.schema, run]),
        format="parquet",
        partitioning=pds.HivePartitioning(pa.schema([run]), segment_encoding="none"),
        partition_base_dir=str(folder),
    )


def _identifier(name: str) -> str:
    """Return a name as SQL's identifier, whatever is in it."""
    return '"' + name.replace('"', '""') + '"'


def _text(value: str) -> str:
    """Return a value as SQL's text."""
    return "'" + value.replace("'", "''") + "'"
