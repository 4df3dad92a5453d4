"""Sizes of kernels whose launching functions say how extents and grids follow."""

import json
import os
from contextlib import redirect_stdout
from io import StringIO
from types import FunctionType

import pytest
import torch
import triton
import triton.language as tl

import kvtrace
from kvtrace.cli import main


@triton.jit
def maxima(x, part, n, B: tl.constexpr):
    i = tl.program_id(0) * B + tl.arange(0, B)
    tl.store(part + tl.program_id(0), tl.max(tl.load(x + i, mask=i < n, other=0), 0))


def rounded_up(n):
    part = torch.zeros(triton.cdiv(n, 64))
    maxima[(triton.cdiv(n, 64),)](torch.zeros(n), part, n, B=64)


def short_by_one(n):
    """Leave the view `part` at n = 65; `cdiv(n, 64)` fits launches of 130 and 1,000, too."""
    part = torch.zeros((n + 62) // 64)
    maxima[(triton.cdiv(n, 64),)](torch.zeros(n), part, n, B=64)


def one_more_program(n):
    part = torch.zeros(triton.cdiv(n, 64))
    maxima[lambda meta: (n // meta["B"] + 1,)](torch.zeros(n), part, n, B=64)


def sizes(run, values, folder):
    with kvtrace.capture(folder):
        for value in values:
            run(value)
    printed = StringIO()
    with redirect_stdout(printed):
        main(["sizes", str(folder), "--json"])
    (variant,) = json.loads(printed.getvalue())
    (row,) = variant["envelope"]
    return row


@pytest.mark.parametrize(
    ("run", "first_bad", "last_bad"),
    [(rounded_up, 2**31, None), (short_by_one, 193, 129), (one_more_program, 192, 128)],
)
def test_partials_are_those_that_the_program_makes(run, first_bad, last_bad, tmp_path):
    row = sizes(run, (130, 1000), tmp_path / "out")

    assert (row["first_bad"], row["last_bad"]) == (first_bad, last_bad)
    assert row["high"] == first_bad - 1


@pytest.mark.parametrize("run", [rounded_up, short_by_one, one_more_program])
def test_a_file_that_was_written_after_the_run_states_nothing(run, tmp_path):
    """Without its text all three fit both readings, and no range is beyond what both allow."""
    file = tmp_path / "program.py"
    file.write_text("\n" * 200)
    moved = FunctionType(run.__code__.replace(co_filename=str(file)), run.__globals__)
    os.utime(file, (2e9, 2e9))

    row = sizes(moved, (130, 1000), tmp_path / "out")

    assert row["kind"] == "unknown"
    assert row["high"] <= 192
