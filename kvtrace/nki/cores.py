"""The two cores of a pair, side by side where they wait for each other.

Programs run one after the other. Where the first waits for the second, at a barrier or for what it
sends, the second runs in a thread of its own until it waits as well; one of both runs at a time.
"""

import threading
from collections.abc import Callable
from queue import SimpleQueue
from typing import Any, Final

import numpy as np

from kvtrace.nki.errors import NkiError
from kvtrace.nki.machine import Run, set_current

#: Cores that can wait for each other (reference of `nki.isa.core_barrier`).
PAIR: Final = 2


class _AbandonedError(BaseException):
    """Ends the second program where the first has failed."""


class _Second:
    """The second program, in a thread of its own."""

    def __init__(self, run: Run, call: Callable[[], Any]) -> None:
        self.ended = False
        self._run = run
        self._call = call
        self._error: BaseException | None = None
        self._turns: SimpleQueue[bool] = SimpleQueue()
        self._stops: SimpleQueue[None] = SimpleQueue()
        self._thread = threading.Thread(target=self._work, name="kvtrace-core-1", daemon=True)
        self._thread.start()

    def advance(self) -> None:
        """Have it run until it waits or ends; what it raises is raised here."""
        state = self._run.leave()
        self._turns.put(True)
        self._stops.get()
        self._run.enter(state)
        if self._error is not None:
            error, self._error = self._error, None
            raise error

    def wait(self) -> None:
        """Wait, in its own thread, until the first program lets it go on."""
        state = self._run.leave()
        self._stops.put(None)
        if not self._turns.get():
            raise _AbandonedError
        self._run.enter(state)

    def abandon(self) -> None:
        """End it where it waits."""
        if not self.ended:
            self._turns.put(False)
            self._thread.join()

    def _work(self) -> None:
        if not self._turns.get():
            return
        set_current(self._run)
        try:
            with np.errstate(all="ignore"):
                self._run.begin_program(1)
                self._call()
                self._run.let_go()
        except _AbandonedError:
            pass
        except BaseException as error:  # noqa: BLE001 - is raised where program 0 waits
            self._error = error
        finally:
            set_current(None)
            self.ended = True
            self._stops.put(None)


class Cores:
    """Runs the programs of a launch, and has two of them meet."""

    def __init__(self, run: Run, call: Callable[[], Any]) -> None:
        """`call` calls the kernel for the program that the run is at."""
        self._run = run
        self._call = call
        self._second: _Second | None = None
        run.meet = self.meet

    def execute(self) -> Any:
        """Run all programs, and give what the first one returned."""
        run = self._run
        try:
            run.begin_program(0)
            result = self._call()
            run.let_go()
            if self._second is not None:
                self._finish(self._second)
        finally:
            if self._second is not None:
                self._second.abandon()
        for program in range(1 if self._second is None else PAIR, run.programs):
            run.begin_program(program)
            self._call()
            run.let_go()
        return result

    def meet(self, what: str) -> bool:
        """Wait until the other program has come as far. Gives whether this one came last.

        Raises:
            NkiError: the other one has ended, or the grid is not of two programs.
        """
        run = self._run
        if run.programs == 1:
            return True
        if run.programs != PAIR:
            raise NkiError(f"{what} is for grids of {PAIR} programs, not of {run.programs}")
        if run.program == 1:
            if self._second is None:
                raise NkiError(f"program 1 waits at {what} for program 0, which has ended")
            self._second.wait()
            return False
        if self._second is None:
            self._second = _Second(run, self._call)
        if not self._second.ended:
            self._second.advance()
        if self._second.ended:
            raise NkiError(f"program 0 waits at {what} for program 1, which has ended")
        return True

    def _finish(self, second: _Second) -> None:
        second.advance()
        if not second.ended:
            raise NkiError("program 1 waits for program 0, which has ended")
