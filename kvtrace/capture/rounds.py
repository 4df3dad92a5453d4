"""Rows of `host_events` for long rounds of the recording's thread, and numbers of such rows."""

import time
from typing import Any, Final

from kvtrace.surroundings import get_native_id

#: Processor time of a round, in ns, from which on it has a row.
_LONG_NS: Final = 5_000_000


class HostEventRows:
    """The numbers of one run's rows of `host_events`, whoever writes them."""

    def __init__(self) -> None:
        self._next = 0

    def numbers(self, count: int) -> range:
        """Return so many new numbers."""
        self._next += count
        return range(self._next - count, self._next)

    def of_round(self, wall_ns: int, processor_ns: int) -> list[dict[str, Any]]:
        """Return the row of this thread's round that has just ended; none for a short one."""
        if processor_ns < _LONG_NS:
            return []
        end = time.time_ns()
        return [
            {
                "record": self.numbers(1)[0],
                "kind": "record",
                "begin": end - wall_ns,
                "end": end,
                "thread": get_native_id(),
                "processor_ns": processor_ns,
            }
        ]
