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
from kvtrace.schema.plans import checksum, commit_plan, read_plan, unfinished_plans
from kvtrace.schema.tables import TABLES


def commit_removal(out: Path, runs: Sequence[str]) -> Path:
    """Write the plan to disk, which commits it; after an OSError it will not happen."""
    return commit_plan(out, "removal", {"runs": [*runs], "checksum": checksum([*runs])})


def carry_out_removal(out: Path, path: Path) -> None:
    """Execute a plan, or the rest of it; executing it twice changes nothing.

    Raises:
        DamagedFile: the file is not a plan.
        OSError: a step failed; the plan stays, to be completed later.

    """
    runs = read_plan(path, _parsed, "call kvtrace trace prune again")
    if runs is None:
        return
    aside = path.with_suffix(".runs")  # a name that readers skip
    aside.mkdir(exist_ok=True)
    others = sorted({*TABLES, *client_folders(out)} - {"runs"})
    for run in runs:
        row = run_folder(out, "runs", run)
        if row.is_dir():
            row.replace(aside / row.name)
    sync_folder(out / "runs")
    for folder in (run_folder(out, table, run) for run in runs for table in others):
        if folder.is_dir():
            shutil.rmtree(folder)
    shutil.rmtree(aside)
    path.unlink(missing_ok=True)


def unfinished_removals(out: Path) -> tuple[Path, ...]:
    """Return the plans that are not completed."""
    return unfinished_plans(out, "removal")


def _parsed(plan: Any) -> list[str]:
    """Return the runs of a plan; ValueError if it names anything but runs."""
    runs: list[str] = plan["runs"]
    if plan["checksum"] != checksum(runs) or not all(re.fullmatch(r"[^/\\]+", run) for run in runs):
        raise ValueError(runs)
    return runs
