"""A question to a device: a launch of a kernel on known bits, and the buffers that answer it."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from tests.kernels.answers.values import FORMATS, Bits

BITS, ORDER, LAST_BITS = "bits", "order", "last bits"
"""Agreement: all bits are defined; sums depend on an order left open; a function is approximate."""


@dataclass(frozen=True)
class Buffer:
    """A tensor argument: its element type and bits."""

    dtype: str
    bits: Bits


@dataclass(frozen=True)
class Question:
    """A launch to be made on a device.

    `kernel` is a module of `corpus.kernels` and a function in it; `arguments` are buffers and
    integers by parameter, `outputs` the buffers that are read afterwards. `options` are passed to
    the compiler.
    """

    op: str
    dtype: str
    kernel: str
    arguments: Mapping[str, Buffer | int]
    outputs: tuple[str, ...]
    constexprs: Mapping[str, Any] = field(default_factory=dict)
    grid: int = 1
    agreement: str = BITS
    options: Mapping[str, Any] = field(default_factory=dict)

    @property
    def name(self) -> str:
        return f"{self.op} {self.dtype}"


def empty(dtype: str, count: int) -> Buffer:
    """Return a buffer of zeros."""
    return Buffer(dtype, np.zeros(count, FORMATS[dtype].bits))
