"""Lives of storages: when each is in use, by recorded frees and by last uses."""

import tempfile
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given as examples
from hypothesis import settings
from hypothesis import strategies as st

from kvtrace.addons.memory.storage_lives import storage_lives
from kvtrace.schema.window import TraceWindow
from tests.addons.memory import hand_made
from tests.addons.memory.hand_made import EPOCH, A, B, C, D, W, given, tensor
from tests.support.thorough import usually

OTHER = 0x70000


def lives_of(trace):
    """Each life as its address, begin, until, bytes, and the number and kind of what made it."""
    lives = storage_lives(trace, trace.runs[0])
    rows = [
        (lives.address[i], lives.begin[i] - EPOCH, lives.until[i] - EPOCH, lives.bytes[i],
         lives.birth(i).origin, lives.birth(i).row)
        for i in range(len(lives))
    ]  # fmt: skip
    return [tuple(x if isinstance(x, str) else int(x) for x in row) for row in rows]


def followed(folder, *events, operators=None, calls=None):
    """The lives of one or more steps, of kernels with one tensor of 400 bytes."""
    operators = operators or [
        ("aten::empty", 1, [tensor("created", 400)]),
        ("mine::plus", 2, [tensor("read", 400), tensor("created", 400)]),
        ("aten::unsafe_chunk", 3, [tensor("created", 400), tensor("created", 400, offset=200)]),
        ("aten::set_", 4, [tensor("created", 400)]),
        ("aten::empty", 5, [tensor("created", 200)]),
    ]
    return lives_of(
        hand_made.write(folder, operators=operators, calls=calls or [[given(400)]], events=events)
    )


def test_storages_without_frees_are_in_use_until_their_last_use(tmp_path):
    trace = hand_made.small_program(tmp_path, frees=False)

    assert lives_of(trace) == [
        (A, 10, 53, 1000, "operator", 0),
        (D, 14, 15, 500, "operator", 3),
        (W, 20, 53, 2000, "unseen", -1),
        (B, 30, 51, 4000, "operator", 1),
        (C, 50, 51, 4000, "operator", 2),
        (A, 70, 71, 1000, "operator", 0),
    ]
    lives = storage_lives(trace, trace.runs[0])
    assert not lives.frees_are_recorded
    assert lives.replaced.tolist() == [True, False, False, False, False, False]
    assert lives.devices == [0, 1]
    times, in_use = lives.in_use(0)
    assert dict(zip((times - EPOCH).tolist(), in_use.tolist(), strict=True)) == {
        10: 1000, 20: 3000, 30: 7000, 50: 11_000, 51: 3000, 53: 0, 70: 1000, 71: 0,
    }  # fmt: skip
    assert lives.address[lives.held_at(0, EPOCH + 50)].tolist() == [A, W, B, C]


def test_storages_with_frees_are_in_use_as_long_as_their_blocks(tmp_path):
    trace = hand_made.small_program(tmp_path, frees=True)

    assert lives_of(trace) == [
        (A, 5, 68, 1024, "operator", 0),
        (D, 14, 15, 500, "operator", 3),
        (W, 20, 53, 2000, "unseen", -1),
        (B, 25, 65, 4096, "operator", 1),
        (C, 45, 55, 4096, "operator", 2),
        (A, 69, 71, 1024, "operator", 0),
    ]
    lives = storage_lives(trace, trace.runs[0])
    assert lives.frees_are_recorded
    assert (lives.end - EPOCH)[[0, 3, 4]].tolist() == [68, 65, 55]
    assert lives.end[[1, 2, 5]].tolist() == [-1, -1, -1]
    times, in_use = lives.in_use(0)
    assert dict(zip((times - EPOCH).tolist(), in_use.tolist(), strict=True)) == {
        5: 1024, 20: 3024, 25: 7120, 45: 11_216, 53: 9216, 55: 5120, 65: 1024, 68: 0, 69: 1024,
        71: 0,
    }  # fmt: skip


def test_a_launch_of_a_view_elsewhere_uses_the_same_storage(tmp_path):
    events = ("operator", 10, 0, [A]), ("launch", 20, 0, [A + 128]), ("launch", 30, 0, [A])

    assert followed(tmp_path, *events) == [(A, 10, 31, 400, "operator", 0)]


def test_memory_that_is_allocated_in_part_ends_the_storage_that_had_it(tmp_path):
    events = [
        ("operator", 10, 0, [A]),
        ("launch", 20, 0, [A]),
        ("operator", 30, 4, [A + 128]),
        ("operator", 40, 1, [A, OTHER]),
    ]

    assert followed(tmp_path, *events) == [
        (A, 10, 21, 400, "operator", 0),
        (A + 128, 30, 31, 200, "operator", 4),
        (A, 40, 41, 400, "unseen", -1),
        (OTHER, 40, 41, 400, "operator", 1),
    ]


def test_what_an_operator_made_within_another_is_made_once(tmp_path):
    events = [
        ("operator", 10, 0, [A]),
        ("operator", 20, 0, [B]),
        ("launch", 25, 0, [B]),
        ("operator", 30, 1, [A, B]),
    ]

    assert followed(tmp_path, *events) == [
        (A, 10, 31, 400, "operator", 0),
        (B, 20, 31, 400, "operator", 0),
    ]


def test_two_results_in_one_storage_are_one_storage(tmp_path):
    assert followed(tmp_path, ("operator", 10, 2, [A, A + 200])) == [
        (A, 10, 11, 400, "operator", 2)
    ]


def test_a_result_in_memory_that_was_there_before_is_a_use(tmp_path):
    events = ("operator", 10, 0, [A]), ("operator", 20, 3, [A])

    assert followed(tmp_path, *events) == [(A, 10, 21, 400, "operator", 0)]


