"""States of storages, against one mark per byte."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from kvtrace.addons.memory.operator_effects import tensor_bytes
from kvtrace.addons.memory.states import Effect, State
from kvtrace.metrics.byte_ranges import MOST_RANGES, ByteRanges

SIZE = 24


def ranges(members):
    return ByteRanges.union_of(ByteRanges.of(byte, byte + 1) for byte in members)


sets = st.sets(st.integers(0, SIZE - 1))


@st.composite
def effects(draw):
    reads, more_reads, writes, more_writes = (draw(sets) for _ in range(4))
    return reads, reads | more_reads, writes, writes | more_writes


@given(st.lists(effects(), max_size=6))
def test_steps_are_those_of_single_bytes(steps):
    state = State(SIZE, ByteRanges.of(0, SIZE))
    never, maybe = np.ones(SIZE, bool), np.zeros(SIZE, bool)
    for reads, may_read, writes, may_write in steps:
        effect = Effect(*map(ranges, (reads, may_read, writes, may_write)), "data decides")
        state, reading = state.step(effect)

        if any(never[byte] for byte in reads):
            assert reading.answer == "violation"
            assert reading.unwritten == ranges(byte for byte in reads if never[byte])
        elif any(never[byte] or maybe[byte] for byte in may_read):
            assert reading.answer == "unknown"
            assert reading.reason == "data decides"
        else:
            assert reading.answer == "proven"
        for byte in range(SIZE):
            maybe[byte] = (maybe[byte] or (never[byte] and byte in may_write)) and (
                byte not in writes
            )
            never[byte] &= byte not in may_write
        assert state.unwritten == ranges(np.flatnonzero(never).tolist())
        assert state.doubtful == ranges(np.flatnonzero(maybe).tolist())
        assert state.whole == (not never.any() and not maybe.any())


def test_a_step_is_worked_out_once():
    new = State(16, ByteRanges.of(0, 16))
    effect = Effect(writes=ByteRanges.of(0, 8), may_write=ByteRanges.of(0, 8))
    first, _ = new.step(effect)
    assert new.step(effect)[0] is first
    assert first.step(effect)[0] is first  # nothing changes
    assert first.before == (new, effect)


def test_bytes_in_too_many_places_are_in_doubt():
    size = 8 * MOST_RANGES
    state = State(size, ByteRanges.of(0, size))
    first, second = (
        Effect(writes=written, may_write=written)
        for written in (
            tensor_bytes(begin, (MOST_RANGES * 3 // 4,), (2,), 2) for begin in (0, size // 2)
        )
    )

    state, _ = state.step(first)
    state, _ = state.step(second)
    _, reading = state.step(Effect(reads=ByteRanges.of(0, 2), may_read=ByteRanges.of(0, 2)))

    assert reading.answer == "unknown"
    assert reading.reason == "what was written is in too many places of memory"
