"""Text that `kvtrace suite` prints."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kvtrace.text import percent, plural

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from kvtrace.addons.suite.model import Suite


def made_lines(suite: Suite, folder: Path) -> Iterator[str]:
    """Yield the lines that say what a new suite has, and what it has not."""
    calls = sum(len(entry.calls) for entry in suite.entries)
    yield (
        f"wrote {folder}: {plural(len(suite.entries), 'call')} for {calls:,} recorded, "
        f"{percent(suite.covered)} of the {suite.weighed_by} of Triton kernels"
    )
    if suite.weighed_by == "launches":
        yield "  weighed by launches: KVTRACE_MODE=timeline records times on the device"
    violations = [e.name for e in suite.entries if "violation" in e.checks.values()]
    if violations:
        yield f"  {plural(len(violations), 'call')} violate a rule, as recorded: {violations[0]} …"
    for left_out in suite.left_out:
        yield f"  left out: {left_out.name}, {percent(left_out.share)}: {left_out.why}"
