"""Metadata of arguments: what a row of `calls.args` says of tensors, scalars and the rest."""

import ast
import math
from collections import namedtuple

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kvtrace.capture.arguments import (
    Identities,
    KnownStorages,
    argument_records,
    flattened,
    literal,
    short_dtype,
)
from kvtrace.capture.records import Parameter

torch = pytest.importorskip("torch")
TensorDescriptor = pytest.importorskip("triton.tools.tensor_descriptor").TensorDescriptor


def record_of(kind, value, constexpr=None):
    (found,) = argument_records([Parameter("x", kind, constexpr)], [value])
    return found


def test_record_of_a_view_has_its_offset_in_the_storage():
    base = torch.zeros(10, 10)
    found = record_of("*fp32", base[2:5, 3:])
    assert (found.kind, found.dtype, found.device) == ("tensor", "fp32", "cpu")
    assert (found.shape, found.strides) == ((3, 7), (10, 1))
    assert (found.offset_bytes, found.storage_bytes) == (92, 400)
    assert found.alignment == base[2:5, 3:].data_ptr() % 16


def test_tensors_of_one_storage_share_a_group_and_others_do_not():
    base, other = torch.zeros(100), torch.zeros(100)
    parameters = [Parameter(name, "*fp32") for name in "abcd"] + [Parameter("n", "i32")]
    values = [other, base[:50], base[50:], other.view(10, 10), 3]
    groups = [each.alias_group for each in argument_records(parameters, values)]
    assert groups == [0, 1, 1, 0, None]


def test_empty_tensors_are_described():
    found = record_of("*fp32", torch.zeros(0, 4))
    assert (found.shape, found.storage_bytes, found.offset_bytes) == ((0, 4), 0, 0)


@pytest.mark.parametrize(
    ("dtype", "short"),
    [
        (torch.bool, "i1"),
        (torch.bfloat16, "bf16"),
        (torch.float64, "fp64"),
        (torch.uint16, "u16"),
        (torch.float8_e4m3fn, "fp8e4nv"),
    ],
)
def test_dtypes_have_tritons_short_names(dtype, short):
    assert record_of("*x", torch.zeros(3).to(dtype)).dtype == short
    assert short_dtype(dtype) == short


def test_scalars_are_python_literals():
    assert record_of("i32", 7).scalar == "7"
    assert record_of("i1", True).scalar == "True"
    assert record_of("fp32", 0.1).scalar == "0.1"
    assert record_of("fp32", math.nan).scalar == "nan"
    assert record_of("fp32", -math.inf).scalar == "-inf"
    assert record_of("constexpr", 1, "1").kind == "constexpr"
    assert record_of("constexpr", None).scalar == "None"


@given(st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.booleans())
def test_recorded_numbers_are_exact(value):
    again = ast.literal_eval(literal(value))
    assert (again, type(again)) == (value, type(value))


def test_long_text_is_cut_with_a_mark():
    text = literal("x" * 10_000)
    assert len(text) < 1100
    assert "more characters" in text


def test_objects_have_no_address_in_their_text():
    assert "0x" not in literal(object())


def test_tuples_are_flattened_in_order():
    pair = namedtuple("pair", "left right")
    kinds = ("*fp32", ("i32", "constexpr"))
    found = list(flattened("x", kinds, pair("tensor", (1, 2))))
    assert found == [("x.0", "*fp32", "tensor"), ("x.1.0", "i32", 1), ("x.1.1", "constexpr", 2)]


def test_a_descriptor_shows_its_tensor_and_its_blocks():
    base = torch.zeros(64, 32)
    descriptor = TensorDescriptor(base, [64, 32], [32, 1], [16, 16], padding="zero")
    found = record_of("tensordesc<fp32[16,16]>", descriptor)
    assert (found.kind, found.shape, found.storage_bytes) == ("descriptor", (64, 32), 8192)
    assert "block_shape=(16, 16)" in (found.scalar or "")
    descriptor.padding = "nan"
    assert "padding='nan'" in (record_of("tensordesc<fp32[16,16]>", descriptor).scalar or "")


def test_descriptors_with_different_properties_have_different_identities():
    identities = Identities(lambda text: None)
    base, other = torch.zeros(64, 32), torch.zeros(64, 32)

    def identity(tensor, block):
        return identities(TensorDescriptor(tensor, [64, 32], [32, 1], block))

    assert identity(base, [16, 16])[0] == identity(other, [16, 16])[0]
    assert identity(base, [16, 16])[0] != identity(base, [16, 32])[0]
    begin = base.data_ptr()
    assert set(identity(base, [16, 16])[1]) == {(begin, begin, begin + 64 * 32 * 4)}


class Pointer:
    """What Triton accepts as a tensor: an address and a type."""

    def __init__(self, address):
        self.address, self.dtype = address, torch.float32

    def data_ptr(self):
        return self.address


def test_bare_pointer_has_the_storage_of_an_earlier_argument_while_that_lives():
    known, parameter = KnownStorages(), Parameter("x", "*fp32")
    tensor = torch.zeros(100)
    argument_records([parameter], [tensor[20:30]], known)
    inside, outside = Pointer(tensor.data_ptr() + 40), Pointer(tensor.data_ptr() + 400)
    two = [parameter, parameter]

    first, second = argument_records(two, [inside, tensor], known)
    assert (first.offset_bytes, first.storage_bytes, first.alias_group) == (40, 400, 0)
    assert second.alias_group == 0
    (found,) = argument_records([parameter], [outside], known)
    assert found.storage_bytes is None
    address = tensor.data_ptr()
    del tensor
    (found,) = argument_records([parameter], [Pointer(address)], known)
    assert found.storage_bytes is None


def test_types_of_indistinguishable_arguments_are_reported_once_each():
    class Opaque:
        __slots__ = ()

    said = []
    identities = Identities(said.append)
    assert identities(Opaque())[0] == identities(Opaque())[0]
    assert "Opaque" in said[0]
