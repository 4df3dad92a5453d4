"""Replacement of all files of a pass together, by a plan that is written to disk first.

Renaming is atomic for one file, not for several. So the plan lists the renames before the first; if
a process is killed in between, the next pass or `kvtrace trace recover` completes the plan.
"""

import re
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Final

from kvtrace.schema.client_tables import is_client_table
from kvtrace.schema.layout import (
    client_folders,
    is_temporary,
    part_path,
    pass_parts,
    run_folder,
    sync_folder,
)
from kvtrace.schema.plans import checksum, commit_plan, read_plan, unfinished_plans
from kvtrace.schema.tables import TABLES

PASS_NAME: Final = re.compile(r"[a-z][a-z0-9_-]*")


@dataclass(frozen=True, slots=True)
class Replacement:
    """New files of a pass for a run: the temporary file's name by table."""

    run: str
    pass_name: str
    fresh: Mapping[str, str]


def commit(out: Path, replacement: Replacement) -> Path:
    """Write the plan to disk, which commits it; after an OSError it will not happen."""
    plan = asdict(replacement)
    return commit_plan(out, "replacement", plan | {"checksum": checksum(plan)})


def carry_out(out: Path, path: Path) -> None:
    """Execute a plan, or the rest of it; executing it twice changes nothing.

    Raises:
        DamagedFile: the file is not a plan.
        OSError: a step failed; the plan stays, to be completed later.

    """
    replacement = read_plan(path, _parsed, "run the passes of its trace again")
    if replacement is None:
        return
    for name in {*TABLES, *client_folders(out), *replacement.fresh}:
        folder = run_folder(out, name, replacement.run)
        keep = part_path(out, name, replacement.run, 0, replacement.pass_name)
        fresh = replacement.fresh.get(name)
        if fresh is not None and (folder / fresh).exists():
            (folder / fresh).replace(keep)
        for part in pass_parts(folder, replacement.pass_name):
            if fresh is None or part != keep:
                part.unlink(missing_ok=True)
        if folder.is_dir():
            sync_folder(folder)
    path.unlink(missing_ok=True)


def unfinished(out: Path) -> tuple[Path, ...]:
    """Return the plans that are not completed."""
    return unfinished_plans(out, "replacement")


def _parsed(plan: Any) -> Replacement:
    """Return a plan; ValueError if it names other files than a pass's in this trace."""
    written = plan.pop("checksum", None)  # plans of older versions have none
    replacement = Replacement(**plan)
    is_valid = (
        written in (None, checksum(plan))
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
