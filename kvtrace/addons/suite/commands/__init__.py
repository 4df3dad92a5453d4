"""Commands of this add-on as `kvtrace --help` lists them, one module each."""

from typing import Final

from kvtrace.cli import Command

SUITE: Final = Command(
    f"{__name__}.make",
    "Make benchmarks of a run's calls",
    group="Kernels",
)
RUN: Final = Command(
    f"{__name__}.run",
    "Time a suite's calls, and candidates",
    group="Kernels",
    exit_1="a candidate is wrong, a call cannot be launched, or one is slower than --against",
)
JUDGE: Final = Command(
    f"{__name__}.judge",
    "Judge candidates for a suite's calls, without a GPU",
    group="Kernels",
    exit_1="a candidate is wrong",
)
TUNE: Final = Command(
    f"{__name__}.tune",
    "Try other configurations of a suite's calls",
    group="Kernels",
    exit_1="the GPU was lost before all calls were tried",
)
EXPORT: Final = Command(
    f"{__name__}.export", "Write a suite in the format of another tool", group="Kernels"
)
IMPORT: Final = Command(
    f"{__name__}.import_", "Make a suite of another tool's traces", group="Kernels"
)
