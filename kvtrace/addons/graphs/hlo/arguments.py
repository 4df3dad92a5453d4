"""Checked axes, shapes and element types of callers' arguments."""

from typing import Any

import numpy as np

from kvtrace.addons.graphs.hlo.dtypes import Dtype
from kvtrace.addons.graphs.hlo.errors import BadArgument, BadAxis, DtypeNotOnTarget, ShapeMismatch

Shape = tuple[int, ...]


def broadcast_shape(*shapes: Shape) -> Shape:
    """Return the shape that shapes broadcast to.

    Raises:
        ShapeMismatch: An axis has two extents, neither of which is 1.

    """
    rank = max(map(len, shapes))
    broadcast_extents = [1] * rank
    for shape in shapes:
        for axis, extent in enumerate(shape, rank - len(shape)):
            if broadcast_extents[axis] == 1:
                broadcast_extents[axis] = extent
            elif extent not in (1, broadcast_extents[axis]):
                texts = " ".join(str(tuple(s)).replace(" ", "") for s in shapes)
                raise ShapeMismatch.here(
                    f"operands could not be broadcast together with shapes {texts}: axis "
                    f"{axis - rank} has extents {broadcast_extents[axis]} and {extent}; make them "
                    "equal, or one of them 1"
                )
    return tuple(broadcast_extents)


def axis_of(axis: Any, rank: int) -> int:
    """Return an axis counted from 0, given one that may be negative (-1 is the last).

    Raises:
        BadAxis: The tensor has no such axis.

    """
    position = _integer(axis, "an axis")
    if not -rank <= position < rank:
        raise BadAxis.here(
            f"axis {position} is out of bounds for array of dimension {rank}; {_axes_advice(rank)}"
        )
    return position % rank


def _axes_advice(rank: int) -> str:
    if rank == 0:
        return "leave the axis out, or give it one with np.expand_dims"
    return f"choose one from {-rank} to {rank - 1}"


def axes_of(axis: Any, rank: int) -> tuple[int, ...]:
    """Return distinct axes counted from 0, given one axis, several, or None for all.

    Raises:
        BadAxis: The tensor has no such axis.
        ShapeMismatch: An axis is named twice.

    """
    if axis is None:
        return tuple(range(rank))
    axes_given = axis if isinstance(axis, tuple | list) else (axis,)
    positions = tuple(axis_of(item, rank) for item in axes_given)
    if len(set(positions)) != len(positions):
        raise ShapeMismatch.here(f"repeated axis in {tuple(axes_given)}; name each axis once")
    return positions


def shape_of(shape: Any) -> Shape:
    """Return a shape as a tuple of integers, given one extent or several.

    Raises:
        ShapeMismatch: An extent is negative.

    """
    extents_given = shape if isinstance(shape, tuple | list | np.ndarray) else (shape,)
    extents = tuple(_integer(extent, "an extent") for extent in extents_given)
    if any(extent < 0 for extent in extents):
        raise ShapeMismatch.here(f"the shape {list(extents)} has a negative extent")
    return extents


def _integer(value: Any, label: str) -> int:
    try:
        return int(value.__index__())  # a tensor's `__index__` raises an explanation
    except AttributeError:
        raise BadArgument.here(f"{label} must be an integer, not {value!r}") from None


def dtype_of(dtype: Any) -> Dtype:
    """Return the element type for its name ("bfloat16"), a NumPy scalar type or a dtype.

    Raises:
        DtypeNotOnTarget: No element type has that name.

    """
    if isinstance(dtype, str) and dtype in _ML_DTYPES:
        return _ML_DTYPES[dtype]
    try:
        element_type: Dtype = np.dtype(dtype)
    except TypeError:
        raise DtypeNotOnTarget.here(
            f"{dtype!r} is not an element type; write it as np.float32 or 'bfloat16'"
        ) from None
    return element_type


def _ml_dtypes_by_name() -> dict[str, Dtype]:
    import ml_dtypes

    names = [name for name in dir(ml_dtypes) if name.startswith(("bfloat", "float", "int", "uint"))]
    return {name: np.dtype(getattr(ml_dtypes, name)) for name in names}


_ML_DTYPES = _ml_dtypes_by_name()
