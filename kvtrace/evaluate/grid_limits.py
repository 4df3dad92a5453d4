"""Grids that devices refuse, and grids that Triton's launchers leave out.

CUDA: "Technical Specifications per Compute Capability" in the CUDA C++ Programming Guide. HIP:
`hipModuleLaunchKernel` takes fewer than 2^32 work items along an axis. Triton's launchers convert
each number to a C int, and launch only if their product, a C int, too, is not 0 (CUDA: is more than
0): the grid (65536, 32768), whose product wraps around, launches nothing, without an error.
"""

from operator import index
from typing import Any, Final

Grid = tuple[int, int, int]

#: Programs along each axis, at most, on CUDA devices.
CUDA_GRID_LIMITS: Final = ((1 << 31) - 1, 65_535, 65_535)
_C_INT: Final = 1 << 31
_AXES: Final = "xyz"


def as_launched(numbers: tuple[Any, Any, Any]) -> Grid:
    """Return a grid as the C ints that Triton's launchers make of its numbers.

    Raises:
        TypeError: a number is no integer, such as 2.0 or "2".
        OverflowError: a number does not fit a C int.

    """
    x, y, z = map(index, numbers)
    for number in (x, y, z):
        if not -_C_INT <= number < _C_INT:
            bound = "greater than maximum" if number > 0 else "less than minimum"
            raise OverflowError(f"signed integer is {bound}")
    return x, y, z


def launches_programs(grid: Grid, target: str) -> bool:
    """Return whether Triton's launcher for the target launches the grid at all."""
    product = (grid[0] * grid[1] * grid[2] + _C_INT) % (2 * _C_INT) - _C_INT
    return product != 0 if target.startswith("hip") else product > 0


def grid_problem(grid: Grid, target: str, ctas: int = 1, threads: int = 1) -> str | None:
    """Return why a grid of a kernel with these CTAs or threads cannot run, None if it can.

    The sentence has the grid's number first, such as "grid_y is 65,536, and …".
    """
    if target.startswith("hip"):
        if grid[0] * threads < 1 << 32:
            return None
        return (
            f"grid_x is {grid[0]:,}, and HIP launches fewer than 2^32 work items along an axis, "
            f"{((1 << 32) - 1) // threads:,} programs of {threads:,}"
        )
    if not target.startswith("cuda"):
        return None
    for axis, limit in enumerate(CUDA_GRID_LIMITS):
        most = limit // ctas if axis == 0 else limit
        if not 0 < grid[axis] <= most:
            return f"grid_{_AXES[axis]} is {grid[axis]:,}, and CUDA launches 1 to {most:,}"
    return None
