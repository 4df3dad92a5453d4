"""Runs removed from a trace: the plan is on disk first, and is always carried out to its end.

A run is in a trace by its folder of `runs`. That one goes first, in one step, so no reader finds
half of a run; whoever is killed before the rest is gone, the next removal or `kvtrace recover` goes
on.
"""

import hashlib
import json
import re
import secrets
import shutil
from collections.abc import Sequence
from pathlib import Path

from kvtrace.schema.errors import DamagedFile
from kvtrace.schema.layout import (
    JOURNAL,
    client_folders,
    refuse_irregular,
    run_folder,
    sync_folder,
    write_whole,
)
from kvtrace.schema.tables import TABLES


def commit_removal(out: Path, runs: Sequence[str]) -> Path:
    """Write the plan down. From here on it will happen; OSError means that it will not."""
    path = out / JOURNAL / f"removal-{secrets.token_hex(8)}.json"
    text = json.dumps({"runs": list(runs), "checksum": _checksum(runs)})
    write_whole(path, lambda temporary: _write(temporary, text))
    return path


def carry_out_removal(out: Path, path: Path) -> None:
    """Remove what a plan names, from wherever it was left; doing it twice changes nothing.

    Raises:
        DamagedFile: it is no plan.
        OSError: it stays, to be finished later.

    """
    try:
        runs = _read(path)
    except FileNotFoundError:
        return  # somebody else has finished it
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
    """The plans that are not carried out yet."""
    return tuple(sorted((out / JOURNAL).glob("removal-*.json")))


def _write(path: Path, text: str) -> None:
    path.write_text(text, encoding="utf-8")


def _read(path: Path) -> list[str]:
    """The runs of a plan, refused if it names anything but runs."""
    refuse_irregular(path)
    try:
        plan = json.loads(path.read_text(encoding="utf-8"))
        runs = plan["runs"]
        fine = plan["checksum"] == _checksum(runs) and all(
            isinstance(run, str) and re.fullmatch(r"[^/\\]+", run) for run in runs
        )
    except (ValueError, TypeError, KeyError, RecursionError) as error:
        raise _no_plan(path) from error
    if not fine:
        raise _no_plan(path)
    return list(runs)


def _checksum(runs: Sequence[str]) -> str:
    return hashlib.sha256(json.dumps(list(runs)).encode()).hexdigest()


def _no_plan(path: Path) -> DamagedFile:
    return DamagedFile(f"{path} is damaged; remove it, and call kvtrace prune again")
