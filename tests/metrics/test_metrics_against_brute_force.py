"""Sectors, distinct bytes and access records equal counts lane by lane."""

from collections import Counter
from itertools import product

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from corpus.kernels import language, memory
from kvtrace.evaluate.observe import Access, AccessParts
from kvtrace.metrics.byte_ranges import TooManyRanges, merged
from kvtrace.metrics.of_ops import Metrics, ModuleFacts
from kvtrace.metrics.progressions import nested_progression, progressions
from kvtrace.metrics.unique_bytes import Repetition, size_of_union
from kvtrace.schema.content import StackRows
from tests.kernels.launching import bind
from tests.metrics.counted_calls import CALLS, LOAD
from tests.metrics.touching import LaneByLane, addresses_of, materialised, observed
from tests.support.replacing import replace
from tests.support.thorough import usually


def assert_fresh(ops, brute, function, arguments):
    """What each op adds to what is read, or written, of a storage."""
    storages = {a.name: id(a.storage) for a in bind(function, arguments) if hasattr(a, "storage")}
    seen = {}
    for row in ops:
        if row["buffer"] is None:
            assert row["fresh_bytes"] is None
            continue
        touched = brute.bytes.get(row["op_index"], set())
        before = seen.setdefault((row["kind"] == "load", storages[row["buffer"]]), set())
        assert row["fresh_bytes"] == len(touched - before), row
        before |= touched


@pytest.mark.parametrize(
    "call", CALLS, ids=[f"{n}-{call[0].fn.__name__}" for n, call in enumerate(CALLS)]
)
def test_counts_and_records_equal_those_made_lane_by_lane(call, monkeypatch):
    monkeypatch.setattr("kvtrace.metrics.access_records.MOST_SINGLE_ROWS", 4)
    function, _, arguments, _ = call
    ops, accesses, notes, brute = observed(*call)

    for chunk_bytes in (1 << 13, 1 << 10, 1):  # a few programs at once, and one
        assert observed(*call, chunk_bytes=chunk_bytes)[1] == accesses
    assert brute.bytes
    assert_fresh(ops, brute, function, arguments)
    for row in ops:
        if row["op_index"] in brute.bytes:
            assert row["unique_bytes"] == len(brute.bytes[row["op_index"]]), row
            assert row["sectors"] == brute.sectors[row["op_index"]], row
            assert row["masked_off"] == row["elements"] - len(brute.addresses[row["op_index"]])
    described = {}
    for row in accesses:
        addresses = addresses_of(row["layout"])
        assert (min(addresses), max(addresses)) == (row["first"], row["last"])
        assert len(addresses) == row["active"]
        described.setdefault(row["op_index"], []).extend(addresses)
    assert notes == []
    for index, addresses in brute.addresses.items():
        assert Counter(described.get(index, ())) == Counter(addresses)


@pytest.mark.costly("random ops; single ops stay by day")
@settings(max_examples=usually(25, thorough=150), deadline=None)
@given(st.data())
def test_bytes_of_several_masked_ops_on_shared_storages(data):
    """Loads and stores of views that overlap, each under a mask of its own."""
    count = st.integers(0, 700)
    view = st.integers(0, 300)
    whole = torch.ones(2000, dtype=data.draw(st.sampled_from([torch.float32, torch.int8])))
    other = torch.ones(2000, dtype=whole.dtype)
    tensors = {
        name: (whole if data.draw(st.booleans()) else other)[data.draw(view) :]
        for name in ("a", "b", "c", "d")
    }
    bounds = {name: data.draw(count) for name in ("n_a", "n_b", "n_c", "n_d")}
    moves = {"shift": data.draw(view), "step": data.draw(st.integers(1, 3))}
    grid = (data.draw(st.integers(1, 2)),)
    arguments = tensors | bounds | moves
    ops, _, _, brute = observed(
        memory.masked_copies, grid, arguments, {"BLOCK": data.draw(st.sampled_from([256, 512]))}
    )
    assert_fresh(ops, brute, memory.masked_copies, arguments)


def test_bytes_that_one_pointer_reads_from_two_tensors_are_summed():
    x = torch.ones(384)
    ops, accesses, notes, _ = observed(
        language.one_of_two, (6,),
        {"left": x, "right": x.clone(), "out": x.clone(), "n": 380}, {"BLOCK": 64},
    )  # fmt: skip
    load, _ = [row for row in ops if row["kind"] in ("load", "store")]
    assert load["buffer"] == "left,right"
    assert (load["unique_bytes"], load["sectors"]) == (380 * 4, 6 * 8)
    assert {row["arg"] for row in accesses} == {"left", "right", "out"}
    assert sum(row["active"] for row in accesses if row["arg"] != "out") == 380
    assert notes == []


@st.composite
def random_parts(draw):
    block = tuple(draw(st.lists(st.sampled_from([1, 2, 4, 8, 16, 32, 64]), max_size=3)))
    programs = draw(st.integers(1, 9))
    full = (programs, *block)
    seed = draw(st.integers(0, 2**32 - 1))
    random = np.random.default_rng(seed)
    size = draw(st.sampled_from([1, 2, 4, 8]))
    unit = draw(st.sampled_from([1, size, 4 * size]))
    terms = [
        term(
            draw,
            random,
            tuple(extent if keep else 1 for extent, keep in zip(full, axes, strict=True)),
        )
        * unit
        for axes in draw(st.lists(st.tuples(*[st.booleans()] * len(full)), max_size=4))
    ]
    factors = [
        random.random(tuple(extent if keep else 1 for extent, keep in zip(full, axes, strict=True)))
        < 0.8
        for axes in draw(st.lists(st.tuples(*[st.booleans()] * len(full)), max_size=2))
    ]
    return size, AccessParts(
        draw(st.integers(-64, 64)), tuple(terms), tuple(factors), block, np.arange(programs), 0, 0
    )


