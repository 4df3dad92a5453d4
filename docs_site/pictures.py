"""Pictures of docs/demo.md and README.md, from recorded programs (`make docs`)."""

import shutil
import sys
import tempfile
from contextlib import chdir
from dataclasses import dataclass
from importlib import import_module
from itertools import product
from pathlib import Path
from typing import Final

from docs_site.demo import TRACE
from docs_site.repository import ROOT
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


#: Screens by the picture's name; `finding` is that of README.md.
SCREENS: Final = {
    "llama": Screen(TRACE, "#/", (1440, 1000)),
    "item": Screen(FIXTURES / "planted/item", "#/", (1440,)),
    "finding": Screen(
        ROOT / "tests/fixtures/missing_mask",
        "#/findings/da1b25a6939b7f4c5e1426ca8513f3eb",
        (720,),
        760,
        judged=True,
    ),
}


def take_screenshots() -> list[Path]:
    """Write a picture of each report's first screen, per width and theme; return the paths."""
    screenshots = import_module("kvtrace.converters.report.frontend.screenshots")
    PICTURES.mkdir(exist_ok=True)
    paths = []
    with tempfile.TemporaryDirectory(prefix="kvtrace-pictures-") as folder:
        for name, screen in SCREENS.items():
            page = Path(folder, f"{name}.html")
            shutil.copytree(screen.trace, Path(folder, screen.trace.name))
            judging = [] if screen.judged else ["--no-replay"]
            with chdir(folder):
                main(["report", screen.trace.name, *judging, "-o", str(page)])
            for width, scheme in product(screen.widths, ("light", "dark")):
                path = PICTURES / f"{name}-{width}-{scheme}.png"
                shot = screenshots.Shot(page, screen.address, scheme, width, screen.height)
                path.write_bytes(*screenshots.pictures([shot]))
                paths.append(path)
    return paths


if __name__ == "__main__":
    browsers = import_module("kvtrace.converters.report.frontend.screenshots").NAMES
    if not any(map(shutil.which, browsers)):
        sys.exit("no browser is on PATH: the pictures stay as they are")
    for picture in take_screenshots():
        print(picture.relative_to(ROOT), f"{picture.stat().st_size:,} bytes")
