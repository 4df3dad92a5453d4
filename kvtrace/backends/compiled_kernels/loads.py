"""How long loading a kernel's binary onto the device took: cuModuleLoadData and what goes with it.

Triton's driver loads binaries, and so do Inductor's static launchers; the hooks of both tell
`LOADS`, from whatever thread loads.
"""

import threading
import time
from collections import OrderedDict
from dataclasses import dataclass
from typing import Any, Final

#: Loads whose kernel has not been seen yet are remembered up to this many.
_LIMIT: Final = 10_000


@dataclass(frozen=True, slots=True)
class Load:
    """One binary's loading: when it began, how long it took, in ns, and in which thread."""

    begin: int
    duration: int
    thread: int


class Loads:
    """Loads by the compiler's hash of the kernel, until the kernel is recorded."""

    def __init__(self) -> None:
        self._loads: OrderedDict[str, Load] = OrderedDict()
        self._begun = threading.local()

    def take(self, cache_key: str) -> Load | None:
        """Return the last load of the kernel with that hash, once."""
        return self._loads.pop(cache_key, None)

    def add(self, cache_key: str, begin: int, duration: int) -> None:
        """Note a load by the running thread."""
        self._loads[cache_key] = Load(begin, duration, threading.get_native_id())
        while len(self._loads) > _LIMIT:
            self._loads.popitem(last=False)

    def clear(self) -> None:
        """Forget all loads: those of an earlier recording are not of kernels in the next."""
        self._loads.clear()

    def begins(self, *_facts: Any) -> None:
        """Note from Triton that the running thread begins to load (`kernel_load_start_hook`)."""
        self._begun.at = time.time_ns(), time.perf_counter_ns()

    def ends(self, _module: Any, _function: Any, _name: Any, _group: Any, cache_key: Any) -> None:
        """Note from Triton that it has loaded (`kernel_load_end_hook`)."""
        now = time.perf_counter_ns()
        begun = getattr(self._begun, "at", None)
        if begun is not None:
            self._begun.at = None
            self.add(str(cache_key), begun[0], now - begun[1])


#: The process's loads: a kernel may be loaded by one backend's library and recorded by another.
LOADS: Final = Loads()
