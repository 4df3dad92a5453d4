"""Triton's hooks around the loading of a kernel's binary, which tell `LOADS` how long it took.

Triton calls `kernel_load_start_hook` and `kernel_load_end_hook` right around the driver's
`load_binary`, once per kernel and device, at its first launch.
"""

from collections.abc import Callable
from typing import Any

from kvtrace.backends.compiled_kernels.loads import LOADS
from kvtrace.backends.triton import device_free


class LoadHooks:
    """Ours among Triton's hooks; they do not raise, whatever they are given."""

    def __init__(self, problem: Callable[[Exception], None]) -> None:
        """`problem` receives kvtrace's failures."""
        self._problem = problem
        self._added: list[tuple[Any, Any]] = []

    def install(self, runtime: Any) -> None:
        """Add ours to the hooks of `triton.knobs.runtime`, where they are chains."""
        LOADS.clear()
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
            if device_free.is_active():
                return  # there is no device that anything is loaded onto
            try:
                hear(*args)
            except Exception as error:  # noqa: BLE001 - counted; never the program's problem
                self._problem(error)

        return hook
