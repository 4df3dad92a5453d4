"""Sampled launches and executions: one row in N, with weights that add up to all rows."""

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from kvtrace.capture.hot_choice import launch_rows
from kvtrace.capture.records import AUTOTUNE, GRAPH_CAPTURE, RUN
from kvtrace.schema.sampled_rows import SampledExecutions, SampledLaunches, are_chosen
from kvtrace.schema.spool import FIELDS, PHASES, ROW
from kvtrace.schema.table_types import NAME

LAUNCHES = st.tuples(
    st.integers(0, 4),
    st.sampled_from([RUN, AUTOTUNE, GRAPH_CAPTURE]),
    st.sampled_from([0, 0, 0, 7]),
)


def chosen_numbers(numbers, one_in):
    flags = are_chosen(pa.array(numbers, pa.int64()), one_in).to_pylist()
    return [number for number, is_chosen in zip(numbers, flags, strict=True) if is_chosen]


@given(st.integers(1, 1000), st.integers(0, 2**40))
def test_exactly_one_of_n_consecutive_numbers_is_chosen(one_in, block):
    numbers = range(block * one_in, (block + 1) * one_in)
    assert len(chosen_numbers(numbers, one_in)) == 1


def test_chosen_numbers_are_those_of_splitmix64():
    # when the finalizer is computed by Python's integers
    def place(block, one_in):
        mixed = (block + 1) * 0x9E3779B97F4A7C15 % 2**64
        mixed = (mixed ^ mixed >> 30) * 0xBF58476D1CE4E5B9 % 2**64
        mixed = (mixed ^ mixed >> 27) * 0x94D049BB133111EB % 2**64
        return (mixed ^ mixed >> 31) % one_in

    for one_in in (1, 7, 100):
        expected = [block * one_in + place(block, one_in) for block in range(50)]
        assert chosen_numbers(range(50 * one_in), one_in) == expected


def test_all_launches_of_a_periodic_program_are_sampled():
    # when a program does the same 100 launches again and again, and one in 100 is chosen
    chosen = chosen_numbers(range(100 * 10_000), 100)
    counts = [0] * 100
    for number in chosen:
        counts[number % 100] += 1
    # then each of the 100 comes as often as by chance: 100 times, give or take 10
    assert min(counts) > 50
    assert max(counts) < 150


def batch_of(launches, first):
    """Return columns of launches (call, phase, number of copies), and those with copies."""
    known = [
        {"call_id": call, "contents": contents, "phase": phase, "device": -1}
        for call, phase, contents in launches
    ]
    packed = b"".join(ROW.pack(*(row.get(name, 0) for name in FIELDS)) for row in known)
    made = launch_rows(packed, first, 0)
    return made.columns, made.copied


def listed(rows):
    """Return (call, phase), number and weight of sampled launches."""
    return [
        ((row["call_id"], PHASES.index(row["phase"])), row["seq"], row["weight"])
        for row in ([] if rows is None else rows.to_pylist())
    ]


class Expected:
    """The sampler by a loop over the launches."""

    def __init__(self, one_in):
        self.one_in, self.waiting, self.last = one_in, {}, {}

    def chosen(self, launches, first):
        numbers = range(first, first + len(launches))
        chosen, rows = set(chosen_numbers(numbers, self.one_in)), []
        for number, (call, phase, contents) in zip(numbers, launches, strict=True):
            key = call, phase
            is_new = key not in self.waiting
            self.waiting[key] = self.waiting.get(key, 0) + 1
            self.last[key] = number
            if is_new or number in chosen or contents or phase == GRAPH_CAPTURE:
                rows.append((key, number, self.waiting[key]))
                self.waiting[key] = 0
        return rows

    def rest(self):
        left = [(key, self.last[key], count) for key, count in self.waiting.items() if count]
        self.waiting = dict.fromkeys(self.waiting, 0)
        return sorted(left, key=lambda row: row[1])


@given(
    batches=st.lists(st.lists(LAUNCHES, max_size=40)),
    one_in=st.integers(1, 20),
    first=st.sampled_from([0, 2**40]),
)
def test_launches_are_sampled_as_by_a_loop_over_them(batches, one_in, first):
    sampled, expected, made, found = SampledLaunches(one_in), Expected(one_in), {}, {}
    for batch in batches:
        rows = listed(sampled.chosen(*batch_of(batch, first)))
        assert rows == expected.chosen(batch, first)
        first += len(batch)
        for call, phase, _ in batch:
            made[call, phase] = made.get((call, phase), 0) + 1
        for key, _, weight in rows:
            found[key] = found.get(key, 0) + weight
    rest = listed(sampled.rest())
    assert rest == expected.rest()
    assert sampled.rest() is None
    # then the weights of each call and phase sum to its launches
    for key, _, weight in rest:
        found[key] = found.get(key, 0) + weight
    assert found == made


def test_launches_that_other_rows_refer_to_are_recorded():
    sampled = SampledLaunches(1_000_000)
    phases = [RUN, RUN, GRAPH_CAPTURE, GRAPH_CAPTURE, RUN, RUN]
    launches = list(zip([0, 0, 1, 1, 0, 0], phases, [0, 0, 0, 0, 7, 0], strict=True))
    found = listed(sampled.chosen(*batch_of(launches, 0)))
    assert [(seq, weight) for _, seq, weight in found] == [(0, 1), (2, 1), (3, 1), (4, 2)]
    assert listed(sampled.rest()) == [((0, RUN), 5, 1)]


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
        sample = launched.chosen(*batch_of([(number % 2, RUN, 0) for number in seq], seq[0]))
        seqs += [number for _, number, _ in listed(sample)]
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
