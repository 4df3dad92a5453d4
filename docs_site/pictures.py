"""Pictures of README.md and of pages, from recorded programs (`make docs`)."""

import io
import os
import shutil
import sys
import tempfile
from contextlib import chdir, redirect_stderr, redirect_stdout
from dataclasses import dataclass
from html import escape
from itertools import product
from pathlib import Path
from typing import Final

from docs_site.demo import TRACE
from docs_site.repository import ROOT
from docs_site.screenshots import NAMES, Shot, pictures
from kvtrace.cli import main

PICTURES: Final = ROOT / "docs/demo"
FIXTURES: Final = ROOT / "tests/fixtures/h200"


@dataclass(frozen=True)
class Screen:
    """First screen of a trace's report at an address; widths and height are in pixels."""

    trace: Path
    address: str
    widths: tuple[int, ...]
    height: int = 900
    judged: bool = False

    def write(self, page: Path) -> None:
        """Write the report of the trace, which is in the current folder."""
        judging = [] if self.judged else ["--no-replay"]
        main(["report", self.trace.name, *judging, "-o", str(page)])


@dataclass(frozen=True)
class Terminal:
    """The output of a command about a trace, which is the last of its words."""

    trace: Path
    words: tuple[str, ...]
    height: int
    widths: tuple[int, ...] = (760,)
    address: str = ""

    def write(self, page: Path) -> None:
        """Write the command and its output as a page in the colors of the reader's theme."""
        os.environ["COLUMNS"] = str(self.widths[0] // 8 - 4)
        words = [*self.words, self.trace.name]
        printed = io.StringIO()
        with redirect_stdout(printed), redirect_stderr(io.StringIO()):
            main(words)
        text = escape(f"$ kvtrace {' '.join(words)}\n{printed.getvalue()}")
        page.write_text(
            "<!doctype html><html data-ready=true><meta charset='utf-8'><style>"
            ":root { color-scheme: light dark }"
            "pre { font: 13px/1.45 monospace; margin: 14px }</style>"
            f"<pre>{text}</pre>",
            encoding="utf-8",
        )


#: Screens by the picture's name; `finding` is that of README.md.
SCREENS: Final[dict[str, Screen | Terminal]] = {
    "llama": Screen(TRACE, "#/", (1440, 1000)),
    "item": Screen(FIXTURES / "planted/item", "#/", (1440,)),
    "finding": Screen(
        ROOT / "tests/fixtures/missing_mask",
        "#/findings/da1b25a6939b7f4c5e1426ca8513f3eb",
        (720,),
        760,
        judged=True,
    ),
    "sizes": Terminal(FIXTURES / "train", ("sizes",), 560),
}


def take_screenshots() -> list[Path]:
    """Write a picture of each report's first screen, per width and theme; return the paths."""
    PICTURES.mkdir(exist_ok=True)
    paths = []
    with tempfile.TemporaryDirectory(prefix="kvtrace-pictures-") as folder:
        for name, screen in SCREENS.items():
            page = Path(folder, f"{name}.html")
            shutil.copytree(screen.trace, Path(folder, screen.trace.name))
            with chdir(folder):
                screen.write(page)
            for width, scheme in product(screen.widths, ("light", "dark")):
                path = PICTURES / f"{name}-{width}-{scheme}.png"
                shot = Shot(page, screen.address, scheme, width, screen.height)
                path.write_bytes(*pictures([shot]))
                paths.append(path)
    return paths


if __name__ == "__main__":
    if not any(map(shutil.which, NAMES)):
        sys.exit("no browser is on PATH: the pictures stay as they are")
    for picture in take_screenshots():
        print(picture.relative_to(ROOT), f"{picture.stat().st_size:,} bytes")
