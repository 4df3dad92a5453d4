"""Baselines: runs stored under a name, `.kvtrace/baselines/NAME/`, to compare later runs with.

A baseline is an excerpt of a trace: small enough to be committed, or to be
stored in a cache of continuous integration. Baselines are looked up in the working directory, which
is the project's.
"""

import os
import re
import secrets
import shutil
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import pyarrow as pa
import pyarrow.compute as pc

from kvtrace.converters.findings import read_findings
from kvtrace.schema.columns import conformed
from kvtrace.schema.errors import BadSetting, KvtraceError, TraceWriteError
from kvtrace.schema.layout import EXCERPT, part_path, pass_parts, run_folder
from kvtrace.schema.merging import merged_rows
from kvtrace.schema.opened_parts import open_part, part_facts
from kvtrace.schema.output_folders import (
    TRACE_NAMES,
    check_output_folder,
    refuse_removal,
    renew_output_folder,
)
from kvtrace.schema.parts import sorted_rows, write_part
from kvtrace.schema.table_types import Table
from kvtrace.schema.tables import TABLES
from kvtrace.schema.trace import Run, Selection, Trace, open_trace
from kvtrace.schema.versions import captured_facts
from kvtrace.schema.weights import number_of

#: kvtrace's folder in a project.
PROJECT: Final = Path(".kvtrace")
BASELINES: Final = PROJECT / "baselines"
#: The folder that `kvtrace gate` records into.
RECORDED: Final = PROJECT / "gate"
_NAME: Final = re.compile(r"[A-Za-z0-9][\w.-]{0,99}")
_NOT_COMMITTED: Final = f"/{RECORDED.name}/\n/report/\n"  # of the action


@dataclass(frozen=True, slots=True)
class Baseline:
    """Facts on a baseline, as `kvtrace gate list` shows them.

    `judged`: its launches were checked for findings. `started`: the earliest run's start, in ns.
    """

    name: str
    commit: str | None
    started: int | None
    runs: int
    kernels: int
    launches: int
    judged: bool
    size_bytes: int


def baseline_folder(name: str) -> Path:
    """Return the folder for a baseline's name; raise BadSetting if the name is not allowed."""
    if _NAME.fullmatch(name) is None:
        raise BadSetting(
            f"{name!r} cannot name a baseline; use letters, digits, '_', '-' and '.', such as main."
        )
    return BASELINES / name


def save_baseline(name: str, selection: Selection) -> Baseline:
    """Store runs as the baseline `name`, replacing an earlier one, and return its facts.

    Raises:
        BadSetting: the name is not allowed, or its folder is no baseline.
        DamagedFile, NewerFormat: a file of the trace cannot be read.
        TraceWriteError: writing fails, for example on a full disk; an earlier baseline stays.
    """
    folder = baseline_folder(name)
    prepare_project()
    _refuse_what_is_no_baseline(folder)
    work = folder.with_name(f".{name}.{secrets.token_hex(4)}.tmp")
    previous = folder.with_name(f"{work.name}.before")
    try:
        write_excerpt(selection, work)
        if folder.exists():
            folder.rename(previous)
        work.rename(folder)
    except OSError as error:
        if previous.exists() and not folder.exists():
            previous.rename(folder)
        raise TraceWriteError(
            f"{folder} cannot be written ({error.strerror or error}); an earlier baseline stays"
        ) from error
    finally:
        shutil.rmtree(work, ignore_errors=True)
        shutil.rmtree(previous, ignore_errors=True)
    return _facts_in(folder)


def open_baseline(name: str) -> Selection:
    """Return the runs of a baseline.

    Raises:
        BadSetting: no baseline has that name; the text says how to make one.
    """
    folder = baseline_folder(name)
    if not folder.is_dir():
        raise BadSetting(no_baseline(name))
    return _all_runs(open_trace(folder))


def no_baseline(name: str) -> str:
    """Return a message that the baseline `name` is missing, with the commands that save one."""
    return (
        f"{_missing(name)}; save one with kvtrace gate save {name} TRACE, or with kvtrace gate "
        f"--save --against {name}."
    )


def _missing(name: str) -> str:
    names = ", ".join(_baseline_names()) or "none"
    return f"there is no baseline {name!r} in {BASELINES} (there are {names})"


def has_baseline(name: str) -> bool:
    """Return whether a baseline exists; raise BadSetting if the name is not allowed."""
    return baseline_folder(name).is_dir()


