"""Notebooks of the documentation: run without a screen, and written as Jupyter shows them."""

import os
import re
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path
from typing import Any

from tests.support.browser import Browser, OpenPage

NOTEBOOK = Path(__file__).resolve().parents[2] / "docs" / "notebook" / "first_trace.ipynb"
#: What is taken from a page before it is opened: nbconvert's own links to scripts elsewhere.
_OUTSIDE = re.compile(r'<script src="https?://[^>]*></script>')


def executed(notebook: Path, folder: Path, seconds: int = 240) -> Any:
    """Run all cells in a kernel of their own, whose folder is `folder`; raises what a cell does."""
    nbformat, nbclient = import_module("nbformat"), import_module("nbclient")
    read = nbformat.read(notebook, as_version=4)
    kept = {name: value for name, value in os.environ.items() if not name.startswith("KVTRACE")}
    client = nbclient.NotebookClient(
        read, timeout=seconds, kernel_name="python3", resources={"metadata": {"path": str(folder)}}
    )
    client.execute(env=kept | {"TRITON_CACHE_DIR": str(folder / "cache")})
    return read


def shown_texts(notebook: Any) -> Iterator[str]:
    """Give the texts of the objects that cells show, in their order."""
    for cell in notebook.cells:
        for output in cell.get("outputs", ()):
            if "text/plain" in output.get("data", {}):
                yield output["data"]["text/plain"]


def write_page(notebook: Any, path: Path, theme: str) -> Path:
    """Write a notebook as JupyterLab shows it; theme: light or dark."""
    exporter = import_module("nbconvert").HTMLExporter(
        template_name="lab", theme=theme, mathjax_url="", require_js_url="", mermaid_js_url="",
        jquery_url="",
    )  # fmt: skip
    body, _ = exporter.from_notebook_node(notebook)
    page = _OUTSIDE.sub("", body).replace("<html", '<html data-ready="true"', 1)
    path.write_text(page, encoding="utf-8")
    return path


def frames_ready(opened: OpenPage) -> None:
    """Wait until each page in a frame says that it is ready; out of sight it draws nothing."""
    for frame in opened.page.frames[1:]:
        frame.frame_element().scroll_into_view_if_needed()
        frame.wait_for_selector("html[data-ready=true]", state="attached", timeout=30_000)


__all__ = ["NOTEBOOK", "Browser", "executed", "frames_ready", "shown_texts", "write_page"]
