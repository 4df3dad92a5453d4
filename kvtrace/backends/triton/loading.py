"""How long loading a kernel's binary onto the device took: cuModuleLoadData and what goes with it.

Triton calls its hooks `kernel_load_start_hook` and `kernel_load_end_hook` right around the driver's
`load_binary`, once per kernel and device, at its first launch. Inductor's static launcher loads
binaries by `load_kernel` of its own. Both tell `LOADS`, from whatever thread loads.
"""

import threading
import time
from collections import OrderedDict
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, Final

from kvtrace.backends.replacements import Replacements
from kvtrace.backends.triton import device_free

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

    def begins(self, *_facts: Any) -> None:
        """Hear from Triton that the running thread begins to load (`kernel_load_start_hook`)."""
        self._begun.at = time.time_ns(), time.perf_counter_ns()

    def ends(self, _module: Any, _function: Any, _name: Any, _group: Any, cache_key: Any) -> None:
        """Hear from Triton that it has loaded (`kernel_load_end_hook`)."""
        now = time.perf_counter_ns()
        begun = getattr(self._begun, "at", None)
        if begun is not None:
            self._begun.at = None
            self.add(str(cache_key), begun[0], now - begun[1])


#: The process's loads: a kernel may be loaded by one backend's library and recorded by another.
LOADS: Final = Loads()


def load_of(cache_key: str) -> Load | None:
    """Return how the kernel with that hash was loaded, once; None where there is no device."""
    load = LOADS.take(cache_key)
    return None if device_free.is_active() else load


class LoadHooks:
    """Ours among Triton's hooks; they do not raise, whatever they are given."""

    def __init__(self, problem: Callable[[Exception], None]) -> None:
        """`problem` is told of failures of ours."""
        self._problem = problem
        self._added: list[tuple[Any, Any]] = []

    def install(self, runtime: Any) -> None:
        """Add ours to the hooks of `triton.knobs.runtime`, where they are chains."""
        for name, hear in (
            ("kernel_load_start_hook", LOADS.begins),
            ("kernel_load_end_hook", LOADS.ends),
        ):
            chain: Any = getattr(runtime, name, None)
            if hasattr(chain, "add") and hasattr(chain, "remove"):
                hook = self._guarded(hear)
                chain.add(hook)
                self._added.append((chain, hook))

    def uninstall(self) -> None:
        """Take ours out."""
        while self._added:
            chain, hook = self._added.pop()
            chain.remove(hook)

    def _guarded(self, hear: Callable[..., None]) -> Callable[..., None]:
        def hook(*args: Any) -> None:
            try:
                hear(*args)
            except Exception as error:  # noqa: BLE001 - counted; never the program's problem
                self._problem(error)

        return hook


def time_static_loads(
    module: Any, replaced: Replacements, problem: Callable[[Exception], None]
) -> None:
    """Wrap `load_kernel` of Inductor's static launchers, which `module` holds (None: has none)."""
    for owner in _static_launchers(module):
        replaced.put(owner, "load_kernel", _timed(owner.load_kernel, problem))


def _static_launchers(module: Any) -> Iterator[Any]:
    for value in list(vars(module).values()) if module is not None else ():
        if isinstance(value, type) and "load_kernel" in vars(value):
            yield value


def _timed(load: Callable[..., Any], problem: Callable[[Exception], None]) -> Callable[..., Any]:
    def load_kernel(self: Any, /, *args: Any, **kwargs: Any) -> Any:
        if getattr(self, "function", None) is not None:
            return load(self, *args, **kwargs)  # it is loaded, and this does nothing
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
