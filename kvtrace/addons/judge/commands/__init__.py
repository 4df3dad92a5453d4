"""Commands of this add-on as `kvtrace --help` lists them, one module each."""

from typing import Final

from kvtrace.cli import Command

JUDGE: Final = Command(
    f"{__name__}.judge",
    "Judge a file's kernel without a GPU",
    group="Kernels",
    exit_1="the kernel is wrong",
)
MCP: Final = Command(
    f"{__name__}.mcp", "Serve agents by the Model Context Protocol", group="Traces and settings"
)
