"""What CUPTI itself takes in the program's thread, for each execution that it records.

It is in no time that a recorder could see: CUPTI works inside the driver's launch. So a kernel that
does nothing is launched some times at the end of a recording, with CUPTI's records on, and again
when they are off. Between two launches memory is written, as programs do other things, too.
"""

import ctypes
import statistics
import time
from collections.abc import Callable
from typing import Any, Final

from kvtrace.schema.errors import KvtraceError

_PTX: Final = b"""
.version 6.4
.target sm_70
.address_size 64
.visible .entry kvtrace_nothing() { ret; }
"""

#: Launches whose median is taken, those before that are not counted, and bytes written before each.
_LAUNCHES: Final = 100
_WARM_UP: Final = 20
_BETWEEN: Final = 2 << 20
_NON_BLOCKING: Final = 1


class CostUnknown(KvtraceError):
    """What CUPTI takes cannot be measured here."""

    slug = "no-cupti-cost"


def cost_of(driver: Any, context: ctypes.c_void_p, switch_off: Callable[[], None]) -> int:
    """Return the nanoseconds that CUPTI adds to a launch; `switch_off` ends its records.

    Args:
        driver: the CUDA driver, through ctypes.
        context: one that the program has used.
        switch_off: called between the two measurements, always.

    Raises:
        CostUnknown: the driver refuses something.

    """
    try:
        nothing = _Nothing(driver, context)
    except CostUnknown:
        switch_off()
        raise
    try:
        recorded = nothing.launch_ns()
    finally:
        switch_off()
    return max(0, recorded - nothing.launch_ns())


class _Nothing:
    """A kernel that does nothing, on a stream that nobody else has."""

    def __init__(self, driver: Any, context: ctypes.c_void_p) -> None:
        self._driver = driver
        self._context = context
        self._function, self._stream = ctypes.c_void_p(), ctypes.c_void_p()
        self._memory = ctypes.create_string_buffer(_BETWEEN)
        module = ctypes.c_void_p()
        self._within(
            lambda: self._call("cuModuleLoadData", ctypes.byref(module), ctypes.c_char_p(_PTX)),
            lambda: self._call(
                "cuModuleGetFunction", ctypes.byref(self._function), module, b"kvtrace_nothing"
            ),
            lambda: self._call("cuStreamCreate", ctypes.byref(self._stream), _NON_BLOCKING),
        )

    def launch_ns(self) -> int:
        """Return how long a launch takes, by the median of some."""
        times: list[int] = []
        one, no = ctypes.c_uint(1), ctypes.c_void_p()

        def launch() -> None:
            for number in range(_WARM_UP + _LAUNCHES):
                ctypes.memset(self._memory, number & 255, _BETWEEN)
                begin = time.perf_counter_ns()
                failed = self._driver.cuLaunchKernel(
                    self._function, one, one, one, one, one, one, 0, self._stream, no, no
                )
                times.append(time.perf_counter_ns() - begin)
                if failed:
                    raise CostUnknown(f"cuLaunchKernel gives error {failed}")
            self._call("cuStreamSynchronize", self._stream)

        self._within(launch)
        return round(statistics.median(times[_WARM_UP:]))

    def _within(self, *steps: Callable[[], None]) -> None:
        self._call("cuCtxPushCurrent_v2", self._context)
        try:
            for step in steps:
                step()
        finally:
            self._call("cuCtxPopCurrent_v2", ctypes.byref(ctypes.c_void_p()))

    def _call(self, name: str, *arguments: Any) -> None:
        failed = getattr(self._driver, name)(*arguments)
        if failed:
            raise CostUnknown(f"{name} gives error {failed}")
