"""Traces that tests record, kept in pytest's cache for the other workers and for later runs.

What is kept goes by all that it is made of: the builder's file, the test files that it imports, the
rooms that record, the format, and the versions of Python, torch and Triton. Passes over a trace are
made of every room; they are run anew. `pytest --cache-clear` forgets all.
"""

import ast
import fcntl
import hashlib
import inspect
import os
import shutil
import sys
import threading
import time
from collections.abc import Callable, Iterator
from functools import cache
from importlib.metadata import version
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final

from kvtrace.schema.versions import FORMAT_VERSION
from tests.support.tiers import unnoted
from tests.support.tree import ROOT

#: Rooms whose code decides what a recording holds.
RECORDING: Final = ("backends", "capture", "clients", "evaluate", "ir", "recorded_calls", "schema")
#: Packages whose modules a builder's file may import.
OWN: Final = ("tests", "corpus")
#: Python 3.11 counts the depth of what it parses in one number for all threads, and fails.
_PARSING: Final = threading.Lock()
#: Seconds after which what other sources made is removed.
OLD: Final = 24 * 60 * 60


def kept(build: Callable[[Path], object], into: Path, *sources: Path) -> Path:
    """Fill a folder as `build(into)` does, from what it made before if nothing of that changed.

    build: a function of a module, which names no path of this session in what it writes.
    into: does not exist yet; the caller may change what it gets.
    sources: what the builder reads besides: programs, data.
    """
    if (known := os.environ.get("KVTRACE_TEST_TRACES")) is None:  # set by conftest.py
        into.mkdir(parents=True)
        build(into)
        return into
    folder = Path(known)
    name = f"{build.__module__}.{build.__qualname__}"
    place = folder / f"{name}-{_digest(build, sources)}"
    with (folder / f"{name}.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not place.is_dir():
            _make(build, place)
            _remove_old(folder, name, place)
    return Path(shutil.copytree(place, into))


def _make(build: Callable[[Path], object], place: Path) -> None:
    unfinished = place.with_name(place.name + ".unfinished")
    shutil.rmtree(unfinished, ignore_errors=True)
    with unnoted(), TemporaryDirectory(prefix="kvtrace-kept-") as made:  # outside of any checkout
        build(Path(made))
        shutil.copytree(made, unfinished)
    unfinished.replace(place)


def _remove_old(folder: Path, name: str, but: Path) -> None:
    for each in folder.glob(f"{name}-*"):
        if each != but and each.stat().st_mtime < time.time() - OLD:
            shutil.rmtree(each, ignore_errors=True)


def _digest(build: Callable[..., object], sources: tuple[Path, ...]) -> str:
    found = hashlib.sha256(_recording().encode())
    for path in sorted({*_imported(Path(inspect.getfile(build))), *sources}):
        found.update(f"{path} {hashlib.sha256(path.read_bytes()).hexdigest()}".encode())
    return found.hexdigest()[:16]


@cache
def _recording() -> str:
    """What any recording depends on."""
    versions = [sys.version, FORMAT_VERSION, version("torch"), version("triton")]
    found = hashlib.sha256()
    for room in RECORDING:
        for path in sorted((ROOT / "kvtrace" / room).rglob("*")):
            if path.suffix in (".py", ".c", ".h"):
                found.update(path.read_bytes())
    return f"{versions} {found.hexdigest()}"


def _imported(path: Path, known: frozenset[Path] = frozenset()) -> frozenset[Path]:
    """A test file and those that it imports, also by way of others."""
    known |= {path}
    for module in _test_modules(path):
        file = ROOT.joinpath(*module.split(".")).with_suffix(".py")
        if file.is_file() and file not in known:
            known = _imported(file, known)
    return known


def _test_modules(path: Path) -> Iterator[str]:
    with _PARSING:
        tree = ast.parse(path.read_text(encoding="utf-8"))
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and (node.module or "").startswith(OWN):
            yield str(node.module)
            yield from (f"{node.module}.{each.name}" for each in node.names)
        elif isinstance(node, ast.Import):
            yield from (each.name for each in node.names if each.name.startswith(OWN))
