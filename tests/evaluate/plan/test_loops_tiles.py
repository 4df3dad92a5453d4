"""Loops over the tiles of a row, with the same bits as by arrays."""

import pytest
import torch
import triton
import triton.language as tl

from tests.evaluate.plan.both_ways import assert_same

ROWS, COLUMNS, TILE = 3, 1024, 128


@triton.jit
def sums(x, out, columns, TILE: tl.constexpr):
    row = tl.program_id(0)
    lanes = tl.arange(0, TILE)
    total = tl.zeros([TILE], dtype=tl.float32)
    squares = tl.zeros([TILE], dtype=tl.float32)
    for start in range(0, columns, TILE):
        values = tl.load(x + row * columns + start + lanes).to(tl.float32)
        total += values
        squares += values * values
    tl.store(out + row * columns + lanes, (total * squares).to(out.dtype.element_ty))


@triton.jit
def scaled_rows(x, weight, out, columns, TILE: tl.constexpr):
    row = tl.program_id(0)
    lanes = tl.arange(0, TILE)
    first = tl.load(x + row * columns).to(tl.float32)
    for start in range(0, columns, TILE):
        values = tl.load(x + row * columns + start + lanes).to(tl.float32)
        factors = tl.load(weight + start + lanes).to(tl.float32)
        result = (values - first) * factors
        tl.store(out + row * columns + start + lanes, result.to(out.dtype.element_ty))


@triton.jit
def in_place(x, out, columns, TILE: tl.constexpr):
    row = tl.program_id(0)
    lanes = tl.arange(0, TILE)
    for start in range(0, columns - TILE, TILE):
        place = out + row * columns + start + lanes
        tl.store(place + TILE, tl.load(place) + tl.load(x + start + lanes))


@triton.jit
def running_sums(x, out, columns, TILE: tl.constexpr):
    row = tl.program_id(0)
    lanes = tl.arange(0, TILE)
    total = tl.zeros([TILE], dtype=tl.float32)
    for start in range(0, columns, TILE):
        total += tl.load(x + row * columns + start + lanes).to(tl.float32)
        result = total.to(out.dtype.element_ty)
        tl.store(out + row * columns + start + lanes, result)


@triton.jit
def from_a_value_on(x, out, columns, TILE: tl.constexpr):
    row = tl.program_id(0)
    lanes = tl.arange(0, TILE)
    total = tl.full([TILE], 1e6, dtype=tl.float32)
    for start in range(0, columns, TILE):
        total += tl.load(x + row * columns + start + lanes).to(tl.float32)
    tl.store(out + row * columns + lanes, total.to(out.dtype.element_ty))


@triton.jit
def last_tile_stays(x, out, columns, TILE: tl.constexpr):
    row = tl.program_id(0)
    lanes = tl.arange(0, TILE)
    for start in range(0, columns, TILE):
        tl.store(out + row * columns + lanes, tl.load(x + row * columns + start + lanes))


@triton.jit
def overlapping_tiles(x, out, columns, TILE: tl.constexpr):
    row = tl.program_id(0)
    lanes = tl.arange(0, TILE)
    total = tl.zeros([TILE], dtype=tl.float32)
    for start in range(0, columns - TILE, 16):
        total += tl.load(x + row * columns + start + lanes).to(tl.float32)
    tl.store(out + row * columns + lanes, total.to(out.dtype.element_ty))


@triton.jit
def two_stores(x, out, columns, TILE: tl.constexpr):
    row = tl.program_id(0)
    lanes = tl.arange(0, TILE)
    for start in range(0, columns - TILE, TILE):
        values = tl.load(x + row * columns + start + lanes)
        place = out + row * columns + start + lanes
        tl.store(place, values)
        tl.store(place + TILE, -values)


@triton.jit
def read_again(x, weight, out, columns, TILE: tl.constexpr):
    row = tl.program_id(0)
    lanes = tl.arange(0, TILE)
    total = tl.zeros([TILE], dtype=tl.float32)
    for start in range(0, columns, TILE):
        total += tl.load(x + row * columns + start + lanes).to(tl.float32)
    mean = tl.sum(total, axis=0) / columns
    squares = tl.zeros([TILE], dtype=tl.float32)
    for start in range(0, columns, TILE):
        values = tl.load(x + row * columns + start + lanes).to(tl.float32) - mean
        squares += values * values
    scale = tl.sum(squares, axis=0)
    for start in range(0, columns, TILE):
        values = tl.load(x + row * columns + start + lanes).to(tl.float32) - mean
        values = values / scale * tl.load(weight + start + lanes).to(tl.float32)
        tl.store(out + row * columns + start + lanes, values.to(out.dtype.element_ty))


def arguments_of(function, dtype):
    torch.manual_seed(len(function.fn.__name__))
    x = torch.randn(ROWS, COLUMNS).to(dtype)
    given = {"x": x, "out": torch.randn(ROWS, COLUMNS).to(dtype), "columns": COLUMNS}
    if "weight" in function.arg_names:
        given = {"x": x, "weight": torch.randn(COLUMNS).to(dtype)} | given
    return {name: given[name] for name in function.arg_names if name in given}


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16, torch.float16])
@pytest.mark.parametrize("function", [sums, scaled_rows])
def test_loops_over_tiles_add_and_store_the_same(function, dtype):
    assert_same(function, (ROWS,), arguments_of(function, dtype), {"TILE": TILE})


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
def test_several_loops_over_the_tiles_of_a_row_compute_the_same(dtype):
    arguments = arguments_of(read_again, dtype)
    assert_same(read_again, (ROWS,), arguments, {"TILE": TILE}, rounding=4)


@pytest.mark.parametrize(
    "function",
    [in_place, running_sums, from_a_value_on, last_tile_stays, overlapping_tiles, two_stores],
)
def test_loops_that_depend_on_the_order_of_trips_keep_it(function):
    assert_same(function, (ROWS,), arguments_of(function, torch.float32), {"TILE": TILE})


def test_a_sum_of_negative_zeros_is_zero():
    arguments = arguments_of(sums, torch.float32)
    arguments["x"] = torch.full_like(arguments["x"], -0.0)
    assert_same(sums, (ROWS,), arguments, {"TILE": TILE})


@pytest.mark.parametrize("tile", [32, 64])
def test_loops_over_short_tiles_add_in_order(tile):
    assert_same(sums, (ROWS,), arguments_of(sums, torch.float32), {"TILE": tile})
