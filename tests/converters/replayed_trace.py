"""Traces of an H200, replayed and sanitized once a process, and the blocks of their pages."""

import functools
import shutil
import tempfile
from pathlib import Path
from typing import Any

from kvtrace.clients.recorded import replay
from kvtrace.converters.report import report_data
from kvtrace.converters.report.sources import Context, block_sources
from kvtrace.converters.report.writing import Budget, fitted_blocks
from kvtrace.schema.trace import Selection, resolve
from tests.support.packed import read_json

FIXTURES = Path(__file__).parents[1] / "fixtures" / "h200"
#: Holds the copies; gone when the process ends.
_FOLDER = tempfile.TemporaryDirectory(prefix="kvtrace-replayed-")


@functools.cache
def replayed(name: str) -> Selection:
    """A copy of the fixture of that name (train, device) with all derived tables."""
    path = Path(_FOLDER.name) / name
    shutil.copytree(FIXTURES / name, path)
    selection = resolve(str(path))
    for run in selection.runs:
        replay(selection.trace, run, None, ("tracer", "profiler", "sanitizer"))
    return resolve(str(path))


def context_of(selection: Selection, *, source: bool = True) -> Context:
    """What sources of blocks read from."""
    report = report_data(selection.trace, selection.runs, "title", "out/")
    return Context(report, selection.trace, selection.runs, source)


def blocks_of(selection: Selection, *, source: bool = True, max_bytes: int = 20 << 20) -> Budget:
    """The blocks of a page of at most that many bytes, and what was left out."""
    report = report_data(selection.trace, selection.runs, "title", "out/")
    budget = Budget(report, max_bytes)
    fitted_blocks(budget, selection.trace, selection.runs, source=source)
    return budget


@functools.cache
def replayed_blocks(name: str) -> Budget:
    """All blocks of the page of a replayed fixture, for tests that only read them."""
    return blocks_of(replayed(name))


def json_blocks(budget: Budget, kind: str) -> dict[int, Any]:
    """The JSON blocks of a kind by their number."""
    return {
        int(name.partition("/")[2]): read_json(block)
        for name, block in budget.blocks.items()
        if name.startswith(f"{kind}/")
    }


def source_named(name: str) -> Any:
    """The source of blocks of that name."""
    (found,) = (source for source in block_sources() if source.name == name)
    return found
