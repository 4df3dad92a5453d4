"""Reductions over a grid, atomic sums, and collectives."""

from typing import Any

import numpy as np
import pytest

import kvtrace.addons.neuron.newer.isa as nisa
import kvtrace.addons.neuron.newer.language as nl
import kvtrace.addons.neuron.older.language as older_nl
from kvtrace.addons.neuron.errors import NkiError
from kvtrace.addons.neuron.newer import collectives as ncc
from tests.addons.neuron.conftest import Run

RANDOM = np.random.default_rng(3)
ROWS = RANDOM.random((6, 32, 16)).astype(np.float32)
X = ROWS[0]


def rules(outcome: Any) -> list[str]:
    return [finding.rule for finding in outcome.recorder.findings]


@pytest.mark.parametrize(
    ("axes", "over"), [((0, 1), (0, 1)), (0, (1,)), ((1,), (0,))], ids=["all", "first", "second"]
)
def test_tiles_are_reduced_over_the_programs_of_a_grid(
    run_older: Run, axes: Any, over: tuple[int, ...]
) -> None:
    def kernel(rows: Any) -> Any:
        program = older_nl.program_id(0) + 2 * older_nl.program_id(1)
        out = older_nl.ndarray(rows.shape, dtype=rows.dtype, buffer=older_nl.shared_hbm)
        tile = older_nl.load(rows[program])
        total = older_nl.all_reduce(tile, np.add, program_axes=axes)
        again = older_nl.all_reduce(total, np.maximum, axes)
        older_nl.store(out[program], value=again)
        return out

    outcome = run_older(kernel, ROWS, grid=(2, 3))

    # Program `p` of axes (2, 3) is row p; the second axis of the grid is the first of the array.
    grid = ROWS.reshape(3, 2, 32, 16)
    expected = np.broadcast_to(grid.sum(axis=over, keepdims=True), grid.shape).reshape(ROWS.shape)
    assert np.allclose(outcome.result, expected, rtol=1e-6)
    assert rules(outcome) == []


def test_all_reduce_without_all_programs_is_an_error(run_older: Run) -> None:
    def kernel(rows: Any) -> None:
        if older_nl.program_id(0) != 1:
            older_nl.all_reduce(older_nl.load(rows[0]), np.add, 0)

    with pytest.raises(NkiError, match="program 0 waits at all_reduce for program 1, which has"):
        run_older(kernel, ROWS, grid=(3,))


def test_atomic_sums_do_not_race(run_older: Run) -> None:
    indices = np.array([[3], [0], [3], [9]], np.int32)

    def kernel(table: Any, rows: Any, values: Any) -> Any:
        f = older_nl.arange(16)[None, :]
        chosen = older_nl.load(rows)
        tile = older_nl.load(values)
        older_nl.atomic_rmw(table[chosen, f], value=tile, op=np.add)
        return table

    table = RANDOM.random((10, 16)).astype(np.float32)
    expected = table.copy()
    np.add.at(expected, indices[:, 0], X[:4])
    np.add.at(expected, indices[:, 0], X[:4])

    outcome = run_older(kernel, table, indices, X[:4], grid=(2,))

    assert np.allclose(outcome.result, expected, rtol=1e-6)
    assert rules(outcome) == []
    store = next(site for site in outcome.recorder.sites if site.op == "nl.atomic_rmw")
    assert (store.executions, store.device_bytes) == (2, 2 * 2 * 4 * 16 * 4)


def test_an_atomic_sum_out_of_bounds_is_reported(run_older: Run) -> None:
    def kernel(table: Any, rows: Any) -> Any:
        older_nl.atomic_rmw(table[older_nl.load(rows), older_nl.arange(4)[None, :]], 1.0, np.add)
        return table

    outcome = run_older(kernel, np.zeros((8, 4), np.float32), np.array([[8]], np.int32))

    assert rules(outcome) == ["out-of-bounds"]
    assert not outcome.result.any()


# -- collectives ---------------------------------------------------------------------------------

GROUP = ncc.ReplicaGroup([[0, 2], [1, 3]])


