"""Confined processes for untrusted code.

`start_confined` forks a supervisor, which forks the process: behind the walls of `walls/`, in a
folder in memory. After the process's end, the supervisor copies the regular files that it left;
events arrive through a pipe. An attacker who knows a security hole of the kernel is not stopped.
"""

from __future__ import annotations

import contextlib
import fcntl
import gc
import json
import os
import select
import signal
import sys
import tempfile
import time
import traceback
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, Final

from kvtrace.addons.judge.errors import CannotJudge
from kvtrace.addons.judge.walls import (
    filters,
    leftovers,
    mounts,
    privileges,
    processes,
    system_calls,
)

#: The descriptor that a confined process writes events to; they arrive in the file `EVENTS_FILE`.
EVENTS: Final = 3
#: The descriptors of calls and of answers, if the process has any.
CALLS: Final = 4
ANSWERS: Final = 5
EVENTS_FILE: Final = "events"
_WORK_FOLDERS: Final = ("home", "work", "temporary")
#: Exit code of a process that completed its work.
_COMPLETED: Final = 113
_SET_DEATH_SIGNAL: Final = 1
_READY: Final = b"ready"
_FOLDER: Final = os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC
_MAKING: Final = os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_NOFOLLOW | os.O_CLOEXEC
_MOST_EVENTS: Final = 256 << 20
_MOST_OUTPUT: Final = 4000
_MOST_RESULT_BYTES: Final = 1 << 16
_PRIORITY: Final = 10
#: Seconds between two looks at a process's memory, threads and time.
_POLL_SECONDS: Final = 0.02
_MOST_THREADS: Final = 256
#: Memory that the kernel needs for an entry of a folder in memory, besides its content.
_BYTES_OF_ENTRY: Final = 1024
_MARGIN: Final = 20.0
#: A process ends after so many times its limit, however long it waited for a processor.
_MOST_TIMES: Final = 20.0
#: Environment variables that Python, libraries and compilers need; others are removed.
_NEEDED_VARIABLES: Final = (
    "PATH", "LANG", "LANGUAGE", "TZ", "USER", "LOGNAME", "HOME", "XDG_CACHE_HOME", "TMPDIR",
    "LD_LIBRARY_PATH", "PYTHONPATH", "PYTHONHOME", "PYTHONDONTWRITEBYTECODE",
    "PYTHONPYCACHEPREFIX", "VIRTUAL_ENV", "CUDA_HOME", "CUDA_PATH", "CC",
)  # fmt: skip
_NO_USER: Final = "nobody"


class CannotConfine(CannotJudge):
    """This system does not allow a process to be confined."""

    slug = "cannot-confine"


@dataclass(frozen=True, slots=True)
class ProcessResult:
    """The end of a confined process.

    Attributes:
        how: `whole` (completed), `late` (killed at its time limit) or `broken` (it crashed, its
            code ended the process, or it was killed for the limit that `reason` names).
        seconds: The duration.
        confined: All walls were up; False only if the caller allows an unconfined process.
        output: The end of its standard output and error.
        reason: The exceeded limit, other than time, or why its files could not be copied; or "".
        left_out: Files in the folders of its code that were not copied for it, with reasons.
    """

    how: str
    seconds: float
    confined: bool
    output: str
    reason: str = ""
    left_out: tuple[str, ...] = ()

    @property
    def in_words(self) -> str:
        """The predicate of a sentence on an incomplete process, such as "was killed: …"."""
        if self.how == "late":
            return "took too long and was killed"
        return f"was killed: {self.reason}" if self.reason else "ended before it was done"

    @property
    def last_line(self) -> str:
        """The last line that the process printed, at most 500 characters; "" if there is none."""
        lines = [line.strip() for line in self.output.splitlines() if line.strip()]
        return lines[-1][:500] if lines else ""


def clean_environment() -> dict[str, str]:
    """Return this process's environment without secrets: only variables that Python needs.

    Of PYTHONPATH only absolute folders are kept; other entries depend on the current folder.
    """
    variables = {
        name: value
        for name, value in os.environ.items()
        if name in _NEEDED_VARIABLES or name[:3] == "LC_"
    }
    if "PYTHONPATH" in variables:
        folders = variables["PYTHONPATH"].split(os.pathsep)
        variables["PYTHONPATH"] = os.pathsep.join(filter(os.path.isabs, folders))
    return {"USER": _NO_USER, "LOGNAME": _NO_USER} | variables


