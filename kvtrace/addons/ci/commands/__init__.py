"""Commands of this add-on as `kvtrace --help` lists them, one module each."""

from typing import Final

from kvtrace.cli import Command

BASELINE: Final = Command(
    f"{__name__}.baseline", "Store runs under a name for comparisons", group="Many runs"
)
GATE: Final = Command(
    f"{__name__}.gate",
    "Record a program and compare it with a baseline",
    passthrough=True,
    group="Compare",
    exit_1="the change must not be merged, or the program ended with 1",
)
BISECT: Final = Command(
    f"{__name__}.bisect",
    "Find the commit or Triton version that broke a rule",
    group="Many runs",
    exit_1="a rule is violated",
)
