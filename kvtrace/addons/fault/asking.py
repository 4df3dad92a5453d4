"""Processes that still run, asked where they are: for Python's stacks, then for GPU dumps.

Python's stacks come first: they need no device, are there within seconds, and the driver ends the
program after its dump. All processes are asked before any is waited for: ranks that wait for each
other show one moment.
"""

import fcntl
import os
import sys
import termios
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import ClassVar, Final

from kvtrace.addons.fault.stacks import REQUEST, STACKS
from kvtrace.addons.fault.starting import FOLDER, PIPE, SUFFIX
from kvtrace.progress import Report, progress
from kvtrace.schema.errors import KvtraceError

#: Seconds until stacks have to be there: the thread that writes them needs the interpreter's lock.
_STACK_PATIENCE: Final = 8.0
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


@dataclass(slots=True)
class Answer:
    """The answer of a process: `notes` are sentences on what is missing in it, and why."""

    has_dump: bool = False
    notes: list[str] = field(default_factory=list)


def trace_of_process(pid: int) -> Path:
    """Return the trace that a process of this machine is recorded into, by a pipe that it reads.

    Raises:
        NothingToAsk: there is no such process, or it is not one that can be asked.
    """
    process = Path("/proc") / str(pid)
    try:
        descriptors = list((process / "fd").iterdir())
    except FileNotFoundError:
        raise NothingToAsk(
            f"There is neither a trace nor a process {pid} here: name the trace's folder, or the "
            "process on the machine on which it runs."
        ) from None
    except PermissionError:
        raise NothingToAsk(
            f"Process {pid} belongs to another user: name the trace's folder in place of {pid}."
        ) from None
    ending = f".{pid}{REQUEST}"
    for descriptor in descriptors:
        with suppress(OSError):  # it was closed since
            file = descriptor.readlink()
            if file.parent.name == FOLDER and file.name.endswith(ending):
                return file.parent.parent
    raise NothingToAsk(
        f"Process {pid} does not listen for requests: start the program with KVTRACE=out/ and "
        "KVTRACE_FAULTS=on, and ask while it runs and has imported torch or launched a kernel."
    )


@dataclass(slots=True)
class Asking:
    """Processes that were asked for their stacks, and can be asked for dumps.

    Attributes:
        answers: what has come so far by the process, as its files are named: `HOST.PID`.

    """

    _faults: Path
    _writers: dict[str, int]
    answers: Mapping[str, Answer]

    @property
    def drivers(self) -> int:
        """Number of processes whose drivers can be asked for a dump."""
        return len(self._writers)

    def ask_for_dumps(self) -> None:
        """Ask the drivers for dumps, which end the programs, and wait; add them to `answers`."""
        requests = [_request(self._faults / name) for name in self._writers]
        for request in requests:
            request.send(self._writers[request.file.name])
        with progress("dumps of GPUs") as report:
            _await_dumps(requests, report)
        for request in requests:
            answer, note = self.answers[request.file.name], request.note()
            answer.has_dump = not note
            answer.notes += [note] if note else []


def ask_now(folder: Path, pid: int | None = None) -> Asking:
    """Ask processes that are recorded into a trace for their stacks.

    All of them, or the one of the number `pid`. Stacks are written into the folder `faults`.

    Raises:
        NothingToAsk: no process listens.
    """
    faults = folder / FOLDER
    stacks = [name for name in _names(faults, REQUEST, pid) if _ask_for_stacks(faults / name)]
    writers = {
        name: writer
        for name in _names(faults, PIPE, pid)
        if (writer := _writer_of(faults / name, PIPE)) is not None
    }
    if not stacks and not writers:
        raise NothingToAsk(
            f"No process that is recorded into {folder} listens for requests: start the program "
            "with KVTRACE_FAULTS=on, and ask while it runs and has imported torch or launched a "
            "kernel."
        )
    answers = {name: Answer() for name in (*stacks, *writers)}
    for name in _without_answer(faults, stacks):
        answers[name].notes.append(
            f"no Python stacks came within {_STACK_PATIENCE:.0f} s: the process is stopped, or "
            "code without Python holds the interpreter's lock"
        )
    for name in answers.keys() - writers.keys():
        answers[name].notes.append(
            "its driver opened no pipe by which it could be asked for kernels: the process has no "
            "CUDA context, or a profiler was there before the context"
        )
    return Asking(faults, writers, answers)


def _names(faults: Path, suffix: str, pid: int | None) -> Sequence[str]:
    pattern = f"*{suffix}" if pid is None else f"*.{pid}{suffix}"
    return [file.name.removesuffix(suffix) for file in sorted(faults.glob(pattern))]


