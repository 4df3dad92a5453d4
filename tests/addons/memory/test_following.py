"""Storages followed through launches, operators and allocations."""

import pytest

from kvtrace.addons.memory.byte_ranges import NOTHING, ByteRanges
from kvtrace.addons.memory.following import (
    UNSEEN,
    Allocated,
    CallStorage,
    Follower,
    Freed,
    Launched,
    Operated,
    Operator,
)
from kvtrace.addons.memory.lives import Place
from kvtrace.addons.memory.operator_effects import OperatorTensor, operator_effects
from kvtrace.addons.memory.states import Effect

HALF, REST, ALL = ByteRanges.of(0, 32), ByteRanges.of(32, 64), ByteRanges.of(0, 64)
#: Kernels of one tensor of 64 bytes.
WRITES_HALF, WRITES_REST, WRITES_ALL, READS_ALL, READS_HALF, PERHAPS, IN_PLACE = range(7)
EFFECTS = {
    WRITES_HALF: Effect(NOTHING, NOTHING, HALF, HALF),
    WRITES_REST: Effect(NOTHING, NOTHING, REST, REST),
    WRITES_ALL: Effect(NOTHING, NOTHING, ALL, ALL),
    READS_ALL: Effect(ALL, ALL),
    READS_HALF: Effect(HALF, HALF),
    PERHAPS: Effect(NOTHING, NOTHING, NOTHING, ALL, "its mask depends on data"),
    IN_PLACE: Effect(ALL, ALL, ALL, ALL),
}
CALLS = {call: (CallStorage(0, 0, 0, 64, effect),) for call, effect in EFFECTS.items()}


def tensor(role, shape=(16,), strides=(1,), offset=0, storage=64, host=False):
    return OperatorTensor(role, "fp32", host, shape, strides, offset, storage)


def operator(name, *tensors):
    return Operator(name, tensors, operator_effects(name, tensors))


OPERATORS = {
    number: operator(name, *tensors)
    for number, (name, *tensors) in enumerate(
        (
            ("aten::empty.memory_format", tensor("created")),
            ("aten::zeros", tensor("created")),
            ("aten::add.Tensor", tensor("read"), tensor("created")),
            ("aten::add_.Tensor", tensor("written"), tensor("viewed")),
            ("aten::copy_", tensor("written", (8,), offset=32), tensor("read", (8,), storage=32)),
            ("aten::clone", tensor("read"), tensor("created")),
            ("aten::view", tensor("read"), tensor("viewed")),
            ("aten::empty_like", tensor("read"), tensor("created")),
            ("aten::index_put_", tensor("written"), tensor("viewed")),
            ("mine::op", tensor("read"), tensor("created")),
            ("aten::sum", tensor("read"), tensor("created", (), (), storage=4)),
            ("aten::empty", tensor("created", host=True)),
            ("aten::to", tensor("read", host=True), tensor("created")),
            ("aten::lift_fresh", tensor("read"), tensor("viewed")),
            ("aten::cat", tensor("read"), tensor("read"), tensor("created", (32,), storage=128)),
            (
                "aten::slice",
                tensor("read", (32,), storage=128),
                tensor("viewed", offset=64, storage=128),
            ),
        )
    )
}
EMPTY, ZEROS, ADD, ADD_, COPY_, CLONE, VIEW, EMPTY_LIKE, INDEX_PUT_, MINE, SUM, *_MORE = OPERATORS
HOST_EMPTY, HOST_TO, LIFT, CAT, _ = _MORE
A, B, C = 0x1000, 0x2000, 0x3000


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
    reads = follower.reads[place]
    counts = {"proven": reads.proven, "violation": reads.violations, "unknown": reads.unknown}
    return {answer: count for answer, count in counts.items() if count}


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
          ("operator", COPY_, A + 32, B), ("launch", READS_ALL, A)], "proven"),
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
         "proven"),
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
    assert follower.writers(first.state) == [Place("launch", WRITES_HALF, 0)]
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


def test_a_store_by_a_loaded_address_may_be_to_any_memory():
    follower = Follower(CALLS, OPERATORS, elsewhere={WRITES_HALF})
    follower.follow([Operated(2, 1, EMPTY, [A]), Operated(3, 2, EMPTY, [B])])
    follower.follow([Launched(4, 1, WRITES_HALF, [A]), Launched(5, 2, READS_ALL, [B])])
    follower.follow([Operated(7, 6, EMPTY, [C]), Launched(8, 3, READS_ALL, [C])])
    assert answers(follower, READ) == {"unknown": 1, "violation": 1}
    assert "loaded from memory" in follower.reads[READ].reason
