"""Time for which the journal's thread keeps a program waiting that computes in Python.

    python benchmarks/journal_lock.py [--steps 400] [--launches 300]

The program is programs/standin.py: 300 launches a step by Triton's own launching path with a
simulated driver, and Python in between, so its thread wants the interpreter's lock all the
time. It is blocked only when another thread has the lock: what is neither its processor time nor a
wait for a processor (/proc/self/task/N/schedstat) is that, whatever else the machine does.
Printed are the blocked time in per cent of what the program's thread computed, how often it gave
the lock away, what `kvtrace info` says of waits, and the thread's processor time. Linux only; the
device timeline is measured on a device (training_step.py).
"""

import argparse
import os
import sys
import tempfile
import threading
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent


def thread_times() -> tuple[int, int, int, int]:
    """Return this thread's clock, processor time and wait for a processor in ns, and its blocks."""
    folder = Path(f"/proc/self/task/{threading.get_native_id()}")
    waited = int((folder / "schedstat").read_text().split()[1])
    lines = (folder / "status").read_text().splitlines()
    (blocked,) = (int(line.split()[1]) for line in lines if line.startswith("voluntary_ctxt"))
    return time.monotonic_ns(), time.thread_time_ns(), waited, blocked


def measured_waits(options: argparse.Namespace) -> str:
    """Run the program, and return the table's row about its waits."""
    import standin

    import kvtrace
    from kvtrace.converters.info.info import overhead_percent
    from kvtrace.schema.trace import open_trace

    step = standin.step_of(options.launches, options.work)
    with tempfile.TemporaryDirectory() as folder:
        out = Path(folder) / "out"
        with kvtrace.capture(out):
            for number in range(options.steps + options.warm_up):
                if number == options.warm_up:
                    time.sleep(2)  # libraries that the first rounds load
                    times_before = thread_times()
                step()
            times_after = thread_times()
        (run,) = open_trace(out).runs
    wall, processor, waited, times = (b - a for a, b in zip(times_before, times_after, strict=True))
    blocked = wall - processor - waited
    shares, parts = overhead_percent(run), run.overhead
    assert shares is not None
    assert parts is not None
    return (
        f"{processor / options.steps / 1e6:6.1f} ms a step; blocked "
        f"{100 * blocked / processor:5.2f} %, {times / wall * 1e9:6.1f} times a second; kvtrace "
        f"says waits {shares['waits']:5.2f} %, launches {shares['launches']:5.2f} %; its thread "
        f"{100 * parts['thread_ns'] / parts['running_ns']:5.2f} % of a processor"
    )


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--steps", type=int, default=400)
    parser.add_argument("--warm-up", type=int, default=50)
    parser.add_argument("--launches", type=int, default=300)
    parser.add_argument("--work", type=float, default=40, help="of Python between launches, in µs")
    parser.add_argument("--rounds", type=int, default=2)
    parser.add_argument("--once", action="store_true", help="in this process")
    options = parser.parse_args()
    sys.path[:0] = [str(ROOT), str(ROOT / "benchmarks" / "programs")]
    if options.once:
        print(measured_waits(options), flush=True)
        return 0
    for _ in range(options.rounds):
        if os.spawnv(os.P_WAIT, sys.executable, [sys.executable, *sys.argv, "--once"]):
            return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
