"""Reduced launches: the first programs of a launch, on the part of tensors that they work on.

A launch of 8,192 rows takes minutes to judge and one of 64 rows seconds, with the same kernel. So
the grid's longest axis is cut where that provably leaves a launch of the same IR: the remaining
programs reach the same part of each remaining row, none of them accesses memory outside of these,
and no program asks for the size of the grid. Whole numbers that follow the cut extents, as a number
of rows, become those of the cut tensors, if the remaining programs then leave the same bytes.

For example rows of 768 numbers, 2,048 programs with a row each, and n_rows = 2048: 64 programs
write the first 64 rows, with n_rows = 64 as with 2048.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from itertools import combinations, product
from math import prod
from typing import Final

import numpy as np
from numpy.typing import NDArray

from kvtrace.addons.suite.errors import CannotJudgeCall
from kvtrace.addons.suite.launch import Bytes, Launch, Scalar, Tensor
from kvtrace.evaluate import Access, Observer

#: Elements of a launch that is judged in full, and of a reduced one; more if rows are long.
ELEMENTS: Final = (24_000, 96_000, 384_000)
#: Elements of a launch that is judged in full if it cannot be reduced.
MOST_ELEMENTS: Final = 1 << 21
#: Numbers of programs along an axis that are tried, at most.
_TRIED: Final = 256
#: Programs along an axis that remain, at least.
_FEWEST: Final = 2
_GRID_SIZE: Final = "tt.get_num_programs"


def reduced(launch: Launch) -> Launch:
    """Return a launch of the same IR on some 24,000 elements; as it is if it has no more.

    Args:
        launch: a launch with a storage for each tensor.

    Raises:
        CannotJudgeCall: it has more than 2 million elements, and cannot be reduced.
    """
    if launch.elements <= ELEMENTS[0]:
        return launch
    if all(op.name != _GRID_SIZE for op in launch.module.ops):
        axes = sorted(range(3), key=lambda axis: -launch.grid[axis])
        for elements, axis in product(ELEMENTS, axes):
            smaller = _cut_along(launch, axis, elements)
            if smaller is not None:
                return smaller
    if launch.elements <= MOST_ELEMENTS:
        return launch
    raise CannotJudgeCall(
        f"the call works on {launch.elements:,} elements, more than {MOST_ELEMENTS:,}, and no part "
        "of its grid is a call of its own"
    )


def _cut_along(launch: Launch, axis: int, elements: int) -> Launch | None:
    """Return the launch of the first programs, at least two, along an axis of the grid, or None."""
    extent = launch.grid[axis]
    most = min(extent - 1, 2 * extent * elements // launch.elements)
    if most < _FEWEST:
        return None
    accesses = _Accesses(launch, axis, most)
    try:
        _with_programs(launch, axis, most).results([accesses])
    except CannotJudgeCall:
        return None
    if accesses.unknown:
        return None
    for programs in range(most, max(most - _TRIED, _FEWEST - 1), -1):
        shapes = accesses.shapes(programs)
        if shapes is None:
            continue
        smaller = _cut(_with_programs(launch, axis, programs), shapes)
        if smaller.elements <= elements:
            return _with_integers(launch, _with_numbers(launch, smaller))
    return None


def _with_programs(launch: Launch, axis: int, programs: int) -> Launch:
    x, y, z = (programs if at == axis else n for at, n in enumerate(launch.grid))
    return replace(launch, grid=(x, y, z))


class _Accesses(Observer):
    """For each element of each tensor, the first program along an axis that reads or writes it."""

    def __init__(self, launch: Launch, axis: int, programs: int) -> None:
        grid = list(launch.grid)
        grid[axis] = programs
        self._step, self._programs = prod(grid[:axis]), programs
        self._tensors = launch.tensors
        self._names = tuple(launch.arguments)
        size = {name: len(launch.storages[t.storage]) for name, t in self._tensors.items()}
        self._touched = {name: np.full(n, programs, np.int32) for name, n in size.items()}
        self._stored = {name: np.full(n, programs, np.int32) for name, n in size.items()}
        self.unknown = False

    def access(self, access: Access) -> None:
        """Receive a load, store or atomic."""
        elements = access.elements()
        if access.argument is None or elements is None or not access.certain:
            self.unknown = True
            return
        name = self._names[access.argument]
        offsets, programs = elements
        first = programs // self._step % self._programs
        starts = offsets + self._tensors[name].offset
        for byte in range(access.element_bytes):
            np.minimum.at(self._touched[name], starts + byte, first.astype(np.int32))
            if access.kind != "load":
                np.minimum.at(self._stored[name], starts + byte, first.astype(np.int32))

    def shapes(self, programs: int) -> dict[str, tuple[int, ...]] | None:
        """Return the cut shapes of tensors for so many programs; None if a row is cut in two."""
        result = {}
        for name, tensor in self._tensors.items():
            result[name] = shape = _cut_shape(tensor, self._touched[name] < programs)
            is_written = (self._stored[name] < self._programs).any()
            first = self._stored[name] if is_written else self._touched[name]
            reached = _bytes(replace(tensor, shape=shape), first) < programs
            if shape != tensor.shape and not _are_alike(reached, shape, tensor.shape):
                return None
        return result


def _are_alike(reached: NDArray[np.bool_], shape: tuple[int, ...], whole: tuple[int, ...]) -> bool:
    """Return whether each row of a cut tensor is reached where the first row is."""
    cut = [
        axis for axis, (n, recorded) in enumerate(zip(shape, whole, strict=True)) if n < recorded
    ]
    rows = np.moveaxis(reached, cut[-1], 0)
    return bool((rows == rows[0]).all() and rows[0].any())


def _bytes(tensor: Tensor, per_byte: NDArray[np.int32]) -> NDArray[np.int32]:
    """Return the numbers of the bytes at which a tensor's elements begin, in its shape."""
    strides = tuple(step * tensor.element.bytes * per_byte.itemsize for step in tensor.strides)
    start = tensor.offset * per_byte.itemsize
    return np.ndarray(tensor.shape, np.int32, per_byte, start, strides)


