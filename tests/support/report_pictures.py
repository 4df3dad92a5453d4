"""Pictures of the report's views in both themes, from recorded programs.

    python -m tests.support.report_pictures docs/report          # those of the documentation
    python -m tests.support.report_pictures docs/report compare  # one of them
    python -m tests.support.report_pictures FOLDER --all         # every view, to be looked at

The last writes each view as a whole in the windows that `page_layout.WINDOWS` names.
"""

import argparse
import io
import runpy
import shutil
import tempfile
from collections.abc import Callable, Collection
from contextlib import chdir, redirect_stdout
from itertools import product
from pathlib import Path
from typing import Final

import numpy as np
import pytest

import kvtrace
from docs_site.screenshots import Shot, pictures
from kvtrace.cli import main
from tests.converters.page_layout import SCHEMES, WINDOWS
from tests.gpu.portable_trace import portable_trace

ROOT: Final = Path(__file__).resolve().parents[2]
FIXTURES: Final = ROOT / "tests/fixtures"
EXAMPLES: Final = ROOT / "examples"
#: Window of the documentation's pictures, in pixels.
WIDTH, HEIGHT = 1440, 1000

#: Traces of the pages by name, beside those that `_recorded` makes.
TRACES: Final = {
    "steady": FIXTURES / "h200/llama_steady",
    "decoding": FIXTURES / "h200/decoding",
    "graphs": FIXTURES / "h200/llama_graphs",
    "ranks": FIXTURES / "h200/llama_ranks",
    "liger": FIXTURES / "h200/llama_liger_cached",
    "small": FIXTURES / "missing_mask",
}
#: Pictures of the documentation: the page, the address, the element that it is scrolled to.
#: FINDING is the address of the page's first finding.
FINDING: Final = "#/findings/first"
DOCUMENTED: Final = {
    "overview": ("steady", "#/", ""),
    "timeline": ("steady", "#/", "timeline-minimap"),
    "kernels": ("steady", "#/kernels", ""),
    "overview-decoding": ("decoding", "#/", ""),
    "overview-graphs": ("graphs", "#/", ""),
    "overview-ranks": ("ranks", "#/", ""),
    "kernel": ("decoding", "#/kernel/1", ""),
    "code": ("decoding", "#/kernel/1?left=ttgir&stage=ptx", "code"),
    "launches": ("decoding", "#/launches", ""),
    "launch": ("decoding", "#/launch/5", ""),
    "accesses": ("decoding", "#/call/3?op=17&p=1", "chosen-op"),
    "called": ("decoding", "#/called?at=4", ""),
    "findings": ("mask", FINDING, ""),
    "compare": ("compare", "#/compare", ""),
    "graph": ("graph", "#/graph/0", ""),
    "onchip": ("onchip", "#/onchip/1", ""),
}
#: What `--all` shows beside the documentation's addresses, by page.
FURTHER: Final = {
    "steady": ("#/kernel/1", "#/launches", "#/findings", "#/called", "#/call/3", "#/nowhere"),
    "decoding": ("#/kernels", "#/findings"),
    "liger": ("#/", "#/findings", FINDING, "#/kernel/0"),
    "small": ("#/", "#/kernels", "#/kernel/0", "#/findings", FINDING, "#/call/0", "#/called"),
    "compare": ("#/compare/0",),
    "graph": ("#/", "#/graphs"),
    "onchip": ("#/onchip",),
}


def documentation(folder: Path, names: Collection[str]) -> None:
    """Write the documentation's pictures of these names into a folder."""
    with tempfile.TemporaryDirectory(prefix="kvtrace-pictures-") as scratch:
        pages = _Pages(Path(scratch))
        shots = {}
        for name, scheme in product(names, SCHEMES):
            page, address, top = DOCUMENTED[name]
            shown = pages.address(page, address)
            shot = Shot(pages.page(page), shown, scheme, WIDTH, HEIGHT, top)
            shots[folder / f"{name}-{scheme}.png"] = shot
        _write(shots)


