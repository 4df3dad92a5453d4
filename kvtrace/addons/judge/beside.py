"""A process with torch and a clean environment that runs functions concurrently with this one.

The environment that a process is executed with stays in its memory and in /proc/self/environ, and
so in those of its forks, whatever is deleted later. So what runs code that nobody trusts is not
forked from this process, whose environment may hold secrets. It is kept for the next question.
"""

from __future__ import annotations

import atexit
import os
import pickle
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final

import kvtrace
from kvtrace.addons.judge.confining import clean_environment
from kvtrace.addons.judge.request import CannotJudge
from kvtrace.addons.judge.walls import system_calls
from kvtrace.schema.errors import KvtraceError

_SET_DEATH_SIGNAL: Final = 1
_ROOT: Final = str(Path(kvtrace.__file__).resolve().parents[1])
_PROGRAM: Final = (
    "import sys; sys.path[:] = [*dict.fromkeys([*sys.path, sys.argv[1]])]; "
    "from kvtrace.addons.judge.beside import serve; serve(int(sys.argv[2]))"
)
#: Processes that have answered, and wait.
_idle: list[HelperProcess] = []


class HelperProcess:
    """A process of kvtrace's own code. It is not a wall: it may do what this one may."""

    def __init__(self) -> None:
        self.owner = os.getpid()
        self._process = subprocess.Popen(
            [sys.executable, "-P", "-c", _PROGRAM, _ROOT, str(self.owner)],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=clean_environment(),
            start_new_session=True,
        )  # fmt: skip
        self._asked = False

    @property
    def pid(self) -> int:
        """Its number."""
        return self._process.pid

    def ask(self, function: Callable[..., Any], *arguments: Any) -> None:
        """Have it run a function that pickle finds by its name; `answer` waits for it."""
        assert self._process.stdin is not None
        self._asked = True
        try:
            pickle.dump((function, arguments), self._process.stdin)
            self._process.stdin.flush()
        except BrokenPipeError:
            return  # it has ended, as `answer` says

    def answer(self) -> Any:
        """Wait for what the function returns.

        Raises:
            KvtraceError: as the function did.
            CannotJudge: it raised something else, or the process ended before it.

        """
        assert self._process.stdout is not None
        try:
            done, value = pickle.load(self._process.stdout)  # noqa: S301 - our own code wrote it
        except EOFError as error:
            raise CannotJudge("a process of kvtrace judge ended before it was done") from error
        self._asked = False
        if done:
            return value
        raise value

    def is_idle(self) -> bool:
        """Whether this process can ask it: it runs, and owes no answer."""
        return self.owner == os.getpid() and not self._asked and self._process.poll() is None

    def end(self) -> None:
        """End it."""
        self._process.kill()
        self._process.communicate()


@contextmanager
def helper_process() -> Iterator[HelperProcess]:
    """Give a process for exclusive use; it is ended if it still owes an answer."""
    found = next((each for each in iter(_taken, None) if each.is_idle()), None) or HelperProcess()
    try:
        yield found
    finally:
        if found.is_idle():
            _idle.append(found)
        else:
            found.end()


def _taken() -> HelperProcess | None:
    return _idle.pop() if _idle else None


@atexit.register
def _end_idle() -> None:
    for each in _idle:
        if each.owner == os.getpid():
            each.end()


def serve(parent: int) -> None:
    """Answer what is asked on standard input until it ends, or the process that asks does."""
    system_calls.prctl(_SET_DEATH_SIGNAL, signal.SIGKILL)
    if os.getppid() != parent:
        return  # it ended before we could ask to end with it
    asked, answers = os.fdopen(os.dup(0), "rb"), os.fdopen(os.dup(1), "wb")
    nothing = os.open(os.devnull, os.O_RDONLY)
    os.dup2(nothing, 0)
    os.dup2(2, 1)
    while asked.peek(1):
        function, arguments = pickle.load(asked)  # noqa: S301 - the process that started us wrote it
        try:
            content = pickle.dumps((True, function(*arguments)))
        except KvtraceError as error:
            content = pickle.dumps((False, error))
        except Exception as error:  # noqa: BLE001 - it is raised where the result is asked for
            content = pickle.dumps((False, CannotJudge(f"{type(error).__name__}: {error}")))
        answers.write(content)
        answers.flush()
