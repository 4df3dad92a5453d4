"""Python stacks of a recorded process, which it writes whenever `kvtrace fault --now` asks.

A thread reads a named pipe in the trace's folder `faults`. It takes no time until somebody writes,
and needs neither signals nor privileges: a thread that waits for the GPU, or for other ranks,
has released the interpreter's lock.
"""

import json
import os
import sys
import threading
import time
from functools import partial
from typing import Final

from kvtrace.addons.fault import starting
from kvtrace.capture import threads as recording_threads
from kvtrace.capture.groups import rank_facts
from kvtrace.capture.stacks import user_frames
from kvtrace.schema.descriptors import Descriptor

TYPE_CHECKING = False  # as type checkers read it; every process that is recorded imports this
if TYPE_CHECKING:
    from types import FrameType
    from typing import Any

    from kvtrace.capture.session import Session

#: Suffixes of the pipe that is asked by, and of the file with the answer.
REQUEST = ".ask"
STACKS = ".stacks"
_MOST_BYTES = 4096
#: Seconds that torch may take to say which collectives it has requested.
_COLLECTIVES_PATIENCE = 3.0
_PACKAGES = ("/site-packages/", "/dist-packages/")
_STANDARD = f"{os.path.dirname(os.__file__)}/"  # noqa: PTH120 - pathlib takes longer to import

#: The process whose thread answers, and its pipe: a forked one has no thread of its parent.
_answering: "int | None" = None
_pipe: "Pipe | None" = None


class Pipe(Descriptor):
    """The reader of a pipe, open for writing, too, so that reading waits while nobody asks."""

    def __init__(self, path: str) -> None:
        """Open the pipe.

        Raises:
            OSError: There is none that can be opened.
        """
        super().__init__(os.open(path, os.O_RDWR))

    def await_request(self) -> bool:
        """Wait until somebody writes; return whether the pipe is still open."""
        return self.is_open and bool(os.read(self.number, _MOST_BYTES))


def answer_requests(session: "Session", folder: str) -> None:
    """Start the thread that writes this process's stacks into a folder when asked, once."""
    global _answering, _pipe
    process = os.getpid()
    if _answering == process or not hasattr(os, "mkfifo"):
        return
    _answering = process
    file = os.path.join(folder, f"{os.uname().nodename}.{process}")  # noqa: PTH118
    try:
        if not os.path.exists(file + REQUEST):  # noqa: PTH110
            os.mkfifo(file + REQUEST)
        _pipe = Pipe(file + REQUEST)
        recording_threads.RecordingThread(partial(_answer, session, file, _pipe)).start()
    except (OSError, RuntimeError) as error:  # no pipes in this file system; or Python ends
        _say(session, error)


class TorchBackend:
    """The backend that answers requests from the import of torch.distributed on.

    A program of torch that launches no kernel that is recorded can hang, too.
    """

    name: Final = "fault"
    libraries: Final = ("torch.distributed",)

    def install(self, session: "Session") -> None:
        """Answer requests, if the program is recorded with `KVTRACE_FAULTS=on`."""
        if starting.is_on():
            answer_requests(session, os.path.join(session.out, starting.FOLDER))  # noqa: PTH118

    def uninstall(self) -> None:
        """Do nothing: a thread that nobody asks takes no time."""


BACKEND: Final = TorchBackend()


def _close_in_child() -> None:
    """Close the parent's pipe: somebody who asks sees by its readers whether the parent runs."""
    global _pipe
    if _pipe is not None:
        _pipe.close()
        _pipe = None


if hasattr(os, "register_at_fork"):  # not on Windows, which has no fork
    os.register_at_fork(after_in_child=_close_in_child)


def _answer(session: "Session", file: str, pipe: Pipe) -> None:
    while True:
        try:
            if not pipe.await_request():
                return
            state = {"time": time.time_ns(), "threads": _threads()} | rank_facts(os.environ)
            content = json.dumps(state | {"collectives": _collectives(session)})
            with open(f"{file}{STACKS}.new", "w", encoding="utf-8") as answer:  # noqa: PTH123
                answer.write(content)
            os.replace(f"{file}{STACKS}.new", file + STACKS)  # noqa: PTH105 - a reader sees it whole
        except Exception as error:  # noqa: BLE001 - as the folder was removed, or the disk is full
            _say(session, error)
            return


def _say(session: "Session", error: Exception) -> None:
    session.message("info", "no-stacks", f"kvtrace fault --now gets no Python stacks: {error}")


def _threads() -> "list[dict[str, Any]]":
    """Return the threads that run code of the program or of its libraries."""
    known = {thread.ident: thread.name for thread in threading.enumerate()}
    main = threading.main_thread().ident
    threads = []
    for ident, frame in sys._current_frames().items():
        name = known.get(ident, "")
        frames = [] if ident in recording_threads.running else _frames(frame)
        if frames:
            threads.append({"name": name, "is_main": ident == main, "frames": frames})
    return threads


def _collectives(session: "Session") -> "list[dict[str, Any]]":
    """Return the newest collective of each process group; [] where torch does not say in time."""
    requests: list[dict[str, Any]] = []

    def read() -> None:
        try:
            from kvtrace.backends.flight_recorder import last_requests

            requests.extend(last_requests())
        except Exception as error:  # noqa: BLE001 - the stacks come without them
            text = f"kvtrace fault --now gets no collectives: {type(error).__name__}: {error}"
            session.message("info", "no-collectives", text)

    # torch asks CUDA, which may wait for the device.
    reader = recording_threads.RecordingThread(read)
    reader.start()
    reader.join(_COLLECTIVES_PATIENCE)
    return list(requests)


def _frames(frame: "FrameType") -> "list[dict[str, Any]]":
    """Return a stack's frames, innermost first; the program's own have `is_own`."""
    return [
        {
            "file": one.file,
            "line": one.line,
            "function": one.function,
            "is_own": not (one.file.startswith(_STANDARD) or any(p in one.file for p in _PACKAGES)),
        }
        for one in user_frames(frame)
    ]
