"""The files of the checkout: what git tracks or would track, and what lies below a folder."""

import os
import shutil
import subprocess
from collections.abc import Collection, Iterator
from pathlib import Path
from typing import Final

ROOT: Final = Path(__file__).resolve().parents[2]
PACKAGE: Final = ROOT / "kvtrace"


def tracked_names() -> list[str]:
    """Return the path of every file and link of the commit or the work tree, as git writes it."""
    listed = subprocess.run(
        ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"],
        cwd=ROOT,
        check=True,
        capture_output=True,
        text=True,
    ).stdout
    return [name for name in listed.split("\0") if name and os.path.lexists(ROOT / name)]


def copy_tracked(into: Path, without: Collection[str] = ()) -> Path:
    """Copy them, links as links, besides those whose paths begin so; return the copy."""
    for name in tracked_names():
        if not name.startswith(tuple(without)):
            (into / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(ROOT / name, into / name, follow_symlinks=False)
    return into


def package_files(*suffixes: str, package: Path = PACKAGE) -> Iterator[Path]:
    """Return the files of the package by their import paths, in order.

    The folders `schema` and `converters` are links in it, which `Path.rglob` does not follow.
    """
    for folder, names, files in os.walk(package, followlinks=True):
        names[:] = sorted(name for name in names if name not in ("__pycache__", "node_modules"))
        for name in sorted(files):
            if name.endswith(suffixes):
                yield Path(folder, name)
