"""Programs that record without end, through a session and without a framework, to be killed.

    python -m tests.capture.killed_program launches|calls|kernels|busy OUT PROGRESS ROWS [LIMIT]

Segments are sealed when they have so many ROWS. PROGRESS is a file of 8 bytes with the number of
launches so far, in shared memory: it is right whenever the program is killed.
"""

import mmap
import resource
import sys
import time
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from pathlib import Path

from kvtrace.capture.records import ArgumentRecord, Frame, KernelRecord, Stage
from kvtrace.capture.session import Session
from kvtrace.schema import writer
from kvtrace.settings import DEFAULT

#: Records without being killed; its argument is the folder.
RECORDED_PROGRAM = """
import sys, time
import kvtrace
from tests.capture.killed_program import launch_new_kernels

session = kvtrace.start(sys.argv[1])
call_of = launch_new_kernels(session)
calls = [call_of(number) for number in range(5)]
for number in range(300):
    with kvtrace.mark("step"):
        now = time.time_ns()
        session.add_launch(calls[number % 5], now, now + 1)
    if number == 200:
        session.flush()
kvtrace.stop()
"""

#: Seconds between launches; the machine that tests run on has few cores.
_PAUSES = {"launches": 20e-6, "calls": 200e-6, "kernels": 1e-3, "busy": 20e-6}


def kernel(number: int) -> KernelRecord:
    """Return a variant with text of its own."""
    text = "".join(f"%{line} = tt.op {number * line}\n" for line in range(60))
    return KernelRecord(
        name=f"kernel_{number}",
        origin="jit",
        source=f"def kernel_{number}(): pass",
        files=(("a.py", b"content"),),
        stages=(Stage("ttir", text.encode(), 5),),
    )


def arguments(number: int) -> list[ArgumentRecord]:
    """Return arguments that no other call has."""
    return [
        ArgumentRecord("x", "tensor", dtype="fp32", shape=(number, 2), strides=(2, 1)),
        ArgumentRecord("y", "tensor", dtype="fp32", shape=(2, number), strides=(number, 1)),
        ArgumentRecord("size", "scalar", dtype="i32"),
    ]


def stack(number: int) -> tuple[Frame, ...]:
    """Return a call stack that no other call has."""
    return (Frame("a.py", number, 2, "f"), Frame("a.py", 9, None, "<module>"))


def launch_one_call(session: Session) -> Callable[[int], int]:
    """Return what gives the call of the launch of a number: always the same."""
    call = session.add_call(session.add_kernel(kernel(0)), (1, 1, 1), arguments(0), stack(0))
    return lambda number: call


def launch_new_calls(session: Session) -> Callable[[int], int]:
    """Return what gives a new call for each launch."""
    first = session.add_kernel(kernel(0))
    return lambda number: session.add_call(first, (1, 1, 1), arguments(number), stack(number))


def launch_new_kernels(session: Session) -> Callable[[int], int]:
    """Return what gives a call of a new kernel for each launch."""

    def call_of(number: int) -> int:
        made = session.add_kernel(lambda: kernel(number), early=lambda: kernel(number))
        return session.add_call(made, (1, 1, 1), arguments(number), stack(number))

    return call_of


def launch_and_hold(session: Session) -> Callable[[int], int]:
    """Return what gives always the same call, and after some launches holds Python's lock."""
    call_of = launch_one_call(session)

    def held(number: int) -> int:
        if number % 100 == 99:
            sum(range(20_000_000))  # half a second in which no other thread of Python runs
        return call_of(number)

    return held


_PROGRAMS = {
    "launches": launch_one_call,
    "calls": launch_new_calls,
    "kernels": launch_new_kernels,
    "busy": launch_and_hold,
}


def main(kind: str, out: str, progress: str, rows: str, limit: str = "") -> None:
    """Record until killed."""
    writer.RunWriter = partial(writer.RunWriter, segment_rows=int(rows))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    with Path(progress).open("r+b") as file:
        shown = mmap.mmap(file.fileno(), 8)
    session = Session(out, replace(DEFAULT, limit=limit))
    call_of = _PROGRAMS[kind](session)
    pause = _PAUSES[kind]
    number = 0
    while True:
        now = time.time_ns()
        session.add_launch(call_of(number), now, now + 1)
        number += 1
        shown[:] = number.to_bytes(8, "little")
        time.sleep(pause)


if __name__ == "__main__":
    main(*sys.argv[1:])