def run_confined(
    work: Callable[[], object], folder: Path, *, seconds: float, memory_mb: int,
    reads: Sequence[Path] = (), code: Sequence[Path] = (), unconfined: bool = False,
    calls: Sequence[int] = (),
) -> ProcessResult:  # fmt: skip
    """Run a function in a confined process to its end; arguments as of `start_confined`."""
    return start_confined(
        work, folder, seconds=seconds, memory_mb=memory_mb, reads=reads, code=code,
        unconfined=unconfined, calls=calls,
    )()  # fmt: skip


def start_confined(
    work: Callable[[], object], folder: Path, *, seconds: float, memory_mb: int,
    reads: Sequence[Path] = (), code: Sequence[Path] = (), unconfined: bool = False,
    calls: Sequence[int] = (),
) -> Callable[[], ProcessResult]:  # fmt: skip
    """Start a function in a confined process; return a function that waits for the process's end.

    The latter returns the result when the files that the process left are copied.

    Args:
        work: The function. Bytes that it writes to the descriptor `EVENTS` arrive in the file
            `events` of `folder`.
        folder: The only folder that the process can write to, in memory and empty at first. Its
            files are copied to the folder on disk, except for those of its working folders.
        seconds: Time limit, at which the process is killed. Time in which other processes had its
            processor does not count.
        memory_mb: Limit in MiB of memory allocated after the start, with the folder's files.
        reads: Files and folders that the process may read besides the system's and Python's.
        code: Python files that the process may import; their folders' other files are copied too.
        unconfined: Run the function unconfined if this system cannot confine processes.
        calls: Descriptors that the process gets as `CALLS` and `ANSWERS`; none if empty.

    Raises:
        CannotConfine: the system cannot confine processes, and `unconfined` is false.
    """
    folder.mkdir(parents=True, exist_ok=True)
    run = _Run(work, folder, seconds, memory_mb << 20, tuple(reads), tuple(code), tuple(calls))
    finish = run.start(apart=True)

    def wait() -> ProcessResult:
        try:
            return finish()
        except CannotConfine:
            if not unconfined:
                raise
        return run.start(apart=False)()

    return wait


@dataclass(frozen=True, slots=True)
class _Run:
    work: Callable[[], object]
    folder: Path
    seconds: float
    memory: int
    reads: tuple[Path, ...]
    code: tuple[Path, ...]
    calls: tuple[int, ...]

    def start(self, *, apart: bool) -> Callable[[], ProcessResult]:
        """Fork the supervisor; return a function that waits for its result.

        `apart`: the process is confined.
        """
        reading, writing = os.pipe()
        sys.stdout.flush()
        sys.stderr.flush()
        supervisor = os.fork()
        if supervisor == 0:
            os.close(reading)
            _supervise(self, writing, apart=apart)
        os.close(writing)
        return partial(self._finish, supervisor, reading, apart=apart)

    def _finish(self, supervisor: int, reading: int, *, apart: bool) -> ProcessResult:
        with os.fdopen(reading, "rb", closefd=True) as pipe:
            ready, _, _ = select.select([pipe], [], [], _MOST_TIMES * self.seconds + _MARGIN)
            content = pipe.read(_MOST_RESULT_BYTES) if ready else b""
        if not content:
            os.kill(supervisor, signal.SIGKILL)
        os.waitpid(supervisor, 0)
        if not content:
            return ProcessResult("broken", 0.0, apart, "", "its supervisor ended, or was silent")
        result: dict[str, Any] = json.loads(content)
        if "refused" in result:
            raise CannotConfine(
                f"this system does not let kvtrace confine the file ({result['refused']}); it "
                "needs Linux 5.12, and user namespaces or root's rights: see docs/agents.md. "
                "--unconfined runs the file with your rights"
            )
        return ProcessResult(
            result["how"], result["seconds"], apart, result["output"], result["reason"],
            tuple(result["left_out"]),
        )  # fmt: skip


def _supervise(run: _Run, result_pipe: int, *, apart: bool) -> None:
    """Start and watch the process, write its result to a pipe, and end this process.

    `apart`: the process is confined.
    """
    begun = time.monotonic()
    try:
        os.setsid()
        system_calls.prctl(_SET_DEATH_SIGNAL, signal.SIGKILL)
        gc.disable()  # objects of the parent are not ours to collect
        result: dict[str, Any]
        try:
            supervisor = _Supervisor(run, apart=apart)
            child = supervisor.start()
        except OSError as error:
            result = {"refused": str(error)}
        else:
            result = supervisor.finish(child) | {"seconds": time.monotonic() - begun}
        os.write(result_pipe, json.dumps(result).encode())
    finally:
        os._exit(0)


