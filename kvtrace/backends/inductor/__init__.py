"""The Inductor backend: records launches of the kernels that `torch.compile` generates.

`launches.py` hooks Inductor's autotuner and times loading by its launchers, `generated_kernels.py`
describes its kernels, `origins.py` records from which operators and lines kernels were generated.
This package may import `compiled_kernels/` (code shared with Triton's backend) and the packages
that `compiled_kernels/` may import; but not `triton/`.
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
    """The hooks in Inductor's runtime."""

    name: Final = "inductor"
    libraries: Final = (LIBRARY,)

    def __init__(self) -> None:
        self._hooks: InductorHooks | None = None

    def install(self, session: "Session") -> None:
        """Hook Inductor's runtime, which has just been imported."""
        from kvtrace.backends.inductor.launches import InductorHooks
        from kvtrace.backends.inductor.origins import is_generated, origins_of_line
        from kvtrace.capture.stacks import GENERATED, LINE_ORIGINS

        self._hooks = InductorHooks(session)
        self._hooks.install()
        keep_code = session.settings.source != "off"
        self._line_origins = partial(origins_of_line, keep_code=keep_code)
        LINE_ORIGINS.append(self._line_origins)
        GENERATED.append(is_generated)

    def uninstall(self) -> None:
        """Remove the hooks."""
        if self._hooks is not None:
            from kvtrace.backends.inductor.origins import is_generated
            from kvtrace.capture.stacks import GENERATED, LINE_ORIGINS

            LINE_ORIGINS.remove(self._line_origins)
            GENERATED.remove(is_generated)
            self._hooks.uninstall()
            self._hooks = None


class InductorGenerating:
    """The hook in Inductor's code generation, which records the origins of kernels."""

    name: Final = "inductor-generating"
    libraries: Final = (GENERATOR,)

    def __init__(self) -> None:
        self._replaced: Replacements | None = None

    def install(self, session: "Session") -> None:
        """Hook Inductor's code generator, which has just been imported."""
        from kvtrace.backends.inductor.origins import note_origins
        from kvtrace.backends.replacements import Replacements

        self._replaced = Replacements()
        note_origins(self._replaced, session.problem)

    def uninstall(self) -> None:
        """Remove the hook."""
        if self._replaced is not None:
            self._replaced.undo()
            self._replaced = None


BACKEND: Final = InductorBackend()
GENERATING: Final = InductorGenerating()
