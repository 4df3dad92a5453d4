"""The report fitted into its budget and written as one page: the built one, a title, and blocks."""

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

__all__ = ["Written", "write_report"]

MEBIBYTE: Final = 1 << 20
#: The built page (`make frontend`): style, script and a policy with their hashes are in it.
_APP: Final = "app.html"
_TITLE: Final = "<!--kvtrace:title-->"
_BLOCKS: Final = "<!--kvtrace:blocks-->"


@dataclass(frozen=True, slots=True)
class Written:
    """What `write_report` wrote."""

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
) -> Written:
    """Write the report of the runs of a selection as one page of at most `max_mb` MiB.

    What does not fit is left out, least needed first: ops and accesses of the calls that were
    launched least, recorded tensors, compiled code of the kernels that took least time, then
    launches (of each call the first and the longest stay, and every n-th). The page says what was
    left out and how to see it.

    Args:
        report: What the page shows.
        selection: The runs, whose tables the rest is read from.
        path: The file; one that is there is replaced.
        max_mb: Largest size of the page, in MiB.
        source: Whether code of the program goes in.
        blocks: Text of further blocks by name, which are on the page whatever else fits.

    Raises:
        BadSetting: the budget is too small for the page without launches and texts, or the file
            cannot be written.

    """
    room = int(max_mb * MEBIBYTE) - _shell_bytes(report.title)
    budget = Budget(report, room, dict(blocks or {}))
    fitted_blocks(budget, selection.trace, selection.runs, source=source)
    if budget.room() < 0:
        raise BadSetting(
            f"a report of this trace needs at least {max_mb - budget.room() / MEBIBYTE:.2f} MiB, "
            f"and {max_mb:g} is less; give it more with --max-mb."
        )
    size = _write_page(report.title, budget.blocks, path)
    return Written(path, size, tuple(budget.dropped))


def _write_page(title: str, blocks: Mapping[str, str], path: Path) -> int:
    """Write one page with these blocks (name → what `pack` packed); return its size in bytes.

    Raises:
        BadSetting: the file cannot be written.

    """
    content = _assemble(title, blocks).encode()
    with whole_file(path) as file:
        file.write(content)
    return len(content)


def _shell_bytes(title: str) -> int:
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
    page = importlib.resources.files(__package__).joinpath(_APP).read_text(encoding="utf-8")
    before, _, rest = page.partition(_TITLE)
    between, _, after = rest.partition(_BLOCKS)
    return before, between, after
