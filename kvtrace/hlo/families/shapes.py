"""Functions that move elements and compute nothing."""

from collections.abc import Sequence
from itertools import pairwise
from typing import Any

import numpy as np

from kvtrace.hlo.dtypes import INT32
from kvtrace.hlo.errors import BadArgument, ShapeMismatch
from kvtrace.hlo.primitives import (
    Operand,
    Shape,
    add,
    axes_of,
    axis_of,
    broadcast,
    broadcast_in_dim,
    broadcast_shape,
    compare,
    concatenate,
    convert,
    dtype_of,
    fresh,
    full,
    iota,
    lift,
    pad,
    reshape,
    reverse,
    row_by_row,
    scalar,
    select,
    shape_of,
    slice_,
    subtract,
    together,
    transpose,
)
from kvtrace.hlo.primitives import broadcast_to as broadcast_tensor
from kvtrace.hlo.registry import implements
from kvtrace.hlo.views import is_contiguous, viewed
from kvtrace.hlo.wrapper import Tensor, into

_UNCLEAR = (
    "this tensor was reshaped from a view, and in NumPy is a copy or a view as memory lies, so "
    "an assignment cannot be followed; reshape a copy(), or assign to the tensor itself"
)
_READ_ONLY = "what broadcast_to gives is read-only, as in NumPy; write to a copy()"


# -- views ------------------------------------------------------------------------------------


def _reshaped(x: Tensor, shape: Shape) -> Tensor:
    original = x.shape
    if is_contiguous(x):
        return viewed(x, lambda b: reshape(b, shape), lambda _, v: reshape(v, original))
    return viewed(x, lambda b: reshape(b, shape), None, _UNCLEAR)


def _same_elements(x: Tensor, shape: Shape) -> Tensor:
    """A reshape that only adds or drops axes of extent 1, which is a view of anything."""
    original = x.shape
    return viewed(x, lambda b: reshape(b, shape), lambda _, v: reshape(v, original))


def permuted(x: Tensor, permutation: tuple[int, ...]) -> Tensor:
    """The view with axes in another order."""
    back = tuple(int(axis) for axis in np.argsort(permutation))
    view = viewed(x, lambda b: transpose(b, permutation), lambda _, v: transpose(v, back))
    view._permuted = view._permuted or back != tuple(range(len(back)))
    return view


@implements(np.reshape)
def reshape_(
    a: Operand, /, shape: Any = None, order: str = "C", *, newshape: Any = None, copy: Any = None
) -> Tensor:
    """The elements in row-major order in another shape, one extent of which may be -1."""
    x = lift(a)
    if order not in ("C", "A"):
        raise BadArgument.here("a graph reshapes in row-major order (order='C') only")
    result = _reshaped(x, _completed(shape if newshape is None else newshape, x))
    return fresh(result) if copy else result


def _completed(shape: Any, x: Tensor) -> Shape:
    given = shape if isinstance(shape, tuple | list) else (shape,)
    extents = [int(axis.__index__()) for axis in given]
    if extents.count(-1) == 1:
        others = int(np.prod([extent for extent in extents if extent != -1], dtype=np.int64))
        if others and x.size % others == 0:
            extents[extents.index(-1)] = x.size // others
    wanted = int(np.prod(extents, dtype=np.int64))
    if wanted != x.size or any(extent < 0 for extent in extents):
        raise ShapeMismatch.here(
            f"a tensor of shape {list(x.shape)} ({x.size} elements) cannot be reshaped to "
            f"{list(given)}"
        )
    return tuple(extents)


@implements(methods=("reshape",))
def _reshape_method(x: Tensor, *shape: Any, order: str = "C", copy: Any = None) -> Tensor:
    given = shape[0] if len(shape) == 1 and not isinstance(shape[0], int) else shape
    return reshape_(x, given, order, copy=copy)


@implements(np.ravel, methods=("ravel",))
def ravel(a: Operand, order: str = "C") -> Tensor:
    """All elements along one axis."""
    return reshape_(a, (-1,) if lift(a).size else (0,), order)


