"""One launch in so many in detail: numbers stay exact, whatever is launched when."""

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from kvtrace.capture.hot_choice import compiled_part
from kvtrace.capture.records import AUTOTUNE, GRAPH_CAPTURE, RUN
from kvtrace.capture.sampling import (
    NativeSampledLaunches,
    SampledExecutions,
    SampledLaunches,
    Weights,
    is_chosen,
)
from kvtrace.schema.spool import FIELDS, ROW
from kvtrace.schema.table_types import NAME

COMPILED, _ = compiled_part()
KINDS = ["python"] if COMPILED is None else ["python", "native"]
every_kind = pytest.mark.parametrize("kind", KINDS)
LAUNCHES = st.tuples(st.integers(0, 4), st.sampled_from([RUN, AUTOTUNE, GRAPH_CAPTURE]))


def sampled_by(kind, one_in):
    return SampledLaunches(one_in) if kind == "python" else NativeSampledLaunches(one_in, COMPILED)


@given(st.integers(1, 1000), st.integers(0, 2**40))
def test_exactly_one_of_n_consecutive_numbers_is_chosen(one_in, block):
    numbers = range(block * one_in, (block + 1) * one_in)
    assert sum(is_chosen(number, one_in) for number in numbers) == 1


def test_all_launches_of_a_periodic_program_are_sampled():
    # when a program does the same 100 launches again and again, and one in 100 is chosen
    counts = [0] * 100
    for number in range(100 * 10_000):
        counts[number % 100] += is_chosen(number, 100)
    # then each of the 100 comes as often as by chance: 100 times, give or take 10
    assert min(counts) > 50
    assert max(counts) < 150


@given(st.lists(st.tuples(st.integers(0, 5), st.booleans()), max_size=60))
def test_weight_is_the_number_of_rows_of_a_key_since_its_last_recorded_row(given_rows):
    weights, waiting, found, expected, seen = Weights(2**62), {}, [], [], set()
    for number, (key, keep) in enumerate(given_rows, 2**61):
        assert not is_chosen(number, 2**62)
        found.append(weights.of(key, number, always=keep))
        waiting[key] = waiting.get(key, 0) + 1
        expected.append(waiting.pop(key) if keep or key not in seen else 0)
        seen.add(key)
    assert found == expected
    assert weights.rest() == waiting
    assert weights.rest() == {}


def rows(launches, contents=()):
    copied = dict(contents)
    return b"".join(
        ROW.pack(*(known.get(name, 0) for name in FIELDS))
        for place, (call, phase) in enumerate(launches)
        for known in [{"call_id": call, "contents": copied.get(place, 0), "phase": phase}]
    )


def sampled_launches(sample):
    launches = [dict(zip(FIELDS, row, strict=True)) for row in ROW.iter_unpack(sample.rows)]
    calls = [(launch["call_id"], launch["phase"]) for launch in launches]
    numbers = (memoryview(part).cast("q").tolist() for part in (sample.seq, sample.weights))
    return list(zip(calls, *numbers, strict=True))


@every_kind
@given(batches=st.lists(st.lists(LAUNCHES, max_size=40)), one_in=st.integers(1, 20))
def test_weights_of_each_call_and_phase_sum_to_its_launches(kind, batches, one_in):
    sampled = sampled_by(kind, one_in)
    made, found, seen, seq = {}, {}, set(), 0

    def add(sample):
        for key, number, weight in sampled_launches(sample):
            found[key] = found.get(key, 0) + weight
            assert number not in seen  # no launch is recorded twice
            seen.add(number)

    for batch in batches:
        for key in batch:
            made[key] = made.get(key, 0) + 1
        add(sampled.chosen(rows(batch), seq))
        numbers = range(seq, seq + len(batch))
        assert {number for number in numbers if is_chosen(number, one_in)} <= seen
        seq += len(batch)
    add(sampled.rest())
    assert found == made


@pytest.mark.skipif(COMPILED is None, reason="there is no compiled part here")
@given(batches=st.lists(st.lists(LAUNCHES, max_size=40)), one_in=st.integers(1, 20))
def test_compiled_sampler_chooses_the_same_launches(batches, one_in):
    both = [sampled_by(kind, one_in) for kind in KINDS]
    seq = 2**40
    for batch in batches:
        python, compiled = (sampled.chosen(rows(batch), seq) for sampled in both)
        assert python == compiled
        seq += len(batch)
    python, compiled = (sampled.rest() for sampled in both)
    assert python == compiled
    assert both[1].rest().rows == b""


@pytest.mark.skipif(COMPILED is None, reason="there is no compiled part here")
def test_compiled_sampler_refuses_negative_call_ids():
    with pytest.raises(ValueError, match="numbered from 0"):
        sampled_by("native", 2).chosen(rows([(-1, RUN)]), 0)


@every_kind
def test_launches_that_other_rows_refer_to_are_recorded(kind):
    sampled = sampled_by(kind, 1_000_000)
    phases = [RUN, RUN, GRAPH_CAPTURE, GRAPH_CAPTURE, RUN, RUN]
    launches = list(zip([0, 0, 1, 1, 0, 0], phases, strict=True))
    found = sampled_launches(sampled.chosen(rows(launches, {4: 7}.items()), 0))
    assert [(seq, weight) for _, seq, weight in found] == [(0, 1), (2, 1), (3, 1), (4, 2)]
    assert sampled_launches(sampled.rest()) == [((0, RUN), 5, 1)]


def executions(first, launches, calls, names, graphs=None):
    count = len(calls)
    return pa.table(
        {
            "record": pa.array(range(first, first + count), pa.int64()),
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
    made, counts, seqs = {}, {}, []
    for batch in range(20):
        seq = range(batch * 50, batch * 50 + 50)
        sample = launched.chosen(rows([(number % 2, RUN) for number in seq]), seq[0])
        seqs += [number for _, number, _ in sampled_launches(sample)]
        launches = [*seq, *[None] * 7]
        calls = [*(number % 2 for number in seq), *[None] * 7]
        names = [*["add"] * 50, *["gemm"] * 4, *["copy"] * 3]
        for call, name in zip(calls, names, strict=True):
            made[call, name] = made.get((call, name), 0) + 1
        taken = sampled.chosen(executions(batch * 57, launches, calls, names))
        for row in taken.to_pylist():
            key = row["call_id"], row["name"]
            counts[key] = counts.get(key, 0) + row["weight"]
            assert row["launch_seq"] is None or row["launch_seq"] in seqs
    # when all have been told, and what is left
    left = sampled.rest()
    for row in [] if left is None else left.to_pylist():
        counts[row["call_id"], row["name"]] += row["weight"]
        assert row["launch_seq"] is None
    # then each kind's weights are its number, and about one in so many was recorded
    assert counts == made
    assert len(seqs) <= 1000 / one_in + 2


def test_replays_of_a_graph_are_chosen_one_by_one():
    sampled = SampledExecutions(10)
    kept = 0
    for batch in range(50):
        taken = sampled.chosen(executions(batch * 20, [3] * 20, [0] * 20, ["add"] * 20, [7] * 20))
        kept += taken.num_rows
        assert set(taken["launch_seq"].to_pylist()) <= {3}  # which was captured, and is recorded
    assert 100 <= kept <= 101
