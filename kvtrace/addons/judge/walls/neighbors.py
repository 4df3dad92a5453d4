"""Copying of a judged file and of the files in its folder that it can import.

The author of the file also controls the folder, where a link may lead to a private key. So no link
is followed, only the folder is read, and files that are too large or too many are left out and
reported.
"""

from __future__ import annotations

import contextlib
import os
import stat
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from kvtrace.addons.judge.walls.leftovers import closing, copy_content

MOST_BYTES_OF_FILE: Final = 1 << 20
MOST_BYTES: Final = 16 << 20
_MOST_FILES: Final = 2000
_MOST_LEVELS: Final = 8
_MOST_LISTED: Final = 20
_PACKAGE: Final = "__init__.py"
_READING: Final = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC
_FOLDER: Final = os.O_RDONLY | os.O_NOFOLLOW | os.O_DIRECTORY | os.O_CLOEXEC
_KINDS: Final = {
    stat.S_IFLNK: "a link", stat.S_IFIFO: "a FIFO", stat.S_IFSOCK: "a socket",
    stat.S_IFBLK: "a device", stat.S_IFCHR: "a device", stat.S_IFDIR: "a folder",
}  # fmt: skip


class UnsuitableFile(Exception):
    """A file is not regular or too large; the text says what it is, such as "a link"."""


def open_regular(name: str, folder: int | None = None) -> int:
    """Open a regular file of at most 1 MiB for reading, without following a link or blocking.

    Returns the descriptor. `folder` is the descriptor of the open folder of `name`, if any.

    Raises:
        UnsuitableFile: the file is not regular, or too large.
        OSError: the file cannot be opened.
    """
    _check_regular(
        os.stat(name, dir_fd=folder, follow_symlinks=False)
    )  # opening a device may do things
    descriptor = os.open(name, _READING, dir_fd=folder)
    try:
        _check_regular(os.fstat(descriptor))
    except UnsuitableFile:
        os.close(descriptor)
        raise
    return descriptor


def read_regular(file: Path) -> bytes:
    """Return the bytes of a regular file of at most 1 MiB.

    Raises:
        UnsuitableFile: the file is not regular, or too large.
        OSError: the file cannot be read.
    """
    with os.fdopen(open_regular(str(file)), "rb") as opened_file:
        content = opened_file.read(MOST_BYTES_OF_FILE + 1)
    if len(content) > MOST_BYTES_OF_FILE:
        raise UnsuitableFile("larger than 1 MiB")  # the file has grown
    return content


def copy_with_neighbors(file: Path, root: str) -> list[str]:
    """Copy a Python file, and importable files of its folder, to the same paths below a root.

    Importable are other Python files, and folders with `__init__.py` with all their regular files.
    Files with several names (hard links) are left out.

    Returns:
        Files that were left out, with reasons: `key.py (a link)`.
    """
    return _Copy(file, root).left_out


class _Copy:
    """Copies a file and its importable neighbors below a root; `left_out` has the others.

    It works with descriptors, so that no path is resolved twice.
    """

    def __init__(self, file: Path, root: str) -> None:
        self.left_out: list[str] = []
        self._files, self._bytes = _MOST_FILES, MOST_BYTES
        target = root + str(file.parent)
        os.makedirs(target, exist_ok=True)  # noqa: PTH103
        # The path of the folder itself may have links, since the user gave it.
        folder = os.open(file.parent, _FOLDER & ~os.O_NOFOLLOW)
        with closing(folder, os.open(target, _FOLDER)) as (_, target_folder):
            self._copy_file(file.name, file.name, folder, target_folder, judged=True)
            self._copy_siblings(file.name, folder, target_folder)
        if len(self.left_out) > _MOST_LISTED:
            unlisted_count = len(self.left_out) - _MOST_LISTED
            self.left_out[_MOST_LISTED:] = [f"and {unlisted_count} more"]

    def _copy_siblings(self, judged: str, source: int, target: int) -> None:
        for name, mode in _names_with_modes(source):
            if name == judged:
                continue
            if name.endswith(".py") or (name.isidentifier() and stat.S_ISLNK(mode)):
                self._copy_file(name, name, source, target)
            elif stat.S_ISDIR(mode) and _is_package(name, source):
                self._copy_folder(name, name, source, target, 1)

    def _copy_folder(self, name: str, path: str, source: int, target: int, level: int) -> None:
        if level > _MOST_LEVELS:
            self._leave_out(path, f"more than {_MOST_LEVELS} folders deep")
            return
        try:
            inner = os.open(name, _FOLDER, dir_fd=source)
        except OSError as error:
            self._leave_out(path, str(error.strerror))
            return
        os.mkdir(name, 0o755, dir_fd=target)
        with closing(inner, os.open(name, _FOLDER, dir_fd=target)) as (_, inner_target):
            for entry, mode in _names_with_modes(inner):
                if self._files < 0:
                    return
                if entry == "__pycache__" or entry.startswith("."):
                    continue
                if stat.S_ISDIR(mode):
                    self._copy_folder(entry, f"{path}/{entry}", inner, inner_target, level + 1)
                else:
                    self._copy_file(entry, f"{path}/{entry}", inner, inner_target)

    def _copy_file(
        self, name: str, path: str, source: int, target: int, *, judged: bool = False
    ) -> None:
        self._files -= 1
        if self._files < 0:
            self._leave_out("others", f"there are more than {_MOST_FILES:,} files")
            return
        try:
            descriptor = open_regular(name, source)
        except (UnsuitableFile, OSError) as problem:
            self._leave_out(path, getattr(problem, "strerror", None) or str(problem))
            return
        with closing(descriptor):
            facts = os.fstat(descriptor)
            if facts.st_nlink > 1 and not judged:
                self._leave_out(path, "it has another name, by a hard link")
            elif facts.st_size > self._bytes:
                self._leave_out(path, f"all files together exceed {MOST_BYTES >> 20} MiB")
            else:
                self._bytes -= copy_content(descriptor, name, target, facts.st_size, 0o644)

    def _leave_out(self, path: str, reason: str) -> None:
        self.left_out.append(f"{ascii(path)[1:-1]} ({reason})")


def _check_regular(facts: os.stat_result) -> None:
    if not stat.S_ISREG(facts.st_mode):
        raise UnsuitableFile(_KINDS.get(stat.S_IFMT(facts.st_mode), "no regular file"))
    if facts.st_size > MOST_BYTES_OF_FILE:
        raise UnsuitableFile(f"larger than {MOST_BYTES_OF_FILE >> 20} MiB")


def _names_with_modes(folder: int) -> Iterator[tuple[str, int]]:
    """Yield the sorted names in an open folder, each with its mode; nothing if it is unreadable."""
    try:
        names = sorted(os.listdir(folder))
    except OSError:
        return  # a folder that cannot be listed has nothing to import
    for name in names:
        with contextlib.suppress(OSError):  # the file has just been deleted
            yield name, os.stat(name, dir_fd=folder, follow_symlinks=False).st_mode


def _is_package(name: str, folder: int) -> bool:
    try:
        with closing(os.open(name, _FOLDER, dir_fd=folder)) as (inner,):
            return stat.S_ISREG(os.stat(_PACKAGE, dir_fd=inner, follow_symlinks=False).st_mode)
    except OSError:
        return False
