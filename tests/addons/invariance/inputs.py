"""Random tensors that are the same in all processes, on the GPU if there is one."""

import torch


def tensor(*shape: int, seed: int) -> torch.Tensor:
    """Return random numbers in a shape, by a seed."""
    made = torch.randn(shape, generator=torch.Generator().manual_seed(seed), device="cpu")
    return made.to("cuda" if torch.cuda.is_available() else "cpu")
