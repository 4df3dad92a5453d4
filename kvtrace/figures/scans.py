"""DuckDB views of a trace's tables, over Parquet parts in place and rows of the trace's reader.

Parts of sealed runs are scanned in place, so that a query over a hundred million launches reads
only the columns and row groups that it needs. DuckDB scans the parts itself, which takes a third of
pyarrow's time; pyarrow scans them if DuckDB is not allowed to open files, or if DuckDB would read a
path as a pattern. Columns that a part of another minor version lacks are null. Runs that still have
a journal, and parts of an older major version of the format, are read by `Trace.table`.
"""

import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from functools import reduce
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import pyarrow as pa

from kvtrace.schema.columns import is_readable_as
from kvtrace.schema.content import BY_CONTENT
from kvtrace.schema.layout import OBSERVED, SHARED, fetch, pass_parts, run_folder, run_parts
from kvtrace.schema.opened_parts import check_part, open_part, part_footer
from kvtrace.schema.repair import LATEST
from kvtrace.schema.tables import TABLES

if TYPE_CHECKING:
    import duckdb
    import pyarrow.dataset as pds

    from kvtrace.schema.table_types import Table
    from kvtrace.schema.trace import Run, Trace

#: Names of folders, and of runs, that DuckDB does not read as patterns or as `name=value`.
_PLAIN_FOLDER: Final = re.compile(r"[^*?\[\]{}=%\\:]*")
_PLAIN_RUN: Final = re.compile(r"[A-Za-z0-9_.-]+")

_Parts = Mapping[str, Sequence[Path]]


class _Part(NamedTuple):
    """A Parquet part that can be scanned in place, its columns and its number of rows."""

    path: Path
    columns: frozenset[str]
    rows: int


