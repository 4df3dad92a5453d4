"""Turns of programs: they run in ascending order, and a waiting program lets later ones run.

A program that spins on memory which a later program writes (a barrier over the grid, a hand-over
between programs) cannot end before the next begins. So the waiting program keeps its stack, in a
separate thread, until memory has changed. Only one thread runs at any time. A program whose loop
ends after some tries waits likewise, and continues if no program can change memory any more.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from itertools import chain
from typing import Any, Final

from msgspec import Struct, field

from kvtrace.evaluate.errors import Deadlock
from kvtrace.evaluate.scope import Scope
from kvtrace.evaluate.torch_sums import unobserved
from kvtrace.evaluate.values import Pointer, Unknown
from kvtrace.ir import Op

_WAKES_EACH: Final = 16
"""Waiters resumed in a row, for each program, before a program that has stepped aside."""


class _ProgramAbandoned(Exception):
    """Unwinds a waiting program after another one has failed."""


class _Waiter(Struct, eq=False):
    """A program that waits until `state()` is no longer `seen`.

    One that `gives_up` also continues when no program can change memory any more, and one that
    `is_aside` when each other program has ended, waits, or is aside, too.
    """

    state: Callable[[], object]
    seen: object
    gives_up: bool
    is_aside: bool = False
    awake: threading.Event = field(default_factory=threading.Event)


class Turns:
    """Runs `run(program)` for all programs; `version()` changes whenever memory changes."""

    def __init__(
        self, programs: int, run: Callable[[int], None], version: Callable[[], int]
    ) -> None:
        self._programs = programs
        self._run = run
        self._version = version
        self._next = 0
        self._running = 0
        self._wakes = 0
        self._waiting: list[_Waiter] = []
        #: By op and program: contents and place of the last atomic read; the place is None after
        #: waiting in vain.
        self._reads: dict[tuple[int, int], tuple[object, object]] = {}
        self._failure: BaseException | None = None
        self._finished = threading.Event()

    def run_all(self) -> None:
        """Run all programs to their end; raise the first error if a program failed."""
        self._work()
        self._finished.wait()
        if self._failure is not None:
            raise self._failure

    def wait_for_change(self, complaint: str, *, gives_up: bool = False) -> bool:
        """Let other programs run until memory has changed; return whether it has.

        If no program can change memory any more, a program with `gives_up` continues, and others
        end with Deadlock(complaint).
        """
        return self._wait(_Waiter(self._version, self._version(), gives_up), complaint)

    def before_reading(
        self, reader: tuple[int, int], place: object, contents: Callable[[], object]
    ) -> None:
        """Let other programs run if a place is read again and has what was read there last.

        A program that takes a permit and gives it back changes memory, too, but waits.

        Args:
            reader: The atomic op's index, and the program.
            place: What is equal for equal addresses.
            contents: A function that returns what memory has there.

        """
        seen = contents()
        last = self._reads.get(reader)
        if last == (seen, None):
            return
        if last == (seen, place) and not self._wait(_Waiter(contents, seen, gives_up=True), ""):
            self._reads[reader] = seen, None
            return
        self._reads[reader] = contents(), place

    def step_aside(self, *, gives_up: bool = False) -> None:
        """Let other programs run until each has ended, waits, or has stepped aside too.

        With `gives_up`, programs that waited in vain continue before.
        """
        self._wait(_Waiter(self._version, self._version(), gives_up, is_aside=True), "")

    def _wait(self, waiter: _Waiter, complaint: str) -> bool:
        self._waiting.append(waiter)
        if self._next < self._programs:
            # The new thread runs the next programs: it ends after the last, or waits itself.
            threading.Thread(target=self._work, daemon=True).start()
        elif not self._wake_one():
            self._fail(Deadlock(complaint))
        waiter.awake.wait()
        if self._failure is not None:
            raise _ProgramAbandoned
        return waiter.state() != waiter.seen

    def _work(self) -> None:
        self._running += 1
        try:
            with unobserved():
                while self._next < self._programs and self._failure is None:
                    program = self._next
                    self._next += 1
                    self._run(program)
        except _ProgramAbandoned:
            pass
        except BaseException as error:  # noqa: BLE001  raised again by run_all
            self._fail(error)
        self._running -= 1
        if self._running == 0:
            self._finished.set()
        elif self._failure is None and not self._wake_one():
            self._fail(Deadlock("programs wait for a change of memory, but no program still runs"))

    def _wake_one(self) -> bool:
        """Resume a waiter, preferably one whose memory changed; return False if none can be."""
        asides = [waiter for waiter in self._waiting if waiter.is_aside]
        # Programs that wait for a permit may change memory for each other without end.
        is_endless = bool(asides) and self._wakes >= _WAKES_EACH * self._programs
        waiting = [] if is_endless else [w for w in self._waiting if not w.is_aside]
        in_order = chain(
            (waiter for waiter in waiting if waiter.state() != waiter.seen),
            (waiter for waiter in asides if not waiter.gives_up),
            # The last to wait: later programs are what earlier ones wait for.
            (waiter for waiter in reversed(waiting) if waiter.gives_up),
            asides,
        )
        waiter = next(in_order, None)
        if waiter is None:
            return False
        self._wakes = 0 if waiter.is_aside else self._wakes + 1
        self._waiting.remove(waiter)
        waiter.awake.set()
        return True

    def _fail(self, error: BaseException) -> None:
        self._failure = self._failure or error
        waiting, self._waiting = self._waiting, []
        for waiter in waiting:
            waiter.awake.set()


def let_others_run(op: Op, scope: Scope, pointer: Any, element_bytes: int) -> None:
    """Let other programs run before an atomic op if it would read again what it read last."""
    turns = scope.launch.turns
    if turns is None or not isinstance(pointer, Pointer) or isinstance(pointer.offset, Unknown):
        return
    terms = (term.tobytes() for term in pointer.offset.terms)
    address = (pointer.argument, pointer.offset.constant, *terms)
    reader = op.index, int(scope.linear[0])
    turns.before_reading(
        reader, address, lambda: scope.launch.memory.contents_at(pointer, element_bytes)
    )
