"""Take the README's pictures of a report: `python docs/images/take.py demo-out/report.html`."""

import shutil
import sys
from pathlib import Path

from playwright.sync_api import Page, sync_playwright

HERE = Path(__file__).parent
WIDTH = 1280


def take(page: Page, address: str, name: str, height: int) -> None:
    """Open a place of the report and write what is seen of it."""
    page.set_viewport_size({"width": WIDTH, "height": height})
    page.goto(address)
    page.wait_for_selector("#content h1")
    if "#/kernel/" in address:
        page.get_by_text("inverse = 1.0").hover()  # links the line to its operations
        page.evaluate("document.querySelectorAll('*').forEach((e) => { e.scrollLeft = 0; })")
    page.screenshot(path=HERE / name)


def main() -> None:
    """Write report.png and kernel.png beside this file."""
    report = Path(sys.argv[1]).resolve().as_uri()
    browser_path = shutil.which("chromium") or shutil.which("google-chrome")
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=browser_path, args=["--no-sandbox"])
        page = browser.new_page()
        take(page, report, "report.png", 840)
        take(page, f"{report}#/kernel/0", "kernel.png", 970)
        browser.close()


if __name__ == "__main__":
    main()
