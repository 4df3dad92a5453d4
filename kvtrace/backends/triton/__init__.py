"""The Triton backend: records launches of Triton's kernels, and executes them without a GPU.

`launches.py` hooks Triton and times loading, `launchers.py` inspects launches before they run.
Without a GPU, `device_free.py` installs the driver that runs launches in the evaluator,
`absent_gpu/` answers programs that ask for a GPU, `executed_defects.py` reports defects of executed
launches, `watching.py` and `traced_kernels.py` run clients over launches. `interpreted_launches.py`
records launches of Triton's interpreter. This package may import `compiled_kernels/` (code shared
with Inductor's backend), the packages that `compiled_kernels/` may import, and clients; but not
`inductor/`.
"""

import sys
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from collections.abc import Callable

    from kvtrace.backends.triton.interpreted_launches import InterpreterHooks
    from kvtrace.backends.triton.launches import LaunchHooks
    from kvtrace.backends.triton.traced_kernels import TracedKernel
    from kvtrace.capture.session import Session

__all__ = ["BACKEND", "TritonBackend"]


class TritonBackend:
    """The backend that hooks Triton 3.5 and newer."""

    name: Final = "triton"
    libraries: Final = ("triton",)

    def __init__(self) -> None:
        self._hooks: LaunchHooks | None = None
        self._interpreter: InterpreterHooks | None = None

    def install(self, session: "Session") -> None:
        """Hook Triton, which has just been imported, and offer the driver for no GPU."""
        from kvtrace.backends.compiled_kernels.versions import OLDEST, untested, version_of
        from kvtrace.capture.stacks import hide_frames_of

        triton = sys.modules["triton"]
        if version_of(triton) < OLDEST:
            version = getattr(triton, "__version__", "of unknown version")
            session.message(
                "warning",
                "triton-too-old",
                f"Triton {version} cannot be recorded, only 3.5 and newer can; "
                "the program continues without recording its launches",
            )
            return
        if unknown := untested(triton):
            session.message("info", "triton-untested", unknown)
        from kvtrace.backends.triton.launches import LaunchHooks

        if triton.__file__ is not None:
            hide_frames_of(str(Path(triton.__file__).parent))
        from kvtrace.backends.triton import device_free

        self._hooks = LaunchHooks(session)
        self._hooks.install()
        device_free.install(session, self._hooks.adapter)
        self._hook_interpreter(session)
        if session.settings.mode == "ops":
            session.at_end.append(partial(_explain_missing_ops, session))

    def uninstall(self) -> None:
        """Remove the hooks from Triton."""
        if self._hooks is None:
            return
        from kvtrace.backends.triton import device_free

        self._unhook_interpreter()
        device_free.uninstall()
        self._hooks.uninstall()
        self._hooks = None

    def _hook_interpreter(self, session: "Session") -> None:
        """Hook Triton's interpreter if `TRITON_INTERPRET=1` is set, and import it only then."""
        from triton import knobs

        self._unhook_interpreter()
        if knobs.runtime.interpret:
            from kvtrace.backends.triton.interpreted_launches import InterpreterHooks

            self._interpreter = InterpreterHooks(session)
            self._interpreter.install()

    def _unhook_interpreter(self) -> None:
        if self._interpreter is not None:
            self._interpreter.uninstall()
            self._interpreter = None

    def watcher(
        self, client: Any, session_of: "Callable[[str], Session]"
    ) -> "Callable[[Any], TracedKernel]":
        """Return a function from a kernel to its watched kernel; see `WatchingBackend`.

        Raises:
            BadSetting: no client is given, or no client has that name.

        """
        from kvtrace.backends.triton.traced_kernels import TracedKernel
        from kvtrace.clients.registry import as_client
        from kvtrace.schema.errors import BadSetting

        if client is None:
            raise BadSetting('a Triton kernel is traced by a client: client="sanitizer"')
        watching_client = as_client(client)
        return lambda kernel: TracedKernel(kernel, watching_client, session_of)


def _explain_missing_ops(session: "Session") -> None:
    """In mode ops, if no launch was watched, add a message that names `kvtrace profile`."""
    watching = sys.modules.get("kvtrace.backends.triton.watching")
    if watching is None or not watching.has_watched(session):
        text = (
            "mode ops observes launches that run in the evaluator, and with a GPU none do; "
            f"kvtrace profile {session.out} --replay derives their ops"
        )
        session.message("warning", "ops-later", text)


BACKEND: Final = TritonBackend()
