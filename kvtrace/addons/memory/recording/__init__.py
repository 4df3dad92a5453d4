"""Recording of what happens to memory, with `KVTRACE_MEMORY=on`.

torch calls `_operators.c` around each operator, in any thread and without Python on the way.
`layouts.py` finds the fields that it reads of torch's objects, `operator_rows.py` makes rows in the
journal's thread, `following.py` connects both with a session.
"""

import os
from typing import TYPE_CHECKING, Final

from kvtrace.addons.memory.settings import FILL, MEMORY
from kvtrace.backends.replacements import Replacements

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
        self._filled = Replacements()

    def install(self, session: "Session") -> None:
        """Record addresses, operators and allocations; a failure becomes a message.

        Fresh memory is filled if the environment asks for that (`filling.py`).
        """
        if os.environ.get(FILL):
            import torch

            from kvtrace.addons.memory.recording.filling import fill_fresh_memory

            fill_fresh_memory(self._filled, torch, session.problem)
        if MEMORY.of(session.settings) != "on":
            return
        from kvtrace.addons.memory.recording.following import MemoryRecording

        self._recording = MemoryRecording(session)
        self._recording.begin()

    def uninstall(self) -> None:
        """Remove the hooks."""
        self._filled.undo()
        if self._recording is not None:
            self._recording.end()
            self._recording = None


BACKEND: Final = MemoryBackend()
