"""Files that a confined process has left, which may be anything: links, FIFOs, a deep nest.

Only regular files are taken over, by descriptors, after all processes that could change them have
ended. Nothing here recurses, and no path is longer than a name.
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
    """More was left than is taken over."""


def take_over(source: int, target: int, most_bytes: int, without: Collection[str] = ()) -> None:
    """Copy the regular files of one folder into another; both are open descriptors, and stay open.

    Args:
        source: The folder that was left. Folders in it are followed to a depth of 8.
        target: An empty folder that none but us can reach.
        most_bytes: Bytes that all files may have together.
        without: Names at the top that are not copied.

    Raises:
        TooManyFiles: there are more entries, or more bytes.

    """
    pending = [(os.dup(source), os.dup(target), 0)]
    entries = 0
    try:
        while pending:
            left, made, level = pending.pop()
            with closing(left, made), os.scandir(left) as listed:
                for entry in listed:
                    if level == 0 and entry.name in without:
                        continue
                    entries += 1
                    if entries > _MOST_ENTRIES:
                        raise TooManyFiles(f"it left more than {_MOST_ENTRIES:,} files")
                    if entry.is_file(follow_symlinks=False):
                        most_bytes -= _copied(entry.name, left, made, most_bytes)
                    elif entry.is_dir(follow_symlinks=False) and level < _MOST_LEVELS:
                        os.mkdir(entry.name, 0o700, dir_fd=made)
                        opened = os.open(entry.name, _FOLDER, dir_fd=left)
                        own = os.open(entry.name, _FOLDER, dir_fd=made)
                        pending.append((opened, own, level + 1))
    finally:
        for left, made, _ in pending:
            os.close(left)
            os.close(made)


def _copied(name: str, left: int, made: int, most: int) -> int:
    """Copy a file if it is a regular one, and return its size."""
    with closing(os.open(name, _READING, dir_fd=left)) as (source,):
        facts = os.fstat(source)
        if not stat.S_ISREG(facts.st_mode):
            return 0
        if facts.st_size > most:
            raise TooManyFiles("it left larger files than it may take memory")
        return copy_content(source, name, made, facts.st_size, 0o600)


def copy_content(source: int, name: str, folder: int, size: int, mode: int) -> int:
    """Copy an open file into a new one of an open folder; return its size, `size` at most."""
    with closing(os.open(name, _MAKING, mode, dir_fd=folder)) as (target,):
        done = 0
        while done < size:
            part = os.sendfile(target, source, done, min(_AT_ONCE, size - done))
            if part == 0:
                break
            done += part
    return done


def remove(folder: Path) -> None:
    """Remove a folder with all that is in it, however deep it is nested.

    What is in a folder of it moves up, until none holds another: so two are open at a time.
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
        for each in os.listdir(inner):  # noqa: PTH208
            if _is_folder(inner, each):
                os.rename(each, next(names), src_dir_fd=inner, dst_dir_fd=top)
            else:
                os.unlink(each, dir_fd=inner)
    os.rmdir(name, dir_fd=top)


def _is_folder(parent: int, name: str) -> bool:
    """Whether it is a folder, which may be opened and moved then."""
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
        for each in descriptors:
            os.close(each)
