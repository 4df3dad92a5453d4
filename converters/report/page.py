"""The report as one HTML file that fits its budget."""

import base64
import hashlib
import html
import importlib.resources
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from string import Template
from typing import Final

from kvtrace.converters.output import whole_file
from kvtrace.converters.report.budget import Budget, Dropped, ReadArtifact, fitted_blocks
from kvtrace.converters.report.model import Report
from kvtrace.schema.errors import BadSetting

__all__ = ["SCRIPTS", "Written", "write_report"]

#: The page's code, in the order in which it is joined into one script.
SCRIPTS: Final = (
    "format.js",
    "blocks.js",
    "dom.js",
    "table.js",
    "theme.js",
    "timeline_rows.js",
    "timeline_draw.js",
    "timeline.js",
    "overview.js",
    "kernels.js",
    "highlight.js",
    "linker.js",
    "code_view.js",
    "launches.js",
    "findings.js",
    "main.js",
)

MEBIBYTE: Final = 1 << 20


@dataclass(frozen=True, slots=True)
class Written:
    """What `write_report` wrote."""

    path: Path
    size_bytes: int
    dropped: tuple[Dropped, ...]


def write_report(
    report: Report, read_artifact: ReadArtifact, path: Path, max_mb: float = 20.0
) -> Written:
    """Write the report as one page of at most `max_mb` MiB.

    What does not fit is left out, least needed first: compiled code of the kernels that took
    least time, then launches (of each call the first and the longest stay, and every n-th). The
    page says what was left out and how to see it.

    Raises:
        BadSetting: the budget is too small for the page without launches and texts, or the file
            cannot be written.

    """
    shell = len(_assemble(report.title, {}).encode())
    budget = Budget(report, int(max_mb * MEBIBYTE) - shell)
    fitted_blocks(budget, read_artifact)
    if budget.room() < 0:
        raise BadSetting(
            f"a report of this trace needs at least {max_mb - budget.room() / MEBIBYTE:.2f} MiB, "
            f"and {max_mb:g} is less; give it more with --max-mb."
        )
    content = _assemble(report.title, budget.blocks).encode()
    with whole_file(path) as file:
        file.write(content)
    return Written(path, len(content), tuple(budget.dropped))


def _assemble(title: str, blocks: Mapping[str, str]) -> str:
    style, script = _resource("page.css"), "".join(map(_resource, SCRIPTS))
    policy = (
        f"default-src 'none'; script-src {_source(script)}; style-src {_source(style)}; "
        "img-src data:; base-uri 'none'; form-action 'none'"
    )
    return Template(_resource("page.html")).substitute(
        title=html.escape(title),
        policy=policy,
        style=style,
        script=script,
        blocks="\n".join(_script(name, block) for name, block in blocks.items()),
    )


def _script(name: str, block: str) -> str:
    return f'<script type="application/gzip+base64" id="{name}">{block}</script>'


def _source(content: str) -> str:
    """Return the policy's name for an inline script or style: the hash of its content."""
    digest = base64.b64encode(hashlib.sha256(content.encode()).digest()).decode()
    return f"'sha256-{digest}'"


def _resource(name: str) -> str:
    return importlib.resources.files(__package__).joinpath(name).read_text(encoding="utf-8")
