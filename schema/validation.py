"""Validation of a trace: each file by unchanged, and references between tables."""

import os
from bisect import bisect_right
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import cache, partial
from pathlib import Path
from typing import Final

import pyarrow as pa
import pyarrow.compute as pc

from kvtrace.schema.checksums import verify_part
from kvtrace.schema.client_tables import is_client_table, table_of_file
from kvtrace.schema.columns import filled, is_readable_as, unknown_fields
from kvtrace.schema.content import artifact_content
from kvtrace.schema.errors import KvtraceError
from kvtrace.schema.features import FEATURE_COLUMNS, unknown_features_text
from kvtrace.schema.journal import SegmentReader, damage_text
from kvtrace.schema.layout import (
    JOURNAL,
    client_folders,
    compaction_folders,
    left_behind,
    part_numbers,
    pass_parts,
    run_folder,
    run_ids,
    segments,
    segments_aside,
)
from kvtrace.schema.opened_parts import open_part, part_facts, reading
from kvtrace.schema.parts import sorted_rows
from kvtrace.schema.plans import unfinished
from kvtrace.schema.reading import journal_runs_row, quietly
from kvtrace.schema.recovery import is_running, may_live
from kvtrace.schema.references import REFERENCES, Reference
from kvtrace.schema.row_checks import breaches, unequal_counts, unnamed_features
from kvtrace.schema.runs import Run
from kvtrace.schema.table_types import Profile, Table
from kvtrace.schema.tables import CORE_TABLES, TABLES
from kvtrace.schema.trace import Trace, open_trace
from kvtrace.schema.unread_files import PART_NAMES, unknown_tables, unread_files
from kvtrace.schema.versions import FORMAT_VERSION, version_numbers
from kvtrace.schema.weights import keeps_newest


@dataclass(frozen=True, slots=True)
class Problem:
    """A defect of a trace at `where`, a path or table.

    `unreadable` files were not checked; a `warning` is a breach of a SHOULD.
    """

    where: str
    text: str
    unreadable: bool = False
    warning: bool = False


#: Version since which runs name the features that they require.
_FEATURES_SINCE: Final = "1.12"
#: Tables with a unique id in each run.
_UNIQUE: Final = {
    "kernels": "kernel_id",
    "calls": "call_id",
    "operators": "operator_id",
    "launches": "seq",
    "marks": "mark_id",
}


def validate(
    out: str | os.PathLike[str], profile: Profile | None = None, *, warnings: bool = False
) -> list[Problem]:
    """Read every file of a trace and return its defects, and `warnings` on request.

    Checked are: checksums of files and journals, readability, metadata, columns and their types,
    presence and uniqueness of keys, references between rows, hashes of artifacts, features that a
    run has to name, values of rows, and whether killed runs were recovered. Of the profile `core`
    its tables and columns are checked, and what lies outside is ignored.

    Raises:
        TraceNotFound, EmptyTrace: as `open_trace`.

    """
    trace = open_trace(out)
    tables = CORE_TABLES if profile == "core" else TABLES
    clients: tuple[str, ...] = () if profile == "core" else client_folders(trace.path)
    problems: list[Problem] = []
    for name in (*tables, *clients):
        for run_id in run_ids(trace.path / name):
            problems += _folder_problems(trace, name, run_id, tables)
    if (trace.path / JOURNAL).exists() and not (trace.path / JOURNAL).is_dir():
        text = "it is no folder, so that nothing can be added to the trace; remove it"
        problems.append(Problem(str(trace.path / JOURNAL), text))
    for path in unread_files(trace.path, (*tables, *clients)):
        problems.append(Problem(str(path), f"it is not read: a table's files are {PART_NAMES}"))
    if profile != "core":
        for name in unknown_tables(trace.path, (*tables, *clients)):
            text = "it is not read: the format has no such table, and clients' begin with client_"
            problems.append(Problem(str(trace.path / name), text, warning=True))
    for run_id in run_ids(trace.path / JOURNAL):
        problems += _journal_problems(trace, run_id)
    text = "a pass was killed; kvtrace trace recover puts its results in place"
    problems += [Problem(str(path), text) for path in unfinished(trace.path)]
    text = "a removal of runs was killed; kvtrace trace recover removes the rest"
    problems += [Problem(str(path), text) for path in unfinished(trace.path, "removal")]
    for path in segments_aside(trace.path):
        problems += _segment_problems(path)
    problems += _leftover_problems(compaction_folders(trace.path), "compaction")
    references = [
        reference
        for reference in (*REFERENCES, *_client_references(trace, clients))
        if reference.target in tables and _has_column(reference, tables)
    ]
    for run_id in trace.run_ids:
        problems += _reference_problems(trace, run_id, tables, references)
        problems += _run_problems(trace, run_id, tables)
    return [problem for problem in problems if warnings or not problem.warning]


