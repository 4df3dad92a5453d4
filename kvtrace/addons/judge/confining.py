"""A process that runs code which nobody trusts, its walls, and what is taken over from it.

`run_confined` forks a supervisor, which forks the process: behind the walls of `walls/`, in a
folder in memory. What it leaves is regular files, copied by the supervisor after its end, and
events, through a pipe. Nothing in here is believed to keep out one who knows a hole in the kernel.
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
from pathlib import Path
from typing import Any, Final

from kvtrace.addons.judge.errors import CannotJudge
from kvtrace.addons.judge.walls import (
    filters,
    landlock,
    leftovers,
    mounts,
    privileges,
    processes,
    system_calls,
)

#: The descriptor that a confined process writes events to; they arrive in a file of that name.
EVENTS: Final = 3
#: Those that calls come from, and that answers to them are written to, where it is given any.
CALLS: Final = 4
ANSWERS: Final = 5
EVENTS_FILE: Final = "events"
_OWN: Final = ("home", "work", "temporary")
#: What the process ends with that came to its end; another code ends one that was ended before.
_WHOLE: Final = 113
_SET_DEATH_SIGNAL: Final = 1
_READY: Final = b"ready"
_FOLDER: Final = os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC
_MAKING: Final = os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_NOFOLLOW | os.O_CLOEXEC
_MOST_EVENTS: Final = 256 << 20
_MOST_SAID: Final = 4000
_MOST_TOLD: Final = 1 << 16
_AHEAD: Final = 10
_LOOK_EACH: Final = 0.005
_MOST_THREADS: Final = 256
#: What the kernel needs for an entry of a folder in memory, besides its content.
_BYTES_OF_ENTRY: Final = 1024
_MARGIN: Final = 20.0
#: Variables that Python, libraries and compilers find what they need by; no others are kept.
_KEPT: Final = (
    "PATH", "LANG", "LANGUAGE", "TZ", "USER", "LOGNAME", "HOME", "XDG_CACHE_HOME", "TMPDIR",
    "LD_LIBRARY_PATH", "PYTHONPATH", "PYTHONHOME", "PYTHONDONTWRITEBYTECODE",
    "PYTHONPYCACHEPREFIX", "VIRTUAL_ENV", "CUDA_HOME", "CUDA_PATH", "CC",
)  # fmt: skip
_NO_USER: Final = "nobody"


class CannotConfine(CannotJudge):
    """This system does not allow what confining a process takes."""

    slug = "cannot-confine"


@dataclass(frozen=True, slots=True)
class ProcessResult:
    """How a confined process ended.

    Attributes:
        how: `whole`, `late` (it was killed for its time) or `broken` (it died, its code ended the
            process, or it was killed for a bound that `reason` names).
        seconds: That it took.
        confined: Whether all walls were up; some were missing only where that was asked for.
        said: The end of its standard output and error.
        reason: Why it was killed; empty where it was not, or for its time.
        left_out: What lies beside the code that it ran and was not there for it, with reasons.

    """

    how: str
    seconds: float
    confined: bool
    said: str
    reason: str = ""
    left_out: tuple[str, ...] = ()

    @property
    def in_words(self) -> str:
        """What became of it, where it did not come to its end."""
        if self.how == "late":
            return "took too long and was killed"
        return f"was killed: {self.reason}" if self.reason else "ended before it was done"

    @property
    def last_line(self) -> str:
        """The last line that it printed, cut to a sentence's length."""
        lines = [line.strip() for line in self.said.splitlines() if line.strip()]
        return lines[-1][:500] if lines else ""


def clean_environment() -> dict[str, str]:
    """Return the variables of this process's environment that hold no secret, and are needed.

    Of PYTHONPATH absolute folders are kept: others, and an empty one, are where this was started.
    """
    kept = {name: value for name, value in os.environ.items() if name in _KEPT or name[:3] == "LC_"}
    if "PYTHONPATH" in kept:
        folders = kept["PYTHONPATH"].split(os.pathsep)
        kept["PYTHONPATH"] = os.pathsep.join(filter(os.path.isabs, folders))
    return {"USER": _NO_USER, "LOGNAME": _NO_USER} | kept


def run_confined(
    work: Callable[[], object], folder: Path, *, seconds: float, memory_mb: int,
    reads: Sequence[Path] = (), code: Sequence[Path] = (), unconfined: bool = False,
    calls: Sequence[int] = (),
) -> ProcessResult:  # fmt: skip
    """Run a function in a confined process, wait for it, and take over the files that it leaves.

    Args:
        work: What to run. What it writes to the descriptor `EVENTS` is in the file `events` of
            `folder` then.
        folder: Where the files are, of those that it wrote there. It finds the folder empty, works
            in one of it that is not taken over, and can write to no other.
        seconds: It is killed after so long.
        memory_mb: Memory that it may take besides what it begins with, with its folder's files.
        reads: Files and folders that it may read besides the system's and Python's.
        code: Python files that it may import, with what they may import beside them: copies.
        unconfined: Whether to run it also where this system cannot keep it from the host.
        calls: Descriptors that it gets as `CALLS` and `ANSWERS`; none: it has no such.

    Raises:
        CannotConfine: it cannot, and `unconfined` is false.

    """
    folder.mkdir(parents=True, exist_ok=True)
    run = _Run(work, folder, seconds, memory_mb << 20, tuple(reads), tuple(code), tuple(calls))
    try:
        return run.ended(apart=True)
    except CannotConfine:
        if not unconfined:
            raise
    return run.ended(apart=False)


