"""Pairs of formulas that a law of real numbers makes equal, their truth, and kvtrace's answer."""

import math
import shutil
import tempfile
import textwrap
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import torch

from corpus.case import Answer, Case
from corpus.questions.bodies import kernel_of, same_results
from corpus.questions.versions import TARGET, in_fixed_order

ROWS, N = 8, 64
_KERNEL = """\
import triton
import triton.language as tl
from triton.language.extra import libdevice


@triton.jit
def changed(x_ptr, y_ptr, m_ptr, out, width, BLOCK: tl.constexpr):
    at = tl.program_id(0) * width + tl.arange(0, BLOCK)
    col = tl.arange(0, BLOCK)
    x = tl.load(x_ptr + at)
    y = tl.load(y_ptr + at)
    m = tl.load(m_ptr + at)
{body}
    tl.store(out + at, r)
"""

_DENORMAL = 1e-35

Numbers = float | Sequence[float] | None
"""What a tensor holds: one number everywhere, some in front of drawn ones, or drawn ones alone."""


@dataclass(frozen=True)
class Pair:
    """Two bodies of a kernel, or expressions, that compute `r` from `x`, `y` and integers `m`.

    Attributes:
        kept: whether the second may replace the first.
        why: the reason.
        x: numbers that show a difference; `y` likewise.
        m: integers that show the difference.
        dtype: of the tensors of floats.
        shape: rows and columns.
        unread: so many numbers come behind those of `x` in memory.
        near: how far results may be from each other, as a share of each element.
    """

    name: str
    kept: bool
    why: str
    before: str
    after: str
    x: Numbers = None
    y: Numbers = None
    m: int = 1
    dtype: torch.dtype = torch.float32
    shape: tuple[int, int] = (ROWS, N)
    near: float = 1e-4
    unread: int = 0


def kept(name: str, before: str, after: str, why: str = "the same number", **more: Any) -> Pair:
    """Return a pair whose second body may replace the first."""
    return Pair(name, True, why, before, after, **more)


def broken(name: str, before: str, after: str, why: str, **more: Any) -> Pair:
    """Return a pair whose second body may not replace the first."""
    return Pair(name, False, why, before, after, **more)


def _text(body: str) -> str:
    if "r = " not in body:
        body = f"r = {body}"
    return _KERNEL.format(body=textwrap.indent(body, "    "))


def _filled(pair: Pair, numbers: Numbers, seed: int, times: float = 1) -> torch.Tensor:
    generator = torch.Generator().manual_seed(seed)
    drawn = torch.randn(pair.shape, generator=generator, dtype=torch.float64) * times
    if isinstance(numbers, Sequence):
        drawn[:, : len(numbers)] = torch.tensor(numbers, dtype=torch.float64)
    elif numbers is not None:
        drawn[...] = numbers
    return drawn.to(pair.dtype)


def _tensors(pair: Pair, *, shown: bool, times: float = 1) -> list[torch.Tensor]:
    x, y = (
        _filled(pair, numbers if shown else None, seed, times)
        for seed, numbers in enumerate((pair.x, pair.y))
    )
    if pair.unread:
        x = torch.cat((x.reshape(-1), torch.zeros(pair.unread, dtype=pair.dtype)))
    m = torch.full(pair.shape, pair.m if shown else 1, dtype=torch.int32)
    return [x, y, m, torch.full(pair.shape, -7.0, dtype=pair.dtype)]


def _launched(pair: Pair, body: str, tensors: Sequence[torch.Tensor]) -> torch.Tensor:
    folder = Path(tempfile.mkdtemp())
    try:
        kernel_of(_text(body), folder)[(pair.shape[0],)](
            *tensors, pair.shape[1], BLOCK=pair.shape[1]
        )
    finally:
        shutil.rmtree(folder)
    return tensors[-1].cpu().double()


def _are_near(one: torch.Tensor, other: torch.Tensor, part: float) -> bool:
    return torch.allclose(one, other, rtol=part, atol=_DENORMAL, equal_nan=True)


def is_kept(pair: Pair) -> bool:
    """Return whether both bodies give the same results, on ordinary numbers and the pair's.

    For pairs with `kept`, numbers of several magnitudes are compared element by element.
    """
    tensor_lists = [_tensors(pair, shown=True)]
    if pair.kept:
        tensor_lists += [
            _tensors(pair, shown=False, times=times) for times in (1.0, 0.01, 30.0, 1e4)
        ]
    with in_fixed_order():
        results = [
            [
                _launched(pair, body, [tensor.to("cuda") for tensor in tensors])
                for body in (pair.before, pair.after)
            ]
            for tensors in tensor_lists
        ]
    if pair.kept:  # of what was no number before, any may come
        results = [[torch.where(old.isfinite(), values, old) for values in (old, new)]
                   for old, new in results]  # fmt: skip
    return all(_are_near(old, new, pair.near) for old, new in results)


def ask(pair: Pair) -> tuple[Answer, str]:
    """Record both versions on plain numbers; return the answer to "same results?", and why."""

    def launch(kernel: Any) -> None:
        kernel[(pair.shape[0],)](*_tensors(pair, shown=False), pair.shape[1], BLOCK=pair.shape[1])

    settings = {"target": TARGET, "compile": "ttir"}
    return same_results(*((_text(body), launch, settings) for body in (pair.before, pair.after)))


def cases_of(pairs: Sequence[Pair]) -> list[Case]:
    """Return the case of each pair; those of large tensors are decided by reading."""
    return [
        Case(pair.name, pair.kept, pair.why, partial(ask, pair), partial(is_kept, pair))
        if math.prod(pair.shape) <= 1 << 16
        else Case(pair.name, pair.kept, pair.why, partial(ask, pair), evidence="read")
        for pair in pairs
    ]
