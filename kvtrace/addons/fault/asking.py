"""Processes that still run, asked where they are: for Python's stacks, then for GPU dumps.

Python's stacks come first, since the driver ends the program after its dump. All processes are
asked before any is waited for: ranks that wait for each other show one moment.
"""

import fcntl
import os
import sys
import termios
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import ClassVar, Final

from kvtrace.addons.fault.stacks import REQUEST, STACKS
from kvtrace.addons.fault.starting import FOLDER, PIPE, SUFFIX
from kvtrace.schema.errors import KvtraceError

#: Seconds until stacks have to be there: the thread that writes them needs the interpreter's lock.
_STACK_PATIENCE: Final = 10.0
#: Seconds without progress after which no dump is expected any more, from one request to the next,
#: and from one look to the next.
_PATIENCE: Final = 60.0
_AGAIN: Final = 5.0
_STEP: Final = 0.1
#: What a pipe holds. A single byte may stay unnoticed: tools that ask for dumps write more.
_REQUEST: Final = bytes(1 << 16)


class NothingToAsk(KvtraceError):
    """Raised if no process that could answer is recorded into a trace."""

    slug: ClassVar[str] = "nothing-to-ask"


def ask_now(folder: Path) -> Mapping[str, Sequence[str]]:
    """Ask all processes that are recorded into a trace for their stacks and for a dump.

    Both are written into the folder `faults`. Return, by the process (`HOST.PID`, as the files are
    named), sentences on what did not come and why.

    Raises:
        NothingToAsk: no process listens.
    """
    faults = folder / FOLDER
    notes: dict[str, list[str]] = {}
    stacks = [name for name in _names(faults, REQUEST) if _ask_for_stacks(faults / name)]
    requests = [
        request
        for name in _names(faults, PIPE)
        if (request := _opened(faults / name)) is not None
    ]  # fmt: skip
    if not stacks and not requests:
        raise NothingToAsk(
            f"No process that is recorded into {folder} listens for requests: start the program "
            "with KVTRACE_FAULTS=on, and ask while it runs and has launched a kernel."
        )
    try:
        for name in _without_answer(faults, stacks):
            notes[name] = [
                f"no Python stacks came within {_STACK_PATIENCE:.0f} s: the process is stopped, or "
                "code without Python holds the interpreter's lock"
            ]
        for request in requests:
            request.repeat()
        for name, note in _await_dumps(requests).items():
            notes.setdefault(name, []).append(note)
    finally:
        for request in requests:
            os.close(request.descriptor)
    with_driver = {request.name for request in requests}
    for name in stacks:
        if name not in with_driver:
            notes.setdefault(name, []).append(
                "the process has no CUDA context that could be asked for its kernels"
            )
    return {name: notes.get(name, ()) for name in dict.fromkeys((*stacks, *sorted(with_driver)))}


def _names(faults: Path, suffix: str) -> Sequence[str]:
    return [file.name.removesuffix(suffix) for file in sorted(faults.glob(f"*{suffix}"))]


def _ask_for_stacks(file: Path) -> bool:
    """Remove a former answer and ask for a new one; return whether the process runs."""
    descriptor = _writer_of(file.with_name(file.name + REQUEST))
    if descriptor is None:
        return False
    file.with_name(file.name + STACKS).unlink(missing_ok=True)
    try:
        os.write(descriptor, b"1")
    except BlockingIOError:
        return True  # it has not read the requests before this one
    finally:
        os.close(descriptor)
    return True


def _writer_of(pipe: Path) -> int | None:
    """Return a descriptor that writes to a pipe; None if nobody reads it."""
    try:
        return os.open(pipe, os.O_WRONLY | os.O_NONBLOCK)
    except OSError:  # the process has ended, or its driver has not opened the pipe so far
        return None


def _without_answer(faults: Path, names: Sequence[str]) -> Sequence[str]:
    """Wait for the files of processes' stacks; return the processes that did not answer in time."""
    end = time.monotonic() + _STACK_PATIENCE
    missing = list(names)
    while missing and time.monotonic() < end:
        missing = [name for name in missing if not (faults / f"{name}{STACKS}").exists()]
        if missing:
            time.sleep(_STEP)
    return missing


@dataclass(slots=True)
class _Request:
    """A request for a dump, whose pipe stays open until the dump is there.

    `size` and `since` are the dump's size when it last grew, and when that was.
    """

    name: str
    descriptor: int
    dump: Path
    before: int | None
    size: int = 0
    begin: float = field(default_factory=time.monotonic)
    since: float = field(default_factory=time.monotonic)
    asked: float = 0.0
    written: int = 0
    has_ended: bool = False

    def repeat(self) -> None:
        """Write to the pipe; the process may have ended."""
        self.asked = time.monotonic()
        try:
            self.written += os.write(self.descriptor, _REQUEST)
        except BlockingIOError:
            return  # the driver has not read the last request
        except BrokenPipeError:
            self.has_ended = True

    @property
    def is_unread(self) -> bool:
        """The driver has read nothing of the request."""
        size = fcntl.ioctl(self.descriptor, termios.FIONREAD, bytes(4))
        return int.from_bytes(size, sys.byteorder) >= self.written

    def is_done(self) -> bool:
        """Look at the dump; return whether it is whole, or not to be waited for any more."""
        now = time.monotonic()
        size = self._size()
        if size != self.size:
            self.size, self.since = size, now
            return False  # it still grows
        if size and _is_whole(self.dump):
            return True
        if not size and not self.has_ended and now - self.asked >= _AGAIN:
            self.repeat()
        return self.has_ended or now - self.since >= _PATIENCE

    def _size(self) -> int:
        """Return the bytes of the dump that this request made: one from before has another time."""
        try:
            status = self.dump.stat()
        except FileNotFoundError:
            return 0
        return 0 if status.st_mtime_ns == self.before else status.st_size

    def note(self) -> str:
        """Return why there is no whole dump; empty: there is one."""
        if self.size and _is_whole(self.dump):
            return ""
        seconds = f"{time.monotonic() - self.begin:.0f} s"
        if self.size:
            return (
                f"CUDA's driver began a dump, which has {self.size:,} bytes and no end ({seconds})"
            )
        if self.has_ended:
            return "the process ended before CUDA's driver wrote a dump"
        if self.is_unread:
            return f"CUDA's driver has not read the request for a dump in {seconds}"
        return (
            f"CUDA's driver has read the request, and wrote no dump in {seconds}: no kernel was on "
            "the device, or it could not stop the kernel"
        )


def _opened(file: Path) -> _Request | None:
    """Return a request to a process's driver that is not written so far; None if it has ended."""
    descriptor = _writer_of(file.with_name(file.name + PIPE))
    if descriptor is None:
        return None
    dump = file.with_name(file.name + SUFFIX)
    before = dump.stat().st_mtime_ns if dump.exists() else None
    return _Request(file.name, descriptor, dump, before)


def _await_dumps(requests: Sequence[_Request]) -> dict[str, str]:
    """Wait for dumps; return, by process, why one is missing."""
    waiting = list(requests)
    while waiting:
        waiting = [request for request in waiting if not request.is_done()]
        if waiting:
            time.sleep(_STEP)
    return {request.name: note for request in requests if (note := request.note())}


def _is_whole(dump: Path) -> bool:
    """Return whether a dump is there and has its last part, the table of sections."""
    from kvtrace.addons.fault.dump.reading import UnreadableDump, read_dump

    try:
        read_dump(dump)
    except UnreadableDump:
        return False
    return True
