"""Fields of CPython's objects, where memory held something else before."""

import sys

from kvtrace.backends.cupti import _requests
from kvtrace.backends.cupti.frames import _text_offsets, find_frame_offsets, is_interpreters
from kvtrace.backends.cupti.read_stacks import ReadStacks
from tests.backends.cupti.driver_requests import LAUNCH, ask


def fill_free_memory(size, filling):
    """Free many objects of a size whose bytes were all one number; return some that stay."""
    content = bytearray(filling * (size - sys.getsizeof(b"")))
    objects = [bytes(content) for _ in range(4096)]
    del objects[64:]
    return objects


def test_ascii_bit_is_found_whatever_was_in_the_padding_of_texts():
    known = _text_offsets()
    for of_ascii, of_others in ((b"\xff", b"\0"), (b"\0", b"\xff")) * 10:
        kept = fill_free_memory(sys.getsizeof("0a"), of_ascii)
        kept += fill_free_memory(sys.getsizeof("0\xe9"), of_others)
        assert _text_offsets() == known


class Constructed:
    """An object whose constructor calls a function."""

    def __init__(self, function):
        function()


def constructed(function):
    """Call a function in a constructor that Python has specialized, where it does so."""
    for each in [*[int] * 200, function]:
        Constructed(each)


def test_frames_are_found_and_read_within_a_constructor():
    _requests.forget()
    _requests.expect(*LAUNCH, 1)
    constructed(lambda: find_frame_offsets(_requests))
    constructed(lambda: ask(LAUNCH))
    stacks = ReadStacks()
    stacks.add(_requests.take()[1])
    _requests.forget()

    frames = [frame.function for frame in stacks.frames(stacks.count)]
    begin = frames.index("Constructed.__init__")
    assert frames[begin + 1 : begin + 2] == ["constructed"]


def test_programs_may_have_functions_of_any_name():
    assert not is_interpreters("model.py", "__init__")
    assert not is_interpreters("__init__", "Model.__init__")