def _folder_problems(
    trace: Trace, name: str, run_id: str, tables: Mapping[str, Table]
) -> Iterator[Problem]:
    folder = run_folder(trace.path, name, run_id)
    if run_id not in trace.run_ids:
        yield Problem(str(folder), "the trace has no run with this id")
    for path in (*part_numbers(folder).values(), *pass_parts(folder)):
        try:
            yield from _part_problems(path, name, run_id, tables)
        except KvtraceError as error:
            yield Problem(str(path), str(error), unreadable=True)
        except OSError as error:
            reason = f"it cannot be read: {error.strerror or error}"
            yield Problem(str(path), reason, unreadable=True)
    yield from _leftover_problems(left_behind(folder), "process")


def _leftover_problems(files: Iterable[tuple[Path, int]], left_by: str) -> Iterator[Problem]:
    """Yield a problem for each file whose process does not run."""
    text = f"it is left from a killed {left_by}; kvtrace trace recover removes it"
    return (Problem(str(path), text) for path, process in files if not is_running(process))


def _part_problems(
    path: Path, name: str, run_id: str, tables: Mapping[str, Table]
) -> Iterator[Problem]:
    verify_part(path)
    with open_part(path) as file:
        facts = part_facts(file, path, name)
        table = tables.get(name) or table_of_file(name, file.schema_arrow, str(path))
        if facts.run_id != run_id:
            owner = (
                f"says that it belongs to run {facts.run_id}" if facts.run_id else "names no run"
            )
            yield Problem(str(path), f"its metadata {owner}")
        derived = path in pass_parts(path.parent)
        if derived and not (facts.pass_name and path.name.startswith(f"part-{facts.pass_name}-")):
            yield Problem(str(path), f"its metadata says that the pass {facts.pass_name} wrote it")
        column_problems = [*_column_problems(path, table, file.schema_arrow, facts.format_version)]
        yield from column_problems
        if name == "runs" and not derived and file.metadata.num_rows != 1:
            yield Problem(str(path), f"it has {file.metadata.num_rows} rows instead of one")
        if file.metadata.num_row_groups and file.metadata.num_columns:
            codec = file.metadata.row_group(0).column(0).compression
            if codec not in ("ZSTD", "UNCOMPRESSED"):
                text = f"it is compressed with {codec}; producers should use zstd"
                yield Problem(str(path), text, warning=True)
        previous: pa.Table | None = None
        for group in range(file.num_row_groups):
            with reading(path):
                rows = file.read_row_group(group)
                rows.validate(full=True)
            yield from _row_problems(path, table, rows, run_id)
            if not column_problems:  # else columns may be of other types
                for text, is_warning in breaches(table.name, rows):
                    yield Problem(str(path), text, warning=is_warning)
            if set(table.sort) <= set(rows.column_names):
                yield from _order_problems(path, table, rows, previous)
                previous = rows.slice(rows.num_rows - 1) if rows.num_rows else previous


def _column_problems(
    path: Path, table: Table, schema: pa.Schema, version: str
) -> Iterator[Problem]:
    major, minor = version_numbers(version)
    own_major, own_minor = version_numbers(FORMAT_VERSION)
    if major != own_major:
        return
    for column in table.columns:
        if column.name in schema.names:
            stored_type = schema.field(column.name).type
            if not is_readable_as(stored_type, column.type):
                yield Problem(
                    str(path), f"column {column.name} is {stored_type}, not {column.type}"
                )
            elif minor <= own_minor:
                for name in unknown_fields(stored_type, column.type):
                    yield Problem(str(path), f"the format has no field {column.name}.{name}")
            if version_numbers(column.since)[1] > minor:
                yield Problem(
                    str(path),
                    f"column {column.name} came with version {column.since}, and the metadata says "
                    f"{version}",
                )
        elif column.name in table.required and version_numbers(column.since)[1] <= minor:
            yield Problem(str(path), f"column {column.name} is missing")
    names = {column.name for column in TABLES.get(table.name, table).columns}
    for name in schema.names:
        if name not in names and minor <= own_minor:
            yield Problem(str(path), f"the format has no column {name}")


