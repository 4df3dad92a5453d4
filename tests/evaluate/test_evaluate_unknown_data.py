"""Replay without data: the same accesses as with data, and no guesses."""

import pytest
import torch

from corpus.kernels import memory
from corpus.kernels.basic import vector_add
from corpus.kernels.language import early_return, ragged_sums
from tests.evaluate.small_launches import CASES
from tests.kernels.launching import launch
from tests.kernels.recording import Recorder


def both_ways(function, grid, arguments, constexprs, unknown=True):
    with_data, without = Recorder(), Recorder()
    launch(function, grid, arguments, constexprs, observers=[with_data])
    launch(function, grid, arguments, constexprs, observers=[without], unknown=unknown)
    return with_data, without


@pytest.mark.parametrize("name", list(CASES))
def test_accesses_without_data_equal_those_with_data(name):
    function, grid, arguments, constexprs = CASES[name]

    with_data, without = both_ways(function, grid, arguments(), constexprs)

    assert with_data.summary() == without.summary()
    assert with_data.loops == without.loops
    assert with_data.ops == without.ops
    assert all(access.certain for access in without.accesses)


def test_storages_without_data_are_not_written():
    x, y, out = (torch.ones(64) for _ in range(3))
    launch(vector_add, (1,), {"x": x, "y": y, "out": out, "n": 64}, {"BLOCK": 64}, unknown=["out"])
    assert torch.equal(out, torch.ones(64))


def gathered():
    return {
        "index": torch.tensor([1, 2, 0, 1]), "x": torch.randn(3, 12), "out": torch.empty(4, 12),
        "columns": 12,
    }  # fmt: skip


def test_an_unknown_address_names_the_argument_it_depends_on():
    _, without = both_ways(memory.gather_rows, (4,), gathered(), {"BLOCK": 16})

    index, row, store = without.accesses
    assert index.certain
    assert store.certain
    assert (store.lowest, store.highest) == (0, 4 * 12 * 4 - 4)
    assert not row.certain
    assert row.lowest is row.highest is None
    assert row.active == 4 * 12  # the mask is known, the address is not
    assert row.argument == 1
    assert "index" in row.reason


def test_results_without_missing_data_are_known():
    with_data, partly = both_ways(
        memory.gather_rows, (4,), gathered(), {"BLOCK": 16}, unknown=["x", "out"]
    )

    assert with_data.summary() == partly.summary()


def test_active_lanes_are_unknown_under_a_mask_from_missing_data():
    arguments = {
        "keep": torch.randint(0, 2, (100,), dtype=torch.int32),
        "x": torch.randn(100),
        "out": torch.empty(100),
        "n": 100,
    }

    _, without = both_ways(memory.masked_by_data, (2,), arguments, {"BLOCK": 64})

    masked = without.accesses[1]
    assert masked.active is None
    assert not masked.certain
    assert "keep" in masked.reason
    assert (masked.lowest, masked.highest) == (0, 99 * 4)  # what is known of the mask
    assert without.defects == []


@pytest.mark.parametrize("function", [memory.masked_by_data_alone, memory.negated_mask])
def test_a_lane_out_of_bounds_under_an_unknown_mask_is_an_uncertain_defect(function):
    arguments = {
        "keep": torch.zeros(128, dtype=torch.int32),
        "x": torch.randn(100),
        "out": torch.empty(100),
        "n": 100,
    }

    with_data, without = both_ways(function, (2,), arguments, {"BLOCK": 64})

    of_x = [defect for defect in without.defects if defect.argument == 1]
    assert [defect.certain for defect in of_x] == [False]
    assert of_x[0].lane == (36,)
    known = [defect.certain for defect in with_data.defects if defect.argument == 1]
    assert known == ([] if function is memory.masked_by_data_alone else [True])


def test_both_sides_of_a_branch_on_missing_data_run_as_uncertain():
    arguments = {
        "flag": torch.ones(1),
        "x": torch.randn(100),
        "out": torch.empty(200),
        "n": 100,
    }

    with_data, without = both_ways(memory.unknown_branch, (2,), arguments, {"BLOCK": 64})

    assert [access.certain for access in without.accesses] == [True, True, False, True]
    assert "flag" in without.accesses[2].reason
    known = [entry[:-1] for entry in with_data.summary()]
    assert [entry[:-1] for entry in without.summary()] == known


def test_a_loop_with_an_unknown_bound_runs_once_as_uncertain():
    arguments = {
        "lengths": torch.tensor([3, 40], dtype=torch.int32),
        "x": torch.randn(2, 40),
        "out": torch.empty(2),
        "stride": 40,
    }

    _, without = both_ways(ragged_sums, (2,), arguments, {"BLOCK": 32})

    assert without.loops == [[-1, -1]]
    lengths, body, store = without.accesses
    assert lengths.certain
    assert store.certain
    assert not body.certain
    assert "lengths" in body.reason


def test_ops_after_an_early_return_on_missing_data_are_uncertain():
    arguments = {
        "flags": torch.tensor([1, 0], dtype=torch.int32),
        "x": torch.randn(64),
        "out": torch.empty(64),
        "n": 64,
    }

    _, without = both_ways(early_return, (2,), arguments, {"BLOCK": 32})

    assert without.accesses[0].certain
    assert not any(access.certain for access in without.accesses[1:])
    assert all("flags" in access.reason for access in without.accesses[1:])


def test_flops_and_elements_of_a_matrix_product_are_counted():
    recorder = Recorder()
    function, grid, arguments, constexprs = CASES["matmul"]
    launch(function, grid, arguments(), constexprs, observers=[recorder], unknown=True)

    trips = 3
    products = 12 * trips
    assert recorder.ops["tt.dot"] == (products, products * 16 * 16, products * 2 * 16 * 16 * 16)
    assert [count for batch in recorder.loops for count in batch] == [trips] * 12
    assert recorder.total("store", "lanes") == 12 * 16 * 16


def test_every_element_of_a_product_is_stored_once():
    recorder = Recorder()
    function, _, arguments, constexprs = CASES["matmul"]
    launch(function, (4 * 4,), arguments(), constexprs, observers=[recorder], unknown=True)

    assert recorder.total("store") == 50 * 60
    assert recorder.total("load") == (16 * 4) * 4 * 40 + (16 * 4) * 4 * 40
