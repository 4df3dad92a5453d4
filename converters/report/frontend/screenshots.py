r"""Pictures of a report's views in both themes, for the documentation.

    python converters/report/frontend/screenshots.py report.html docs/report \
        overview='#/' kernel='#/kernel/0' launch='#/call/0?op=3'

writes docs/report/overview-light.png, overview-dark.png and so on. Needs the Python package
playwright, and Chromium on PATH.
"""

import argparse
import shutil
import sys
from importlib import import_module
from pathlib import Path
from typing import Any, Final

NAMES: Final = ("chromium", "chromium-browser", "google-chrome", "chrome")
WIDTH: Final = 1280
#: Time for what a view draws after it is shown, in milliseconds.
SETTLE: Final = 600


def take(page: Path, folder: Path, addresses: dict[str, str], height: int) -> list[Path]:
    """Take the pictures and return their paths."""
    chromium = next(filter(None, map(shutil.which, NAMES)), None)
    if chromium is None:
        sys.exit(f"none of {', '.join(NAMES)} is on PATH")
    folder.mkdir(parents=True, exist_ok=True)
    playwright = import_module("playwright.sync_api")
    taken = []
    with playwright.sync_playwright() as driver:
        browser = driver.chromium.launch(executable_path=chromium, args=["--no-sandbox"])
        for scheme in ("light", "dark"):
            for name, address in addresses.items():
                path = folder / f"{name}-{scheme}.png"
                _take(browser, page.resolve().as_uri() + address, scheme, height, path)
                taken.append(path)
        browser.close()
    return taken


def _take(browser: Any, address: str, scheme: str, height: int, path: Path) -> None:
    size = {"width": WIDTH, "height": height}
    context = browser.new_context(viewport=size, color_scheme=scheme)
    window = context.new_page()
    window.goto(address)
    window.wait_for_selector("html[data-ready=true]")
    window.wait_for_timeout(SETTLE)
    window.screenshot(path=str(path))
    context.close()


def _address(text: str) -> tuple[str, str]:
    name, found, address = text.partition("=")
    if not found or not address.startswith("#"):
        raise argparse.ArgumentTypeError(f"{text!r} is not like overview='#/'")
    return name, address


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description="Take pictures of a report's views.")
    parser.add_argument("page", type=Path)
    parser.add_argument("folder", type=Path)
    parser.add_argument("addresses", type=_address, nargs="+", metavar="NAME=#ADDRESS")
    parser.add_argument("--height", type=int, default=860)
    given = parser.parse_args()
    for picture in take(given.page, given.folder, dict(given.addresses), given.height):
        print(picture)
