"""Locks, counters and flags: atomics that order programs, and those that only seem to."""

import pytest
import torch

from corpus.kernels import memory
from tests.verdicts import race_kernels as kernels
from tests.verdicts.racing import call_of, floats, integers, judged, on_formulas, races, verdicts


def gradient(locks, *, recorded=False):
    arguments = {"x": floats(16, 20), "dy": floats(16, 20), "dw": torch.zeros(4, 20),
                 "lock": integers(2 * locks), "stride": 20, "columns": 20}  # fmt: skip
    constexprs = {"GROUP": 4, "LOCKS": locks, "BLOCK": 32}
    return call_of(kernels.row_gradient, (16,), arguments, constexprs, recorded=recorded)


def test_a_lock_around_shared_rows_is_proven_without_contents():
    found = on_formulas(gradient(4))

    assert {v.verdict for v in found} == {"proven"}
    (store,) = [v for v in found if v.access == "store"]
    assert "a lock lets one program at a time do it" in store.message
    assert store.assumption == "all locks are open when the kernel starts"


def test_programs_with_different_locks_race_on_a_shared_row():
    (found,) = races(gradient(8, recorded=True))

    assert (found.access, found.arg) == ("store", "dw")
    assert found.program[0] % 4 == found.other_program[0] % 4
    assert found.program[0] % 8 != found.other_program[0] % 8


def test_a_store_after_the_lock_was_opened_races():
    arguments = {"lock": integers(1), "total": integers(1)}
    found = races(call_of(kernels.released_too_early, (6,), arguments, recorded=True))

    assert [v.access for v in found] == ["store"]


@pytest.mark.parametrize("kind", ["swap", "exchange"])
def test_correct_locks_are_proven(kind):
    call = call_of(kernels.locked_sum, (6,), {"lock": integers(1), "total": integers(1)},
                   {"KIND": kind})  # fmt: skip

    assert {v.verdict for v in on_formulas(call)} == {"proven"}


@pytest.mark.parametrize(
    "kind",
    ["shut in a relaxed way", "nobody waits", "opened in a relaxed way", "opened by a store",
     "opened within one program"],
)  # fmt: skip
def test_broken_locks_leave_a_race(kind):
    call = call_of(kernels.locked_sum, (6,), {"lock": integers(1), "total": integers(1)},
                   {"KIND": kind}, recorded=True)  # fmt: skip

    assert {v.arg for v in races(call)} >= {"total"}


# -- atomics that order ---------------------------------------------------------------------------


def last_block(order, *, recorded=True):
    arguments = {"x": floats(64), "partial": torch.zeros(4), "counter": integers(1),
                 "out": torch.zeros(1), "n": 60}  # fmt: skip
    constexprs = {"PROGRAMS": 4, "ORDER": order, "BLOCK": 16}
    return call_of(kernels.last_block, (4,), arguments, constexprs, recorded=recorded)


def test_the_last_program_by_a_counter_may_read_all_partial_results():
    found = judged(last_block("acq_rel"))

    assert {v.verdict for v in found} == {"proven"}
    (partial,) = [v for v in found if v.arg == "partial"]
    assert "atomics order the programs that access the same byte" in partial.message
    assert "backwards and shuffled" in partial.message


@pytest.mark.parametrize("order", ["relaxed", "release", "acquire"])
def test_a_counter_without_acquire_and_release_orders_nothing(order):
    (found,) = races(last_block(order))

    assert (found.arg, found.other_op.name) == ("partial", "tt.load")


def test_an_unrecorded_counter_leaves_the_verdict_unknown():
    found = [v for v in judged(last_block("acq_rel", recorded=False)) if v.verdict != "proven"]

    assert {v.verdict for v in found} == {"unknown"}
    assert all("counter" in v.reason for v in found)


def test_the_first_program_by_a_counter_races_with_partial_results():
    arguments = {"x": floats(64), "partial": torch.zeros(4), "counter": integers(1),
                 "out": torch.zeros(1), "n": 60}  # fmt: skip
    call = call_of(kernels.first_block, (4,), arguments, {"PROGRAMS": 4, "BLOCK": 16},
                   recorded=True)  # fmt: skip

    (found,) = races(call)
    assert found.arg == "partial"


@pytest.mark.parametrize("recorded", [True, False])
def test_a_flag_orders_programs_if_its_contents_were_recorded(recorded):
    arguments = {"flag": integers(4), "x": floats(64), "out": floats(64)}
    constexprs = {"ORDER": "acquire", "BLOCK": 16}
    call = call_of(kernels.hand_over, (4,), arguments, constexprs, recorded=recorded)

    # Without what the flag holds nobody knows whether a program waits at all.
    assert verdicts(call) == ({"proven"} if recorded else {"proven", "unknown"})


def test_a_barrier_over_the_grid_orders_programs():
    arguments = {"x": integers(64), "arrived": integers(1), "out": integers(64)}
    call = call_of(memory.grid_barrier, (4,), arguments, {"PROGRAMS": 4, "BLOCK": 16},
                   recorded=True)  # fmt: skip

    assert verdicts(call) == {"proven"}


def test_atomics_with_scope_cta_race_between_programs():
    arguments = {"x": integers(60), "counts": integers(7), "n": 60}
    constexprs = {"SCOPE": "cta", "BLOCK": 16}
    (found,) = races(call_of(kernels.histogram, (4,), arguments, constexprs, recorded=True))

    assert "scope cta" in found.message


@pytest.mark.parametrize(
    ("use", "answer"),
    [("in a scalar", "proven"), ("in a block", "unknown"), ("in a condition", "unknown")],
)
def test_late_copies_of_a_scalar_matter_only_where_other_threads_use_them(use, answer):
    arguments = {"box": integers(4), "flags": integers(2), "out": integers(514)}
    call = call_of(kernels.ping_pong, (2,), arguments, {"TRIPS": 3, "USE": use}, recorded=True)

    assert {v.verdict for v in judged(call) if v.arg == "box"} == {answer}
