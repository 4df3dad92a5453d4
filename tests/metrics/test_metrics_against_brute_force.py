"""Sectors, distinct bytes and access records equal what counting lane by lane gives."""

from collections import Counter

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from kvtrace.evaluate.observe import Access, AccessParts
from kvtrace.metrics.of_ops import Metrics
from kvtrace.metrics.progressions import nested_progression, progressions
from kvtrace.metrics.stacks import StackRows
from kvtrace.metrics.unique_bytes import (
    Ranges,
    Repetition,
    TooManyRanges,
    merged,
    size_of_union,
)
from tests.kernels import basic, language, memory
from tests.kernels.attention import attention
from tests.kernels.launching import bind, compile_for
from tests.metrics.touching import LaneByLane, addresses_of, observed


def matmul_call(m, n, k):
    a, b, c = torch.ones(m, k), torch.ones(k, n), torch.empty(m, n)
    grid = (-(-m // 32) * -(-n // 32),)
    arguments = {
        "a": a, "b": b, "c": c, "m": m, "n": n, "k": k, "stride_am": k, "stride_ak": 1,
        "stride_bk": n, "stride_bn": 1, "stride_cm": n, "stride_cn": 1,
    }  # fmt: skip
    constexprs = {
        "BM": 32, "BN": 32, "BK": 16, "GROUP": 2, "ACTIVATION": "", "PRECISION": "ieee"
    }  # fmt: skip
    return basic.matmul, grid, arguments, constexprs


def attention_call():
    q = torch.ones(1, 2, 70, 16)
    arguments = {
        "q": q, "k": q.clone(), "v": q.clone(), "out": torch.empty_like(q),
        "log_sum": torch.empty(2, 70), "scale": 0.25, "heads": 2, "length": 70,
        "batch_stride": q.stride(0), "head_stride": q.stride(1), "row_stride": q.stride(2),
    }  # fmt: skip
    return attention, (3, 2), arguments, {"BM": 32, "BN": 16, "D": 16, "CAUSAL": True}


def tile_call():
    x, out = torch.ones(90, 37)[3:], torch.empty(120, 40)
    arguments = {"x": x, "out": out, "rows": 50, "columns": 37, "x_stride": 37, "out_stride": 40}
    return memory.copy_tile, (4, 3), arguments, {"BM": 16, "BN": 16}


def softmax_call():
    x, out = torch.ones(11, 45, dtype=torch.bfloat16), torch.empty(11, 45, dtype=torch.bfloat16)
    arguments = {"out": out, "x": x, "x_stride": 45, "out_stride": 45, "rows": 11, "columns": 45}
    return basic.softmax, (3,), arguments, {"BLOCK": 64}


def random_integers(high, size):
    return torch.randint(0, high, (size,), generator=torch.Generator().manual_seed(1))


def calls():
    yield matmul_call(64, 64, 32)
    yield matmul_call(70, 50, 41)
    yield attention_call()
    yield tile_call()
    yield softmax_call()
    x = torch.ones(1000)
    block = {"BLOCK": 64}
    yield memory.gather_rows, (9,), {
        "index": random_integers(20, 9), "x": x, "out": torch.empty(9 * 50), "columns": 50
    }, block  # fmt: skip
    yield memory.histogram_by_atomics, (4,), {
        "x": random_integers(40, 256).int(), "counts": torch.zeros(40, dtype=torch.int32), "n": 250
    }, block  # fmt: skip
    yield memory.running_total, (5,), {"x": x, "total": torch.zeros(6), "n": 300}, block
    yield language.ragged_sums, (6,), {
        "lengths": random_integers(200, 6).int(), "x": torch.ones(6, 200),
        "out": torch.empty(6), "stride": 200,
    }, block  # fmt: skip
    yield language.early_return, (6,), {
        "flags": torch.tensor([0, 1, -1, 2, 0, -1], dtype=torch.int32), "x": x[:384],
        "out": torch.empty(384), "n": 380,
    }, block  # fmt: skip


CALLS = list(calls())


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


@pytest.mark.parametrize("chunk_bytes", [1 << 24, 1 << 10], ids=["whole", "chunked"])
@pytest.mark.parametrize(
    "call", CALLS, ids=[f"{n}-{call[0].fn.__name__}" for n, call in enumerate(CALLS)]
)
def test_counts_and_records_equal_those_made_lane_by_lane(call, chunk_bytes):
    function, grid, arguments, constexprs = call
    ops, accesses, notes, brute = observed(
        function, grid, arguments, constexprs, chunk_bytes=chunk_bytes
    )

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
    if not notes:
        for index, addresses in brute.addresses.items():
            assert Counter(described.get(index, ())) == Counter(addresses)


@settings(max_examples=150, deadline=None)
@given(st.data())
def test_what_several_masked_ops_touch_of_shared_storages(data):
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


def test_what_one_pointer_reads_from_two_tensors_is_summed():
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


def test_most_calls_are_described_whole():
    partly = [call[0].fn.__name__ for call in CALLS if observed(*call)[2]]
    assert partly == []


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


MODULE = compile_for(
    basic.vector_add, {"x": torch.ones(1), "y": torch.ones(1), "out": torch.ones(1), "n": 1},
    {"BLOCK": 16},
)  # fmt: skip
LOAD = next(op for op in MODULE.ops if op.name == "tt.load")


@settings(deadline=None)
@given(st.lists(random_parts(), min_size=1, max_size=3), st.integers(1, 4), st.integers(-50, 500))
def test_any_terms_and_masks_are_counted_as_lane_by_lane(several, trips, step):
    element_bytes = several[0][0]
    metrics, brute = Metrics(), LaneByLane()
    total = 0
    for trip in range(trips):
        for _, parts in several:
            moved = AccessParts(
                parts.constant + trip * step, parts.terms, parts.factors, parts.block,
                parts.programs, trip, parts.origin_bytes,
            )  # fmt: skip
            shape = (len(parts.programs), *parts.block)
            active = np.ones(shape, bool)
            for factor in parts.factors:
                active = active & factor
            total += active.sum()
            access = Access(
                LOAD, "load", 0, element_bytes, shape[0], active.size, int(active.sum()), 0, 0,
                parts=moved,
            )  # fmt: skip
            metrics.access(access)
            brute.access(access)
    (row,) = metrics.op_rows(0, ["x"], {}, StackRows())
    assert row["unique_bytes"] == len(brute.bytes[LOAD.index])
    assert row["sectors"] == brute.sectors.get(LOAD.index, 0)
    rows, notes = metrics.access_rows(0, ["x"], {}), metrics.notes(0)
    assert notes or sum(record["active"] for record in rows) == total
    if not notes and not any("null" in record["layout"] for record in rows):
        found = Counter(a for record in rows for a in addresses_of(record["layout"]))
        assert found == Counter(brute.addresses[LOAD.index])


@given(st.lists(st.integers(-3, 3), min_size=1, max_size=40), st.integers(1, 40))
def test_progressions_say_what_they_were_made_from(values, most):
    found = progressions(np.array(values), most)
    if found is None:
        assert len(values) > most
        return
    assert [first + i * step for first, count, step in found for i in range(count)] == values


@given(st.lists(st.tuples(st.integers(1, 4), st.integers(-5, 5)), max_size=4), st.integers(-5, 5))
def test_nested_progressions_are_found(levels, base):
    values = [base]
    for count, step in levels:
        values = [value + i * step for i in range(count) for value in values]
    found = nested_progression(np.array(values).reshape(-1, 1))
    if found is None:
        return  # a progression that runs on into the next level by chance
    again = [base]
    for count, step in found:
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
            found = Repetition(merged(first, first + 4))
            for count, step in sorted(levels, key=lambda level: level[1]):
                found = found.repeated(count, step, 1 << 20)
                starts = [start + i * step for start in starts for i in range(count)]
            bytes_ = {start + i for start in starts for i in range(4)}
            assert found.size == len(bytes_)
            assert found.hull == (min(bytes_), max(bytes_) + 1)
            sets.append(found)
            expected |= bytes_
        assert size_of_union(sets, 1 << 20) == len(expected)


def test_what_is_strided_and_large_is_counted_and_not_listed():
    strided = merged(np.arange(0, 8192, 8), np.arange(0, 8192, 8) + 4)
    found = Repetition(strided).repeated(1_000_000, 8192, 1 << 16)
    assert found.size == 1_000_000 * 4096
    with pytest.raises(TooManyRanges):
        found.listed(1 << 16)
    tail = Repetition(Ranges(strided.first + 8192 * 1_000_000, strided.end + 8192 * 1_000_000))
    assert size_of_union([tail, found], 1 << 16) == 1_000_001 * 4096
