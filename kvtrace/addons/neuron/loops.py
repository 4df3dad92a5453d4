"""Loops, program ids and grid sizes of `nki.language`."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from kvtrace.addons.neuron.errors import NkiError
from kvtrace.addons.neuron.machine import current


def _loop_range(start: Any, stop: Any, step: Any) -> range:
    """Return the numbers that a loop counts; with one bound, from 0 up to it, as `range`."""
    begin, end = (0, start) if stop is None else (start, stop)
    return range(int(begin), int(end), int(step))


def affine_range(start: Any, stop: Any = None, step: Any = 1) -> Iterator[int]:
    """Iterate over a range whose iterations may run in parallel: none may need another's result."""
    return current().iterate("affine_range", _loop_range(start, stop, step))


def sequential_range(
    start: Any, stop: Any = None, step: Any = 1, *, directives: Any = None
) -> Iterator[int]:
    """Iterate over a range whose iterations run one after the other.

    `directives`, such as `no_reorder()`, are for the compiler and without effect.
    """
    del directives
    return current().iterate("sequential_range", _loop_range(start, stop, step))


def static_range(start: Any, stop: Any = None, step: Any = 1) -> Iterator[int]:
    """Iterate over a range that the compiler unrolls."""
    return current().iterate("static_range", _loop_range(start, stop, step))


@contextmanager
def no_reorder() -> Iterator[None]:
    """Keep the order of the ops in the context; without effect, as kvtrace never reorders ops."""
    yield


def program_id(axis: int = 0) -> int:
    """Return the index of the running program along an axis of the grid."""
    return current().coordinate(axis)


def num_programs(axes: Any = None) -> int:
    """Return the product of the grid's sizes along an axis or axes; None: of the whole grid."""
    grid = current().grid
    selected = range(len(grid)) if axes is None else axes
    program_count = 1
    for axis in selected if isinstance(selected, tuple | list | range) else (selected,):
        if not 0 <= axis < len(grid):
            raise NkiError(f"the grid {grid} has no axis {axis}")
        program_count *= grid[axis]
    return program_count


def program_ndim() -> int:
    """Return the number of axes of the grid; 0 if the kernel was launched without a grid."""
    return current().axes


class CoreCount(int):
    """`nl.nc(2)`: a number of neighboring cores, which multiplies a size of a grid."""

    def __mul__(self, other: Any) -> "CoreCount":
        return CoreCount(int(self) * int(other))

    __rmul__ = __mul__


def nc(count: int) -> CoreCount:
    """Return a number of neighboring cores, to multiply a size of a grid with."""
    return CoreCount(count)


def spmd_dim(*sizes: Any) -> CoreCount:
    """Return the product of sizes, numbers of programs and of cores, as one size of a grid."""
    total = CoreCount(1)
    for size in sizes:
        total = total * int(size)
    return total