def _row_problems(path: Path, table: Table, rows: pa.Table, run_id: str) -> Iterator[Problem]:
    for name in table.keys:
        if name in rows.column_names and rows.column(name).null_count:
            yield Problem(str(path), f"the key {name} is null in some rows")
    if table.name == "runs":
        for row in filled(table, rows, ("run_id", "required_features"), str(path)).to_pylist():
            if row["run_id"] != run_id:
                yield Problem(str(path), f"its row has the run_id {row['run_id']}, not {run_id}")
            refusal = unknown_features_text(run_id, row["required_features"] or ())
            if refusal is not None:
                yield Problem(str(path), refusal, unreadable=True)
    if table.name != "artifacts":
        return
    names = ("sha256", "size_bytes", "bytes")
    for row in filled(table, rows, names, str(path)).to_pylist():
        if row["sha256"] is None:
            continue  # reported above
        try:
            content = row["bytes"] or b""
            artifact_content(row["sha256"], row["size_bytes"] or 0, content, str(path))
        except KvtraceError as error:
            yield Problem(str(path), str(error))


def _order_problems(
    path: Path, table: Table, rows: pa.Table, previous: pa.Table | None
) -> Iterator[Problem]:
    """Yield a problem if rows, with the last row of the row group before, are not in order."""
    pieces = [rows] if previous is None else [previous, rows]
    keys = pa.concat_tables(piece.select(list(table.sort)) for piece in pieces)
    if not sorted_rows(keys, table).equals(keys):
        names = ", ".join(table.sort)
        yield Problem(str(path), f"its rows are not in the order of {names}")


def _journal_problems(trace: Trace, run_id: str) -> Iterator[Problem]:
    folder = str(trace.path / JOURNAL / f"run={run_id}")
    try:
        row = journal_runs_row(trace.path, run_id, quietly)
        if may_live(trace.path, run_id, row) is None:
            yield Problem(folder, "its process is dead; kvtrace trace recover seals its rows")
        for paths_by_number in segments(trace.path, run_id).values():
            for path in paths_by_number.values():
                yield from _segment_problems(path)
    except KvtraceError as error:
        yield Problem(folder, str(error), unreadable=True)
    except FileNotFoundError:
        return  # sealed while we were looking


def _segment_problems(path: Path) -> Iterator[Problem]:
    """Yield a problem if a journal segment is damaged; an incomplete last batch is none."""
    with SegmentReader(path) as reader:
        for _ in reader:
            pass
        if reader.damage:
            text = f"it is damaged, and {damage_text(reader.damage)} cannot be read"
            yield Problem(str(path), text, unreadable=True)


def _has_column(reference: Reference, tables: Mapping[str, Table]) -> bool:
    """Return whether a reference's column is one of `tables`, or of a client's table."""
    table = tables.get(reference.table)
    return is_client_table(reference.table) if table is None else reference.column in table.names


def _reference_problems(
    trace: Trace, run_id: str, tables: Mapping[str, Table], references: Sequence[Reference]
) -> Iterator[Problem]:
    keys = cache(partial(_read_keys, trace, run_id))
    for table, key_name in _UNIQUE.items():
        if table not in tables:
            continue
        key_set = keys(table, key_name)
        repeated_count = 0 if key_set is None else key_set.rows - len(key_set)
        if repeated_count:
            yield Problem(
                f"{table} of run {run_id}",
                f"{repeated_count} rows repeat the {key_name} of an earlier row",
            )
    for reference in references:
        key_set = keys(reference.target, reference.key)
        dangling = None if key_set is None else _dangling_values(trace, run_id, reference, key_set)
        if dangling is not None and len(dangling):
            yield Problem(
                f"{reference.table} of run {run_id}",
                f"{reference.column} refers to {len(dangling)} rows that {reference.target} "
                f"does not have, as {dangling[0].as_py()}",
            )


