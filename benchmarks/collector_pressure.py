"""Pressure of a recording on Python's garbage collector: objects made old, and full collections.

    python benchmarks/collector_pressure.py [--python PYTHON ...] [--seconds 3] [--share 0.97]

CPython makes a full collection once the objects that became old since the last one exceed a quarter
of those that the last one left. The program holds 400,000 lists, makes others old until SHARE of
that threshold is reached, and then loops: 200 launches, 1,000 lists that die, and a collection of
young objects. Bare, the loop makes nothing old. Printed are, in per cent of the threshold, how much
more is counted as old at the loop's end, and the full collections in it; the exit code is 1 if a
recording adds 2 % or causes one.

`early` begins to record before the program makes its objects, `late` in the loop. With torch and
Triton, launches are those of programs/standin.py, otherwise a session's with a stand-in for the
launching function. Each PYTHON (this one, if none is named) needs pyarrow.
"""

import argparse
import ctypes
import gc
import json
import os
import struct
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable
from importlib.util import find_spec
from pathlib import Path
from typing import Final

ROOT: Final = Path(__file__).resolve().parent.parent
MODES: Final = ("bare", "early", "late")
OBJECTS: Final = 400_000
#: Per cent of the threshold that a recording may add.
MOST_ADDED: Final = 2.0


class Counts:
    """The collector's own counts, which lie behind `gc.garbage` in the interpreter's state.

    Python 3.14.5 and later have three words between `gc.callbacks` and the counts.
    """

    def __init__(self) -> None:
        get = ctypes.pythonapi.PyInterpreterState_Get
        get.restype = ctypes.c_void_p
        state = int(get())
        pattern = struct.pack("2N", id(gc.garbage), id(gc.callbacks))
        offset = ctypes.string_at(state, 16_384).index(pattern)
        offset += len(pattern) if sys.version_info < (3, 14) else 5 * len(pattern) // 2
        self._words = (ctypes.c_ssize_t * 2).from_address(state + offset)

    @property
    def share(self) -> float:
        """Objects that became old, as a share of those that lead to a full collection."""
        return 4 * self._words[1] / max(1, self._words[0])


def launching(launches: int) -> Callable[[], None]:
    """Return a function that makes so many launches, recorded if a recording has begun."""
    if find_spec("triton") and find_spec("torch"):
        sys.path.insert(0, str(ROOT / "benchmarks" / "programs"))
        import standin

        return standin.step_of(launches, 0)
    from kvtrace.capture import api
    from tests.capture.killed_program import arguments, kernel

    ids: list[int] = []

    def launch() -> None:
        session = api.current()
        if session is None:
            return
        if not ids:
            ids.extend(
                session.add_call(session.add_kernel(kernel(n)), (1, 1, 1), arguments(n))
                for n in range(20)
            )
        for number in range(launches):
            now = time.time_ns()
            session.add_launch(ids[number % len(ids)], now, now + 1)

    return launch


def pressure(mode: str, seconds: float, share: float) -> dict[str, float]:
    """Run the program in this process; return what the loop added, and its full collections."""
    import kvtrace

    counts = Counts()
    main_thread, full = threading.get_native_id(), {"main": 0, "other": 0}

    def count_full(phase: str, info: dict[str, int]) -> None:
        if phase == "stop" and info["generation"] == 2:
            full["main" if threading.get_native_id() == main_thread else "other"] += 1

    folder = tempfile.mkdtemp()
    if mode == "early":
        kvtrace.start(folder)
    launch = launching(200)
    launch()
    heap = [[number] for number in range(OBJECTS)]
    if mode == "early":
        time.sleep(1)  # the first rounds
    gc.collect()
    while counts.share < share:
        heap += [[number] for number in range(100)]
        gc.collect(1)
    before = counts.share
    gc.callbacks.append(count_full)
    if mode == "late":
        kvtrace.start(folder)
    begin = time.monotonic()
    while time.monotonic() < begin + seconds:
        launch()
        gone = [[number] for number in range(1000)]  # more than start a collection
        del gone
        gc.collect(1)
    while (after := counts.share) < 0:  # in a round of the journal
        time.sleep(0.01)
    gc.callbacks.remove(count_full)
    kvtrace.stop()
    added = 100 * (after - before) if not sum(full.values()) else float("nan")
    return {"added": added, **full}


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--python", nargs="*", default=[sys.executable])
    parser.add_argument("--seconds", type=float, default=3)
    parser.add_argument("--share", type=float, default=0.97)
    parser.add_argument("--once", choices=MODES, help="in this process")
    options = parser.parse_args()
    sys.path.insert(0, str(ROOT))
    if options.once:
        print(json.dumps(pressure(options.once, options.seconds, options.share)))
        return 0
    failed = False
    for python in options.python:
        for mode in MODES:
            command = [python, __file__, "--once", mode, "--seconds", str(options.seconds)]
            command += ["--share", str(options.share)]
            output = subprocess.run(command, check=True, stdout=subprocess.PIPE, env=os.environ)
            figures = json.loads(output.stdout.splitlines()[-1])
            full = figures["main"] + figures["other"]
            failed |= mode != "bare" and (full > 0 or figures["added"] > MOST_ADDED)
            print(
                f"{python} {mode:5}: {figures['added']:+6.2f} % of the threshold, {full:.0f} full "
                f"collections, {figures['other']:.0f} of them in another thread",
                flush=True,
            )
    return int(failed)


if __name__ == "__main__":
    sys.exit(main())
