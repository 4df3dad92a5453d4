"""The hot path: the same calls for the same launches as `CallKeys` has, and nothing kept alive.

Given-when-then with real torch tensors; kernels are plain objects, since a recorder asks nothing of
them.
"""

import math
import sys
import weakref
from functools import cache

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kvtrace.capture import hot_choice
from kvtrace.schema.errors import RecordingUnavailable
from kvtrace.schema.spool import FIELDS
from tests.capture.recorders import (
    Adapter,
    Kernel,
    _hot,
    calls,
    calls_by_key,
    calls_of,
    recorder_of,
)
from tests.support.thorough import usually

torch = pytest.importorskip("torch")


@pytest.fixture
def other_extension(monkeypatch):
    """The extension is looked for again, as in a new process."""
    monkeypatch.setattr(hot_choice, "_extension", cache(hot_choice._extension.__wrapped__))


@pytest.mark.usefixtures("other_extension")
def test_an_extension_that_was_built_for_other_fields_of_launches_is_not_used(monkeypatch):
    monkeypatch.setattr(hot_choice, "FIELDS", {**FIELDS, "priority": "q"})

    with pytest.raises(RecordingUnavailable, match="was built for another version of kvtrace"):
        hot_choice.make_recorder(lambda value: None, print, 10)


@pytest.mark.usefixtures("other_extension")
def test_an_extension_that_is_not_there_is_looked_for_once(monkeypatch):
    asked = []

    class Finder:
        @staticmethod
        def find_spec(name, *_):
            if name == _hot.__name__:
                asked.append(name)
                raise ImportError(name)

    monkeypatch.delitem(sys.modules, _hot.__name__)
    monkeypatch.delattr("kvtrace.capture._hot")
    monkeypatch.setattr(sys, "meta_path", [Finder, *sys.meta_path])
    for _ in range(3):
        assert hot_choice.compiled_part() is None
    assert len(asked) == 1
    assert "is not built here" in hot_choice.why_unavailable()[0]


# -- identity --------------------------------------------------------------------------------------


class Subclass(torch.Tensor):
    """A tensor of a type of the program's."""


class Wrapped:
    """Has what a launcher needs of a tensor."""

    def __init__(self, tensor):
        self.data_ptr, self.dtype = tensor.data_ptr, tensor.dtype
        self.shape, self.stride = tensor.shape, tensor.stride


BASE = torch.arange(64, dtype=torch.float32)
TENSORS = [
    BASE,
    BASE.clone(),
    BASE[1:],
    BASE[4:],
    BASE[:0],
    BASE.reshape(8, 8),
    BASE.reshape(8, 8).t(),
    BASE.reshape(8, 1, 8),
    BASE.as_strided((8, 1, 8), (8, 3, 1)),
    BASE.to(torch.bfloat16),
    BASE.to(torch.int32),
    BASE.view(torch.int32),
    BASE > 3,
    BASE.to(torch.float8_e5m2),
    BASE.to(torch.float8_e4m3fn),
    BASE.to(torch.complex64),
    torch.tensor(1.0),
    torch.nn.Parameter(BASE),
    torch.empty(64, device="meta"),
]
SCALARS = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(-2, 2),
    st.integers(-(2**70), 2**70),
    st.floats(allow_nan=True),
    st.sampled_from([0.0, -0.0, 1.0, math.inf, math.nan]),
    st.text(max_size=9),
    st.sampled_from(["", "\0", "\0\0", "a", "\ud800"]),
    st.sampled_from([torch.float32, torch.float16, np.float32(1), np.int64(1), (1, True), (1, 1)]),
)
ARGUMENT = st.one_of(st.sampled_from(TENSORS), SCALARS)
LAUNCH = st.tuples(
    st.lists(ARGUMENT, max_size=5).map(tuple),
    st.dictionaries(st.sampled_from(["BLOCK", "x", "num_warps"]), SCALARS, max_size=3),
    st.sampled_from([(1,), (1, 1), (1, 1, 1), [1], (2,), (1, 2), torch.Size([2])]),
)