def _ask_for_stacks(file: Path) -> bool:
    """Remove a former answer and ask for a new one; return whether the process runs."""
    descriptor = _writer_of(file, REQUEST)
    if descriptor is None:
        return False
    file.with_name(file.name + STACKS).unlink(missing_ok=True)
    _write(descriptor, b"1")
    return True


def _writer_of(file: Path, suffix: str) -> int | None:
    """Return a descriptor that writes to a process's pipe; None if nobody reads it."""
    try:
        return os.open(file.with_name(file.name + suffix), os.O_WRONLY | os.O_NONBLOCK)
    except OSError:  # the process has ended, or its driver has not opened the pipe so far
        return None


def _write(descriptor: int, content: bytes) -> int:
    """Write to a pipe and close it; return how many bytes it took."""
    try:
        return os.write(descriptor, content)
    except (BlockingIOError, BrokenPipeError):  # full of requests; or the process ends
        return 0
    finally:
        os.close(descriptor)


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
    """A request for a dump to the driver of a process.

    Attributes:
        file: the process's files without their suffixes.
        before: when a former dump was written; None: there was none.
        size: bytes of the dump when it last grew.
        since: when that was, and `begin` and `asked` the first and the last request, in seconds.
        written: bytes that were written to the driver's pipe.
        is_closed: the driver did not read its pipe at the last request.
    """

    file: Path
    before: int | None
    size: int = 0
    begin: float = field(default_factory=time.monotonic)
    since: float = field(default_factory=time.monotonic)
    asked: float = 0.0
    written: int = 0
    is_closed: bool = False

    @property
    def _dump(self) -> Path:
        return self.file.with_name(self.file.name + SUFFIX)

    def send(self, descriptor: int | None = None) -> None:
        """Write to the driver's pipe and close it: the driver may wait for the end of a request.

        `descriptor` is a writer that is open already.
        """
        self.asked = time.monotonic()
        if descriptor is None:
            descriptor = _writer_of(self.file, PIPE)
        self.is_closed = descriptor is None
        if descriptor is not None:
            self.written += _write(descriptor, _REQUEST)

    @property
    def is_unread(self) -> bool:
        """The driver has read nothing of the requests."""
        descriptor = _writer_of(self.file, PIPE)
        if descriptor is None:
            return False
        try:
            size = fcntl.ioctl(descriptor, termios.FIONREAD, bytes(4))
        finally:
            os.close(descriptor)
        return int.from_bytes(size, sys.byteorder) >= self.written

    @property
    def has_ended(self) -> bool:
        """The process reads neither of its pipes any more."""
        descriptor = _writer_of(self.file, REQUEST)
        if descriptor is not None:
            os.close(descriptor)
        return descriptor is None and self.is_closed

    def is_done(self) -> bool:
        """Look at the dump; return whether it is whole, or not to be waited for any more."""
        now = time.monotonic()
        size = self._size()
        if size != self.size:
            self.size, self.since = size, now
            return False  # it still grows
        if size and _is_whole(self._dump):
            return True
        if not size and now - self.asked >= _AGAIN:
            self.send()
        return now - self.since >= _PATIENCE or (not size and self.has_ended)

    def _size(self) -> int:
        """Return the bytes of the dump that this request made: one from before has another time."""
        try:
            status = self._dump.stat()
        except FileNotFoundError:
            return 0
        return 0 if status.st_mtime_ns == self.before else status.st_size

    def note(self) -> str:
        """Return why there is no whole dump; empty: there is one."""
        if self.size and _is_whole(self._dump):
            return ""
        seconds = f"{time.monotonic() - self.begin:.0f} s"
        if self.size:
            return (
                f"CUDA's driver began a dump, which has {self.size:,} bytes and no end ({seconds})"
            )
        if self.has_ended:
            return "the process ended before CUDA's driver wrote a dump"
        if self.is_closed:
            return f"CUDA's driver closed its pipe, and wrote no dump in {seconds}"
        if self.is_unread:
            return f"CUDA's driver has not read the request for a dump in {seconds}"
        return (
            f"CUDA's driver has read the request, and wrote no dump in {seconds}: no kernel was on "
            "the device, or it could not stop the kernel"
        )


def _request(file: Path) -> _Request:
    dump = file.with_name(file.name + SUFFIX)
    return _Request(file, dump.stat().st_mtime_ns if dump.exists() else None)


def _await_dumps(requests: Sequence[_Request], report: Report) -> None:
    waiting = list(requests)
    while waiting:
        waiting = [request for request in waiting if not request.is_done()]
        report(len(requests) - len(waiting), len(requests))
        if waiting:
            time.sleep(_STEP)


def _is_whole(dump: Path) -> bool:
    """Return whether a dump is there and has its last part, the table of sections."""
    from kvtrace.addons.fault.dump.reading import UnreadableDump, read_dump

    try:
        read_dump(dump)
    except UnreadableDump:
        return False
    return True
