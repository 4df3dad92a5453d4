"""Events of observers: details by program and element, for any chunk size."""

from itertools import chain

import numpy as np
import pytest
import torch

from corpus.kernels.attention import attention
from corpus.kernels.memory import gather_rows
from kvtrace.evaluate import Observer
from tests.evaluate.small_launches import CASES
from tests.kernels.launching import launch
from tests.kernels.recording import Recorder


@pytest.mark.parametrize("name", list(CASES))
def test_accesses_by_program_and_element_agree_with_the_batch(name):
    function, grid, arguments, constexprs = CASES[name]
    recorder = Recorder()

    launch(function, grid, arguments(), constexprs, observers=[recorder])

    assert recorder.accesses
    for access in recorder.accesses:
        ranges, (offsets, programs) = access.ranges, access.elements()
        lowest, highest, active, linear = np.broadcast_arrays(
            ranges.lowest, ranges.highest, ranges.active, access.parts.programs
        )
        assert len(offsets) == access.active == active.sum()
        assert len(linear) == access.executions
        if access.active:
            assert (offsets.min(), offsets.max()) == (access.lowest, access.highest)
        for program in np.unique(linear):
            own, here = offsets[programs == program], linear == program
            assert len(own) == active[here].sum()
            if len(own):
                reached = here & (active > 0)
                assert own.min() == lowest[reached].min()
                assert own.max() == highest[reached].max()


def test_an_unknown_address_has_no_elements():
    arguments = {
        "index": torch.tensor([1, 0]),
        "x": torch.randn(3, 12),
        "out": torch.empty(2, 12),
        "columns": 12,
    }
    recorder = Recorder()
    launch(gather_rows, (2,), arguments, {"BLOCK": 16}, observers=[recorder], unknown=True)
    row = recorder.accesses[1]
    assert row.ranges is None
    assert row.elements() is None


@pytest.mark.parametrize("name", list(CASES))
def test_totals_of_events_are_the_same_for_all_chunk_sizes(name):
    function, grid, arguments, constexprs = CASES[name]
    totals = []
    for chunk_bytes in (1, 1 << 30):
        recorder = Recorder()
        tensors = arguments()
        launch(function, grid, tensors, constexprs, observers=[recorder], chunk_bytes=chunk_bytes)
        touched = {}
        for access in recorder.accesses:
            offsets, programs = access.elements()
            key = (access.op.index, access.argument)
            pairs = np.stack([programs, offsets], axis=1).tolist()
            touched.setdefault(key, []).extend(map(tuple, pairs))
        totals.append((recorder.ops, {key: sorted(pairs) for key, pairs in touched.items()}))
    assert totals[0] == totals[1]


def test_loop_events_have_the_trips_of_each_program():
    q = torch.randn(1, 2, 96, 16)
    recorder = Recorder()
    launch(
        attention,
        (3, 2),
        {
            "q": q,
            "k": q,
            "v": q,
            "out": torch.empty_like(q),
            "log_sum": torch.empty(2, 96),
            "scale": 0.25,
            "heads": 2,
            "length": 96,
            "batch_stride": q.stride(0),
            "head_stride": q.stride(1),
            "row_stride": 16,
        },
        {"BM": 32, "BN": 16, "D": 16, "CAUSAL": True},
        observers=[recorder],
    )
    assert sorted(chain(*recorder.loops)) == sorted([0, 2, 4, 0, 2, 4] + [2] * 6)


def test_events_without_observers_are_not_computed():
    class Deaf(Observer):
        pass

    function, grid, arguments, constexprs = CASES["vector_add"]
    tensors = arguments()
    launch(function, grid, tensors, constexprs, observers=[Deaf()])
    assert torch.equal(tensors["out"], tensors["x"] + tensors["y"])
