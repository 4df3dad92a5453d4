"""Other sizes, scalars and extents that follow from given inputs."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import chain, cycle, pairwise
from typing import Any, Final

from kvtrace.inputs.cases import BEYOND, BYTES, Input, ScalarInput, TensorInput, whole_tensor

Change = dict[int, int]
"""New extents by the extents that they replace; equal extents change together."""

_PRIMES: Final = (7, 131, 13, 257, 61)
#: Largest blocks that get sizes around them, besides the smallest block.
_MOST_BLOCKS: Final = 3
#: Sizes at which dispatchers branch, if all extents are multiples of one.
_ALIGNMENTS: Final = (2, 16, 32, 64)
#: Multiples of 2. For m before n, but two of the six pairs, `int(i * (m / n))` in float32 is not
#: `i * m // n` for some i below n: the quotient is rounded down.
_ROUNDED_QUOTIENTS: Final = (62, 14, 28, 46)
#: Tiles beyond which no static number of trips is expected to reach.
_TILES: Final = 9
#: The extent that integers are tried up to, beside small other extents.
_PROBED: Final = 61
#: Numbers of the file that become an extent, and choices of equal extents to make unequal.
_MOST_NUMBERS: Final = 8
_MOST_UNEQUAL: Final = 6
#: Elements of the largest tensor: in a case with one large extent, and in any case.
_MANY: Final = 1 << 15
_MANY_OF_VECTORS: Final = 1 << 17
_MANY_OF_SQUARES: Final = 1 << 14
_MOST_ELEMENTS: Final = 1 << 21
#: Length of a row whose largest bytes have a sum beyond 16 bits, and an odd sum of products beyond
#: the 24 bits of a float32.
_WIDE: Final = 1_283
#: More programs than a grid's second and third axis take on CUDA devices.
_ROWS: Final = 65_537


def other_sizes(
    inputs: Sequence[Input], fixed: Sequence[int], blocks: Sequence[int], numbers: Sequence[int]
) -> Iterator[tuple[str, Change]]:
    """Yield changes of extents with labels.

    Extents become large, 1, primes, numbers of the file, and sizes around each block: the block,
    one less or more, three tiles, one more, and more tiles than static trips cover. All extents
    become multiples of 2, 16, 32 and 64, and multiples of each other.

    Args:
        inputs: The given inputs.
        fixed: Extents that do not change, such as those of weights.
        blocks: Block sizes of the kernels, in ascending order.
        numbers: Other integers of the file.
    """
    extents = _extents(inputs, fixed)
    if not extents:
        return
    has_one = 1 in {n for e in inputs if isinstance(e, TensorInput) for n in e.shape} - {*fixed}
    tried_changes: set[tuple[tuple[int, int], ...]] = set()
    changes = chain(
        _large_sizes(inputs, extents), _small_sizes(extents),
        _sizes_of_numbers(inputs, extents, numbers), _sizes_around_blocks(inputs, extents, blocks),
        _aligned_sizes(inputs, extents, blocks),
        ({1: 3, **change} for change in _grouped_sizes(extents) if has_one),  # groups of heads
    )  # fmt: skip
    for change in changes:
        key = tuple(sorted(change.items()))
        if key in tried_changes or all(old == new for old, new in change.items()):
            continue
        tried_changes.add(key)
        if _most_elements(inputs, change) <= _MOST_ELEMENTS:
            yield ", ".join(f"{old} → {new}" for old, new in change.items()), change


def _extents(inputs: Sequence[Input], fixed: Sequence[int]) -> list[int]:
    shapes = (entry.shape for entry in inputs if isinstance(entry, TensorInput))
    return list(
        dict.fromkeys(size for shape in shapes for size in shape if size > 1 and size not in fixed)
    )


def _small_sizes(extents: Sequence[int]) -> Iterator[Change]:
    yield {old: _PRIMES[at % len(_PRIMES)] for at, old in enumerate(extents)}
    yield dict.fromkeys(extents, 1)
    for at, old in enumerate(extents):
        yield {old: 1}
        yield {old: _PRIMES[(at + 1) % len(_PRIMES)]}
    yield from _grouped_sizes(extents)


def grouped_sizes(inputs: Sequence[Input], fixed: Sequence[int]) -> Iterator[Change]:
    """Yield changes after which extents are multiples of each other, as numbers of heads are."""
    for change in _grouped_sizes(_extents(inputs, fixed)):
        yield change
        yield {old: new // 2 for old, new in change.items()}


def smaller_sizes(inputs: Sequence[Input], fixed: Sequence[int]) -> Change:
    """Return a change to unequal extents of about 11 to 40, for problems whose cost grows fast."""
    return {old: 11 + old // 8 for old in _extents(inputs, fixed) if old > 13}


def probing_sizes(
    inputs: Sequence[Input], fixed: Sequence[int], own: Sequence[int]
) -> Iterator[tuple[int, Change]]:
    """Yield each extent with a change after which it is larger than all others that change.

    Extents in `own` come last.
    """
    extents = _extents(inputs, fixed)
    for extent in sorted({*extents, *fixed}, key=lambda size: size in own):
        yield extent, {old: _PROBED if old == extent else 2 + at for at, old in enumerate(extents)}


def _grouped_sizes(extents: Sequence[int]) -> Iterator[Change]:
    count = len(extents)
    if count > 1:  # each extent is a multiple of the others on one side of it
        yield {old: 3 << (count - at) for at, old in enumerate(extents)}
        yield {old: 3 << (at + 1) for at, old in enumerate(extents)}


def _sizes_around_blocks(
    inputs: Sequence[Input], extents: Sequence[int], blocks: Sequence[int]
) -> Iterator[Change]:
    """Yield changes in which each extent takes each size around each block, all at different ones.

    The sizes of blocks between the largest and the smallest are fewer.
    """
    around = {*blocks[-_MOST_BLOCKS:], *blocks[:1]}
    for block in sorted(blocks, key=lambda block: (block not in around, -block)):
        sizes = [block + 1, 3 * block + 1]
        if block in around:
            sizes = [block - 1, block + 1, block, 3 * block, 3 * block + 1, _TILES * block + 1]
        for number in range(len(sizes)):
            together = {
                extent: sizes[(number + at) % len(sizes)] for at, extent in enumerate(extents)
            }
            if _most_elements(inputs, together) <= _MANY:
                yield together
            else:
                yield from _alone(inputs, together, number)


def _alone(inputs: Sequence[Input], sizes: Change, number: int = 0) -> Iterator[Change]:
    """Yield changes in which one extent at a time takes its size, beside small other extents."""
    small = (5, 17, 3, 2)
    for extent, size in sizes.items():
        others = {
            other: small[(number + index) % len(small)]
            for index, other in enumerate(sizes)
            if other != extent
        }
        choices = ({**others, extent: size}, {**dict.fromkeys(others, 1), extent: size})
        yield from [
            c
            for c, limit in zip(choices, (_MANY, _MANY_OF_VECTORS), strict=True)
            if _most_elements(inputs, c) <= limit
        ][:1]


def _aligned_sizes(
    inputs: Sequence[Input], extents: Sequence[int], blocks: Sequence[int]
) -> Iterator[Change]:
    """Yield changes after which all extents are multiples of one number, or at a block."""
    for step in _ALIGNMENTS:
        change = {old: step * (3 if at % 2 else 1) for at, old in enumerate(extents)}
        if step == _ALIGNMENTS[0]:
            quotients = dict(zip(extents, cycle(_ROUNDED_QUOTIENTS), strict=False))
            change = quotients if _most_elements(inputs, quotients) <= _MANY else change
        is_large = _most_elements(inputs, change) > _MOST_ELEMENTS >> 2
        yield dict.fromkeys(extents, step) if is_large else change
    for block in (*blocks[-1:], *blocks[:1]):
        if block ** len(extents) <= _MOST_ELEMENTS >> 3:
            yield dict.fromkeys(extents, block)
        yield from _all_beyond(inputs, extents, block)


def _all_beyond(inputs: Sequence[Input], extents: Sequence[int], number: int) -> Iterator[Change]:
    """Yield a change after which all extents exceed a number at once, if that is not too large."""
    change = {old: (1 + at % 2) * number + 1 for at, old in enumerate(extents)}
    if _most_elements(inputs, change) <= _MOST_ELEMENTS >> 3:
        yield change


def _large_sizes(inputs: Sequence[Input], extents: Sequence[int]) -> Iterator[Change]:
    """Yield changes that give the largest tensor many elements, along the first extent, the last.

    There are fewer elements if the extent occurs on several axes, which then grow together.
    """
    shapes = [entry.shape for entry in inputs if isinstance(entry, TensorInput)]
    first_extent, last_extent = extents[0], extents[-1]
    axes = {axis for shape in shapes for axis, size in enumerate(shape) if size == first_extent}
    is_square = len(axes) > 1
    elements = _MANY_OF_SQUARES if is_square else _MANY
    elements = _MANY_OF_VECTORS if max(map(len, shapes)) == 1 else elements
    growth = (elements / max(_most_elements(inputs, {}), 1)) ** (1 / 2 if is_square else 1)
    if growth > 1:
        yield {first_extent: int(first_extent * growth) | 1}
    if first_extent != last_extent:
        yield {**dict.fromkeys(extents, 1), last_extent: _MANY + 1}


def _sizes_of_numbers(
    inputs: Sequence[Input], extents: Sequence[int], numbers: Sequence[int]
) -> Iterator[Change]:
    """Yield changes to integers of the file, or just above, where a kernel may behave otherwise."""
    first_extent, largest = extents[0], _most_elements(inputs, {})
    for number in numbers[:_MOST_NUMBERS]:
        if largest == first_extent:
            yield {first_extent: number}
        yield {first_extent: number + 1}
        if largest > first_extent:
            yield {first_extent: number * first_extent // largest + 1}
            yield {**dict.fromkeys(extents, 1), extents[-1]: number + 1}
            yield from _all_beyond(inputs, extents, number)
            yield from _alone(inputs, dict.fromkeys(extents, number + 1))


def wide_rows(inputs: Sequence[Input], fixed: Sequence[int]) -> Change:
    """Return the change of extent that makes rows of bytes wide; {} if no input has such rows."""
    for entry in inputs:
        if isinstance(entry, TensorInput) and entry.dtype in BYTES and entry.shape:
            old = entry.shape[-1]
            is_enlarged = 1 < old < _WIDE and old not in fixed
            if is_enlarged and _most_elements(inputs, {old: _WIDE}) <= _MOST_ELEMENTS:
                return {old: _WIDE}
    return {}


def extreme_sizes(
    inputs: Sequence[Input], fixed: Sequence[int]
) -> Iterator[tuple[str, str, Change]]:
    """Yield label, kind and change of extents for no elements, and for 65,537 rows.

    CUDA allows fewer programs than these rows along a grid's second axis.
    """
    extents = _extents(inputs, fixed)
    if not extents:
        return
    yield "without elements", BEYOND, {extents[0]: 0}
    rows = {**dict.fromkeys(extents, 1), extents[0]: _ROWS}
    axes = max(len(entry.shape) for entry in inputs if isinstance(entry, TensorInput))
    if axes > 1 and _most_elements(inputs, rows) <= 2 * _ROWS:
        yield f"{_ROWS:,} rows", "sizes", rows


def unequal_extents(inputs: Sequence[Input], fixed: Sequence[int]) -> Iterator[tuple[Input, ...]]:
    """Yield inputs in which some of several equal extents are smaller than the others."""
    shapes = [entry.shape if isinstance(entry, TensorInput) else () for entry in inputs]
    axes = [(number, axis) for number, shape in enumerate(shapes) for axis in range(len(shape))]
    for size in sorted({shapes[number][axis] for number, axis in axes} - {1, *fixed}):
        equal_axes = [(number, axis) for number, axis in axes if shapes[number][axis] == size]
        outer_axes = [
            (number, axis) for number, axis in equal_axes if axis < len(shapes[number]) - 1
        ]
        choices = [outer_axes, *([single_axis] for single_axis in equal_axes)][:_MOST_UNEQUAL]
        for changed_axes in choices:
            if 0 < len(changed_axes) < len(equal_axes):
                yield tuple(
                    _with_extents(entry, [axis for at, axis in changed_axes if at == number], size)
                    for number, entry in enumerate(inputs)
                )


def _with_extents(entry: Input, axes: Sequence[int], size: int) -> Input:
    """Return a contiguous tensor whose extents along `axes` are 3/4 of `size`; scalars stay."""
    if not isinstance(entry, TensorInput):
        return entry
    smaller = max(size * 3 // 4, 1)
    shape = [smaller if axis in axes else n for axis, n in enumerate(entry.shape)]
    return whole_tensor(entry.name, entry.dtype, shape)


def other_scalars(inputs: Sequence[Input]) -> Iterator[tuple[str, tuple[Input, ...]]]:
    """Yield label and inputs with other scalars.

    One other integer or boolean, unless it equals an extent; a float between 0 and 1 increased by
    1; or two neighboring floats swapped, such as the limits of a clamp.
    """
    extents = {n for entry in inputs if isinstance(entry, TensorInput) for n in entry.shape}
    floats: list[int] = []
    for number, entry in enumerate(inputs):
        value: Any = entry.value if isinstance(entry, ScalarInput) else None
        other_values: tuple[int | float, ...] = ()
        if isinstance(value, bool):
            other_values = (not value,)
        elif isinstance(value, int):
            other_values = () if value in extents else (value + 1, value // 2)
        elif isinstance(value, float):
            floats.append(number)
            other_values = (1.0 + value,) if 0 < value < 1 else ()
        for other in other_values:
            text = f"{other:g}" if isinstance(other, float) else str(other)
            yield f"{entry.name}={text}", _with_scalars(inputs, {number: other})
    for left, right in pairwise(floats):
        left_value, right_value = (
            entry.value for entry in (inputs[left], inputs[right]) if isinstance(entry, ScalarInput)
        )
        if left_value != right_value:
            label = f"{inputs[left].name}={right_value:g}, {inputs[right].name}={left_value:g}"
            yield label, _with_scalars(inputs, {left: right_value, right: left_value})


def _with_scalars(inputs: Sequence[Input], values: Mapping[int, Any]) -> tuple[Input, ...]:
    return tuple(
        replace(entry, value=values[number])
        if number in values and isinstance(entry, ScalarInput)
        else entry
        for number, entry in enumerate(inputs)
    )


def _most_elements(inputs: Sequence[Input], change: Mapping[int, int]) -> int:
    return max(
        (
            math.prod(change.get(size, size) for size in entry.shape)
            for entry in inputs
            if isinstance(entry, TensorInput)
        ),
        default=0,
    )


def resized_inputs(inputs: Sequence[Input], change: Mapping[int, int]) -> tuple[Input, ...]:
    """Return contiguous inputs with changed extents, also in integers that equal an extent."""
    result: list[Input] = []
    for entry in inputs:
        if isinstance(entry, TensorInput):
            shape = [change.get(size, size) for size in entry.shape]
            result.append(whole_tensor(entry.name, entry.dtype, shape))
        elif type(entry.value) is int and entry.value in change:
            result.append(replace(entry, value=change[entry.value]))
        else:
            result.append(entry)
    return tuple(result)