@implements(methods=("flatten",))
def _flatten_method(x: Tensor, order: str = "C") -> Tensor:
    return row_by_row(ravel(x, order))


@implements(np.transpose, "permute_dims")
def transpose_(a: Operand, axes: Any = None) -> Tensor:
    """The axes in another order, by default reversed."""
    x = lift(a)
    rank = len(x.shape)
    order = tuple(reversed(range(rank))) if axes is None else axes_of(tuple(axes), rank)
    if len(order) != rank:
        raise ShapeMismatch.here(f"{len(order)} axes are named for a tensor of {rank}")
    return permuted(x, order)


@implements(methods=("transpose",))
def _transpose_method(x: Tensor, *axes: Any) -> Tensor:
    if not axes or axes == (None,):
        return transpose_(x)
    return transpose_(x, axes[0] if len(axes) == 1 and not isinstance(axes[0], int) else axes)


@implements(np.swapaxes, methods=("swapaxes",))
def swapaxes(a: Operand, axis1: int, axis2: int) -> Tensor:
    """Two axes in each other's place."""
    x = lift(a)
    order = list(range(len(x.shape)))
    first, second = axis_of(axis1, len(order)), axis_of(axis2, len(order))
    order[first], order[second] = order[second], order[first]
    return permuted(x, tuple(order))


@implements(np.moveaxis)
def moveaxis(a: Operand, source: Any, destination: Any) -> Tensor:
    """Axes put elsewhere, the others in their order."""
    x = lift(a)
    rank = len(x.shape)
    taken, put = axes_of(source, rank), axes_of(destination, rank)
    if len(taken) != len(put):
        raise ShapeMismatch.here("moveaxis names as many sources as destinations")
    order = [axis for axis in range(rank) if axis not in taken]
    for place, axis in sorted(zip(put, taken, strict=True)):
        order.insert(place, axis)
    return permuted(x, tuple(order))


@implements(np.rollaxis)
def rollaxis(a: Operand, axis: int, start: int = 0) -> Tensor:
    """An axis put before another."""
    x = lift(a)
    rank = len(x.shape)
    source = axis_of(axis, rank)
    target = start + rank if start < 0 else start
    return moveaxis(x, source, target - 1 if source < target else target)


@implements(np.expand_dims)
def expand_dims(a: Operand, axis: Any) -> Tensor:
    """New axes of extent 1."""
    x = lift(a)
    named = axis if isinstance(axis, tuple | list) else (axis,)
    places = axes_of(tuple(named), len(x.shape) + len(named))
    rest = iter(x.shape)
    shape = tuple(1 if i in places else next(rest) for i in range(len(x.shape) + len(named)))
    return _same_elements(x, shape)


@implements(np.squeeze, methods=("squeeze",))
def squeeze(a: Operand, axis: Any = None) -> Tensor:
    """Without axes of extent 1: all of them, or those named."""
    x = lift(a)
    if axis is None:
        dropped = tuple(i for i, extent in enumerate(x.shape) if extent == 1)
    else:
        dropped = axes_of(axis, len(x.shape))
    for position in dropped:
        if x.shape[position] != 1:
            raise ShapeMismatch.here(
                f"axis {position} of shape {list(x.shape)} is no axis of extent 1 to squeeze"
            )
    return _same_elements(x, tuple(n for i, n in enumerate(x.shape) if i not in dropped))


@implements(np.flip)
def flip(m: Operand, axis: Any = None) -> Tensor:
    """Axes in reverse order."""
    x = lift(m)
    axes = axes_of(axis, len(x.shape))
    return viewed(x, lambda b: reverse(b, axes), lambda _, v: reverse(v, axes))


@implements(np.flipud)
def flipud(m: Operand) -> Tensor:
    """The first axis in reverse order."""
    return flip(m, 0)


@implements(np.fliplr)
def fliplr(m: Operand) -> Tensor:
    """The second axis in reverse order."""
    return flip(m, 1)