@dataclass(frozen=True, slots=True)
class _Run:
    work: Callable[[], object]
    folder: Path
    seconds: float
    memory: int
    reads: tuple[Path, ...]
    code: tuple[Path, ...]
    calls: tuple[int, ...]

    def ended(self, *, apart: bool) -> ProcessResult:
        """Fork the supervisor, and wait for what it tells."""
        begun = time.monotonic()
        reading, writing = os.pipe()
        sys.stdout.flush()
        sys.stderr.flush()
        supervisor = os.fork()
        if supervisor == 0:
            os.close(reading)
            _supervise(self, writing, apart=apart)
        os.close(writing)
        with os.fdopen(reading, "rb", closefd=True) as pipe:
            ready, _, _ = select.select([pipe], [], [], self.seconds + _MARGIN)
            content = pipe.read(_MOST_TOLD) if ready else b""
        if not content:
            os.kill(supervisor, signal.SIGKILL)
        os.waitpid(supervisor, 0)
        taken = time.monotonic() - begun
        if not content:
            return ProcessResult(
                "broken", taken, apart, "", "its supervisor ended, or did not answer"
            )
        told: dict[str, Any] = json.loads(content)
        if "refused" in told:
            raise CannotConfine(
                f"this system does not let kvtrace confine what it runs ({told['refused']}); it "
                "takes Linux 5.12, and namespaces of users or root's rights: see docs/agents.md. "
                "--unconfined runs the file with your rights"
            )
        how, said, reason = told["how"], told["said"], told["reason"]
        return ProcessResult(how, taken, apart, said, reason, tuple(told["left_out"]))


def _supervise(run: _Run, telling: int, *, apart: bool) -> None:
    """Be the parent of the confined process, and tell how it ended; never returns."""
    try:
        os.setsid()
        system_calls.prctl(_SET_DEATH_SIGNAL, signal.SIGKILL)
        gc.disable()  # objects of the parent are not ours to collect
        told: dict[str, Any]
        try:
            supervisor = _Supervisor(run, apart=apart)
            child = supervisor.begun()
        except OSError as error:
            told = {"refused": str(error)}
        else:
            told = supervisor.told(child)
        os.write(telling, json.dumps(told).encode())
    finally:
        os._exit(0)


