"""Cost of `KVTRACE_MEMORY=on`: an operator of torch, a launch, an allocation of generated code.

    python benchmarks/memory_recording.py [--rounds 5] [--calls 400000]

Method: each state has a process of its own, in turn: bare (no kvtrace), recorded, and recorded with
memory, with the journal writing to disk; a second bare process in each round gives the noise. A
process makes the calls in blocks of 1,000. Figures are ns a call: the least block (what a call
costs its thread) and the processor time of the whole process (with the journal's thread, and all
else), each the median over the rounds. An operator is torch.add of two tensors of one element; a
launch is a function that does nothing, wrapped by the hot path as Triton's are, with 5 tensors; an
allocation is the function by which Inductor's code makes tensors on the CPU, of one element. With a
GPU also an allocation of 512 B of torch's caching allocator and its free, without an operator.
"""

import argparse
import json
import os
import platform
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

STATES = ("bare", "bare again", "recorded", "memory")
DEVICE_MEMORY = "device memory"
SUBJECTS = ("operator", "launch", "allocation")
TABLES = {
    "operator": "operations",
    "launch": "launches",
    "allocation": "allocations",
    DEVICE_MEMORY: "allocations",
}
BLOCK = 1000
ROOT = Path(__file__).resolve().parent.parent


class _Kernel:
    """A kernel that does nothing, launched by a method as Triton's."""

    def run(self, *_args: Any, grid: Any, warmup: bool) -> "_Kernel":
        """Return the kernel."""
        del grid, warmup
        return self


class _Adapter:
    """The adapter that records the kernel and its calls."""

    def __init__(self, session: Any) -> None:
        self.session = session

    def new_kernel(self, _owner: Any, _kernel: Any) -> tuple[int, int, int]:
        """Return the ids of a kernel without a device."""
        from kvtrace.capture.records import KernelRecord

        return self.session.add_kernel(KernelRecord("nothing", "benchmark")), 0, -1

    def new_call(
        self, _owner: Any, _kernel: Any, kernel_id: int, grid: Any, args: Any, _kwargs: Any
    ) -> int:
        """Record a call with the places of its tensors."""
        from kvtrace.capture.arguments import addresses_of, argument_records
        from kvtrace.capture.records import Parameter

        parameters = [Parameter(f"x{n}", "*fp32") for n in range(len(args))]
        records = argument_records(parameters, args)
        self.session.recorder.place(addresses_of(records, args))
        call_id: int = self.session.add_call(kernel_id, grid, records)
        return call_id


def _subject(name: str, session: Any) -> Callable[[], object]:
    import torch

    values = [torch.ones(1) for _ in range(5)]
    if name == "operator":
        add, (first, second, *_) = torch.add, values
        return lambda: add(first, second)
    if name == "allocation":
        make = torch._C._dynamo.guards._empty_strided_cpu
        size, strides, dtype = (1,), (1,), torch.float32
        return lambda: make(size, strides, dtype)
    if name == DEVICE_MEMORY:
        stream = torch.cuda.current_stream().cuda_stream
        allocate = torch._C._cuda_cudaCachingAllocator_raw_alloc
        free = torch._C._cuda_cudaCachingAllocator_raw_delete
        return lambda: free(allocate(512, stream))
    if session is not None:
        _Kernel.run = session.recorder.wrap(_Kernel.run, _Adapter(session))  # type: ignore[method-assign]
    kernel, grid = _Kernel(), (1,)
    return lambda: kernel.run(*values, grid=grid, warmup=False)


def measure(subject: str, state: str, calls: int) -> tuple[float, float]:
    """Return ns a call: of the least block, and of the processor for the whole process."""
    sys.path.insert(0, str(ROOT))
    import torch

    torch.set_num_threads(1)
    session = None
    with tempfile.TemporaryDirectory() as folder:
        if not state.startswith("bare"):
            import kvtrace

            memory = "on" if state == "memory" else "off"
            session = kvtrace.start(f"{folder}/out", memory=memory)
            session.add_mark("begin", time.time_ns(), None, {})
        call = _subject(subject, session)
        for _ in range(10 * BLOCK):
            call()
        least, before = float("inf"), time.process_time_ns()
        for _ in range(calls // BLOCK):
            begin = time.perf_counter_ns()
            for _ in range(BLOCK):
                call()
            least = min(least, (time.perf_counter_ns() - begin) / BLOCK)
        if session is not None:
            session.flush()
        total = (time.process_time_ns() - before) / calls
        if session is not None:
            _check(session, subject, state, calls)
    return least, total


def _check(session: Any, subject: str, state: str, calls: int) -> None:
    """Raise an error unless the trace has all rows."""
    import kvtrace
    from kvtrace.schema.trace import open_trace

    kvtrace.stop()
    trace = open_trace(session.out)
    table = TABLES[subject]
    rows = trace.table(table).num_rows
    recorded = state == "memory" or subject == "launch"
    if (rows < calls) if recorded else rows:
        raise SystemExit(f"{subject}, {state}: {rows} rows of {table} for {calls} calls")
    if subject == "launch" and state == "memory" and trace.table(table)["addresses"].null_count:
        raise SystemExit("launches without addresses")


def main() -> None:
    """Print a table."""
    parser = argparse.ArgumentParser(description="cost of recording memory")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--calls", type=int, default=400_000)
    parser.add_argument("--one", nargs=2, help="subject and state: measure in this process")
    options = parser.parse_args()
    if options.one:
        print(json.dumps(measure(*options.one, options.calls)))
        return
    import torch

    print(
        f"{platform.processor() or platform.machine()}, {os.cpu_count()} cores, "
        f"Python {platform.python_version()}, torch {torch.__version__}; {options.rounds} rounds "
        f"of {options.calls:,} calls"
    )
    for subject in (*SUBJECTS, DEVICE_MEMORY) if torch.cuda.is_available() else SUBJECTS:
        found: dict[str, list[list[float]]] = {state: [] for state in STATES}
        for _ in range(options.rounds):
            for state in STATES:
                command = [sys.executable, __file__, "--calls", str(options.calls)]
                done = subprocess.run(
                    [*command, "--one", subject, state], stdout=subprocess.PIPE, check=True
                )
                found[state].append(json.loads(done.stdout.splitlines()[-1]))
        print(f"{subject:14}" + "".join(f"{state:>22}" for state in STATES))
        for row, name in enumerate(("least block", "processor")):
            medians = {s: statistics.median(one[row] for one in found[s]) for s in STATES}
            cells = "".join(
                f"{medians[s]:>12.0f} ({medians[s] - medians['bare']:>+6.0f})" for s in STATES
            )
            print(f"{name:14}{cells} ns")


if __name__ == "__main__":
    main()
