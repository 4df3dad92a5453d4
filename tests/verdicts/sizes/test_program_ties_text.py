"""Sizes of kernels whose launching functions say how extents and grids follow."""

import json
import os
from contextlib import redirect_stdout
from io import StringIO

import pytest
import torch
import triton
import triton.language as tl

import kvtrace
from kvtrace.cli import main
from kvtrace.schema.trace import open_trace
from kvtrace.verdicts.sizes.program_ties import ProgramText
from tests.support.imported_file import imported_file


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


@triton.jit
def doubled(x, y, B: tl.constexpr):
    i = tl.program_id(0) * B + tl.arange(0, B)
    tl.store(y + i, tl.load(x + i) * 2)


def whole_blocks(n):
    """Leave the last elements of `y` where no block of 64 is full."""
    y = torch.empty(n)
    doubled[(n // 64,)](torch.zeros(n), y, B=64)
    return y, y.shape


def filled_before(n):
    y = torch.zeros(n)
    doubled[(n // 64,)](torch.zeros(n), y, B=64)
    return y


def with_a_rest(n):
    x, y = torch.zeros(n), torch.empty(n)
    doubled[(n // 64,)](x, y, B=64)
    if n % 64:
        doubled[(n % 64,)](x[n // 64 * 64 :], y[n // 64 * 64 :], B=1)
    return y


def recorded(run, values, folder, **settings):
    with kvtrace.capture(folder, **settings):
        for value in values:
            run(value)
    return folder


def row_of(folder):
    printed = StringIO()
    with redirect_stdout(printed):
        main(["sizes", str(folder), "--json"])
    (variant,) = json.loads(printed.getvalue())["kernels"]
    (row,) = variant["envelope"]
    return row


@pytest.mark.parametrize(
    ("run", "first_bad", "last_bad"),
    [(rounded_up, 2**31, None), (short_by_one, 193, 129), (one_more_program, 192, 128)],
)
def test_partials_are_those_that_the_program_makes(run, first_bad, last_bad, tmp_path):
    row = row_of(recorded(run, (130, 1000), tmp_path / "out"))

    assert (row["first_bad"], row["last_bad"]) == (first_bad, last_bad)
    assert row["high"] == first_bad - 1


@pytest.mark.parametrize(
    ("run", "is_bad"), [(whole_blocks, True), (filled_before, False), (with_a_rest, False)]
)
def test_elements_are_unwritten_where_nothing_else_can_write_them(run, is_bad, tmp_path):
    row = row_of(recorded(run, (64, 128, 256), tmp_path / "out"))

    assert (row["first_bad"] == 65) == is_bad, row
    assert row["written"] == []


PROGRAM = """
import torch, triton, triton.language as tl

def made():
    @triton.jit
    def maxima(x, part, n, B: tl.constexpr):
        i = tl.program_id(0) * B + tl.arange(0, B)
        tl.store(part + tl.program_id(0), tl.max(tl.load(x + i, mask=i < n, other=0), 0))
    return maxima

def run(n, kernel=made()):
    part = torch.zeros(triton.cdiv(n, 64))
    kernel[(triton.cdiv(n, 64),)](torch.zeros(n), part, n, B=64)
"""


STATED = {"n": "n", "part.shape[0]": "cdiv(n, 64)", "grid_x": "cdiv(n, 64)"}


def stated(folder):
    trace = open_trace(folder)
    (run,) = trace.runs
    call = trace.table("calls", (run,)).to_pylist()[0]
    text = ProgramText(trace, run)
    return text.ties(call["stack_id"], call["args"], ("part.shape[0]", "n", "grid_x"))


@pytest.mark.parametrize("has_file", [False, True])
def test_text_is_that_of_the_run_whatever_becomes_of_the_file(has_file, tmp_path):
    file = tmp_path / "program.py"
    file.write_text(PROGRAM)
    folder = recorded(imported_file(file).run, (130, 1000), tmp_path / "out")
    file.write_text(PROGRAM.replace("(n, 64)", "(n, 32)"))
    if not has_file:
        file.unlink()

    assert stated(folder) == STATED


@pytest.mark.parametrize(
    ("change", "is_trusted"),
    [
        (("", ""), True),
        (("    return maxima", "    return maxima  # as it is"), True),
        (("(n, 64)", "(n, 32)"), False),
        (("import torch", "import os\nimport torch"), False),
        (("def run", "def ran"), False),
        (("import torch", "import torch, ("), False),
    ],
)
def test_text_that_differs_from_the_running_code_states_nothing(change, is_trusted, tmp_path):
    """The file was changed between its import and the launch, and its date set back."""
    file = tmp_path / "program.py"
    file.write_text(PROGRAM)
    program, was = imported_file(file), file.stat()
    file.write_text(PROGRAM.replace(*change))
    os.utime(file, ns=(was.st_atime_ns, was.st_mtime_ns))

    folder = recorded(program.run, (130, 1000), tmp_path / "out")

    assert stated(folder) == (STATED if is_trusted else {})


def test_no_text_is_kept_of_a_recording_without_sources(tmp_path):
    file = tmp_path / "program.py"
    file.write_text(PROGRAM)
    program = imported_file(file)

    recorded(program.run, (130, 1000), tmp_path / "out", source="off")
    recorded(program.run, (130, 1000), tmp_path / "whole", source="files")

    assert stated(tmp_path / "out") == {}
    assert stated(tmp_path / "whole") == STATED
