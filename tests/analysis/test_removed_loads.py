"""Loads that the compiler removed before TTIR: recorded with the IR before, judged, named."""

import os
from pathlib import Path
from typing import Any

import pytest

from kvtrace.analysis.judging import judge_runs
from kvtrace.analysis.writing import write_report
from kvtrace.converters.notes import notes_on
from kvtrace.schema.trace import resolve
from kvtrace.schema.without_ir import BEFORE_PASSES, recorded_stages
from tests.support.tiers import needs
from tests.support.triton_versions import ROOT
from tests.support.warm_python import warm_python
from tests.support.without_gpu import torch_without_gpu

torch = torch_without_gpu()

PROGRAM = """
import torch, triton, triton.language as tl

@triton.jit
def unused(a, b, n, B: tl.constexpr):
    o = tl.arange(0, B)
    x = tl.load(a + o)
    tl.store(b + o, o, mask=o < n)

@triton.jit
def of_zero(a, b, B: tl.constexpr):
    o = tl.arange(0, B)
    tl.store(b + o, tl.load(a + o) * 0)

@triton.jit
def pair(p, o):
    return tl.load(p + o), tl.load(p + o + 1)

@triton.jit
def called_twice(a, b, c, B: tl.constexpr):
    o = tl.arange(0, B)
    x, _ = pair(a, o)
    _, y = pair(b, o)
    tl.store(c + o, x + y)

@triton.jit
def equal(a, b, n, B: tl.constexpr):
    o = tl.arange(0, B)
    x = tl.load(a + o, mask=o < n) + tl.load(a + o, mask=o < n)
    dead = tl.load(a + o, mask=o < n)
    tl.store(b + o, x, mask=o < n)

@triton.jit
def indexed(a, b, B: tl.constexpr):
    o = tl.arange(0, B)
    x = tl.load(a + tl.load(b + o))
    tl.store(b + o, o)

@triton.jit
def masked(a, b, B: tl.constexpr):
    o = tl.arange(0, B)
    x = tl.load(a + o, mask=o < 4)
    tl.store(b + o, o)

a, b = torch.zeros(4, dtype=torch.int32), torch.zeros(16, dtype=torch.int32)
unused[(1,)](a, b, 4, B=16)
of_zero[(1,)](a, b, B=16)
called_twice[(1,)](b, torch.zeros(17, dtype=torch.int32), torch.zeros(16), B=16)
equal[(1,)](a, b, 4, B=16)
for value in (1, 2):
    b.fill_(value)
    indexed[(1,)](a, b, B=16)
masked[(1,)](a, b, B=16)
"""
OUT = ", which was out of bounds: load ends "
SENTENCES = [
    f"program.py:7: the compiler removed this load of kernel unused{OUT}4 bytes past the end of a; "
    "12 lanes of the grid are out of bounds, by up to 48 bytes",
    f"program.py:13: the compiler removed this load of kernel of_zero{OUT}4 bytes past the end of "
    "a; 12 lanes of the grid are out of bounds, by up to 48 bytes",
    f"program.py:17: the compiler removed this load of kernel called_twice{OUT}4 bytes past the "
    "end of a",
    "program.py:36: the compiler removed this load of kernel indexed; it is not judged",
]


@pytest.fixture(scope="module", params=["ttir", "cached", "full"])
@needs("process")
def selection(request: Any, tmp_path_factory: pytest.TempPathFactory) -> Any:
    folder = tmp_path_factory.getbasetemp() / "removed_loads"  # one cache
    folder.mkdir(exist_ok=True)
    script = folder / "program.py"
    script.write_text(PROGRAM)
    variables = {
        **os.environ, "PYTHONPATH": str(ROOT), "KVTRACE": str(folder / request.param),
        "KVTRACE_COMPILE": "full" if request.param == "full" else "ttir",
        "TRITON_CACHE_DIR": str(folder / "cache"), "XDG_CACHE_HOME": str(folder / "home"),
    }  # fmt: skip
    done = warm_python().run(script, folder=folder, environment=variables, timeout=300)
    assert done.returncode == 0, done.stderr
    return resolve(str(folder / request.param))


def test_removed_loads_are_named_unless_they_are_in_bounds(selection: Any) -> None:
    findings = judge_runs(selection, ["default"])
    assert list(findings.not_evaluated) == SENTENCES
    assert not findings.failures(strict=True)


def test_ir_before_passes_is_recorded_only_where_these_removed_loads(selection: Any) -> None:
    rows = selection.trace.table("kernels", selection.runs, ["name", "stages"]).to_pylist()
    with_it = {row["name"] for row in rows if BEFORE_PASSES in recorded_stages(row)}
    assert with_it == {"unused", "of_zero", "called_twice", "equal", "indexed", "masked"}


def test_rules_without_bounds_name_no_removed_load(selection: Any) -> None:
    assert judge_runs(selection, ["race"]).not_evaluated == ()


def test_report_names_the_removed_loads(selection: Any, tmp_path: Path) -> None:
    write_report(selection, tmp_path / "report.html", print)
    notes = notes_on(selection.trace, selection.runs)
    assert [note for note in notes if "the compiler removed" in note] == SENTENCES
