"""Storages followed through launches, operators and allocations."""

import pytest

from kvtrace.addons.memory.events import Allocated, Freed, Launched, Operated
from kvtrace.addons.memory.following import Follower
from kvtrace.addons.memory.given_storages import CallStorage
from kvtrace.addons.memory.lives import Place
from kvtrace.addons.memory.reads import UNSEEN
from kvtrace.addons.memory.states import Effect, Spoiling
from kvtrace.metrics.byte_ranges import NOTHING, ByteRanges
from tests.addons.memory.followed_calls import (
    ADD,
    ADD_,
    ALL,
    CALLS,
    CAT,
    CLONE,
    COPY_,
    EMPTY,
    EMPTY_LIKE,
    HALF,
    HOST_EMPTY,
    HOST_TO,
    IN_PLACE,
    INDEX_PUT_,
    LIFT,
    MINE,
    OPERATORS,
    PERHAPS,
    READS_ALL,
    READS_HALF,
    REST,
    SCALED,
    VIEW,
    WRITES_ALL,
    WRITES_HALF,
    WRITES_REST,
    ZEROS,
    A,
    B,
    C,
    operator,
    tensor,
)


def followed(*steps):
    """Follow calls and operators, ("launch" | operator, addresses), in that order."""
    follower = Follower(CALLS, OPERATORS)
    events = []
    for time, step in enumerate(steps, 1):
        match step:
            case ("launch", call, address):
                events.append(Launched(10 * time, time, call, [address]))
            case ("operator", number, *addresses):
                events.append(Operated(10 * time, 10 * time - 5, number, addresses))
            case ("allocate", address, size):
                events.append(Allocated(10 * time, time, address, size, rounded=True))
            case ("around", number, begin, *addresses):
                events.append(Operated(10 * time, 10 * begin - 5, number, addresses))
            case ("free", address):
                events.append(Freed(10 * time, address))
    follower.follow(events)
    return follower


def answers(follower, place):
    return dict(follower.reads[place].answers)


READ = Place("launch", READS_ALL, 0)


