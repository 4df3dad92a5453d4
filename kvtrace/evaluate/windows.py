"""Blocks of memory as strided views.

The element offsets of an access are a sum of terms. Along an axis where they are an arithmetic
progression, a view with that stride does what an index array would, many times faster. What is
left (the base) indexes the first axis of a view of all overlapping windows.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from kvtrace.evaluate.integers import joined_terms
from kvtrace.evaluate.values import Array, Sum


@dataclass(frozen=True)
class Window:
    """Offsets as `base` (an int, or an array with extent 1 along strided axes) plus progressions.

    `strided` holds (axis, extent, step) with step > 0; axis 0 is the programs'.
    """

    base: Array | int
    strided: tuple[tuple[int, int, int], ...]

    @property
    def span(self) -> int:
        """How far the last element of a window lies behind its first."""
        return sum((extent - 1) * step for _, extent, step in self.strided)


def step_of(line: Array) -> int | None:
    """Give the constant positive difference of a one-dimensional array, None if there is none."""
    step = int(line[1]) - int(line[0])
    if step <= 0 or int(line[-1]) - int(line[0]) != step * (len(line) - 1):
        return None
    if len(line) > 2 and not (line[1:] - line[:-1] == step).all():
        return None
    return step


def varying_axes(term: Array) -> list[int]:
    """Axes along which a term has more than one element."""
    return [axis for axis, extent in enumerate(term.shape) if extent != 1]


def window_of(offset: Sum) -> Window:
    """Split element offsets into progressions and a base."""
    terms = list(_separated(offset.terms))
    strided: list[tuple[int, int, int]] = []
    base: Array | int = offset.constant
    used: dict[int, int] = {}
    for term in terms:
        for axis in varying_axes(term):
            used[axis] = used.get(axis, 0) + 1
    for term in terms:
        axes = varying_axes(term)
        step = None
        if len(axes) == 1 and used[axes[0]] == 1:
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
    """Split terms that vary over programs and one lane axis into one part for each, if exact."""
    result: tuple[Array, ...] = ()
    for term in terms:
        axes = varying_axes(term)
        if len(axes) != 2:
            result = joined_terms(result, (term,)) if result else (term,)
            continue
        first, second = axes
        head = np.take(term, [0], axis=second)
        line = np.take(term, [0], axis=first)
        if not np.array_equal(np.broadcast_to(head + (line - line.flat[0]), term.shape), term):
            result = joined_terms(result, (term,)) if result else (term,)
            continue
        result = joined_terms(result, (head,)) if result else (head,)
        result = joined_terms(result, (line - line.flat[0],))
    return result


def read_window(flat: Array, window: Window, rank: int, *, copy: bool) -> Array:
    """Read elements; axes along which offsets do not vary have extent 1 in the result.

    Every element of the window must lie in `flat`. With `copy` False the result may be a view.
    """
    view, index, order = _strided_view(flat, window, rank)
    if index is None:
        result = view.transpose(order)
        return result.copy() if copy else result
    if view.ndim == 1:
        return view.take(index)
    return view[index].transpose(order)


def write_window(flat: Array, window: Window, rank: int, values: Array) -> None:
    """Write elements: `values` must broadcast to the window's shape.

    Where elements are addressed more than once, the last in program-major order stays.
    """
    view, index, order = _strided_view(flat, window, rank)
    if index is None:
        target = view.transpose(order)
        if not _fits_into(values.shape, target.shape):
            values = _last_of_repeated(values, target.shape)
        target[...] = values
        return
    shape = [1] * rank
    for axis, extent, _ in window.strided:
        shape[axis] = extent
    for axis, extent in enumerate(index.shape[: rank - len(window.strided)]):
        shape[_base_axes(window, rank)[axis]] = extent
    if not _fits_into(values.shape, tuple(shape)):
        values = _last_of_repeated(values, tuple(shape))
    inverse = np.argsort(order)
    view[index] = np.broadcast_to(values, shape).transpose(inverse)


def _base_axes(window: Window, rank: int) -> list[int]:
    taken = {axis for axis, _, _ in window.strided}
    return [axis for axis in range(rank) if axis not in taken]


def _fits_into(shape: tuple[int, ...], target: tuple[int, ...]) -> bool:
    return all(extent in (1, wanted) for extent, wanted in zip(shape, target, strict=True))


def _last_of_repeated(values: Array, shape: tuple[int, ...]) -> Array:
    """Keep what a later program or lane writes last where several share an address."""
    for axis, extent in enumerate(shape):
        if extent == 1 and values.shape[axis] != 1:
            values = np.take(values, [-1], axis=axis)
    return values


def _strided_view(
    flat: Array, window: Window, rank: int
) -> tuple[Array, Array | None, tuple[int, ...]]:
    """Give a view with windows last, the index of its first axis, and the order of result axes.

    Index None: the view holds the one window, with an axis of extent 1 for each base axis.
    """
    extents = tuple(extent for _, extent, _ in window.strided)
    item = flat.strides[0]
    strides = tuple(step * item for _, _, step in window.strided)
    base_axes = _base_axes(window, rank)
    order = [0] * rank
    for position, axis in enumerate(base_axes):
        order[axis] = position
    for position, (axis, _, _) in enumerate(window.strided):
        order[axis] = len(base_axes) + position
    if isinstance(window.base, int):
        ones = (1,) * len(base_axes)
        view = _as_strided(flat[window.base :], ones + extents, (item,) * len(base_axes) + strides)
        return view, None, tuple(order)
    count = flat.shape[0] - window.span
    view = _as_strided(flat, (count, *extents), (item, *strides))
    strided_axes = tuple(axis for axis, _, _ in window.strided)
    return view, np.squeeze(window.base, axis=strided_axes), tuple(order)


def _as_strided(array: Array, shape: tuple[int, ...], strides: tuple[int, ...]) -> Array:
    """View memory under another shape; NumPy checks that it stays inside the base buffer."""
    base: Any = array
    return np.ndarray(shape, array.dtype, base, 0, strides)
