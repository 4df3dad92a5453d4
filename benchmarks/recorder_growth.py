"""Growth of the recorder's work with a program's launch lines, stacks, calls, kernels and threads.

    python benchmarks/recorder_growth.py [--shapes SHAPE ...] [--sizes 10 100 1000 4000]

A shape is a program that is recorded at several sizes, in the recorder's own interface: what a
backend tells of kernels, calls and marks is what Triton's and Inductor's would. For each size are
printed the processor time of the program's threads in kvtrace, and of the recorder's thread until
it has written all, function calls and bytes of the journal, and the longest time for which the
recorder's thread held the interpreter's lock: the program computes meanwhile, and each gap of over
1 ms counts with the recorder's processor time in it. Last is the exponent of each, from the two
largest sizes: 1 is linear.

`work_of` counts without the clock what one thread does for a shape; a test compares two sizes.
"""

import argparse
import itertools
import math
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final, NamedTuple

ROOT: Final = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

from kvtrace.capture import journal as journals  # noqa: E402
from kvtrace.capture.pacing import _paces  # noqa: E402
from kvtrace.capture.records import ArgumentRecord, KernelRecord, Stage  # noqa: E402
from kvtrace.capture.session import Session  # noqa: E402
from kvtrace.capture.stacks import current_stack  # noqa: E402
from kvtrace.capture.threads import running  # noqa: E402
from kvtrace.settings import DEFAULT  # noqa: E402

#: A program: told a session and a size, it makes launches.
Shape = Callable[[Session, int, Path], None]
GRID: Final = (1, 2, 3)


def kernel_record(number: int) -> KernelRecord:
    text = f"module {{ // kernel {number}\n" + "  %0 = arith.constant 1 : i32\n" * 40 + "}\n"
    return KernelRecord(
        name=f"kernel_{number}", origin="jit", source=f"def kernel_{number}(x): pass",
        stages=(Stage("ttir", text.encode(), 5),),
    )  # fmt: skip


def argument(rows: int) -> ArgumentRecord:
    return ArgumentRecord(
        "x", "tensor", "f32", "cuda:0", (rows, 64), (64, 1), 0, rows * 256, None, 16
    )


def function_of(lines: int, file: Path) -> Callable[..., None]:
    """Return a function with so many launch lines, written to a file as Inductor writes one."""
    text = ["def call(launch):\n"]
    for number in range(lines):
        text.append(f"    # Topologically Sorted Source Nodes: [x_{number}], Original ATen: [mm]\n")
        text.append(f"    buf{number} = (8, 197, 384)\n    launch({number})\n")
    file.write_text("".join(text))
    names: dict[str, Any] = {}
    exec(compile("".join(text), str(file), "exec"), names)
    call: Callable[..., None] = names["call"]
    return call


def launch_lines(session: Session, size: int, folder: Path) -> None:
    """Launches from a line each of one function."""
    kernel = session.add_kernel(kernel_record(0))

    def launch(number: int) -> None:
        call = session.add_call(kernel, GRID, [argument(8)], current_stack())
        session.add_launch(call, number, number + 1)

    function_of(size, folder / "wrapper.py")(launch)


def functions(session: Session, size: int, folder: Path) -> None:
    """Launches from a function each of one file, whose text is kept."""
    kernel = session.add_kernel(kernel_record(0))
    text = "".join(f"def f{n}(launch):\n    x = {n}\n    launch(x)\n\n" for n in range(size))
    file = folder / "model.py"
    file.write_text(text)
    names: dict[str, Any] = {}
    exec(compile(text, str(file), "exec"), names)
    for number in range(size):
        names[f"f{number}"](
            lambda _: session.add_call(kernel, GRID, [argument(8)], current_stack())
        )


def unique_calls(session: Session, size: int, _folder: Path) -> None:
    """Unique calls from one line: few stacks."""
    kernel = session.add_kernel(kernel_record(0))
    for number in range(size):
        call = session.add_call(kernel, GRID, [argument(number + 1)] * 4)
        session.add_launch(call, number, number + 1)


def many_stacks(session: Session, size: int, _folder: Path) -> None:
    """Calls from two lines of a function that calls itself, on a stack each."""
    kernel = session.add_kernel(kernel_record(0))

    def one(bits: int, depth: int) -> None:
        if not depth:
            session.add_call(kernel, GRID, [argument(8)])
        elif bits & 1:
            one(bits >> 1, depth - 1)
        else:
            one(bits >> 1, depth - 1)

    for number in range(size):
        one(number, 13)


def deep_stacks(session: Session, size: int, _folder: Path) -> None:
    """Some calls on stacks that are so deep."""
    kernel = session.add_kernel(kernel_record(0))

    def deeper(depth: int, rows: int) -> None:
        if depth:
            deeper(depth - 1, rows)
        else:
            session.add_call(kernel, GRID, [argument(rows)])

    for rows in range(1, 21):
        deeper(min(size, 800), rows)


def kernels(session: Session, size: int, _folder: Path) -> None:
    """Kernels that are launched once."""
    for number in range(size):
        session.add_call(session.add_kernel(kernel_record(number)), GRID, [argument(8)])


