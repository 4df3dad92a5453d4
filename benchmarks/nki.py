"""NKI kernels on NumPy, traced: the fully blocked matrix multiplication, and the cost of one op.

    python benchmarks/nki.py [--size K M N] [--rounds 3] [--json FILE]

Method: one run on one machine, one process, one thread of BLAS. The kernel is the corpus's
`product_blocked` (tests/addons/neuron/kernels/products.py) on bfloat16; each round runs everything
in turn, and a figure is the best round, wall time and CPU time of the process.

product      NumPy: both factors to float32, one product
kernel       the kernel; ops, findings and buffers are kept in memory
traced       the same in a recording: `kvtrace.capture` from begin to sealed files
op           one small tensor_scalar of 5,000 in a loop, all its records included

Triton-Viz has a mode for NKI that runs kernels on NumPy too. It imports Neuron's own package,
`neuronxcc`; where that is missing it does not run, which is reported.
"""

import argparse
import json
import os
import platform
import sys
import tempfile
import time
from collections.abc import Callable
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import ml_dtypes
import numpy as np

import kvtrace
import kvtrace.addons.neuron.older.isa as nisa
import kvtrace.addons.neuron.older.language as nl
from kvtrace.addons.neuron import older
from kvtrace.addons.neuron.launching import Kernel, bound_arguments, execute
from kvtrace.evaluate.threads import ONE_THREAD

ROOT = Path(__file__).resolve().parent.parent
SMALL_OPS = 5_000


@older.jit
def small_ops(source: Any, count: int) -> Any:
    """NKI kernel with `count` ops on a tile of 16 elements."""
    result = nl.ndarray(source.shape, dtype=source.dtype, buffer=nl.shared_hbm)
    tile = nl.load(source)
    for _ in nl.sequential_range(count):
        tile = nisa.tensor_scalar(tile, nl.add, 1.0)
    nl.store(result, value=tile)
    return result


def executed(kernel: Kernel, *arguments: Any) -> Any:
    """Run a kernel without a recording, and return its outcome."""
    return execute(kernel, (), bound_arguments(kernel.function, arguments, {}))


def traced(kernel: Kernel, *arguments: Any) -> None:
    """Run a kernel in a separate recording."""
    with tempfile.TemporaryDirectory() as folder, kvtrace.capture(Path(folder, "out")):
        kernel(*arguments)


def best(work: dict[str, Callable[[], Any]], rounds: int) -> dict[str, tuple[float, float]]:
    """Time each function in turn, in rounds; return the least wall and CPU seconds of each."""
    least: dict[str, tuple[float, float]] = {}
    for _ in range(rounds):
        for name, function in work.items():
            wall, processor = time.perf_counter(), time.process_time()
            function()
            seconds = time.perf_counter() - wall, time.process_time() - processor
            least_seconds = least.get(name, seconds)
            least[name] = min(least_seconds[0], seconds[0]), min(least_seconds[1], seconds[1])
    return least


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--size", type=int, nargs=3, default=(4096, 4096, 1024), metavar="N")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--json", type=Path)
    options = parser.parse_args()
    sys.path.insert(0, str(ROOT))
    from tests.addons.neuron.kernels.products import product_blocked

    depth, rows, columns = options.size
    random = np.random.default_rng(0)
    left, right = (
        random.standard_normal(shape, np.float32).astype(ml_dtypes.bfloat16)
        for shape in ((depth, rows), (depth, columns))
    )

    def product() -> Any:
        with ONE_THREAD:
            return left.astype(np.float32).T @ right.astype(np.float32)

    outcome = executed(product_blocked, left, right)
    expected = product()
    error = np.abs(outcome.result.astype(np.float32) - expected).max() / np.abs(expected).max()
    small = np.zeros((4, 4), np.float32)
    times = best(
        {
            "product": product,
            "kernel": lambda: executed(product_blocked, left, right),
            "traced": lambda: traced(product_blocked, left, right),
            "op": lambda: executed(small_ops, small, SMALL_OPS),
        },
        options.rounds,
    )
    machine = f"{platform.machine()}, {os.cpu_count()} cores, {platform.system()}"
    print(f"{machine}; python {platform.python_version()}, numpy {np.__version__}")
    print(f"K={depth}, M={rows}, N={columns}, bfloat16; best of {options.rounds} rounds")
    print(
        f"{outcome.recorder.count:,} executed ops; largest error {error:.2%} of the largest value"
    )
    print(f"{'':10}{'wall':>10}{'CPU':>10}")
    for name in ("product", "kernel", "traced"):
        wall, processor = times[name]
        print(f"{name:10}{wall:>8.2f} s{processor:>8.2f} s")
    wall, processor = (1e6 * op_seconds / SMALL_OPS for op_seconds in times["op"])
    print(f"{'op':10}{wall:>7.1f} µs{processor:>7.1f} µs")
    if find_spec("neuronxcc") is None:
        print("Triton-Viz's NKI mode does not run: it imports neuronxcc, which is missing")
    if options.json is not None:
        options.json.write_text(json.dumps({"machine": machine, "seconds": times}, indent=2))


if __name__ == "__main__":
    main()
