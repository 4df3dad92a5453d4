"""One launch in so many in detail: numbers stay exact, whatever is launched when."""

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from kvtrace.capture.launch_rows import LAYOUT
from kvtrace.capture.records import AUTOTUNE, GRAPH_CAPTURE, RUN
from kvtrace.capture.sampling import SampledExecutions, SampledLaunches, Weights, is_chosen
from kvtrace.schema.table_types import NAME


@given(st.integers(1, 1000), st.integers(0, 2**40))
def test_exactly_one_of_each_n_that_follow_each_other_is_chosen(one_in, block):
    numbers = np.arange(block * one_in, (block + 1) * one_in)
    assert is_chosen(numbers, one_in).sum() == 1


def test_a_program_that_repeats_itself_is_seen_whole():
    # when a program does the same 100 launches again and again, and one in 100 is chosen
    numbers = np.arange(100 * 10_000)
    places = numbers[is_chosen(numbers, 100)] % 100
    # then each of the 100 comes as often as by chance: 100 times, give or take 10
    counts = np.bincount(places, minlength=100)
    assert counts.min() > 50
    assert counts.max() < 150


@given(st.lists(st.lists(st.tuples(st.integers(0, 5), st.booleans()), max_size=20), max_size=6))
def test_weights_are_the_rows_of_a_key_since_the_last_that_was_kept(batches):
    weights, waiting, found, expected = Weights(), {}, [], []
    for batch in batches:
        keys = np.array([key for key, _ in batch], np.int64)
        kept = np.array([keep for _, keep in batch], bool)
        found += weights.of(keys, kept).tolist()
        for key, keep in batch:
            waiting[key] = waiting.get(key, 0) + 1
            if keep:
                expected.append(waiting.pop(key))
    assert found == expected
    keys, counts = weights.rest()
    assert dict(zip(keys.tolist(), counts.tolist(), strict=True)) == waiting
    assert weights.rest()[0].size == 0


def rows(calls, phases=RUN, contents=0):
    found = np.zeros(len(calls), LAYOUT)
    found["call_id"], found["phase"], found["contents"] = calls, phases, contents
    return found


@given(
    st.lists(st.lists(st.tuples(st.integers(0, 4), st.sampled_from([RUN, AUTOTUNE])), max_size=40)),
    st.integers(1, 20),
)
def test_the_weights_of_each_call_and_phase_add_up_to_its_launches(batches, one_in):
    sampled = SampledLaunches(one_in)
    made, told, seq, seen = {}, {}, 0, set()

    def tell(launches, numbers, weights):
        for row, number, weight in zip(launches, numbers.tolist(), weights.tolist(), strict=True):
            key = int(row["call_id"]), int(row["phase"])
            told[key] = told.get(key, 0) + weight
            assert number not in seen  # no launch is recorded twice
            seen.add(number)

    for batch in batches:
        for key in batch:
            made[key] = made.get(key, 0) + 1
        launches = rows(*zip(*batch, strict=True)) if batch else rows([])
        numbers = np.arange(seq, seq + len(batch))
        seq += len(batch)
        kept, weights = sampled.chosen(launches, numbers)
        assert (kept | ~is_chosen(numbers, one_in)).all()
        tell(launches[kept], numbers[kept], weights)
    tell(*sampled.rest())
    assert told == made


def test_what_others_refer_to_is_recorded():
    sampled = SampledLaunches(1_000_000)
    phases = [RUN, RUN, GRAPH_CAPTURE, GRAPH_CAPTURE, RUN, RUN]
    kept, weights = sampled.chosen(
        rows([0, 0, 1, 1, 0, 0], phases, [0, 0, 0, 0, 7, 0]), np.arange(6)
    )
    assert kept.tolist() == [True, False, True, True, True, False]
    assert weights.tolist() == [1, 1, 1, 2]
    (last,), (seq,), (left,) = sampled.rest()
    assert (int(last["call_id"]), int(seq), int(left)) == (0, 5, 1)


def executions(first, launches, calls, names, graphs=None):
    count = len(calls)
    return pa.table(
        {
            "record": np.arange(first, first + count),
            "launch_seq": pa.array(launches, pa.int64()),
            "call_id": pa.array(calls, pa.int64()),
            "name": pa.array(names).dictionary_encode(),
            "kind": pa.nulls(count, NAME),
            "graph_id": pa.array(graphs or [None] * count, pa.int64()),
        }
    )


@pytest.mark.parametrize("one_in", [1, 3, 10])
def test_executions_are_recorded_with_their_launch_and_all_are_counted(one_in):
    # given a launch for each execution of calls 0 and 1, and executions without a launch
    sampled, launched = SampledExecutions(one_in), SampledLaunches(one_in)
    made, told, seqs = {}, {}, []
    for batch in range(20):
        seq = np.arange(batch * 50, batch * 50 + 50)
        kept, _ = launched.chosen(rows(seq % 2), seq)
        seqs += seq[kept].tolist()
        launches = [*seq.tolist(), *[None] * 7]
        calls = [*(seq % 2).tolist(), *[None] * 7]
        names = [*["add"] * 50, *["gemm"] * 4, *["copy"] * 3]
        for call, name in zip(calls, names, strict=True):
            made[call, name] = made.get((call, name), 0) + 1
        taken = sampled.chosen(executions(batch * 57, launches, calls, names))
        for row in taken.to_pylist():
            told[row["call_id"], row["name"]] = (
                told.get((row["call_id"], row["name"]), 0) + row["weight"]
            )
            assert row["launch_seq"] is None or row["launch_seq"] in seqs
    # when all have been told, and what is left
    left = sampled.rest()
    for row in [] if left is None else left.to_pylist():
        told[row["call_id"], row["name"]] += row["weight"]
        assert row["launch_seq"] is None
    # then each kind's weights are its number, and about one in so many was recorded
    assert told == made
    assert len(seqs) <= 1000 / one_in + 2


def test_replays_of_a_graph_are_chosen_one_by_one():
    sampled = SampledExecutions(10)
    kept = 0
    for batch in range(50):
        taken = sampled.chosen(executions(batch * 20, [3] * 20, [0] * 20, ["add"] * 20, [7] * 20))
        kept += taken.num_rows
        assert set(taken["launch_seq"].to_pylist()) <= {3}  # which was captured, and is recorded
    assert 100 <= kept <= 101