def _run_problems(trace: Trace, run_id: str, tables: Mapping[str, Table]) -> Iterator[Problem]:
    """Yield breaches of rules about several tables of a run."""
    try:
        (run,) = trace.select(run_id)
        calls = trace.table("calls", [run_id], columns=["call_id", "kernel_id", "args"])
        kernels = trace.table("kernels", [run_id], columns=["kernel_id", "signature"])
        for text, is_warning in unequal_counts(calls, kernels):
            yield Problem(f"calls of run {run_id}", text, warning=is_warning)
        if not _names_features(trace, run):
            return
        for name, columns in FEATURE_COLUMNS.items():
            known = [column for column in columns if column in tables[name].names]
            found: dict[str, bool] = {}
            for piece in trace.pieces(name, [run_id], known):
                found |= unnamed_features(name, piece, run.required_features)
            for text, is_warning in found.items():
                yield Problem(f"runs of run {run_id}", text, warning=is_warning)
    except KvtraceError:
        return  # reported where its files are checked


def _names_features(trace: Trace, run: Run) -> bool:
    """Return whether a run, and its file, which may be a copy, are of a version with features."""
    since = version_numbers(_FEATURES_SINCE)
    with suppress(ValueError):  # a version that is no version is reported with its file
        if version_numbers(run.schema_version or _FEATURES_SINCE) < since:
            return False
    for path in part_numbers(run_folder(trace.path, "runs", run.run_id)).values():
        with open_part(path) as file:
            return version_numbers(part_facts(file, path, "runs").format_version) >= since
    return False


def _dangling_values(
    trace: Trace, run_id: str, reference: Reference, keys: "_KeySet"
) -> pa.Array | None:
    """Return a reference's distinct values that are not in `keys`; None if a file is damaged.

    References to launches that the run does not have, as it is partial, are left out.
    """
    dangling = None
    try:
        for values in reference.referenced_values(trace, run_id):
            unmatched = values.filter(pc.invert(keys.contains_each(values)))
            dangling = (
                unmatched
                if dangling is None
                else pc.unique(pa.concat_arrays([dangling, unmatched]))
            )
        if dangling is not None and reference.target == "launches":
            (run,) = trace.select(run_id)
            if keeps_newest(run):
                dangling = dangling.filter(pc.greater(dangling, keys.first))
            elif "partial" in run.required_features:
                return None
    except KvtraceError:  # reported where its files are checked
        return None
    return dangling


def _client_references(trace: Trace, clients: Sequence[str]) -> Iterator[Reference]:
    """Yield the references of clients' tables to `calls` and `stacks`."""
    for name in clients:
        try:
            schema = trace.definition(name).schema
        except KvtraceError:
            continue  # reported where its files are checked
        for column, target in (("call_id", "calls"), ("stack_id", "stacks")):
            if column in schema.names and pa.types.is_signed_integer(schema.field(column).type):
                yield Reference(name, column, target, column)


class _KeySet:
    """The distinct values of a key column: texts, or integers as ranges to save memory."""

    def __init__(self, kind: pa.DataType) -> None:
        self._texts = None if pa.types.is_integer(kind) else pa.nulls(0, kind)
        self._numbers = IntegerSet()
        self.rows = 0

    def add(self, column: pa.ChunkedArray) -> None:
        """Add the values of a piece of the column, and its length to `rows`."""
        self.rows += len(column)
        if self._texts is None:
            for chunk in column.chunks:  # to combine none, Arrow would import pandas
                self._numbers.add(chunk.drop_null().cast(pa.int64()))
        else:
            self._texts = pc.unique(pa.concat_arrays([self._texts, pc.unique(column)]))

    def __len__(self) -> int:
        return len(self._numbers if self._texts is None else self._texts)

    @property
    def first(self) -> int:
        """Smallest integer, or the largest 64-bit integer if the set is empty."""
        first = self._numbers.first
        return (1 << 63) - 1 if first is None else first

    def contains_each(self, values: pa.Array) -> pa.Array:
        """Return a boolean array: for each of `values`, whether it is a key."""
        if self._texts is None:
            return self._numbers.contains_each(values.cast(pa.int64()))
        return pc.is_in(values, value_set=self._texts)


