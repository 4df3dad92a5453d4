"""Decorator of kernels and their usual launch, for the second attack on `kvtrace sizes`."""

from collections.abc import Callable, Sequence
from typing import Any, Final

import numpy as np
import torch

from corpus.case import Case
from corpus.questions.sizes import Array, Evaluation, Launch, Model, Tensor, case

LANES: Final = np.arange(64, dtype=np.int64)

Range = tuple[str, bool, int, int]
"""What the range is called, whether all of it is right, and its two ends."""


def cdiv(a: int, b: int) -> int:
    """Return a / b, rounded up."""
    return -(-a // b)


def launched(
    n: int, shape: tuple[int, ...], grid: int, quantity: str = "n", /, **numbers: int
) -> Launch:
    """Return a launch that reads `x` (shape) and stores one number per program in `y`."""
    return Launch(
        (grid,),
        {"x": Tensor(shape), "y": Tensor((grid,), torch.int32), quantity: n, **numbers},
    )


def blocks(v: Evaluation) -> Array:
    """Return the indices of programs of 64 lanes."""
    return v.i32(v.programs() * 64 + LANES)


def asking(
    cases: list[Case],
    why: str,
    ranges: Sequence[Range],
    recorded: Sequence[int],
    launch: Callable[[int], Launch],
    model: Model,
    quantity: str = "n",
) -> Callable[[Any], Any]:
    """Return a decorator that adds a case per range of a kernel's quantity to `cases`."""

    def added(kernel: Any) -> Any:
        cases.extend(
            case(name, right, why, kernel, (quantity, low, high), recorded, launch, model)
            for name, right, low, high in ranges
        )
        return kernel

    return added
