"""Integers in memory: a row's own, where it ends, and another row's."""

import pytest
import torch
import triton
import triton.language as tl

from tests.addons.invariance.inputs import tensor
from tests.addons.invariance.judging import Judged, is_proven


@triton.jit
def _by_kind(x, kinds, out, NEXT: tl.constexpr):
    row, at = tl.program_id(0), tl.arange(0, 32)
    value = tl.load(x + row * 32 + at)
    kind = tl.load(kinds + row + NEXT)
    tl.store(out + row * 32 + at, tl.where(kind > 3, value * 2, value))


@pytest.mark.parametrize("after", [0, 1])
def test_integer_loaded_for_another_row_is_a_dependence_on_other_rows(
    judged: Judged, after: int
) -> None:
    def launch(rows: int) -> None:
        x = tensor(rows, 32, seed=1)
        kinds = torch.full((rows + 1,), 5, dtype=torch.int32, device="cpu").to(x.device)
        _by_kind[(rows,)](x, kinds, torch.empty_like(x), after)

    assert is_proven(judged, launch) == (after == 0)


@triton.jit
def _lengths(x, starts, out, ENDS: tl.constexpr):
    row, at = tl.program_id(0), tl.arange(0, 32)
    first, end = tl.load(starts + row), tl.load(starts + row + 1)
    total = tl.zeros((32,), tl.float32)
    for token in range(end if ENDS else end - first):
        total += tl.load(x + (first + token) * 32 + at)
    tl.store(out + row * 32 + at, total)


@pytest.mark.parametrize("ends", [False, True])
def test_difference_of_two_consecutive_offsets_is_the_rows_own_length(
    judged: Judged, ends: bool
) -> None:
    def launch(rows: int) -> None:
        x = tensor(4 * rows, 32, seed=1)
        starts = torch.arange(0, 4 * rows + 1, 4, dtype=torch.int32, device="cpu")
        _lengths[(rows,)](x, starts.to(x.device), torch.empty_like(x[:rows]), ends)

    assert is_proven(judged, launch) == (not ends)


@triton.jit
def _taken(x, rows, out, SUM: tl.constexpr):
    row, at = tl.program_id(0), tl.arange(0, 32)
    value = tl.load(x + tl.load(rows + row) * 32 + at)
    if SUM:
        tl.store(out + row, tl.sum(value))
    else:
        tl.store(out + row * 32 + at, value)


@pytest.mark.parametrize("summed", [False, True])
@pytest.mark.parametrize(
    ("chosen", "read", "own"),
    [("one row twice", "batch", False), ("each row once", "batch", True),
     ("one row twice", "table", True), ("each row once, or padding", "batch", True),
     ("one row twice", "table as long as a batch", True)],
)  # fmt: skip
def test_row_of_the_batch_that_indices_take_twice_is_no_rows_own(
    judged: Judged, chosen: str, read: str, summed: bool, own: bool
) -> None:
    def launch(rows: int) -> None:
        x = tensor({"batch": rows, "table": 20}.get(read, 9), 32, seed=1)
        taken = [0, *[rows] * (rows - 1)]  # padding
        if chosen != "each row once, or padding":
            taken = [n % 2 if chosen == "one row twice" else rows - 1 - n for n in range(rows)]
        indices = torch.tensor(taken, dtype=torch.int32, device="cpu").to(x.device)
        out = torch.empty((rows, *[32] * (not summed)), device=x.device)
        _taken[(rows,)](x, indices, out, summed)

    assert is_proven(judged, launch) == own


@triton.jit
def _added(x, table, out, FIRST: tl.constexpr):
    row, at = tl.program_id(0), tl.arange(0, 32)
    value = tl.load(x + row * 32 + at)
    for number in range(FIRST, FIRST + 2):
        value += tl.load(table + number * 32 + at)
    tl.store(out + row * 32 + at, value)


@pytest.mark.parametrize(
    ("sizes", "read", "own"),
    [((3, 9), "table", True), ((3, 9), "batch", False), ((3, 9), "kept", False),
     ((9, 9), "table", False)],
)  # fmt: skip
def test_rows_of_a_table_as_long_as_a_batch_are_no_other_rows(
    judged: Judged, sizes: tuple[int, ...], read: str, own: bool
) -> None:
    kept = tensor(9, 32, seed=2)  # memory for the longest batch

    def launch(rows: int) -> None:
        x = kept if read == "kept" else tensor(rows, 32, seed=1)
        table = x if read != "table" else kept
        _added[(rows,)](x, table, torch.empty((rows, 32), device=x.device), 1)

    assert is_proven(judged, launch, sizes) == own


def test_a_table_needs_another_recorded_size(judged: Judged) -> None:
    x, table = tensor(9, 32, seed=1), tensor(9, 32, seed=2)
    found = judged(lambda: _added[(9,)](x, table, torch.empty_like(x), 1))
    assert "record the kernel at another size" in str(found.outputs[0].reasons)
