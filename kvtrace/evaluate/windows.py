"""Windows: blocks of memory as strided views, instead of index arrays.

The element offsets of an access are a sum of terms. Along an axis where they are an arithmetic
progression, a view with that stride does the work of an index array, many times faster. The rest of
the offsets (the base) indexes the first axis of a view of all overlapping windows: offsets
`100 * row + column` of rows 0, 7, 3, 9 are bases 0, 700, 300, 900 and windows along the columns.
"""

from __future__ import annotations

from typing import Any, TypeVar

import numpy as np
from msgspec import Struct

from kvtrace.evaluate.sums import factors_of, joined_terms
from kvtrace.evaluate.values import Array, Sum

_Cuttable = TypeVar("_Cuttable", bound=Any)


class Window(Struct, frozen=True):
    """Offsets as `base` (an int, or an array with extent 1 along strided axes) plus progressions.

    `strided` holds (axis, extent, step) with step > 0; axis 0 is the programs'.
    """

    base: Array | int
    strided: tuple[tuple[int, int, int], ...]

    @property
    def span(self) -> int:
        """The distance of a window's last element from its first."""
        return sum((extent - 1) * step for _, extent, step in self.strided)


def step_of(line: Array) -> int | None:
    """Return the step of a one-dimensional array that is an increasing progression, else None."""
    step = int(line[1]) - int(line[0])
    if step <= 0 or int(line[-1]) - int(line[0]) != step * (len(line) - 1):
        return None
    if len(line) > 2 and not (line[1:] - line[:-1] == step).all():
        return None
    return step


def varying_axes(term: Array) -> list[int]:
    """Return the axes along which a term has more than one element."""
    return [axis for axis, extent in enumerate(term.shape) if extent != 1]


def window_of(offset: Sum) -> Window:
    """Return element offsets as a Window: progressions along axes where possible, and a base."""
    terms = list(_separated(offset.terms))
    strided: list[tuple[int, int, int]] = []
    base: Array | int = offset.constant
    term_counts: dict[int, int] = {}
    for term in terms:
        for axis in varying_axes(term):
            term_counts[axis] = term_counts.get(axis, 0) + 1
    for term in terms:
        axes = varying_axes(term)
        step = None
        if len(axes) == 1 and term_counts[axes[0]] == 1:
            line = term.reshape(-1)
            step = step_of(line)
        if step is None:
            base = base + term
            continue
        strided.append((axes[0], term.shape[axes[0]], step))
        base = base + int(term.flat[0])
    if isinstance(base, np.ndarray) and base.size == 1:
        base = int(base.reshape(-1)[0])
    return Window(base, tuple(sorted(strided)))


def _separated(terms: tuple[Array, ...]) -> tuple[Array, ...]:
    """Return the terms; a term that varies along two axes is split in two where exact."""
    result: tuple[Array, ...] = ()
    for term in terms:
        axes = varying_axes(term)
        if len(axes) != 2:
            result = joined_terms(result, (term,)) if result else (term,)
            continue
        first_axis, second_axis = axes
        head = np.take(term, [0], axis=second_axis)
        line = np.take(term, [0], axis=first_axis)
        if not np.array_equal(np.broadcast_to(head + (line - line.flat[0]), term.shape), term):
            result = joined_terms(result, (term,)) if result else (term,)
            continue
        result = joined_terms(result, (head,)) if result else (head,)
        result = joined_terms(result, (line - line.flat[0],))
    return result


def _base_axes(window: Window, rank: int) -> list[int]:
    strided_axes = {axis for axis, _, _ in window.strided}
    return [axis for axis in range(rank) if axis not in strided_axes]


def _axis_positions(window: Window, rank: int) -> tuple[int, ...]:
    """Return the position of each axis if base axes come first and strided axes last."""
    order = [0] * rank
    base_axes = _base_axes(window, rank)
    for position, axis in enumerate([*base_axes, *(axis for axis, _, _ in window.strided)]):
        order[axis] = position
    return tuple(order)


def _windows(flat: Array, window: Window) -> Array:
    """Return memory as a view of all overlapping windows; the first axis is the window's base."""
    item = flat.strides[0]
    count = flat.shape[0] - window.span
    shape = (count, *(extent for _, extent, _ in window.strided))
    strides = (item, *(step * item for _, _, step in window.strided))
    return _as_strided(flat, shape, strides)


def _one_window(flat: Array, window: Window, rank: int) -> Array:
    """Return a view of the one window at a constant base, with the axes in their order."""
    assert isinstance(window.base, int)
    item = flat.strides[0]
    shape = [1] * rank
    strides = [item] * rank
    for axis, extent, step in window.strided:
        shape[axis], strides[axis] = extent, step * item
    return _as_strided(flat[window.base :], tuple(shape), tuple(strides))


