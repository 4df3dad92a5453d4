"""Runs that repeat themselves, followed block by block and event by event."""

from itertools import pairwise
from unittest.mock import patch

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kvtrace.addons.memory import repeats
from kvtrace.addons.memory.events import Allocated, Events, Freed, Launched, Operated
from kvtrace.addons.memory.following import Follower
from kvtrace.addons.memory.given_storages import CallStorage
from kvtrace.addons.memory.repeats import follow_repeating
from kvtrace.addons.memory.states import Effect, Spoiling
from kvtrace.metrics.byte_ranges import NOTHING, ByteRanges
from tests.addons.memory.followed_calls import (
    ALL,
    CALLS,
    EMPTY,
    HALF,
    MINE,
    OPERATORS,
    PERHAPS,
    READS_ALL,
    READS_HALF,
    REST,
    WRITES_ALL,
    WRITES_HALF,
    ZEROS,
    A,
    B,
    C,
    operator,
    tensor,
)
from tests.support.thorough import usually

#: A kernel of two tensors in one storage, one of a view, and two that store what they read beyond
#: another storage, and one that may store anywhere; an operator that encloses others and writes its
#: argument.
PAIR, VIEWED, FOREIGN, FOREIGN_HALF, ANYWHERE, ENCLOSING, LARGE = 50, 51, 52, 53, 54, 99, 98
BROUGHT = {FOREIGN: Spoiling(REST), FOREIGN_HALF: Spoiling(NOTHING, HALF, "a sum has them")}
PAIRED = CALLS | {
    PAIR: (CallStorage(0, 0, 0, 64, Effect(HALF, HALF, REST, REST), ((1, 32),)),),
    VIEWED: (CallStorage(0, 0, 32, 64, Effect(REST, REST, REST, REST)),),
    ANYWHERE: CALLS[WRITES_HALF],
} | {
    call: (
        CallStorage(0, 0, 0, 64, Effect(ALL, ALL)),
        CallStorage(1, 1, 0, 64, Effect(NOTHING, NOTHING, ALL, ALL), foreign=spoiling),
    )
    for call, spoiling in BROUGHT.items()
}  # fmt: skip
KNOWN = OPERATORS | {
    ENCLOSING: operator("mine::fill_", tensor("written"), tensor("read")),
    LARGE: operator("aten::empty", tensor("created", (32,), storage=128)),
}
OTHERWISE = CALLS[WRITES_HALF], CALLS[READS_HALF], CALLS[PERHAPS]
SIZES = st.sampled_from([(2,), (6,), (8, 2)])
ADDRESSES = st.sampled_from([A, A + 32, A + 64, B, B + 64, C])

launches = st.one_of(
    st.tuples(st.just("launch"), st.sampled_from([*CALLS, VIEWED, ANYWHERE]), ADDRESSES),
    st.tuples(
        st.just("launch"), st.sampled_from([PAIR, FOREIGN, FOREIGN_HALF]), ADDRESSES, ADDRESSES
    ),
    st.tuples(st.just("varied"), st.integers(0, len(OTHERWISE) - 1), ADDRESSES),
)
operations = st.sampled_from(sorted(KNOWN)).flatmap(
    lambda number: st.tuples(
        st.just("operator"), st.just(number), st.integers(0, 3),
        *[ADDRESSES] * len(KNOWN[number].tensors),
    )
)  # fmt: skip
memory = st.one_of(
    st.tuples(st.just("allocate"), ADDRESSES, st.sampled_from([0, 64, 128]), st.booleans()),
    st.tuples(st.just("free"), ADDRESSES),
)
steps = st.tuples(launches | operations | memory, st.integers(0, 1))


