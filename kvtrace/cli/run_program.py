"""Recording of a program: executed as `python` would run it, or running already (`--pid`)."""

import os
import re
import select
import site
import socket
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager, suppress
from pathlib import Path
from tempfile import TemporaryDirectory, mkdtemp
from types import ModuleType
from typing import Final, NoReturn

from kvtrace.capture.attach import BEGAN
from kvtrace.schema.errors import BadSetting, RecordingUnavailable
from kvtrace.version import __version__

AUTOSTART = "kvtrace.pth"

_INTERPRETER = re.compile(r"python[\d.]*(?:\.exe)?")


def run_program(program: Sequence[str], as_module: bool, variables: Mapping[str, str]) -> NoReturn:
    """Run a script or module with additional environment variables, and exit as the program does.

    If the autostart line is installed, this process becomes the program. If not (a checkout that
    was never installed), the program runs inside this process.

    Raises:
        BadSetting: the script does not exist, or is Python itself.
    """
    name = program[0]
    if _INTERPRETER.fullmatch(Path(name).name):
        raise BadSetting(
            f"{name} is Python itself, which runs the program anyway; name the script, or with -m "
            "the module: kvtrace run -m pytest tests/"
        )
    if not as_module and not Path(name).exists():
        raise BadSetting(f"there is no script {name!r} to run")
    os.environ.update(variables)
    if _autostarts():
        _become([sys.executable, *(("-m",) if as_module else ()), *program])
    _run_inside(program, as_module)
    raise SystemExit(0)


def check_writable(folder: Path, consequence: str) -> None:
    """Raise BadSetting, with its consequence, if no trace can be written into a folder.

    The folder need not exist yet.
    """
    place = next(path for path in (folder, *folder.parents) if os.path.lexists(path))
    try:
        if not place.is_dir():
            raise NotADirectoryError(f"{place} is no folder")
        Path(mkdtemp(prefix=".kvtrace-", dir=place)).rmdir()
    except OSError as error:
        raise BadSetting(
            f"{folder} cannot be written to ({error.strerror or error}), so {consequence}; "
            "name another folder with -o"
        ) from error


def _autostarts() -> bool:
    folders = [*site.getsitepackages(), site.getusersitepackages()]
    return any(Path(folder, AUTOSTART).exists() for folder in folders)


def _become(command: list[str]) -> NoReturn:
    if sys.platform == "win32":  # exec there returns to the shell at once
        raise SystemExit(subprocess.call(command))
    sys.stdout.flush()
    sys.stderr.flush()
    os.execv(command[0], command)  # noqa: S606 - no shell, and the arguments are the user's own


def _run_inside(program: Sequence[str], as_module: bool) -> None:
    """Run the program in a new `__main__` module, as `python -m cProfile` does."""
    from kvtrace import _boot

    _boot.boot()
    sys.argv = list(program)
    if as_module:
        import runpy

        sys.path.insert(0, os.getcwd())  # noqa: PTH109 - as python -m does
        _execute(lambda: runpy.run_module(program[0], run_name="__main__", alter_sys=True))
        return
    script = Path(program[0])
    if script.is_dir() or script.suffix in (".zip", ".pyz"):
        import runpy

        _execute(lambda: runpy.run_path(str(script), run_name="__main__"))
        return
    script = script.absolute()
    sys.path.insert(0, str(script.parent))
    main = ModuleType("__main__")
    main.__file__ = str(script)
    main.__builtins__ = __builtins__  # type: ignore[attr-defined]
    sys.modules["__main__"] = main
    code = compile(script.read_bytes(), str(script), "exec", dont_inherit=True)
    _execute(lambda: exec(code, main.__dict__))  # noqa: S102 - the user's script is the purpose


def _execute(program: Callable[[], object]) -> None:
    """Run a program; an exception ends the process as under `python`."""
    try:
        program()
    except Exception as error:
        own_frames = 2  # this function's, and the lambda's
        trace = error.__traceback__
        for _ in range(own_frames):
            trace = trace.tb_next if trace is not None and trace.tb_next is not None else trace
        sys.last_type, sys.last_value, sys.last_traceback = type(error), error, trace
        sys.excepthook(type(error), error.with_traceback(trace), trace)
        raise SystemExit(1) from error


# Recording of a running program: `kvtrace run --pid`, by `sys.remote_exec` of Python 3.14.
#
# The command listens at a socket and has the program's main thread execute `_SCRIPT`, which
# connects and starts a recording (`capture/attach.py`). That ends after its time, or as the command
# closes the connection.

#: Seconds that the program's main thread has to begin, which it does between two Python bytecodes.
PATIENCE: Final = 10.0