def _read_keys(trace: Trace, run_id: str, table: str, name: str) -> _KeySet | None:
    """Return the values of a key column of a run's table; None if a file is damaged."""
    key_set = _KeySet(TABLES[table].schema.field(name).type)
    try:
        for piece in trace.pieces(table, [run_id], [name]):
            key_set.add(piece.column(name))
    except KvtraceError:
        return None
    return key_set


# -- sets of integers with few gaps, as ids, stored as ranges: a hundred million take two numbers --


#: Fewest ranges that wait before they are merged into the set.
_LEAST_MERGED = 1 << 16
_NO_INTEGERS = pa.nulls(0, pa.int64())


class IntegerSet:
    """A set of 64-bit integers, stored as ranges; memory grows with the number of gaps."""

    def __init__(self) -> None:
        self._range_starts = self._range_ends = _NO_INTEGERS
        self._unmerged: list[tuple[pa.Array, pa.Array]] = []
        self._unmerged_count = 0

    def add(self, values: pa.Array) -> None:
        """Add 64-bit values without nulls, in any order and any number of times."""
        starts, ends = _ranges(values)
        self._unmerged.append((starts, ends))
        self._unmerged_count += len(starts)
        # Merging costs time linear in the set: so wait until the number of ranges has doubled.
        if self._unmerged_count > max(_LEAST_MERGED, len(self._range_starts)):
            self._merge_ranges()

    def __len__(self) -> int:
        """Return the number of distinct values."""
        self._merge_ranges()
        return len(self._range_starts) + (
            pc.sum(pc.subtract(self._range_ends, self._range_starts)).as_py() or 0
        )

    @property
    def first(self) -> int | None:
        """Smallest integer in the set; None if the set is empty."""
        self._merge_ranges()
        return self._range_starts[0].as_py() if len(self._range_starts) else None

    def contains_each(self, values: pa.Array) -> pa.Array:
        """Return a boolean array: for each of `values`, whether the set contains it."""
        self._merge_ranges()
        if len(self._range_starts) == 1:
            start, end = self._range_starts[0], self._range_ends[0]
            return pc.and_(pc.greater_equal(values, start), pc.less_equal(values, end))
        starts, ends = self._range_starts.to_pylist(), self._range_ends.to_pylist()
        indices = [bisect_right(starts, value) - 1 for value in values.to_pylist()]
        ends_of_ranges = pa.array(
            [None if index < 0 else ends[index] for index in indices],
            pa.int64(),
        )
        return pc.fill_null(pc.less_equal(values, ends_of_ranges), False)

    def _merge_ranges(self) -> None:
        if not self._unmerged:
            return
        starts = pa.concat_arrays([self._range_starts, *(ranges[0] for ranges in self._unmerged)])
        ends = pa.concat_arrays([self._range_ends, *(ranges[1] for ranges in self._unmerged)])
        self._unmerged, self._unmerged_count = [], 0
        order = pc.sort_indices(starts)
        starts, reach = starts.take(order), pc.cumulative_max(ends.take(order))
        # A new range begins where nothing before reaches up to it.
        self._range_starts, self._range_ends = _separate_ranges(starts, reach)


def _ranges(values: pa.Array) -> tuple[pa.Array, pa.Array]:
    """Return the first and last integers of the ranges of consecutive integers in `values`."""
    if len(values) > 1 and not pc.all(pc.greater(values[1:], values[:-1])).as_py():
        values = pc.unique(values).sort()
    return _separate_ranges(values, values)


def _separate_ranges(starts: pa.Array, reach: pa.Array) -> tuple[pa.Array, pa.Array]:
    """Return starts and ends of ranges after merging those that overlap or are adjacent.

    `starts` are sorted; `reach` has the running maxima of the ends in the same order.
    """
    if not len(starts):
        return starts, reach
    following = starts[1:]
    # One less than the least integer wraps around, but the least integer follows no other value.
    gaps = pc.and_(
        pc.greater(following, reach[:-1]),
        pc.not_equal(pc.subtract(following, 1), reach[:-1]),
    )
    edge = pa.array([True])
    begins, ends = pa.concat_arrays([edge, gaps]), pa.concat_arrays([gaps, edge])
    return starts.filter(begins), reach.filter(ends)