@implements(np.rot90)
def rot90(m: Operand, k: int = 1, axes: tuple[int, int] = (0, 1)) -> Tensor:
    """Turned by quarters in the plane of two axes."""
    x = lift(m)
    first, second = axes_of(tuple(axes), len(x.shape))
    turns = k % 4
    if turns == 0:
        return flip(x, ())
    if turns == 2:
        return flip(x, (first, second))
    if turns == 1:
        return swapaxes(flip(x, second), first, second)
    return flip(swapaxes(x, first, second), second)


@implements(np.broadcast_to)
def broadcast_to(array: Operand, shape: Any, subok: bool = False) -> Tensor:  # noqa: ARG001 - NumPy's
    """The tensor repeated along new leading axes and those of extent 1."""
    x, extents = lift(array), shape_of(shape)
    return viewed(x, lambda b: broadcast_tensor(b, extents), None, _READ_ONLY)


@implements(np.broadcast_arrays)
def broadcast_arrays(*args: Operand, subok: bool = False) -> tuple[Tensor, ...]:  # noqa: ARG001 - NumPy's
    """Tensors of one shape."""
    tensors = [lift(arg) for arg in args]
    shape = broadcast_shape(*(tensor.shape for tensor in tensors))
    return tuple(broadcast_to(tensor, shape) for tensor in tensors)


@implements(np.atleast_1d)
def atleast_1d(*arys: Operand) -> Any:
    """With one axis at least."""
    return _at_least(arys, lambda x: x.shape or (1,))


@implements(np.atleast_2d)
def atleast_2d(*arys: Operand) -> Any:
    """With two axes at least, new ones in front."""
    return _at_least(arys, lambda x: (1,) * (2 - len(x.shape)) + x.shape)


@implements(np.atleast_3d)
def atleast_3d(*arys: Operand) -> Any:
    """With three axes at least, the new last one behind."""

    def shape(x: Tensor) -> Shape:
        if len(x.shape) == 2:
            return (*x.shape, 1)
        return (1, *(x.shape or (1,)), 1) if len(x.shape) < 2 else x.shape

    return _at_least(arys, shape)


def _at_least(arrays: Sequence[Operand], shape: Any) -> Any:
    tensors = [lift(array) for array in arrays]
    results = tuple(_same_elements(tensor, shape(tensor)) for tensor in tensors)
    return results[0] if len(results) == 1 else results


# -- joining, cutting, repeating -----------------------------------------------------------------


@implements(np.concatenate, "concat")
def concatenate_(
    arrays: Any,
    axis: int | None = 0,
    out: Any = None,
    *,
    dtype: Any = None,
    casting: Any = None,  # noqa: ARG001 - NumPy's
) -> Tensor:
    """Tensors one after the other along an axis."""
    tensors = together(*_sequence(arrays))
    if dtype is not None:
        tensors = [convert(tensor, dtype_of(dtype)) for tensor in tensors]
    if axis is None:
        tensors, axis = [reshape(t, (t.size,)) for t in tensors], 0
    if len({len(tensor.shape) for tensor in tensors}) != 1:
        raise ShapeMismatch.here("tensors to be joined have equally many axes; use np.stack")
    result = fresh(concatenate(tensors, axis_of(axis, len(tensors[0].shape))))
    return into(out, result)


def _sequence(arrays: Any) -> list[Any]:
    listed = list(arrays)
    if not listed:
        raise BadArgument.here("there is no tensor to join")
    # A scalar is joined like an array of no axes, and has a type of its own.
    return [lift(item) for item in listed]


@implements(np.stack)
def stack(
    arrays: Any,
    axis: int = 0,
    out: Any = None,
    *,
    dtype: Any = None,
    casting: Any = None,  # noqa: ARG001 - NumPy's
) -> Tensor:
    """Tensors of one shape along a new axis."""
    tensors = _sequence(arrays)
    place = axis_of(axis, len(tensors[0].shape) + 1)
    shape = tensors[0].shape
    for tensor in tensors:
        if tensor.shape != shape:
            raise ShapeMismatch.here(
                f"tensors to be stacked have one shape, not {list(shape)} and {list(tensor.shape)}"
            )
    raised = [reshape(t, (*shape[:place], 1, *shape[place:])) for t in tensors]
    return concatenate_(raised, place, out, dtype=dtype)


