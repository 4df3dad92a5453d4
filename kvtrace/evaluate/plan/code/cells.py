"""What generated code is: a function, and the arrays for intermediate results that it needs."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

Run = Callable[[Sequence[Any], Sequence[Any], Sequence[Any], Sequence[int], Sequence[int]], None]
"""(buffers, numbers, cells, starts, extents), see generate.py."""


@dataclass(frozen=True)
class Cell:
    """An array for intermediate results: what it varies over, and how it lies in memory."""

    axes: tuple[bool, ...]
    lanes: tuple[int, ...]
    dtype: np.dtype[Any]
    layout: tuple[int, ...]

    def shape(self, extents: Sequence[int]) -> tuple[int, ...]:
        """Logical shape for a chunk."""
        programs = [n if flag else 1 for n, flag in zip(extents, self.axes, strict=True)]
        return (*programs, *self.lanes)


@dataclass(frozen=True, eq=False)
class Generated:
    """A function, the cells it needs, arrays that it makes besides, and its source."""

    run: Run
    cells: tuple[Cell, ...]
    made: tuple[Cell, ...]
    source: str
