"""Validation of a trace: each file by unchanged, and references between tables."""

import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import cache, partial
from pathlib import Path
from typing import Final

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from kvtrace.schema.checksums import verify_part
from kvtrace.schema.client_tables import is_client_table, table_of_file
from kvtrace.schema.columns import filled, is_readable_as, unknown_fields
from kvtrace.schema.content import artifact_content
from kvtrace.schema.errors import KvtraceError
from kvtrace.schema.features import FEATURE_COLUMNS, unknown_features_text
from kvtrace.schema.journal import SegmentReader, damage_text
from kvtrace.schema.key_sets import KeySet
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
from kvtrace.schema.row_checks import (
    Breach,
    breaches,
    other_calls,
    outside_of_run,
    unequal_addresses,
    unequal_parameters,
    unnamed_features,
)
from kvtrace.schema.runs import Run
from kvtrace.schema.table_types import Profile, Table
from kvtrace.schema.tables import CORE_TABLES, TABLES
from kvtrace.schema.trace import Trace, open_trace
from kvtrace.schema.unread_files import PART_NAMES, unknown_tables, unread_files
from kvtrace.schema.versions import FORMAT_VERSION, version_numbers
from kvtrace.schema.weights import keeps_newest
from kvtrace.schema.window import pieces_near


@dataclass(frozen=True, slots=True)
class Problem:
    """A defect of a trace at `where`, a path or table.

    `unreadable` files were not checked; a `warning` is a breach of a SHOULD.
    """

    where: str
    text: str
    unreadable: bool = False
    warning: bool = False