def _as_strided(array: Array, shape: tuple[int, ...], strides: tuple[int, ...]) -> Array:
    """Return a view of memory in another shape; NumPy checks that it stays inside the buffer."""
    base: Any = array
    return np.ndarray(shape, array.dtype, base, 0, strides)


def _base_axes_first(array: Array, window: Window, rank: int) -> Array:
    strided = [axis for axis, _, _ in window.strided]
    return array.transpose(*_base_axes(window, rank), *strided)


def _base_rows(window: Window, rank: int) -> Array:
    """Return the base as an array over base axes only (axes without a progression)."""
    if isinstance(window.base, int):
        return np.full((1,) * (rank - len(window.strided)), window.base, np.int64)
    return np.squeeze(window.base, axis=tuple(axis for axis, _, _ in window.strided))


def _lane_steps(window: Window) -> Array:
    """Return the offsets of a window's elements from its first, over strided axes only."""
    count = len(window.strided)
    total: Array = np.zeros((1,) * count, np.int64)
    for position, (_, extent, step) in enumerate(window.strided):
        shape = [1] * count
        shape[position] = extent
        total = total + (np.arange(extent) * step).reshape(shape)
    return total


def read_window(flat: Array, window: Window, rank: int, *, copy: bool) -> Array:
    """Return the elements of a window; axes along which offsets do not vary have extent 1.

    All elements of the window must lie in `flat`. With `copy` False the result may be a view.
    """
    if isinstance(window.base, int):
        result = _one_window(flat, window, rank)
        return result.copy() if copy else result
    index = _base_rows(window, rank)
    if not window.strided:
        return flat.take(index)
    return _windows(flat, window)[index].transpose(_axis_positions(window, rank))


def by_program(window: Window, rank: int) -> Window:
    """Return the window with the programs' axis in its base: one window per program."""
    if not window.strided or window.strided[0][0] != 0:
        return window
    _, extent, step = window.strided[0]
    shape = (extent,) + (1,) * (rank - 1)
    programs = (np.arange(extent, dtype=np.int64) * step).reshape(shape)
    return Window(window.base + programs, window.strided[1:])


def leading_full(window: Window, mask: Array) -> int:
    """Return how many of the first programs have all lanes active; 0 if few, or not in a row.

    `mask` has every lane axis; the programs' windows must be a progression.
    """
    programs = len(mask)
    if programs == 1 or not isinstance(window.base, int):
        return 0
    if not window.strided or window.strided[0][:2] != (0, programs):
        return 0
    is_full = mask.reshape(programs, -1).all(axis=1)
    full = programs if is_full.all() else int(is_full.argmin())
    return full if full > programs // 2 else 0


def divided(window: Window, programs: int) -> tuple[Window, Window]:
    """Return the windows of the first programs and of the others; programs are a progression."""
    (axis, extent, step), *lanes = window.strided
    first = Window(window.base, ((axis, programs, step), *lanes))
    return first, Window(window.base + programs * step, ((axis, extent - programs, step), *lanes))


def read_masked(flat: Array, window: Window, rank: int, mask: Array) -> Array:
    """Return the elements of active lanes, which lie in `flat`; inactive lanes have any value.

    `mask` has `rank` axes. Windows that reach beyond `flat` are read element by element.
    """
    if isinstance(window.base, int) and 0 <= window.base < len(flat) - window.span:
        return read_window(flat, window, rank, copy=False)
    window = by_program(window, rank)
    base = _base_rows(window, rank)
    limit = len(flat) - 1 - window.span
    leaves_memory = (base < 0) | (base > limit)
    if not leaves_memory.any():
        return read_window(flat, window, rank, copy=False)
    steps = _lane_steps(window)
    active = _base_axes_first(mask, window, rank)
    base_rank = base.ndim
    shape = np.broadcast_shapes(base.shape, active.shape[:base_rank])
    lanes = np.broadcast_shapes(steps.shape, active.shape[base_rank:])
    base, leaves_memory = np.broadcast_to(base, shape), np.broadcast_to(leaves_memory, shape)
    result: Array = np.zeros((*shape, *lanes), flat.dtype)
    if limit >= 0 and not leaves_memory.all():
        result[...] = _windows(flat, window)[np.clip(base, 0, limit)]
    if len(flat):
        rows = np.nonzero(leaves_memory)
        index = base[rows].reshape((-1,) + (1,) * len(lanes)) + steps
        active_lanes = np.broadcast_to(active, (*shape, *lanes))[rows]
        result[rows] = np.where(
            active_lanes, flat.take(np.where(active_lanes, index, 0)), np.zeros((), result.dtype)
        )
    return result.transpose(_axis_positions(window, rank))


