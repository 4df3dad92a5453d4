"""The page as one HTML file: what `frontend/` was built into, a title, and the blocks of data."""

import functools
import html
import importlib.resources
from collections.abc import Mapping
from pathlib import Path
from typing import Final

from kvtrace.converters.output import whole_file

__all__ = ["APP", "shell_bytes", "write_page"]

#: The built page (`make frontend`): style, script and a policy with their hashes are in it.
APP: Final = "app.html"
_TITLE: Final = "<!--kvtrace:title-->"
_BLOCKS: Final = "<!--kvtrace:blocks-->"


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
    before, between, after = _parts()
    elements = "\n".join(_element(name, block) for name, block in blocks.items())
    return "".join((before, html.escape(title), between, elements, after))


def _element(name: str, block: str) -> str:
    return f'<script type="application/gzip+base64" id="{html.escape(name)}">{block}</script>'


@functools.cache
def _parts() -> tuple[str, str, str]:
    """Return the built page before the title, between title and blocks, and after them."""
    page = importlib.resources.files(__package__).joinpath(APP).read_text(encoding="utf-8")
    before, _, rest = page.partition(_TITLE)
    between, _, after = rest.partition(_BLOCKS)
    return before, between, after
