"""Temporary folders of passes' results that are not written to a trace, read as parts of the trace.

For example, findings of only some calls, which other commands must not take for all, and results
for a trace that cannot be written.
"""

import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

#: The open temporary folders by the trace's folder, oldest first.
_FOLDERS: Final[dict[Path, list[Path]]] = {}


@contextmanager
def results_beside(out: Path) -> Iterator[None]:
    """Read a trace with results that passes keep outside of it, until the context ends."""
    with tempfile.TemporaryDirectory(prefix="kvtrace-results-") as name:
        folders = _FOLDERS.setdefault(out, [])
        folder = Path(name)
        folders.append(folder)
        try:
            yield
        finally:
            folders.remove(folder)
            if not folders:
                del _FOLDERS[out]


def folder_beside(out: Path) -> Path | None:
    """Return the newest folder for results of a trace that are not written to it, if one is open.

    It is laid out as a trace.
    """
    folders = folders_beside(out)
    return folders[-1] if folders else None


def folders_beside(out: Path) -> tuple[Path, ...]:
    """Return the open folders for results of a trace that are not written to it, oldest first."""
    return tuple(_FOLDERS.get(out, ()))


def run_folders_beside(run_folder: Path) -> list[Path]:
    """Return the folders with further parts for a table's and run's folder in a trace."""
    if not _FOLDERS:
        return []
    table, run = run_folder.parts[-2:]
    return [folder / table / run for folder in folders_beside(run_folder.parent.parent)]
