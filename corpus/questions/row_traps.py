"""Kernels of rows: some compute a row the same way in every batch, and others do not.

`launch(rows, position)` launches a kernel on a batch whose row `position` always has the same data,
and returns that row of the output: NaN where no program wrote.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import torch
import triton

N = 48
BLOCK = 64
SIZES = (5, 8, 11, 24)


@dataclass(frozen=True)
class RowKernel:
    """A kernel of rows; `varies`: a row's result changes with the batch, for the reason `why`."""

    name: str
    varies: bool
    why: str
    launch: Callable[[int, int], torch.Tensor]
    sizes: tuple[int, ...] = SIZES


ROWS: list[RowKernel] = []


def on_device(values: torch.Tensor) -> torch.Tensor:
    """Return a tensor on the GPU if there is one, else unchanged."""
    return values.cuda() if torch.cuda.is_available() else values


def batch(rows: int, position: int, *shape: int, seed: int = 1) -> torch.Tensor:
    """Return (rows, *shape) random numbers whose row `position` is the same in every batch."""
    others = torch.Generator("cpu").manual_seed(1000 * seed + rows)
    own = torch.Generator("cpu").manual_seed(seed)
    found = 2 * torch.randn(rows, *shape, generator=others, device="cpu")
    found[position] = torch.randn(*shape, generator=own, device="cpu")
    return on_device(found)


def shared(*shape: int, seed: int = 7) -> torch.Tensor:
    """Return random numbers that are the same in all batches."""
    own = torch.Generator("cpu").manual_seed(seed)
    return on_device(torch.randn(*shape, generator=own, device="cpu"))


def integers(values: list[int]) -> torch.Tensor:
    """Return int32 numbers as a tensor on the device."""
    return on_device(torch.tensor(values, dtype=torch.int32, device="cpu"))


def unwritten(*shape: int) -> torch.Tensor:
    """Return an output tensor filled with NaN."""
    return on_device(torch.full(shape, float("nan"), device="cpu"))


def trap(
    name: str, why: str, *, varies: bool, sizes: tuple[int, ...] = SIZES
) -> Callable[[Callable[[int, int], torch.Tensor]], Callable[[int, int], torch.Tensor]]:
    """Return a decorator that adds a launching function to `ROWS`."""

    def add(launch: Callable[[int, int], torch.Tensor]) -> Callable[[int, int], torch.Tensor]:
        ROWS.append(RowKernel(name, varies, why, launch, sizes))
        return launch

    return add


def plain(kernel: Any, rows: int, position: int, *more: Any, tile: int = 1, **named: Any) -> Any:
    """Launch `kernel(x, out, M, …)` with one program per tile; return the row of the output."""
    x, out = batch(rows, position, N), unwritten(rows, N)
    kernel[(triton.cdiv(rows, tile),)](x, out, rows, *more, **named)
    return out[position]
