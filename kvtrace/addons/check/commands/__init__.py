"""The command of this add-on."""

from typing import Final

from kvtrace.cli import Command

CHECK: Final = Command(
    "kvtrace.addons.check.commands.check",
    "Compare GPU results with the values that the IR means",
    group="Find a defect",
    exit_1="a launch differs, or has the first NaN",
)
