"""Commands of this add-on as `kvtrace --help` lists them, one module each."""

from typing import Final

from kvtrace.cli import Command

SUITE: Final = Command(
    f"{__name__}.make",
    "Make benchmarks and tests of the kernels that a run launched",
    group="Kernels",
)
EXPORT: Final = Command(
    f"{__name__}.export", "Write a suite in the format of another tool", group="Kernels"
)
IMPORT: Final = Command(
    f"{__name__}.import_", "Make a suite of another tool's traces", group="Kernels"
)
