"""The command of this add-on."""

from typing import Final

from kvtrace.cli import Command

JOIN: Final = Command(
    f"{__name__}.join", "Add device times that another profiler took", group="Traces and settings"
)
