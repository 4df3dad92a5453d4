"""Commands of this add-on as `kvtrace --help` lists them, one module each."""

from typing import Final

from kvtrace.cli import Command

SUITE: Final = Command(
    f"{__name__}.make",
    "Make benchmarks and tests of the kernels that a run launched",
    group="Kernels",
)
RUN: Final = Command(f"{__name__}.run", "Time a suite's calls, and candidates", group="Kernels")
JUDGE: Final = Command(
    f"{__name__}.judge", "Judge candidates for a suite's calls, without a GPU", group="Kernels"
)
TUNE: Final = Command(
    f"{__name__}.tune", "Try other configurations of a suite's calls", group="Kernels"
)
EXPORT: Final = Command(
    f"{__name__}.export", "Write a suite in the format of another tool", group="Kernels"
)
IMPORT: Final = Command(
    f"{__name__}.import_", "Make a suite of another tool's traces", group="Kernels"
)
