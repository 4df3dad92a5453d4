"""Extensions of kvtrace that a test compiles itself, with flags and functions of its own."""

import ctypes
import os
import subprocess
import sysconfig
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.machinery import ExtensionFileLoader
from importlib.util import module_from_spec, spec_from_loader
from pathlib import Path
from runpy import run_path
from types import ModuleType
from typing import Final

from tests.support.tree import ROOT

_STABLE: Final = "-DPy_LIMITED_API=0x030B0000"


def compiling(source: str, target: Path | str, *flags: str) -> list[str]:
    """Return gcc's command that compiles a C file of the checkout to an object file."""
    kinds = {"q": "wide", "i": "narrow"}
    fields = run_path(str(ROOT / "schema/spool.py"))["FIELDS"]
    launch = " ".join(f"{kinds[kind]}({name})" for name, kind in fields.items())
    return [
        "gcc", "-std=gnu11", "-fPIC", _STABLE, f"-DLAUNCH_FIELDS(wide, narrow)={launch}", *flags,
        "-isystem", sysconfig.get_paths()["include"], "-c", str(ROOT / source), "-o", str(target),
    ]  # fmt: skip


def compiled_module(
    source: str,
    folder: Path,
    *,
    flags: tuple[str, ...] = (),
    links: tuple[str, ...] = (),
    beside: str | None = None,
    layouts: tuple[str, str] | None = None,
) -> ModuleType:
    """Return an extension that is compiled with `flags`, and linked with the words of `links`.

    `beside` is a C file of the tests that is linked, too, and compiled without the flags.
    `layouts` is a text of `_layouts.h`, and what stands there instead: the C is copied to `folder`.
    """
    if layouts is not None:
        source = _copied(folder, *layouts) + source
    name = Path(source).stem
    made, library = folder / f"{name}.o", folder / f"{name}.abi3.so"
    sanitized = os.environ.get("KVTRACE_SANITIZED", "").split()  # of tests.native.sanitize
    subprocess.run(compiling(source, made, "-O1", *sanitized, *flags), cwd=ROOT, check=True)
    objects = [str(made), *([str(ROOT / beside)] if beside else [])]
    subprocess.run(
        ["gcc", "-shared", "-fPIC", *sanitized, *objects, *links, "-o", str(library)],
        cwd=ROOT,
        check=True,
    )
    spec = spec_from_loader(name, ExtensionFileLoader(name, str(library)))
    assert spec is not None
    assert spec.loader is not None
    module = module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


class Allocations:
    """The C library's allocations that an extension makes, each of which can be made to fail."""

    def __init__(self, source: str, folder: Path) -> None:
        wrapped = ",".join(f"--wrap={name}" for name in ("malloc", "calloc", "realloc"))
        self.module = compiled_module(
            source, folder, links=(f"-Wl,{wrapped}",), beside="tests/native/allocations.c"
        )
        library = ctypes.CDLL(str(self.module.__file__))
        self._first, self._last, self._made = (
            ctypes.c_longlong.in_dll(library, f"allocations_{name}")
            for name in ("fail_first", "fail_last", "made")
        )

    @contextmanager
    def failing(self, first: int, count: int) -> Iterator[None]:
        """Make `count` allocations fail, of those from here on from the one numbered `first`."""
        self._made.value, self._first.value, self._last.value = 0, first, first + count - 1
        try:
            yield
        finally:
            self._first.value = self._last.value = 0

    @property
    def made(self) -> int:
        """Number of allocations since the context began."""
        return self._made.value


def _copied(folder: Path, text: str, other: str) -> str:
    """Copy the C to `folder`, with another text in `_layouts.h`; return the folder's path."""
    for path in (ROOT / "kvtrace").rglob("_*.[ch]"):
        target = folder / path.relative_to(ROOT)
        target.parent.mkdir(parents=True, exist_ok=True)
        content = path.read_text(encoding="utf-8")
        if path.name == "_layouts.h":
            assert text in content, text
            content = content.replace(text, other)
        target.write_text(content, encoding="utf-8")
    return f"{folder}/"