#: Version since which runs name the features that they require, and since which all do.
_FEATURES_SINCE: Final = "1.12"
_FEATURES_ALWAYS: Final = "1.13"
#: Tables with a unique id in each run.
_UNIQUE: Final = {
    "kernels": "kernel_id",
    "calls": "call_id",
    "operators": "operator_id",
    "launches": "seq",
    "marks": "mark_id",
    **{name: "record" for name, table in TABLES.items() if "record" in table.keys},
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
    recorded = run_ids(trace.path / JOURNAL)
    for run_id in trace.run_ids:
        folder = run_folder(trace.path, "runs", run_id)
        if not part_numbers(folder) and run_id not in recorded:
            problems.append(Problem(str(folder), "it has no row, so the run is not complete"))
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
        if name != "runs" and not derived and not file.metadata.num_rows:
            text = "it has no rows, and a table without rows has no folder"
            yield Problem(str(path), text, warning=True)
        codecs = _codecs(file.metadata)
        other_codecs = sorted(codecs - {"ZSTD", "UNCOMPRESSED"})
        if other_codecs:
            text = f"it is compressed with {', '.join(other_codecs)}; producers should use zstd"
            yield Problem(str(path), text, warning=True)
        elif codecs == {"UNCOMPRESSED"} and name != "runs":
            text = "it is not compressed; producers should use zstd"
            yield Problem(str(path), text, warning=True)
        previous: pa.Table | None = None
        for group in range(file.num_row_groups):
            with reading(path):
                rows = file.read_row_group(group)
                rows.validate(full=True)
            yield from _row_problems(path, table, rows)
            if table.name == "runs":
                yield from _run_row_problems(path, rows, run_id, facts.format_version)
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


def _row_problems(path: Path, table: Table, rows: pa.Table) -> Iterator[Problem]:
    for name in table.keys:
        if name in rows.column_names and rows.column(name).null_count:
            yield Problem(str(path), f"the key {name} is null in some rows")
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


def _codecs(metadata: pq.FileMetaData) -> set[str]:
    """Return the names of the compressions that columns of a file have."""
    groups = map(metadata.row_group, range(metadata.num_row_groups))
    return {group.column(at).compression for group in groups for at in range(group.num_columns)}


def _run_row_problems(path: Path, rows: pa.Table, run_id: str, version: str) -> Iterator[Problem]:
    producer = ("producer", "producer_version")
    names = ("run_id", "required_features", "schema_version", "dropped_rows", *producer)
    for row in filled(TABLES["runs"], rows, names, str(path)).to_pylist():
        if row["run_id"] != run_id:
            yield Problem(str(path), f"its row has the run_id {row['run_id']}, not {run_id}")
        features = row["required_features"]
        refusal = unknown_features_text(run_id, features or ())
        if refusal is not None:
            yield Problem(str(path), refusal, unreadable=True)
        if features is None and _is_since(_FEATURES_ALWAYS, version, row["schema_version"]):
            text = f"required_features is null, and since {_FEATURES_ALWAYS} runs name them"
            yield Problem(str(path), f"{text}; none is an empty list", warning=True)
        if row["dropped_rows"] and features is not None and "partial" not in features:
            yield Problem(
                str(path), "required_features does not name partial, and rows were dropped"
            )
        unnamed = [name for name in producer if row[name] is None]
        if unnamed and _is_since(_FEATURES_SINCE, version, row["schema_version"]):
            text = f"it has no {' and no '.join(unnamed)}; a producer should name itself"
            yield Problem(str(path), text, warning=True)


def _is_since(since: str, *versions: str | None) -> bool:
    """Return whether no version is older; one that is no version is reported with its file."""
    known = []
    for version in filter(None, versions):
        with suppress(ValueError):
            known.append(version_numbers(version))
    return all(version >= version_numbers(since) for version in known)


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
        yield from _problems("calls", run, unequal_parameters(calls, kernels))
        if "addresses" in tables["launches"].names:
            launches = trace.pieces("launches", [run], ["call_id", "addresses"])
            yield from _problems("launches", run, unequal_addresses(launches, calls))
        yield from _problems("gpu_kernels", run, _calls_of_executions(trace, run))
        for name, text in _later_columns(trace, run, tables):
            yield Problem(f"{name} of run {run_id}", text, warning=True)
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


def _problems(table: str, run: Run, found: Iterable[Breach]) -> Iterator[Problem]:
    where = f"{table} of run {run.run_id}"
    return (Problem(where, text, warning=is_warning) for text, is_warning in found)


def _later_columns(
    trace: Trace, run: Run, tables: Mapping[str, Table]
) -> Iterator[tuple[str, str]]:
    """Yield table and sentence of columns with values that came after the version of a run."""
    for table in tables.values():
        later = {
            column.name: column.since
            for column in table.columns
            if table.origin == "captured" and not _is_since(column.since, run.schema_version)
        }
        for rows in trace.pieces(table.name, [run], [*later]) if later else ():
            found = [name for name in later if rows[name].null_count < rows.num_rows]
            if found:
                text = f"{found[0]} came with version {later[found[0]]}, and runs.schema_version"
                yield table.name, f"{text} is {run.schema_version}"
                break


def _calls_of_executions(trace: Trace, run: Run) -> Iterable[Breach]:
    """Return breaches of a run's executions against their launches and the run, one of a kind."""
    found: dict[str, Breach] = {}
    has_times = run.source is None and not run.has_total_times
    columns = ["record", "launch_seq", "call_id", "start", "end"]
    for rows in trace.pieces("gpu_kernels", [run], columns):
        for breach in outside_of_run(rows, run) if has_times else ():
            found.setdefault(breach.text.partition(" ")[0], breach)
        executions = rows.filter(pc.is_valid(rows["launch_seq"]))
        ends = pc.min_max(executions["launch_seq"]).as_py()
        if not executions.num_rows:
            continue
        near = [(ends["min"], ends["max"])]
        names = ["seq", "call_id", "enter"] if has_times else ["seq", "call_id"]
        launches = pieces_near(trace, "launches", run, names, ("seq", "seq"), near)
        for breach in other_calls(executions, launches):
            found.setdefault(breach.text.partition(" ")[0], breach)
    return found.values()


def _names_features(trace: Trace, run: Run) -> bool:
    """Return whether a run, and its file, which may be a copy, are of a version with features."""
    for path in part_numbers(run_folder(trace.path, "runs", run.run_id)).values():
        with open_part(path) as file:
            version = part_facts(file, path, "runs").format_version
            return _is_since(_FEATURES_SINCE, version, run.schema_version)
    return False


def _dangling_values(
    trace: Trace, run_id: str, reference: Reference, keys: KeySet
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


def _read_keys(trace: Trace, run_id: str, table: str, name: str) -> KeySet | None:
    """Return the values of a key column of a run's table; None if a file is damaged."""
    key_set = KeySet(TABLES[table].schema.field(name).type)
    try:
        for piece in trace.pieces(table, [run_id], [name]):
            key_set.add(piece.column(name))
    except KvtraceError:
        return None
    return key_set
