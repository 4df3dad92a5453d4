"""Time of a new process's first launch without a GPU, beside Triton's interpreter.

    python benchmarks/first_launch.py [--rounds 5] [--settings ttir full] [--json FILE]

Each process imports torch and triton, makes its tensors, and launches one kernel: vector_add,
softmax, a product of blocks, or attention. The figure is the wall time from before that launch to
after it, so it has the imports that the launch causes, the compiler, recording, planning and
execution. Cold: Triton's cache and kvtrace's TTIR are empty. Warm: a process has launched the same
before. The peer is Triton's interpreter (TRITON_INTERPRET=1), which compiles nothing, on the same
program; its only state is the page cache. What a process needs once for a machine (byte code, and
Triton's hash of its files) is made before anything is timed. Rounds run every case in random
order; printed are medians and the ratio to the interpreter.
"""

import argparse
import json
import os
import platform
import random
import shutil
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
KERNELS = ("vector_add", "softmax", "product", "attention")

PROGRAM = """
import sys, time
import torch, triton, triton.language as tl

@triton.jit
def vector_add(x, y, out, n, BLOCK: tl.constexpr):
    lanes = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    inside = lanes < n
    tl.store(out + lanes, tl.load(x + lanes, inside) + tl.load(y + lanes, inside), inside)

@triton.jit
def softmax(x, out, n, BLOCK: tl.constexpr):
    lanes = tl.arange(0, BLOCK)
    row = tl.program_id(0) * n
    value = tl.load(x + row + lanes, lanes < n, -float("inf"))
    power = tl.exp(value - tl.max(value, 0))
    tl.store(out + row + lanes, power / tl.sum(power, 0), lanes < n)

@triton.jit
def product(a, b, out, K, BLOCK: tl.constexpr):
    lanes = tl.arange(0, BLOCK)
    rows, columns = tl.program_id(0) * BLOCK + lanes, tl.program_id(1) * BLOCK + lanes
    total = tl.zeros((BLOCK, BLOCK), tl.float32)
    for start in range(0, K, BLOCK):
        left = tl.load(a + rows[:, None] * K + start + lanes[None, :])
        total += tl.dot(left, tl.load(b + (start + lanes)[:, None] * K + columns[None, :]))
    tl.store(out + rows[:, None] * K + columns[None, :], total)

@triton.jit
def attention(q, k, v, out, N, D: tl.constexpr, BLOCK: tl.constexpr):
    lanes, depth = tl.arange(0, BLOCK), tl.arange(0, D)
    rows = tl.program_id(0) * BLOCK + lanes
    query = tl.load(q + rows[:, None] * D + depth[None, :])
    most = tl.full((BLOCK,), -float("inf"), tl.float32)
    whole = tl.zeros((BLOCK,), tl.float32)
    total = tl.zeros((BLOCK, D), tl.float32)
    for start in range(0, N, BLOCK):
        place = (start + lanes)[:, None] * D + depth[None, :]
        score = tl.dot(query, tl.trans(tl.load(k + place)))
        now = tl.maximum(most, tl.max(score, 1))
        power = tl.exp(score - now[:, None])
        scale = tl.exp(most - now)
        whole = whole * scale + tl.sum(power, 1)
        total = total * scale[:, None] + tl.dot(power, tl.load(v + place))
        most = now
    tl.store(out + rows[:, None] * D + depth[None, :], total / whole[:, None])

torch.manual_seed(0)
a, b, c = (torch.randn(256, 256) for _ in range(3))
q, k, v = (torch.randn(256, 64) for _ in range(3))
out, small = torch.zeros(256, 256), torch.zeros(256, 64)
want, got, launch = {
    "vector_add": (lambda: a + b, out, lambda: vector_add[(64,)](a, b, out, 65536, BLOCK=1024)),
    "softmax": (lambda: a.softmax(1), out, lambda: softmax[(256,)](a, out, 256, BLOCK=256)),
    "product": (lambda: a @ b, out, lambda: product[(8, 8)](a, b, out, 256, BLOCK=32)),
    "attention": (lambda: (q @ k.T).softmax(1) @ v, small,
                  lambda: attention[(8,)](q, k, v, small, 256, D=64, BLOCK=32)),
}[sys.argv[1]]
begin = time.perf_counter()
launch()
took = time.perf_counter() - begin
# The evaluator rounds factors to TF32, as the target does.
torch.testing.assert_close(got, want(), rtol=1e-2, atol=0.1)
print(took)
"""


