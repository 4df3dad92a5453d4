import struct

import pytest

from kvtrace.addons.fault.matching import fits, read_parameters


def signature(*types):
    return [{"name": f"p{i}", "type": kind} for i, kind in enumerate(types)]


def test_parameters_lie_at_multiples_of_their_sizes():
    content = struct.pack("<Qi4xQbxhf", 0x7F00, -5, 0x7F10, -1, 300, 1.5)
    kinds = signature("*fp32", "i32", "constexpr", "*i8", "i1", "i16", "fp32")
    assert read_parameters(content, kinds) == (0x7F00, -5, None, 0x7F10, -1, 300, 1.5)


def test_nothing_is_known_behind_a_descriptor_or_the_end():
    content = struct.pack("<Q", 0x7F00) + bytes(128)
    kinds = signature("*fp32", "tensordesc<fp16[64,64]>", "i32")
    assert read_parameters(content, kinds) == (0x7F00, None, None)
    assert read_parameters(b"\1\0\0\0", signature("i32", "i64")) == (1, None)


def argument(**values):
    empty = {"kind": "tensor", "scalar": None, "alignment": 0, "offset_bytes": 0, "alias_group": 0}
    return empty | values


@pytest.mark.parametrize(
    ("value", "literal", "same"),
    [
        (7, "7", True),
        (7, "8", False),
        (-1, "4294967295", True),  # the same 32 bits
        (1, "True", True),
        (0, "True", False),
        (0.5, "0.5", True),
        (0.5, "0.25", False),
        (3, None, True),  # not recorded
    ],
)
def test_scalars_have_to_be_equal(value, literal, same):
    assert fits((value,), [argument(kind="scalar", scalar=literal)]) == same


def test_pointers_have_to_be_aligned_and_as_far_apart_as_recorded():
    first, second = argument(), argument(alias_group=0, offset_bytes=64)
    assert fits((0x1000, 0x1040), [first, second])
    assert not fits((0x1000, 0x1050), [first, second])
    assert not fits((0x1004, 0x1044), [first, second])
    assert fits((0x1000, None), [first, second])
