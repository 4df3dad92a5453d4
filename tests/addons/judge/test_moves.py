"""What of PyTorch's operators is a move, and what computes."""

import pytest
import torch

from kvtrace.addons.judge.moves import IgnoredIndices, MoveReporter


class Heard:
    """Keeps the operators' targets that are told as moves."""

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


def moved(function, given):
    heard = Heard()
    with MoveReporter(heard):
        function(given)
    return heard.targets


@pytest.mark.parametrize("dtype", [torch.bool, torch.int32])
def test_whole_numbers_and_truth_values_of_floats_are_computed(dtype):
    assert moved(lambda x: x.to(dtype), torch.randn(3)) == []
    assert moved(lambda x: torch.empty(3, dtype=dtype).copy_(x), torch.randn(3)) == []


def test_other_casts_move():
    assert moved(lambda x: x.to(torch.float16), torch.randn(3)) == [torch.float16]
    assert moved(lambda x: x.to(torch.float32), torch.arange(3)) == [torch.float32]
    assert moved(lambda x: x.to(torch.bool), torch.arange(3)) == [torch.bool]


@pytest.mark.parametrize(("asked", "ignored"), [({}, -100), ({"ignore_index": -1}, -1)])
def test_a_loss_ignores_some_labels(asked, ignored):
    with IgnoredIndices() as mode:
        torch.nn.functional.cross_entropy(torch.ones(2, 3), torch.tensor([1, 2]), **asked)
        torch.ones(3).sum()
    assert mode.values == [ignored]
