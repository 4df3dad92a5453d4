"""A function that runs in a fork of this process, while this one goes on."""

from __future__ import annotations

import ctypes
import os
import pickle
import signal
import sys
from collections.abc import Callable
from types import TracebackType
from typing import Generic, TypeVar

from kvtrace.candidates.request import CannotJudge
from kvtrace.schema.errors import KvtraceError

_SET_DEATH_SIGNAL = 1

Result = TypeVar("Result")


class Beside(Generic[Result]):
    """A function of ours in a process of its own; as a context, it is ended with the block.

    It is no wall: the process may do what this one may. Its result must be one that pickle takes.
    """

    def __init__(self, work: Callable[[], Result]) -> None:
        self._reading, writing = os.pipe()
        sys.stdout.flush()
        sys.stderr.flush()
        parent = os.getpid()
        self._child: int | None = os.fork()
        if self._child == 0:
            os.close(self._reading)
            _hand_over(work, writing, parent)
        os.close(writing)

    def result(self) -> Result:
        """Wait for what the function returns.

        Raises:
            KvtraceError: as the function did.
            CannotJudge: it raised something else, or the process ended before it.

        """
        with os.fdopen(self._reading, "rb", closefd=False) as pipe:
            content = pipe.read()
        self._end(kill=False)
        if not content:
            raise CannotJudge("a process of kvtrace judge ended before it was done")
        done, value = pickle.loads(content)  # noqa: S301 - our own code wrote it
        if done:
            found: Result = value
            return found
        raise value

    def __enter__(self) -> Beside[Result]:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:  # fmt: skip
        self._end(kill=True)
        os.close(self._reading)

    def _end(self, *, kill: bool) -> None:
        if self._child is None:
            return
        if kill:
            os.kill(self._child, signal.SIGKILL)
        os.waitpid(self._child, 0)
        self._child = None


def _hand_over(work: Callable[[], Result], writing: int, parent: int) -> None:
    """Run the function, and hand over what it returns or raises; never returns."""
    try:
        ctypes.CDLL(None).prctl(_SET_DEATH_SIGNAL, signal.SIGKILL, 0, 0, 0)
        if os.getppid() != parent:
            return  # it ended before we could ask to end with it
        try:
            content = pickle.dumps((True, work()))
        except KvtraceError as error:
            content = pickle.dumps((False, error))
        except Exception as error:  # noqa: BLE001 - it is raised where the result is asked for
            content = pickle.dumps((False, CannotJudge(f"{type(error).__name__}: {error}")))
        with os.fdopen(writing, "wb") as pipe:
            pipe.write(content)
    finally:
        os._exit(0)
