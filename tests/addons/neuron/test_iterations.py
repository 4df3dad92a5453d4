"""Tests of dependences between iterations of affine_range, and of reductions."""

from typing import Any

import numpy as np
import pytest

import kvtrace.addons.neuron.newer.isa as nisa2
import kvtrace.addons.neuron.newer.language as nl2
import kvtrace.addons.neuron.older.isa as nisa
import kvtrace.addons.neuron.older.language as nl
from tests.addons.neuron.conftest import Run

ONES = np.ones((128, 64), np.float32)


def zeros() -> Any:
    return nl.zeros((nl.par_dim(128), 64), dtype=nl.float32)


def carried(x: Any) -> None:
    """Read the previous iteration's result."""
    state = zeros()
    for _ in nl.affine_range(3):
        state[...] = nl.exp(state) + nl.load(x)


def carried_in_order(x: Any) -> None:
    """Read the previous iteration's result, in a sequential_range."""
    state = zeros()
    for _ in nl.sequential_range(3):
        state[...] = nl.exp(state) + nl.load(x)


def summed(x: Any) -> None:
    """Add to the previous iteration's result without another use."""
    total, product = zeros(), nl.zeros((64, 64), nl.float32, buffer=nl.psum)
    for _ in nl.affine_range(3):
        tile = nl.load(x)
        total[...] += tile
        product += nisa.nc_matmul(tile, tile)


def summed_by_assignment(x: Any) -> None:
    """Add to a tile by an assignment."""
    total = zeros()
    for _ in nl.affine_range(4):
        total[...] = nl.add(nl.load(x), total)


def subtracted_from(x: Any) -> None:
    """Subtract the previous iteration's result from another tile."""
    total = zeros()
    for _ in nl.affine_range(4):
        total[...] = nl.subtract(nl.load(x), total)


def doubled(x: Any) -> None:
    """Add the previous iteration's result to itself."""
    total = zeros()
    total[...] = nl.load(x)
    for _ in nl.affine_range(4):
        total[...] = nl.add(total, total)


def summed_and_used(x: Any) -> None:
    """Use a sum before the loop has ended."""
    total = zeros()
    for _ in nl.affine_range(3):
        total[...] += nl.load(x)
        nl.exp(total)


def one_tile_for_all(x: Any) -> None:
    """Write a tile from outside of the loop before each read."""
    tile = zeros()
    for _ in nl.affine_range(3):
        tile[...] = nl.load(x)
        nl.exp(tile)


def rows_of_its_own(x: Any) -> None:
    """Read and write rows that no other iteration touches."""
    state = zeros()
    p, f = nl.mgrid[0:32, 0:64]
    for i in nl.affine_range(4):
        state[i * 32 + p, f] = nl.exp(state[i * 32 + p, f])
        nl.exp(state[i * 32 + p, f])


def row_of_the_next(x: Any) -> None:
    """Read rows that the previous iteration wrote."""
    state = zeros()
    p, f = nl.mgrid[0:32, 0:64]
    for i in nl.affine_range(3):
        state[i * 32 + 32 + p, f] = nl.exp(state[i * 32 + p, f])


def carried_by_the_inner_loop(x: Any) -> None:
    """Carry values over a sequential inner loop, in tiles of the outer iteration."""
    for _ in nl.affine_range(2):
        state = zeros()
        for _ in nl.sequential_range(3):
            state[...] = nl.exp(state) + nl.load(x)


def carried_by_the_outer_loop(x: Any) -> None:
    """Carry an inner loop's result over a parallel outer loop."""
    state = zeros()
    for _ in nl.affine_range(2):
        for _ in nl.sequential_range(3):
            state[...] = nl.exp(state) + nl.load(x)


def written_by_one_loop_read_by_the_next(x: Any) -> None:
    """Fill a tile in one parallel loop, and read the tile in another."""
    state = zeros()
    p, f = nl.mgrid[0:32, 0:64]
    for i in nl.affine_range(4):
        state[i * 32 + p, f] = nl.load(x[i * 32 + p, f])
    for _ in nl.affine_range(2):
        nl.exp(state)


def carried_in_device_memory(x: Any) -> None:
    """Carry values in device memory."""
    tile = nl.ndarray((128, 64), dtype=nl.float32, buffer=nl.shared_hbm)
    nl.store(tile, value=nl.load(x))
    for _ in nl.affine_range(2):
        nl.store(tile, value=nl.exp(nl.load(tile)))


@pytest.mark.parametrize(
    ("kernel", "times"),
    [
        (carried, 1),
        (carried_in_order, 0),
        (summed, 0),
        (summed_by_assignment, 0),
        (subtracted_from, 1),
        (doubled, 1),
        (summed_and_used, 1),
        (one_tile_for_all, 0),
        (rows_of_its_own, 0),
        (row_of_the_next, 1),
        (carried_by_the_inner_loop, 0),
        (carried_by_the_outer_loop, 1),
        (written_by_one_loop_read_by_the_next, 0),
        (carried_in_device_memory, 1),
    ],
    ids=lambda value: getattr(value, "__name__", None),
)
def test_only_loop_carried_dependences_are_reported(
    run_older: Run, kernel: Any, times: int
) -> None:
    findings = run_older(kernel, ONES).recorder.findings

    assert [finding.rule for finding in findings] == ["loop-dependence"] * times


@pytest.mark.parametrize(
    ("update", "times"),
    [
        (lambda total, x: nisa2.tensor_tensor(total, total, x, nl2.subtract), 0),
        (lambda total, x: nisa2.tensor_tensor(total, x, total, nl2.subtract), 1),
        (lambda total, x: nisa2.tensor_scalar(total, total, nl2.subtract, 2.0, True), 1),
        (lambda total, x: nisa2.scalar_tensor_tensor(total, x, nl2.add, 2.0, nl2.add, total), 0),
        (lambda total, x: nisa2.scalar_tensor_tensor(total, total, nl2.add, 2.0, nl2.add, x), 1),
    ],
)
def test_accumulation_is_allowed_only_if_order_does_not_matter(
    run_newer: Run, update: Any, times: int
) -> None:
    def kernel(x: Any) -> None:
        total = nl2.zeros((128, 64), dtype=nl2.float32, buffer=nl2.sbuf)
        for _ in nl2.affine_range(3):
            update(total, nl2.load(x))

    findings = run_newer(kernel, ONES).recorder.findings
    assert [finding.rule for finding in findings] == ["loop-dependence"] * times


def test_accumulating_into_an_operand_is_a_reduction(run_newer: Run) -> None:
    def kernel(x: Any) -> None:
        total = nl2.zeros((128, 64), dtype=nl2.float32, buffer=nl2.sbuf)
        for _ in nl2.affine_range(3):
            nisa2.tensor_tensor(dst=total, data1=total, data2=nl2.load(x), op=nl2.add)

    assert run_newer(kernel, ONES).recorder.findings == []
