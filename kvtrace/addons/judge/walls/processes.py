"""What a confined process takes while it runs: memory, and threads.

It starts no other process, so its own bounds, which the kernel keeps, are nearly all. Two need
somebody who looks: what it takes together with its files, and how many threads it has.
"""

from __future__ import annotations

import os
from typing import Final

_FOLDER: Final = os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC
_KIB: Final = 1024
#: Lines of /proc/PID/status that say what only memory holds; pages of files can be read again.
_MEMORY: Final = ("RssAnon", "RssShmem", "VmSwap")


class Processes:
    """The processes of the host's /proc, which is opened before it is out of reach."""

    def __init__(self) -> None:
        self._proc = os.open("/proc", _FOLDER)

    def memory_and_threads(self, process: int) -> tuple[int, int]:
        """Return the bytes of memory that a process takes, and how many threads it has.

        Raises:
            OSError: it has ended.

        """
        found = dict.fromkeys((*_MEMORY, "Threads"), 0)
        opened = os.open(f"{process}/status", os.O_RDONLY | os.O_CLOEXEC, dir_fd=self._proc)
        with os.fdopen(opened, encoding="ascii", errors="replace") as file:
            for line in file:
                name, _, value = line.partition(":")
                if name in found:
                    found[name] = int(value.split()[0])
        return sum(found[name] for name in _MEMORY) * _KIB, found["Threads"]
