"""PyTorch's operators: those that count as moves, and those that compute."""

import pytest
import torch

from kvtrace.addons.judge.moves import IgnoredIndices, MoveReporter


class Listener:
    """A listener that stores the types of reported moves' targets."""

    def __init__(self):
        self.targets = []

    def explained(self, tensor):
        return True

    def made(self, tensor):
        pass

    def before(self, target):
        pass

    def moved(self, target, sources, picked, fill):
        self.targets.append(target.dtype)


def moved(function, tensor):
    listener = Listener()
    with MoveReporter(listener):
        function(tensor)
    return listener.targets


@pytest.mark.parametrize("dtype", [torch.bool, torch.int32])
def test_casts_of_floats_to_integers_or_booleans_are_not_moves(dtype):
    assert moved(lambda x: x.to(dtype), torch.randn(3)) == []
    assert moved(lambda x: torch.empty(3, dtype=dtype).copy_(x), torch.randn(3)) == []


def test_casts_between_float_types_are_moves():
    assert moved(lambda x: x.to(torch.float16), torch.randn(3)) == [torch.float16]
    assert moved(lambda x: x.to(torch.float32), torch.arange(3)) == [torch.float32]
    assert moved(lambda x: x.to(torch.bool), torch.arange(3)) == [torch.bool]


@pytest.mark.parametrize(("options", "ignored"), [({}, -100), ({"ignore_index": -1}, -1)])
def test_ignore_index_of_a_loss_is_collected(options, ignored):
    with IgnoredIndices() as mode:
        torch.nn.functional.cross_entropy(torch.ones(2, 3), torch.tensor([1, 2]), **options)
        torch.ones(3).sum()
    assert mode.values == [ignored]
