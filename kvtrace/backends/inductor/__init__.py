"""The Inductor backend: launches of the kernels that `torch.compile` generates.

`launches.py` hooks Inductor's autotuner, `generated_kernels.py` tells what it launches,
`static_loads.py` times the loading by Inductor's launchers, `origins.py` tells what kernels were
generated from. May import `compiled_kernels/`, which has what it shares with Triton's backend, and
what that may; but not `triton/`.
"""

from functools import partial
from typing import TYPE_CHECKING, Final

from kvtrace.backends.inductor.libraries import GENERATOR, LIBRARY

if TYPE_CHECKING:
    from kvtrace.backends.inductor.launches import InductorHooks
    from kvtrace.backends.replacements import Replacements
    from kvtrace.capture.session import Session

__all__ = ["BACKEND", "GENERATING", "InductorBackend", "InductorGenerating"]


class InductorBackend:
    """Hooks Inductor's runtime."""

    name: Final = "inductor"
    libraries: Final = (LIBRARY,)

    def __init__(self) -> None:
        self._hooks: InductorHooks | None = None

    def install(self, session: "Session") -> None:
        """Hook the Inductor that has just been imported."""
        from kvtrace.backends.inductor.launches import InductorHooks
        from kvtrace.backends.inductor.origins import origins_of_line
        from kvtrace.capture.stacks import LINE_ORIGINS

        self._hooks = InductorHooks(session)
        self._hooks.install()
        keep_code = session.settings.source != "off"
        self._knows = partial(origins_of_line, keep_code=keep_code)
        LINE_ORIGINS.append(self._knows)

    def uninstall(self) -> None:
        """Take the hooks out again."""
        if self._hooks is not None:
            from kvtrace.capture.stacks import LINE_ORIGINS

            LINE_ORIGINS.remove(self._knows)
            self._hooks.uninstall()
            self._hooks = None


class InductorGenerating:
    """Hooks Inductor's generation of code, to know what kernels are generated from."""

    name: Final = "inductor-generating"
    libraries: Final = (GENERATOR,)

    def __init__(self) -> None:
        self._replaced: Replacements | None = None

    def install(self, session: "Session") -> None:
        """Hook the generator, which has just been imported."""
        from kvtrace.backends.inductor.origins import note_origins
        from kvtrace.backends.replacements import Replacements

        self._replaced = Replacements()
        note_origins(self._replaced, session.problem)

    def uninstall(self) -> None:
        """Take the hook out again."""
        if self._replaced is not None:
            self._replaced.undo()
            self._replaced = None


BACKEND: Final = InductorBackend()
GENERATING: Final = InductorGenerating()
