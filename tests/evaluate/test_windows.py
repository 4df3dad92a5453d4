"""Strided blocks of memory against reading and writing element by element."""

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from kvtrace.evaluate.lane_ranges import loose_extremes, ranges_of
from kvtrace.evaluate.sums import joined_terms
from kvtrace.evaluate.values import Mask, Sum, conjunction, sum_of_terms
from kvtrace.evaluate.windows import (
    box_of,
    cropped,
    read_masked,
    read_window,
    window_of,
    write_masked,
    write_window,
)

SHAPE = (3, 4, 5)
LINES = st.sampled_from(["ramp", "steep", "random", "wrapped", "falling"])
AXES = st.sampled_from([(0,), (1,), (2,), (0, 1), (0, 2), (1, 2), (0, 1, 2), ()])


@st.composite
def sums(draw):
    """Draw offsets over programs and two lane axes, as terms of all kinds."""
    terms = ()
    for axes in draw(st.lists(AXES, min_size=0, max_size=4)):
        shape = tuple(extent if axis in axes else 1 for axis, extent in enumerate(SHAPE))
        count = int(np.prod(shape))
        kind = draw(LINES)
        line = {
            "ramp": np.arange(count),
            "steep": np.arange(count) * 7,
            "random": np.array(draw(st.lists(st.integers(0, 20), min_size=count, max_size=count))),
            "wrapped": np.arange(count) % 3,
            "falling": np.arange(count)[::-1],
        }[kind]
        terms = joined_terms(terms, (line.astype(np.int64).reshape(shape),))
    constant = draw(st.integers(0, 9))
    low = constant + sum(int(term.min()) for term in terms)
    high = constant + sum(int(term.max()) for term in terms)
    return Sum(constant, terms, low, high)


@st.composite
def masks(draw):
    factors = []
    for axes in draw(st.lists(AXES, min_size=1, max_size=3)):
        shape = tuple(extent if axis in axes else 1 for axis, extent in enumerate(SHAPE))
        count = int(np.prod(shape))
        bits = draw(st.lists(st.booleans(), min_size=count, max_size=count))
        if draw(st.booleans()):
            bits = sorted(bits, reverse=True)  # lanes < n
        factors.append(np.array(bits).reshape(shape))
    return factors[0] if len(factors) == 1 else Mask(tuple(factors))


def full_offsets(offset):
    return np.broadcast_to(sum_of_terms(offset), SHAPE)


def full_mask(mask):
    return np.broadcast_to(conjunction(mask.factors) if isinstance(mask, Mask) else mask, SHAPE)


@settings(deadline=None)
@given(offset=sums())
def test_a_window_reads_the_elements_at_its_offsets(offset):
    flat = np.random.default_rng(0).standard_normal(offset.high + 1)

    values = read_window(flat, window_of(offset), 3, copy=False)

    np.testing.assert_array_equal(np.broadcast_to(values, SHAPE), flat[full_offsets(offset)])


@settings(deadline=None)
@given(offset=sums(), mask=masks(), short=st.integers(0, 60), early=st.integers(0, 12))
def test_masked_reads_return_active_lanes_and_access_no_others(offset, mask, short, early):
    offset = Sum(offset.constant - early, offset.terms, offset.low - early, offset.high - early)
    flat = np.random.default_rng(0).standard_normal(max(0, offset.high + 1 - short))
    places = full_offsets(offset)
    lanes = full_mask(mask) & (places >= 0) & (places < len(flat))

    values = np.broadcast_to(read_masked(flat, window_of(offset), 3, lanes), SHAPE)

    np.testing.assert_array_equal(values[lanes], flat[places[lanes]])


@settings(deadline=None)
@given(offset=sums())
def test_a_window_writes_the_elements_at_its_offsets(offset):
    flat, expected = np.zeros(offset.high + 1), np.zeros(offset.high + 1)
    values = np.arange(1.0, 61.0).reshape(SHAPE)

    write_window(flat, window_of(offset), 3, values)

    places = full_offsets(offset).reshape(-1)
    expected[places] = values.reshape(-1)
    assert np.array_equal(flat != 0, expected != 0)
    counts = np.bincount(places, minlength=len(flat))
    assert np.array_equal(flat[counts == 1], expected[counts == 1])


@settings(deadline=None)
@given(offset=sums(), mask=masks(), short=st.integers(0, 60))
def test_masked_writes_change_active_lanes_only(offset, mask, short):
    size = max(0, offset.high + 1 - short)
    flat, expected = np.zeros(size), np.zeros(size)
    values = np.arange(1.0, 61.0).reshape(SHAPE)
    places = full_offsets(offset)
    lanes = full_mask(mask) & (places < size)

    write_masked(flat, window_of(offset), SHAPE, values, lanes)

    expected[places[lanes]] = values[lanes]
    counts = np.bincount(places[lanes], minlength=size)
    assert np.array_equal(flat != 0, counts > 0)
    assert np.array_equal(flat[counts == 1], expected[counts == 1])


@settings(deadline=None)
@given(offset=sums(), mask=st.one_of(st.none(), masks()))
def test_spans_are_the_extremes_of_active_lanes(offset, mask):
    spans = ranges_of(offset, mask, SHAPE[1:])
    lowest, highest = loose_extremes(offset)

    places = full_offsets(offset)
    lanes = np.ones(SHAPE, bool) if mask is None else full_mask(mask)
    active = np.broadcast_to(spans.active, (3,))
    assert active.tolist() == lanes.sum(axis=(1, 2)).tolist()
    for program in range(3):
        chosen = places[program][lanes[program]]
        assert np.broadcast_to(lowest, (3,))[program] <= places[program].min()
        assert np.broadcast_to(highest, (3,))[program] >= places[program].max()
        if len(chosen):
            assert np.broadcast_to(spans.lowest, (3,))[program] == chosen.min()
            assert np.broadcast_to(spans.highest, (3,))[program] == chosen.max()


@settings(deadline=None)
@given(mask=masks())
def test_a_box_and_its_other_factors_equal_the_mask(mask):
    box = box_of(mask, SHAPE[1:])
    if box is None:
        return
    lanes = np.zeros(SHAPE, bool)
    inside = (slice(None), *(slice(low, high) for low, high in box.ranges))
    rest = conjunction(box.other_factors) if box.other_factors else np.ones((1, 1, 1), bool)
    if not box.is_empty:
        lanes[inside] = cropped(np.broadcast_to(rest, SHAPE), box)
    assert np.array_equal(lanes, full_mask(mask))
