"""Outputs whose rows are laid out in other ways than one after the other, a program each."""

from collections.abc import Callable

import torch
import triton
import triton.language as tl

from tests.addons.invariance.inputs import tensor
from tests.addons.invariance.judging import Judged, is_proven, verdicts


@triton.jit
def _halves(x, cos, y, HEADS: tl.constexpr, SIZE: tl.constexpr):
    row = tl.program_id(0)
    heads = tl.arange(0, HEADS)[:, None]
    columns = tl.arange(0, SIZE // 2)[None, :]
    places = row * HEADS * SIZE + heads * SIZE + columns
    angles = tl.load(cos + row * SIZE // 2 + columns)
    tl.store(y + places, tl.load(x + places) * angles)
    tl.store(y + places + SIZE // 2, tl.load(x + places + SIZE // 2) * angles)


@triton.jit
def _by_turns(x, y, rows, width, SHIFTED: tl.constexpr, BLOCK: tl.constexpr):
    columns = tl.arange(0, BLOCK)
    for row in range(tl.program_id(0), rows, tl.num_programs(0)):
        taken = tl.program_id(0) * tl.num_programs(0) if SHIFTED else row
        values = tl.load(x + taken * width + columns, mask=columns < width, other=0.0)
        tl.store(y + row * width + columns, values * 2, mask=columns < width)


@triton.jit
def _parts(x, y, rows, width, SPLITS: tl.constexpr, BLOCK: tl.constexpr, OTHERS: tl.constexpr):
    row, split = tl.program_id(0), tl.program_id(1)
    columns = split * BLOCK + tl.arange(0, BLOCK)
    values = tl.load(x + row * width + columns, mask=columns < width, other=0.0)
    if OTHERS:
        values += tl.load(x + columns, mask=columns < width, other=0.0)
    tl.store(y + split * rows + row, tl.sum(values))


@triton.jit
def _flat(x, y, stride, total, WIDTH: tl.constexpr, BLOCK: tl.constexpr):
    index = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    places = index // WIDTH * stride + index % WIDTH
    tl.store(y + places, tl.load(x + places, mask=index < total) * 2, mask=index < total)


@triton.jit
def _grid_as_stride(x, y, OTHER: tl.constexpr):
    row, head = tl.program_id(0), tl.program_id(1)
    place = row * tl.num_programs(1) + head
    taken = row * tl.num_programs(0) + head if OTHER else place
    tl.store(y + place, tl.load(x + taken) * 2)


def test_rows_of_heads_stored_in_two_halves_are_proven(judged: Judged) -> None:
    def launch(rows: int) -> None:
        x, cos = tensor(rows, 4 * 32, seed=1), tensor(rows, 16, seed=1)
        _halves[(rows,)](x, cos, torch.empty_like(x), 4, 32)

    assert is_proven(judged, launch)


def test_rows_distributed_round_robin_over_programs_are_proven(judged: Judged) -> None:
    def launch(rows: int) -> None:
        x = tensor(rows, 40, seed=1)
        _by_turns[(2,)](x, torch.empty_like(x), rows, 40, False, 64)

    assert is_proven(judged, launch)


def test_row_that_depends_on_the_grid_is_not_proven(judged: Judged) -> None:
    def launch() -> None:
        for rows in (5, 9):
            x = tensor(rows, 40, seed=1)
            _by_turns[(2,)](x, torch.empty_like(x), rows, 40, True, 64)

    assert "proven" not in verdicts(judged(launch))


def launch_parts(others: bool) -> Callable[[], None]:
    def launch() -> None:
        for rows in (3, 9):
            x = tensor(rows, 128, seed=1)
            _parts[(rows, 2)](x, torch.empty(2, rows), rows, 128, 2, 64, others)

    return launch


def test_axis_that_grows_with_the_batch_numbers_the_rows(judged: Judged) -> None:
    found = judged(launch_parts(others=False))

    assert verdicts(found) == {"proven"}
    assert found.outputs[0].row_axes == {1}


def test_read_of_another_row_along_the_growing_axis_is_a_dependence(judged: Judged) -> None:
    assert "proven" not in verdicts(judged(launch_parts(others=True)))


def test_rows_of_a_flat_index_are_proven(judged: Judged) -> None:
    def launch(rows: int) -> None:
        x = tensor(rows, 40, seed=1)
        grid = (triton.cdiv(rows * 40, 64),)
        _flat[grid](x, torch.empty_like(x), 40, rows * 40, 40, 64)

    assert is_proven(judged, launch)


def test_grid_extent_is_a_stride_only_if_the_tensor_has_that_stride(judged: Judged) -> None:
    def launch(other: bool) -> None:
        for rows in (3, 9):
            x = tensor(rows, 4, seed=1)
            _grid_as_stride[(rows, 4)](
                tensor(100, seed=1) if other else x, torch.empty_like(x), other
            )

    assert verdicts(judged(lambda: launch(False))) == {"proven"}
    assert "proven" not in verdicts(judged(lambda: launch(True)))