def term(draw, random, shape):
    if draw(st.booleans()):
        return random.integers(-40, 40, shape)
    steps = [draw(st.integers(-9, 70)) for _ in shape]
    grids = np.meshgrid(*map(np.arange, shape), indexing="ij")
    return sum(
        (grid * step for grid, step in zip(grids, steps, strict=True)), np.zeros(shape, np.int64)
    )


def of_programs(parts, programs, trip, moved_by, element_bytes):
    """The access of some of the programs, in a trip."""
    terms, factors = (
        tuple(array[programs] if len(array) > 1 else array for array in arrays)
        for arrays in (parts.terms, parts.factors)
    )
    parts = replace(
        parts, constant=parts.constant + moved_by, terms=terms, factors=factors,
        programs=parts.programs[programs], iteration=trip,
    )  # fmt: skip
    _, active = materialised(parts)
    return Access(
        LOAD, "load", 0, element_bytes, len(active), active.size, int(active.sum()), 0, 0,
        parts=parts,
    )  # fmt: skip


@pytest.mark.costly("random terms; chosen ones stay by day")
@settings(max_examples=usually(8, thorough=200), deadline=None)
@given(
    st.lists(random_parts(), min_size=1, max_size=3), st.integers(1, 4), st.integers(-50, 500),
    st.sampled_from(
        [{}, {"MOST_SINGLE_ROWS": 0}, {"MOST_SINGLE_ROWS": 0, "MOST_JOINT_ROWS": 3}]
    ),
    st.sampled_from([1 << 16, 8]),
)  # fmt: skip
def test_any_terms_and_masks_are_counted_as_lane_by_lane(several, trips, step, limits, joined):
    facts, brute = ModuleFacts(), LaneByLane()
    facts.loops = {LOAD.index: 0}
    observers = [Metrics(facts=facts) for _ in range(3)]
    with pytest.MonkeyPatch.context() as patch:
        for name, limit in {**limits, "_LEAST_JOINED": joined}.items():
            patch.setattr(f"kvtrace.metrics.access_records.{name}", limit)
        for metrics, at_once in zip(observers, (9, 4, 1), strict=True):
            for start, trip, (_, parts) in product(range(0, 9, at_once), range(trips), several):
                if start < len(parts.programs):
                    programs = slice(start, start + at_once)
                    access = of_programs(parts, programs, trip, trip * step, several[0][0])
                    metrics.access(access)
                    if at_once == 9:
                        brute.access(access)
        described = [(m.access_rows(0, ["x"]), m.notes()) for m in observers]
    (row,) = observers[0].op_rows(0, ["x"], StackRows())
    assert row["unique_bytes"] == len(brute.bytes[LOAD.index])
    assert row["sectors"] == brute.sectors.get(LOAD.index, 0)
    assert described == [described[0]] * 3
    (rows, notes), total = described[0], len(brute.addresses.get(LOAD.index, ()))
    assert notes or sum(record["active"] for record in rows) == total
    if not notes and not any("null" in record["layout"] for record in rows):
        result = Counter(a for record in rows for a in addresses_of(record["layout"]))
        assert result == Counter(brute.addresses.get(LOAD.index, ()))


@given(st.lists(st.integers(-3, 3), min_size=1, max_size=40), st.integers(1, 40))
def test_progressions_list_the_numbers_they_came_from(values, most):
    result = progressions(np.array(values), most)
    if result is None:
        assert len(values) > most
        return
    assert [first + i * step for first, count, step in result for i in range(count)] == values


@given(st.lists(st.tuples(st.integers(1, 4), st.integers(-5, 5)), max_size=4), st.integers(-5, 5))
def test_nested_progressions_are_found(levels, base):
    values = [base]
    for count, step in levels:
        values = [value + i * step for i in range(count) for value in values]
    result = nested_progression(np.array(values).reshape(-1, 1))
    if result is None:
        return  # a progression that runs on into the next level by chance
    again = [base]
    for count, step in result:
        again = [value + i * step for i in range(count) for value in again]
    assert again == values


@pytest.mark.parametrize("listed", [0, 1 << 16], ids=["counted", "listed"])
@given(data=st.data())
def test_repeated_ranges_have_the_size_of_their_union(listed, data):
    some = st.lists(st.integers(-40, 300), min_size=1, max_size=4)
    steps = st.lists(st.tuples(st.integers(1, 4), st.integers(1, 90)), max_size=3)
    sets, expected = [], set()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("kvtrace.metrics.unique_bytes._LISTED", listed)
        for starts, levels in data.draw(st.lists(st.tuples(some, steps), min_size=1, max_size=3)):
            first = np.array(sorted(starts))
            result = Repetition(merged(first, first + 4))
            for count, step in sorted(levels, key=lambda level: level[1]):
                result = result.repeated(count, step, 1 << 20)
                starts = [start + i * step for start in starts for i in range(count)]
            bytes_ = {start + i for start in starts for i in range(4)}
            assert result.size == len(bytes_)
            assert result.hull == (min(bytes_), max(bytes_) + 1)
            sets.append(result)
            expected |= bytes_
        assert size_of_union(sets, 1 << 20) == len(expected)


def test_large_strided_sets_are_counted_without_listing():
    strided = merged(np.arange(0, 8192, 8), np.arange(0, 8192, 8) + 4)
    result = Repetition(strided).repeated(1_000_000, 8192, 1 << 16)
    assert result.size == 1_000_000 * 4096
    with pytest.raises(TooManyRanges):
        result.listed(1 << 16)
    tail = Repetition(strided.moved(8192 * 1_000_000))
    assert size_of_union([tail, result], 1 << 16) == 1_000_001 * 4096