class Scans:
    """Factory of DuckDB views of the tables of some runs; the parts of each table are listed once.

    `itself`: DuckDB opens the parts instead of pyarrow. It could then also write them, so only
    kvtrace's own queries use it.
    """

    def __init__(self, trace: "Trace", runs: Sequence["Run"], *, itself: bool) -> None:
        self._trace = trace
        self._runs = runs
        self._itself = itself
        self._listed: dict[str, dict[str, list[_Part]]] = {}

    def close(self, database: "duckdb.DuckDBPyConnection", tables: Iterable[str]) -> None:
        """Allow a database no files but the parts of these tables, or none unless `itself`.

        Also sets the time zone to UTC, and DuckDB's file caches.
        """
        names = tuple(tables) if self._itself else ()
        part_lists = [parts for name in names for parts in self._parts(name).values()]
        paths = [str(part.path) for parts in part_lists for part in parts]
        database.execute("SET allowed_paths = ?", [paths])
        database.execute("SET TimeZone = 'UTC'")
        database.execute("SET enable_external_file_cache = false")
        database.execute("SET parquet_metadata_cache = true")  # parts never change
        database.execute("SET enable_external_access = false")

    def create_view(
        self,
        database: "duckdb.DuckDBPyConnection",
        name: str,
        columns: Sequence[str] | None = None,
        repaired: Collection[str] = (),
        run_type: str = "VARCHAR",
    ) -> None:
        """Create the view of one table in a database; errors as `Trace.table`.

        Args:
            database: the database in which the view is created.
            name: the name of the table, and of the view.
            columns: columns of the view besides `run`; None: all.
            repaired: ids of runs that `Trace.table` reads and repairs instead of DuckDB.
            run_type: the SQL type of the column `run`.

        """
        table = self._trace.definition(name, self._runs)
        scannable = {run: p for run, p in self._parts(name).items() if run not in repaired}
        read_runs = [run for run in self._runs if run.run_id not in scannable]
        parts = {run: run_parts for run, run_parts in scannable.items() if run_parts}
        rows: pa.Table = self._trace.table(name, read_runs, columns)
        names = ", ".join(map(_identifier, columns or [column.name for column in table.columns]))
        view = database.from_arrow(rows).project(f"{names}, run::VARCHAR AS run")
        if parts:
            types = dict(zip(view.columns, view.types, strict=True))
            scanned = self._rows_of_parts(database, table, parts, types)
            key = BY_CONTENT.get(name)
            if key and any(len(run_parts) > 1 for run_parts in parts.values()):
                distinct = scanned.query("parts", f"SELECT DISTINCT ON (run, {key}) * FROM parts")  # noqa: S608
                assert distinct is not None  # a query that selects is a relation
                scanned = distinct
            view = scanned.union(view) if rows.num_rows else scanned
        if run_type != "VARCHAR":
            view = view.project(f"* REPLACE (run::{run_type} AS run)")
        view.create_view(name)

    def parts(self, name: str) -> _Parts:
        """Return the paths of a table's parts by run id.

        Runs with a part that lacks a column of the table, or cannot be scanned, are left out.
        """
        names = {column.name for column in self._trace.definition(name, self._runs).columns}
        return {
            run: [part.path for part in parts]
            for run, parts in self._parts(name).items()
            if parts and all(part.columns >= names for part in parts)
        }

    def _parts(self, name: str) -> dict[str, list[_Part]]:
        """Return the parts of a table by run id, for the runs whose parts can be scanned."""
        if name not in self._listed:
            table = self._trace.definition(name, self._runs)
            sealed = [run for run in self._runs if run.sealed]
            by_run = {run.run_id: _scannable(self._trace.path, table, run) for run in sealed}
            self._listed[name] = {run: parts for run, parts in by_run.items() if parts is not None}
        return self._listed[name]

    def _rows_of_parts(
        self,
        database: "duckdb.DuckDBPyConnection",
        table: "Table",
        parts: Mapping[str, Sequence[_Part]],
        types: Mapping[str, Any],
    ) -> "duckdb.DuckDBPyRelation":
        """Return a relation with the rows of parts; columns as in `types`, from name to SQL type.

        Raises:
            DamagedFile: DuckDB failed, and a part is no Parquet file.

        """
        import duckdb  # not needed to count rows

        files = [part for run_parts in parts.values() for part in run_parts]
        fetch(part.path for part in files)
        try:
            if not (self._itself and in_plain_folders(self._trace.path, parts)):
                view = database.from_arrow(_dataset(self._trace.path / table.name, table, files))
                return view.project(", ".join(_identifier(name) for name in types))
            by_columns: dict[frozenset[str], list[_Part]] = {}
            for part in files:
                by_columns.setdefault(part.columns, []).append(part)
            scanned = (_scanned(database, alike, types) for alike in by_columns.values())
            return reduce(duckdb.DuckDBPyRelation.union, scanned)
        except duckdb.Error:
            for part in files:
                with open_part(part.path):
                    pass
            raise


def _scanned(
    database: "duckdb.DuckDBPyConnection", parts: Sequence[_Part], types: Mapping[str, Any]
) -> "duckdb.DuckDBPyRelation":
    """Return a relation of parts with equal columns; columns of `types` that they lack are null."""
    files = ", ".join(quoted(str(part.path)) for part in parts)
    present = {*parts[0].columns, "run"}
    columns = ", ".join(
        _identifier(name)
        if name in present
        else f"CAST(NULL AS {types[name]}) AS {_identifier(name)}"
        for name in types
    )
    options = "hive_partitioning = true, hive_types_autocast = false"
    return database.sql(f"SELECT {columns} FROM read_parquet([{files}], {options})")  # noqa: S608


def in_plain_folders(out: Path, parts: Iterable[str]) -> bool:
    """Return whether `out` and the run ids have no character that DuckDB reads as a pattern."""
    is_plain = _PLAIN_FOLDER.fullmatch(str(out)) is not None
    return is_plain and all(_PLAIN_RUN.fullmatch(run) for run in parts)


def row_count(trace: "Trace", run: "Run", name: str) -> int:
    """Return the number of rows of a run's table `name`; errors as `Trace.pieces`."""
    table = trace.definition(name)
    parts = _scannable(trace.path, table, run) if run.sealed else None
    if parts is not None:
        return sum(part.rows for part in parts)
    return sum(piece.num_rows for piece in trace.pieces(name, [run], table.keys[:1]))


