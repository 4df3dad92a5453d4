"""Writing of the page: the built page, a title, and blocks that fit into the size budget."""

import functools
import html
import importlib.resources
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Final

from kvtrace.converters.output import whole_file
from kvtrace.converters.report.budget import Budget, Dropped, fitted_blocks
from kvtrace.converters.report.model import Report
from kvtrace.schema.errors import BadSetting

if TYPE_CHECKING:
    from kvtrace.schema.trace import Selection

__all__ = ["WrittenPage", "write_report"]

MEBIBYTE: Final = 1 << 20
#: The built page (`make frontend`): style, script, and a security policy with their hashes.
_APP: Final = "app.html"
_TITLE: Final = "<!--kvtrace:title-->"
_BLOCKS: Final = "<!--kvtrace:blocks-->"


@dataclass(frozen=True, slots=True)
class WrittenPage:
    """A page on disk: its path and size, and the parts that did not fit."""

    path: Path
    size_bytes: int
    dropped: tuple[Dropped, ...]


def write_report(
    report: Report,
    selection: "Selection",
    path: Path,
    max_mb: float = 20.0,
    *,
    source: bool = True,
    blocks: Mapping[str, str] | None = None,
) -> WrittenPage:
    """Write the report of a selection's runs as one page of at most `max_mb` MiB.

    Parts that do not fit are omitted, the least needed first: ops and accesses of the least
    launched calls, recorded tensors, compiled code of the kernels with least time, then launches
    outside of the most interesting parts of the timeline (`detail.py`). The page lists omitted
    parts, with commands that show them.

    Args:
        report: The report's data.
        selection: The runs, from whose tables further data is read.
        path: The file, replaced if it exists.
        max_mb: Largest size of the page, in MiB.
        source: Include code of the program.
        blocks: Text of additional blocks by name, which are always included.

    Raises:
        BadSetting: the budget is too small for the page without launches and texts, or the file
            cannot be written.
    """
    room = int(max_mb * MEBIBYTE) - len(_page_text(report.title, {}).encode())
    budget = Budget(report, room, dict(blocks or {}))
    fitted_blocks(budget, selection.trace, selection.runs, source=source)
    if budget.room() < 0:
        raise BadSetting(
            f"a report of this trace needs at least {max_mb - budget.room() / MEBIBYTE:.2f} MiB, "
            f"more than --max-mb {max_mb:g}"
        )
    size = _write_page(report.title, budget.blocks, path)
    return WrittenPage(path, size, tuple(budget.dropped))


def _write_page(title: str, blocks: Mapping[str, str], path: Path) -> int:
    """Write a page with a title and packed blocks by name, and return its size in bytes.

    Raises:
        BadSetting: the file cannot be written.
    """
    content = _page_text(title, blocks).encode()
    with whole_file(path) as file:
        file.write(content)
    return len(content)


def _page_text(title: str, blocks: Mapping[str, str]) -> str:
    before, between, after = _page_parts()
    elements = "\n".join(_block_element(name, block) for name, block in blocks.items())
    return "".join((before, html.escape(title), between, elements, after))


def _block_element(name: str, block: str) -> str:
    return f'<script type="application/gzip+base64" id="{html.escape(name)}">{block}</script>'


@functools.cache
def _page_parts() -> tuple[str, str, str]:
    """Return the built page's text before the title, between title and blocks, and after them."""
    page = importlib.resources.files(__package__).joinpath(_APP).read_text(encoding="utf-8")
    before, _, rest = page.partition(_TITLE)
    between, _, after = rest.partition(_BLOCKS)
    return before, between, after
