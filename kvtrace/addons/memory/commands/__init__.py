"""The command of this add-on."""

from typing import Final

from kvtrace.cli import Command

CONFIRM: Final = Command(
    "kvtrace.addons.memory.commands.confirm",
    "Say whether output depends on memory that nobody wrote",
    group="Kernels",
    exit_1="output depends on memory that nobody wrote",
)
