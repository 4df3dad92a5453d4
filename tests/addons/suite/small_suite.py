"""A small suite, made of a program that launches two kernels."""

import os
from pathlib import Path

from kvtrace.addons.suite.making import make_suite
from kvtrace.schema.trace import select_runs
from tests.support.kept import kept
from tests.support.tree import ROOT
from tests.support.warm_python import warm_python

PROGRAM = """
import torch, triton, triton.language as tl

@triton.jit
def added(x, y, out, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(out + i, tl.load(x + i, i < n) + tl.load(y + i, i < n), i < n)

@triton.jit
def doubled(x, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(x + i, tl.load(x + i, i < n) * 2, i < n)

for n in (100, 300):
    x, y = torch.randn(n), torch.randn(n)
    out = torch.empty_like(x)
    for _ in range(3):
        added[(triton.cdiv(n, 64),)](x, y, out, n, BLOCK=64)
    doubled[(triton.cdiv(n, 64),)](out, n, BLOCK=64)
"""


def record(into: Path) -> None:
    """Record the program without a GPU."""
    (into / "program.py").write_text(PROGRAM)
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    environment["KVTRACE"] = str(into / "out")
    done = warm_python().run("program.py", folder=into, environment=environment)
    assert done.returncode == 0, done.stderr


def small_suite(folder: Path) -> Path:
    """Make the suite in a new folder, and return its path."""
    trace = kept(record, folder / "recorded")
    make_suite(select_runs(trace / "out"), folder / "suite")
    return folder / "suite"
