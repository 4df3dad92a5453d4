"""Triton's hooks around the loading of a kernel's binary, which time the loading for `LOADS`.

Triton calls `kernel_load_start_hook` and `kernel_load_end_hook` right around the driver's
`load_binary`, once per kernel and device, at its first launch.
"""

from collections.abc import Callable
from typing import Any

from kvtrace.backends.compiled_kernels.loads import LOADS
from kvtrace.backends.triton import device_free


class LoadHooks:
    """Load hooks of kvtrace among Triton's; these hooks never raise."""

    def __init__(self, problem: Callable[[Exception], None]) -> None:
        """`problem` is called with kvtrace's failures."""
        self._problem = problem
        self._added: list[tuple[Any, Any]] = []

    def install(self, runtime: Any) -> None:
        """Add the hooks to `triton.knobs.runtime`, if several hooks can be added there."""
        LOADS.clear()
        for name, listener in (
            ("kernel_load_start_hook", LOADS.begins),
            ("kernel_load_end_hook", LOADS.ends),
        ):
            chain: Any = getattr(runtime, name, None)
            if hasattr(chain, "add") and hasattr(chain, "remove"):
                hook = self._guarded(listener)
                chain.add(hook)
                self._added.append((chain, hook))

    def uninstall(self) -> None:
        """Remove the hooks."""
        while self._added:
            chain, hook = self._added.pop()
            chain.remove(hook)

    def _guarded(self, listener: Callable[..., None]) -> Callable[..., None]:
        def hook(*args: Any) -> None:
            if device_free.is_active():
                return  # there is no device to load onto
            try:
                listener(*args)
            except Exception as error:  # noqa: BLE001 - counted; never the program's problem
                self._problem(error)

        return hook
