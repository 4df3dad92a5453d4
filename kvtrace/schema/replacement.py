"""A pass's files replaced as one: the plan is on disk first, and is always carried out to its end.

Renaming is atomic for one file, not for several. So what is to be renamed is written down before
the first rename; whoever is killed in between, the next pass or `kvtrace recover` finishes it.
"""

import hashlib
import json
import re
import secrets
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Final

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

PASS_NAME: Final = re.compile(r"[a-z][a-z0-9_-]*")


@dataclass(frozen=True, slots=True)
class Replacement:
    """What a pass has for a run: the temporary file's name of each table that it writes."""

    run: str
    pass_name: str
    fresh: Mapping[str, str]


def commit(out: Path, replacement: Replacement) -> Path:
    """Write the plan down. From here on it will happen; OSError means that it will not."""
    path = out / JOURNAL / f"replacement-{secrets.token_hex(8)}.json"
    plan = asdict(replacement)
    text = json.dumps(plan | {"checksum": _checksum(plan)})
    write_whole(path, lambda temporary: _write(temporary, text))
    return path


def carry_out(out: Path, path: Path) -> None:
    """Do what a plan says, from wherever it was left; doing it twice changes nothing.

    Raises:
        DamagedFile: it is no plan.
        OSError: it stays, to be finished later.

    """
    try:
        replacement = _read(path)
    except FileNotFoundError:
        return  # somebody else has finished it
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
    return tuple(sorted((out / JOURNAL).glob("replacement-*.json")))


def _write(path: Path, text: str) -> None:
    path.write_text(text, encoding="utf-8")


def _read(path: Path) -> Replacement:
    """A plan, refused if it names anything but a pass's own files in this trace."""
    refuse_irregular(path)
    try:
        plan = json.loads(path.read_text(encoding="utf-8"))
        checksum = plan.pop("checksum", None)  # those of older versions have none
        replacement = Replacement(**plan)
        names = dict(replacement.fresh)
        fine = (
            checksum in (None, _checksum(plan))
            and re.fullmatch(r"[^/\\]+", replacement.run) is not None
            and PASS_NAME.fullmatch(replacement.pass_name) is not None
            and all(
                (table in TABLES or is_client_table(table)) and is_temporary(name)
                for table, name in names.items()
            )
        )
    except (ValueError, TypeError, AttributeError, RecursionError) as error:
        raise _no_plan(path) from error
    if not fine:
        raise _no_plan(path)
    return replacement


def _checksum(plan: Mapping[str, object]) -> str:
    return hashlib.sha256(json.dumps(plan, sort_keys=True).encode()).hexdigest()


def _no_plan(path: Path) -> DamagedFile:
    return DamagedFile(f"{path} is damaged; remove it, and run the passes of its trace again")
