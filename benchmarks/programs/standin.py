"""Steps of 300 Triton launches without a GPU: a simulated driver, and Python between the launches.

    python benchmarks/programs/standin.py [--launches 300] [--work 40] [--steps N] [--json FILE]

Triton's launching path is the real one, with kernels that are compiled for an H100; the driver
loads nothing, and its launcher does nothing. Between two launches the thread runs Python, some WORK
microseconds of it on an idle machine, and never gives the interpreter's lock away by itself: it is
what a step of a program does whose limit is the processor. It needs `torch` and `triton`.
"""

import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import stepping
import torch
from triton.backends.compiler import GPUTarget
from triton.runtime import driver

sys.path.insert(1, str(Path(__file__).resolve().parents[1]))
from launch_kernels import add3, add10

ROUNDS_A_MICROSECOND = 8


class Launcher:
    """Stand-in for Triton's launcher, which does nothing."""

    def __init__(self, _source: Any, _metadata: Any) -> None:
        self.launch_cooperative_grid = self.launch_pdl = False

    def __call__(self, *args: Any) -> None:
        pass


class Utilities:
    """Stand-in for Triton's driver utilities; a loaded kernel's function is a nonzero number."""

    def load_binary(self, *_args: Any) -> tuple[int, int, int, int, int]:
        return (1, 1, 32, 0, 1024)

    def get_device_properties(self, _device: int) -> dict[str, int]:
        return {
            "max_shared_mem": 232_448, "max_num_regs": 65_536, "multiprocessor_count": 132,
            "warpSize": 32, "sm_clock_rate": 1_980_000, "mem_clock_rate": 2_619_000,
            "mem_bus_width": 5_120,
        }  # fmt: skip


class StandIn:
    """Stand-in for Triton's driver, with the methods that a launch calls."""

    launcher_cls = Launcher
    device = "cpu"

    def __init__(self) -> None:
        self.utils = Utilities()

    def get_current_target(self) -> GPUTarget:
        return GPUTarget("cuda", 90, 32)

    def get_current_device(self) -> int:
        return 0

    def get_current_stream(self, _device: int) -> int:
        return 0

    def get_active_torch_device(self) -> torch.device:
        return torch.device(self.device)


def step_of(launches: int, microseconds: float) -> Callable[[], None]:
    """Activate the simulated driver, and return a function that makes one step."""
    driver.set_active(StandIn())
    x = [[torch.rand(64, 64 + n) for _ in range(10)] for n in range(8)]

    def work(rounds: int) -> int:
        total = 0
        for number in range(rounds):
            total += number * number % 7
        return total

    rounds = int(microseconds * ROUNDS_A_MICROSECOND)

    def step() -> None:
        for number in range(launches):
            few = x[number % 8]
            if number % 3:
                add3[(4,)](few[0], few[1], few[2], 4096, BLOCK=1024)
            else:
                add10[(4,)](*few, 4096, 1, 2, BLOCK=1024)
            work(rounds)

    return step


def main() -> None:
    parser = stepping.parser(__doc__.splitlines()[0])
    parser.add_argument("--launches", type=int, default=300)
    parser.add_argument("--work", type=float, default=40, help="microseconds between launches")
    options = parser.parse_args()
    stepping.run(step_of(options.launches, options.work), options)


if __name__ == "__main__":
    main()
