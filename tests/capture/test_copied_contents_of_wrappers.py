"""Contents of arguments that are no tensors: of the memory that the kernel gets, or none."""

import itertools

import numpy as np
import pyarrow as pa
import pytest
import torch

import kvtrace
from corpus.kernels import index_kernels as kernels
from kvtrace.capture.arguments import tensor_of
from kvtrace.schema.runs import plain_rows
from kvtrace.schema.trace import open_trace
from tests.capture.recorders import _hot

COUNT = 1000


class Wrapper:
    """What Triton takes for a tensor: an object with `data_ptr` and `dtype`."""

    dtype = torch.int64

    def __init__(self, memory, begin=0):
        self.memory, self.begin = memory, begin
        self.shape = (len(memory) - begin,)
        self.device = memory.device

    def data_ptr(self):
        return self.memory.data_ptr() + 8 * self.begin

    def stride(self, *dimension):
        return 1 if dimension else (1,)


class View(Wrapper):
    """`base` is the owner of the memory, as NumPy's."""

    base = property(lambda self: self.memory)


class Lazy(Wrapper):
    """`base` is a tensor that is made anew."""

    base = property(lambda self: self.memory.clone() + 10**6)


class Unfaithful(torch.Tensor):
    """A tensor whose storage, as it says, is another one, which nobody else has."""

    def untyped_storage(self):
        return torch.full((COUNT,), 10**6).untyped_storage()


class Moved(torch.Tensor):
    """A tensor whose pointer, as the kernel gets it, is that of other memory."""

    def data_ptr(self):
        return self.other.data_ptr()


def unfaithful():
    return torch.arange(COUNT).as_subclass(Unfaithful)


def moved():
    tensor = torch.full((COUNT,), 10**6).as_subclass(Moved)
    tensor.other = torch.arange(COUNT)
    return tensor


ARGUMENTS = {
    "view": lambda: View(torch.cat([torch.full((COUNT,), 10**6), torch.arange(COUNT)]), COUNT),
    "lazy": lambda: Lazy(torch.arange(COUNT)),
    "unfaithful": unfaithful,
    "moved": moved,
}


def contents_of(out, position):
    """Numbers that were recorded as an argument's contents."""
    trace = open_trace(out)
    artifacts = {row["sha256"]: row for row in plain_rows(trace.table("artifacts"))}
    found = []
    for row in plain_rows(trace.table("contents")):
        if row["arg"] == position:
            artifact = artifacts[row["artifact"]]
            blob = pa.Codec("zstd").decompress(artifact["content"], artifact["size_bytes"])
            found.append(np.frombuffer(blob, np.int64))
    return found


@pytest.mark.parametrize("setting", ["index", "all"])
@pytest.mark.parametrize("argument", ARGUMENTS)
def test_contents_are_of_the_memory_that_the_kernel_gets(argument, setting, tmp_path):
    chosen = ARGUMENTS[argument]()
    source, result = torch.arange(float(COUNT)), torch.zeros(COUNT)
    with kvtrace.capture(tmp_path, tensors=setting):
        kernels.gather[(4,)](source, chosen, result, COUNT, BLOCK=256)
    assert [numbers.tolist() for numbers in contents_of(tmp_path, 1)] in ([], [[*range(COUNT)]])


@pytest.mark.parametrize("limit", [1 << 20, 300_000])
def test_a_tensor_that_is_made_for_the_question_is_held_until_it_is_copied(limit):
    recorder = _hot.Recorder(repr, repr, (torch.Tensor, torch.nn.Parameter), 100)
    schedule, numbers = (10, 10, 1, 10, 10, 1), itertools.count(1)
    budget, room = (10**12, 1.0, 0, 0.0), (limit, 100, 1 << 30, 1 << 20)
    looks = recorder.looks(numbers, budget, room, schedule, (0,) * 6, None, 1, made_tensor)
    assert looks.take([(0, object())], 0, None, 0) == 1
    ((_, size, (content,), _, _),) = looks.drain(0, 0)
    assert size == len(content)
    assert set(np.frombuffer(content, np.float32)) == {1}


def made_tensor(_value):
    return torch.ones(60_000)[::2]


def test_the_wrappers_of_triton_are_followed_and_no_others():
    from triton.runtime.jit import TensorWrapper
    from triton.tools.tensor_descriptor import TensorDescriptor

    tensor = torch.arange(16, dtype=torch.int8).view(4, 4).repeat(1, 4)
    for wrapper in TensorWrapper(tensor, torch.uint8), TensorDescriptor.from_tensor(tensor, [2, 2]):
        assert tensor_of(wrapper) is tensor
    for other in View(tensor), np.zeros(4)[1:], tensor, 3:
        assert tensor_of(other) is other
