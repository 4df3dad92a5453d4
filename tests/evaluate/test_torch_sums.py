"""Sums of products by PyTorch: when they are asked of it, unseen by the program."""

import sys

import numpy as np
import torch
from torch.utils._python_dispatch import TorchDispatchMode

from kvtrace.evaluate import torch_sums

ARRAY = np.ones((6, 33), np.float32)


class Watch(TorchDispatchMode):
    """A dispatch mode that counts the functions that PyTorch runs."""

    def __init__(self):
        super().__init__()
        self.calls = 0

    def __torch_dispatch__(self, function, types, args=(), kwargs=None):
        self.calls += 1
        return function(*args, **(kwargs or {}))


def test_pytorch_is_not_asked_under_a_mode_of_the_program():
    before = torch_sums.fuses(ARRAY)
    with Watch() as watch:
        assert not torch_sums.fuses(ARRAY)
        assert watch.calls == 0
        torch.ones(1)
        assert watch.calls > 0
    assert torch_sums.fuses(ARRAY) == before


def test_pytorch_is_not_asked_under_its_profiler():
    with torch.profiler.profile() as profile:
        assert not torch_sums.fuses(ARRAY)
        torch.ones(1)
    assert "aten::ones" in {event.key for event in profile.key_averages()}


def test_arrays_that_pytorch_would_copy_or_write_are_not_given_to_it():
    read_only = ARRAY.copy()
    read_only.flags.writeable = False

    assert not torch_sums.fuses(read_only)
    assert not torch_sums.fuses(ARRAY[::-1])


def test_pytorch_is_never_imported():
    known = sys.modules.pop("torch")
    try:
        assert not torch_sums.fuses(ARRAY)
        assert "torch" not in sys.modules
    finally:
        sys.modules["torch"] = known