def baseline_facts(name: str) -> Baseline | None:
    """Return the facts of a baseline; None if there is none of the name, or it cannot be read."""
    if not has_baseline(name):
        return None
    try:
        return _facts_in(BASELINES / name)
    except KvtraceError:
        return None


def list_baselines() -> list[Baseline]:
    """Return all baselines, sorted by name; raise DamagedFile if a baseline cannot be read."""
    return [_facts_in(BASELINES / name) for name in _baseline_names()]


def remove_baseline(name: str) -> None:
    """Delete a baseline.

    Raises:
        BadSetting: no baseline has that name, or its folder is a link, or has other files.
    """
    folder = baseline_folder(name)
    if not folder.is_dir():
        raise BadSetting(f"{_missing(name)}.")
    _refuse_what_is_no_baseline(folder)
    shutil.rmtree(folder)


def _refuse_what_is_no_baseline(folder: Path) -> None:
    if folder.exists():
        check_output_folder(folder, "add")
        refuse_removal(folder)


def prepare_project() -> None:
    """Create `.kvtrace/baselines`, and a .gitignore for the other folders of `.kvtrace`."""
    try:
        BASELINES.mkdir(parents=True, exist_ok=True)
        ignored = PROJECT / ".gitignore"
        if not ignored.exists():
            ignored.write_text(_NOT_COMMITTED, encoding="utf-8")
    except OSError as error:
        raise TraceWriteError(
            f"{BASELINES} cannot be created ({error.strerror or error}); nothing is stored there"
        ) from error


def renew_recorded() -> None:
    """Empty the folder that `kvtrace gate` records into."""
    prepare_project()
    renew_output_folder(RECORDED, TRACE_NAMES)


def _baseline_names() -> list[str]:
    if not BASELINES.is_dir():
        return []
    return sorted(path.name for path in BASELINES.iterdir() if _NAME.fullmatch(path.name))


def _facts_in(folder: Path) -> Baseline:
    selection = _all_runs(open_trace(folder))
    commits = {run.git_commit for run in selection.runs}
    launches = number_of(selection.trace.pieces("launches", columns=["weight"]))
    return Baseline(
        name=folder.name,
        commit=commits.pop() if len(commits) == 1 else None,
        started=min((r.started for r in selection.runs if r.started is not None), default=None),
        runs=len(selection.runs),
        kernels=len(set(selection.table("kernels", ["name"])["name"].to_pylist())),
        launches=launches,
        judged=read_findings(selection.trace, selection.runs).analyzed,
        size_bytes=sum(path.stat().st_size for path in folder.rglob("*") if path.is_file()),
    )


def _all_runs(trace: Trace) -> Selection:
    return Selection(trace, trace.runs)


# Excerpts: small copies of runs for comparisons, to be stored, committed or cached.
#
# An excerpt is a trace like any other, without contents of tensors, records of accesses, loops,
# messages, buffers, tables of clients, proven verdicts, host and process, and, if there was no
# device, without the times of launches, which are the evaluator's. Every launch keeps its row, so
# that launches can be counted; `enter` stays if there are marks, which then give a launch's step or
# test. Without times a row takes next to no space.

#: Captured tables that are copied besides stacks and artifacts, with the columns set to null.
_CAPTURED: Final[dict[str, tuple[str, ...]]] = {
    "runs": ("host", "pid"),
    "kernels": ("thread", "load_thread"),
    "calls": (),
    "launches": ("stream", "addresses"),
    "gpu_kernels": ("stream", "correlation_id", "requested", "stack_id", "forward_stack_id"),
    "graph_ops": ("stack_id",),
    "marks": (),
}
#: Derived tables that are copied, with the columns set to null: an op's line is not compared.
_DERIVED: Final[dict[str, tuple[str, ...]]] = {"ops": ("stack_id",), "findings": ()}
_CONTENTS: Final = "tensor"
#: Rows of a part, about.
_MAX_ROWS: Final = 250_000


def write_excerpt(selection: Selection, out: str | os.PathLike[str]) -> None:
    """Write an excerpt of the selected runs to the folder `out`.

    Raises:
        DamagedFile, NewerFormat: a file cannot be read.
        TraceWriteError: the excerpt cannot be written, as on a full disk.

    """
    try:
        for run in selection.runs:
            _write_run(selection.trace, run, Path(out))
    except OSError as error:
        raise TraceWriteError(
            f"{out} cannot be written ({error.strerror or error}); the trace is unchanged"
        ) from error