@pytest.mark.costly("many launches; single differences stay by day")
@given(st.lists(LAUNCH, max_size=12))
@settings(max_examples=usually(15, thorough=400), deadline=None)
def test_launches_are_distinguished_by_their_keys(launches):
    assert calls_of(launches) == calls_by_key(launches)


@given(st.lists(LAUNCH, min_size=1, max_size=4), st.lists(st.integers(0, 3), max_size=30))
@settings(max_examples=usually(15, thorough=300), deadline=None)
def test_launches_are_recognized_by_their_keys_after_an_overflow(launches, order):
    met = [launches[index % len(launches)] for index in order]
    assert calls_of(met, max_calls=2) == calls_by_key(met, max_calls=2)


@given(st.lists(LAUNCH, min_size=1, max_size=6))
@settings(max_examples=usually(15, thorough=300), deadline=None)
def test_repeated_launches_have_the_same_call(launches):
    ids = calls_of(launches + launches)
    assert ids[: len(launches)] == ids[len(launches) :]


def distinct(*arguments):
    ids = calls_of([(args, {}, (1,)) for args in arguments])
    assert ids == list(range(len(arguments)))


def test_values_of_different_types_are_different_calls():
    distinct((True,), (1,), (1.0,), ("1",), (None,), (np.int64(1),), (np.float32(1),), ((1,),))


def test_integers_beyond_64_bits_are_distinguished():
    distinct((2**63 - 1,), (2**63,), (2**64 - 1,), (-1,), (2**64,), (2**128,), (2**128 + 1,))


def colliding_arguments(count=5):
    """Pairs of integers whose words have one hash in `_hot_key.h`, each pair another."""
    multiplier, mask, integer = 0x9E3779B97F4A7C15, 2**64 - 1, 3

    def mixed(words, state):
        for word in words:
            state = ((state ^ (word & mask)) * multiplier) & mask
            state ^= state >> 29
        return state

    def hashed(words):
        return mixed([mixed(words[1::2], len(words))], mixed(words[::2], len(words)))

    def before_the_last(first):  # kernel, grid, two integers: the words at odd places
        return mixed([0, 1, 1, 1, integer, first, integer][1::2], 8)

    wanted = before_the_last(0)
    lasts = [wanted ^ before_the_last(first) for first in range(count)]
    words = [[0, 1, 1, 1, integer, first, integer, last] for first, last in enumerate(lasts)]
    assert len({hashed(each) for each in words}) == 1
    return [(first, last - 2**64 if last >> 63 else last) for first, last in enumerate(lasts)]


def test_calls_whose_hashes_collide_are_distinguished():
    launches = [(args, {}, (1,)) for args in colliding_arguments()]
    assert calls_of(launches + launches) == [*range(5), *range(5)]


def test_floats_are_distinguished_by_their_bits():
    distinct((0.0,), (-0.0,), (math.nan,), (math.inf,), (5e-324,))
    assert calls_of([((float("nan"),), {}, (1,)) for _ in range(3)]) == [0, 0, 0]


def test_different_argument_lists_have_different_keys():
    distinct((), (1,), (1, 1), ("a", "b"), ("ab", ""), ("", "ab"), (("a", "b"),), (b"a",))
    ids = calls_of([((), {"a": 1}, (1,)), (("a", 1), {}, (1,)), ((1,), {"a": 1}, (1,))])
    assert ids == [0, 1, 2]


def test_keyword_arguments_are_distinguished_by_name_and_order():
    equal = ["".join(("BLOCK", "_", "SIZE")) for _ in range(2)]
    assert equal[0] is not equal[1]
    given = [{equal[0]: 1}, {equal[1]: 1}, {"BLOCK_M": 1}, {"a": 1, "b": 1}, {"b": 1, "a": 1}]
    assert calls_of([((), kwargs, (1,)) for kwargs in given]) == [0, 0, 1, 2, 3]
    assert calls_of([((), kwargs, (1,)) for kwargs in given * 2])[5:] == [0, 0, 1, 2, 3]


