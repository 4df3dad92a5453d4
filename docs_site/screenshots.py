"""Pictures of a report's views in both themes, for the documentation and to be looked at.

Pictures have at most 256 colors, which makes them small. Needs the Python packages playwright and
numpy, and Chromium on PATH.
"""

import base64
import shutil
import struct
import sys
import zlib
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import Any, Final

import numpy as np
import numpy.typing as npt

NAMES: Final = ("chromium", "chromium-browser", "google-chrome", "chrome")
#: Time for delayed drawing of a view, in milliseconds.
SETTLE: Final = 600
#: Height of the page's fixed bar, in pixels.
TOP: Final = 56
COLORS: Final = 256

Pixels = npt.NDArray[np.uint8]

#: JavaScript that returns the pixels of a PNG picture by row, as red, green, blue and opacity.
_DECODE: Final = """async (picture) => {
  const image = new Image();
  image.src = `data:image/png;base64,${picture}`;
  await image.decode();
  const canvas = document.createElement("canvas");
  [canvas.width, canvas.height] = [image.width, image.height];
  const context = canvas.getContext("2d");
  context.drawImage(image, 0, 0);
  const { data } = context.getImageData(0, 0, image.width, image.height);
  let text = "";
  for (let at = 0; at < data.length; at += 32768) {
    text += String.fromCharCode(...data.subarray(at, at + 32768));
  }
  return [image.width, image.height, btoa(text)];
}"""


@dataclass(frozen=True)
class Shot:
    """View that a picture shows: an address of a page, in a theme and a window (pixels)."""

    page: Path
    address: str
    scheme: str
    width: int
    height: int
    top: str = ""
    """Id of the element that the page is scrolled to."""
    whole: bool = False
    """The whole page, not only what the window shows."""


def pictures(shots: Iterable[Shot]) -> Iterator[bytes]:
    """Yield a PNG picture of each shot, with at most 256 colors."""
    with _chromium() as browser:
        for shot in shots:
            yield _picture(browser, shot)


@contextmanager
def _chromium() -> Iterator[Any]:
    chromium = next(filter(None, map(shutil.which, NAMES)), None)
    if chromium is None:
        sys.exit(f"none of {', '.join(NAMES)} is on PATH")
    playwright = import_module("playwright.sync_api")
    with playwright.sync_playwright() as driver:
        browser = driver.chromium.launch(executable_path=chromium, args=["--no-sandbox"])
        yield browser
        browser.close()


def _picture(browser: Any, shot: Shot) -> bytes:
    size = {"width": shot.width, "height": shot.height}
    context = browser.new_context(viewport=size, color_scheme=shot.scheme)
    window = context.new_page()
    window.goto(shot.page.resolve().as_uri() + shot.address)
    window.wait_for_selector("html[data-ready=true]")
    window.wait_for_timeout(SETTLE)
    if shot.top:
        script = "(element, top) => scrollTo(0, element.getBoundingClientRect().y + scrollY - top)"
        window.locator(f"#{shot.top}").evaluate(script, TOP)
        window.wait_for_timeout(SETTLE)
    picture: bytes = window.screenshot(full_page=shot.whole)
    context.close()
    return reduced(browser, picture)


def reduced(browser: Any, picture: bytes) -> bytes:
    """Return a PNG picture with at most 256 colors; a page of the browser decodes the picture."""
    decoder = browser.new_page()
    width, rows, text = decoder.evaluate(_DECODE, base64.b64encode(picture).decode())
    decoder.close()
    pixels = np.frombuffer(base64.b64decode(text), np.uint8).reshape(rows, width, 4)
    return _png(*_with_palette(pixels[:, :, :3]))


def _with_palette(pixels: Pixels) -> tuple[Pixels, Pixels]:
    """Return a palette of at most 256 colors, and for each pixel the index of the nearest color.

    Colors are added one by one: the color with the largest product of its distance from the palette
    and the square root of its number of pixels.
    """
    codes = pixels.astype(np.int64) @ np.array([1 << 16, 1 << 8, 1])
    distinct_codes, color_of_pixel, counts = np.unique(
        codes, return_inverse=True, return_counts=True
    )
    colors = (distinct_codes[:, None] >> np.array([16, 8, 0])) & 255
    palette: list[npt.NDArray[np.int64]] = []
    nearest = np.zeros(len(colors), np.uint8)
    distance = np.full(len(colors), np.iinfo(np.int64).max)
    cost = counts.astype(np.float64)
    while len(palette) < min(COLORS, len(colors)):
        palette.append(colors[int(cost.argmax())])
        new_distance = ((colors - palette[-1]) ** 2).sum(axis=1)
        nearest[new_distance < distance] = len(palette) - 1
        distance = np.minimum(distance, new_distance)
        cost = np.sqrt(counts) * distance
    return np.array(palette, np.uint8), nearest[color_of_pixel].reshape(codes.shape)


def _png(palette: Pixels, indexes: Pixels) -> bytes:
    """Return a PNG picture from 8-bit palette indices (PNG specification, color type 3)."""
    rows, width = indexes.shape
    lines = np.zeros((rows, width + 1), np.uint8)  # each line begins with its filter: none
    lines[:, 1:] = indexes
    chunks = (
        (b"IHDR", struct.pack(">IIBBBBB", width, rows, 8, 3, 0, 0, 0)),
        (b"PLTE", palette.tobytes()),
        (b"IDAT", zlib.compress(lines.tobytes(), 9)),
        (b"IEND", b""),
    )
    return b"\x89PNG\r\n\x1a\n" + b"".join(
        struct.pack(">I", len(content))
        + kind
        + content
        + struct.pack(">I", zlib.crc32(kind + content))
        for kind, content in chunks
    )
