"""Launches with most programs planned, and the rest evaluated by arrays."""

import numpy as np
import pytest
import torch
import triton
import triton.language as tl

from tests.evaluate.plan.both_ways import both_ways, reason, values


@triton.jit
def ragged_matmul(
    a, b, c, rows, columns, depth, a_row, b_row, c_row,
    BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr, GROUP: tl.constexpr,
):  # fmt: skip
    """The tutorial's matmul, whose rows and columns beyond the last wrap around."""
    program = tl.program_id(0)
    tiles_down, tiles_across = tl.cdiv(rows, BM), tl.cdiv(columns, BN)
    in_group = GROUP * tiles_across
    first = program // in_group * GROUP
    height = min(tiles_down - first, GROUP)
    down = first + program % in_group % height
    across = program % in_group // height
    row = (down * BM + tl.arange(0, BM)) % rows
    column = (across * BN + tl.arange(0, BN)) % columns
    k = tl.arange(0, BK)
    a_tile = a + row[:, None] * a_row + k[None, :]
    b_tile = b + k[:, None] * b_row + column[None, :]
    total = tl.zeros((BM, BN), dtype=tl.float32)
    for step in range(tl.cdiv(depth, BK)):
        left = tl.load(a_tile, mask=k[None, :] < depth - step * BK, other=0.0)
        right = tl.load(b_tile, mask=k[:, None] < depth - step * BK, other=0.0)
        total = tl.dot(left, right, total, input_precision="ieee")
        a_tile += BK
        b_tile += BK * b_row
    row = down * BM + tl.arange(0, BM)
    column = across * BN + tl.arange(0, BN)
    inside = (row[:, None] < rows) & (column[None, :] < columns)
    tl.store(c + row[:, None] * c_row + column[None, :], total, mask=inside)


@triton.jit
def one_program_reads_elsewhere(x, index, out, BLOCK: tl.constexpr):
    program = tl.program_id(0)
    lanes = tl.arange(0, BLOCK)
    place = program * BLOCK + lanes
    if program == 3:
        place = tl.load(index + lanes).to(tl.int32)
    tl.store(out + program * BLOCK + lanes, tl.load(x + place) * 2)


@triton.jit
def rows_of_batches(x, scale, out, rows, per_batch, columns, BLOCK: tl.constexpr):
    """Scale rows one after the other by the scale of their batch."""
    lanes = tl.arange(0, BLOCK)
    for row in range(rows):
        factor = tl.load(scale + row // per_batch)
        tl.store(out + row * columns + lanes, tl.load(x + row * columns + lanes) * factor)


def check(function, grid, arguments, constexprs, tolerance=0.0):
    (planned, plan_facts), (arrays, array_facts) = both_ways(function, grid, arguments, constexprs)
    for ours, theirs in zip(planned, arrays, strict=True):
        if hasattr(ours, "storage"):
            assert np.allclose(values(ours), values(theirs), rtol=0, atol=tolerance)
    for kind, expected in array_facts.summary().items():
        assert plan_facts.summary()[kind] == expected, kind
    assert plan_facts.by_trip == plan_facts.elements
    return planned


@pytest.mark.parametrize(("rows", "columns", "left"), [(128, 120, 4), (120, 120, 7), (128, 128, 0)])
@pytest.mark.parametrize("group", [1, 2, 3])
def test_matmul_tiles_that_wrap_around_are_evaluated_by_arrays(rows, columns, left, group):
    a, b = torch.randn(rows, 40), torch.randn(40, columns)
    c = torch.zeros(rows, columns)
    arguments = {
        "a": a, "b": b, "c": c, "rows": rows, "columns": columns, "depth": 40, "a_row": 40,
        "b_row": columns, "c_row": columns,
    }  # fmt: skip
    constexprs = {"BM": 32, "BN": 32, "BK": 16, "GROUP": group}

    message = reason(ragged_matmul, (16,), arguments, constexprs)
    planned = check(ragged_matmul, (16,), arguments, constexprs, 1e-4)

    assert message.startswith(f"planned, except {left} of 16 programs" if left else "planned")
    product = values(next(argument for argument in planned if argument.name == "c"))
    assert np.allclose(product, (a @ b).numpy().reshape(-1), atol=1e-4)


def test_only_the_program_with_data_dependent_addresses_is_not_planned():
    arguments = {
        "x": torch.randn(64), "index": torch.randint(64, (8,)), "out": torch.zeros(64),
    }  # fmt: skip
    message = reason(one_program_reads_elsewhere, (8,), arguments, {"BLOCK": 8})
    check(one_program_reads_elsewhere, (8,), arguments, {"BLOCK": 8})

    assert message.startswith("planned, except 1 of 8 programs")


def test_launches_in_place_are_planned_whole_or_not_at_all():
    x = torch.randn(64)
    arguments = {"x": x, "index": torch.randint(64, (8,)), "out": x}
    message = reason(one_program_reads_elsewhere, (8,), arguments, {"BLOCK": 8})
    check(one_program_reads_elsewhere, (8,), arguments, {"BLOCK": 8})

    assert not message.startswith("planned")


@pytest.mark.parametrize("per_batch", [3, 4, 12])
def test_launches_with_rows_divided_into_batches_are_planned(per_batch):
    arguments = {
        "x": torch.randn(12, 16), "scale": torch.randn(12), "out": torch.zeros(12, 16), "rows": 12,
        "per_batch": per_batch, "columns": 16,
    }  # fmt: skip
    assert reason(rows_of_batches, (1,), arguments, {"BLOCK": 16}) == "planned"
    check(rows_of_batches, (1,), arguments, {"BLOCK": 16})
