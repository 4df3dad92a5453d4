"""Report pages in one Chromium for all tests of a session.

`conftest.py` makes the fixtures known; a test asks for `report_browser`, writes a page with
`written_page`, and opens it with `report_browser.open(path)` or, with all that every page must
hold checked when it is left, with `opened_page`.
"""

import functools
import json
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from kvtrace.cli import main
from tests.support.browser import Browser, OpenPage, browser
from tests.support.imported_file import imported_file
from tests.support.packed import blocks_in, read_json
from tests.support.thorough import in_turn
from tests.support.tiers import needs

FRONTEND = Path(__file__).parents[2] / "kvtrace" / "converters" / "report" / "frontend"
AXE = FRONTEND / "node_modules" / "axe-core" / "axe.min.js"
#: Themes that axe looks at each view in: one of them at a push, in turn.
THEMES = in_turn(("light", "dark"), 2)
#: What the check asks for: WCAG 2.1 A and AA, and what axe calls best practice.
AXE_TAGS = ("wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "best-practice")


@pytest.fixture(scope="session")
@needs("browser")
def report_browser() -> Iterator[Browser]:
    """One Chromium for the whole session; each page has a context of its own."""
    with browser() as opened:
        yield opened


def written_page(trace: Path, out: Path, *settings: str) -> Path:
    """Write the report of a trace as a user does; return the page."""
    assert main(["report", str(trace), "-o", str(out), *settings]) == 0
    return out


class Page:
    """A page of a trace, and its blocks as data."""

    def __init__(self, trace: Path, folder: Path, *settings: str) -> None:
        self.path = written_page(trace, folder / "report.html", "--no-replay", *settings)
        self.packed = blocks_in(self.path)
        self.report = self.block("report")

    def block(self, name: str) -> Any:
        return read_json(self.packed[name])

    def kernel(self, name: str) -> int:
        return next(i for i, each in enumerate(self.report["kernels"]) if each["name"] == name)

    def stage(self, variant: int, name: str) -> Any:
        stages = self.report["variants"][variant]["stages"]
        return self.block(f"texts/{next(s['text'] for s in stages if s['stage'] == name)}")


@contextmanager
def opened_page(
    browser: Browser, path: Path, address: str = "", *, fresh: bool = False, **settings: Any
) -> Iterator[OpenPage]:
    """Open a page; afterwards its console must be empty and the file the only request.

    It is loaded once for tests that follow each other; `fresh`: loaded for this one.
    """
    with (browser.open if fresh else browser.reuse)(path, address, **settings) as opened:
        yield opened
        assert opened.console == []
        assert [url.partition("#")[0] for url in opened.requests] == [path.as_uri()]


@functools.cache
def frontend_build() -> Any:
    """The script that `make frontend` runs, as a module."""
    return imported_file(FRONTEND / "build.py", "frontend_build")


def accessibility_problems(opened: OpenPage) -> list[str]:
    """What axe-core has against what is shown now: one line for each rule and place."""
    if not AXE.exists():
        frontend_build().install()
    if not opened.page.evaluate("() => 'axe' in window"):
        # evaluate() is the debugger's, so the page's policy need not let the script in.
        opened.page.evaluate(AXE.read_text(encoding="utf-8"))
    options = json.dumps({"runOnly": list(AXE_TAGS), "resultTypes": ["violations"]})
    found = opened.page.evaluate(f"() => axe.run(document, {options})")
    return [
        f"{rule['id']} at {' '.join(map(str, node['target']))}: {node['html'][:160]}"
        for rule in found["violations"]
        for node in rule["nodes"]
    ]
