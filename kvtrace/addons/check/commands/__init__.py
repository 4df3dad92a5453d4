"""The command of this add-on."""

from typing import Final

from kvtrace.cli import Command

CHECK: Final = Command(
    "kvtrace.addons.check.commands.check",
    "Compare what the GPU computed with what the IR means",
    group="Kernels",
)
