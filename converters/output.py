"""Writing of output files that appear only when they are complete."""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import mkstemp
from typing import BinaryIO

from kvtrace.schema.errors import BadSetting


@contextmanager
def whole_file(path: Path) -> Iterator[BinaryIO]:
    """Open a temporary file for writing bytes, and rename it to `path` if the block succeeds.

    If `path` is a link, the link's target is replaced. A device or a pipe is written to directly.

    Raises:
        BadSetting: `path` cannot be written: its folder does not exist, it is a folder, permission
            is missing, or the disk is full.

    """
    try:
        _check_path(path)
        if path.exists() and not path.is_file():
            with path.open("wb") as file:
                yield file
            return
        path = path.resolve()
        descriptor, name = mkstemp(dir=path.parent, prefix=".kvtrace-")
        temporary = Path(name)
        try:
            with os.fdopen(descriptor, "wb") as file:
                yield file
            _publish(temporary, path)
        except BaseException:
            temporary.unlink(missing_ok=True)
            raise
    except OSError as problem:
        reason = problem.strerror or str(problem)
        raise BadSetting(f"cannot write {path}: {reason}") from problem


def refuse_unwritable(path: Path) -> None:
    """Raise BadSetting if no file can be made at `path`, before there is anything to write."""
    if path.exists() and not path.is_file():
        return  # a device, a pipe or a folder
    if not path.parent.is_dir():
        raise BadSetting(f"the folder {path.parent} of the output does not exist; make it first.")
    if not os.access(path.parent, os.W_OK):
        raise BadSetting(f"cannot write {path}: its folder does not permit it.")


def _check_path(path: Path) -> None:
    if path.is_dir():
        raise BadSetting(f"{path} is a folder; name a file to write.")
    refuse_unwritable(path)


def _publish(temporary: Path, path: Path) -> None:
    """Rename the finished file to `path`, with the permissions that open() would have set."""
    mask = os.umask(0)
    os.umask(mask)
    temporary.chmod(0o666 & ~mask)
    temporary.replace(path)
