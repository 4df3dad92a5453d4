"""Generated code: a function, and the arrays for its intermediate results."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

Run = Callable[[Sequence[Any], Sequence[Any], Sequence[Any], Sequence[int], Sequence[int]], None]
"""(buffers, numbers, cells, starts, extents), see planning.py."""


@dataclass(frozen=True)
class Cell:
    """An array for intermediate results: flags of its program axes, and its order in memory."""

    axes: tuple[bool, ...]
    lanes: tuple[int, ...]
    dtype: np.dtype[Any]
    layout: tuple[int, ...]

    def shape(self, extents: Sequence[int]) -> tuple[int, ...]:
        """Return the array's shape for a chunk with these extents along the program axes."""
        programs = [n if flag else 1 for n, flag in zip(extents, self.axes, strict=True)]
        return (*programs, *self.lanes)


@dataclass(frozen=True, eq=False)
class GeneratedCode:
    """A compiled function, its cells, the other arrays that it creates, and its source."""

    run: Run
    cells: tuple[Cell, ...]
    made: tuple[Cell, ...]
    source: str