def collective(run: Run, op: Any, shape: tuple[int, ...], *operands: Any) -> Any:
    def kernel(x: Any) -> Any:
        out = nl.ndarray(shape, x.dtype, buffer=nl.shared_hbm)
        op([x], [out], *operands)
        return out

    outcome = run(kernel, X)
    assert rules(outcome) == []
    return outcome.result


def test_collectives_assume_equal_tensors_on_all_ranks(run_newer: Run) -> None:
    assert np.array_equal(collective(run_newer, ncc.all_reduce, X.shape, GROUP, nl.add), 2 * X)
    top = collective(run_newer, ncc.all_reduce, X.shape, [[0, 1]], nl.maximum)
    assert np.array_equal(top, X)
    joined = collective(run_newer, ncc.all_gather, (64, 16), GROUP, 0)
    assert np.array_equal(joined, np.concatenate([X, X]))
    part = collective(run_newer, ncc.reduce_scatter, (16, 16), GROUP, 0, nl.add)
    assert np.array_equal(part, 2 * X[:16])
    swapped = collective(run_newer, ncc.all_to_all, X.shape, GROUP, 0)
    assert np.array_equal(swapped, np.concatenate([X[:16], X[:16]]))
    sent = collective(run_newer, ncc.collective_permute, X.shape, [(0, 1), (1, 0)])
    assert np.array_equal(sent, X)


def test_a_ring_brings_the_data_of_previous_ranks(run_newer: Run) -> None:
    def kernel(x: Any) -> Any:
        out = nl.ndarray((2, 32, 16), x.dtype, buffer=nl.shared_hbm)
        group = ncc.ReplicaGroup(groups=[[0, 1, 2]])
        ncc.collective_permute_implicit([[x]], [[out[0]]], group)
        ncc.collective_permute_implicit_reduce([[x]], [[x]], [[out[1]]], group, nl.add)
        turn = ncc.collective_permute_implicit_current_processing_rank_id
        return out, [int(turn(step, group)) for step in range(4)], int(ncc.rank_id())

    outcome = run_newer(kernel, X)

    out, ranks, rank = outcome.result
    assert np.array_equal(out, [X, 2 * X])
    assert (ranks, rank) == ([0, 2, 1, 0], 0)


@pytest.mark.parametrize("placed", [False, True])
def test_all_to_all_v_reads_counts_from_a_tensor(run_newer: Run, placed: bool) -> None:
    counts, firsts, ends = [3, 5], [4, 7], [10, 2]
    metadata = np.array([counts, firsts, [0, 0], ends][: 4 if placed else 3], np.uint32)

    def kernel(x: Any, counts_tensor: Any) -> Any:
        out = nl.zeros((20,), x.dtype, buffer=nl.shared_hbm)
        ncc.all_to_all_v([x], [out], [[0, 1]], counts_tensor, has_rdispls=placed)
        return out, counts_tensor

    outcome = run_newer(kernel, np.arange(20, dtype=np.float32), metadata)

    expected = np.zeros(20)
    for start in ends if placed else (0, 10):
        expected[start : start + 3] = [4, 5, 6]
    assert np.array_equal(outcome.result[0], expected)
    assert outcome.result[1][2].tolist() == [3, 3]


def test_a_group_without_rank_0_is_an_error(run_newer: Run) -> None:
    with pytest.raises(NkiError, match="a launch runs as rank 0, and no group"):
        collective(run_newer, ncc.all_reduce, X.shape, [[1, 2]], nl.add)


def test_a_collective_between_two_memories_is_reported(run_newer: Run) -> None:
    def kernel(x: Any) -> None:
        ncc.all_reduce([x], [nl.ndarray(X.shape, x.dtype)], [[0]], nl.add)

    assert rules(run_newer(kernel, X)) == ["memory-space"]


def test_a_barrier_is_recorded_for_each_program(run_newer: Run) -> None:
    def kernel(x: Any) -> None:
        nisa.core_barrier(x, (0, 1))

    outcome = run_newer(kernel, X, grid=(2,))

    assert [row.program for row in outcome.recorder.rows] == [0, 1]
