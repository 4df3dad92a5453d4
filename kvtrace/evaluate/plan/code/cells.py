"""Generated code: a function, and the arrays for its intermediate results."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

Run = Callable[[Sequence[Any], Sequence[Any], Sequence[Any], Sequence[int], Sequence[int]], None]
"""(buffers, numbers, cells, starts, extents), see generate.py."""


@dataclass(frozen=True)
class Cell:
    """An array for intermediate results: the axes it varies over, and its layout in memory."""

    axes: tuple[bool, ...]
    lanes: tuple[int, ...]
    dtype: np.dtype[Any]
    layout: tuple[int, ...]

    def shape(self, extents: Sequence[int]) -> tuple[int, ...]:
        """Return the logical shape for a chunk."""
        programs = [n if flag else 1 for n, flag in zip(extents, self.axes, strict=True)]
        return (*programs, *self.lanes)


@dataclass(frozen=True, eq=False)
class GeneratedCode:
    """A function, the cells it needs, other arrays that it creates, and its source."""

    run: Run
    cells: tuple[Cell, ...]
    made: tuple[Cell, ...]
    source: str
