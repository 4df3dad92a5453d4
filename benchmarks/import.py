"""Cost of importing a trace of torch.profiler, beside `json.load` of the same file.

    python benchmarks/import.py [--megabytes 1000] [--keep FOLDER]

Writes a file to Kineto's schema: half of its events are Python functions, 400 bytes each and nested
as those of a training step, the others operators with shapes, calls of the driver and kernels. Each
side is a process, so that its peak of memory is its own; times are of the processor, then elapsed.
"""

import argparse
import json
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
_HEAD = '{\n "schemaVersion": 1,\n "deviceProperties": [{"id": 0, "name": "NVIDIA H100"}],\n'
_MEASURED = """
import resource, sys, time
begin, clock = time.process_time(), time.perf_counter()
{}
used = resource.getrusage(resource.RUSAGE_SELF)
print(time.process_time() - begin, time.perf_counter() - clock, used.ru_maxrss / 1e3)
"""


def step(number: int) -> list[str]:
    """Return the events of one launch and its surroundings, each as a JSON text."""
    start_us = 1000.0 + number * 100
    call = {"pid": 100, "tid": 100 + number % 3}
    events = [
        {"ph": "X", "cat": "python_function", "name": f"model/layer.py({depth}): forward_{depth}",
         **call, "ts": start_us + depth / 10, "dur": 60 - depth,
         "args": {"Python parent id": number, "Python id": number + depth, "Ev Idx": number}}
        for depth in range(6)
    ] + [
        {"ph": "X", "cat": "cpu_op", "name": "aten::mm", **call, "ts": start_us + 5, "dur": 30,
         "args": {"External id": number, "Ev Idx": number, "Input Dims": [[1024, 4096]] * 3,
                  "Input Strides": [[4096, 1]] * 3, "Input type": ["c10::BFloat16"] * 3,
                  "Concrete Inputs": ["", "", ""]}},
        {"ph": "X", "cat": "cuda_runtime", "name": "cudaLaunchKernel", **call, "ts": start_us + 10,
         "dur": 4.5, "args": {"External id": number, "cbid": 211, "correlation": number}},
        {"ph": "X", "cat": "kernel", "name": f"void at::native::kernel_{number % 200}<4>(float*)",
         "pid": 0, "tid": 7, "ts": start_us + 20.125, "dur": 5.25,
         "args": {"External id": number, "queued": 0, "device": 0, "context": 1, "stream": 7,
                  "correlation": number, "registers per thread": 32, "shared memory": 0,
                  "blocks per SM": 0.5, "warps per SM": 4, "grid": [64, 1, 1],
                  "block": [128, 1, 1], "est. achieved occupancy %": 6}},
        {"ph": "s", "id": number, **call, "ts": start_us + 10, "cat": "ac2g", "name": "ac2g"},
    ]  # fmt: skip
    return [json.dumps(event) for event in events]


def write(path: Path, megabytes: int) -> int:
    """Write a file of about `megabytes` MB; return the number of events."""
    events = number = 0
    with path.open("w") as file:
        file.write(f'{_HEAD} "baseTimeNanoseconds": 1767323045000000000,\n "traceEvents": [\n')
        while file.tell() < megabytes * 1e6:
            for _ in range(1000):
                events_text = step(number)
                file.write((",\n" if number else "") + ",\n".join(events_text))
                number, events = number + 1, events + len(events_text)
        file.write("\n]}\n")
    return events


def measured(program: str) -> tuple[float, float, float]:
    """Return processor seconds, elapsed seconds and peak memory in MB of a Python program."""
    command = [sys.executable, "-c", _MEASURED.format(program)]
    ran = subprocess.run(command, cwd=ROOT, check=True, capture_output=True, text=True)
    seconds, elapsed, megabytes = map(float, ran.stdout.split()[-3:])
    return seconds, elapsed, megabytes


def main() -> None:
    """Print the figures of the import and of `json.load`, and their ratio."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--megabytes", type=int, default=1000)
    parser.add_argument("--keep", type=Path)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(dir=options.keep) as folder:
        path = Path(folder) / "trace.json"
        events = write(path, options.megabytes)
        print(f"{path.stat().st_size / 1e6:,.0f} MB, {events:,} events")
        command = f"['import', 'kineto', {str(path)!r}, '-o', {str(path.with_name('out'))!r}]"
        ours = measured(f"from kvtrace.cli import main; assert main({command}) == 0")
        theirs = measured(f"import json; json.load(open({str(path)!r}))")
    for name, (seconds, elapsed, memory) in (("kvtrace import", ours), ("json.load", theirs)):
        print(f"{name:<15} {seconds:6.1f} s  {elapsed:6.1f} s  {memory:8,.0f} MB")
    processor, elapsed, memory = (mine / its for mine, its in zip(ours, theirs, strict=True))
    print(f"ratio           {processor:6.2f}    {elapsed:6.2f}    {memory:8.2f}")


if __name__ == "__main__":
    main()
