"""Pictures and outputs of docs/demo.md and README.md, from recorded programs (`make docs`).

python -m docs_site.pictures          # writes docs/demo/*.png and the outputs in docs/demo.md
python -m docs_site.pictures --text   # the outputs alone, which need no browser
"""

import argparse
import io
import os
import re
import shutil
import tempfile
from contextlib import chdir, redirect_stdout
from dataclasses import dataclass
from importlib import import_module
from itertools import product
from pathlib import Path
from typing import Final

from docs_site.demo import TRACE
from docs_site.repository import ROOT
from kvtrace.cli import main

PAGE: Final = ROOT / "docs/demo.md"
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

_OUTPUT: Final = re.compile(
    r"(<!-- (?P<columns>\d+) columns: kvtrace (?P<command>[^>]*?) -->\n```text\n)(?P<text>.*?)```",
    re.DOTALL,
)


def with_outputs(markdown: str) -> str:
    """Return a page's Markdown with each output replaced by the current output of its command."""
    return _OUTPUT.sub(
        lambda found: f"{found[1]}{output(found['command'].split(), int(found['columns']))}```",
        markdown,
    )


def output(command: list[str], columns: int) -> str:
    """Return a kvtrace command's output in a terminal of `columns`, run in the fixtures' folder."""
    columns_before = os.environ.get("COLUMNS")
    os.environ["COLUMNS"] = str(columns)
    try:
        with chdir(FIXTURES), redirect_stdout(io.StringIO()) as printed:
            main(command)
    finally:
        os.environ.pop("COLUMNS")
        if columns_before is not None:
            os.environ["COLUMNS"] = columns_before
    return printed.getvalue()


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
    parser = argparse.ArgumentParser(description="Make the pictures and outputs of docs/demo.md.")
    parser.add_argument("--text", action="store_true", help="the outputs alone")
    arguments = parser.parse_args()
    PAGE.write_text(with_outputs(PAGE.read_text(encoding="utf-8")), encoding="utf-8")
    browsers = import_module("kvtrace.converters.report.frontend.screenshots").NAMES
    if not arguments.text and not any(map(shutil.which, browsers)):
        print("no browser is on PATH: the pictures stay as they are")
        arguments.text = True
    for picture in [] if arguments.text else take_screenshots():
        print(picture.relative_to(ROOT), f"{picture.stat().st_size:,} bytes")
