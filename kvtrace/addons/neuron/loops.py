"""Loops and programs of the language."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from kvtrace.addons.neuron.errors import NkiError
from kvtrace.addons.neuron.machine import LoopNumber, current


def _numbers(start: Any, stop: Any, step: Any) -> range:
    """Return what a loop counts; its one bound, if there is but one, is its end."""
    first, end = (0, start) if stop is None else (start, stop)
    return range(int(first), int(end), int(step))


def affine_range(start: Any, stop: Any = None, step: Any = 1) -> Iterator[LoopNumber]:
    """Count in a loop whose iterations may run at once: none needs what another one wrote."""
    return current().iterate("affine_range", _numbers(start, stop, step))


def sequential_range(start: Any, stop: Any = None, step: Any = 1) -> Iterator[LoopNumber]:
    """Count in a loop whose iterations run one after the other."""
    return current().iterate("sequential_range", _numbers(start, stop, step))


def static_range(start: Any, stop: Any = None, step: Any = 1) -> Iterator[LoopNumber]:
    """Count in a loop that the compiler unrolls."""
    return current().iterate("static_range", _numbers(start, stop, step))


@contextmanager
def no_reorder() -> Iterator[None]:
    """Keep the order of what is inside, as it always is here: ops run as they are written."""
    yield


def program_id(axis: int = 0) -> int:
    """Return the running program's place along an axis of the grid."""
    return current().coordinate(axis)


def num_programs(axes: Any = None) -> int:
    """Return the number of programs along an axis, along several together, or of the whole grid."""
    grid = current().grid
    listed = range(len(grid)) if axes is None else axes
    total = 1
    for axis in listed if isinstance(listed, tuple | list | range) else (listed,):
        if not 0 <= axis < len(grid):
            raise NkiError(f"the grid {grid} has no axis {axis}")
        total *= grid[axis]
    return total


def program_ndim() -> int:
    """Return the number of axes of the grid; 0 where the kernel was launched without one."""
    return current().axes


def device_print(*parts: Any, **settings: Any) -> None:
    """Print a prefix and the values of tensors, while the kernel runs."""
    del settings
    shown = (part.array() if hasattr(part, "array") else part for part in parts)
    print(*shown)


class CoreCount(int):
    """`nl.nc(2)`: programs that run on neighboring cores; a number for a grid."""

    def __mul__(self, other: Any) -> "CoreCount":
        return CoreCount(int(self) * int(other))

    __rmul__ = __mul__


def nc(count: int) -> CoreCount:
    """Return a number of cores for a grid."""
    return CoreCount(count)


def spmd_dim(*sizes: Any) -> CoreCount:
    """Return a size of a grid as a product, of programs and the cores they run on."""
    total = CoreCount(1)
    for size in sizes:
        total = total * int(size)
    return total
