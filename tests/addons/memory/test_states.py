"""States of storages, against one mark per byte."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from kvtrace.addons.memory.byte_ranges import ByteRanges
from kvtrace.addons.memory.states import Effect, NewStates

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
    state = NewStates().empty(SIZE)
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
    states = NewStates()
    effect = Effect(writes=ByteRanges.of(0, 8), may_write=ByteRanges.of(0, 8))
    first, _ = states.empty(16).step(effect)
    assert states.empty(16).step(effect)[0] is first
    assert first.step(effect)[0] is first  # nothing changes
    assert first.before == (states.empty(16), effect)
