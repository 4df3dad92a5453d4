"""Programs that start in milliseconds: each is forked from a Python that has imported torch.

Linux only, as are the programs that launch kernels.

A fresh interpreter takes 1.5 s of processor time to import torch, which is most of what a test that
runs a small program costs. In all else a program started here is a process of its own: environment,
folder, arguments, `__main__`, path, output, exit code and the signals it gets are as with `python
ARGUMENTS`, Triton and kvtrace are not yet imported, and the autostart line runs first.
Tests of how a process starts (`test_capture_boot.py`, `tests/packaging`) start fresh ones.
"""

import atexit
import json
import os
import signal
import socket
import subprocess
import sys
import tempfile
import threading
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from types import TracebackType
from typing import IO, Final, Self

from tests.support.tiers import PROGRAM

SERVER: Final = Path(__file__).with_name("warm_server.py")
CLIENT: Final = Path(__file__).with_name("warm_client.py")
LARGEST_REQUEST: Final = 1 << 17


class Program:
    """A running program, used as a `subprocess.Popen` with pipes for text."""

    def __init__(self, arguments: list[str], out: int, errors: int, told: int) -> None:
        self.args = arguments
        self.stdout: IO[str] = os.fdopen(out, encoding="utf-8")
        self.stderr: IO[str] = os.fdopen(errors, encoding="utf-8")
        self._told: IO[str] = os.fdopen(told, encoding="ascii")
        self.pid = int(self._told.readline())
        self.returncode: int | None = None

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, value: object, trace: TracebackType | None
    ) -> None:
        for file in (self.stdout, self.stderr, self._told):
            file.close()

    def wait(self) -> int:
        """Exit code; negative for the signal that ended it."""
        if self.returncode is None:
            self.returncode = int(self._told.readline())
        return self.returncode

    def communicate(self, timeout: float) -> tuple[str, str]:
        """All that it prints until its end; after `timeout` seconds it is killed, an error here."""
        late = threading.Event()

        def end() -> None:
            late.set()
            os.kill(self.pid, signal.SIGKILL)

        watch = threading.Timer(timeout, end)
        watch.start()
        errors: list[str] = []
        reader = threading.Thread(target=lambda: errors.append(self.stderr.read()))
        reader.start()
        out = self.stdout.read()
        reader.join()
        self.wait()
        watch.cancel()
        if late.is_set():
            raise subprocess.TimeoutExpired(self.args, timeout, out, errors[0])
        return out, errors[0]


class WarmPython:
    """Forks programs from one server, which is started with the first of them."""

    def __init__(self, python: Path, modules: tuple[str, ...]) -> None:
        """python: the interpreter, whose site-packages hold the autostart line or do not."""
        self._folder: tempfile.TemporaryDirectory[str] | None = None
        self._connection, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        clean = {
            name: value
            for name, value in os.environ.items()
            if not name.startswith(("KVTRACE", "PYTHON", "TRITON"))
        }
        with theirs:
            self._server = subprocess.Popen(
                [str(python), str(SERVER), str(theirs.fileno()), *modules],
                pass_fds=[theirs.fileno()],
                stdin=subprocess.DEVNULL,
                env=clean,
                cwd="/",  # oneMKL loads nothing where the folder was deleted, as a test's is
            )

    def start(
        self, *arguments: str | Path, folder: Path, environment: Mapping[str, str]
    ) -> Program:
        """Start `python ARGUMENTS` in a folder: a script or `-c CODE`, and what it is given."""
        sys.audit(PROGRAM)
        texts = [str(argument) for argument in arguments]
        request = {"arguments": texts, "folder": str(folder), "environment": dict(environment)}
        (out, to_out), (errors, to_errors), (told, to_told) = (os.pipe() for _ in range(3))
        theirs = [to_out, to_errors, to_told]
        socket.send_fds(self._connection, [json.dumps(request).encode()], theirs)
        for descriptor in theirs:
            os.close(descriptor)
        return Program(texts, out, errors, told)

    def run(
        self,
        *arguments: str | Path,
        folder: Path,
        environment: Mapping[str, str],
        timeout: float = 120,
    ) -> subprocess.CompletedProcess[str]:
        """Run to the end."""
        with self.start(*arguments, folder=folder, environment=environment) as program:
            out, errors = program.communicate(timeout)
            return subprocess.CompletedProcess(program.args, program.wait(), out, errors)

    @property
    def command(self) -> list[str]:
        """What stands for `python` in a command that another program runs.

        A socket takes requests of `warm_client.py` until this process ends.
        """
        if self._folder is None:
            self._folder = tempfile.TemporaryDirectory(prefix="warm-python-")
            listening = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
            listening.bind(f"{self._folder.name}/socket")
            listening.listen()
            threading.Thread(target=self._forward, args=[listening], daemon=True).start()
        return [sys.executable, "-I", "-S", str(CLIENT), f"{self._folder.name}/socket"]

    def _forward(self, listening: socket.socket) -> None:
        while True:
            client, _ = listening.accept()
            with client:
                request, descriptors, *_ = socket.recv_fds(client, LARGEST_REQUEST, 3)
                if request:
                    socket.send_fds(self._connection, [request], descriptors)
                for descriptor in descriptors:
                    os.close(descriptor)

    def close(self) -> None:
        """End the server; programs that still run go on."""
        self._connection.close()
        self._server.wait()


@cache
def warm_python(
    python: Path = Path(sys.executable), modules: tuple[str, ...] = ("torch",)
) -> WarmPython:
    """The one server for an interpreter and what it has imported; ends with this process."""
    warm = WarmPython(python, modules)
    atexit.register(warm.close)
    return warm