#: What Python 3.14 executes in a namespace of its own; the program sees no exception of it. It is a
#: thread that imports kvtrace, since the main thread may be amid the import of what that needs.
_SCRIPT: Final = """\
def begin():
    import socket
    try:
        with socket.socket(socket.AF_UNIX) as connection:
            connection.connect({address!r})
            try:
                from kvtrace import __version__
                if __version__ != {version!r}:
                    raise ImportError("its kvtrace is " + __version__ + ", not " + {version!r})
                from kvtrace.capture.attach import record
                record(connection, {out!r}, {seconds!r}, {settings!r})
            except BaseException as error:
                kind = "" if hasattr(error, "slug") else type(error).__name__ + ": "
                connection.sendall((kind + str(error) + "\\n").encode())
    except OSError:
        pass
import _thread
_thread.start_new_thread(begin, ())
"""


def record_process(
    pid: int,
    out: str,
    seconds: float | None = None,
    settings: Mapping[str, str] | None = None,
    patience: float = PATIENCE,
) -> str:
    """Record a process into `out` until `seconds` have passed, Ctrl-C, or its end.

    Return a sentence about the recording.

    Raises:
        RecordingUnavailable: the process cannot be recorded, or launched no kernel.

    """
    with _process(pid) as process, TemporaryDirectory(prefix="kvtrace-") as folder:
        address = str(Path(folder, "socket"))
        script = Path(folder, "begin.py")
        text = _SCRIPT.format(
            address=address,
            version=__version__,
            out=out,
            seconds=seconds,
            settings=dict(settings or {}),
        )
        script.write_text(text, encoding="utf-8")
        with closing(socket.socket(socket.AF_UNIX)) as listener:
            listener.bind(address)
            listener.listen(1)
            _execute_in(pid, str(script))
            connection = _connection(listener, pid, process, patience)
        with connection:
            run_id = _answer(connection, pid, process)
    if run_id == "":
        raise RecordingUnavailable(
            f"process {pid} launched no kernel that is recorded, so nothing is in {out}"
        )
    if run_id is None:
        return f"process {pid} ended while it was recorded into {out}"
    return f"process {pid} was recorded as run {run_id} in {out}"


@contextmanager
def _process(pid: int) -> Iterator[int]:
    """Open a descriptor of a process of this user, readable once the process has ended."""
    try:
        owner = os.stat(f"/proc/{pid}").st_uid  # noqa: PTH116
        descriptor = os.pidfd_open(pid)
    except OSError as error:
        raise RecordingUnavailable(f"there is no process {pid} to record") from error
    try:
        if owner != os.geteuid():
            raise RecordingUnavailable(f"process {pid} is of another user, who has to record it")
        yield descriptor
    finally:
        os.close(descriptor)


def _execute_in(pid: int, script: str) -> None:
    """Have a process execute a script as soon as its main thread executes Python code."""
    version = f"Python {sys.version_info.major}.{sys.version_info.minor}"
    execute = getattr(sys, "remote_exec", None)
    if execute is None:
        raise RecordingUnavailable(
            f"run --pid needs Python 3.14 or newer, here and in process {pid}; this is {version}"
        )
    try:
        execute(pid, script)
    except PermissionError as error:
        raise RecordingUnavailable(
            f"process {pid} cannot be traced by this one ({error}); root can, or "
            "kernel.yama.ptrace_scope=0 permits it"
        ) from error
    except (RuntimeError, OSError) as error:
        if "not enabled" in str(error):
            reason = "was started with -X disable-remote-debug or PYTHON_DISABLE_REMOTE_DEBUG"
        else:
            reason = f"does not run the same {version} as this command ({error})"
        raise RecordingUnavailable(f"process {pid} cannot be recorded: it {reason}") from error


def _connection(listener: socket.socket, pid: int, process: int, patience: float) -> socket.socket:
    """Return the connection of a process that was to execute the script; else cancel that."""
    connection = None
    try:
        ready = _first_of(listener, process, patience)
        if ready == listener.fileno():
            connection, _ = listener.accept()
            return connection
    finally:
        if connection is None:
            with suppress(RecordingUnavailable):
                _execute_in(pid, os.devnull)  # in place of the script, whose file is removed
    if ready == process:
        raise RecordingUnavailable(f"process {pid} has ended")
    raise RecordingUnavailable(
        f"process {pid} was not recorded: for {patience:g} s its main thread waited, or was in a "
        "call of other than Python code"
    )


def _answer(connection: socket.socket, pid: int, process: int) -> str | None:
    """Return what a process says at the end of its recording; None if the process ended."""
    with connection.makefile(encoding="utf-8") as lines:
        first = lines.readline()
        if first != BEGAN:
            reason = first.strip() or "it ended"
            raise RecordingUnavailable(f"process {pid} cannot be recorded: {reason}")
        try:
            ready = _first_of(connection, process)
        except KeyboardInterrupt:
            connection.shutdown(socket.SHUT_WR)
            ready = _first_of(connection, process)
        last = lines.readline() if ready != process else ""
    return last.strip() if last else None


def _first_of(answers: socket.socket, process: int, seconds: float | None = None) -> int | None:
    """Return the descriptor that is readable first; None if neither is before its time."""
    ready, _, _ = select.select([answers.fileno(), process], [], [], seconds)
    return next(iter(ready), None)