def _write_run(trace: Trace, run: Run, out: Path) -> None:
    passes = [
        (table, path)
        for table in _DERIVED
        for path in pass_parts(run_folder(trace.path, table, run.run_id))
    ]
    used_stacks = _stack_ids_in(trace.table("calls", (run,), ["stack_id"]))
    for name, path in passes:
        with open_part(path) as file:
            facts = part_facts(file, path, name)
        rows = _rows_of_pass(TABLES[name], path)
        used_stacks |= _stack_ids_in(rows)
        target = part_path(out, name, run.run_id, 0, facts.pass_name)
        write_part(target, TABLES[name], facts, rows.to_batches())
    stacks = trace.table("stacks", (run,))
    stacks = stacks.filter(pc.is_in(stacks["stack_id"], pa.array(sorted(used_stacks), pa.int64())))
    artifacts = trace.table("artifacts", (run,))
    kinds = artifacts["kind"].cast(pa.string())
    artifacts = artifacts.filter(pc.fill_null(pc.not_equal(kinds, _CONTENTS), fill_value=True))
    for name, rows in (("stacks", stacks), ("artifacts", artifacts)):
        _write(
            out,
            TABLES[name],
            run,
            [sorted_rows(_without_left_out(TABLES[name], rows), TABLES[name])],
        )
    times: tuple[str, ...] = () if run.devices else ("enter", "exit")
    if times and trace.table("marks", (run,), ["mark_id"]).num_rows:
        times = ("exit",)
    for name, left_out in _CAPTURED.items():
        columns = (*left_out, *times) if name == "launches" else left_out
        pieces = (
            _without_left_out(TABLES[name], piece, columns) for piece in trace.pieces(name, (run,))
        )
        _write(out, TABLES[name], run, pieces)


def _write(out: Path, table: Table, run: Run, pieces: Iterable[pa.Table]) -> None:
    facts = captured_facts(table.name, run.run_id)
    for part_number, part_pieces in enumerate(_batched_pieces(pieces)):
        batches = (batch for piece in part_pieces for batch in piece.to_batches())
        write_part(part_path(out, table.name, run.run_id, part_number), table, facts, batches)


def _batched_pieces(pieces: Iterable[pa.Table]) -> Iterator[list[pa.Table]]:
    """Yield lists of pieces with at least `_MAX_ROWS` rows in all, the last list with fewer.

    Each list becomes a file: readers refuse a small file that holds very many rows.
    """
    batch: list[pa.Table] = []
    for piece in pieces:
        batch.append(piece)
        if sum(rows.num_rows for rows in batch) >= _MAX_ROWS:
            yield batch
            batch = []
    if batch:
        yield batch


def _rows_of_pass(table: Table, path: Path) -> pa.Table:
    rows = pa.Table.from_batches(list(merged_rows([path], table)), table.schema)
    if "verdict" in rows.column_names:
        unproven = pc.not_equal(rows["verdict"].cast(pa.string()), "proven")
        rows = rows.filter(pc.fill_null(unproven, fill_value=True))
    return _without_left_out(table, rows, _DERIVED[table.name])


def _without_left_out(table: Table, rows: pa.Table, columns: Collection[str] = ()) -> pa.Table:
    """Return rows without `columns` and contents of tensors; `runs` get the setting `EXCERPT`."""
    kept_names = [name for name in table.schema.names if name not in columns]
    rows = conformed(table, rows.select(kept_names))
    if table.name == "calls":
        return _with_changed_column(rows, "args", _without_contents)
    return (
        _with_changed_column(rows, "settings", _with_excerpt_setting)
        if table.name == "runs"
        else rows
    )


def _with_changed_column(rows: pa.Table, name: str, change: Callable[[Any], Any]) -> pa.Table:
    index = rows.schema.get_field_index(name)
    field = rows.schema.field(index)
    values = [change(value) for value in rows[name].to_pylist()]
    return rows.set_column(index, field, pa.array(values, field.type))


def _without_contents(args: Sequence[Mapping[str, Any]] | None) -> Any:
    return args and [arg and {**arg, "value_artifact": None} for arg in args]


def _with_excerpt_setting(settings: Sequence[tuple[str, str]] | None) -> list[tuple[str, str]]:
    return [*((key, value) for key, value in settings or () if key != EXCERPT), (EXCERPT, "yes")]


def _stack_ids_in(rows: pa.Table) -> set[int]:
    """Return the ids in `stack_id` and `other_stack_id` of rows."""
    names = {"stack_id", "other_stack_id"} & set(rows.column_names)
    return {id_ for name in names for id_ in pc.unique(rows[name].drop_null()).to_pylist()}
