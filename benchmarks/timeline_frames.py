"""Frame times of the report's timeline with a million launches, zoomed and panned in Chromium.

    python benchmarks/timeline_frames.py FOLDER [--launches 1000000] [--width 1440] [--page FILE]

The trace is that of scale_trace.py, of one rank with as many executions on its device as launches;
the page holds all of both. Headless Chromium draws without a GPU, so by software. Every frame of a
movement sends one event, as a mouse or a touchpad does, in the order of "move, wait for the next
frame"; a frame's time is the interval between two calls of requestAnimationFrame. Each movement
takes 120 frames: most of the run, and parts down to a hundred-thousandth of it, are panned, and the
wheel zooms from all of the run to single launches and back. The last movement only points at
slices, whose arrows and tooltips come and go.

One line a movement: frames; the median, the 95th percentile and the longest of their times, in ms;
frames a second by the median; the time of processors that the page's process took for a frame, in
ms, which says more where others are at work; and the longest frame after the movement, when tables
and the address follow. The browser draws at most 60 frames a second, so times are multiples of 16.7
ms. Exit code 1 if a 95th percentile is above --limit.
"""

import argparse
import os
import platform
import sys
import time
from pathlib import Path
from typing import Any, Final

import numpy as np
from scale_trace import write_trace

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
from kvtrace.cli import main as kvtrace
from tests.support.browser import OpenPage, browser

FRAMES: Final = 120
#: Parts of the run that are panned.
SHARES: Final = (0.8, 0.1, 0.01, 0.003, 0.00001)
#: Sends one event a frame to an element, and returns the intervals between frames in ms.
MOVED: Final = """async ([id, frames, kind]) => {
    const canvas = document.getElementById(id);
    const box = canvas.getBoundingClientRect();
    const [y, middle] = [box.top + box.height / 2, box.left + 0.6 * box.width];
    const frame = () => new Promise((done) => requestAnimationFrame(done));
    const wheel = (deltaY) => canvas.dispatchEvent(new WheelEvent("wheel", {
        deltaY, ctrlKey: true, clientX: middle, clientY: y, bubbles: true, cancelable: true }));
    const point = (type, x) => canvas.dispatchEvent(new PointerEvent(type, {
        clientX: x, clientY: y, pointerId: 1, isPrimary: true, buttons: 1, bubbles: true }));
    canvas.setPointerCapture = () => undefined;  // there is no such pointer
    await frame();
    if (kind === "pan") point("pointerdown", middle);
    const times = [await frame()];
    for (let number = 0; number < frames; number += 1) {
        if (kind === "zoom") wheel(number < frames / 2 ? -60 : 60);
        else point("pointermove", middle + 100 * Math.sin(number / 6));
        times.push(await frame());
    }
    if (kind === "pan") point("pointerup", middle);
    const intervals = times.slice(1).map((time, place) => time - times[place]);
    const end = times[frames];  // tables and the address follow a movement when it has ended
    const later = [end];
    while (later.at(-1) < end + 700) later.push(await frame());
    const pause = Math.max(...later.slice(1).map((time, place) => time - later[place]));
    return [intervals, pause];
}"""


def main() -> int:
    """Write a missing trace and page, measure every movement, and print one table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder", type=Path)
    parser.add_argument("--launches", type=int, default=1_000_000)
    parser.add_argument("--width", type=int, default=1440, help="of the window, in pixels")
    parser.add_argument("--page", type=Path, help="measure this page of another trace")
    parser.add_argument("--limit", type=float, default=34.0, help="ms of 95 %% of frames")
    options = parser.parse_args()
    page = options.page or written_page(options.folder, options.launches)
    with browser() as opened_browser:
        began = time.perf_counter()
        with opened_browser.open(page, width=options.width) as opened:
            opened.page.wait_for_selector("#in-view td", timeout=120_000)
            took = time.perf_counter() - began
            print(
                f"{platform.platform()}, {os.cpu_count()} cores, load {os.getloadavg()[0]:.1f}; "
                f"Chromium {opened.page.context.browser.version}, headless, software rendering"
            )
            print(f"{page.stat().st_size / 1e6:.1f} MB, opened in {took:.1f} s")
            heads = ("frames", "p50", "p95", "most", "a second", "cpu", "after")
            print(f"{'':<30}", *(f"{head:>8}" for head in heads))
            slow = [not report(name, opened, *rest, options.limit) for name, *rest in movements()]
            console = opened.console
    if console:
        print("\n".join(console))
    return int(any(slow) or bool(console))


def written_page(folder: Path, launches: int) -> Path:
    """Return the page of the trace with this many launches; write both if they are missing."""
    folder.mkdir(parents=True, exist_ok=True)
    trace, page = folder / f"trace-{launches}", folder / f"page-{launches}.html"
    if not trace.exists():
        write_trace(trace, launches, ranks=1)
    if kvtrace(["report", str(trace), "--no-replay", "--max-mb", "100", "-o", str(page)]):
        raise SystemExit(2)
    return page


def movements() -> list[tuple[str, float, str]]:
    """Return the name, the part of the run that is in view at first, and the kind of each."""
    pans = [(f"pan, {share:.5g} in view", share, "pan") for share in SHARES]
    points = ("point at slices, 0.8 in view", 0.8, "point")
    return [("zoom in and out at the pointer", 1.0, "zoom"), *pans, points]


def report(name: str, opened: OpenPage, share: float, kind: str, limit: float) -> bool:
    """Print the frame times of a movement, and return whether 95 % of them are within `limit`."""
    times, processor_ms, pause = frame_times(opened, share, kind)
    median, high = np.percentile(times, [50, 95])
    figures = (median, high, times.max(), 1000 / median, processor_ms / times.size, pause)
    print(f"{name:<30} {times.size:>8}", *(f"{value:>8.1f}" for value in figures), flush=True)
    return bool(high <= limit)


def frame_times(opened: OpenPage, share: float, kind: str) -> tuple[Any, float, float]:
    """Return the times of a movement in ms: of frames, of processors, and of the longest after it.

    The movement begins at a part of the run, by its share of it.
    """
    opened.page.get_by_role("button", name="Show all").click()
    opened.page.wait_for_timeout(500)
    span = opened.page.locator(".timeline").evaluate("e => e.dataset.end - e.dataset.begin")
    if share < 1:
        begin = (1 - share) / 2 * span
        opened.go(f"#/?from={begin:.0f}&to={begin + share * span:.0f}")
    opened.page.locator("#timeline").scroll_into_view_if_needed()
    opened.page.wait_for_timeout(1500)  # tables below have followed
    before = processor_time(opened)
    times, pause = opened.page.evaluate(MOVED, ["timeline", FRAMES, kind])
    return np.array(times), processor_time(opened) - before, pause


def processor_time(opened: OpenPage) -> float:
    """Return the time of processors in ms that the browser's pages have taken so far."""
    session = opened.page.context.browser.new_browser_cdp_session()
    processes = session.send("SystemInfo.getProcessInfo")["processInfo"]
    session.detach()
    return 1000 * sum(item["cpuTime"] for item in processes if item["type"] == "renderer")


if __name__ == "__main__":
    sys.exit(main())
