"""Parts that a pass derives for a run: replaced together, without touching captured parts."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final

import pyarrow as pa
import pyarrow.compute as pc

from kvtrace.schema.client_tables import is_client_table
from kvtrace.schema.columns import conformed, table_named
from kvtrace.schema.committed import refuse_committed
from kvtrace.schema.content import BY_CONTENT
from kvtrace.schema.errors import SchemaMismatch, TraceWriteError
from kvtrace.schema.layout import (
    DEBUG_MODE,
    JOIN,
    client_folders,
    discard,
    folder_beside,
    part_path,
    pass_parts,
    refuse_links,
    run_folder,
)
from kvtrace.schema.parts import sorted_rows, write_part_aside
from kvtrace.schema.plans import PASS_NAME, Replacement, carry_out, commit, unfinished
from kvtrace.schema.reading import captured_rows, quietly
from kvtrace.schema.remote import remote_folder
from kvtrace.schema.table_types import Table
from kvtrace.schema.tables import TABLES
from kvtrace.schema.versions import derived_facts
from kvtrace.version import __version__

#: Captured tables that passes with other tools' rows may add to: the run recorded no such rows.
_ADDED: Final = {JOIN: ("gpu_kernels", "host_events", "messages"), DEBUG_MODE: ("tool_events",)}


def keep_parts(
    out: Path,
    run_id: str,
    pass_name: str,
    tables: Mapping[str, pa.Table],
    settings: Mapping[str, Any],
    definitions: Sequence[Table],
    *,
    looked_at: set[Path],
    whole: bool,
    note: Callable[[str], None],
) -> None:
    """Write a pass's tables to the trace, or to an open folder beside it (`results_beside`).

    That folder gets tables that are not `whole`, and those that cannot be written to the trace, or
    to one that git tracks, as `note` is told. Other arguments and errors as in `replace_parts`.

    Raises:
        SchemaMismatch: also for tables that are not whole while no such folder is open.

    """
    arguments = (run_id, pass_name, tables, settings, definitions, looked_at)
    beside = folder_beside(out)
    if not whole:
        if beside is None:
            raise SchemaMismatch(f"the trace may not have results of {pass_name} for some calls")
        replace_parts(beside, *arguments)
        return
    try:
        if beside is not None:
            refuse_committed(out)
        replace_parts(out, *arguments)
    except TraceWriteError as error:
        if beside is None:
            raise
        note(f"{error}, and this output alone has the results")
        replace_parts(beside, *arguments)


def replace_parts(
    out: Path,
    run_id: str,
    pass_name: str,
    tables: Mapping[str, pa.Table],
    settings: Mapping[str, Any],
    definitions: Sequence[Table],
    looked_at: set[Path],
) -> None:
    """Replace all tables that a pass wrote for a run by `tables`; its other tables are removed.

    `definitions` define the client tables among `tables`. `looked_at` are folders where no run has
    a link; `out` becomes one of them. There, only this run's folders are looked at again.

    Raises:
        SchemaMismatch: a bad name of a pass, a table that passes do not write, wrong columns.
        TraceWriteError: the disk is full, or a folder is a link; the earlier tables stay.

    """
    if PASS_NAME.fullmatch(pass_name) is None:
        raise SchemaMismatch(f"{pass_name!r} is not a name for a pass; use a-z, 0-9, _ and -")
    refuse_links(out, (run_id,) if out in looked_at else None)
    looked_at.add(out)
    client_definitions = {table.name: table for table in definitions if is_client_table(table.name)}
    defined = {name: client_definitions.get(name) or table_named(name) for name in tables}
    rows = {
        name: _checked_rows(out, run_id, pass_name, defined[name], content)
        for name, content in tables.items()
    }
    try:
        for path in unfinished(out):
            carry_out(out, path)
        parts = {name: part_path(out, name, run_id, 0, pass_name) for name in rows}
        temporaries: dict[str, Path] = {}
        with _discarded_after_error(temporaries):
            for name, table_rows in rows.items():
                facts = derived_facts(name, run_id, pass_name, settings, __version__)
                temporaries[name] = write_part_aside(
                    parts[name], defined[name], facts, table_rows.to_batches()
                )
            remote = remote_folder(out)
            if remote is not None:
                folders = [
                    run_folder(out, name, run_id) for name in {*TABLES, *client_folders(out), *rows}
                ]
                old_parts = {part for folder in folders for part in pass_parts(folder, pass_name)}
                uploads = [(temporaries[name], part) for name, part in parts.items()]
                return remote.replace(uploads, old_parts)
            fresh = {name: temporary.name for name, temporary in temporaries.items()}
            plan = commit(out, Replacement(run_id, pass_name, fresh))
        carry_out(out, plan)
    except OSError as error:
        raise TraceWriteError(
            f"the results of the pass {pass_name} cannot be written to {out} "
            f"({error.strerror or error}); captured tables are unchanged"
        ) from error


@contextmanager
def _discarded_after_error(temporaries: Mapping[str, Path]) -> Iterator[None]:
    """Remove the files in `temporaries` if the context ends by an error."""
    try:
        yield
    except BaseException:
        for temporary in temporaries.values():
            discard(temporary)
        raise


def _checked_rows(
    out: Path, run_id: str, pass_name: str, table: Table, content: pa.Table
) -> pa.Table:
    allowed = (*BY_CONTENT, *_ADDED.get(pass_name, ()))
    if table.origin != "derived" and table.name not in allowed:
        raise SchemaMismatch(f"{table.name} is captured, and no pass may add to it")
    rows = sorted_rows(conformed(table, content), table)
    key = BY_CONTENT.get(table.name)
    if key is None or rows.num_rows == 0:
        return rows
    captured = captured_rows(out, table, run_id, [key], quietly).column(key).combine_chunks()
    return rows.filter(pc.invert(pc.is_in(rows.column(key), value_set=captured)))
