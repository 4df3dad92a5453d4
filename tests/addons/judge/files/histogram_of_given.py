"""A reference whose given numbers lie between 0 and 1, though it takes all."""

import torch


def inputs():
    return {"x": torch.rand(1000)}


def binned_by_torch(x):
    return (torch.floor(x.reshape(-1, 1) * 64) == torch.arange(64)).sum(0).float()