@implements(np.hstack)
def hstack(tup: Any, *, dtype: Any = None, casting: Any = None) -> Tensor:  # noqa: ARG001 - NumPy's
    """Side by side: along the second axis, or the only one."""
    tensors = [atleast_1d(item) for item in tup]
    return concatenate_(tensors, 0 if len(tensors[0].shape) == 1 else 1, dtype=dtype)


@implements(np.vstack)
def vstack(tup: Any, *, dtype: Any = None, casting: Any = None) -> Tensor:  # noqa: ARG001 - NumPy's
    """On top of each other: along the first axis, as rows."""
    return concatenate_([atleast_2d(item) for item in tup], 0, dtype=dtype)


@implements(np.dstack)
def dstack(tup: Any) -> Tensor:
    """Along the third axis."""
    return concatenate_([atleast_3d(item) for item in tup], 2)


@implements(np.column_stack)
def column_stack(tup: Any) -> Tensor:
    """As columns of a matrix."""
    tensors = [lift(item) for item in tup]
    return concatenate_([t if len(t.shape) > 1 else reshape(t, (t.size, 1)) for t in tensors], 1)


@implements(np.append)
def append(arr: Operand, values: Operand, axis: int | None = None) -> Tensor:
    """Values after a tensor's; flattened where no axis is named."""
    return concatenate_((arr, values), axis)


def window(x: Tensor, axis: int, start: int, limit: int) -> Tensor:
    """The view of positions `start` to `limit` of one axis."""
    from kvtrace.hlo.families.indexing import getitem

    index = (slice(None),) * axis + (slice(start, limit),)
    result: Tensor = getitem(x, index)
    return result


@implements(np.array_split)
def array_split(ary: Operand, indices_or_sections: Any, axis: int = 0) -> list[Tensor]:
    """The pieces between positions, or so many pieces of nearly equal length."""
    x = lift(ary)
    place = axis_of(axis, len(x.shape))
    extent = x.shape[place]
    if isinstance(indices_or_sections, int | np.integer):
        count = int(indices_or_sections)
        if count < 1:
            raise BadArgument.here(f"{count} pieces cannot be made; ask for one or more")
        size, more = divmod(extent, count)
        lengths = [size + 1] * more + [size] * (count - more)
        bounds = [0, *np.cumsum(lengths).tolist()]
    else:
        bounds = [0, *(int(position) for position in indices_or_sections), extent]
    return [window(x, place, a, b) for a, b in pairwise(bounds)]


@implements(np.split)
def split(ary: Operand, indices_or_sections: Any, axis: int = 0) -> list[Tensor]:
    """The pieces between positions, or so many pieces of equal length."""
    x = lift(ary)
    if isinstance(indices_or_sections, int | np.integer):
        extent = x.shape[axis_of(axis, len(x.shape))]
        if indices_or_sections < 1 or extent % indices_or_sections:
            raise ShapeMismatch.here(
                f"an axis of {extent} elements cannot be split into {indices_or_sections} equal "
                "pieces; use np.array_split"
            )
    return array_split(x, indices_or_sections, axis)


@implements(np.hsplit)
def hsplit(ary: Operand, indices_or_sections: Any) -> list[Tensor]:
    """`split` along the second axis, or the only one."""
    x = lift(ary)
    return split(x, indices_or_sections, 1 if len(x.shape) > 1 else 0)


@implements(np.vsplit)
def vsplit(ary: Operand, indices_or_sections: Any) -> list[Tensor]:
    """`split` along the first axis."""
    return split(ary, indices_or_sections, 0)


@implements("unstack")
def unstack(x: Operand, /, *, axis: int = 0) -> tuple[Tensor, ...]:
    """The tensors along an axis, without it."""
    x = lift(x)
    place = axis_of(axis, len(x.shape))
    return tuple(squeeze(window(x, place, i, i + 1), place) for i in range(x.shape[place]))