def every_view(folder: Path) -> None:
    """Write a picture of each view in each window and theme into a folder."""
    views: dict[str, dict[str, None]] = {}
    for page, address, _ in DOCUMENTED.values():
        views.setdefault(page, {})[address] = None
    for page, addresses in FURTHER.items():
        views.setdefault(page, {}).update(dict.fromkeys(addresses))
    with tempfile.TemporaryDirectory(prefix="kvtrace-pictures-") as scratch:
        pages = _Pages(Path(scratch))
        shots = {}
        for page, addresses in views.items():
            for number, address in enumerate(addresses):
                for (width, height), scheme in product(WINDOWS, SCHEMES):
                    path = folder / f"{page}-{number}-{width}-{scheme}.png"
                    shown = pages.address(page, address)
                    shots[path] = Shot(pages.page(page), shown, scheme, width, height, whole=True)
                print(f"{page}-{number}: {address}")
        _write(shots)


def _write(shots: dict[Path, Shot]) -> None:
    for path, picture in zip(shots, pictures(shots.values()), strict=True):
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(picture)
        print(f"{path.name} {len(picture):,} bytes")


class _Pages:
    """Pages that pictures are taken of, each made at its first use."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def page(self, name: str) -> Path:
        """Return the page of that name."""
        path = self._folder / f"{name}.html"
        if path.exists():
            return path
        with chdir(self._folder), redirect_stdout(io.StringIO()):
            if name in _MADE:
                _MADE[name](path)
            else:
                trace = TRACES.get(name)
                if trace is None:
                    _record(name)
                else:
                    shutil.copytree(trace, name)
                main(["report", name, "-o", str(path)])
        return path

    def address(self, name: str, address: str) -> str:
        """Return an address, with the id of the page's first finding for `FINDING`."""
        self.page(name)
        if address != FINDING:
            return address
        findings = kvtrace.open(self._folder / name).sanitize()
        return f"#/findings/{findings[0].finding_id}"


def _run(program: str, out: str) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(str(EXAMPLES))
        with kvtrace.capture(out):
            runpy.run_path(str(EXAMPLES / program), run_name="__main__")
    main(["replay", out])
    main(["sanitize", out])


def _record(name: str) -> None:
    """Record the program of a page that has no stored trace."""
    if name == "mask":
        with tempfile.TemporaryDirectory(prefix="kvtrace-recorded-") as scratch:
            recorded = Path(scratch, "out")
            _run("out_of_bounds.py", str(recorded))
            portable_trace(recorded, Path(name))
        return
    with kvtrace.capture(name):
        {"graph": _trace_graphs, "onchip": _call_nki}[name]()


def _trace_graphs() -> None:
    from kvtrace.addons.graphs.hlo import trace
    from tests.addons.graphs.hlo import programs

    random = np.random.default_rng(5)
    x = random.normal(size=(4, 32)).astype(np.float32)
    cache = np.zeros((16, 32), np.float32)
    weights = programs.transformer_weights(random)
    trace(programs.transformer_block)(x, weights, cache, cache.copy(), np.array(0, np.int32))


def _call_nki() -> None:
    from tests.addons.neuron.kernels.additions import add_spmd
    from tests.addons.neuron.kernels.attention import attention_fused

    ones = np.ones((256, 1536), np.float32)
    add_spmd[2, 3](ones, ones)
    attention_fused(*[np.ones((256, 64), np.float32)] * 3)


def _compare(page: Path) -> None:
    for version in ("v1", "v2"):
        _run(f"matmul_{version}.py", version)
    main(["diff", "v1", "v2", "--html", str(page)])


#: Pages that are not the report of one trace, by name.
_MADE: Final[dict[str, Callable[[Path], None]]] = {"compare": _compare}


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description="Take pictures of the report's views.")
    parser.add_argument("folder", type=Path)
    parser.add_argument("names", nargs="*", choices=[[], *DOCUMENTED], help="without: all")
    parser.add_argument("--all", action="store_true", help="every view, in each window and theme")
    arguments = parser.parse_args()
    if arguments.all:
        every_view(arguments.folder.resolve())
    else:
        documentation(arguments.folder.resolve(), arguments.names or DOCUMENTED)
