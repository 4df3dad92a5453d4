"""A pass's files replaced as one: the plan is on disk first, and is always carried out to its end.

Renaming is atomic for one file, not for several. So what is to be renamed is written down before
the first rename; whoever is killed in between, the next pass or `kvtrace trace recover` finishes
it.
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
    """What a pass has for a run: the temporary file's name of each table that it writes."""

    run: str
    pass_name: str
    fresh: Mapping[str, str]


def commit(out: Path, replacement: Replacement) -> Path:
    """Write the plan down. From here on it will happen; OSError means that it will not."""
    plan = asdict(replacement)
    return commit_plan(out, "replacement", plan | {"checksum": checksum(plan)})


def carry_out(out: Path, path: Path) -> None:
    """Do what a plan says, from wherever it was left; doing it twice changes nothing.

    Raises:
        DamagedFile: it is not a plan.
        OSError: it stays, to be finished later.

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
    """The plans that are not carried out yet."""
    return unfinished_plans(out, "replacement")


def _parsed(plan: Any) -> Replacement:
    """A plan, refused if it names anything but a pass's own files in this trace."""
    written = plan.pop("checksum", None)  # those of older versions have none
    replacement = Replacement(**plan)
    fine = (
        written in (None, checksum(plan))
        and re.fullmatch(r"[^/\\]+", replacement.run)
        and PASS_NAME.fullmatch(replacement.pass_name)
        and all(
            (table in TABLES or is_client_table(table)) and is_temporary(name)
            for table, name in replacement.fresh.items()
        )
    )
    if not fine:
        raise ValueError(plan)
    return replacement
