"""Fields of CPython's objects, where memory held something else before."""

import sys

from kvtrace.backends.cupti.frames import _text_offsets


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