def _cut_shape(tensor: Tensor, touched: NDArray[np.bool_]) -> tuple[int, ...]:
    """Return the shape of the first rows that have all touched bytes; all if none are touched.

    Rows are those of the first axis with more than one row, if these lie one after the other.
    """
    last = np.flatnonzero(touched)
    if not len(last):
        return tensor.shape
    end = int(last[-1]) + 1 - tensor.offset
    shape = list(tensor.shape)
    for axis, (extent, stride) in enumerate(zip(shape, tensor.strides, strict=True)):
        inner = [
            (n - 1) * step
            for n, step in zip(shape[axis + 1 :], tensor.strides[axis + 1 :], strict=True)
        ]
        if extent == 1:
            continue
        if stride <= sum(inner):
            break
        rows = min(extent, -(-end // (stride * tensor.element.bytes)))
        shape[axis] = rows
        if rows > 1:
            break
    return tuple(shape)


def _cut(launch: Launch, shapes: Mapping[str, tuple[int, ...]]) -> Launch:
    arguments: dict[str, Tensor | Scalar] = {}
    storages: dict[str, Bytes] = {}
    for name, value in launch.arguments.items():
        if isinstance(value, Tensor):
            value = replace(value, shape=shapes[name])
            content = launch.storages[value.storage][: value.offset + value.nbytes]
            if len(content) >= len(storages.get(value.storage, ())):
                storages[value.storage] = content
        arguments[name] = value
    return replace(launch, arguments=arguments, storages=storages)


def _with_numbers(launch: Launch, smaller: Launch) -> Launch:
    """Return the reduced launch with whole numbers that follow the cut extents."""
    expected = smaller.results()
    for name, value in smaller.arguments.items():
        if isinstance(value, bool) or not isinstance(value, int):
            continue
        for number in _numbers_of_cut(launch, smaller, value):
            changed = replace(smaller, arguments={**smaller.arguments, name: number})
            if _leaves(changed, expected):
                smaller = changed
                break
    return smaller


def _with_integers(launch: Launch, smaller: Launch) -> Launch:
    """Return the reduced launch with integers from all of a cut tensor, from smallest to largest.

    Negative arguments are among them, which are values with a meaning, as -100 for labels that are
    ignored. So branches that few rows take are judged, too. The integers stay as they were if the
    kernel then leaves its tensors.
    """
    special = [
        value
        for value in smaller.arguments.values()
        if isinstance(value, int) and not isinstance(value, bool) and value < 0
    ]
    storages = {name: content.copy() for name, content in smaller.storages.items()}
    written = launch.reached(by_stores=True)
    for name, tensor in smaller.tensors.items():
        whole = launch.tensors[name]
        if tensor.shape == whole.shape or whole.element.kind == "f" or name in written:
            continue
        recorded = whole.elements(launch.storages[whole.storage]).ravel()
        lowest = np.iinfo(recorded.dtype).min if recorded.dtype.kind in "iu" else 0
        listed = [value for value in special if value >= lowest]
        values = np.unique(np.concatenate([recorded, np.array(listed, recorded.dtype)]))
        count = prod(tensor.shape)
        chosen = values[np.linspace(0, len(values) - 1, count).round().astype(np.int64)]
        tensor.elements(storages[tensor.storage])[...] = chosen.reshape(tensor.shape)
    changed = replace(smaller, storages=storages)
    try:
        changed.results()
    except CannotJudgeCall:
        return smaller
    return changed


def _numbers_of_cut(launch: Launch, smaller: Launch, number: int) -> Iterator[int]:
    """Yield products of cut extents whose recorded product is a number, each once."""
    tried = {number}
    for name, tensor in launch.tensors.items():
        cut = smaller.tensors[name].shape
        for start, end in combinations(range(len(cut) + 1), 2):
            if prod(tensor.shape[start:end]) == number and prod(cut[start:end]) not in tried:
                tried.add(prod(cut[start:end]))
                yield prod(cut[start:end])


def _leaves(launch: Launch, expected: Mapping[str, Bytes]) -> bool:
    try:
        results = launch.results()
    except CannotJudgeCall:
        return False
    return all(np.array_equal(results[name], expected[name]) for name in expected)
