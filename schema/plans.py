"""Plans: changes to a trace in several steps, written to disk first, then always completed.

A plan is a file in the journal folder with a checksum, and is removed last. If the process that
executes a plan is killed, the next process, or `kvtrace trace recover`, completes the plan.

Renaming is atomic for one file, so a pass that replaces several files lists the renames first. A
run belongs to a trace by its folder in `runs`, which is moved away first, in one step, so that no
reader finds half of a run that is removed.
"""

import hashlib
import json
import re
import secrets
import shutil
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Final, Literal, TypeVar

from kvtrace.schema.client_tables import is_client_table
from kvtrace.schema.errors import DamagedFile
from kvtrace.schema.layout import (
    JOURNAL,
    client_folders,
    is_temporary,
    part_path,
    pass_parts,
    refuse_irregular,
    run_folder,
    sync_folder,
    write_whole,
)
from kvtrace.schema.tables import TABLES

T = TypeVar("T")
#: Kinds of plans: of a pass's files, and of runs.
Kind = Literal["replacement", "removal"]

#: The reason for which runs with a journal are skipped.
UNSEALED_REASON = "it has a journal; let it end, or seal it by kvtrace trace recover"


def commit_plan(out: Path, kind: Kind, plan: Mapping[str, Any]) -> Path:
    """Write a plan to a new file and return its path; from then on the change will be completed."""
    path = out / JOURNAL / f"{kind}-{secrets.token_hex(8)}.json"
    write_whole(path, lambda temporary: temporary.write_text(json.dumps(plan), encoding="utf-8"))
    return path


def read_plan(path: Path, parse: Callable[[Any], T], again: str) -> T | None:
    """Return `parse` of a plan file's JSON; None if another process has completed the plan.

    `again` says in the error's text how to start the change again.

    Raises:
        DamagedFile: `parse` raised ValueError, TypeError, AttributeError or KeyError.

    """
    try:
        refuse_irregular(path)
        return parse(json.loads(path.read_text(encoding="utf-8")))
    except FileNotFoundError:
        return None
    except (ValueError, TypeError, AttributeError, KeyError, RecursionError) as error:
        raise DamagedFile(f"{path} is damaged; remove it, and {again}") from error


def unfinished(out: Path, kind: Kind = "replacement") -> tuple[Path, ...]:
    """Return the paths of a kind's plans that are not completed, sorted."""
    return tuple(sorted((out / JOURNAL).glob(f"{kind}-*.json")))


def json_checksum(content: Any) -> str:
    """Return the SHA-256 of a JSON value in hex, with keys sorted."""
    return hashlib.sha256(json.dumps(content, sort_keys=True).encode()).hexdigest()


# -- replacement of all files of a pass ------------------------------------------------------------


PASS_NAME: Final = re.compile(r"[a-z][a-z0-9_-]*")


@dataclass(frozen=True, slots=True)
class Replacement:
    """New files of a pass for a run: `fresh` has the temporary file's name by table."""

    run: str
    pass_name: str
    fresh: Mapping[str, str]


def commit(out: Path, replacement: Replacement) -> Path:
    """Write the plan of a replacement, and return its path; from then on it will be completed."""
    plan = asdict(replacement)
    return commit_plan(out, "replacement", plan | {"checksum": json_checksum(plan)})


def carry_out(out: Path, path: Path) -> None:
    """Replace the files of a pass by the plan at `path`, or the rest of them, and remove the plan.

    Raises:
        DamagedFile: the file is not a plan.
        OSError: a step failed; the plan stays, to be completed later.

    """
    replacement = read_plan(path, _checked_replacement, "run the passes of its trace again")
    if replacement is None:
        return
    for name in {*TABLES, *client_folders(out), *replacement.fresh}:
        folder = run_folder(out, name, replacement.run)
        final_path = part_path(out, name, replacement.run, 0, replacement.pass_name)
        temporary_name = replacement.fresh.get(name)
        if temporary_name is not None and (folder / temporary_name).exists():
            (folder / temporary_name).replace(final_path)
        for part in pass_parts(folder, replacement.pass_name):
            if temporary_name is None or part != final_path:
                part.unlink(missing_ok=True)
        if folder.is_dir():
            sync_folder(folder)
    path.unlink(missing_ok=True)


def _checked_replacement(plan: Any) -> Replacement:
    """Return a plan's replacement; ValueError for a wrong checksum or names outside the trace."""
    stored_checksum = plan.pop("checksum", None)  # plans of older versions have none
    replacement = Replacement(**plan)
    is_valid = (
        stored_checksum in (None, json_checksum(plan))
        and re.fullmatch(r"[^/\\]+", replacement.run)
        and PASS_NAME.fullmatch(replacement.pass_name)
        and all(
            (table in TABLES or is_client_table(table)) and is_temporary(name)
            for table, name in replacement.fresh.items()
        )
    )
    if not is_valid:
        raise ValueError(plan)
    return replacement


# -- removal of runs -------------------------------------------------------------------------------


def commit_removal(out: Path, runs: Sequence[str]) -> Path:
    """Write a plan to remove runs, and return its path; from then on they will be removed."""
    return commit_plan(out, "removal", {"runs": [*runs], "checksum": json_checksum([*runs])})


def carry_out_removal(out: Path, path: Path) -> None:
    """Remove the runs of the plan at `path`, or the rest of them, and then the plan.

    Raises:
        DamagedFile: the file is not a plan.
        OSError: a step failed; the plan stays, to be completed later.

    """
    runs = read_plan(path, _checked_runs, "call kvtrace trace prune again")
    if runs is None:
        return
    removed_rows = path.with_suffix(".runs")  # a name that readers skip
    removed_rows.mkdir(exist_ok=True)
    other_tables = sorted({*TABLES, *client_folders(out)} - {"runs"})
    for run in runs:
        row_folder = run_folder(out, "runs", run)
        if row_folder.is_dir():
            row_folder.replace(removed_rows / row_folder.name)
    sync_folder(out / "runs")
    for folder in (run_folder(out, table, run) for run in runs for table in other_tables):
        if folder.is_dir():
            shutil.rmtree(folder)
    shutil.rmtree(removed_rows)
    path.unlink(missing_ok=True)


def _checked_runs(plan: Any) -> list[str]:
    """Return the run ids in a plan; ValueError if the checksum differs or an id is a path."""
    runs: list[str] = plan["runs"]
    if plan["checksum"] != json_checksum(runs) or not all(
        re.fullmatch(r"[^/\\]+", run) for run in runs
    ):
        raise ValueError(runs)
    return runs
