"""Meetings over a grid, found from the smallest and largest program of each byte alone."""

import numpy as np
import pytest
import torch

from corpus.kernels import memory
from kvtrace.evaluate import Access, Storage, TensorArgument
from kvtrace.metrics.of_ops import kind_of
from kvtrace.verdicts.conflicts import race_evaluated as sweeping
from kvtrace.verdicts.conflicts.parts import roles_of
from kvtrace.verdicts.conflicts.race_evaluated import Sweep
from tests.kernels.launching import compile_for
from tests.verdicts import race_kernels as kernels

BYTES = 64


@pytest.fixture(scope="module")
def module():
    """Program 0 stores, all add atomically: a load, a store and an atomic of one module."""
    arguments = {"x": torch.zeros(60, dtype=torch.int32),
                 "counts": torch.zeros(1, dtype=torch.int32), "n": 60}  # fmt: skip
    return compile_for(kernels.zero_then_count, arguments, {"BLOCK": 16})


def access(op, argument, width, starts, programs, *, certain=True, reason=""):
    starts, programs = np.array(starts, np.int64), np.array(programs, np.int64)
    kind = kind_of(op)
    return Access(
        op, kind, argument, width, len(set(programs)), len(starts), len(starts),
        int(starts.min()), int(starts.max()), certain, reason,
        elements=lambda: (starts, programs),
    )  # fmt: skip


def shared_storage(module):
    storage = Storage(BYTES)
    return [
        TensorArgument("x", storage, 0, "i32", (16,), (1,)),
        TensorArgument("counts", storage, 4, "i32", (15,), (1,)),
    ]


def test_meetings_begin_with_a_writing_access_and_are_those_of_clashing_ops(module):
    """Meetings of bytes are those of sets (test_touches), and of the rule (test_race_soundness)."""
    ops = {op.name: op for op in module.ops if op.index in roles_of(module).by_op}
    load, store = ops["tt.load"], ops["tt.store"]
    sweep = Sweep(module, shared_storage(module))
    for op, argument, start, program in ((load, 0, 4, 0), (load, 0, 8, 1), (store, 1, 0, 2)):
        sweep.access(access(op, argument, 4, [start], [program]))

    (meeting,) = sweep.meetings()
    assert (meeting.first, meeting.second, meeting.programs) == (store, load, (2, 0))
    assert meeting.bytes.tolist() == [4, 5, 6, 7]


def test_a_meeting_with_an_uncertain_access_is_uncertain(module):
    store = next(op for op in module.ops if op.name == "tt.store")
    sweep = Sweep(module, shared_storage(module))
    sweep.access(access(store, 1, 4, [0], [0]))
    sweep.access(access(store, 1, 4, [0], [1], certain=False, reason="depends on data"))

    (meeting,) = sweep.meetings()
    assert not meeting.certain
    assert sweep.doubt == "depends on data"


def test_an_unknown_address_is_listed_with_its_reason(module):
    store = next(op for op in module.ops if op.name == "tt.store")
    sweep = Sweep(module, shared_storage(module))
    sweep.access(
        Access(store, "store", 1, 4, 1, 1, 1, None, None, False, "depends on the data of x")
    )

    assert sweep.lost == {(store.index, 1): "depends on the data of x"}
    assert not list(sweep.meetings())


@pytest.mark.parametrize("limited", ["elements", "cells"])
def test_a_sweep_gives_up_after_too_much(module, monkeypatch, limited):
    monkeypatch.setattr(sweeping, f"MOST_{limited.upper()}", 3)
    store = next(op for op in module.ops if op.name == "tt.store")
    sweep = Sweep(module, shared_storage(module))
    sweep.access(access(store, 1, 4, [0, 4, 8, 12], [0, 0, 1, 1]))

    assert f"more than 3 {limited}" in sweep.failure


def test_only_touched_cells_of_a_huge_storage_are_kept(module):
    store = next(op for op in module.ops if op.name == "tt.store")
    size = 1 << 36
    storage = Storage(size)
    arguments = [TensorArgument(n, storage, 0, "i32", (size // 4,), (1,)) for n in ("x", "counts")]
    sweep = Sweep(module, arguments)
    sweep.access(access(store, 1, 4, [size - 4, 0, 1 << 35], [0, 1, 2]))
    sweep.access(access(store, 1, 2, [size - 2], [3]))
    sweep.access(access(store, 1, 4, [1 << 35], [1]))

    assert sweep.failure is None
    met = {byte for meeting in sweep.meetings() for byte in meeting.bytes.tolist()}
    assert met == {size - 2, size - 1, *range(1 << 35, (1 << 35) + 4)}


def test_atomics_of_a_grid_barrier_acquire_and_release():
    barrier = compile_for(
        memory.grid_barrier,
        {name: torch.zeros(64, dtype=torch.int32) for name in ("x", "arrived", "out")},
        {"PROGRAMS": 4, "BLOCK": 16},
    )
    parts = roles_of(barrier)
    atomics = [part for part in parts.by_op.values() if part.kind == "atomic"]

    assert parts.synchronizes
    assert parts.unseen is None
    # The first one's result is not looked at: nothing can have waited for it.
    assert [(part.acquires, part.releases) for part in atomics] == [(False, True), (True, True)]
    plain = [part for part in parts.by_op.values() if part.kind != "atomic"]
    assert not any(part.strong or part.acquires or part.releases for part in plain)
