"""Limits around a process that runs code which nobody trusts, as far as the system has them.

`run_confined` forks, confines the child and runs a function in it; what the child leaves is files
in its own folder. Nothing in here is believed to be a wall against an attacker who knows a hole in
the kernel: it keeps careless and cheating code from doing harm, and says which walls there are.
"""

from __future__ import annotations

import contextlib
import ctypes
import gc
import os
import resource
import signal
import struct
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

_NEW_NAMESPACES: Final = 0x00020000 | 0x08000000 | 0x20000000 | 0x40000000  # NS, IPC, PID, NET
_NEW_USER: Final = 0x10000000
_SET_DEATH_SIGNAL: Final = 1
_SET_SUBREAPER: Final = 36
_SET_NO_NEW_PRIVILEGES: Final = 38
_LANDLOCK_CREATE: Final = 444
_LANDLOCK_ADD: Final = 445
_LANDLOCK_RESTRICT: Final = 446
#: Landlock's rights that change files: write, remove, make, refer (2), truncate (3).
_WRITING: Final = 0b1111111110010
_REFER: Final = 1 << 13
_TRUNCATE: Final = 1 << 14
_TCP: Final = 0b11
_SCOPES: Final = 0b11  # abstract sockets, signals
_SECOND: Final = 1.0
_FILES: Final = 512
_LARGEST_FILE: Final = 1 << 31
_PERSONAL: Final = ("KVTRACE", "PYTHONSTARTUP", "SSH_", "AWS_", "GITHUB_", "GIT_")
_SECRET: Final = ("TOKEN", "SECRET", "PASSWORD", "CREDENTIAL", "_KEY")


@dataclass(frozen=True, slots=True)
class Walls:
    """What was kept from a process: each is true where the system let us."""

    network: bool
    writes: bool
    processes: bool

    def missing(self) -> list[str]:
        """Return what was not kept from it, in words."""
        names = {
            "network": "the network", "writes": "files outside of its folder",
            "processes": "signals to other processes",
        }  # fmt: skip
        return [text for name, text in names.items() if not getattr(self, name)]


@dataclass(frozen=True, slots=True)
class Ended:
    """How a confined process ended.

    `how` is `whole`, `late` (it was killed for its time) or `broken` (it died, or its code ended
    the process); `said` the end of its standard output and error.
    """

    how: str
    status: int
    seconds: float
    walls: Walls
    said: str

    @property
    def in_words(self) -> str:
        """What became of it, where it did not come to its end."""
        late = self.how == "late"
        return "took too long and was killed" if late else "ended before it was done"

    @property
    def last_line(self) -> str:
        """The last line that it printed, cut to a sentence's length."""
        lines = [line.strip() for line in self.said.splitlines() if line.strip()]
        return lines[-1][:500] if lines else ""


def run_confined(
    work: Callable[[], None], folder: Path, *, seconds: float, memory_mb: int
) -> Ended:
    """Run a function in a confined process, and wait for it; see `Confined`."""
    return Confined(work, folder, seconds=seconds, memory_mb=memory_mb).ended()


class Confined:
    """A function that runs in a confined process of its own from now on.

    Args:
        work: What to run; what it leaves must be in `folder`.
        folder: The only folder that it may write to; its home and working directory.
        seconds: It is killed after so long, and all that it has started.
        memory_mb: Memory that it may take besides what it begins with.

    """

    def __init__(
        self, work: Callable[[], None], folder: Path, *, seconds: float, memory_mb: int
    ) -> None:
        for name in ("home", "work", "temporary"):
            (folder / name).mkdir(parents=True, exist_ok=True)
        self._folder = folder
        self._begun = time.monotonic()
        self._deadline = self._begun + seconds + 2
        self._reading, writing = os.pipe()
        sys.stdout.flush()
        sys.stderr.flush()
        self._child = os.fork()
        if self._child == 0:
            os.close(self._reading)
            _supervise(work, folder, seconds, memory_mb, writing)
        os.close(writing)

    def ended(self) -> Ended:
        """Wait until it has ended, and return how."""
        status, late = _wait(self._child, self._deadline - time.monotonic())
        with os.fdopen(self._reading, "rb") as pipe:
            said = pipe.read(64).decode("ascii", "replace")
        walls = Walls("n" in said, "w" in said, "p" in said)
        late = late or "l" in said
        whole = os.waitstatus_to_exitcode(status) == 0 and (self._folder / "whole").exists()
        how = "late" if late else "whole" if whole else "broken"
        seconds = time.monotonic() - self._begun
        return Ended(how, status, seconds, walls, _end_of(self._folder / "said"))