@pytest.mark.parametrize(
    ("steps", "answer"),
    [
        ([("operator", EMPTY, A), ("launch", READS_ALL, A)], "violation"),
        ([("operator", ZEROS, A), ("launch", READS_ALL, A)], "proven"),
        ([("operator", EMPTY, A), ("launch", WRITES_HALF, A), ("launch", READS_ALL, A)],
         "violation"),
        ([("operator", EMPTY, A), ("launch", WRITES_HALF, A), ("launch", WRITES_REST, A),
          ("launch", READS_ALL, A)], "proven"),
        ([("operator", EMPTY, A), ("launch", PERHAPS, A), ("launch", READS_ALL, A)], "unknown"),
        ([("launch", READS_ALL, A)], "unknown"),
        ([("operator", EMPTY, A), ("launch", WRITES_HALF, A),
          ("operator", ZEROS, B), ("operator", COPY_, A + 32, B), ("launch", READS_ALL, A)],
         "proven"),
        ([("operator", EMPTY, A), ("launch", WRITES_HALF, A), ("operator", SCALED, A, B, C),
          ("launch", READS_ALL, C)], "proven"),
        ([("operator", EMPTY, A), ("operator", INDEX_PUT_, A, A), ("launch", READS_ALL, A)],
         "unknown"),
        ([("operator", ZEROS, A), ("operator", EMPTY_LIKE, A, B), ("launch", READS_ALL, B)],
         "violation"),
        ([("operator", EMPTY, A), ("operator", CLONE, A, B), ("launch", READS_ALL, B)],
         "violation"),
        ([("operator", EMPTY, A), ("launch", PERHAPS, A), ("operator", CLONE, A, B),
          ("launch", READS_ALL, B)], "unknown"),
        ([("operator", EMPTY, A), ("launch", WRITES_HALF, A), ("operator", ZEROS, B),
          ("operator", COPY_, B + 32, A), ("launch", READS_ALL, B)], "proven"),
        ([("operator", HOST_EMPTY, A), ("operator", HOST_TO, A, B), ("launch", READS_ALL, B)],
         "unknown"),
        ([("operator", HOST_TO, A, B), ("operator", ADD, B, C), ("launch", READS_ALL, C)],
         "unknown"),
        ([("operator", HOST_TO, A, B), ("launch", WRITES_ALL, B), ("launch", READS_ALL, B)],
         "proven"),
        ([("operator", CLONE, A, B), ("launch", READS_ALL, B)], "unknown"),
        ([("operator", HOST_EMPTY, A), ("launch", READS_ALL, A)], "unknown"),
        ([("operator", EMPTY, A), ("operator", LIFT, A, A), ("launch", READS_ALL, A)], "proven"),
        ([("operator", ZEROS, A), ("operator", EMPTY, B), ("operator", CAT, A, B, C),
          ("launch", READS_ALL, C)], "proven"),
        ([("operator", ZEROS, A), ("operator", EMPTY, B), ("operator", CAT, A, B, C),
          ("launch", READS_ALL, C + 64)], "violation"),
        ([("operator", ZEROS, A), ("operator", CLONE, A, B), ("launch", READS_ALL, B)], "proven"),
        ([("operator", ZEROS, A), ("operator", EMPTY, A), ("launch", READS_ALL, A)], "violation"),
        ([("operator", ZEROS, A), ("operator", EMPTY, A + 32), ("launch", READS_ALL, A + 32)],
         "violation"),
        ([("operator", EMPTY, A), ("free", A), ("launch", READS_ALL, A)], "unknown"),
        ([("allocate", A, 512), ("launch", READS_ALL, A)], "violation"),
        ([("allocate", A, 512), ("launch", WRITES_ALL, A), ("launch", READS_ALL, A)], "proven"),
        ([("operator", EMPTY, A), ("operator", ADD_, A, A), ("launch", READS_ALL, A)], "violation"),
        ([("operator", EMPTY, A), ("operator", ADD, A, B), ("launch", READS_ALL, B)], "violation"),
        ([("operator", EMPTY, A), ("launch", WRITES_HALF, A), ("operator", ADD, A, B),
          ("launch", READS_ALL, B)], "unknown"),
        ([("operator", EMPTY, A), ("launch", PERHAPS, A), ("operator", ADD, A, B),
          ("launch", READS_ALL, B)], "unknown"),
        ([("operator", EMPTY, A), ("launch", WRITES_ALL, A), ("operator", ADD, A, B),
          ("launch", READS_ALL, B)], "proven"),
        ([("operator", EMPTY, A), ("operator", ADD, A, B), ("operator", ADD, B, C),
          ("launch", READS_ALL, C)], "violation"),
        ([("operator", EMPTY, A), ("operator", ADD, A, B), ("launch", WRITES_ALL, B),
          ("launch", READS_ALL, B)], "proven"),
        ([("operator", EMPTY, A), ("operator", MINE, A, B), ("launch", READS_ALL, B)], "unknown"),
        ([("operator", MINE, A, B), ("launch", READS_ALL, B)], "proven"),
        ([("operator", EMPTY, B), ("launch", WRITES_HALF, B), ("around", MINE, 1, A, B),
          ("launch", READS_ALL, B)], "violation"),
        ([("operator", EMPTY, B), ("around", MINE, 1, A, B), ("launch", READS_ALL, B)], "proven"),
    ],
)  # fmt: skip
def test_a_read_is_judged_by_what_was_written_before(steps, answer):
    assert answers(followed(*steps), READ) == {answer: 1}


