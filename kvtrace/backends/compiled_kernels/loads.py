"""Durations of loading kernels' binaries onto the device: cuModuleLoadData and its preparation.

Binaries are loaded by Triton's driver and by Inductor's static launchers, in any thread; hooks in
both add to `LOADS`.
"""

import threading
import time
from collections import OrderedDict
from dataclasses import dataclass
from typing import Any, Final

from kvtrace.surroundings import Local

#: Most loads that are stored until their kernel is launched.
_LIMIT: Final = 10_000


@dataclass(frozen=True, slots=True)
class Load:
    """The loading of one binary: begin and duration in ns, and the thread."""

    begin: int
    duration: int
    thread: int


class Loads:
    """Loads of binaries, by the kernel's hash, that no kernel's record has yet."""

    def __init__(self) -> None:
        self._loads: OrderedDict[str, Load] = OrderedDict()
        self._begun = Local()

    def take(self, cache_key: str) -> Load | None:
        """Return and remove the last load of the kernel with that hash, or None."""
        return self._loads.pop(cache_key, None)

    def add(self, cache_key: str, begin: int, duration: int) -> None:
        """Store a load by the running thread; `begin` is in ns since 1970, `duration` in ns."""
        self._loads[cache_key] = Load(begin, duration, threading.get_native_id())
        while len(self._loads) > _LIMIT:
            self._loads.popitem(last=False)

    def clear(self) -> None:
        """Remove all loads, at the begin of a recording; they are of an earlier one."""
        self._loads.clear()

    def begins(self, *_facts: Any) -> None:
        """Store the time at which the running thread begins a load (`kernel_load_start_hook`)."""
        self._begun.at = time.time_ns(), time.perf_counter_ns()

    def ends(self, _module: Any, _function: Any, _name: Any, _group: Any, cache_key: Any) -> None:
        """Store the load that has just ended (Triton's `kernel_load_end_hook`)."""
        load_end = time.perf_counter_ns()
        begin = getattr(self._begun, "at", None)
        if begin is not None:
            self._begun.at = None
            self.add(str(cache_key), begin[0], load_end - begin[1])


#: The process's loads: a kernel may be loaded by one backend's library and recorded by another.
LOADS: Final = Loads()
