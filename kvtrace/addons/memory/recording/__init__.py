"""Recording of what happens to memory, with `KVTRACE_MEMORY=on`.

torch calls `_operators.c` around each operator, in any thread and without Python on the way.
`layouts.py` finds the fields that it reads of torch's objects, `operator_rows.py` makes rows in the
journal's thread, `following.py` connects both with a session.
"""

from typing import TYPE_CHECKING, Final

from kvtrace.addons.memory.settings import MEMORY

if TYPE_CHECKING:
    from kvtrace.addons.memory.recording.following import MemoryRecording
    from kvtrace.capture.session import Session

__all__ = ["BACKEND", "MemoryBackend"]


class MemoryBackend:
    """The hooks in torch; they are installed only if the setting `memory` asks for them."""

    name: Final = "memory"
    libraries: Final = ("torch",)

    def __init__(self) -> None:
        self._recording: MemoryRecording | None = None

    def install(self, session: "Session") -> None:
        """Record addresses, operators and allocations; a failure becomes a message."""
        if MEMORY.of(session.settings) != "on":
            return
        from kvtrace.addons.memory.recording.following import MemoryRecording

        self._recording = MemoryRecording(session)
        self._recording.begin()

    def uninstall(self) -> None:
        """Remove the hooks."""
        if self._recording is not None:
            self._recording.end()
            self._recording = None


BACKEND: Final = MemoryBackend()