def test_calls_with_many_keywords_are_recognized_again():
    launches = [((), {f"name{number}": 1}, (1,)) for number in range(5000)]
    ids = calls_of(launches * 2, max_calls=10_000)
    assert ids == [*range(5000), *range(5000)]


def test_alternating_calls_are_recognized_again():
    x, y = torch.zeros(4, 8), torch.zeros(2, 3, 4, 5, 6)
    launches = [((x,), {}, (1,)), ((y,), {}, (1,)), ((x, 3), {}, (1,))]
    order = [0, 0, 0, 1, 0, 1, 1, 1, 2, 0]
    assert calls_of([launches[index] for index in order]) == order


def test_calls_are_distinguished_by_the_metadata_of_tensors():
    x = torch.zeros(4, 8)
    distinct(
        (x,),
        (x.t(),),
        (x[:, :4],),
        (x.flatten()[1:].as_strided((4, 8), (7, 1)),),
        (x.to(torch.float64),),
        (x.view(torch.int32),),
        (torch.empty(4, 8, device="meta"),),
        (x.flatten(),),
    )


def test_strides_of_dimensions_of_size_one_distinguish_calls():
    distinct((BASE.as_strided((8, 1), (1, 1)),), (BASE.as_strided((8, 1), (1, 5)),))


def test_calls_are_distinguished_by_alignment_and_aliasing_but_not_addresses():
    x, y, z = (torch.zeros(16) for _ in range(3))
    distinct((x, y), (x, x), (x[:8], y), (x[1:9], y))
    same = [((x, y, x), {}, (1,)), ((y, z, y), {}, (1,)), ((x, y, y), {}, (1,))]
    assert calls_of(same) == [0, 0, 1]


VIEW = st.tuples(st.integers(0, 1), st.integers(0, 9), st.integers(1, 5), st.integers(1, 3))
BUFFERS = [torch.zeros(128), torch.zeros(128)]


def view_of(place):
    buffer, offset, size, step = place
    return BUFFERS[buffer].as_strided((size,), (step,), 4 * offset)  # at multiples of 16 bytes


#: Tensors in front of the views: behind C's POINTERS_AT_HAND, pointers are no longer looked up.
OTHERS = [torch.zeros(4) for _ in range(40)]


def relations(places):
    """Shapes, and for each two views their distance if they span common memory, by definition."""
    spans = [
        (buffer, 4 * offset, 4 * offset + (size - 1) * step + 1)
        for buffer, offset, size, step in places
    ]
    distances = [
        b - a if one == other and a < b_end and b < a_end else None
        for one, a, a_end in spans
        for other, b, b_end in spans
    ]
    return [place[2:] for place in places], distances


@given(
    st.lists(st.lists(VIEW, min_size=3, max_size=3), min_size=2, max_size=8),
    st.sampled_from([0, 30, 40]),
)
@settings(max_examples=usually(15, thorough=1500), deadline=None)
def test_calls_are_distinguished_by_the_distances_of_overlapping_tensors_alone(launches, others):
    expected, seen = [], []
    for places in launches:
        if relations(places) not in seen:
            seen.append(relations(places))
        expected.append(seen.index(relations(places)))
    arguments = [((*OTHERS[:others], *map(view_of, places)), {}, (1,)) for places in launches]
    assert calls_of(arguments) == expected


def test_views_that_share_no_memory_may_move_without_a_new_call():
    x, y = torch.zeros(256), torch.zeros(64)
    moved = [(x[begin : begin + 16], x[begin + 64 : begin + 80], y) for begin in range(0, 128, 16)]
    assert set(calls_of([(args, {}, (1,)) for args in moved])) == {0}


def test_overlaps_of_tensors_of_uncommon_types_distinguish_calls():
    x = torch.zeros(256)
    for form in (lambda t: t.as_subclass(Subclass), lambda t: [t], Wrapped):
        distinct(*((x[:64], form(x[at : at + 64])) for at in (64, 48, 16)))


