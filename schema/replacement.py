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
from kvtrace.schema.plans import commit_plan, json_checksum, read_plan, unfinished_plans
from kvtrace.schema.tables import TABLES

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


def unfinished(out: Path) -> tuple[Path, ...]:
    """Return the paths of plans of replacements that are not completed."""
    return unfinished_plans(out, "replacement")


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
