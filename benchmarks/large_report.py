"""Time, memory and size of `info`, `profile` and `report` of a long training run, and of its page.

    python benchmarks/large_report.py FOLDER [--launches 717000 1000000 3000000]

Traces are those of training_trace.py, written into the folder where they are not there yet. A
command is a separate process, imports and all: seconds by the wall clock, the time of processors
(which says more where others are at work), and the most memory that was resident. DuckDB by hand is
`duckdb` in a separate process on the same Parquet files, asked for the device time of each kernel;
the ratio is of the time of processors. The page is opened in headless Chromium from a file: seconds
until its figures are shown, and until its timeline is drawn and can be used.
"""

import argparse
import os
import platform
import shutil
import sys
from importlib.metadata import version
from pathlib import Path
from typing import Any, Final

from playwright.sync_api import sync_playwright
from scale import DEVICE, process_figures
from training_trace import write_training

PACKAGES: Final = ("numpy", "pyarrow", "duckdb", "playwright")
_FLAGS: Final = ("--headless", "--no-sandbox", "--disable-gpu", "--no-first-run")
#: When an element of the page was first there, looked for in each frame.
_WATCH: Final = """
(() => {
  const seen = (window.kvtraceSeen = {});
  const places = { figures: "#app h2", timeline: "#timeline-minimap" };
  const look = () => {
    for (const [name, place] of Object.entries(places))
      if (!(name in seen) && document.querySelector(place)) seen[name] = performance.now() / 1000;
    if (document.documentElement.dataset.ready) seen.ready ??= performance.now() / 1000;
    else requestAnimationFrame(look);
  };
  requestAnimationFrame(look);
})();
"""


def main() -> None:
    """Print a line for each size and command, and one for each page."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder", type=Path)
    parser.add_argument("--launches", type=int, nargs="+", default=[717_000, 1_000_000, 3_000_000])
    parser.add_argument("--timeout", type=int, default=600)
    parser.add_argument("--limit", type=float, default=8.0)
    options = parser.parse_args()
    packages = ", ".join(f"{name} {version(name)}" for name in PACKAGES)
    print(f"{platform.platform()}, {os.cpu_count()} cores, Python {platform.python_version()}")
    print(f"{packages}; load average {os.getloadavg()[0]:.1f}")
    print(f"{'launches':>9} {'command':<8} {'wall s':>7} {'cpu s':>7} {'GB':>6} {'ratio':>6}")
    for launches in options.launches:
        trace = options.folder / f"training-{launches}"
        if not trace.exists():
            write_training(trace, launches)
        page = options.folder / f"{trace.name}.html"
        by_hand = _by_hand(trace, options.timeout, options.limit)
        for words in (["info"], ["profile"], ["report", "--no-replay", "-o", str(page)]):
            command = [sys.executable, "-m", "kvtrace", words[0], str(trace), *words[1:]]
            figures = process_figures(command, options.timeout, options.limit)
            if figures is None:
                print(f"{launches:>9,} {words[0]:<8} not done", flush=True)
                continue
            wall, processor, memory = figures
            cells = f"{wall:>7.2f} {processor:>7.2f} {memory:>6.2f}"
            ratio = f"{processor / by_hand:>6.1f}" if by_hand else ""
            print(f"{launches:>9,} {words[0]:<8} {cells} {ratio}", flush=True)
        seen = _seconds_until_shown(page)
        print(
            f"{launches:>9,} page     {page.stat().st_size / 1e6:.1f} MB, figures shown after "
            f"{seen['figures']:.2f} s, the timeline after {seen['timeline']:.2f} s",
            flush=True,
        )


def _by_hand(trace: Path, timeout: int, limit: float) -> float | None:
    """Return the processor seconds of DuckDB's sum of device time by kernel; None if it fails."""
    query = DEVICE.format(trace=trace)
    program = f"import duckdb\nduckdb.connect().execute({query!r}).fetchall()"
    figures = process_figures([sys.executable, "-c", program], timeout, limit)
    return None if figures is None else figures[1]


def _seconds_until_shown(page: Path) -> dict[str, Any]:
    """Return the seconds from opening a page until its parts of `_WATCH` are there."""
    with sync_playwright() as playwright:
        chromium = shutil.which("chromium")
        browser = playwright.chromium.launch(executable_path=chromium, args=list(_FLAGS))
        tab = browser.new_page(viewport={"width": 1440, "height": 900})
        tab.add_init_script(_WATCH)
        tab.goto(page.resolve().as_uri())
        tab.wait_for_function("() => document.documentElement.dataset.ready")
        seen: dict[str, Any] = tab.evaluate("() => window.kvtraceSeen")
        browser.close()
    return seen


if __name__ == "__main__":
    main()