class _Supervisor:
    """The parent of the confined process; it opens its descriptors before the walls are up."""

    def __init__(self, run: _Run, *, apart: bool) -> None:
        self._run = run
        self._apart = apart
        self._processes = processes.Processes()
        self._memory_limit = self._processes.memory_and_threads(os.getpid())[0] + run.memory
        self._address_limit = privileges.address_space() + run.memory
        self._parent_folder = os.open(run.folder.parent, _FOLDER)
        self._target = os.open(run.folder, _FOLDER)
        self._events_file = os.open(self._events, _MAKING, 0o600, dir_fd=self._parent_folder)
        self._event_bytes = 0
        self._output = b""
        self._left_out: list[str] = []
        self._lowered_priority = 0
        # If allowed, run before the watched process, which must not hold up its supervisor.
        with contextlib.suppress(PermissionError):
            os.nice(-_PRIORITY)
            self._lowered_priority = _PRIORITY
        if apart:
            mounts.enter_namespaces()
            self._left_out = mounts.change_root(run.folder, run.reads, run.memory, run.code)
        for name in _WORK_FOLDERS:
            (run.folder / name).mkdir()
        self._source = os.open(run.folder, _FOLDER)

    @property
    def _events(self) -> str:
        return f"{self._run.folder.name}.{EVENTS_FILE}"

    def start(self) -> int:
        """Fork the process, wait until all its walls are up, and return its process id.

        Raises:
            OSError: a wall cannot be put up.
        """
        self._events_pipe, events = os.pipe()
        self._output_pipe, output = os.pipe()
        walls, ready = os.pipe()
        child = os.fork()
        if child == 0:
            self._run_confined_and_exit(output, events, ready)
        for descriptor in (events, output, ready, *self._run.calls):
            os.close(descriptor)
        message = os.read(walls, _MOST_RESULT_BYTES)
        if message != _READY:
            raise OSError(message.decode(errors="replace") or "the process ended")
        return child

    def finish(self, child: int) -> dict[str, Any]:
        """Wait for the end of the process, copy its files, and return its result as a dict."""
        status, is_late, reason = self._wait(child)
        for pipe in (self._events_pipe, self._output_pipe):
            os.set_blocking(pipe, False)
            with contextlib.suppress(BlockingIOError):
                while self._read_pipe(pipe):
                    pass
        problem = self._copy_left_files()
        reason = reason or problem
        is_complete = os.waitstatus_to_exitcode(status) == _COMPLETED and not reason
        how = "late" if is_late else "whole" if is_complete else "broken"
        output = self._output.decode("utf-8", "replace")
        return {"how": how, "output": output, "reason": reason, "left_out": self._left_out}

    def _wait(self, child: int) -> tuple[int, bool, str]:
        """Wait for the process, and kill it at a limit.

        Returns its exit status, whether it exceeded its time, and another exceeded limit or "".
        """
        begun = time.monotonic()
        last_check, is_late, reason = 0.0, False, ""
        process = os.pidfd_open(child)
        watched = [self._events_pipe, self._output_pipe, process]
        while True:
            ready, _, _ = select.select(watched, [], [], _POLL_SECONDS)
            if process in ready:
                return os.waitpid(child, 0)[1], is_late, reason
            for pipe in ready:
                if not self._read_pipe(pipe):
                    watched.remove(pipe)  # nobody can write to it any more
            now = time.monotonic()
            if is_late or reason or now < last_check + _POLL_SECONDS:
                continue
            last_check, reason = now, self._exceeded_limit(child)
            is_late = now - begun > self._run.seconds and self._has_run_out(child, now - begun)
            if is_late or reason:
                os.kill(child, signal.SIGKILL)

    def _has_run_out(self, child: int, seconds: float) -> bool:
        """Return whether the process used up its time, without what it waited for a processor."""
        try:
            waited = self._processes.seconds_waited(child)
        except OSError:
            return False  # the process has just ended
        return seconds - waited > self._run.seconds

    def _exceeded_limit(self, child: int) -> str:
        """Return a phrase on the limit that the process exceeds, other than time; "" for none."""
        if self._event_bytes > _MOST_EVENTS:
            return f"it wrote more than {_MOST_EVENTS >> 20} MiB of events"
        file_system = os.fstatvfs(self._source)
        file_bytes = (file_system.f_blocks - file_system.f_bfree) * file_system.f_frsize
        file_bytes += (file_system.f_files - file_system.f_ffree) * _BYTES_OF_ENTRY
        try:
            memory, threads = self._processes.memory_and_threads(child)
        except OSError:
            return ""  # the process has just ended
        if threads > _MOST_THREADS:
            return f"it started more than {_MOST_THREADS} threads"
        # Files of an unconfined process are on disk.
        is_exceeded = memory + file_bytes * self._apart > self._memory_limit
        return "it exceeded the memory limit, together with its files" * is_exceeded

    def _read_pipe(self, pipe: int) -> bool:
        """Read and store a chunk of a pipe's bytes; return False at the pipe's end."""
        chunk = os.read(pipe, 1 << 20)
        if pipe == self._output_pipe:
            self._output = (self._output + chunk)[-_MOST_OUTPUT:]
            return bool(chunk)
        self._event_bytes += len(chunk)
        if self._event_bytes <= _MOST_EVENTS:
            os.write(self._events_file, chunk)
        return bool(chunk)

    def _copy_left_files(self) -> str:
        """Copy the files that the process left; return why not all could be copied, or ""."""
        folder = self._run.folder
        source_folder = folder.with_name(f"{folder.name}.left")
        if not self._apart:  # the folder is on disk, and is replaced by an empty one
            folder.rename(source_folder)
            folder.mkdir()
            self._target = os.open(folder, _FOLDER)
        try:
            leftovers.copy_files(
                self._source, self._target, self._run.memory, (*_WORK_FOLDERS, EVENTS_FILE)
            )
        except (leftovers.TooManyFiles, OSError) as problem:
            return f"the files that it left cannot be copied: {problem}"
        finally:
            os.rename(
                self._events, EVENTS_FILE, src_dir_fd=self._parent_folder, dst_dir_fd=self._target
            )
            if not self._apart:
                leftovers.remove(source_folder)
        return ""

    def _run_confined_and_exit(self, output: int, events: int, ready: int) -> None:
        """Put up the walls, write "ready" or the error into a pipe, run the function, and exit."""
        code = 1
        try:
            os.setsid()  # otherwise signals to its group reach the supervisor, in any namespace
            try:
                ready = self._put_up_walls(output, events, ready)
            except OSError as error:
                os.write(ready, str(error).encode())
                return
            os.write(ready, _READY)
            os.close(ready)
            self._run.work()
            code = _COMPLETED
        except BaseException:  # noqa: BLE001 - any error is printed, and ends the process
            with contextlib.suppress(BaseException):
                traceback.print_exc()
        finally:
            with contextlib.suppress(BaseException):
                sys.stdout.flush()
                sys.stderr.flush()
            os._exit(code)

    def _put_up_walls(self, output: int, events: int, ready: int) -> int:
        """Confine this process for good, and return the new number of the descriptor `ready`.

        Only standard streams, events, calls and `ready` stay open.
        """
        system_calls.prctl(_SET_DEATH_SIGNAL, signal.SIGKILL)
        os.nice(self._lowered_priority)
        if self._apart:
            system_calls.set_host_name(b"localhost")
        nothing = os.open(os.devnull, os.O_RDONLY)
        descriptors = [nothing, output, output, events, *self._run.calls, ready]
        copies = [fcntl.fcntl(old, fcntl.F_DUPFD, len(descriptors)) for old in descriptors]
        for number, copy in enumerate(copies):
            os.dup2(copy, number)
        os.closerange(len(descriptors), os.sysconf("SC_OPEN_MAX"))
        sys.stdout = os.fdopen(1, "w", encoding="utf-8", errors="replace", closefd=False)
        sys.stderr = os.fdopen(2, "w", encoding="utf-8", errors="replace", closefd=False)
        folder = self._run.folder
        _set_environment(folder)
        privileges.give_up()
        privileges.limit(self._address_limit, self._run.seconds, apart=self._apart)
        privileges.protect_files(folder)
        filters.install()
        return len(descriptors) - 1


def _set_environment(folder: Path) -> None:
    """Set the confined process's environment variables and working folder."""
    home, temporary = folder / "home", folder / "temporary"
    variables = clean_environment() | {
        "HOME": str(home), "XDG_CACHE_HOME": str(home / ".cache"), "TMPDIR": str(temporary),
        "TRITON_HOME": str(home), "TRITON_CACHE_DIR": str(home / ".triton"),
        "TORCHINDUCTOR_CACHE_DIR": str(home / "inductor"), "OMP_NUM_THREADS": "1",
        "TORCH_COMPILE_DISABLE": "1",  # it starts compilers; without them functions run as they are
        # Kernels run in the evaluator, also where there is a GPU.
        "CUDA_VISIBLE_DEVICES": "", "HIP_VISIBLE_DEVICES": "", "ROCR_VISIBLE_DEVICES": "",
    }  # fmt: skip
    for name in [*os.environ]:
        if name not in variables:
            del os.environ[name]
    os.environ |= variables
    tempfile.tempdir = None
    os.chdir(folder / "work")
