"""Tests of barriers and tile exchange between two cores."""

import threading
from typing import Any

import numpy as np
import pytest

import kvtrace.addons.neuron.newer.isa as nisa
import kvtrace.addons.neuron.newer.language as nl
from kvtrace.addons.neuron.errors import NkiError
from tests.addons.neuron.conftest import Run

ROWS = np.arange(128 * 64, dtype=np.float32).reshape(128, 64)


def rules(outcome: Any) -> list[str]:
    return [finding.rule for finding in outcome.recorder.findings]


def exchange(x: Any, rounds: int) -> Any:
    """Sum up the tiles of two cores in several rounds, each core in its own memory."""
    core = nl.program_id(0)
    out = nl.ndarray((2, 64, 64), x.dtype, buffer=nl.shared_hbm)
    mine = nl.ndarray((64, 64), x.dtype, buffer=nl.sbuf)
    theirs = nl.ndarray((64, 64), x.dtype, buffer=nl.sbuf)
    nisa.dma_copy(mine, x[64 * core : 64 * core + 64])
    for _ in nl.sequential_range(rounds):
        nisa.sendrecv(
            src=mine, dst=theirs, send_to_rank=1 - core, recv_from_rank=1 - core, pipe_id=0
        )
        nisa.tensor_tensor(mine, mine, theirs, nl.add)
    nisa.dma_copy(out[core], mine)
    return out


@pytest.mark.parametrize("rounds", [1, 3])
def test_each_core_receives_the_tile_that_the_other_sends(run_newer: Run, rounds: int) -> None:
    before = threading.active_count()

    outcome = run_newer(exchange, ROWS, rounds, grid=(2,))

    total = (ROWS[:64] + ROWS[64:]) * 2 ** (rounds - 1)
    assert np.array_equal(outcome.result, [total, total])
    assert rules(outcome) == []
    assert [row.program for row in outcome.recorder.rows].count(1) == 2 + 3 * rounds
    assert threading.active_count() == before


@pytest.mark.parametrize("waits", [True, False])
def test_reads_of_the_other_cores_writes_need_a_barrier(run_newer: Run, waits: bool) -> None:
    def kernel(x: Any) -> Any:
        core = nl.program_id(0)
        between = nl.ndarray((2, 64, 64), x.dtype, buffer=nl.shared_hbm)
        out = nl.ndarray((2, 64, 64), x.dtype, buffer=nl.shared_hbm)
        tile = nl.ndarray((64, 64), x.dtype, buffer=nl.sbuf)
        nisa.dma_copy(tile, x[64 * core : 64 * core + 64])
        nisa.dma_copy(between[core], tile)
        if waits:
            nisa.core_barrier(data=between, cores=(0, 1))
        nisa.dma_copy(tile, between[1 - core])
        nisa.dma_copy(out[core], tile)
        return out

    outcome = run_newer(kernel, ROWS, grid=(2,))

    swapped = np.stack([ROWS[64:], ROWS[:64]])
    assert np.array_equal(outcome.result, swapped) == waits
    assert ("race" in rules(outcome)) != waits


def test_writes_after_a_barrier_still_race(run_newer: Run) -> None:
    def kernel(x: Any) -> Any:
        core = nl.program_id(0)
        out = nl.ndarray((64, 64), x.dtype, buffer=nl.shared_hbm)
        tile = nl.ndarray((64, 64), x.dtype, buffer=nl.sbuf)
        nisa.dma_copy(tile, x[64 * core : 64 * core + 64])
        nisa.core_barrier(out, (0, 1))
        nisa.dma_copy(out, tile)
        return out

    assert rules(run_newer(kernel, ROWS, grid=(2,))) == ["race"]


@pytest.mark.parametrize("core", [0, 1])
def test_waiting_for_a_core_that_has_ended_is_an_error(run_newer: Run, core: int) -> None:
    def kernel(x: Any) -> None:
        if nl.program_id(0) == core:
            nisa.core_barrier(x, (0, 1))

    other = 1 - core
    with pytest.raises(NkiError, match=f"for program {other}, which has ended .*_cores"):
        run_newer(kernel, ROWS, grid=(2,))


@pytest.mark.parametrize("core", [0, 1])
def test_an_error_in_one_core_ends_both(run_newer: Run, core: int) -> None:
    def kernel(x: Any) -> None:
        nisa.core_barrier(x, (0, 1))
        if nl.program_id(0) == core:
            x.reshape(7)
        nisa.core_barrier(x, (0, 1))

    before = threading.active_count()
    with pytest.raises(NkiError, match="cannot be reshaped"):
        run_newer(kernel, ROWS, grid=(2,))
    assert threading.active_count() == before


def test_four_programs_cannot_wait_for_each_other(run_newer: Run) -> None:
    with pytest.raises(NkiError, match="a grid of 2 programs, not of 4"):
        run_newer(exchange, ROWS, 1, grid=(4,))