@implements(np.tile)
def tile(A: Operand, reps: Any) -> Tensor:  # noqa: N803 - NumPy's name
    """The whole tensor again and again along axes."""
    x = lift(A)
    counts = shape_of(reps)
    rank = max(len(counts), len(x.shape))
    counts = (1,) * (rank - len(counts)) + counts
    shape = (1,) * (rank - len(x.shape)) + x.shape
    spread = tuple(n for pair in zip(counts, shape, strict=True) for n in pair)
    places = tuple(range(1, 2 * rank, 2))
    repeated = broadcast_in_dim(reshape(x, shape), spread, places)
    return fresh(reshape(repeated, tuple(c * n for c, n in zip(counts, shape, strict=True))))


@implements(np.repeat, methods=("repeat",))
def repeat(a: Operand, repeats: Any, axis: int | None = None) -> Tensor:
    """Each element again and again along an axis; as often for all, or by a list of counts."""
    x = lift(a)
    if axis is None:
        x, axis = reshape(x, (x.size,)), 0
    place = axis_of(axis, len(x.shape))
    if isinstance(repeats, Tensor):
        repeats.__index__()  # how many elements there are cannot hang on data
    counts = np.asarray(repeats)
    if counts.size != 1:
        if counts.shape != (x.shape[place],):
            raise ShapeMismatch.here("np.repeat takes one count, or one for each position")
        pieces = [
            _repeated(slice_axis(x, place, i, i + 1), place, int(count))
            for i, count in enumerate(counts)
        ]
        return concatenate_(pieces, place)
    return fresh(_repeated(x, place, int(counts.flat[0])))


def slice_axis(x: Tensor, axis: int, start: int, limit: int) -> Tensor:
    """Positions `start` to `limit` of one axis, as a value of their own."""
    begin = tuple(start if i == axis else 0 for i in range(len(x.shape)))
    end = tuple(limit if i == axis else n for i, n in enumerate(x.shape))
    return slice_(x, begin, end)


def _repeated(x: Tensor, place: int, count: int) -> Tensor:
    shape = (*x.shape[: place + 1], count, *x.shape[place + 1 :])
    places = tuple(i for i in range(len(shape)) if i != place + 1)
    spread = broadcast_in_dim(x, shape, places)
    return reshape(spread, (*x.shape[:place], x.shape[place] * count, *x.shape[place + 1 :]))


@implements(np.roll)
def roll(a: Operand, shift: Any, axis: Any = None) -> Tensor:
    """Elements moved along axes, and in again on the other side."""
    x = lift(a)
    if axis is None:
        return reshape(roll(reshape(x, (x.size,)), shift, 0), x.shape)
    named = axis if isinstance(axis, tuple | list) else (axis,)
    shifts = shift if isinstance(shift, tuple | list) else (shift,) * len(named)
    result = x
    for place, distance in zip([axis_of(n, len(x.shape)) for n in named], shifts, strict=True):
        extent = result.shape[place]
        cut = -int(distance) % extent if extent else 0
        if cut:
            behind = slice_axis(result, place, cut, extent)
            result = concatenate([behind, slice_axis(result, place, 0, cut)], place)
    return fresh(result)


@implements(np.pad)
def pad_(array: Operand, pad_width: Any, mode: Any = "constant", **settings: Any) -> Tensor:
    """More elements around: constant, edge, wrap, reflect or symmetric."""
    x = lift(array)
    rank = len(x.shape)
    if isinstance(pad_width, dict):
        pad_width = [pad_width.get(i, pad_width.get(i - rank, 0)) for i in range(rank)]
        pad_width = [(w, w) if isinstance(w, int) else w for w in pad_width]
    widths = np.broadcast_to(np.asarray(pad_width, dtype=np.int64), (rank, 2)).tolist()
    if mode == "constant":
        return _padded_with(x, widths, settings.get("constant_values", 0))
    if mode not in ("edge", "wrap", "reflect", "symmetric"):
        raise BadArgument.here(
            f"np.pad in mode {mode!r} has no form as graph ops; "
            "use constant, edge, wrap, reflect or symmetric"
        )
    for place, (before, after) in enumerate(widths):
        source = np.pad(np.arange(x.shape[place]), (before, after), mode=mode)
        x = _positions(x, place, source.tolist())
    return fresh(x)


