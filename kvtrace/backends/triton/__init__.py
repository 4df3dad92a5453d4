"""The Triton backend: launches, what is known before them, and launches without a GPU.

`launches.py` hooks Triton, `launchers.py` has launches inspected before they run, `load_hooks.py`
times loading. Without a GPU, `device_free.py` is the driver that runs launches in the evaluator,
`absent_gpu/` what programs that ask for a GPU get, `sightings.py` what it sees them do,
`watching.py` and `traced_kernels.py` the clients that watch them. `interpreted_launches.py` records
launches of Triton's interpreter. May import `compiled_kernels/`, which has what it shares with
Inductor's backend, what that may, and clients; but not `inductor/`.
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
    """Hooks Triton 3.5 and newer."""

    name: Final = "triton"
    libraries: Final = ("triton",)

    def __init__(self) -> None:
        self._hooks: LaunchHooks | None = None
        self._interpreter: InterpreterHooks | None = None

    def install(self, session: "Session") -> None:
        """Hook the Triton that has just been imported."""
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
            session.at_end.append(partial(_say_where_ops_come_from, session))

    def uninstall(self) -> None:
        """Take the hooks out again."""
        if self._hooks is None:
            return
        from kvtrace.backends.triton import device_free

        self._unhook_interpreter()
        device_free.uninstall()
        self._hooks.uninstall()
        self._hooks = None

    def _hook_interpreter(self, session: "Session") -> None:
        """Record interpreted launches where `TRITON_INTERPRET=1` asks for any.

        Triton imports its interpreter only when it is needed, and so do we.
        """
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
        """Return what makes a watched kernel of a kernel; see `WatchingBackend`.

        Raises:
            BadSetting: no client is given, or there is no such client.

        """
        from kvtrace.backends.triton.traced_kernels import TracedKernel
        from kvtrace.clients.registry import as_client
        from kvtrace.schema.errors import BadSetting

        if client is None:
            raise BadSetting('a Triton kernel is traced by a client: client="sanitizer"')
        made = as_client(client)
        return lambda kernel: TracedKernel(kernel, made, session_of)


def _say_where_ops_come_from(session: "Session") -> None:
    """In mode ops, say what to do where no launch was watched."""
    watching = sys.modules.get("kvtrace.backends.triton.watching")
    if watching is None or not watching.has_watched(session):
        text = (
            "mode ops watches launches that run in the evaluator, and with a GPU none do; "
            f"kvtrace replay {session.out} gives what their ops did"
        )
        session.message("warning", "ops-later", text)


BACKEND: Final = TritonBackend()