def test_the_unwritten_bytes_and_the_writers_are_named():
    follower = followed(
        ("operator", EMPTY, A), ("launch", WRITES_HALF, A), ("launch", READS_ALL, A),
        ("launch", IN_PLACE, A), ("launch", READS_ALL, A),
    )  # fmt: skip
    (first,) = follower.reads[READ].unwritten.values()
    assert first.reading.unwritten == REST
    assert first.seq == 3
    assert (first.birth.origin, first.birth.row) == ("operator", EMPTY)
    assert list(follower.writers(first.state)) == [Place("launch", WRITES_HALF, 0)]
    assert answers(follower, READ) == {"violation": 1, "proven": 1}


def test_a_storage_that_nothing_made_is_said_to_be_unseen():
    assert followed(("launch", READS_ALL, A)).reads[READ].reason == UNSEEN


def test_operators_that_compute_with_unwritten_elements_violate():
    follower = followed(("operator", EMPTY, A), ("launch", WRITES_HALF, A), ("operator", ADD, A, B))
    assert answers(follower, Place("operator", ADD, 0)) == {"violation": 1}
    follower = followed(("operator", EMPTY, A), ("operator", ADD_, A, A))
    assert answers(follower, Place("operator", ADD_, 0)) == {"violation": 1}


def test_operators_that_move_or_view_unwritten_elements_do_not_violate():
    follower = followed(
        ("operator", EMPTY, A), ("operator", VIEW, A, A), ("operator", CLONE, A, B),
        ("operator", EMPTY_LIKE, A, C),
    )  # fmt: skip
    assert not follower.reads


def test_a_copy_to_the_host_uses_what_it_copies():
    to_host = operator("aten::_to_copy", tensor("read"), tensor("created", host=True))
    for written, answer in ((WRITES_HALF, "violation"), (WRITES_ALL, "proven")):
        follower = Follower(CALLS, OPERATORS | {99: to_host})
        follower.follow(
            [Operated(2, 1, EMPTY, [A]), Launched(3, 0, written, [A]), Operated(5, 4, 99, [A, B])]
        )
        assert answers(follower, Place("operator", 99, 0)) == {answer: 1}


def test_a_result_that_nobody_reads_is_left_over():
    partly = (("operator", EMPTY, A), ("launch", WRITES_HALF, A))
    assert list(followed(*partly).leftovers) == [Place("launch", WRITES_HALF, 0)]
    assert not followed(*partly, ("launch", READS_HALF, A)).leftovers
    assert not followed(*partly, ("launch", WRITES_REST, A)).leftovers
    assert followed(*partly, ("operator", EMPTY, A)).leftovers  # its memory is another's now
    assert not followed(("operator", EMPTY, A)).leftovers  # no kernel wrote
    copied = followed(*partly, ("operator", CLONE, A, B))
    assert list(copied.leftovers) == [Place("operator", CLONE, 1)]
    assert not followed(*partly, ("operator", ADD, A, B)).leftovers  # a read that is judged


def test_a_view_elsewhere_in_its_storage_is_followed_there():
    """The same call, on the second half of a larger storage."""
    large = operator("aten::empty", tensor("created", (32,), storage=128))
    follower = Follower(CALLS, OPERATORS | {99: large})
    follower.follow(
        [
            Operated(2, 1, 99, [A]),
            Launched(3, 0, WRITES_ALL, [A + 64]),
            Launched(4, 1, READS_ALL, [A + 64]),
            Launched(5, 2, READS_HALF, [A + 32]),
        ]
    )
    assert answers(follower, READ) == {"proven": 1}
    half = Place("launch", READS_HALF, 0)
    (unwritten,) = follower.reads[half].unwritten.values()
    assert unwritten.reading.unwritten == ByteRanges.of(32, 64)
    assert unwritten.origin == 32


