"""Rows whose value other rows, other programs or the order of programs change."""

from typing import Any

import pytest
import torch
import triton
import triton.language as tl

from tests.addons.invariance.inputs import tensor
from tests.addons.invariance.judging import Judged, is_proven, verdicts

SIZES = (3, 5, 12)


def integers(*shape: int, high: int = 100) -> torch.Tensor:
    """Return random integers below `high`, on the device that kernels run on."""
    generator = torch.Generator().manual_seed(5)
    made = torch.randint(0, high, shape, generator=generator, dtype=torch.int32, device="cpu")
    return made.to(tensor(1, seed=1).device)


@triton.jit
def _mixed(x, y, SHARE: tl.constexpr, BEFORE: tl.constexpr, N: tl.constexpr):
    row, at = tl.program_id(0), tl.arange(0, N)
    other = row - 1 if BEFORE else row * 0
    mask = (other >= 0) & (at < N)
    value = tl.load(x + row * N + at)
    tl.store(y + row * N + at, value - SHARE * tl.load(x + other * N + at, mask=mask, other=0.0))


@pytest.mark.parametrize(
    ("share", "before"), [(0.5, True), (1e-30, True), (0.5, False)],
    ids=["half of the row before", "a tiny share of it", "half of the first row"],
)  # fmt: skip
def test_influence_of_another_row_has_a_witness(judged: Judged, share: float, before: bool) -> None:
    def launch() -> None:
        for rows in SIZES:
            x = tensor(rows, 16, seed=1)
            _mixed[(rows,)](x, torch.empty_like(x), share, before, 16)

    assert verdicts(judged(launch)) == {"violation"}


@triton.jit
def _of_four(x, y, N: tl.constexpr):
    row, at = tl.program_id(0), tl.arange(0, N)
    total = tl.zeros((N,), tl.float32)
    part = 0
    while part < 4:  # not followed: a place that a `while` carries
        total += tl.load(x + (row * 4 + part) * N + at)
        part += 1
    tl.store(y + row * N + at, total)


def test_row_made_of_several_input_rows_is_proven(judged: Judged) -> None:
    def launch() -> None:
        for rows in SIZES:
            _of_four[(rows,)](tensor(4 * rows, 16, seed=1), tensor(rows, 16, seed=2), 16)

    assert verdicts(judged(launch)).isdisjoint({"violation", "depends"})


@triton.jit
def _weighted(x, weights, y, GROUPS, N: tl.constexpr):
    row, at = tl.program_id(0), tl.arange(0, N)
    weight = tl.load(weights + row % GROUPS * N + at)
    tl.store(y + row * N + at, tl.load(x + row * N + at) * weight)


def test_launches_are_compared_if_a_batch_equals_a_shared_extent(judged: Judged) -> None:
    def launch() -> None:
        for rows in SIZES:
            x = tensor(rows, 16, seed=1)
            _weighted[(rows,)](x, tensor(3, 16, seed=2), torch.empty_like(x), 3, 16)

    (output,) = judged(launch).outputs

    assert output.verdict == "violation"
    assert output.size_comparison is not None


@triton.jit
def _numbered(x, ids, y, MODE: tl.constexpr, N: tl.constexpr):
    row, at = tl.program_id(0), tl.arange(0, N)
    if MODE == "place in a hash":
        number = tl.load(ids + row) + ((row * N + at).to(tl.uint32) * 2654435761 >> 16)
        tl.store(y + row * N + at, number.to(tl.int32))
    elif MODE == "not read":
        noise = tl.rand(7, row * N + at)
        tl.store(y + row * N + at, (tl.load(x + row * N + at) + noise).to(tl.int32))
    elif MODE == "own":
        noise = tl.rand(tl.load(ids + row), at)
        tl.store(y + row * N + at, (noise * 1000).to(tl.int32))
    else:
        others = tl.load(ids + tl.arange(0, 4))
        same = (others == tl.load(ids + row)).to(tl.int32)
        tl.store(y + row * N + at, tl.sum(same) + 0 * at)


@pytest.mark.parametrize(
    ("mode", "verdict"),
    [
        ("place in a hash", "violation"),
        ("not read", "violation"),
        ("own", "proven"),
        ("compared with other rows'", "unknown"),
    ],
)
def test_integers_that_select_no_data_are_filled_as_data(
    judged: Judged, mode: str, verdict: str
) -> None:
    def launch() -> None:
        for rows in (4, 6, 12):
            y = integers(rows, 16)
            _numbered[(rows,)](tensor(rows, 16, seed=1), integers(rows), y, mode, 16)

    assert verdicts(judged(launch)) == {verdict}


@triton.jit
def _updated(x, counters, y, EXCHANGE: tl.constexpr, N: tl.constexpr):
    row, at = tl.program_id(0), tl.arange(0, N)
    value = tl.load(x + (row * 2 + tl.program_id(1)) * N + at)
    if EXCHANGE:
        tl.atomic_xchg(y + row, tl.sum(value))
    else:
        place = tl.atomic_add(counters, 1)
        tl.store(y + row, tl.where(place < 4, tl.sum(value), 0.0))


