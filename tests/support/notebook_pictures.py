"""Pictures of the documentation's notebook in both themes, with its outputs.

    python -m tests.support.notebook_pictures docs/notebook

runs the notebook without a screen, opens it in Chromium as JupyterLab shows it, and writes a
picture of each cell of `CELLS`, as `findings-light.png`.
"""

import sys
import tempfile
from importlib import import_module
from pathlib import Path
from typing import Final

from tests.support.browser import browser
from tests.support.notebooks import NOTEBOOK, executed, frames_ready, write_page

#: What a cell's code begins with → the picture's name.
CELLS: Final = {
    "def run": "trace", "found =": "findings", "trace.replay": "profile", "trace.page": "report",
    "@triton.jit\ndef difference": "difference", "x, out": "launch",
}  # fmt: skip
WIDTH: Final = 1200
#: Time for what the report draws after it is there, in milliseconds.
SETTLE: Final = 1_000


def main(folder: Path) -> None:
    """Run the notebook, and write the pictures."""
    reduced = import_module("kvtrace.converters.report.frontend.screenshots").reduced
    with tempfile.TemporaryDirectory(prefix="kvtrace-notebook-") as scratch:
        notebook = executed(NOTEBOOK, Path(scratch))
        places = [
            (at, name)
            for at, cell in enumerate(notebook.cells)
            for start, name in CELLS.items()
            if cell.cell_type == "code" and cell.source.startswith(start)
        ]
        for theme in ("light", "dark"):
            page = write_page(notebook, Path(scratch) / f"{theme}.html", theme)
            with browser() as chromium, chromium.open(page, width=WIDTH, scheme=theme) as opened:
                frames_ready(opened)
                opened.page.wait_for_timeout(SETTLE)
                cells = opened.page.locator(".jp-Cell")
                for at, name in places:
                    picture = reduced(opened.page.context.browser, cells.nth(at).screenshot())
                    (folder / f"{name}-{theme}.png").write_bytes(picture)
                    print(f"{name}-{theme}.png", f"{len(picture):,} bytes")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
