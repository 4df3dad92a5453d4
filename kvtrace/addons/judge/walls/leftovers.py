"""Files that a confined process has left, which may be anything: links, FIFOs, deep folders.

Only regular files are taken over, through descriptors, after all processes that could change the
files have ended. No function recurses, and no path is longer than a name.
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
    """The process left more than is taken over."""


def take_over(source: int, target: int, most_bytes: int, without: Collection[str] = ()) -> None:
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
                        raise TooManyFiles(f"it left more than {_MOST_ENTRIES:,} files")
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
    """Copy a file if it is regular, and return its size, else 0."""
    with closing(os.open(name, _READING, dir_fd=source_folder)) as (source,):
        facts = os.fstat(source)
        if not stat.S_ISREG(facts.st_mode):
            return 0
        if facts.st_size > most:
            raise TooManyFiles("it left larger files than it may take memory")
        return copy_content(source, name, target_folder, facts.st_size, 0o600)


def copy_content(source: int, name: str, folder: int, size: int, mode: int) -> int:
    """Copy an open file into a new file of an open folder; return its size, at most `size`."""
    with closing(os.open(name, _MAKING, mode, dir_fd=folder)) as (target,):
        done = 0
        while done < size:
            part = os.sendfile(target, source, done, min(_AT_ONCE, size - done))
            if part == 0:
                break
            done += part
    return done


def remove(folder: Path) -> None:
    """Delete a folder with all that is in it, however deeply nested.

    Inner folders are moved up, until no folder contains another, so only two are open at a time.
    """
    names = (f".{secrets.token_hex(8)}-{number}" for number in count())
    with closing(os.open(folder, _FOLDER)) as (top,):
        while listed := os.listdir(top):  # noqa: PTH208 - by its descriptor
            for name in listed:
                _remove_one(top, name, names)
    folder.rmdir()


def _remove_one(top: int, name: str, names: Iterator[str]) -> None:
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
    """Return whether a name is a folder, after making the folder accessible."""
    if not stat.S_ISDIR(os.lstat(name, dir_fd=parent).st_mode):
        return False
    os.chmod(name, 0o700, dir_fd=parent)
    return True


@contextlib.contextmanager
def closing(*descriptors: int) -> Iterator[tuple[int, ...]]:
    """Close descriptors at the end of a block."""
    try:
        yield descriptors
    finally:
        for descriptor in descriptors:
            os.close(descriptor)