def threads(session: Session, size: int, _folder: Path) -> None:
    """Launches of so many threads, one after the other."""
    kernel = session.add_kernel(kernel_record(0))
    call = session.add_call(kernel, GRID, [argument(8)])
    for number in range(size):
        thread = threading.Thread(target=session.add_launch, args=(call, number, number + 1))
        thread.start()
        thread.join()


def marks(session: Session, size: int, _folder: Path) -> None:
    """Marks with a name and a number each."""
    for number in range(size):
        session.add_mark(f"step {number}", number, number + 1, {"number": number})


SHAPES: Final[dict[str, Shape]] = {
    shape.__name__: shape
    for shape in (
        launch_lines, functions, unique_calls, many_stacks, deep_stacks, kernels, threads, marks,
    )
}  # fmt: skip


class Work(NamedTuple):
    """Function calls of the recording, and bytes of its journal."""

    calls: int
    bytes: int


@contextmanager
def counted_calls() -> Iterator[list[int]]:
    """Count the calls of this thread, of Python's functions and of C's."""
    calls = [0]

    def count(_frame: object, event: str, _argument: object) -> None:
        if event in ("call", "c_call"):
            calls[0] += 1

    sys.setprofile(count)
    try:
        yield calls
    finally:
        sys.setprofile(None)


def work_of(shape: str, size: int) -> Work:
    """Return what recording a shape takes, all of it in the calling thread."""
    start = journals.Journal.start
    journals.Journal.start = lambda _journal: None  # type: ignore[method-assign]
    try:
        with tempfile.TemporaryDirectory() as folder:
            session = Session(f"{folder}/out", DEFAULT, watches_ends=False)
            session.add_mark("first", 1, 2, {})  # modules that the first round imports
            session.flush()
            with counted_calls() as calls:
                SHAPES[shape](session, size, Path(folder))
                session.flush()
            journal = session._journal
            assert journal is not None
            assert journal._writer is not None
            written = journal._writer.size_bytes
            session.stop()
            return Work(calls[0], written)
    finally:
        journals.Journal.start = start  # type: ignore[method-assign]


class Measured(NamedTuple):
    """Seconds of processor time by thread, and the longest hold of the interpreter's lock."""

    program: float
    recorder: float
    longest: float


def measured(shape: str, size: int) -> Measured:
    """Record a shape, and compute in Python until the recorder's thread has written all."""
    with tempfile.TemporaryDirectory() as folder:
        session = Session(f"{folder}/out", DEFAULT, watches_ends=False)
        session.add_mark("first", 1, 2, {})
        time.sleep(1)  # modules that the first rounds import
        (ident,) = (ident for ident in running if ident in _paces)
        recorder = time.pthread_getcpuclockid(ident)
        begin, own = time.clock_gettime(recorder), time.thread_time()
        SHAPES[shape](session, size, Path(folder))
        program = time.thread_time() - own
        journal = session._journal
        assert journal is not None
        longest, last, used = 0.0, time.perf_counter(), time.clock_gettime(recorder)
        until = last + 120
        while journal._waiting and last < until:
            now = time.perf_counter()
            if now - last > 1e-3:
                before, used = used, time.clock_gettime(recorder)
                longest, now = max(longest, used - before), time.perf_counter()
            last = now
        time.sleep(0.6)  # the round's end
        spent = time.clock_gettime(recorder) - begin
        session.stop()
    return Measured(program, spent, longest)


def exponent(small: tuple[float, float], large: tuple[float, float]) -> float:
    """Return how a figure grows between two pairs (size, figure)."""
    return math.log(max(large[1], 1e-9) / max(small[1], 1e-9)) / math.log(large[0] / small[0])


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--shapes", nargs="+", choices=tuple(SHAPES), default=list(SHAPES))
    parser.add_argument("--sizes", type=int, nargs="+", default=[10, 100, 1000, 4000])
    parser.add_argument("--count", action="store_true", help="only count work, without the clock")
    options = parser.parse_args()
    heading = (
        "shape",
        "size",
        "calls",
        "KB of journal",
        "program, ms",
        "recorder, ms",
        "longest, ms",
    )
    print(" ".join(f"{name:>13s}" for name in heading))
    for shape in options.shapes:
        rows = []
        for size in options.sizes:
            work = work_of(shape, size)
            times = Measured(0, 0, 0) if options.count else measured(shape, size)
            rows.append((work.calls, work.bytes / 1e3, *(1e3 * seconds for seconds in times)))
            cells = " ".join(f"{figure:13.1f}" for figure in rows[-1])
            print(f"{shape:>13s} {size:13d} {cells}", flush=True)
        if len(rows) > 1:
            grown = [
                exponent((options.sizes[-2], small), (options.sizes[-1], large))
                for small, large in itertools.islice(zip(rows[-2], rows[-1], strict=True), 4)
            ]
            cells = " ".join(f"{figure:13.2f}" for figure in grown)
            print(f"{shape:>13s} {'exponent':>13s} {cells}", flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
