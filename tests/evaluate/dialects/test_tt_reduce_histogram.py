"""Histograms with the same mask in every lane, and with tensors that share a storage."""

import numpy as np
import pytest
import torch

from corpus.kernels.blocks import counted
from tests.kernels.launching import launch

CONSTANTS = {"MASKED": True, "N": 64, "BINS": 16}


def counts_of(x, mask):
    out = torch.full((3, 16), -1, dtype=torch.int32)
    launch(counted, (3,), {"x": x, "mask": mask, "out": out}, CONSTANTS)
    return out.numpy()


@pytest.mark.parametrize("on", [0, 1])
def test_a_histogram_with_a_uniform_mask_counts_all_or_nothing(on):
    x = np.random.default_rng(2).integers(0, 16, (3, 64)).astype(np.int32)
    mask = torch.full((3, 64), on, dtype=torch.int8)

    counts = counts_of(torch.from_numpy(x), mask)

    np.testing.assert_array_equal(counts, [np.bincount(row, minlength=16) * on for row in x])


def test_a_histogram_mask_may_share_the_storage_of_the_counted_tensor():
    x = np.random.default_rng(3).integers(0, 16, (3, 64)).astype(np.int32)
    tensor = torch.from_numpy(x)
    mask = tensor.view(torch.int8).reshape(-1)[: 3 * 64].view(3, 64)

    counts = counts_of(tensor, mask)

    shared = x.view(np.int8).reshape(-1)[: 3 * 64].reshape(3, 64) != 0
    expected = [np.bincount(x[i][shared[i]], minlength=16) for i in range(3)]
    np.testing.assert_array_equal(counts, expected)
