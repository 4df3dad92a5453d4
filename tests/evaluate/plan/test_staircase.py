"""Loops with evenly growing trips by program: planned together, with exact reports."""

import numpy as np
import pytest
import torch
import triton
import triton.language as tl

from corpus.kernels.attention import attention
from kvtrace.evaluate import evaluate
from kvtrace.evaluate.plan.launch import plans_of
from tests.evaluate.plan.both_ways import assert_same, both_ways
from tests.kernels.launching import bind, compile_for
from tests.support.tiers import some


@triton.jit
def sums_up_to_the_diagonal(x, out, columns, BM: tl.constexpr, BN: tl.constexpr):
    tile = tl.program_id(0)
    rows = tile * BM + tl.arange(0, BM)
    lanes = tl.arange(0, BN)
    total = tl.zeros([BM], dtype=tl.float32)
    for start in range(0, (tile + 1) * BM, BN):
        at = start + lanes
        allowed = at[None, :] <= rows[:, None]
        total += tl.sum(tl.load(x + rows[:, None] * columns + at[None, :], allowed, 0.0), 1)
    tl.store(out + rows, total)


@triton.jit
def sums_from_the_diagonal(x, out, columns, BM: tl.constexpr, BN: tl.constexpr):
    tile = tl.program_id(0)
    rows = tile * BM + tl.arange(0, BM)
    lanes = tl.arange(0, BN)
    total = tl.zeros([BM], dtype=tl.float32)
    for start in range(tile * BM, columns, BN):
        at = start + lanes
        allowed = (at[None, :] >= rows[:, None]) & (at < columns)[None, :]
        total += tl.sum(tl.load(x + rows[:, None] * columns + at[None, :], allowed, 0.0), 1)
    tl.store(out + rows, total)


@triton.jit
def walking_pointer(x, out, columns, BN: tl.constexpr):
    row = tl.program_id(0)
    place = x + row * columns + tl.arange(0, BN)
    total = tl.zeros([BN], dtype=tl.float32)
    for _ in range(row):
        total += tl.load(place)
        place += BN
    tl.store(out + row * BN + tl.arange(0, BN), total + tl.load(place))


@triton.jit
def steps_of_two(first, second, out, count):
    row = tl.program_id(0)
    a, b = tl.load(first + row), tl.load(second + row)
    for _ in range(row):
        a, b = b, a + b
    tl.store(out + 2 * row, a)
    tl.store(out + 2 * row + 1, b)


@triton.jit
def writes_in_its_loop(x, out, columns, BN: tl.constexpr):
    row = tl.program_id(0)
    lanes = tl.arange(0, BN)
    for start in range(0, (row + 1) * BN, BN):
        tl.store(out + row * columns + start + lanes, tl.load(x + start + lanes) + row)


@triton.jit
def last_program_writes(x, out, columns, BN: tl.constexpr):
    row = tl.program_id(0)
    lanes = tl.arange(0, BN)
    for start in range(row * BN, columns, BN):
        tl.store(out + lanes, tl.load(x + start + lanes) + row)


@triton.jit
def grids_of_two(x, out, columns, rows, BN: tl.constexpr):
    row, batch = tl.program_id(0), tl.program_id(1)
    lanes = tl.arange(0, BN)
    here = x + batch * rows * columns + row * columns
    total = tl.zeros([BN], dtype=tl.float32)
    for start in range(0, (row + 1) * BN, BN):
        total = total * 0.5 + tl.load(here + start + lanes)
    tl.store(out + (batch * rows + row) * BN + lanes, total)


def regions(function, grid, arguments, constexprs):
    module = compile_for(function, arguments, constexprs)
    x, y, z = (*grid, 1, 1)[:3]
    return len(plans_of(module).plan(tuple(bind(function, arguments)), (x, y, z)).executables)


