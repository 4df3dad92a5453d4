"""Measurement of a running confined process's memory, threads and waiting time.

The process starts no other process, so the kernel enforces nearly all limits. The supervisor checks
the other two: memory together with files, and the number of threads.
"""

from __future__ import annotations

import os
from typing import Final

_FOLDER: Final = os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC
_KIB: Final = 1024
_NANOSECONDS: Final = 1e9
#: Lines of /proc/PID/status on memory without file-backed pages, which can be read again.
_MEMORY: Final = ("RssAnon", "RssShmem", "VmSwap")


class Processes:
    """The host's /proc, opened before the supervisor's root folder changes."""

    def __init__(self) -> None:
        self._proc = os.open("/proc", _FOLDER)

    def seconds_waited(self, process: int) -> float:
        """Return how long a process has waited for a processor; 0 where the kernel does not say.

        Raises:
            OSError: the process has ended.
        """
        try:
            descriptor = os.open(
                f"{process}/schedstat", os.O_RDONLY | os.O_CLOEXEC, dir_fd=self._proc
            )
        except FileNotFoundError:
            return 0.0
        with os.fdopen(descriptor, encoding="ascii") as file:
            fields = file.read().split()
        return int(fields[1]) / _NANOSECONDS if len(fields) > 1 else 0.0

    def memory_and_threads(self, process: int) -> tuple[int, int]:
        """Return a process's memory in bytes and its number of threads.

        Raises:
            OSError: the process has ended.
        """
        fields = dict.fromkeys((*_MEMORY, "Threads"), 0)
        descriptor = os.open(f"{process}/status", os.O_RDONLY | os.O_CLOEXEC, dir_fd=self._proc)
        with os.fdopen(descriptor, encoding="ascii", errors="replace") as file:
            for line in file:
                name, _, value = line.partition(":")
                if name in fields:
                    fields[name] = int(value.split()[0])
        return sum(fields[name] for name in _MEMORY) * _KIB, fields["Threads"]