def sound_rows(trace: "Trace", run: "Run", name: str, columns: Sequence[str]) -> int | None:
    """Return the number of rows of a run's table, or None if these columns may need a repair.

    Statistics in the parts of a sealed run decide: no null in a key, no time out of range. An end
    before its begin is not seen. None also for runs that cannot be scanned in place.
    """
    table = trace.definition(name, [run])
    parts = _scannable(trace.path, table, run) if run.sealed else None
    if parts is None:
        return None
    count = 0
    for part in parts:
        for chunks in part_footer(part.path).groups:
            for column in columns:
                chunk = chunks.get(column)
                if chunk is None or not _is_sound(chunk, column in table.keys):
                    return None
        count += part.rows
    return count


def groups_of_executions(trace: "Trace", run: "Run") -> list[tuple[int, int, int]] | None:
    """Return the first and last begin (ns since 1970), and number of rows, of each row group.

    None if the run is not sealed, or cannot be scanned in place, or a row group has no begin or no
    statistics.
    """
    parts = _scannable(trace.path, TABLES["gpu_kernels"], run) if run.sealed else None
    if parts is None:
        return None
    groups = []
    for part in parts:
        footer = part_footer(part.path)
        for number, bounds in enumerate(footer.bounds("start")):
            if bounds is None:
                return None
            groups.append((*bounds, footer.metadata.row_group(number).num_rows))
    return groups


def _is_sound(chunk: Any, is_key: bool) -> bool:
    """Return whether a column chunk's statistics show that no value needs a repair."""
    statistics = chunk.statistics
    if statistics is None or not statistics.has_null_count:
        return False
    if is_key and statistics.null_count:
        return False
    if statistics.logical_type.type != "TIMESTAMP":
        return True
    if not statistics.has_min_max:
        return bool(statistics.null_count == chunk.num_values)
    return bool(statistics.min_raw >= -LATEST and statistics.max_raw <= LATEST)


def _scannable(out: Path, table: "Table", run: "Run") -> list[_Part] | None:
    """Return the parts of a run's table, or None if `Trace.table` has to read them."""
    folder = run_folder(out, table.name, run.run_id)
    if table.name == "findings" and pass_parts(folder, OBSERVED):
        return None  # findings of run and of judging overlap; the reader merges them
    if table.name == "artifacts" and SHARED in run.settings:
        return None  # other runs hold some
    kinds = {column.name: column.type for column in table.columns}
    names = frozenset(kinds)
    parts = []
    captured, of_passes = run_parts(folder)
    for path in (*captured.values(), *of_passes):
        if path.parent != folder:
            return None  # kept beside the trace
        footer = part_footer(path)
        check_part(footer, path, table)
        columns = frozenset(footer.names)
        # A client's own table may differ in more than columns that came later.
        if columns != names and (table.name not in TABLES or "run" in columns):
            return None
        if not all(is_readable_as(footer.schema.field(n).type, kinds[n]) for n in columns & names):
            return None  # the reader refuses columns of other types
        parts.append(_Part(path, columns & names, footer.metadata.num_rows))
    return parts


def _dataset(folder: Path, table: "Table", parts: Sequence[_Part]) -> "pds.Dataset":
    """Return a dataset of parts of several runs; folders `run=…` become the column `run`."""
    import pyarrow.dataset as pds  # takes a tenth of a second, and is rarely needed

    run = pa.field("run", pa.string())
    return pds.dataset(
        [str(part.path) for part in parts],
        schema=pa.schema([*table.schema, run]),
        format="parquet",
        partitioning=pds.HivePartitioning(pa.schema([run]), segment_encoding="none"),
        partition_base_dir=str(folder),
    )


def _identifier(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'


def quoted(value: str) -> str:
    """Return a value as a quoted SQL text."""
    return "'" + value.replace("'", "''") + "'"
