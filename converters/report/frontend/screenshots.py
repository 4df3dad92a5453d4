r"""Pictures of a report's views in both themes, for the documentation.

    python converters/report/frontend/screenshots.py report.html docs/report \
        overview='#/' kernel='#/kernel/0' launch@op='#/call/0?op=3'

writes docs/report/overview-light.png, overview-dark.png and so on, 1500 pixels wide, and
overview-1920-light.png and so on, 1920 pixels wide. After @ comes the id of an element, to which
the page is scrolled. Pictures have at most 256 colors, which makes them small. Needs the Python
packages playwright and numpy, and Chromium on PATH.
"""

import argparse
import base64
import shutil
import struct
import sys
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from importlib import import_module
from itertools import product
from pathlib import Path
from typing import Any, Final

import numpy as np
import numpy.typing as npt

NAMES: Final = ("chromium", "chromium-browser", "google-chrome", "chrome")
#: Widths in pixels, with the suffix of their files' names.
WIDTHS: Final = {1500: "", 1920: "-1920"}
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


def take(page: Path, folder: Path, addresses: dict[str, str], height: int) -> list[Path]:
    """Take pictures of a page's views in both themes and widths, and return their paths.

    `addresses` has the view's address ("#/kernel/0") by the picture's name, and `height` is that of
    the window in pixels. Files are written into `folder`, which is created.
    """
    folder.mkdir(parents=True, exist_ok=True)
    paths = []
    with _chromium() as browser:
        for scheme, (width, suffix), (name, address) in product(
            ("light", "dark"), WIDTHS.items(), addresses.items()
        ):
            name, _, top = name.partition("@")
            path = folder / f"{name}{suffix}-{scheme}.png"
            size = {"width": width, "height": height}
            url = page.resolve().as_uri() + address
            path.write_bytes(_screenshot(browser, url, scheme, size, top))
            paths.append(path)
    return paths


def picture(page: Path, address: str, scheme: str, size: dict[str, int]) -> bytes:
    """Return a PNG picture of a page's view in a theme ("light" or "dark").

    `size` has the window's width and height.
    """
    with _chromium() as browser:
        return _screenshot(browser, page.resolve().as_uri() + address, scheme, size, "")


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


def _screenshot(browser: Any, address: str, scheme: str, size: dict[str, int], top: str) -> bytes:
    """Return a PNG picture of an address, scrolled to the element with the id `top` unless ""."""
    context = browser.new_context(viewport=size, color_scheme=scheme)
    window = context.new_page()
    window.goto(address)
    window.wait_for_selector("html[data-ready=true]")
    window.wait_for_timeout(SETTLE)
    if top:
        script = "(element, top) => scrollTo(0, element.getBoundingClientRect().y + scrollY - top)"
        window.locator(f"#{top}").evaluate(script, TOP)
        window.wait_for_timeout(SETTLE)
    shot: bytes = window.screenshot()
    context.close()
    return reduced(browser, shot)


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


def _address(text: str) -> tuple[str, str]:
    name, equals, address = text.partition("=")
    if not equals or not address.startswith("#"):
        raise argparse.ArgumentTypeError(
            f"{text!r} must have the form NAME=#ADDRESS (overview='#/')"
        )
    return name, address


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description="Take pictures of a report's views.")
    parser.add_argument("page", type=Path)
    parser.add_argument("folder", type=Path)
    parser.add_argument("addresses", type=_address, nargs="+", metavar="NAME=#ADDRESS")
    parser.add_argument("--height", type=int, default=1000)
    options = parser.parse_args()
    for path in take(options.page, options.folder, dict(options.addresses), options.height):
        print(path)