@pytest.mark.parametrize("exchange", [True, False])
def test_result_that_depends_on_program_order_has_a_witness(judged: Judged, exchange: bool) -> None:
    def launch() -> None:
        for rows in SIZES:
            x, y = tensor(rows, 2, 16, seed=1), tensor(rows, seed=2)
            grid = (rows, 2 if exchange else 1)
            _updated[grid](x, torch.zeros_like(integers(1)), y, exchange, 16)

    (shown,) = (each for each in judged(launch).outputs if each.output == "y")

    assert shown.witness is not None
    assert not exchange or "programs from the last" in shown.witness.second


@triton.jit
def _clipped(x, y, M, N: tl.constexpr):
    rows = tl.program_id(0) * 4 + tl.arange(0, 4)[:, None]
    places = rows * N + tl.arange(0, N)[None, :]
    value = tl.load(x + places, mask=rows < M, other=0.0)
    if tl.max(value) > 10.0:
        value = tl.where(value > 10.0, 10.0, value)
    tl.store(y + places, value, mask=rows < M)


@triton.jit
def _counted(x, y, N, BLOCK: tl.constexpr):
    row, total = tl.program_id(0), 0
    for begin in range(0, N, BLOCK):
        at = begin + tl.arange(0, BLOCK)
        total += tl.sum(tl.load(x + row * N + at, mask=at < N, other=0))
    tl.store(y + row, total)


@triton.jit
def _in_two_ways(x, y, M, N: tl.constexpr):
    first = tl.program_id(0) * 4
    rows = first + tl.arange(0, 4)[:, None]
    places = rows * N + tl.arange(0, N)[None, :]
    if first + 4 <= M:
        tl.store(y + places, tl.load(x + places) * 2)
    else:
        tl.store(y + places, tl.load(x + places, mask=rows < M) * 2, mask=rows < M)


def _launch(kind: str, rows: int) -> None:
    x: Any = tensor(rows, 64, seed=1)
    if kind == "a branch that any row of a tile takes":
        _clipped[(triton.cdiv(rows, 4),)](x, torch.empty_like(x), rows, 64)
    elif kind == "integers in blocks of other sizes":
        numbers = integers(rows, 64)
        _counted[(rows,)](numbers, integers(rows), 64, BLOCK=16 if rows > 4 else 64)
    else:
        _in_two_ways[(triton.cdiv(rows, 4),)](x, torch.empty_like(x), rows, 64)


@pytest.mark.parametrize(
    "kind",
    [
        "a branch that any row of a tile takes",
        "integers in blocks of other sizes",
        "a way for whole tiles and one for the last",
    ],
)
def test_value_that_is_not_followed_is_unknown_not_dependent(judged: Judged, kind: str) -> None:
    found = judged(lambda: [_launch(kind, rows) for rows in (4, 8, 12)])

    assert verdicts(found).isdisjoint({"violation", "depends"})


@triton.jit
def _summed(x, y, M, MODE: tl.constexpr, N: tl.constexpr):
    row, part = tl.program_id(0), tl.program_id(1)
    at = part * N + tl.arange(0, N)
    if MODE == "overlapping":
        tl.atomic_add(y + row + tl.arange(0, 2), 1, mask=row + tl.arange(0, 2) < M)
    elif MODE == "guarded":
        tl.atomic_add(y + row, tl.sum(tl.load(x + row * 4 * N + at)), mask=part < M)
    elif MODE == "lanes":
        tl.atomic_add(y + row + tl.zeros((N,), tl.int32), 1)
    else:
        tl.atomic_add(y + row, tl.sum(tl.load(x + row * 4 * N + at)))


@pytest.mark.parametrize(
    ("mode", "right"),
    [
        ("as many programs", True),
        ("more programs", False),
        ("overlapping", False),
        ("guarded", False),
        ("lanes", False),
    ],
)
def test_integer_sums_of_a_fixed_number_of_programs_are_proven(
    judged: Judged, mode: str, right: bool
) -> None:
    def launch(rows: int) -> None:
        parts = {"more programs": min(rows, 4), "overlapping": 1, "lanes": 1}.get(mode, 4)
        lanes = 2 * rows if mode == "lanes" else 8
        lanes = triton.next_power_of_2(lanes)
        _summed[(rows, parts)](integers(rows, 4, 8), integers(rows), rows, mode, lanes)

    assert is_proven(judged, launch, (2, 3, 5)) == right


@triton.jit
def _beside_the_next_row(x, y, M):
    row = tl.program_id(0)
    tl.store(y + row, tl.load(x + row) + 0.0 * tl.load(x + (row + 1) % M))


def test_another_row_shows_by_its_nan_alone(judged: Judged) -> None:
    def launch() -> None:
        for rows in (3, 9):
            x = tensor(rows, seed=1)
            _beside_the_next_row[(rows,)](x, x.clone(), rows)

    (output,) = judged(launch).outputs

    assert output.verdict == "violation"
    assert output.witness is not None
    assert "nan" in output.witness.values