def seconds(script: Path, kernel: str, variables: dict[str, str]) -> float:
    """Return the seconds of the first launch in a new process; fail if its result is wrong."""
    done = subprocess.run(
        [sys.executable, str(script), kernel],
        env=variables, capture_output=True, text=True, check=False,
    )  # fmt: skip
    if done.returncode:
        sys.exit(done.stderr)
    return float(done.stdout.split()[-1])


def measured(rounds: int, settings: list[str]) -> dict[str, dict[str, list[float]]]:
    """Return the seconds of all rounds by kernel and case."""
    environment = {
        name: value for name, value in os.environ.items() if not name.startswith("KVTRACE")
    }
    environment.pop("PYTHONDONTWRITEBYTECODE", None)
    cases = [
        "interpreter",
        *(f"{setting_name} {state}" for setting_name in settings for state in ("cold", "warm")),
    ]
    seconds_by_case: dict[str, dict[str, list[float]]] = {
        k: {case: [] for case in cases} for k in KERNELS
    }
    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(scratch)
        script = folder / "program.py"
        script.write_text(PROGRAM)
        environment |= {"PYTHONPATH": str(ROOT), "XDG_CACHE_HOME": str(folder / "home")}
        interpreted = environment | {"TRITON_INTERPRET": "1"}
        seconds(script, KERNELS[0], interpreted)
        for setting in settings:
            seconds(script, KERNELS[0], recorded(environment, folder, setting))
        for _ in range(rounds):
            for kernel in random.sample(KERNELS, len(KERNELS)):
                times = seconds_by_case[kernel]
                for case in random.sample(["interpreter", *settings], 1 + len(settings)):
                    if case == "interpreter":
                        times[case].append(seconds(script, kernel, interpreted))
                        continue
                    shutil.rmtree(folder / case, ignore_errors=True)
                    shutil.rmtree(folder / "home" / "kvtrace" / "ttir", ignore_errors=True)
                    variables = recorded(environment, folder, case)
                    for state in ("cold", "warm"):
                        times[f"{case} {state}"].append(seconds(script, kernel, variables))
    return seconds_by_case


def recorded(plain: dict[str, str], folder: Path, setting: str) -> dict[str, str]:
    """Return `plain` plus the variables for a recording in `folder` with a setting."""
    setting_folder = folder / setting
    return plain | {
        "KVTRACE": str(setting_folder / "out"),
        "KVTRACE_COMPILE": setting,
        "TRITON_CACHE_DIR": str(setting_folder / "cache"),
    }


def main() -> None:
    """Print machine, method and figures."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--settings", nargs="*", default=["ttir", "background", "full"])
    parser.add_argument("--json", type=Path)
    options = parser.parse_args()
    import torch
    import triton

    print(f"{platform.platform()}, {os.cpu_count()} cores, Python {platform.python_version()}")
    print(f"torch {torch.__version__}, Triton {triton.__version__}, {options.rounds} rounds")
    seconds_by_kernel = measured(options.rounds, options.settings)
    for kernel, times in seconds_by_kernel.items():
        base = statistics.median(times["interpreter"])
        for case, case_seconds in times.items():
            middle = statistics.median(case_seconds)
            print(f"{kernel:12} {case:16} {middle * 1e3:8.1f} ms  {middle / base:6.2f} x")
    if options.json is not None:
        options.json.write_text(json.dumps(seconds_by_kernel))


if __name__ == "__main__":
    main()
