"""Command of this add-on as `kvtrace --help` lists it."""

from typing import Final

from kvtrace.cli import Command

MCP: Final = Command(
    f"{__name__}.mcp", "Serve agents by the Model Context Protocol", group="Traces"
)
