"""Programs of a launch that wait for each other: the two cores of a pair, or a whole grid.

Programs run one after the other. If the first waits for the others, at a barrier or for a tile,
each other program runs in its own thread until it waits as well; only one runs at a time.
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
    """The exception that ends the threads of other programs after one program failed."""


class _ProgramThread:
    """A program other than program 0, which runs in its own thread."""

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
        """Run the program until it waits or ends; raise the error that it raised, if any."""
        suspended_state = self._run.suspend()
        self._turns.put(True)
        self._stops.get()
        self._run.resume(suspended_state)
        if self._error is not None:
            error, self._error = self._error, None
            raise error

    def wait(self) -> None:
        """Block the program's thread until program 0 calls `advance`; called in that thread."""
        suspended_state = self._run.suspend()
        self._stops.put(None)
        if not self._turns.get():
            raise _AbandonedError
        self._run.resume(suspended_state)

    def abandon(self) -> None:
        """End the program's thread at its wait, unless the program has ended."""
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
                self._run.flush_findings()
        except _AbandonedError:
            pass
        except BaseException as error:  # noqa: BLE001 - is raised where program 0 waits
            self._error = error
        finally:
            set_current(None)
            self.ended = True
            self._stops.put(None)


class Cores:
    """The execution of all programs of a launch, which may wait for each other."""

    def __init__(self, run: Run, call: Callable[[], Any]) -> None:
        """`call` calls the kernel for the run's current program."""
        self._run = run
        self._call = call
        self._other_programs: list[_ProgramThread] = []
        run.wait_for_others = self.wait_for_others

    def execute(self) -> Any:
        """Run all programs of the grid, and return the result of program 0."""
        run = self._run
        try:
            run.begin_program(0)
            result = self._call()
            run.flush_findings()
            for thread in self._other_programs:
                self._finish(thread)
        finally:
            for thread in self._other_programs:
                thread.abandon()
        for program in range(1 + len(self._other_programs), run.programs):
            run.begin_program(program)
            self._call()
            run.flush_findings()
        return result

    def wait_for_others(self, what: str, pair: bool = True) -> bool:
        """Wait until all programs have reached the op; return True in program 0, False in others.

        Raises:
            NkiError: a program has ended, or `pair` is set and the grid has not two programs.

        """
        run = self._run
        if run.programs == 1:
            return True
        if pair and run.programs != PAIR:
            raise NkiError(f"{what} needs a grid of {PAIR} programs, not of {run.programs}")
        if run.program:
            if not self._other_programs:
                raise NkiError(
                    f"program {run.program} waits at {what} for program 0, which has ended"
                )
            self._other_programs[run.program - 1].wait()
            return False
        if not self._other_programs:
            others = range(1, run.programs)
            self._other_programs = [_ProgramThread(run, self._call, program) for program in others]
        for thread in self._other_programs:
            if not thread.ended:
                thread.advance()
            if thread.ended:
                raise NkiError(
                    f"program 0 waits at {what} for program {thread.program}, which has ended"
                )
        return True

    def _finish(self, thread: _ProgramThread) -> None:
        thread.advance()
        if not thread.ended:
            raise NkiError(f"program {thread.program} waits for program 0, which has ended")
