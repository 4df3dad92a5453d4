"""The command of this add-on."""

from typing import Final

from kvtrace.cli import Command

FAULT: Final = Command(
    "kvtrace.addons.fault.commands.fault",
    "Name the launch, line and argument of a GPU fault or hang",
    group="Find a defect",
    exit_1="there is a fault",
)
