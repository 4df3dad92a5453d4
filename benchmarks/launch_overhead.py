"""Cost of a recorded launch on a GPU: kvtrace and its rivals over bare.

    python benchmarks/launch_overhead.py [--rounds 7] [--launches 20000] [--json FILE]

Method: each recorder runs in a separate process, which alternates rounds with the recorder off
(bare) and on; for Proton and tritonparse all bare rounds come first, since what they once started
slows launches down even while it is not active. A round launches a tiny kernel N times from Python
and divides the wall time of the loop, without waiting for the device, by N; the device is idle at
the start of each round. The figure is the median over the rounds, and the cost is the difference
of the medians of on and off in the same process. Three kernels: 3 tensor arguments; 10 tensor and
3 scalar arguments; and what libraries of kernels pass: 4 tensors, one of them a parameter, None,
whole numbers, floats and a dtype by position, 3 constexprs and num_warps by name. torch.profiler,
Proton and tritonparse run a tenth of the launches.
kvtrace's rounds record everything of launch mode: times, grid, shapes, strides, dtypes, storage
extents, alignment, aliasing and scalars, with the journal thread writing to disk; timeline mode
records each kernel's execution by CUPTI too. The no-op hook is Triton's own launch hook with a
function that does nothing. A row of kvtrace's is refused unless the trace says that every launch
was recorded, and in timeline mode that the device's executions were.
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

from recorded import check

RECORDERS = (
    "kvtrace",
    "kvtrace timeline",
    "wrapper alone",
    "no-op hook",
    "torch.profiler",
    "proton",
    "tritonparse",
)
#: These run a tenth of the launches, for the memory or the time that they take.
DEAR = RECORDERS[4:]
KERNELS = ("3 tensors", "10 tensors", "16 mixed")
ROOT = Path(__file__).resolve().parent.parent


def kernels() -> dict[str, Callable[[], object]]:
    """Return the three launches to time, by name."""
    import torch
    import triton.language as tl
    from launch_kernels import add3, add10, scale_rows

    x = [torch.rand(64, 64, device="cuda") for _ in range(10)]
    weight, factors = torch.nn.Parameter(x[0][0].clone()), x[1][0].clone()
    mixed = (x[0], 64, x[1], 64, weight, None, factors, 1, 64, 1e-6, 0.0, tl.float32)
    return {
        "3 tensors": lambda: add3[(4,)](x[0], x[1], x[2], 4096, BLOCK=1024),
        "10 tensors": lambda: add10[(4,)](*x, 4096, 1, 2, BLOCK=1024),
        "16 mixed": lambda: scale_rows[(4,)](
            *mixed, AFFINE=True, MODE="keep", BLOCK=64, num_warps=4
        ),
    }


def round_us(launch: Callable[[], object], launches: int) -> float:
    """Return the mean microseconds per launch of one round."""
    import torch

    torch.cuda.synchronize()
    begin = time.perf_counter()
    for _ in range(launches):
        launch()
    end = time.perf_counter()
    torch.cuda.synchronize()
    return (end - begin) / launches * 1e6


class Kvtrace:
    """kvtrace in launch or timeline mode, started and stopped around each round."""

    interleaved = True

    def __init__(self, folder: Path, mode: str) -> None:
        import kvtrace

        self.kvtrace, self.folder, self.mode = kvtrace, folder, mode

    def on(self) -> None:
        self.kvtrace.start(self.folder, mode=self.mode)

    def off(self) -> None:
        self.kvtrace.stop()

    def check(self, launches: int) -> None:
        """Raise an error unless the trace has `launches` launches, recorded in this mode."""
        check(self.folder, self.mode, launches)


class Wrapper:
    """A Python function around `JITFunction.run` that does nothing: the floor for any wrapper."""

    interleaved = True

    def __init__(self) -> None:
        from triton.runtime.jit import JITFunction

        self.owner, self.run = JITFunction, JITFunction.run
        plain = JITFunction.run

        def run(self, *args, grid, warmup, **kwargs):  # type: ignore[no-untyped-def]
            return plain(self, *args, grid=grid, warmup=warmup, **kwargs)

        self.wrapped = run

    def on(self) -> None:
        self.owner.run = self.wrapped

    def off(self) -> None:
        self.owner.run = self.run


class Hook:
    """A launch hook of Triton's that does nothing."""

    interleaved = True

    def on(self) -> None:
        from triton import knobs

        knobs.runtime.launch_enter_hook.add(_nothing)

    def off(self) -> None:
        from triton import knobs

        knobs.runtime.launch_enter_hook.remove(_nothing)


def _nothing(*_: object) -> None:
    """Do nothing."""


class Tritonparse:
    """tritonparse with every launch traced; once started, it stays on until the process ends."""

    interleaved = False

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.started = False

    def on(self) -> None:
        if not self.started:
            from tritonparse import structured_logging

            structured_logging.init(str(self.folder / "tritonparse"), enable_trace_launch=True)
            self.started = True

    def off(self) -> None:
        """Do nothing: see the module's docstring."""