def test_empty_memory_of_generated_code_lies_in_a_block_of_the_allocator(tmp_path):
    events = [
        ("operator", 1, 0, [C]),
        ("allocation", 10, 40, A, 512, None),
        ("allocation", 12, None, A, 400, 7),
        ("launch", 20, 0, [A]),
        ("allocation", 50, None, B, 400, 7),
    ]

    assert followed(tmp_path, *events) == [
        (C, 1, 2, 400, "operator", 0),
        (A, 10, 40, 512, "allocation", 1),
        (B, 50, 51, 400, "allocation", 2),
    ]


def test_what_one_operator_is_given_and_makes_in_its_place_is_not_held_twice(tmp_path):
    operators = [("aten::relu", 1, [tensor("read", 400), tensor("created", 800)])]

    lives = followed(tmp_path, ("operator", 20, 0, [A, A]), operators=operators)

    assert [life[1:4] for life in lives] == [(20, 20, 400), (20, 21, 800)]


def test_tensors_of_the_host_are_left_out(tmp_path):
    operators = [("aten::empty", 1, [tensor("created", 400, device=None)])]
    calls = [[given(400, device="cpu"), given(800, device="cuda")]]
    events = ("operator", 10, 0, [B]), ("launch", 20, 0, [A, C])

    assert followed(tmp_path, *events, operators=operators, calls=calls) == [
        (C, 20, 21, 800, "unseen", -1)
    ]


@pytest.mark.parametrize(
    "event",
    [
        ("operator", 20, 1, [B]),
        ("operator", 20, 1, [B, 1, 2, 3]),
        ("operator", 20, 99, [B]),
        ("operator", 20, 1, None),
        ("launch", 20, 0, [None]),
        ("launch", 20, 0, []),
        ("launch", 20, 7, [B]),
        ("launch", 20, 0, [-(1 << 63)]),
        ("allocation", 20, None, -5, 400, None),
        ("allocation", 20, None, B, -400, None),
        ("allocation", 20, None, B, (1 << 63) - 1, None),
    ],
)
def test_damaged_rows_leave_the_other_storages(tmp_path, event):
    lives = followed(tmp_path, ("operator", 10, 0, [A]), event)

    assert lives[0] == (A, 10, 11, 400, "operator", 0)


@pytest.mark.parametrize("size", [-400, 0, None, (1 << 63) - 1])
def test_tensors_of_impossible_sizes_are_left_out(tmp_path, size):
    operators = [
        ("aten::empty", 1, [tensor("created", 400)]),
        ("aten::empty", 2, [tensor("created", 400) | {"storage_bytes": size}]),
    ]
    calls = [[given(400) | {"storage_bytes": size}]]
    events = ("operator", 10, 0, [A]), ("operator", 20, 1, [B]), ("launch", 30, 0, [C])

    assert followed(tmp_path, *events, operators=operators, calls=calls) == [
        (A, 10, 11, 400, "operator", 0)
    ]


def test_a_window_has_the_lives_of_the_whole_run(tmp_path):
    trace = hand_made.small_program(tmp_path, frees=False)
    window = TraceWindow(trace, EPOCH + 45, EPOCH + 60)

    whole, part = (storage_lives(of, trace.runs[0]) for of in (trace, window))

    assert np.array_equal(whole.until, part.until)


#: Extents of memory, some of which overlap: what operators make, and what launches are given.
EXTENTS = [(A, 400), (A + 128, 200), (A + 384, 400), (A, 800), (B, 400), (B + 200, 200)]
STEPS = st.lists(
    st.one_of(
        st.tuples(st.just("operator"), st.integers(0, 2 * len(EXTENTS) - 1)),
        st.tuples(st.just("launch"), st.integers(0, len(EXTENTS) - 1)),
        st.tuples(st.just("allocation"), st.integers(0, len(EXTENTS) - 1), st.integers(0, 6)),
    ),
    min_size=10,
    max_size=60,
)


@settings(max_examples=usually(10, thorough=500), deadline=None)
@examples(STEPS)
def test_no_byte_is_in_two_storages_at_a_time_and_what_is_used_is_in_use(steps):
    events = []
    for number, (kind, extent, *ends) in enumerate(steps):
        address, size = EXTENTS[extent % len(EXTENTS)]
        time = 10 + 10 * number
        if kind == "allocation":
            events.append((kind, time, time + 10 * ends[0] + 5, address, size + 112, None))
        else:
            events.append((kind, time, extent, [address]))
    with tempfile.TemporaryDirectory() as folder:
        trace = hand_made.write(
            Path(folder, "out"),
            operators=[
                *(("aten::empty", 1, [tensor("created", size)]) for _, size in EXTENTS),
                *(("aten::sum", 2, [tensor("read", size)]) for _, size in EXTENTS),
            ],
            calls=[[given(size)] for _, size in EXTENTS],
            events=events,
        )
        lives = storage_lives(trace, trace.runs[0])

    begin, until = lives.begin - EPOCH, lives.until - EPOCH
    for one in range(len(lives)):
        for other in range(one):
            is_apart = (
                lives.address[one] >= lives.address[other] + lives.bytes[other]
                or lives.address[other] >= lives.address[one] + lives.bytes[one]
            )
            assert is_apart or until[other] <= begin[one] or until[one] <= begin[other]
    for kind, time, _, *rest in events:
        if kind == "allocation":
            continue
        at_time = (begin <= time) & (time < until)
        holds = (lives.address <= rest[0][0]) & (rest[0][0] < lives.address + lives.bytes)
        assert (at_time & holds).any()
