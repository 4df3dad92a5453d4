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
    group="Many runs",
)
BISECT: Final = Command(
    f"{__name__}.bisect", "Find the commit or Triton version that broke a rule", group="Many runs"
)
