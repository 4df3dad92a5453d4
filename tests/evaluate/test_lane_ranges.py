"""Accesses outside a tensor: never executed, always reported, with a witness."""

import numpy as np
import pytest
import torch

from corpus.kernels.memory import (
    copy_or_seven,
    copy_tile,
    counted_before,
    gather_rows,
    shifted_copy,
    unmasked_double,
)
from kvtrace.evaluate import TensorArgument, evaluate
from kvtrace.evaluate.arguments import OutsideNumbers
from kvtrace.evaluate.lane_ranges import ranges_of
from kvtrace.evaluate.values import Sum
from tests.kernels.launching import bind, compile_for, launch
from tests.kernels.recording import Recorder
from tests.support.replacing import replace


def test_missing_mask_is_reported_with_its_first_lane():
    x, out, recorder = torch.arange(1000.0), torch.full((1000,), -1.0), Recorder()

    launch(
        unmasked_double,
        (4,),
        {"x": x, "out": out, "n": 1000},
        {"BLOCK": 256},
        observers=[recorder],
    )

    assert torch.equal(out, x * 2)
    (defect,) = recorder.defects
    assert defect.rule == "out-of-bounds"
    assert defect.kind == "load"
    assert defect.argument == 0
    assert defect.program == (3, 0, 0)
    assert defect.lane == (232,)
    assert defect.address_offset == 4000
    assert defect.past_end_bytes == 4
    assert defect.lanes == 24
    assert defect.certain


def test_lanes_outside_a_view_but_inside_its_storage_are_reported_separately():
    storage = torch.arange(64.0)
    x, out, recorder = storage[8:24], torch.empty(16), Recorder()

    launch(
        shifted_copy,
        (1,),
        {"x": x, "out": out, "shift": 4, "n": 16},
        {"BLOCK": 16},
        observers=[recorder],
    )

    assert torch.equal(out, storage[12:28])
    (defect,) = recorder.defects
    assert (defect.rule, defect.lane, defect.past_end_bytes) == ("out-of-view", (12,), 4)
    assert defect.lanes == 4


def test_past_end_bytes_are_negative_before_the_start_of_a_tensor():
    storage = torch.arange(64.0)
    x, out, recorder = storage[8:], torch.empty(32), Recorder()

    launch(
        shifted_copy,
        (1,),
        {"x": x, "out": out, "shift": -10, "n": 32},
        {"BLOCK": 32},
        observers=[recorder],
    )

    assert torch.equal(out, torch.cat([torch.zeros(2), storage[:30]]))
    by_rule = {defect.rule: defect for defect in recorder.defects}
    assert by_rule["out-of-bounds"].past_end_bytes == -8
    assert by_rule["out-of-bounds"].lanes == 2
    assert by_rule["out-of-view"].lane == (2,)
    assert by_rule["out-of-view"].past_end_bytes == -32
    assert by_rule["out-of-view"].lanes == 8


def test_stores_past_the_end_of_a_tile_are_reported_and_dropped():
    x, recorder = torch.randn(20, 30), Recorder()
    out = torch.full((20, 30), -1.0)

    launch(
        copy_tile,
        (2, 2),
        {"x": x, "out": out, "rows": 20, "columns": 30, "x_stride": 30, "out_stride": 30},
        {"BM": 16, "BN": 16},
        observers=[recorder],
    )

    assert torch.equal(out, x)
    kinds = {(defect.kind, defect.program, defect.lane) for defect in recorder.defects}
    assert kinds == {("load", (1, 0, 0), (4, 0)), ("store", (1, 0, 0), (4, 0))}
    assert {defect.lanes for defect in recorder.defects} == {12 * 30}
    assert {defect.address_offset for defect in recorder.defects} == {20 * 30 * 4}


