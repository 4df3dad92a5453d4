"""Pairs of kernels, before and after a change, with the true relation of their results.

`truth` is the closest relation that holds for all inputs: the same bits, the same except for the
order of sums, equal in exact arithmetic, or none of these. `inputs` are kinds of inputs that show
the relation; the first kind is recorded.
"""

from dataclasses import dataclass
from typing import Any, Final, Literal

import torch
import triton

from corpus.questions.row_traps import on_device

ROWS, WIDTH = 16, 100
Truth = Literal["bits", "sums", "exact", "differs"]

RANDOM: Final = "random"
NANS: Final = "NaNs"
ZEROS: Final = "zeros"
LARGE: Final = "large"
NEGATIVE: Final = "negative integers"
TINY: Final = "tiny"
LOW: Final = "low"


@dataclass(frozen=True)
class KernelVersions:
    """A kernel before and after a change: `kernel(x, labels, out, M, N, one, two)`."""

    name: str
    truth: Truth
    before: Any
    after: Any
    inputs: tuple[str, ...] = (RANDOM,)
    rows_a_program: tuple[int, int] = (1, 1)


def launched(pair: KernelVersions, kernel: Any, inputs: str) -> torch.Tensor:
    """Launch either kernel of a pair on inputs of a kind; return the output."""
    generator = torch.Generator("cpu").manual_seed(5)
    x = torch.randn(ROWS, WIDTH, generator=generator, device="cpu")
    labels = torch.arange(ROWS, dtype=torch.int32, device="cpu") * 3
    if inputs == NANS:
        x[::2, 7] = float("nan")
    elif inputs == ZEROS:
        x[:, ::3] = 0.0
        x[:, 1::3] = -0.0
    elif inputs == LARGE:
        x = x * 1e3 + 1e4
    elif inputs == LOW:
        x = x - 90.0
    elif inputs == TINY:
        x = x * 1e-4
    elif inputs == NEGATIVE:
        labels[::2] = -100
        labels[1] = -3
    out = torch.full_like(x, -7.0)
    share = pair.rows_a_program[kernel is pair.after]
    kernel[(triton.cdiv(ROWS, share),)](on_device(x), on_device(labels),
                                        out := on_device(out), ROWS, WIDTH, 0.5, 2.0)  # fmt: skip
    return out
