"""Output folders of commands: which may be filled, added to, or replaced.

Commands never remove what they did not make. A folder whose content a command replaces has the file
`MARK`, written when it was empty; and a folder that is, or holds, the current folder or a
repository is removed by none.
"""

import os
import re
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Final, Literal

from kvtrace.schema.errors import BadSetting, TraceWriteError
from kvtrace.schema.layout import JOURNAL, run_ids

#: The file in folders that a command made, and replaces when it is called again.
MARK: Final = ".made-by-kvtrace"
_MARK_TEXT: Final = "kvtrace made this folder, and removes it when the command is called again.\n"
#: Entries of repositories: of Git, Mercurial, Subversion and Jujutsu, and of bare ones of Git.
_REPOSITORY: Final = frozenset((".git", ".hg", ".svn", ".jj"))
_BARE_REPOSITORY: Final = frozenset(("HEAD", "objects", "refs"))

#: Names in a trace's folder, as `own_names`.
TRACE_NAMES: Final = r"[a-z][a-z0-9_]*|\.journal|\.times"

#: What a command does with its folder: fill a new one, add runs to a trace, or replace its own.
Use = Literal["fill", "add", "replace"]


def check_output_folder(folder: Path, use: Use, own_names: str = "") -> None:
    """Raise BadSetting unless a command may put its output into `folder`.

    Any use may have a folder that does not exist, or is empty. To "add" it may be a trace. To
    "replace" it may have the mark, if all that is in it has a name of the pattern `own_names`.
    """
    if not folder.exists() and not folder.is_symlink():
        return
    if not folder.is_dir():
        raise BadSetting(f"{folder} is a file: name a folder")
    if use == "fill" and folder.resolve() == Path.cwd():
        raise BadSetting(f"{folder} is the current folder: name a new folder")
    names = _names(folder)
    if not names or (use == "add" and is_trace(folder)):
        return
    if use == "replace" and MARK in names:
        foreign = [name for name in names if name != MARK and not re.fullmatch(own_names, name)]
        if foreign:
            raise BadSetting(f"{folder} has {foreign[0]}, which kvtrace did not make; {_NEW}")
        refuse_removal(folder)
        return
    raise BadSetting(f"{folder} exists and is not {_WANTED[use]}: nothing is replaced; {_NEW}")


_NEW: Final = "remove it yourself, or name a new or an empty folder"
_WANTED: Final[dict[Use, str]] = {
    "fill": "empty",
    "add": "a trace",
    "replace": "a folder that kvtrace made",
}


def renew_output_folder(folder: Path, own_names: str) -> None:
    """Make an empty folder with the mark; replace one that has it.

    Args:
        folder: the folder.
        own_names: a pattern of the names that the command gives to what it puts there.

    Raises:
        BadSetting: the folder must not be replaced (`check_output_folder`).
        TraceWriteError: it cannot be made.

    """
    check_output_folder(folder, "replace", own_names)
    try:
        folder.mkdir(parents=True, exist_ok=True)
        for name in sorted(_names(folder), key=MARK.__eq__):  # the mark last
            path = folder / name
            if path.is_dir() and not path.is_symlink():
                shutil.rmtree(path)
            else:
                path.unlink()
        (folder / MARK).write_text(_MARK_TEXT, encoding="utf-8")
    except OSError as error:
        raise TraceWriteError(f"{folder} cannot be made ({error.strerror or error})") from error


def is_trace(folder: Path) -> bool:
    """Return whether a folder has runs, sealed or not."""
    return bool(run_ids(folder / "runs") or (folder / JOURNAL).is_dir())


def refuse_removal(folder: Path) -> None:
    """Raise BadSetting if a folder is, or holds, the current folder or a repository, or is a link.

    Every removal of a folder that a user could have named goes through this function.
    """
    if folder.is_symlink():
        raise BadSetting(f"{folder} is a link to a folder elsewhere; remove it yourself")
    real = folder.resolve()
    if real == Path.cwd() or real in Path.cwd().parents:
        raise BadSetting(f"{folder} holds the current folder, and is not removed; {_NEW}")
    repository = next(_repositories(real), None)
    if repository is not None:
        raise BadSetting(f"{folder} holds the repository {repository}, and is not removed; {_NEW}")


def _repositories(folder: Path) -> Iterator[Path]:
    for place, folders, files in os.walk(folder):
        names = {*folders, *files}
        if names & _REPOSITORY or names >= _BARE_REPOSITORY:
            yield Path(place)


def _names(folder: Path) -> list[str]:
    try:
        return os.listdir(folder)  # noqa: PTH208 - names
    except OSError as error:
        raise BadSetting(f"{folder} cannot be read ({error.strerror or error})") from error