def _padded_with(x: Tensor, widths: list[list[int]], values: Any) -> Tensor:
    rank = len(widths)
    if isinstance(values, int | float | Tensor):
        low, high = (tuple(pair[side] for pair in widths) for side in (0, 1))
        return fresh(pad(x, _fill(values, x), low, high))
    pairs = np.broadcast_to(np.asarray(values), (rank, 2)).tolist()
    for place, ((before, after), (first, last)) in enumerate(zip(widths, pairs, strict=True)):
        zeros = (0,) * rank
        low = tuple(before if i == place else 0 for i in range(rank))
        high = tuple(after if i == place else 0 for i in range(rank))
        x = pad(pad(x, _fill(first, x), low, zeros), _fill(last, x), zeros, high)
    return fresh(x)


def _fill(value: Any, x: Tensor) -> Tensor:
    if isinstance(value, Tensor):
        return reshape(convert(value, x.dtype), ())
    return scalar(value, x.dtype)


def _positions(x: Tensor, axis: int, positions: list[int]) -> Tensor:
    """Positions of an axis in a given order, as runs that are sliced and joined."""
    pieces: list[Tensor] = []
    start = 0
    while start < len(positions):
        step = positions[start + 1] - positions[start] if start + 1 < len(positions) else 1
        if step not in (1, -1):
            step = 1
        end = start + 1
        while end < len(positions) and positions[end] - positions[end - 1] == step:
            end += 1
        low, high = sorted((positions[start], positions[end - 1]))
        run = slice_axis(x, axis, low, high + 1)
        pieces.append(reverse(run, (axis,)) if step < 0 else run)
        start = end
    return concatenate(pieces, axis) if pieces else slice_axis(x, axis, 0, 0)


# -- triangles and diagonals -----------------------------------------------------------------------


def _below(shape: Shape, k: int) -> Tensor:
    """Whether a position is on or below a diagonal of the last two axes."""
    rank = len(shape)
    rows = add(iota(shape, rank - 2), full(k, shape, INT32))
    return compare("GE", rows, iota(shape, rank - 1))


@implements(np.tril)
def tril(m: Operand, k: int = 0) -> Tensor:
    """The lower triangle, zeros above."""
    x = _matrix(m)
    return select(_below(x.shape, k), x, full(0, x.shape, x.dtype))


@implements(np.triu)
def triu(m: Operand, k: int = 0) -> Tensor:
    """The upper triangle, zeros below."""
    x = _matrix(m)
    return select(_below(x.shape, k - 1), full(0, x.shape, x.dtype), x)


def _matrix(m: Operand) -> Tensor:
    x = lift(m)
    if len(x.shape) == 1:
        return broadcast_tensor(x, (x.shape[0], x.shape[0]))
    if not x.shape:
        raise ShapeMismatch.here("a triangle needs two axes")
    return x


@implements(np.diagonal, methods=("diagonal",))
def diagonal(a: Operand, offset: int = 0, axis1: int = 0, axis2: int = 1) -> Tensor:
    """The elements of a diagonal of two axes, along a new last axis."""
    x = lift(a)
    rank = len(x.shape)
    first, second = axes_of((axis1, axis2), rank)
    x = transpose(x, (*(i for i in range(rank) if i not in (first, second)), first, second))
    rows, columns = x.shape[-2:]
    above, below = max(0, offset), max(0, -offset)
    length = max(0, min(rows - below, columns - above))
    lead = x.shape[:-2]
    start = (*(0 for _ in lead), below if length else 0, above if length else 0)
    square = slice_(x, start, (*lead, start[-2] + length, start[-1] + length))
    # In row-major order, the diagonal of a square is every (length + 1)-th element.
    flat = reshape(square, (*lead, length * length))
    strides = (*(1 for _ in lead), length + 1)
    sheared = slice_(flat, (0,) * (len(lead) + 1), flat.shape, strides)
    return fresh(sheared)


