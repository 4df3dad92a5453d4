"""Time for which the journal's thread keeps a program waiting that computes in Python.

    python benchmarks/journal_lock.py [--steps 400] [--launches 300] [--executions 650]

The program is programs/standin.py: 300 launches a step by Triton's own launching path with a
simulated driver, and Python in between, so its thread wants the interpreter's lock all the
time. It is blocked only when another thread has the lock: what is neither its processor time nor a
wait for a processor (/proc/self/task/N/schedstat) is that, whatever else the machine does. In mode
timeline a simulated CUPTI gets 650 records of kernels a step, half of them of the launches.
Printed are, for each mode: the blocked time in per cent of what the program's thread computed, how
often it gave the lock away, what `kvtrace info` says of waits, and the thread's processor time.
Linux only.
"""

import argparse
import ctypes
import os
import sys
import tempfile
import threading
import time
from pathlib import Path
from typing import Any

import numpy as np

ROOT = Path(__file__).resolve().parent.parent
NAMES = {name: ctypes.create_string_buffer(name.encode()) for name in ("add3", "add10", "gemm")}


class StandInCupti:
    """Stand-in for `library.Cupti`; `put` fills its buffers with the records of a step."""

    version = 130001
    path = "simulated"
    record_lengths = (216, 96, 88)
    last: "StandInCupti"

    def __init__(self) -> None:
        StandInCupti.last = self
        self.lock = threading.Lock()
        self.address = self.used = self.room = self.correlation = 0

    def begin(self, request: int, complete: int, _clock: int) -> None:
        pointer, size = ctypes.c_void_p, ctypes.c_size_t
        self.request = ctypes.CFUNCTYPE(None, pointer, pointer, pointer)(request)
        self.complete = ctypes.CFUNCTYPE(None, pointer, ctypes.c_uint32, pointer, size, size)(
            complete
        )

    def end_and_measure(self) -> None:
        """Do nothing, since nothing was launched on a device."""

    def flush(self, forced: bool = False) -> None:
        del forced
        with self.lock:
            address, used, room = self.address, self.used, self.room
            self.address = 0
        if address:
            self.complete(None, 0, address, room, used)

    def dropped(self) -> int:
        return 0

    def now(self) -> int:
        return time.time_ns()

    def stream_id(self, _device: int, _handle: int) -> int:
        return 7

    def wait(self) -> None:
        pass

    def put(self, records: Any, begin: int) -> None:
        """Add the kernel records of a step; times are of a device that is one step behind."""
        count, step_end = len(records), time.time_ns()
        duration = (step_end - begin) // count
        records["start"] = step_end + np.arange(count) * duration
        records["end"] = records["start"] + duration
        records["end"][-1] += 1_000_000_000  # it is never idle
        records["correlation"] = self.correlation + np.arange(count)
        self.correlation += count
        with self.lock:
            if self.address and self.used + records.nbytes > self.room:
                self.complete(None, 0, self.address, self.room, self.used)
                self.address = 0
            if not self.address:
                data, room, max_records = ctypes.c_void_p(), ctypes.c_size_t(), ctypes.c_size_t()
                self.request(ctypes.byref(data), ctypes.byref(room), ctypes.byref(max_records))
                self.address, self.room, self.used = data.value or 0, room.value, 0
            if self.address:
                ctypes.memmove(self.address + self.used, records.ctypes.data, records.nbytes)
                self.used += records.nbytes


def step_records(launches: int, executions: int) -> Any:
    """Return a step's records: each launch's kernel, and kernels of another library."""
    from kvtrace.backends.cupti.records import CONCURRENT_KERNEL, layout

    kinds = np.zeros(executions, [("kind", "<u4"), ("rest", "V212")])
    kinds["kind"] = CONCURRENT_KERNEL
    records = kinds.view(layout(216))
    places = np.linspace(0, executions - 1, launches).astype(int)
    address = ctypes.addressof
    records["name"], records["grid_x"] = address(NAMES["gemm"]), 132
    of_launch = [address(NAMES["add3" if number % 3 else "add10"]) for number in range(launches)]
    records["name"][places], records["grid_x"][places] = of_launch, 4
    records["grid_y"] = records["grid_z"] = 1
    records["stream"], records["registers"] = 7, 32
    return records


def thread_times() -> tuple[int, int, int, int]:
    """Return this thread's clock, processor time and wait for a processor in ns, and its blocks."""
    folder = Path(f"/proc/self/task/{threading.get_native_id()}")
    waited = int((folder / "schedstat").read_text().split()[1])
    lines = (folder / "status").read_text().splitlines()
    (blocked,) = (int(line.split()[1]) for line in lines if line.startswith("voluntary_ctxt"))
    return time.monotonic_ns(), time.thread_time_ns(), waited, blocked


def measured_waits(mode: str, options: argparse.Namespace) -> str:
    """Run the program in a mode, and return the table's row about its waits."""
    import standin

    import kvtrace
    from kvtrace.backends.cupti import timeline
    from kvtrace.converters.info.overhead import overhead_percent
    from kvtrace.schema.trace import open_trace

    timeline.Cupti = StandInCupti  # type: ignore[assignment, misc]
    if mode == "timeline":
        standin.StandIn.device = "cuda"
    step = standin.step_of(options.launches, options.work)
    records = step_records(options.launches, options.executions)
    with tempfile.TemporaryDirectory() as folder:
        out = Path(folder) / "out"
        with kvtrace.capture(out, mode="timeline" if mode == "timeline" else "launch"):
            for number in range(options.steps + options.warm_up):
                if number == options.warm_up:
                    time.sleep(2)  # libraries that the first rounds load
                    times_before = thread_times()
                begin = time.time_ns()
                step()
                if mode == "timeline":
                    StandInCupti.last.put(records, begin)
            times_after = thread_times()
        trace = open_trace(out)
        (run,) = trace.runs
        rows = trace.table("gpu_kernels", columns=["launch_seq"])
        joined = rows.num_rows - rows["launch_seq"].null_count
    wall, processor, waited, times = (b - a for a, b in zip(times_before, times_after, strict=True))
    blocked = wall - processor - waited
    shares, parts = overhead_percent(run), run.overhead
    assert shares is not None
    assert parts is not None
    return (
        f"{mode:9s} {processor / options.steps / 1e6:6.1f} ms a step; blocked "
        f"{100 * blocked / processor:5.2f} %, {times / wall * 1e9:6.1f} times a second; kvtrace "
        f"says waits {shares['waits']:5.2f} %, launches {shares['launches']:5.2f} %; its thread "
        f"{100 * parts['thread_ns'] / parts['running_ns']:5.2f} % of a processor; {joined:,} of "
        f"{rows.num_rows:,} executions joined"
    )


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--steps", type=int, default=400)
    parser.add_argument("--warm-up", type=int, default=50)
    parser.add_argument("--launches", type=int, default=300)
    parser.add_argument("--executions", type=int, default=650)
    parser.add_argument("--work", type=float, default=40, help="of Python between launches, in µs")
    parser.add_argument("--rounds", type=int, default=2)
    parser.add_argument("--mode", choices=("launch", "timeline"), help="this process alone")
    options = parser.parse_args()
    sys.path[:0] = [str(ROOT), str(ROOT / "benchmarks" / "programs")]
    if options.mode:
        print(measured_waits(options.mode, options), flush=True)
        return 0
    for _ in range(options.rounds):
        for mode in ("launch", "timeline"):
            if os.spawnv(os.P_WAIT, sys.executable, [sys.executable, *sys.argv, "--mode", mode]):
                return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
