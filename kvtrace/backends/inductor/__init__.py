"""The Inductor backend: launches of the kernels that `torch.compile` generates.

`launches.py` hooks Inductor's autotuner, `kernels.py` tells what it launches, `static_loads.py`
times the loading by launchers of its own. May import `compiled/`, which has what it shares with
Triton's backend, and what that may; but not `triton/`.
"""

from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from kvtrace.backends.inductor.launches import InductorHooks
    from kvtrace.capture.session import Session

__all__ = ["BACKEND", "LIBRARY", "InductorBackend"]

#: The module that holds Inductor's autotuner.
LIBRARY: Final = "torch._inductor.runtime.triton_heuristics"


class InductorBackend:
    """Hooks Inductor's runtime."""

    name: Final = "inductor"
    libraries: Final = (LIBRARY,)

    def __init__(self) -> None:
        self._hooks: InductorHooks | None = None

    def install(self, session: "Session") -> None:
        """Hook the Inductor that has just been imported."""
        from kvtrace.backends.inductor.launches import InductorHooks

        self._hooks = InductorHooks(session)
        self._hooks.install()

    def uninstall(self) -> None:
        """Take the hooks out again."""
        if self._hooks is not None:
            self._hooks.uninstall()
            self._hooks = None


BACKEND: Final = InductorBackend()