def test_launches_with_hundreds_of_overlapping_tensors_are_distinguished():
    x = torch.zeros(4096)
    chain = tuple(x[8 * i : 8 * i + 12] for i in range(300))
    distinct(chain, (*chain[:-1], x[2400:2412]), (*chain[:-1], chain[0]), chain[::-1])


def test_launches_with_hundreds_of_tensors_are_recognized_wherever_their_memory_is():
    def launch(gap):
        memory = torch.zeros(16_384)
        begins = [(8 + gap) * i for i in range(300)]
        separate = [memory[begin : begin + 4] for begin in begins]
        return (*separate, separate[0], memory[16_000:16_000], memory[16_000:]), {}, (1,)

    assert calls_of([launch(0), launch(8), launch(40)]) == [0, 0, 0]


def test_tensors_of_other_types_are_read_exactly():
    sub = torch.zeros(8).as_subclass(Subclass)
    distinct((torch.zeros(8),), (sub,), (sub[1:],), (sub, torch.zeros(8)), (sub, sub))


def test_dtypes_as_arguments_are_recognized_again():
    launches = [((dtype,), {}, (1,)) for dtype in (torch.float32, torch.float16, torch.float32)]
    assert calls_of(launches) == [0, 1, 0]


def test_objects_of_unknown_type_are_distinguished_while_they_live():
    recorder, adapter, kernel = recorder_of(), Adapter(), Kernel()
    for _ in range(20):  # each dies, and its address is used again
        recorder.record(adapter, None, kernel, (1,), (Kernel(),), {}, 1, 2)
    assert calls(recorder) == list(range(20))


def test_grids_of_any_form_are_one_call_when_equal():
    grids = [(4,), [4], (4, 1), (4, 1, 1), torch.Size([4]), (np.int64(4),), (4, 2)]
    assert calls_of([((), {}, grid) for grid in grids]) == [0, 0, 0, 0, 0, 0, 1]
    # also where some numbers of a tuple are plain and others are not
    grids = [(4, np.int64(2)), (4, 2), (4, 2, True), (4, 2, 1, 9), (True,), (1,)]
    assert calls_of([((), {}, grid) for grid in grids]) == [0, 0, 0, 0, 1, 1]


def test_calls_with_thousands_of_arguments_are_recognized_again():
    many = tuple(torch.zeros(2, 2, 2, 2) for _ in range(200))
    swapped = (*many[:-1], many[0])
    assert calls_of([(many, {}, (1,)), (swapped, {}, (1,)), (many, {}, (1,))]) == [0, 1, 0]


# -- kernels ---------------------------------------------------------------------------------------


def test_kernels_are_not_kept_alive_nor_confused_after_reuse_of_an_address():
    recorder, adapter = recorder_of(), Adapter()
    for _ in range(300):  # addresses come again
        kernel = Kernel()
        recorder.record(adapter, None, kernel, (1,), (), {}, 1, 2)
        gone = weakref.ref(kernel)
        del kernel
        assert gone() is None
    assert adapter.kernels == 300
    assert calls(recorder) == list(range(300))


def test_kernel_without_weak_references_is_kept_alive():
    recorder, adapter = recorder_of(), Adapter()
    kernel = "a kernel without weak references"
    for _ in range(2):
        recorder.record(adapter, None, kernel, (1,), (), {}, 1, 2)
    assert (adapter.kernels, calls(recorder)) == (1, [0, 0])


def test_kernels_that_the_adapter_refuses_are_not_recorded():
    recorder, adapter = recorder_of(), Adapter(only_kernel=-1)
    recorder.record(adapter, None, Kernel(), (1,), (1,), {}, 1, 2)
    assert (calls(recorder), adapter.calls) == ([], [])


def test_the_table_of_calls_is_bounded():
    recorder, adapter, kernel = recorder_of(max_calls=10), Adapter(), Kernel()
    for size in range(25):
        recorder.record(adapter, None, kernel, (1,), (size,), {}, 1, 2)
    assert recorder.known_calls <= 10
    assert recorder.overflows == 2
    assert calls(recorder) == list(range(25))
