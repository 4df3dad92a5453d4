"""File descriptors that a recording holds, so that it can write where the program uses up all."""

import fcntl
import os
import resource
from typing import Final

from kvtrace.schema.descriptors import Descriptor

#: Descriptors for the files of a run: segments, spool, pipes to git, and what is open for a moment.
_COUNT: Final = 24
#: Descriptors for files that a run opens later, as those that are written at its end.
_LATER: Final = 6
#: Bound of the numbers: the kernel's table of a process is as large as the highest.
_HIGHEST: Final = 1024
#: Share of the limit that is held at most: the program may need the others.
_SHARE: Final = 3


class Descriptors:
    """Reserved descriptors with high numbers, so that the program's files have those of a bare run.

    They are of files without content.
    """

    def __init__(self) -> None:
        """Reserve as many as a run needs, or fewer under a low limit."""
        self._held: list[Descriptor] = []
        self.hold_all()

    def hold_all(self) -> None:
        """Reserve as many as a run needs."""
        self.hold(_COUNT)

    def hold(self, count: int = _LATER) -> None:
        """Reserve descriptors until `count` are held, or none is left below the present limit."""
        limit = resource.getrlimit(resource.RLIMIT_NOFILE)[0]
        limit = _HIGHEST if limit == resource.RLIM_INFINITY else limit
        begin = max(3, min(limit, _HIGHEST) - _COUNT)
        count = min(count, limit // _SHARE)
        try:
            file = os.memfd_create("kvtrace")
        except (OSError, AttributeError):
            return
        try:
            while len(self._held) < count:
                self._held.append(Descriptor(fcntl.fcntl(file, fcntl.F_DUPFD_CLOEXEC, begin)))
        except OSError:
            pass  # all are in use
        finally:
            os.close(file)

    def release(self) -> None:
        """Close the reserved descriptors, whose numbers the next files get."""
        reserved, self._held = self._held, []  # another thread may release them, too
        for descriptor in reserved:
            descriptor.close()