@st.composite
def repeating(draw):
    """Draw steps that are repeated, some of them with an edit, each with a time to the next one."""
    phases = draw(st.lists(st.lists(steps, min_size=1, max_size=12), min_size=1, max_size=3))
    order = draw(st.lists(st.sampled_from(range(len(phases))), min_size=1, max_size=6))
    run = [step for phase in order * draw(st.integers(1, 8)) for step in phases[phase]]
    places = draw(st.sets(st.integers(0, len(run) - 1), max_size=3))
    for place in sorted(places, reverse=True):
        (kind, *what), later = run[place]
        if kind == "varied":
            run[place] = ("varied", draw(st.integers(0, len(OTHERWISE) - 1)), what[1]), later
        elif kind == "operator" and draw(st.booleans()):
            run[place] = ("operator", what[0], draw(st.integers(0, 3)), *what[2:]), later
        else:
            run[place : place + draw(st.integers(0, 2))] = draw(st.lists(steps, max_size=2))
    return run


def events_of(run):
    """Return steps as events, and what varied launches do."""
    events, varied, times = [], {}, [0]
    for seq, ((kind, *what), later) in enumerate(run):
        time = times[-1] + later
        times.append(time)
        if kind == "launch":
            events.append(Launched(time, seq, what[0], what[1:]))
        elif kind == "varied":
            varied[seq] = (READS_ALL, OTHERWISE[what[0]])
            events.append(Launched(time, seq, READS_ALL, what[1:]))
        elif kind == "operator":
            begin = times[max(len(times) - 1 - what[1], 0)]
            events.append(Operated(time, begin, what[0], what[2:]))
        elif kind == "allocate":
            events.append(Allocated(time, 7, what[0], what[1], what[2]))
        else:
            events.append(Freed(time, what[0]))
    return events, varied


def as_parts(events, ends):
    """Return events as arrays, cut after some of them where the time goes on."""
    numbers, unique, rows = {}, {}, []
    for event in events:
        timeless = event._replace(time=0)
        if isinstance(event, Operated):
            timeless = timeless._replace(begin=0)
        if isinstance(event, Launched):
            timeless = timeless._replace(seq=-1)
        number = numbers.setdefault(repr(timeless), len(numbers))
        unique[number] = timeless
        rows.append(
            (number, event.time, getattr(event, "begin", event.time), getattr(event, "seq", -1))
        )
    columns = np.array(rows, np.int64).reshape(-1, 4).T
    ends = sorted({0, len(events), *ends})
    times = [event.time for event in events]
    ends = [end for end in ends if end in (0, len(events)) or times[end - 1] < times[end]]
    return [
        Events(*(column[begin:end] for column in columns), unique) for begin, end in pairwise(ends)
    ]


def described(follower):
    """Return all that a follower found, with states by what they are."""

    def state(state):
        return (
            list(state.unwritten), list(state.doubtful), state.doubt, follower.writers(state),
            brought(state.spoilings),
        )  # fmt: skip

    def brought(spoilings):
        return [call for call, spoiling in BROUGHT.items() if spoiling in spoilings]

    return (
        [
            (
                place, sorted(reads.answers.items()), reads.reason,
                brought(reads.spoilings),
                [
                    (birth, list(first.reading.unwritten), state(first.state), first.seq,
                     first.origin, first.given, first.source, first.count,
                     brought(first.reading.spoilings))
                    for birth, first in reads.unwritten.items()
                ],
            )
            for place, reads in follower.reads.items()
        ],
        [(place, left.birth, state(left.state)) for place, left in follower.leftovers.items()],
        list(follower.undeclared.items()), brought(follower.spoiled), brought(follower.carried),
        sorted(
            (life.begin, life.size, state(life.state), str((life.birth, life.made, life.written,
             life.writer, life.given, life.source, life.is_read, life.is_missed, life.rounded)))
            for life in follower.lives
        ),
    )  # fmt: skip


def followed_both_ways(events, varied, ends=(), least=(4, 2)):
    """Follow events one by one, and block by block; return what both ways found, and the second."""
    plain, repeating = (Follower(PAIRED, KNOWN, varied, {ANYWHERE}) for _ in range(2))
    plain.follow(events)
    with patch.object(repeats, "_LEAST", least):
        follow_repeating(repeating, as_parts(events, ends))
    return described(plain), described(repeating)


