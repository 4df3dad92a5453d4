"""Processes that a supervisor has started, with all that these started: what they take, their end.

A bound on each process is none on all of them. Control groups are rarely ours to make, so the
supervisor looks.
"""

from __future__ import annotations

import contextlib
import os
import signal
from collections.abc import Callable, Iterable, Iterator
from itertools import islice
from typing import Final

_FOLDER: Final = os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC
_MOST_TASKS: Final = 256
_TOO_MANY: Final = f"it started more than {_MOST_TASKS} processes and threads"
_KIB: Final = 1024
#: Lines of /proc/PID/status that say what only memory holds; pages of files can be read again.
_MEMORY: Final = ("RssAnon", "RssShmem", "VmSwap")


class Processes:
    """The descendants of this process, by the host's /proc, which it opens."""

    def __init__(self) -> None:
        self._proc = os.open("/proc", _FOLDER)
        self._read(f"self/task/{os.getpid()}/children")  # else nothing could be watched
        self._all: Callable[[], Iterable[int]] = self._descendants

    def look_in_namespace(self) -> None:
        """Look at all of a namespace from now on, where /proc is that namespace's.

        Listing it takes a hundredth of the time that going from parents to children does, which a
        process among thousands has not.
        """
        inner = os.open("/proc", _FOLDER)
        if "1" in os.listdir(inner):  # noqa: PTH208 - by its descriptor
            self._proc, self._all = inner, self._listed

    def memory_of_this(self) -> int:
        """Return the bytes of memory that this process takes."""
        return self._status(os.getpid())[0]

    def excess(self, most_bytes: int, of_files: int) -> str:
        """Say what they take too much of all together: memory, or tasks; empty where nothing.

        Memory that several share counts for each: which it is, only smaps_rollup says, and that
        waits while a process forks.
        """
        memory = tasks = 0
        found = list(islice(self._all(), _MOST_TASKS + 1))
        if len(found) > _MOST_TASKS:
            return _TOO_MANY
        for each in found:
            with contextlib.suppress(OSError, ValueError):  # it has just ended
                taken, threads = self._status(each)
                memory += taken
                tasks += threads
        if tasks > _MOST_TASKS:
            return _TOO_MANY
        too_much = memory + of_files > most_bytes
        return "its processes and files took more memory together than they may" * too_much

    def end_all(self) -> None:
        """Kill what is left of them, until there is nothing left: they are this process's own."""
        while left := list(self._descendants()):
            for each in left:
                with contextlib.suppress(ProcessLookupError):
                    os.kill(each, signal.SIGKILL)
            with contextlib.suppress(ChildProcessError):
                while os.waitpid(-1, 0)[0]:
                    pass

    def _listed(self) -> Iterator[int]:
        return (int(each) for each in os.listdir(self._proc) if each.isdigit())  # noqa: PTH208

    def _descendants(self) -> Iterator[int]:
        pending = [os.getpid()]
        while pending:
            for each in self._children(pending.pop()):
                pending.append(each)
                yield each

    def _children(self, process: int) -> Iterator[int]:
        try:
            tasks = os.open(f"{process}/task", _FOLDER, dir_fd=self._proc)
        except OSError:
            return  # it has ended
        try:
            for task in os.listdir(tasks):  # noqa: PTH208 - by its descriptor
                with contextlib.suppress(OSError):  # so has this thread
                    yield from map(int, self._read(f"{process}/task/{task}/children").split())
        finally:
            os.close(tasks)

    def _status(self, process: int) -> tuple[int, int]:
        """Return the bytes of memory that a process takes, and how many threads it has."""
        found = dict.fromkeys((*_MEMORY, "Threads"), 0)
        for line in self._read(f"{process}/status").splitlines():
            name, _, value = line.partition(":")
            if name in found:
                found[name] = int(value.split()[0])
        return sum(found[name] for name in _MEMORY) * _KIB, found["Threads"]

    def _read(self, path: str) -> str:
        opened = os.open(path, os.O_RDONLY | os.O_CLOEXEC, dir_fd=self._proc)
        with os.fdopen(opened, encoding="ascii", errors="replace") as file:
            return file.read()
