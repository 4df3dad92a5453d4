"""Cost of recording numbers of tensors: `KVTRACE_TENSORS=stats` against `index`, and unrecorded.

    python benchmarks/tensor_statistics.py [--rounds 5] [--calls 500] [--repeats 200] [--json FILE]

A process makes `--calls` launches of a kernel with 10 tensors of 4 Mi elements (float32, bfloat16,
and strided views), each with another scalar, so that each is a unique call; then one of them
`--repeats` times as often. Both are timed by themselves, up to the end of the device's work. In
each round one process runs without a recording, one with `index` and one with `stats`; a figure is
the median over the rounds, and its cost the difference of medians. `end` is the time to stop
recording, in which the background thread computes what is left.

Without a GPU the kernels run in kvtrace's evaluator (`KVTRACE_DEVICE=cpu`), with a grid of one
program, and no process runs without a recording.
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
from collections.abc import Sequence
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
SETTINGS = ("none recorded", "index", "stats")
PHASES = ("unique calls", "repeats", "end")


def work(calls: int, repeats: int, setting: str, out: str) -> dict[str, float]:
    """Return microseconds per launch of both phases, and milliseconds of the recording's end."""
    import torch
    from launch_kernels import add10

    import kvtrace

    session = None
    if setting != SETTINGS[0]:
        session = kvtrace.start(out, tensors=setting, device="cpu")  # where there is no GPU
    torch.manual_seed(0)
    count = 1 << 22
    whole = torch.randn(6 * count, device="cuda")
    floats = [*whole.split(count), *torch.randn(2048, 4096, device="cuda").split(2048, 1)]
    halves = [torch.randn(count, device="cuda", dtype=torch.bfloat16) for _ in range(2)]

    def launch(number: int) -> None:
        add10[(1,)](*floats, *halves, 1024, number + 0.5, 2.0, BLOCK=1024)

    def mean_us(numbers: Sequence[int]) -> float:
        begin = time.perf_counter()
        for number in numbers:
            launch(number)
        torch.cuda.synchronize()
        return (time.perf_counter() - begin) / len(numbers) * 1e6

    launch(-1)  # compiles
    torch.cuda.synchronize()
    figures = [mean_us(range(calls)), mean_us([0] * (calls * repeats))]
    begin = time.perf_counter()
    if session is not None:
        session.stop()
    return dict(zip(PHASES, [*figures, (time.perf_counter() - begin) * 1e3], strict=True))


def in_process(options: argparse.Namespace, setting: str) -> dict[str, float]:
    """Return the figures of a new process with a setting."""
    with tempfile.TemporaryDirectory() as folder:
        arguments = [sys.executable, __file__, "--calls", str(options.calls)]
        arguments += ["--repeats", str(options.repeats), "--work", setting, f"{folder}/out"]
        environment = {**os.environ, "PYTHONPATH": str(ROOT)}
        done = subprocess.run(
            arguments, env=environment, capture_output=True, text=True, check=False
        )
        if done.returncode:
            sys.exit(done.stderr)
        figures: dict[str, float] = json.loads(done.stdout.splitlines()[-1])
        return figures


def main() -> int:
    parser = argparse.ArgumentParser(description="cost of recording numbers of tensors")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--calls", type=int, default=500)
    parser.add_argument("--repeats", type=int, default=200, help="launches again for each call")
    parser.add_argument("--json", type=Path)
    parser.add_argument("--work", nargs=2, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.work:
        print(json.dumps(work(options.calls, options.repeats, *options.work)))
        return 0
    import torch

    has_gpu = torch.cuda.is_available()
    name = torch.cuda.get_device_name() if has_gpu else f"no GPU, {platform.machine()}"
    print(f"{name}, Python {platform.python_version()}, torch {torch.__version__}")
    settings = SETTINGS if has_gpu else SETTINGS[1:]
    rounds = [{s: in_process(options, s) for s in settings} for _ in range(options.rounds)]
    medians = {
        setting: {phase: statistics.median(r[setting][phase] for r in rounds) for phase in PHASES}
        for setting in settings
    }
    for setting, figures in medians.items():
        base = medians[settings[0]]
        print(
            f"{setting:14s} "
            + "; ".join(
                f"{phase} {figures[phase]:9.1f} us ({figures[phase] - base[phase]:+8.1f}, "
                f"x{figures[phase] / base[phase]:.3f})"
                for phase in PHASES[:2]
            )
            + f"; end {figures[PHASES[2]]:.0f} ms"
        )
    if options.json:
        options.json.write_text(json.dumps(rounds, indent=1))
    return 0


if __name__ == "__main__":
    sys.exit(main())
