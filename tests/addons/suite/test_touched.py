"""What was touched before a launch, from the addresses of launches and operators."""

import pytest

from kvtrace.addons.suite.making import SuiteSettings, make_suite
from kvtrace.addons.suite.touched import Touch, _add, _fewer, _Piece, _touches
from kvtrace.figures.requested_part import WHOLE
from kvtrace.schema.trace import select_runs
from tests.support.triton_versions import INSTALLED, run_with

PROGRAM = """
import torch, triton, triton.language as tl

@triton.jit
def shifted(x, y, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(y + i, tl.load(x + i, i < n) + 1, i < n)

@triton.jit
def scaled(x, y, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(y + i, tl.load(x + i, i < n) * 2, i < n)

x, other = torch.randn(1000, device="cuda"), torch.randn(5000, device="cuda")
y, z = torch.empty_like(x), torch.empty_like(x)
shifted[(1,)](x, y, 1000, BLOCK=1024)
torch.mul(other, 2.0)
x.view(10, 100)
scaled[(1,)](y, z, 1000, BLOCK=1024)
"""


@pytest.mark.process
def test_a_launch_finds_what_kernels_and_operators_touched(tmp_path):
    (tmp_path / "program.py").write_text(PROGRAM)
    run_with(
        INSTALLED, [str(tmp_path / "program.py")], tmp_path / "cache", fresh=True,
        KVTRACE=str(tmp_path / "out"), KVTRACE_MEMORY="on", KVTRACE_DEVICE="cpu",
    )  # fmt: skip

    suite = make_suite(select_runs(tmp_path / "out"), tmp_path / "suite", SuiteSettings(1, WHOLE))

    before = {entry.kernel: entry.before for entry in suite.entries}
    # Its input was written by the other kernel, before 20,000 bytes were read (and had been written
    # before) and others written; a view touches nothing, nor does memory that has no values yet.
    assert before["scaled"][-2:] == ("write 4000 of x at 0", "write 40000")
    assert not any("of y" in touch for touch in before["scaled"])
    assert "write 4000 of x at 0" in before["shifted"]


def test_nothing_is_said_without_addresses(made):
    assert all(entry.before == () for entry in made.suite.entries)


def pieces_of(*touched):
    """Return pieces of memory: begin, end, and whether written; the latest touch first."""
    pieces: list[_Piece] = []
    for age, (begin, end, written) in enumerate(touched):
        _add(pieces, begin, end, age, written)
    return pieces


def test_each_byte_counts_where_it_was_touched_last():
    pieces = pieces_of((100, 200, False), (0, 300, False), (0, 300, True))

    assert [(p.begin, p.end, p.age) for p in pieces] == [(0, 100, 1), (100, 200, 0), (200, 300, 1)]
    assert all(piece.written for piece in pieces), "data that was read last is still unwritten back"


def test_touches_name_the_parts_of_storages():
    pieces = pieces_of((0, 40, True), (64, 128, False))

    touches = _touches(pieces, [(16, 32, "x"), (96, 160, "y")])

    assert list(map(str, touches)) == [
        "read 32",
        "read 32 of y at 0",
        "write 16",
        "write 16 of x at 0",
        "write 8",
    ]


@pytest.mark.parametrize("count", [2, 3])
def test_the_smallest_neighbors_of_other_memory_become_one(count):
    large, small = Touch(None, 0, 1000, True), Touch(None, 0, 10, False)
    touches = [large, small, Touch("x", 0, 4, True), *[large] * (count - 2)]

    fewer = _fewer(touches)

    assert len(fewer) == len(touches) - 1
    assert fewer[0] == Touch(None, 0, 1010, True)