def _wait(child: int, seconds: float) -> tuple[int, bool]:
    deadline, pause = time.monotonic() + seconds, 0.002
    while True:
        ended, status = os.waitpid(child, os.WNOHANG)
        if ended:
            return status, False
        if time.monotonic() > deadline:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(child, signal.SIGKILL)
            with contextlib.suppress(ProcessLookupError):
                os.kill(child, signal.SIGKILL)
            return os.waitpid(child, 0)[1], True
        time.sleep(pause)
        pause = min(pause * 1.5, 0.05)


def _supervise(
    work: Callable[[], None], folder: Path, seconds: float, memory_mb: int, writing: int
) -> None:
    """Be the parent of the confined process, and end with what it leaves behind; never returns."""
    code = 1
    try:
        os.setsid()
        libc = ctypes.CDLL(None, use_errno=True)
        libc.prctl(_SET_DEATH_SIGNAL, signal.SIGKILL, 0, 0, 0)
        libc.prctl(_SET_SUBREAPER, 1, 0, 0, 0)
        apart = _namespaces(libc)
        child = os.fork()
        if child == 0:
            _confined(work, folder, memory_mb, seconds, libc, apart, writing)
        status, late = _wait(child, seconds)
        if late:
            os.write(writing, b"l")
        _end_orphans()
        code = 0 if os.waitstatus_to_exitcode(status) == 0 else 1
    finally:
        os._exit(code)


def _end_orphans() -> None:
    """End what the confined process has started and left: it is ours, as the subreaper."""
    while True:
        children = Path(f"/proc/self/task/{os.getpid()}/children")
        try:
            left = [int(each) for each in children.read_text(encoding="ascii").split()]
        except (OSError, ValueError):
            return  # the system does not tell; a namespace of processes has ended them
        if not left:
            return
        for each in left:
            with contextlib.suppress(ProcessLookupError):
                os.kill(each, signal.SIGKILL)
            with contextlib.suppress(ChildProcessError):
                os.waitpid(each, 0)


def _namespaces(libc: Any) -> bool:
    """Go into namespaces without network and other processes, where the system lets us."""
    user, group = os.geteuid(), os.getegid()
    if libc.unshare(_NEW_USER | _NEW_NAMESPACES) != 0:
        return False
    with contextlib.suppress(OSError):
        Path("/proc/self/setgroups").write_text("deny", encoding="ascii")
        Path("/proc/self/uid_map").write_text(f"{user} {user} 1", encoding="ascii")
        Path("/proc/self/gid_map").write_text(f"{group} {group} 1", encoding="ascii")
    return True


