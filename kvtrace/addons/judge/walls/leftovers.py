"""Copying and deletion of the files that a confined process left: perhaps links, FIFOs, deep trees.

Only regular files are copied, through descriptors, after all processes that could change the files
have ended. No function recurses, and no path is longer than a name.
"""

from __future__ import annotations

import contextlib
import os
import secrets
import stat
from collections.abc import Collection, Iterator
from itertools import count
from pathlib import Path
from typing import Final

_MOST_ENTRIES: Final = 20_000
_MOST_LEVELS: Final = 8
_READING: Final = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
_FOLDER: Final = os.O_RDONLY | os.O_NOFOLLOW | os.O_DIRECTORY | os.O_CLOEXEC
_MAKING: Final = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
_AT_ONCE: Final = 1 << 24


class TooManyFiles(Exception):
    """The process left more files or bytes than are copied."""


def copy_files(source: int, target: int, most_bytes: int, without: Collection[str] = ()) -> None:
    """Copy the regular files of one open folder into another; both descriptors stay open.

    Args:
        source: The process's folder. Folders inside are followed to a depth of 8.
        target: An empty folder that other processes cannot reach.
        most_bytes: Limit of all files' bytes together.
        without: Names at the top that are not copied.

    Raises:
        TooManyFiles: the folder has too many entries or bytes.
    """
    pending = [(os.dup(source), os.dup(target), 0)]
    entries = 0
    try:
        while pending:
            source_folder, target_folder, level = pending.pop()
            with closing(source_folder, target_folder), os.scandir(source_folder) as listed:
                for entry in listed:
                    if level == 0 and entry.name in without:
                        continue
                    entries += 1
                    if entries > _MOST_ENTRIES:
                        raise TooManyFiles(f"there are more than {_MOST_ENTRIES:,} files")
                    if entry.is_file(follow_symlinks=False):
                        most_bytes -= _copy_file(
                            entry.name, source_folder, target_folder, most_bytes
                        )
                    elif entry.is_dir(follow_symlinks=False) and level < _MOST_LEVELS:
                        os.mkdir(entry.name, 0o700, dir_fd=target_folder)
                        inner_source = os.open(entry.name, _FOLDER, dir_fd=source_folder)
                        inner_target = os.open(entry.name, _FOLDER, dir_fd=target_folder)
                        pending.append((inner_source, inner_target, level + 1))
    finally:
        for source_folder, target_folder, _ in pending:
            os.close(source_folder)
            os.close(target_folder)


def _copy_file(name: str, source_folder: int, target_folder: int, most: int) -> int:
    """Copy a regular file, and return its size; of other files, return 0."""
    with closing(os.open(name, _READING, dir_fd=source_folder)) as (source,):
        facts = os.fstat(source)
        if not stat.S_ISREG(facts.st_mode):
            return 0
        if facts.st_size > most:
            raise TooManyFiles("the files that it left exceed its memory limit")
        return copy_content(source, name, target_folder, facts.st_size, 0o600)


def copy_content(source: int, name: str, folder: int, size: int, mode: int) -> int:
    """Copy at most `size` bytes of an open file into a new file of an open folder.

    Returns the number of copied bytes; `mode` has the new file's permissions.
    """
    with closing(os.open(name, _MAKING, mode, dir_fd=folder)) as (target,):
        copied = 0
        while copied < size:
            count = os.sendfile(target, source, copied, min(_AT_ONCE, size - copied))
            if count == 0:
                break
            copied += count
    return copied


def remove(folder: Path) -> None:
    """Delete a folder with all its contents, also if they are deeply nested.

    Inner folders are moved up, until no folder contains another, so that only two are open at once.
    """
    names = (f".{secrets.token_hex(8)}-{number}" for number in count())
    with closing(os.open(folder, _FOLDER)) as (top,):
        while listed := os.listdir(top):  # noqa: PTH208 - by its descriptor
            for name in listed:
                _remove_entry(top, name, names)
    folder.rmdir()


def _remove_entry(top: int, name: str, names: Iterator[str]) -> None:
    if not _is_folder(top, name):
        os.unlink(name, dir_fd=top)
        return
    with closing(os.open(name, _FOLDER, dir_fd=top)) as (inner,):
        for entry in os.listdir(inner):  # noqa: PTH208
            if _is_folder(inner, entry):
                os.rename(entry, next(names), src_dir_fd=inner, dst_dir_fd=top)
            else:
                os.unlink(entry, dir_fd=inner)
    os.rmdir(name, dir_fd=top)


def _is_folder(parent: int, name: str) -> bool:
    """Return whether a name is a folder; if so, first make it accessible."""
    if not stat.S_ISDIR(os.lstat(name, dir_fd=parent).st_mode):
        return False
    os.chmod(name, 0o700, dir_fd=parent)
    return True


@contextlib.contextmanager
def closing(*descriptors: int) -> Iterator[tuple[int, ...]]:
    """Yield open descriptors, and close them at the end of the block."""
    try:
        yield descriptors
    finally:
        for descriptor in descriptors:
            os.close(descriptor)