class _Supervisor:
    """The parent of the confined process, with descriptors that were opened before it."""

    def __init__(self, run: _Run, *, apart: bool) -> None:
        self._run = run
        self._apart = apart
        self._processes = processes.Processes()
        self._most = self._processes.memory_and_threads(os.getpid())[0] + run.memory
        self._addresses = privileges.address_space() + run.memory
        self._beside = os.open(run.folder.parent, _FOLDER)
        self._target = os.open(run.folder, _FOLDER)
        self._heard = os.open(self._events, _MAKING, 0o600, dir_fd=self._beside)
        self._bytes_heard = 0
        self._said = b""
        self._left_out: list[str] = []
        self._ahead = 0
        with contextlib.suppress(PermissionError):  # who may, is not held up by what it watches
            os.nice(-_AHEAD)
            self._ahead = _AHEAD
        if apart:
            mounts.enter_namespaces()
            self._left_out = mounts.change_root(run.folder, run.reads, run.memory, run.code)
        for name in _OWN:
            (run.folder / name).mkdir()
        self._source = os.open(run.folder, _FOLDER)

    @property
    def _events(self) -> str:
        return f"{self._run.folder.name}.{EVENTS_FILE}"

    def begun(self) -> int:
        """Fork the process, and return its number once all its walls are up.

        Raises:
            OSError: one of them cannot be had.

        """
        self._hearing, telling = os.pipe()
        self._listening, printing = os.pipe()
        walls, ready = os.pipe()
        child = os.fork()
        if child == 0:
            self._be_confined(printing, telling, ready)
        for each in (telling, printing, ready, *self._run.calls):
            os.close(each)
        told = os.read(walls, _MOST_TOLD)
        if told != _READY:
            raise OSError(told.decode(errors="replace") or "its process ended")
        return child

    def told(self, child: int) -> dict[str, Any]:
        """Wait for the process, take over what it left, and return its result."""
        status, late, reason = self._wait(child)
        for pipe in (self._hearing, self._listening):
            os.set_blocking(pipe, False)
            with contextlib.suppress(BlockingIOError):
                while self._hear(pipe):
                    pass
        not_taken = self._take_over()
        reason = reason or not_taken
        whole = os.waitstatus_to_exitcode(status) == _WHOLE and not reason
        how = "late" if late else "whole" if whole else "broken"
        said = self._said.decode("utf-8", "replace")
        return {"how": how, "said": said, "reason": reason, "left_out": self._left_out}

    def _wait(self, child: int) -> tuple[int, bool, str]:
        """Wait for the process; return its status, and whether and why it was killed."""
        deadline = time.monotonic() + self._run.seconds
        looked, late, reason = 0.0, False, ""
        heard = [self._hearing, self._listening]
        while True:
            ready, _, _ = select.select(heard, [], [], _LOOK_EACH)
            for pipe in ready:
                if not self._hear(pipe):
                    heard.remove(pipe)  # nobody can write to it any more
            ended, status = os.waitpid(child, os.WNOHANG)
            if ended:
                return status, late, reason
            now = time.monotonic()
            if late or reason or now < looked + _LOOK_EACH:
                continue
            looked, late, reason = now, now > deadline, self._excess(child)
            if late or reason:
                os.kill(child, signal.SIGKILL)

    def _excess(self, child: int) -> str:
        """Say what the process has taken too much of; empty where nothing."""
        if self._bytes_heard > _MOST_EVENTS:
            return f"it wrote more than {_MOST_EVENTS >> 20} MiB of events"
        files = os.fstatvfs(self._source)
        held = (files.f_blocks - files.f_bfree) * files.f_frsize
        held += (files.f_files - files.f_ffree) * _BYTES_OF_ENTRY
        try:
            memory, threads = self._processes.memory_and_threads(child)
        except OSError:
            return ""  # it has just ended
        if threads > _MOST_THREADS:
            return f"it started more than {_MOST_THREADS} threads"
        too_much = memory + held * self._apart > self._most  # else they are on disk, with others
        return "it and its files took more memory together than they may" * too_much

    def _hear(self, pipe: int) -> bool:
        """Keep some of what was written to a pipe; return whether there may be more."""
        part = os.read(pipe, 1 << 20)
        if pipe == self._listening:
            self._said = (self._said + part)[-_MOST_SAID:]
            return bool(part)
        self._bytes_heard += len(part)
        if self._bytes_heard <= _MOST_EVENTS:
            os.write(self._heard, part)
        return bool(part)

    def _take_over(self) -> str:
        """Take over the files that it left; return why not all of them were."""
        folder = self._run.folder
        left = folder.with_name(f"{folder.name}.left")
        if not self._apart:  # then its folder is one on disk, and makes place for another
            folder.rename(left)
            folder.mkdir()
            self._target = os.open(folder, _FOLDER)
        try:
            leftovers.take_over(self._source, self._target, self._run.memory, (*_OWN, EVENTS_FILE))
        except (leftovers.TooManyFiles, OSError) as problem:
            return f"what it left cannot be taken over: {problem}"
        finally:
            os.rename(self._events, EVENTS_FILE, src_dir_fd=self._beside, dst_dir_fd=self._target)
            if not self._apart:
                leftovers.remove(left)
        return ""

    def _be_confined(self, printing: int, telling: int, ready: int) -> None:
        """Put up the walls, say so, run the function, and end; never returns."""
        code = 1
        try:
            os.setsid()  # signals to its group reach its supervisor otherwise, in any namespace
            try:
                ready = self._put_up_walls(printing, telling, ready)
            except OSError as error:
                os.write(ready, str(error).encode())
                return
            os.write(ready, _READY)
            os.close(ready)
            self._run.work()
            code = _WHOLE
        except BaseException:  # noqa: BLE001 - whatever it was, it ends here, and is reported
            with contextlib.suppress(BaseException):
                traceback.print_exc()
        finally:
            with contextlib.suppress(BaseException):
                sys.stdout.flush()
                sys.stderr.flush()
            os._exit(code)

    def _put_up_walls(self, printing: int, telling: int, ready: int) -> int:
        """Confine this process; return where `ready` is then, next to its other descriptors."""
        system_calls.prctl(_SET_DEATH_SIGNAL, signal.SIGKILL)
        os.nice(self._ahead)
        if self._apart:
            system_calls.set_host_name(b"localhost")
        nothing = os.open(os.devnull, os.O_RDONLY)
        opened = [nothing, printing, printing, telling, *self._run.calls, ready]
        high = [fcntl.fcntl(each, fcntl.F_DUPFD, len(opened)) for each in opened]
        for number, each in enumerate(high):
            os.dup2(each, number)
        os.closerange(len(opened), os.sysconf("SC_OPEN_MAX"))
        sys.stdout = os.fdopen(1, "w", encoding="utf-8", errors="replace", closefd=False)
        sys.stderr = os.fdopen(2, "w", encoding="utf-8", errors="replace", closefd=False)
        folder = self._run.folder
        _settle_in(folder)
        privileges.give_up()
        privileges.limit(self._addresses, self._run.seconds, apart=self._apart)
        landlock.restrict(folder)
        filters.install()
        return len(opened) - 1


def _settle_in(folder: Path) -> None:
    """Give the process separate variables and folders."""
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
