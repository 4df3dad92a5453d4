"""A helper process with torch and a clean environment, which runs functions for this process.

A process's initial environment stays in its memory and in /proc/self/environ, also in forks, even
if variables are deleted later. This process's environment may contain secrets, so processes for
untrusted code are forked from the helper. An idle helper is reused by the next judgment.
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
from functools import partial
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
#: Helpers that have answered and wait for the next function, at most a few: by whether they have a
#: clean environment.
_idle: dict[bool, list[HelperProcess]] = {True: [], False: []}
_MOST_IDLE: Final = 2


class HelperProcess:
    """A process that runs functions of kvtrace for this process, one at a time; not confined.

    `owner` is the id of the process that created it. It has an environment without secrets if
    `is_clean`, else this process's. It ends with the thread that created it.
    """

    def __init__(self, *, is_clean: bool = True) -> None:
        self.owner = os.getpid()
        self._process = subprocess.Popen(
            [sys.executable, "-P", "-c", _PROGRAM, _ROOT, str(self.owner)],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE,
            env=clean_environment() if is_clean else None, start_new_session=True,
        )  # fmt: skip
        self._owes_answer = False

    @property
    def pid(self) -> int:
        """The process id."""
        return self._process.pid

    def ask(self, function: Callable[..., Any], *arguments: Any) -> None:
        """Start a function with arguments in the process; `answer` waits for its result.

        The function must be importable by name, as for pickle.
        """
        assert self._process.stdin is not None
        self._owes_answer = True
        try:
            pickle.dump((function, arguments), self._process.stdin)
            self._process.stdin.flush()
        except BrokenPipeError:
            return  # the process has ended; `answer` reports that

    def answer(self) -> Any:
        """Wait for the function that `ask` started, and return its result.

        Raises:
            KvtraceError: the function raised this error.
            CannotJudge: the function raised another error, or the process ended before that.
        """
        assert self._process.stdout is not None
        try:
            succeeded, value = pickle.load(self._process.stdout)  # noqa: S301 - our own code wrote it
        except EOFError as error:
            raise CannotJudge("a process of kvtrace judge ended before it was done") from error
        self._owes_answer = False
        if succeeded:
            return value
        raise value

    def is_idle(self) -> bool:
        """Return whether the helper runs, belongs to this process, and owes no answer."""
        return self.owner == os.getpid() and not self._owes_answer and self._process.poll() is None

    def kill(self) -> None:
        """Kill the process, and all that it started."""
        self._process.kill()

    def end(self) -> None:
        """Kill the process, and release its pipes, which no other thread may read meanwhile."""
        self.kill()
        self._process.communicate()


@contextmanager
def helper_process(*, is_clean: bool = True) -> Iterator[HelperProcess]:
    """Yield an idle or new helper for exclusive use; kill it afterwards if it owes an answer."""
    helpers = _idle[is_clean]
    helper = next((idle for idle in iter(partial(_pop, helpers), None) if idle.is_idle()), None)
    helper = helper or HelperProcess(is_clean=is_clean)
    try:
        yield helper
    finally:
        if helper.is_idle() and len(helpers) < _MOST_IDLE:
            helpers.append(helper)
        else:
            helper.end()


def _pop(helpers: list[HelperProcess]) -> HelperProcess | None:
    return helpers.pop() if helpers else None


@atexit.register
def _end_idle() -> None:
    for helper in (*_idle[True], *_idle[False]):
        if helper.owner == os.getpid():
            helper.end()


def serve(parent: int) -> None:
    """Run the functions that arrive on standard input, and write results to standard output.

    This is the helper's main function; it ends with its input, or with the process `parent`.
    """
    system_calls.prctl(_SET_DEATH_SIGNAL, signal.SIGKILL)
    if os.getppid() != parent:
        return  # the parent ended before this process was bound to it
    requests, answers = os.fdopen(os.dup(0), "rb"), os.fdopen(os.dup(1), "wb")
    nothing = os.open(os.devnull, os.O_RDONLY)
    os.dup2(nothing, 0)
    os.dup2(2, 1)
    while requests.peek(1):
        function, arguments = pickle.load(requests)  # noqa: S301 - our parent wrote it
        try:
            content = pickle.dumps((True, function(*arguments)))
        except KvtraceError as error:
            content = pickle.dumps((False, error))
        except Exception as error:  # noqa: BLE001 - it is raised where the result is asked for
            content = pickle.dumps((False, CannotJudge(f"{type(error).__name__}: {error}")))
        answers.write(content)
        answers.flush()
