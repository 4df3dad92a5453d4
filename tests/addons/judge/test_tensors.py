"""Bytes of tensors."""

import numpy as np
import pytest
import torch

from kvtrace.addons.judge.answering import _result_reader
from kvtrace.addons.judge.tensors import bytes_of, storage_bytes

NUMBERS = torch.arange(600, dtype=torch.float32).reshape(3, 200)


@pytest.mark.parametrize(
    "tensor",
    [NUMBERS[:1, 0], NUMBERS[1:2, 5:6], NUMBERS.t(), NUMBERS[:0], NUMBERS[1, 7], NUMBERS[:, ::3]],
    ids=["one of a column", "one of both", "transposed", "none", "no axes", "a part"],
)
def test_bytes_are_those_of_the_elements_in_order_whatever_the_strides(tensor):
    elements = np.array(tensor.tolist(), np.float32).tobytes()
    assert bytes_of(tensor) == elements
    assert _result_reader()([tensor])[2] == [elements]
    assert storage_bytes(tensor) == NUMBERS.numpy().tobytes()


def test_bytes_of_a_conjugate_are_its_own():
    numbers = torch.tensor([1 + 2j, 3 - 4j], dtype=torch.complex64)
    assert bytes_of(numbers.conj()) == np.array([1 - 2j, 3 + 4j], np.complex64).tobytes()
