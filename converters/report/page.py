"""The page as one HTML file: markup, style, script, policy, and the blocks of data."""

import base64
import hashlib
import html
import importlib.resources
from collections.abc import Mapping
from pathlib import Path
from string import Template
from typing import Final

from kvtrace.converters.output import whole_file

__all__ = ["SCRIPTS", "shell_bytes", "write_page"]

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


def write_page(title: str, blocks: Mapping[str, str], path: Path) -> int:
    """Write one page with these blocks (name → what `pack` packed); return its size in bytes.

    Raises:
        BadSetting: the file cannot be written.

    """
    content = _assemble(title, blocks).encode()
    with whole_file(path) as file:
        file.write(content)
    return len(content)


def shell_bytes(title: str) -> int:
    """Return the size of the page without any block."""
    return len(_assemble(title, {}).encode())


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
