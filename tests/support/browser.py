"""A real headless Chromium for tests: pages opened from files, with all they say and ask for.

Where chromium is not installed the tests skip; with KVTRACE_REQUIRE_CHROMIUM set they fail.
"""

import os
import shutil
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from importlib import import_module
from pathlib import Path
from typing import Any, NoReturn

import pytest

from tests.support.tiers import PAGE

NAMES = ("chromium", "chromium-browser", "google-chrome", "chrome")
FLAGS = (
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
)
#: How long something may take to be shown: a busy machine is slow, and pytest ends a test later.
LONGEST_MS = 240_000


def chromium_path() -> str:
    """The browser's path; skips the test, or fails it, where there is none."""
    found = next(filter(None, map(shutil.which, NAMES)), None)
    if found is None:
        _missing(f"no {' or '.join(NAMES)} on PATH")
    return found


def _missing(reason: str) -> NoReturn:
    if os.environ.get("KVTRACE_REQUIRE_CHROMIUM"):
        pytest.fail(f"{reason}, and KVTRACE_REQUIRE_CHROMIUM asks for a browser")
    pytest.skip(reason)


@dataclass
class OpenPage:
    """A page, what it wrote to the console, and the addresses that it asked for."""

    page: Any
    console: list[str] = field(default_factory=list)
    requests: list[str] = field(default_factory=list)

    def text(self, selector: str) -> str:
        """All text of the first element that matches."""
        return str(self.page.locator(selector).first.inner_text())

    def go(self, address: str) -> None:
        """Go to an address inside the page, as `#/kernels`; wait until all of it is shown."""
        self.page.evaluate("address => { location.hash = address; }", address)
        self._wait_for(address[1:])

    def arrive(self) -> None:
        """Wait until all of what the address names is shown and, after that, listens to keys."""
        self._wait_for(self.page.evaluate("() => location.hash.slice(1)"))

    def _wait_for(self, address: str) -> None:
        self.page.wait_for_function(
            """address => {
              const told = document.documentElement.dataset;
              return told.address === address && !Number(told.waiting ?? 0);
            }""",
            arg=address,
        )

    def begin_again(self, address: str) -> None:
        """Go to an address as if the page had just been loaded: nothing is chosen, or searched."""
        self.console.clear()
        self.go("#/nowhere")
        self.page.mouse.move(0, 0)
        self.page.evaluate(
            """() => {
              document.activeElement.blur();
              scrollTo(0, 0);
              const search = document.querySelector("header input[type=search]");
              search.value = "";
              search.dispatchEvent(new Event("input", { bubbles: true }));
              search.dispatchEvent(new FocusEvent("blur"));
            }"""
        )
        self.go(address)

    def settle(self, frames: int = 4) -> None:
        """Wait until the page has drawn what it now shows: some frames without another text."""
        self.page.evaluate(
            """async (frames) => {
              let [before, same] = [null, 0];
              for (let frame = 0; frame < 100 && same < frames; frame += 1) {
                await new Promise((done) => requestAnimationFrame(() => setTimeout(done, 0)));
                same = document.body.innerText === before ? same + 1 : 0;
                before = document.body.innerText;
              }
            }""",
            frames,
        )


class Browser:
    """Opens files; the last page is kept, so that tests of one view load it once."""

    def __init__(self, chromium: Any) -> None:
        self._chromium = chromium
        self._kept: tuple[object, OpenPage] | None = None

    @contextmanager
    def open(self, path: Path, address: str = "", **settings: Any) -> Iterator[OpenPage]:
        """Load a file and wait until it says that it is ready (`data-ready` on its root).

        Settings are `width` and `height` of the window, the `scheme` of its theme, and `prepare`,
        which is called with the page before the file is loaded.
        """
        opened = self._loaded(path, address, **settings)
        try:
            yield opened
        finally:
            opened.page.context.close()

    @contextmanager
    def reuse(self, path: Path, address: str = "", **settings: Any) -> Iterator[OpenPage]:
        """Go to an address of a report that was left open with these settings, or load it.

        The page comes from an address of no view: what a test chose is gone with its address. After
        a failure it is not kept.
        """
        kind = (path, path.stat().st_mtime_ns, sorted(settings.items()))
        kept, self._kept = self._kept, None
        if kept is not None and kept[0] == kind:
            sys.audit(PAGE)
            opened = kept[1]
            opened.begin_again(address or "#/")
        else:
            if kept is not None:
                kept[1].page.context.close()
            opened = self._loaded(path, address, **settings)
        try:
            yield opened
        except BaseException:
            opened.page.context.close()
            raise
        if self._kept is None:
            self._kept = kind, opened
        else:  # another one was opened meanwhile
            opened.page.context.close()

    def _loaded(
        self,
        path: Path,
        address: str,
        width: int = 1280,
        height: int = 900,
        scheme: str = "light",
        prepare: Callable[[Any], None] | None = None,
    ) -> OpenPage:
        sys.audit(PAGE)
        context = self._chromium.new_context(
            viewport={"width": width, "height": height}, color_scheme=scheme
        )
        context.set_default_timeout(LONGEST_MS)
        page = context.new_page()
        if prepare is not None:
            prepare(page)
        opened = OpenPage(page)
        page.on("console", lambda message: opened.console.append(f"{message.type}: {message.text}"))
        page.on("pageerror", lambda problem: opened.console.append(f"error: {problem}"))
        page.on("request", lambda request: opened.requests.append(request.url))
        page.goto(path.as_uri() + address)
        page.wait_for_selector("html[data-ready=true]")
        return opened


#: The browser that runs now: Playwright allows one at a time in a process.
_RUNNING: list[Browser] = []


@contextmanager
def browser() -> Iterator[Browser]:
    """Start Chromium with a user data folder of its own; inside another's use, give that one."""
    if _RUNNING:
        yield _RUNNING[-1]
        return
    path = chromium_path()
    try:
        playwright = import_module("playwright.sync_api")
    except ImportError:
        _missing("the Python package playwright is not installed")
    with (
        tempfile.TemporaryDirectory(prefix="kvtrace-chromium-") as home,
        playwright.sync_playwright() as driver,
    ):
        chromium = driver.chromium.launch(
            executable_path=path, args=list(FLAGS), env={**os.environ, "HOME": home}
        )
        _RUNNING.append(Browser(chromium))
        try:
            yield _RUNNING[-1]
        finally:
            _RUNNING.pop()
            chromium.close()
