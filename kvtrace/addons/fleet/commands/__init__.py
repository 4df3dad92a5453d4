"""The command of this add-on."""

from typing import Final

from kvtrace.cli import Command

FLEET: Final = Command(
    f"{__name__}.fleet", "Show kernels over many runs and commits", group="Many runs"
)