@implements(np.diag)
def diag(v: Operand, k: int = 0) -> Tensor:
    """A matrix's diagonal, or the matrix with a vector on its diagonal."""
    x = lift(v)
    if len(x.shape) == 2:
        return diagonal(x, k)
    if len(x.shape) != 1:
        raise ShapeMismatch.here("np.diag takes a vector or a matrix")
    size = x.shape[0] + abs(k)
    moved = pad(x, scalar(0, x.dtype), (max(0, k),), (max(0, -k),))
    shape = (size, size)
    on = compare("EQ", add(iota(shape, 0), full(k, shape, INT32)), iota(shape, 1))
    return select(on, broadcast_tensor(moved, shape), full(0, shape, x.dtype))


@implements(np.diagflat)
def diagflat(v: Operand, k: int = 0) -> Tensor:
    """`diag` of all elements."""
    x = lift(v)
    return diag(reshape(x, (x.size,)), k)


@implements(np.trace, methods=("trace",))
def trace(
    a: Operand, offset: int = 0, axis1: int = 0, axis2: int = 1, dtype: Any = None, out: Any = None
) -> Tensor:
    """The sum of a diagonal."""
    from kvtrace.hlo.families.reductions import sum_

    return sum_(diagonal(a, offset, axis1, axis2), -1, dtype, out)


# -- the rest ------------------------------------------------------------------------------------


@implements(np.copy)
def copy(a: Operand, *_: Any, **__: Any) -> Tensor:
    """The same values, apart from then on."""
    return fresh(lift(a))


@implements(methods=("copy", "__copy__", "__deepcopy__"))
def _copy_method(x: Tensor, *_: Any, **__: Any) -> Tensor:
    return row_by_row(x)


@implements(np.diff)
def diff(
    a: Operand, n: int = 1, axis: int = -1, prepend: Operand = None, append: Operand = None
) -> Tensor:
    """Each element less the one before, `n` times over."""
    x = lift(a)
    place = axis_of(axis, len(x.shape))
    extra = [_edge(value, x, place) for value in (prepend, append)]
    parts = [extra[0], x, extra[1]]
    x = (
        concatenate_([part for part in parts if part is not None], place)
        if any(part is not None for part in extra)
        else x
    )
    for _ in range(n):
        extent = x.shape[place]
        after, before = (
            slice_axis(x, place, min(1, extent), extent),
            slice_axis(x, place, 0, max(0, extent - 1)),
        )
        x = compare("NE", after, before) if x.dtype == np.bool_ else subtract(after, before)
    return fresh(x)


def _edge(value: Operand, x: Tensor, place: int) -> Tensor | None:
    if value is None:
        return None
    edge = lift(value, x.dtype)
    if edge.shape:
        return edge
    return broadcast_tensor(edge, tuple(1 if i == place else n for i, n in enumerate(x.shape)))


@implements(np.meshgrid)
def meshgrid(
    *xi: Operand,
    copy: bool = True,  # noqa: ARG001 - NumPy's
    sparse: bool = False,
    indexing: str = "xy",
) -> tuple[Tensor, ...]:
    """Coordinates of a grid, one tensor per axis."""
    tensors = [lift(x) for x in xi]
    rank = len(tensors)
    order = list(range(rank))
    if indexing == "xy" and rank > 1:
        order[0], order[1] = 1, 0
    raised = [
        reshape(x, tuple(x.size if i == order[number] else 1 for i in range(rank)))
        for number, x in enumerate(tensors)
    ]
    return tuple(raised if sparse else broadcast(*raised)) if rank > 1 else tuple(raised)


@implements("trapezoid")
def trapezoid(y: Operand, x: Operand = None, dx: float = 1.0, axis: int = -1) -> Tensor:
    """The integral by trapezoids."""
    from kvtrace.hlo.families.reductions import sum_

    values = lift(y)
    place = axis_of(axis, len(values.shape))
    extent = values.shape[place]
    ends = add(slice_axis(values, place, 1, extent), slice_axis(values, place, 0, extent - 1))
    width: Any = dx
    if x is not None:
        steps = diff(x)
        shape = tuple(-1 if i == place else 1 for i in range(len(values.shape)))
        width = steps if len(steps.shape) == len(values.shape) else reshape_(steps, shape)
    return sum_(ends * width / 2.0, place)