@pytest.mark.parametrize("function", [sums_up_to_the_diagonal, sums_from_the_diagonal])
@pytest.mark.parametrize(("bm", "bn"), [(16, 16), (32, 16), (16, 32), (16, 64)])
def test_triangular_loops_equal_array_evaluation(function, bm, bn):
    x = torch.randn(128, 128)
    arguments = {"x": x, "out": torch.zeros(128), "columns": 128}
    constexprs = {"BM": bm, "BN": bn}
    grid = (128 // bm,)

    facts = assert_same(function, grid, arguments, constexprs, rounding=10)

    tiles = range(1, 128 // bm + 1)
    assert {trips for _, trips in facts.loops} == {-(-tile * bm // bn) for tile in tiles}
    triangle = torch.tril if function is sums_up_to_the_diagonal else torch.triu
    (planned, _), _ = both_ways(function, grid, arguments, constexprs)
    got = planned[1].storage.data.view(np.float32)
    assert np.allclose(got, triangle(x).sum(1).numpy(), atol=1e-4)


def test_all_tiles_of_a_triangle_are_one_region():
    arguments = {"x": torch.randn(512, 512), "out": torch.zeros(512), "columns": 512}
    constexprs = {"BM": 16, "BN": 16}

    assert regions(sums_up_to_the_diagonal, (32,), arguments, constexprs) == 1
    assert regions(sums_from_the_diagonal, (32,), arguments, constexprs) == 1


def test_a_pointer_after_the_loop_depends_on_the_number_of_trips():
    arguments = {"x": torch.randn(9, 96), "out": torch.zeros(9, 8), "columns": 96}
    assert_same(walking_pointer, (9,), arguments, {"BN": 8})
    assert regions(walking_pointer, (9,), arguments, {"BN": 8}) == 1


def test_swapped_carried_values_of_ended_programs_do_not_change():
    arguments = {
        "first": torch.randint(9, (12,)).float(), "second": torch.randint(9, (12,)).float(),
        "out": torch.zeros(24), "count": 12,
    }  # fmt: skip
    assert_same(steps_of_two, (12,), arguments)
    assert regions(steps_of_two, (12,), arguments, {}) == 1


def test_stores_in_a_triangular_loop_equal_array_evaluation():
    arguments = {"x": torch.randn(48), "out": torch.zeros(6, 48), "columns": 48}
    assert_same(writes_in_its_loop, (6,), arguments, {"BN": 8})
    assert regions(writes_in_its_loop, (6,), arguments, {"BN": 8}) == 1


def test_the_last_program_decides_the_value_at_a_shared_address():
    x = torch.randn(48)
    arguments = {"x": x, "out": torch.zeros(8), "columns": 48}
    (planned, _), _ = both_ways(last_program_writes, (6,), arguments, {"BN": 8})
    assert np.array_equal(planned[1].storage.data.view(np.float32), (x[40:] + 5).numpy())


def test_a_triangle_may_have_another_program_axis():
    arguments = {
        "x": torch.randn(3, 7, 56), "out": torch.zeros(3, 7, 8), "columns": 56, "rows": 7,
    }  # fmt: skip
    assert_same(grids_of_two, (7, 3), arguments, {"BN": 8})
    assert regions(grids_of_two, (7, 3), arguments, {"BN": 8}) == 1


@pytest.mark.parametrize("length", some([160, 250], 2))
@pytest.mark.parametrize(("bm", "bn"), [(16, 16), (32, 16), (16, 32)])
def test_causal_attention_is_planned_as_a_staircase(length, bm, bn):
    q, k, v = (torch.randn(1, 2, length, 16) for _ in range(3))
    arguments = {
        "q": q, "k": k, "v": v, "out": torch.empty_like(q), "log_sum": torch.empty(2, length),
        "scale": 0.25, "heads": 2, "length": length, "batch_stride": q.stride(0),
        "head_stride": q.stride(1), "row_stride": 16,
    }  # fmt: skip
    constexprs = {"BM": bm, "BN": bn, "D": 16, "CAUSAL": True}
    grid = (-(-length // bm), 2)

    assert_same(attention, grid, arguments, constexprs, rounding=1000)
    assert regions(attention, grid, arguments, constexprs) <= 3


def test_a_triangle_may_have_more_tiles_than_regions():
    length = 2048
    q, k, v = (torch.randn(1, 1, length, 16) for _ in range(3))
    arguments = {
        "q": q, "k": k, "v": v, "out": torch.empty_like(q), "log_sum": torch.empty(1, length),
        "scale": 0.25, "heads": 1, "length": length, "batch_stride": q.stride(0),
        "head_stride": q.stride(1), "row_stride": 16,
    }  # fmt: skip
    constexprs = {"BM": 16, "BN": 16, "D": 16, "CAUSAL": True}
    planned = bind(attention, arguments)
    module = compile_for(attention, arguments, constexprs)
    evaluate(module, planned, (length // 16, 1))

    expected = torch.nn.functional.scaled_dot_product_attention(q, k, v, is_causal=True)
    got = planned[3].storage.data.view(np.float32).reshape(expected.shape)
    assert np.allclose(got, expected.numpy(), atol=2e-2)
    assert regions(attention, (length // 16, 1), arguments, constexprs) == 1
