"""Removal of runs from a trace, by a plan that is written to disk first.

A run belongs to a trace by its folder in `runs`. That folder is moved away first, in one step, so
no reader finds half of a run; if the process is killed before the rest is removed, the next removal
or `kvtrace trace recover` continues.
"""

import re
import shutil
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from kvtrace.schema.layout import client_folders, run_folder, sync_folder
from kvtrace.schema.plans import commit_plan, json_checksum, read_plan, unfinished_plans
from kvtrace.schema.tables import TABLES


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


def unfinished_removals(out: Path) -> tuple[Path, ...]:
    """Return the paths of plans of removals that are not completed."""
    return unfinished_plans(out, "removal")


def _checked_runs(plan: Any) -> list[str]:
    """Return the run ids in a plan; ValueError if the checksum differs or an id is a path."""
    runs: list[str] = plan["runs"]
    if plan["checksum"] != json_checksum(runs) or not all(
        re.fullmatch(r"[^/\\]+", run) for run in runs
    ):
        raise ValueError(runs)
    return runs
