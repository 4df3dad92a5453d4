"""Cost of recording a launch whose data is not in the processor's caches, without a GPU.

    python benchmarks/cold_launch.py [--launches 4000] [--megabytes 0 4] [--pages 8192 32768]

In a training step other code runs between two launches, so that what recording reads is no longer
at hand. Here a launch is a Python function that asks each tensor for its address, as Triton's does,
and returns a kernel; 64 kernels in turn, with 4 tensors, 4 numbers and 3 keywords each. Before each
launch that many megabytes are read, and some of Python's library runs; or one line of each of that
many pages of 4 KiB is read, after which addresses have to be translated again, too. One launch is
timed at a time, bare or recorded by chance; the figure is the median, and the cost the difference.
Nothing is launched and no thread writes: it is the hot path alone. Linux only.
"""

import argparse
import json
import mmap
import random
import statistics
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

ROOT = Path(__file__).resolve().parent.parent
KERNELS = 64


class Kernel:
    """Stand-in for a compiled kernel."""


class Adapter:
    """Stand-in for a backend's adapter, which numbers new kernels and calls."""

    def __init__(self) -> None:
        self.kernels = self.calls = 0

    def new_kernel(self, _owner: Any, _kernel: Any) -> tuple[int, int, int]:
        self.kernels += 1
        return (self.kernels - 1, 0, -1)

    def new_call(self, *_facts: Any) -> int:
        self.calls += 1
        return self.calls - 1


def launch_all(self: Any, *args: Any, grid: Any, warmup: bool, **kwargs: Any) -> Kernel:
    """Read each tensor's address, as Triton's own launch does, and return a kernel."""
    del grid, warmup, kwargs
    for tensor in args[:4]:
        tensor.data_ptr()
    kernel: Kernel = self.kernel
    return kernel


def launchers() -> tuple[list[Callable[[], Any]], list[Callable[[], Any]]]:
    """Return a bare launch and a recorded launch of each kernel, in two lists."""
    import torch

    from kvtrace.capture.arguments import Identities
    from kvtrace.capture.hot_choice import make_recorder

    def fail(error: Exception) -> None:
        raise error

    wrapped = make_recorder(Identities(print), fail, 100_000).wrap(launch_all, Adapter())
    bare_owner = type("Bare", (), {"run": launch_all})
    owner = type("Recorded", (), {"run": wrapped})
    bare, recorded = [], []
    for kernel_index in range(KERNELS):
        kernel = Kernel()
        for kind, calls in ((bare_owner, bare), (owner, recorded)):
            x = [torch.empty(64, 32 + kernel_index) for _ in range(4)]
            args = (*x, 64, 32 + kernel_index, 1e-6, kernel_index)
            kernel_function = kind()
            kernel_function.kernel = kernel
            calls.append(launch_of(kernel_function, args, kernel_index))
    return bare, recorded


def launch_of(owner: Any, args: tuple[Any, ...], number: int) -> Callable[[], Any]:
    def launch() -> Any:
        return owner.run(
            *args, grid=(4, 1, 1), warmup=False, BLOCK=1024, num_warps=4, **EXTRA[number % 8]
        )

    return launch


#: Keywords whose names differ from kernel to kernel.
EXTRA = [{f"BLOCK_{letter}": 64} for letter in "ABCDEFGH"]


def memory_reader(megabytes: int) -> Callable[[], None]:
    """Return a function that reads so many megabytes, and runs other code."""
    memory = np.ones(megabytes << 17)

    def disturb() -> None:
        memory.sum()
        json.loads(json.dumps({"a": [1, 2.5, "x"] * 5, "b": {"c": None}}))

    return disturb if megabytes else lambda: None


def page_reader(pages: int) -> Callable[[], None]:
    """Return a function that reads one cache line of each of so many pages, another each time."""
    block = mmap.mmap(-1, pages << 12)
    block.madvise(mmap.MADV_NOHUGEPAGE)
    memory = np.ndarray(pages << 9, np.float64, block)
    memory[::512] = 1
    chance = random.Random(0)

    def disturb() -> None:
        memory[chance.randrange(64) * 8 :: 512].sum()

    return disturb


def median_nanoseconds(disturb: Callable[[], None], launches: int) -> tuple[float, float]:
    """Return the median nanoseconds of a bare and of a recorded launch, each after `disturb`."""
    bare, recorded = LAUNCHERS
    clock = time.perf_counter_ns
    times: tuple[list[int], list[int]] = ([], [])
    order = random.Random(0)
    for number in range(launches):
        which = order.randrange(2)
        launch = (bare, recorded)[which][number % KERNELS]
        disturb()
        begin = clock()
        launch()
        times[which].append(clock() - begin)
    warm = launches // 8
    return statistics.median(times[0][warm:]), statistics.median(times[1][warm:])


def main() -> int:
    parser = argparse.ArgumentParser(description="cost of recording a launch with cold caches")
    parser.add_argument("--launches", type=int, default=4000)
    parser.add_argument("--megabytes", type=int, nargs="*", default=[0, 4])
    parser.add_argument("--pages", type=int, nargs="*", default=[8192, 32768])
    parser.add_argument("--rounds", type=int, default=3)
    options = parser.parse_args()
    ways = [(f"{size} MB read", memory_reader, size) for size in options.megabytes]
    ways += [(f"{pages} pages read", page_reader, pages) for pages in options.pages]
    for label, make, size in ways:
        disturb = make(size)
        medians = [median_nanoseconds(disturb, options.launches) for _ in range(options.rounds)]
        bare, recorded = (statistics.median(times) for times in zip(*medians, strict=True))
        over = " ".join(f"{b - a:.0f}" for a, b in medians)
        print(
            f"{label:>16s} before each: bare {bare:6.0f} ns, recorded {recorded:6.0f} ns, over "
            f"{recorded - bare:+6.0f} ns ({over})"
        )
    return 0


if __name__ == "__main__":
    sys.path.insert(0, str(ROOT))
    LAUNCHERS = launchers()
    sys.exit(main())
