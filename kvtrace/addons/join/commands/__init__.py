"""The old name of `kvtrace import --into`, which this add-on does."""

from typing import Final

from kvtrace.cli import Command

JOIN: Final = Command(
    f"{__name__}.join",
    "Add device times that another profiler took",
    instead="import FILES --into TRACE",
)
