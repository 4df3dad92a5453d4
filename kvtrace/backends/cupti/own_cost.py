"""Measurement of CUPTI's own cost in the program's thread, for each recorded execution.

A recorder cannot time this cost, since CUPTI works inside the driver's launch. So at the end of a
recording an empty kernel is launched with CUPTI's records on, and again with the records off; the
cost is the difference of the lowest tenths, since all else that the machine does adds time. Between
two launches memory is written, as programs do other work too. Example: 4,100 ns with records,
2,600 ns without: CUPTI costs 1,500 ns per launch.
"""

import ctypes
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, Final

from kvtrace.schema.errors import KvtraceError

_PTX: Final = b"""
.version 6.4
.target sm_70
.address_size 64
.visible .entry kvtrace_nothing() { ret; }
"""

#: Launches that are measured, launches before them, and bytes written before each launch.
_LAUNCHES: Final = 300
_WARM_UP: Final = 20
_BETWEEN: Final = 2 << 20
_NON_BLOCKING: Final = 1


class CostUnknown(KvtraceError):
    """Raised when CUPTI's cost cannot be measured."""

    slug = "no-cupti-cost"


def cost_of(driver: Any, context: ctypes.c_void_p, switch_off: Callable[[], None]) -> int:
    """Return the nanoseconds that CUPTI adds to a launch, measured with and without records.

    Args:
        driver: the CUDA driver, through ctypes.
        context: a context that the program has used.
        switch_off: ends CUPTI's records; called between the two measurements, also after an error.

    Raises:
        CostUnknown: the driver reported an error.

    """
    try:
        kernel = _EmptyKernel(driver, context)
    except CostUnknown:
        switch_off()
        raise
    try:
        recorded = kernel.launch_ns()
    finally:
        switch_off()
    return max(0, recorded - kernel.launch_ns())


class _EmptyKernel:
    """An empty kernel with its own stream."""

    def __init__(self, driver: Any, context: ctypes.c_void_p) -> None:
        self._driver = driver
        self._context = context
        self._function, self._stream = ctypes.c_void_p(), ctypes.c_void_p()
        self._memory = ctypes.create_string_buffer(_BETWEEN)
        module = ctypes.c_void_p()
        with self._current_context():
            self._call("cuModuleLoadData", ctypes.byref(module), ctypes.c_char_p(_PTX))
            self._call(
                "cuModuleGetFunction", ctypes.byref(self._function), module, b"kvtrace_nothing"
            )
            self._call("cuStreamCreate", ctypes.byref(self._stream), _NON_BLOCKING)

    def launch_ns(self) -> int:
        """Return the duration that a tenth of `_LAUNCHES` launches does not exceed."""
        times: list[int] = []
        one, no = ctypes.c_uint(1), ctypes.c_void_p()

        with self._current_context():
            for repetition in range(_WARM_UP + _LAUNCHES):
                ctypes.memset(self._memory, repetition & 255, _BETWEEN)
                begin = time.perf_counter_ns()
                failed = self._driver.cuLaunchKernel(
                    self._function, one, one, one, one, one, one, 0, self._stream, no, no
                )
                times.append(time.perf_counter_ns() - begin)
                if failed:
                    raise CostUnknown(f"cuLaunchKernel gives error {failed}")
            self._call("cuStreamSynchronize", self._stream)
        return sorted(times[_WARM_UP:])[_LAUNCHES // 10]

    @contextmanager
    def _current_context(self) -> Iterator[None]:
        self._call("cuCtxPushCurrent_v2", self._context)
        try:
            yield
        finally:
            self._call("cuCtxPopCurrent_v2", ctypes.byref(ctypes.c_void_p()))

    def _call(self, name: str, *arguments: Any) -> None:
        failed = getattr(self._driver, name)(*arguments)
        if failed:
            raise CostUnknown(f"{name} gives error {failed}")
