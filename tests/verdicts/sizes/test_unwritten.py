"""Outputs of which launches at sizes that were not recorded leave elements unwritten."""

import pytest
import triton
import triton.language as tl

from kvtrace.verdicts.sizes.at_size import at_worst
from kvtrace.verdicts.sizes.envelope import envelope
from tests.verdicts.calls import call, ids, tensor
from tests.verdicts.sizes.envelope_rows import relations

TIES = ("x.shape[0] = n", "y.shape[0] = n", "grid_x = 1")


@triton.jit
def halves(x, y, n):
    """Copy both halves of a row: the last element of an odd one is left."""
    i = tl.arange(0, 128)
    half = n // 2
    tl.store(y + i, tl.load(x + i, i < half), i < half)
    tl.store(y + half + i, tl.load(x + half + i, i < half), i < half)


@triton.jit
def rounded_halves(x, y, n):
    i = tl.arange(0, 128)
    half = (n + 1) // 2
    tl.store(y + i, tl.load(x + i, i < half), i < half)
    j = half + i
    tl.store(y + j, tl.load(x + j, j < n), j < n)


@triton.jit
def halves_in_place(x, y, n):
    i = tl.arange(0, 128)
    half = n // 2
    tl.store(y + i, tl.load(y + i, i < half) + tl.load(x + i, i < half), i < half)
    tl.store(y + half + i, tl.load(x + half + i, i < half), i < half)


@triton.jit
def quarters(x, y, n):
    i = tl.arange(0, 64)
    for part in range(4):
        j = part * (n // 4) + i
        is_part = (i < n // 4) & (n > 3)
        tl.store(y + j, tl.load(x + j, is_part), is_part)


@triton.jit
def scattered(x, y, index, n):
    i = tl.arange(0, 128)
    j = tl.load(index + i, i < n // 2 * 2, 0)
    tl.store(y + j, tl.load(x + i, i < n // 2 * 2), i < n // 2 * 2)


def launches(kernel, sizes, extent=lambda n: n):
    return [call(kernel, (1,), x=tensor(n), y=tensor(extent(n)), n=n) for n in sizes]


def row_of(calls, ties=TIES, outputs=("y",)):
    """Return the row of n; ties and outputs are what a program's text would state."""
    (row,) = (
        row
        for row in envelope(relations(*calls, ties=ties, outputs=outputs), calls=calls)
        if row.quantity == "n"
    )
    return row


@pytest.mark.parametrize(("kernel", "bad"), [(halves, 3), (quarters, 5)])
def test_a_size_that_leaves_elements_unwritten_is_bad(kernel, bad):
    row = row_of(launches(kernel, (40, 64, 24)))

    assert (row.kind, row.first_bad, row.fine, row.contract) == ("rule", bad, None, None)
    assert row.what.startswith(f"1 of {bad} elements of y stay unwritten, the first y[{bad - 1}]")


def test_sizes_at_which_all_is_written_are_said_and_not_proven():
    row = row_of(launches(rounded_halves, (40, 64, 24)))

    assert row.fine is not None
    assert {1, 3, 23, 25} <= set(row.written)
    assert not {40, 64, 24} & set(row.written)


def test_a_launch_that_already_left_elements_means_them_to_be_left():
    row = row_of(launches(halves, (40, 64, 23)))

    assert (row.written, row.fine is None) == ((), False)


@pytest.mark.parametrize(
    ("kernel", "extent", "tie"),
    [
        (halves_in_place, lambda n: n, "y.shape[0] = n"),
        (halves, lambda n: -(-n // 8) * 8, "y.shape[0] = cdiv(n, 8) * 8"),
        (halves, lambda _: 64, "y.shape[0] = 64"),
    ],
)
def test_padding_fixed_buffers_and_what_a_kernel_reads_are_not_judged(kernel, extent, tie):
    ties = (TIES[0], tie, TIES[2])
    sizes = (64,) if extent(0) == 64 else (40, 64, 24)
    row = row_of(launches(kernel, sizes, extent), ties)

    assert row.kind != "rule"
    assert row.written == ()


def test_outputs_that_something_else_may_write_are_not_judged():
    row = row_of(launches(halves, (40, 64, 24)), outputs=("x",))

    assert (row.written, row.fine is None) == ((), False)


def test_stores_at_addresses_from_memory_are_not_judged():
    index = ids(*range(128))
    calls = [
        call(scattered, (1,), x=tensor(n), y=tensor(n), index=index, n=n) for n in (40, 64, 24)
    ]

    assert row_of(calls).written == ()


def test_the_gap_is_a_violation_at_that_size_alone():
    calls = launches(halves, (40, 64, 24))
    known = relations(*calls, ties=TIES, outputs=("y",))

    odd, even = (at_worst(known, {"n": n}, calls).verdicts for n in (31, 32))

    assert [(v.rule, v.verdict) for v in odd if v.verdict != "proven"] == [
        ("unwritten", "violation")
    ]
    assert all(verdict.verdict == "proven" for verdict in even)