def write_window(flat: Array, window: Window, rank: int, values: Array) -> None:
    """Store `values`, which must broadcast to the window's shape.

    If several values go to one address, the value of the last program and lane stays.
    """
    shape = [1] * rank
    for axis, extent, _ in window.strided:
        shape[axis] = extent
    if isinstance(window.base, int):
        target = _one_window(flat, window, rank)
        target[...] = _last_of_repeated(values, target.shape)
        return
    index = _base_rows(window, rank)
    for axis, extent in zip(_base_axes(window, rank), index.shape, strict=True):
        shape[axis] = extent
    stored = np.broadcast_to(_last_of_repeated(values, tuple(shape)), shape)
    target = _windows(flat, window) if window.strided else flat
    target[index] = _base_axes_first(stored, window, rank)


def write_masked(
    flat: Array, window: Window, shape: tuple[int, ...], values: Array, mask: Array
) -> None:
    """Store the values of active lanes: complete windows at once, others element by element.

    `shape` is the full shape over programs and lanes. If several programs write one address, the
    remaining value is not defined, as on the hardware.
    """
    rank = len(shape)
    full = leading_full(window, mask)
    if full:
        head, rest = divided(window, full)
        several = len(values) > 1
        write_window(flat, head, rank, values[:full] if several else values)
        if full == shape[0]:
            return
        values = values[full:] if several else values
        shape, window, mask = (shape[0] - full, *shape[1:]), rest, mask[full:]
    window = by_program(window, rank)
    strided = len(window.strided)
    base = _base_rows(window, rank)
    stored = _base_axes_first(np.broadcast_to(values, shape), window, rank)
    active = _base_axes_first(np.broadcast_to(mask, shape), window, rank)
    base_shape = stored.shape[: rank - strided]
    base = np.broadcast_to(base, base_shape)
    lane_axes = tuple(range(rank - strided, rank))
    fully_active = active.all(axis=lane_axes)
    if strided and fully_active.any():
        _windows(flat, window)[base[fully_active]] = stored[fully_active]
    partly_active = active.any(axis=lane_axes) & ~fully_active if strided else fully_active
    if not partly_active.any():
        return
    index = base[partly_active].reshape((-1,) + (1,) * strided) + _lane_steps(window)
    active_lanes = active[partly_active].reshape(index.shape)
    flat[index[active_lanes]] = stored[partly_active].reshape(index.shape)[active_lanes]


def _last_of_repeated(values: Array, shape: tuple[int, ...]) -> Array:
    """Return values with only their last element along axes where `shape` has extent 1."""
    for axis, extent in enumerate(shape):
        if extent == 1 and values.shape[axis] != 1:
            values = np.take(values, [-1], axis=axis)
    return values


class Box(Struct, frozen=True):
    """Lane ranges per axis (first, one past the last), and factors that are not ranges."""

    ranges: tuple[tuple[int, int], ...]
    other_factors: tuple[Array, ...]

    @property
    def is_empty(self) -> bool:
        """The box has no lanes."""
        return any(low >= high for low, high in self.ranges)

    @property
    def extents(self) -> tuple[int, ...]:
        """The number of lanes along each axis."""
        return tuple(high - low for low, high in self.ranges)


def box_of(mask: Any, shape: tuple[int, ...]) -> Box | None:
    """Return the box of a mask over `shape`; None if no factor is one range of lanes."""
    if not shape:
        return None
    ranges = [(0, extent) for extent in shape]
    other_factors: list[Array] = []
    for factor in factors_of(mask):
        axis_range = _range_of(factor)
        if axis_range is None:
            other_factors.append(factor)
            continue
        axis, low, high = axis_range
        ranges[axis] = (max(low, ranges[axis][0]), min(high, ranges[axis][1]))
    if len(other_factors) == len(factors_of(mask)):
        return None
    return Box(tuple(ranges), tuple(other_factors))


def _range_of(factor: Array) -> tuple[int, int, int] | None:
    """Return (axis, first, one past last) of a factor that is one range of lanes, else None."""
    axes = [axis for axis, extent in enumerate(factor.shape) if extent != 1]
    if not axes:
        return None if factor.reshape(-1)[0] else (0, 0, 0)
    if len(axes) != 1 or axes[0] == 0:
        return None
    active = np.flatnonzero(factor.reshape(-1))
    if not len(active):
        return axes[0] - 1, 0, 0
    low, high = int(active[0]), int(active[-1]) + 1
    return (axes[0] - 1, low, high) if high - low == len(active) else None


def cropped(value: _Cuttable, box: Box) -> _Cuttable:
    """Return the part of an array or Sum inside a box; axes of extent 1 are not cut."""
    if isinstance(value, Sum):
        terms = tuple(cropped(term, box) for term in value.terms)
        return Sum(value.constant, terms, value.low, value.high)  # type: ignore[return-value]
    index = tuple(
        slice(None) if extent == 1 else slice(low, high)
        for extent, (low, high) in zip(value.shape[1:], box.ranges, strict=True)
    )
    return value[(slice(None), *index)]  # type: ignore[no-any-return]
