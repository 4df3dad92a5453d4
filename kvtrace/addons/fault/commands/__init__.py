"""The command of this add-on."""

from typing import Final

from kvtrace.cli import Command

FAULT: Final = Command(
    "kvtrace.addons.fault.commands.fault",
    "Say which launch, line and argument a GPU fault or hang came from",
    group="Kernels",
    exit_1="there is a fault",
)
