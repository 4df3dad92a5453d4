"""Programs side by side where they wait for each other: the two cores of a pair, or a whole grid.

Programs run one after the other. Where the first waits for the others, at a barrier or for what
they send, each of these runs in a separate thread until it waits as well; one runs at a time.
"""

import threading
from collections.abc import Callable
from queue import SimpleQueue
from typing import Any, Final

import numpy as np

from kvtrace.addons.neuron.errors import NkiError
from kvtrace.addons.neuron.machine import Run, set_current

#: Cores that can wait for each other (reference of `nki.isa.core_barrier`).
PAIR: Final = 2


class _AbandonedError(BaseException):
    """Ends the other programs where the first has failed."""


class _Other:
    """A program but the first, in a separate thread."""

    def __init__(self, run: Run, call: Callable[[], Any], program: int) -> None:
        self.ended = False
        self.program = program
        self._run = run
        self._call = call
        self._error: BaseException | None = None
        self._turns: SimpleQueue[bool] = SimpleQueue()
        self._stops: SimpleQueue[None] = SimpleQueue()
        self._thread = threading.Thread(
            target=self._work, name=f"kvtrace-core-{program}", daemon=True
        )
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
        """Wait, in its own thread, until the first program lets it continue."""
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
                self._run.begin_program(self.program)
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
    """Runs the programs of a launch, and has them meet."""

    def __init__(self, run: Run, call: Callable[[], Any]) -> None:
        """`call` calls the kernel for the program that the run is at."""
        self._run = run
        self._call = call
        self._others: list[_Other] = []
        run.meet = self.meet

    def execute(self) -> Any:
        """Run all programs, and give what the first one returned."""
        run = self._run
        try:
            run.begin_program(0)
            result = self._call()
            run.let_go()
            for other in self._others:
                self._finish(other)
        finally:
            for other in self._others:
                other.abandon()
        for program in range(1 + len(self._others), run.programs):
            run.begin_program(program)
            self._call()
            run.let_go()
        return result

    def meet(self, what: str, pair: bool = True) -> bool:
        """Wait until the other programs have come as far. Gives whether this one came last.

        Raises:
            NkiError: one has ended, or the grid is not of two programs where `pair` asks for that.
        """
        run = self._run
        if run.programs == 1:
            return True
        if pair and run.programs != PAIR:
            raise NkiError(f"{what} is for grids of {PAIR} programs, not of {run.programs}")
        if run.program:
            if not self._others:
                raise NkiError(
                    f"program {run.program} waits at {what} for program 0, which has ended"
                )
            self._others[run.program - 1].wait()
            return False
        if not self._others:
            numbers = range(1, run.programs)
            self._others = [_Other(run, self._call, program) for program in numbers]
        for other in self._others:
            if not other.ended:
                other.advance()
            if other.ended:
                raise NkiError(
                    f"program 0 waits at {what} for program {other.program}, which has ended"
                )
        return True

    def _finish(self, other: _Other) -> None:
        other.advance()
        if not other.ended:
            raise NkiError(f"program {other.program} waits for program 0, which has ended")