def _confined(
    work: Callable[[], None], folder: Path, memory_mb: int, seconds: float, libc: Any,
    apart: bool, writing: int,
) -> None:  # fmt: skip
    """Confine this process, run the function, and end; never returns."""
    code = 1
    try:
        libc.prctl(_SET_DEATH_SIGNAL, signal.SIGKILL, 0, 0, 0)
        libc.prctl(_SET_NO_NEW_PRIVILEGES, 1, 0, 0, 0)
        _own_folders(folder)
        said = os.open(folder / "said", os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
        nothing = os.open(os.devnull, os.O_RDONLY)
        os.dup2(nothing, 0)
        os.dup2(said, 1)
        os.dup2(said, 2)
        sys.stdout = os.fdopen(1, "w", encoding="utf-8", errors="replace", closefd=False)
        sys.stderr = os.fdopen(2, "w", encoding="utf-8", errors="replace", closefd=False)
        writes, tcp, scoped = _landlock(libc, folder)
        walls = ("n" if apart or tcp else "") + ("w" if writes else "")
        os.write(writing, (walls + ("p" if apart or scoped else "")).encode())
        os.closerange(3, _FILES)
        _limits(memory_mb, seconds)
        gc.disable()  # objects of the parent are none of ours to collect
        work()
        (folder / "whole").touch()
        code = 0
    except BaseException:  # noqa: BLE001 - whatever it was, it ends here, and is said
        with contextlib.suppress(BaseException):
            import traceback

            traceback.print_exc()
    finally:
        with contextlib.suppress(BaseException):
            sys.stdout.flush()
            sys.stderr.flush()
        os._exit(code)


def _own_folders(folder: Path) -> None:
    """Let nothing of the user's environment be seen but what running Python takes."""
    for name in [*os.environ]:
        if name.startswith(_PERSONAL) or any(word in name.upper() for word in _SECRET):
            del os.environ[name]
    home, temporary = folder / "home", folder / "temporary"
    os.environ |= {
        "HOME": str(home), "XDG_CACHE_HOME": str(home / ".cache"), "TMPDIR": str(temporary),
        "TRITON_HOME": str(home), "TRITON_CACHE_DIR": str(home / ".triton"),
        "TORCHINDUCTOR_CACHE_DIR": str(home / "inductor"), "OMP_NUM_THREADS": "1",
        # Kernels run in the evaluator, also where there is a GPU.
        "CUDA_VISIBLE_DEVICES": "", "HIP_VISIBLE_DEVICES": "", "ROCR_VISIBLE_DEVICES": "",
    }  # fmt: skip
    tempfile.tempdir = None
    os.chdir(folder / "work")


def _limits(memory_mb: int, seconds: float) -> None:
    pages = int(Path("/proc/self/statm").read_text(encoding="ascii").split()[0])
    most = pages * resource.getpagesize() + (memory_mb << 20)
    for kind, value in (
        (resource.RLIMIT_AS, most),
        (resource.RLIMIT_CPU, int(seconds * 4) + 1),
        (resource.RLIMIT_FSIZE, _LARGEST_FILE),
        (resource.RLIMIT_CORE, 0),
        (resource.RLIMIT_NOFILE, _FILES),
        (resource.RLIMIT_NPROC, 4096),
    ):
        _, hard = resource.getrlimit(kind)
        limit = value if hard == resource.RLIM_INFINITY else min(value, hard)
        resource.setrlimit(kind, (limit, limit))


def _landlock(libc: Any, folder: Path) -> tuple[bool, bool, bool]:
    """Allow changes of files in one folder alone; return which of files, TCP, signals are kept.

    https://docs.kernel.org/userspace-api/landlock.html says what each version knows.
    """
    version = libc.syscall(_LANDLOCK_CREATE, None, ctypes.c_size_t(0), 1)
    if version < 1:
        return False, False, False
    files = _WRITING | (_REFER if version >= 2 else 0) | (_TRUNCATE if version >= 3 else 0)
    tcp = _TCP if version >= 4 else 0
    scopes = _SCOPES if version >= 6 else 0
    attributes = struct.pack("QQQ", files, tcp, scopes)
    attributes = attributes[: 24 if version >= 6 else 16 if version >= 4 else 8]
    rules = libc.syscall(_LANDLOCK_CREATE, attributes, ctypes.c_size_t(len(attributes)), 0)
    if rules < 0:
        return False, False, False
    for path, rights in ((str(folder), files), (os.devnull, 0b10 | (files & _TRUNCATE))):
        opened = os.open(path, os.O_PATH | os.O_CLOEXEC)
        rule = struct.pack("=Qi", rights, opened)
        if libc.syscall(_LANDLOCK_ADD, rules, 1, rule, 0) != 0:
            return False, False, False
        os.close(opened)
    kept = libc.syscall(_LANDLOCK_RESTRICT, rules, 0) == 0
    os.close(rules)
    return kept, kept and bool(tcp), kept and bool(scopes)


def _end_of(path: Path, most: int = 4000) -> str:
    try:
        with path.open("rb") as file:
            size = file.seek(0, os.SEEK_END)
            file.seek(max(0, size - most))
            return file.read().decode("utf-8", "replace")
    except OSError:
        return ""
