"""A Python that has imported torch and becomes, by fork, each program that it is asked to run.

Started by `warm_python.py`, with the number of a socket as its argument. A request comes as JSON
with three descriptors: the program's stdout, its stderr, and a pipe that is told its process id
and, when it has ended, its exit code (negative: the signal).
"""

import gc
import json
import os
import socket
import sys
import sysconfig
import warnings
from importlib import import_module
from pathlib import Path
from types import CodeType
from typing import Any

LARGEST_REQUEST = 1 << 17
#: Settings that take effect when torch is imported, which has happened here.
OF_TORCH = ("KVTRACE_DEVICE", "KVTRACE_MEMORY")


def served(connection: socket.socket) -> dict[str, Any]:
    """What to run; comes back in forked processes only, one for each request."""
    while True:
        message, descriptors, *_ = socket.recv_fds(connection, LARGEST_REQUEST, 3)
        _reap()
        if not message:
            os._exit(0)
        if os.fork() == 0:
            connection.close()
            _keep_or_become(*descriptors)
            return dict(json.loads(message))
        for descriptor in descriptors:
            os.close(descriptor)


def _keep_or_become(out: int, errors: int, told: int) -> None:
    """Come back as the program; the process that it was forked from waits for its end."""
    pid = os.fork()
    if pid == 0:
        os.dup2(out, 1)
        os.dup2(errors, 2)
        for descriptor in (out, errors, told):
            os.close(descriptor)
        return
    os.close(out)
    os.close(errors)
    for descriptor in (1, 2):
        os.dup2(0, descriptor)
    os.write(told, b"%d\n" % pid)
    os.write(told, b"%d\n" % os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]))
    os._exit(0)


def _reap() -> None:
    try:
        while os.waitpid(-1, os.WNOHANG)[0]:
            pass
    except ChildProcessError:
        return


def prepared(request: dict[str, Any]) -> tuple[CodeType, dict[str, Any]]:
    """Make this process what `python ARGUMENTS` is before the program's first line."""
    arguments = list(request["arguments"])
    os.environ.clear()
    os.environ.update(request["environment"])
    os.chdir(request["folder"])
    sys.orig_argv = [sys.executable, *arguments]
    while arguments[0] == "-W":
        warnings.filterwarnings(arguments[1])
        arguments = arguments[2:]
    if arguments[0] == "-c":
        text, name, first = arguments[1], "<string>", ""
        sys.argv = ["-c", *arguments[2:]]
    else:
        path = Path(arguments[0]).absolute()
        text, name, first = path.read_text("utf-8"), str(path), str(path.parent)
        sys.argv = arguments
    added = os.environ.get("PYTHONPATH", "")
    sys.path[:1] = [first, *filter(None, added.split(os.pathsep))]
    _run_autostart_line()
    names = vars(sys.modules["__main__"])
    kept = {key: names[key] for key in ("__builtins__", "__loader__")}
    names.clear()
    names.update(kept, __name__="__main__", __doc__=None, __package__=None, __spec__=None)
    if first:
        names["__file__"] = name
    return compile(text, name, "exec"), names


def _run_autostart_line() -> None:
    """As `site` did when this process started, but now in the program's environment."""
    path = Path(sysconfig.get_paths()["purelib"]) / "kvtrace.pth"
    if path.exists():
        exec(path.read_text("utf-8"))
    boot = sys.modules.get("kvtrace._boot")
    if boot is not None and any(map(os.environ.get, OF_TORCH)):
        for library in sorted(boot._libraries & sys.modules.keys()):
            boot._imported(library)


if __name__ == "__main__":
    for module in sys.argv[2:]:
        import_module(module)
    gc.freeze()
    exec(*prepared(served(socket.socket(fileno=int(sys.argv[1])))))
