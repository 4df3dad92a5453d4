"""Commands of this add-on as `kvtrace --help` lists them, one module each."""

from typing import Final

from kvtrace.cli import Command

SUITE: Final = Command(
    f"{__name__}.make",
    "Make benchmarks and tests of the kernels that a run launched",
    group="Kernels",
)
