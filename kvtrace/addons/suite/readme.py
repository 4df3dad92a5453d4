"""The README of a suite, for readers who do not know kvtrace."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kvtrace.text import duration, percent

if TYPE_CHECKING:
    from kvtrace.addons.suite.model import Entry, Suite


def readme(suite: Suite) -> str:
    """Return the text of a suite's `README.md`."""
    return "\n".join(
        ["# A suite of GPU kernels", "", _covered(suite), "", *map(_row, suite.entries), ""]
    )


def _covered(suite: Suite) -> str:
    return f"{percent(suite.covered)} of the {suite.weighed_by}"


def _row(entry: Entry) -> str:
    return f"- {entry.name} {percent(entry.share)} {duration(entry.median_ns)}"