def test_tensors_that_share_a_storage_for_once_are_read_before_they_are_written():
    """A kernel that writes its first tensor and reads its second one, given one tensor twice."""
    both = (
        CallStorage(0, 0, 0, 64, Effect(NOTHING, NOTHING, ALL, ALL)),
        CallStorage(1, 1, 0, 64, Effect(ALL, ALL)),
    )
    follower = Follower({0: both}, OPERATORS)
    follower.follow([Operated(2, 1, EMPTY, [A]), Launched(3, 0, 0, [A, A])])
    assert answers(follower, Place("launch", 0, 1)) == {"violation": 1}


def test_tensors_that_lie_otherwise_in_their_storage_are_unknown():
    pair = (CallStorage(0, 0, 0, 64, Effect(HALF, HALF), ((1, 32),)),)
    follower = Follower({0: pair}, OPERATORS)
    follower.follow([Operated(2, 1, EMPTY, [A]), Launched(3, 0, 0, [A, A + 16])])
    assert answers(follower, Place("launch", 0, 0)) == {"unknown": 1}


def test_writes_that_a_schema_does_not_declare_are_noted():
    follower = followed(("operator", ZEROS, A), ("launch", IN_PLACE, A), ("around", MINE, 2, A, B))
    assert follower.undeclared == {Place("operator", MINE, 0): Place("launch", IN_PLACE, 0)}
    follower = followed(("operator", ZEROS, A), ("launch", READS_ALL, A), ("around", MINE, 2, A, B))
    assert not follower.undeclared


def test_steps_repeat_without_new_states():
    once = (("operator", EMPTY, A), ("launch", WRITES_HALF, A), ("launch", READS_HALF, A))
    follower = followed(*(once * 50))
    assert answers(follower, Place("launch", READS_HALF, 0)) == {"proven": 50}


@pytest.mark.parametrize("size", [0, -64])
def test_an_allocation_of_no_bytes_ends_no_storage(size):
    follower = followed(
        ("operator", EMPTY, A), ("launch", WRITES_ALL, A), ("allocate", A, size),
        ("launch", READS_ALL, A), ("operator", EMPTY, A), ("operator", ZEROS, A),
    )  # fmt: skip
    assert answers(follower, READ) == {"proven": 1}


def test_foreign_values_are_those_of_launches_whose_storages_lie_as_at_the_first():
    """Another launch may find room where the first one left its storage."""
    brought = Spoiling(REST)
    storages = (
        CallStorage(0, 0, 0, 64, Effect(ALL, ALL)),
        CallStorage(1, 1, 0, 64, Effect(NOTHING, NOTHING, ALL, ALL), foreign=brought),
    )
    events = [
        Operated(1, 0, ZEROS, [A]),
        Allocated(2, 0, B, 256, rounded=False),
        Launched(3, 0, 0, [B + 64, A]),  # in the middle of a larger storage
        Launched(4, 1, READS_ALL, [A]),
    ]
    follower = Follower({0: storages, READS_ALL: CALLS[READS_ALL]}, OPERATORS)
    follower.follow(events)
    assert answers(follower, READ) == {"proven": 1}
    assert not follower.spoiled
    follower = Follower({0: storages, READS_ALL: CALLS[READS_ALL]}, OPERATORS)
    follower.follow([Operated(0, 0, ZEROS, [B]), events[0], Launched(2, 0, 0, [B, A]), events[3]])
    assert answers(follower, READ) == {"violation": 1}
    assert follower.spoiled == {brought}


def test_a_store_by_a_loaded_address_may_be_to_any_memory():
    follower = Follower(CALLS, OPERATORS, elsewhere={WRITES_HALF})
    follower.follow(
        [
            Operated(2, 1, EMPTY, [A]),
            Operated(3, 2, EMPTY, [B]),
            Launched(4, 1, WRITES_HALF, [A]),
            Launched(5, 2, READS_ALL, [B]),
            Operated(7, 6, EMPTY, [C]),
            Launched(8, 3, READS_ALL, [C]),
        ]
    )
    assert answers(follower, READ) == {"unknown": 1, "violation": 1}
    assert "loaded from memory" in follower.reads[READ].reason