def test_an_index_loaded_from_memory_is_checked_against_bounds():
    x, out, recorder = torch.randn(10, 12), torch.empty(4, 12), Recorder()
    index = torch.tensor([3, 9, 10, -1])

    launch(
        gather_rows,
        (4,),
        {"index": index, "x": x, "out": out, "columns": 12},
        {"BLOCK": 16},
        observers=[recorder],
    )

    assert torch.equal(out, torch.stack([x[3], x[9], torch.zeros(12), torch.zeros(12)]))
    (defect,) = recorder.defects
    assert defect.program == (2, 0, 0)
    assert defect.past_end_bytes == 4
    assert defect.lanes == 24


def test_witness_and_count_are_the_same_for_all_chunk_sizes():
    x = torch.arange(1000.0)
    counts = []
    for chunk_bytes in (1, 1 << 20):
        out, recorder = torch.empty(1000), Recorder()
        launch(
            unmasked_double,
            (6,),
            {"x": x, "out": out, "n": 1000},
            {"BLOCK": 256},
            observers=[recorder],
            chunk_bytes=chunk_bytes,
        )
        counts.append(
            (recorder.defects[0].program, sum(defect.lanes for defect in recorder.defects))
        )
    assert counts[0] == counts[1] == ((3, 0, 0), 24 + 512)


def loaded_lanes(kernel, outside, dtype):
    """Return the loaded lanes of 4 elements: 6 lanes are active, 2 are masked off."""
    out = torch.full((8,), 50, dtype=dtype)
    arguments = {kernel.arg_names[0]: torch.arange(20, 24, dtype=dtype), "out": out, "n": 6}
    bound = [
        replace(each, outside=outside) if isinstance(each, TensorArgument) else each
        for each in bind(kernel, arguments)
    ]
    evaluate(compile_for(kernel, arguments, {"BLOCK": 8}), bound, (1,))
    return out.tolist()


@pytest.mark.parametrize("dtype", [torch.int8, torch.int32, torch.int64, torch.float32])
def test_lanes_out_of_bounds_load_the_numbers_outside(dtype):
    inside = [20, 21, 22, 23]

    assert loaded_lanes(copy_or_seven, OutsideNumbers(), dtype) == [*inside, 0, 0, 7, 7]
    assert loaded_lanes(copy_or_seven, OutsideNumbers(-3), dtype) == [*inside, -3, -3, 7, 7]
    assert loaded_lanes(copy_or_seven, OutsideNumbers(100, 5), dtype) == [*inside, 104, 100, 7, 7]
    assert loaded_lanes(copy_or_seven, OutsideNumbers(9, 7, -1), dtype) == [*inside, 12, 11, 7, 7]


@pytest.mark.parametrize("dtype", [torch.int32, torch.float32])
def test_atomic_lanes_out_of_bounds_get_the_numbers_outside_and_change_nothing(dtype):
    inside = [20, 21, 22, 23]

    assert loaded_lanes(counted_before, OutsideNumbers(), dtype) == [*inside, 0, 0, 0, 0]
    assert loaded_lanes(counted_before, OutsideNumbers(100, 5), dtype) == [*inside, 104, 100, 0, 0]


@pytest.mark.parametrize("mask_programs", [1, 2_000])
def test_ranges_of_many_programs_are_those_of_each_program(mask_programs):
    random = np.random.default_rng(0)
    term = random.integers(-1000, 1000, (2_000, 64))
    mask = random.random((mask_programs, 64)) < 0.05
    masks = np.broadcast_to(mask, term.shape)

    spans = ranges_of(Sum(7, (term,), -1000, 1007), mask, (64,))

    active = np.broadcast_to(spans.active, 2_000)
    assert active.tolist() == masks.sum(axis=1).tolist()
    for program in np.flatnonzero(active):
        lanes = 7 + term[program, masks[program]]
        assert (spans.lowest[program], spans.highest[program]) == (lanes.min(), lanes.max())


def test_ranges_of_no_programs_are_empty():
    spans = ranges_of(Sum(0, (np.zeros((0, 4), np.int64),), 0, 0), np.ones((0, 4), bool), (4,))

    assert spans.lowest.size == spans.highest.size == spans.active.size == 0
