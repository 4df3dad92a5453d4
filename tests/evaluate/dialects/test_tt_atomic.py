"""Atomic loads, stores and polls of Triton 3.9, in compiled kernels."""

import ml_dtypes
import numpy as np
import pytest

from kvtrace.evaluate import Deadlock, ScalarArgument, Storage, evaluate
from kvtrace.evaluate.atomics import compare_and_swap
from kvtrace.ir import parse
from kvtrace.ir.index_arguments import index_arguments
from kvtrace.recorded_calls.recorded import Call
from kvtrace.verdicts.judge import judge
from tests.kernels.triton39 import ONE_POLL, STORE_OF_FLAG, int_tensor, text_of
from tests.support.replacing import replace


def run(text, arrays, grid, *sizes):
    held = [np.array(array, np.int32) for array in arrays]
    given = [int_tensor(f"t{place}", array) for place, array in enumerate(held)]
    scalars = [ScalarArgument("size", size) for size in sizes]
    evaluate(parse(text), (*given, *scalars), (grid, 1, 1))
    return held


def test_atomic_loads_and_stores_access_only_active_lanes():
    source, seen = np.arange(16), np.arange(16)
    _, target, arrived = run(text_of("blocks"), [source, np.full(16, -1), seen], 2, 13)
    np.testing.assert_array_equal(target, np.where(source < 13, source * 2, -1))
    # a poll whose time is over says which lanes have seen what they waited for
    np.testing.assert_array_equal(arrived, seen == 3)


@pytest.mark.parametrize("grid", [1, 2, 5])
def test_a_polling_program_waits_for_later_programs(grid):
    zeros = np.zeros(8 * grid)
    data, flags, result = run(text_of("hand_over"), [zeros, np.zeros(grid), zeros], grid)
    np.testing.assert_array_equal(flags, 1)
    np.testing.assert_array_equal(result, np.roll(data, -8))


def test_a_wait_for_a_value_that_no_program_stores_is_a_deadlock_at_its_line():
    text = text_of("hand_over").replace(STORE_OF_FLAG, "")
    with pytest.raises(Deadlock, match=r"tt\.atomic_poll at atomics39\.py:14 .* waits forever"):
        run(text, [np.zeros(16), np.zeros(2), np.zeros(16)], 2)


def test_a_poll_with_timeout_waits_while_other_programs_change_memory():
    # given the same kernel with a time to wait, and flags that nobody sets
    text = text_of("hand_over")
    limited = ONE_POLL.replace(", i32)", ", i32, i32)").replace(") <{", ", %following) <{")
    text = text.replace(ONE_POLL, limited).replace(STORE_OF_FLAG, "")
    assert limited in text
    zeros = np.zeros(16)
    # then the first program has seen what the second one stored meanwhile
    data, _, result = run(text, [zeros, np.zeros(2), zeros], 2)
    np.testing.assert_array_equal(result, np.roll(data, -8))


def verdict(text, rule, sizes, grid, *scalars, known=True):
    given = [int_tensor(f"t{place}", np.zeros(size)) for place, size in enumerate(sizes)]
    if not known:
        given = [replace(each, storage=Storage(each.storage.nbytes, None)) for each in given]
    given += [ScalarArgument("size", scalar) for scalar in scalars]
    call = Call(0, "kernel", (grid, 1, 1), parse(text), tuple(given), ())
    return [each.verdict for each in judge(call, [rule])]


def test_atomic_loads_and_stores_out_of_bounds_are_reported():
    inside = verdict(text_of("blocks"), "out-of-bounds", (13, 13, 16), 2, 13)
    assert inside == ["proven"] * 4
    outside = verdict(text_of("blocks"), "out-of-bounds", (12, 12, 16), 2, 13)
    assert sorted(outside) == ["proven", "proven", "violation", "violation"]
    polled = verdict(text_of("hand_over"), "out-of-bounds", (32, 3, 32), 4)
    assert polled.count("violation") == 2  # the store of a flag, and the poll


ORDERED = text_of("hand_over")
FLAWED = {
    "store relaxed": (STORE_OF_FLAG, STORE_OF_FLAG.replace("sem = 3", "sem = 1")),
    "poll relaxed": (ONE_POLL, ONE_POLL.replace("sem = 2", "sem = 1")),
    "scope of a block": (STORE_OF_FLAG, STORE_OF_FLAG.replace("scope = 1", "scope = 2")),
}


def race(text, *, known=True):
    return verdict(text, "race", (32, 4, 32), 4, known=known)


def test_a_release_that_a_poll_acquires_orders_programs():
    assert "violation" not in race(ORDERED)


def test_a_wait_for_memory_that_was_not_recorded_has_an_unknown_verdict():
    assert "violation" not in race(ORDERED, known=False)
    assert "unknown" in race(ORDERED, known=False)


def test_contents_of_polled_memory_are_recorded():
    assert index_arguments(parse(ORDERED)).read == {1}


@pytest.mark.parametrize("flaw", FLAWED)
def test_programs_race_if_release_acquire_or_scope_is_missing(flaw):
    text = ORDERED.replace(*FLAWED[flaw])
    assert text != ORDERED
    assert "violation" in race(text)


@pytest.mark.parametrize("dtype", [np.float16, np.float32, np.float64, ml_dtypes.bfloat16])
def test_a_swap_of_floats_compares_bits(dtype):
    memory = np.array([-0.0, np.nan, 1.0], dtype)
    new = np.full(3, 7, dtype)

    old = compare_and_swap(memory, np.arange(3), np.array([0.0, np.nan, 1.0], dtype), new)

    assert np.signbit(memory[0])
    assert memory[1:].tolist() == [7, 7]
    assert np.isnan(old[1])
    assert old[2] == 1
