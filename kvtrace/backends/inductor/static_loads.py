"""Durations of loading binaries by Inductor's static launchers, measured around `load_kernel`."""

import time
from collections.abc import Callable, Iterator
from typing import Any

from kvtrace.backends.compiled_kernels.loads import LOADS
from kvtrace.backends.replacements import Replacements


def time_static_loads(
    module: Any, replaced: Replacements, problem: Callable[[Exception], None]
) -> None:
    """Wrap `load_kernel` of Inductor's static launchers in `module`, unless that is None."""
    for owner in _static_launchers(module):
        replaced.put(owner, "load_kernel", _timed(owner.load_kernel, problem))


def _static_launchers(module: Any) -> Iterator[Any]:
    for value in list(vars(module).values()) if module is not None else ():
        if isinstance(value, type) and "load_kernel" in vars(value):
            yield value


def _timed(load: Callable[..., Any], problem: Callable[[Exception], None]) -> Callable[..., Any]:
    def load_kernel(self: Any, /, *args: Any, **kwargs: Any) -> Any:
        if getattr(self, "function", None) is not None:
            return load(self, *args, **kwargs)  # already loaded: nothing happens
        begin, before = time.time_ns(), time.perf_counter_ns()
        result = load(self, *args, **kwargs)
        duration = time.perf_counter_ns() - before
        try:
            LOADS.add(str(self.hash), begin, duration)
        except Exception as error:  # noqa: BLE001 - counted; never the program's problem
            problem(error)
        return result

    load_kernel.__wrapped__ = load  # type: ignore[attr-defined]
    return load_kernel
