"""The command of this add-on."""

from typing import Final

from kvtrace.cli import Command

INVARIANCE: Final = Command(
    "kvtrace.addons.invariance.commands.invariance",
    "Prove that a row's result is the same in every batch",
    group="Kernels",
    exit_1="with --against, results differ; with --strict, an output is not proven",
)
