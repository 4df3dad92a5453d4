"""Processes that a supervisor has started, with all that these started: what they take, their end.

A bound on each process is none on all of them. Control groups are rarely ours to make, so the
supervisor looks.
"""

from __future__ import annotations

import contextlib
import os
import signal
from collections.abc import Iterator
from typing import Final

_MOST_TASKS: Final = 512
_KIB: Final = 1024


class Processes:
    """The descendants of this process, by the host's /proc, which it opens."""

    def __init__(self) -> None:
        self._proc = os.open("/proc", os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        self._read(f"self/task/{os.getpid()}/children")  # else nothing could be watched

    def memory_of_this(self) -> int:
        """Return the bytes of memory that this process takes."""
        return self._status(os.getpid())[0]

    def excess(self, most_bytes: int, of_files: int) -> str:
        """Say what they take too much of all together: memory, or tasks; empty where nothing.

        Memory that several share counts once. Working that out takes long, so it is done only
        where the sum of all is too much.
        """
        memory = tasks = 0
        found = list(self._descendants(most=_MOST_TASKS))
        for each in found:
            with contextlib.suppress(OSError, ValueError):  # it has just ended
                taken, threads = self._status(each)
                memory += taken
                tasks += threads
        if max(tasks, len(found)) > _MOST_TASKS:
            return f"it started more than {_MOST_TASKS} processes and threads"
        if memory + of_files <= most_bytes:
            return ""
        if sum(map(self._share, found)) + of_files <= most_bytes:
            return ""
        return "its processes and files took more memory together than they may"

    def end_all(self) -> None:
        """Kill what is left of them, until there is nothing left: they are this process's own."""
        while left := list(self._descendants(most=1 << 20)):
            for each in left:
                with contextlib.suppress(ProcessLookupError):
                    os.kill(each, signal.SIGKILL)
            with contextlib.suppress(ChildProcessError):
                while os.waitpid(-1, 0)[0]:
                    pass

    def _descendants(self, most: int) -> Iterator[int]:
        pending = [os.getpid()]
        given = 0
        while pending and given <= most:
            for each in self._children(pending.pop()):
                given += 1
                pending.append(each)
                yield each

    def _children(self, process: int) -> Iterator[int]:
        try:
            tasks = os.open(f"{process}/task", os.O_RDONLY | os.O_DIRECTORY, dir_fd=self._proc)
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
        found = {"VmRSS": 0, "VmSwap": 0, "Threads": 1}
        for line in self._read(f"{process}/status").splitlines():
            name, _, value = line.partition(":")
            if name in found:
                found[name] = int(value.split()[0])
        return (found["VmRSS"] + found["VmSwap"]) * _KIB, found["Threads"]

    def _share(self, process: int) -> int:
        """Return the bytes that a process takes, where a page of several is shared among them."""
        total = 0
        try:
            for line in self._read(f"{process}/smaps_rollup").splitlines():
                name, _, value = line.partition(":")
                if name in ("Pss", "SwapPss"):
                    total += int(value.split()[0]) * _KIB
        except PermissionError:
            return self._status(process)[0]  # it hides; then all counts as its own
        except OSError:
            return 0  # it has ended
        return total

    def _read(self, path: str) -> str:
        opened = os.open(path, os.O_RDONLY | os.O_CLOEXEC, dir_fd=self._proc)
        with os.fdopen(opened, encoding="ascii", errors="replace") as file:
            return file.read()