class TorchProfiler:
    """torch.profiler with CPU and CUDA activities, a new profile each round, never exported."""

    interleaved = True

    def on(self) -> None:
        from torch.profiler import ProfilerActivity, profile

        self.profile = profile(activities=[ProfilerActivity.CPU, ProfilerActivity.CUDA])
        self.profile.__enter__()

    def off(self) -> None:
        self.profile.__exit__(None, None, None)


class Proton:
    """Proton with its Triton hook; once started, it stays on until the process ends."""

    interleaved = False

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.session: int | None = None

    def on(self) -> None:
        import triton.profiler as proton

        if self.session is None:
            self.session = proton.start(str(self.folder / "proton"), hook="triton")

    def off(self) -> None:
        """Do nothing: see the module's docstring."""


def recorder(
    name: str, folder: Path
) -> Kvtrace | Wrapper | Hook | TorchProfiler | Proton | Tritonparse:
    if name.startswith("kvtrace"):
        mode = "timeline" if name.endswith("timeline") else "launch"
        return Kvtrace(folder, mode)
    recorders: dict[str, Callable[[], Wrapper | Hook | TorchProfiler | Proton | Tritonparse]] = {
        "wrapper alone": Wrapper,
        "no-op hook": Hook,
        "torch.profiler": TorchProfiler,
        "proton": lambda: Proton(folder),
        "tritonparse": lambda: Tritonparse(folder),
    }
    return recorders[name]()


def measure(name: str, rounds: int, launches: int) -> dict[str, dict[str, float]]:
    """Return medians of rounds with one recorder off and on, in turn, in this process."""
    result = {}
    with tempfile.TemporaryDirectory() as folder:
        subject = recorder(name, Path(folder))
        launchers = kernels()
        timed = {kernel: {"bare": list[float](), "on": list[float]()} for kernel in launchers}
        interleaved, in_turn = ["bare", "on"] * rounds, ["bare"] * rounds + ["on"] * rounds
        for state in interleaved if subject.interleaved else in_turn:
            for kernel, launch in launchers.items():
                if state == "on":
                    subject.on()
                round_us(launch, launches // 4)
                timed[kernel][state].append(round_us(launch, launches))
                if state == "on":
                    subject.off()
        if isinstance(subject, Kvtrace):
            subject.check(len(launchers) * rounds * (launches + launches // 4))
        for kernel, times in timed.items():
            bare, on = statistics.median(times["bare"]), statistics.median(times["on"])
            spread = max(times["bare"]) - min(times["bare"])
            result[kernel] = {"bare": bare, "on": on, "over": on - bare, "bare_spread": spread}
    return result


def machine() -> str:
    import torch
    import triton

    return (
        f"{torch.cuda.get_device_name()}, {platform.processor() or platform.machine()}, "
        f"{os.cpu_count()} cores, Python {platform.python_version()}, torch {torch.__version__}, "
        f"triton {triton.__version__}"
    )


def main() -> int:
    parser = argparse.ArgumentParser(description="cost of a recorded launch over bare, on a GPU")
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--launches", type=int, default=20_000)
    parser.add_argument("--json", type=Path)
    parser.add_argument("--recorder", choices=RECORDERS, help="only this one, in this process")
    options = parser.parse_args()
    sys.path.insert(0, str(ROOT))
    import torch

    if not torch.cuda.is_available():
        print("launch_overhead.py needs a CUDA device: it times real launches")
        return 2
    if options.recorder:
        print(json.dumps(measure(options.recorder, options.rounds, options.launches)))
        return 0
    results: dict[str, dict[str, dict[str, float]]] = {}
    for name in RECORDERS:
        fewer = max(2000, options.launches // 10) if name in DEAR else options.launches
        command = [sys.executable, __file__, "--recorder", name]
        command += ["--rounds", str(options.rounds), "--launches", str(fewer)]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        if done.returncode:
            print(f"{name}: failed: {done.stderr.strip()[-600:]}")
            continue
        results[name] = json.loads(done.stdout.strip().splitlines()[-1])
    print(machine())
    print(f"{options.rounds} interleaved rounds of {options.launches} launches; µs a launch")
    for kernel in KERNELS:
        ours = results.get("kvtrace", {}).get(kernel, {}).get("over")
        head = f"{'bare':>9s}{'on':>9s}{'over':>9s}{'× kvtrace':>11s}{'bare spread':>13s}"
        print(f"\n{kernel:24s}{head}")
        for name, by_kernel in results.items():
            row = by_kernel[kernel]
            ratio = f"{row['over'] / ours:.1f}" if ours else "-"
            print(
                f"{name:24s}{row['bare']:9.2f}{row['on']:9.2f}{row['over']:+9.2f}{ratio:>11s}"
                f"{row['bare_spread']:13.2f}"
            )
    if options.json:
        options.json.write_text(json.dumps({"machine": machine(), "results": results}, indent=1))
    return 0 if len(results) == len(RECORDERS) else 1


if __name__ == "__main__":
    sys.exit(main())