@settings(max_examples=usually(15, thorough=2000), deadline=None)
@given(repeating(), st.lists(st.integers(1, 200), max_size=2), SIZES)
def test_what_repeats_is_followed_as_each_event_is(run, ends, least):
    events, varied = events_of(run)
    plain, repeated = followed_both_ways(events, varied, [e for e in ends if e < len(run)], least)
    assert repeated == plain


STEP = [
    ("operator", EMPTY, 0, A), ("launch", WRITES_HALF, A), ("varied", 0, A),
    ("launch", READS_ALL, A), ("operator", EMPTY, 0, B), ("launch", WRITES_HALF, B),
    ("operator", MINE, 1, A, B), ("launch", READS_ALL, B),
]  # fmt: skip


@pytest.mark.parametrize(
    ("place", "edit"),
    [
        (0, [("allocate", A, 64, False)]),
        (0, [("operator", ZEROS, 0, A)]),
        (1, [("launch", WRITES_HALF, B), ("launch", READS_ALL, B)]),
        (1, []),
        (2, [("varied", 2, A)]),
        (3, [("launch", READS_ALL, A), ("launch", READS_ALL, A)]),
        (5, [("free", B)]),
        (6, [("operator", MINE, 0, A, B)]),
        (7, [("launch", READS_ALL, A + 32)]),
    ],
)
def test_an_edit_late_in_a_run_is_followed_and_the_rest_is_counted(place, edit):
    followed = []

    class Counting(Follower):
        def advance(self, events):
            followed.append(len(events))
            super().advance(events)

    run = STEP * 600
    without_edit, _ = followed_both_ways(*events_of([(step, 1) for step in run]))
    run[3200 + place : 3201 + place] = edit
    events, varied = events_of([(step, 1) for step in run])
    plain, counting = (kind(PAIRED, KNOWN, varied) for kind in (Follower, Counting))
    plain.follow(events)
    with patch.object(repeats, "_LEAST", (64, 8)):
        follow_repeating(counting, as_parts(events, ()))
    assert described(counting) == described(plain)
    assert described(plain) != without_edit
    assert sum(followed) < 600


@pytest.mark.parametrize("enclosed", range(3, 12))
def test_an_operator_that_began_before_its_block_is_followed(enclosed):
    """No block that has its end shows that it encloses the write to its result."""
    others = [("launch", WRITES_ALL, C)] * enclosed
    ends = [("operator", MINE, enclosed, A, B), ("launch", READS_ALL, B)]
    before = [("operator", EMPTY, 0, B), ("launch", WRITES_HALF, B), *others, *ends]
    within = [("operator", EMPTY, 0, B), others[0], ("launch", WRITES_HALF, B), *others[1:], *ends]
    events, varied = events_of([(step, 1) for step in (before * 5 + within * 5) * 3])
    plain, repeated = followed_both_ways(events, varied, least=(2,))
    assert repeated == plain
    ((_, answers, *_),) = plain[0]
    assert answers == [("proven", 15), ("violation", 15)]


def test_a_state_that_never_returns_is_followed_each_time():
    """A buffer gets one more element in each step: its reads become proven only at the end."""

    def slot(index):
        written = ByteRanges.of(4 * index, 4 * index + 4)
        return (CallStorage(0, 0, 0, 64, Effect(NOTHING, NOTHING, written, written)),)

    events, varied = [Operated(1, 1, EMPTY, [A])], {}
    for seq in range(32):
        if seq < 16:
            varied[2 * seq] = (WRITES_ALL, slot(seq))
        events.append(Launched(10 * seq + 5, 2 * seq, WRITES_ALL, [A]))
        events.append(Launched(10 * seq + 6, 2 * seq + 1, READS_ALL, [A]))
    plain, repeated = followed_both_ways(events, varied)
    assert repeated == plain
    ((_, answers, *_),) = plain[0]
    assert answers == [("proven", 17), ("violation", 15)]
