"""Arguments of no common type: what tells them apart, and which of them Python is asked about."""

from collections import namedtuple

import pytest

from kvtrace.capture.arguments import Identities
from tests.capture.recorders import Adapter, Kernel, calls, recorder_of

torch = pytest.importorskip("torch")
pytest.importorskip("triton")
import triton.language as tl  # noqa: E402
from triton.tools.tensor_descriptor import TensorDescriptor  # noqa: E402


class Buffer(torch.Tensor):
    """A tensor of a type of the program's."""


class Hidden(torch.Tensor):
    """Says of its shape what it likes."""

    @property
    def shape(self):
        return torch.Size([1])


Pair = namedtuple("Pair", "x y")
_x, _y = torch.zeros(16, 16), torch.zeros(16, 16)


def descriptor_of(block, base=_x):
    return TensorDescriptor.from_tensor(base, block)


@pytest.mark.parametrize(
    ("value", "equal", "other"),
    [
        ((_x, 3), (_y, 3), (_x, 4)),
        ([_x, (1, 2)], [_x, (1, 2)], [_x, (1, 2, 3)]),
        ((1, 2), (1, 2), [1, 2]),
        (((), 1), ((), 1), ((1,),)),
        (Pair(_x, 3), Pair(_y, 3), (_x, 3)),
        (torch.Size([1, 2]), torch.Size([1, 2]), (1, 2)),
        (_x.as_subclass(Buffer), _y.as_subclass(Buffer), _x),
        (descriptor_of([16, 16]), descriptor_of([16, 16], _y), descriptor_of([8, 16])),
        (descriptor_of([16, 16]), descriptor_of([16, 16]), descriptor_of([16, 16], _x[1:])),
        (tl.constexpr(3), tl.constexpr(3), tl.constexpr(4)),
        (tl.constexpr(3), tl.constexpr(3), 3),
    ],
)
def test_hot_path_recognizes_equal_values_of_uncommon_types(value, equal, other):
    described = []
    identities = Identities(print)

    def describe(value):
        described.append(value)
        return identities(value)

    recorder, adapter, kernel = recorder_of(describe=describe), Adapter(), Kernel()
    for each in (value, equal, other, value):
        recorder.record(adapter, None, kernel, (1,), (each,), {}, 1, 2)
    assert calls(recorder) == [0, 0, 1, 0]
    described.clear()
    recorder.record(adapter, None, kernel, (1,), (equal,), {}, 1, 2)
    assert calls(recorder) == [0]
    assert not described


def test_descriptors_that_address_more_than_their_tensors_are_distinguished_by_room():
    memory = torch.zeros(512)

    def beyond(begin):
        return TensorDescriptor(memory[begin : begin + 16], [8, 16], [16, 1], [8, 16])

    recorder, adapter, kernel = recorder_of(), Adapter(), Kernel()
    for other in (beyond(128), beyond(256), beyond(64), beyond(32)):
        recorder.record(adapter, None, kernel, (1,), (beyond(0), other), {}, 1, 2)
    assert calls(recorder) == [0, 1, 2, 3]  # each has another place in the storage
    recorder.record(adapter, None, kernel, (1,), (beyond(0), beyond(128)), {}, 1, 2)
    small = torch.zeros(16)
    for tensor in (small, torch.zeros(16), torch.zeros(32)[16:]):
        descriptor = TensorDescriptor(tensor, [8, 16], [16, 1], [8, 16])
        recorder.record(adapter, None, kernel, (1,), (descriptor,), {}, 1, 2)
    assert calls(recorder) == [0, 4, 4, 5]


def test_descriptors_that_round_otherwise_are_distinguished():
    recorder, adapter, kernel = recorder_of(), Adapter(), Kernel()
    for rounds in (False, True):
        descriptor = descriptor_of([16, 16])
        if not hasattr(descriptor, "round_f32_to_tf32"):
            pytest.skip("this Triton's descriptors do not round")
        descriptor.round_f32_to_tf32 = rounds
        recorder.record(adapter, None, kernel, (1,), (descriptor,), {}, 1, 2)
    assert calls(recorder) == [0, 1]


def test_tensor_subclasses_with_other_metadata_are_read_by_their_methods():
    described = []
    identities = Identities(print)

    def describe(value):
        described.append(type(value))
        return identities(value)

    recorder = recorder_of(describe=describe)
    for size in (2, 3):
        hidden = torch.zeros(size).as_subclass(Hidden)
        recorder.record(Adapter(), None, Kernel(), (1,), (hidden,), {}, 1, 2)
    assert described == [Hidden, Hidden]
