"""StableHLO's ops as functions of tensors, of which builders consist.

Each checks shapes, computes the result's shape, and appends one op; only `lift`, `together` and
`broadcast` convert types or broadcast. The meaning of each opcode in NumPy is in `meanings/`, its
text in `kvtrace/addons/graphs/stablehlo`.
"""

from collections.abc import Callable, Sequence
from typing import Any, Literal

import numpy as np

from kvtrace.addons.graphs.hlo.arguments import Shape, axis_of, broadcast_shape
from kvtrace.addons.graphs.hlo.builder import current
from kvtrace.addons.graphs.hlo.dtypes import (
    BOOL,
    INT32,
    Dtype,
    is_float,
    is_integer,
    is_weak,
    promote,
    promote_with_scalar,
    scalar_dtype,
)
from kvtrace.addons.graphs.hlo.errors import BadArgument, BadIndex, ShapeMismatch
from kvtrace.addons.graphs.hlo.wrapper import Tensor

#: An argument of builders: a tensor, an array, a scalar, or nested lists of scalars.
Operand = Any
Reducer = Literal["add", "multiply", "maximum", "minimum", "and", "or"]
Direction = Literal["EQ", "NE", "LT", "LE", "GT", "GE"]


# -- operands ---------------------------------------------------------------------------------


def lift(value: Operand, dtype: Dtype | None = None) -> Tensor:
    """Return an operand as a tensor, converted to `dtype` if that is given.

    Raises:
        BadArgument: The value cannot be a tensor.

    """
    if not isinstance(value, Tensor):
        value = _lifted(value, dtype)
    return value if dtype is None or value.dtype == dtype else convert(value, dtype)


def _lifted(value: Operand, dtype: Dtype | None) -> Tensor:
    if is_weak(value):
        element_type = scalar_dtype(value) if dtype is None else dtype
        return scalar(value, element_type)
    if isinstance(value, list | tuple) and any(isinstance(item, Tensor) for item in _leaves(value)):
        return _stacked(value)
    try:
        array = np.asarray(value)
    except ValueError as error:
        raise BadArgument.here(f"{type(value).__name__} is not an array ({error})") from error
    if array.dtype.kind in "OSUMm":
        raise BadArgument.here(
            f"a graph contains only numbers, and {type(value).__name__} is not a number; "
            "pass it to the traced function as an argument that is not an array"
        )
    if isinstance(value, list | tuple | range) and array.dtype in (np.float64, np.int64):
        # Python's numbers have no width.
        array = array.astype(scalar_dtype(array.flat[0]) if array.size else np.float32)
    return current().literal(array)


def _leaves(value: Any) -> "list[Any]":
    if isinstance(value, list | tuple):
        return [leaf for item in value for leaf in _leaves(item)]
    return [value]


def _stacked(value: Sequence[Any]) -> Tensor:
    items = [lift(item) for item in value]
    dtype = items[0].dtype
    for item in items[1:]:
        dtype = promote(dtype, item.dtype)
    return concatenate([reshape(lift(i, dtype), (1, *i.shape)) for i in items], 0)


def together(*values: Operand) -> list[Tensor]:
    """Return operands as tensors of one element type, by the promotion table; shapes stay."""
    dtype: Dtype | None = None
    lifted: list[Any] = []
    for value in values:
        if is_weak(value):
            lifted.append(value)
            continue
        tensor = value if isinstance(value, Tensor) else _lifted(value, None)
        dtype = tensor.dtype if dtype is None else promote(dtype, tensor.dtype)
        lifted.append(tensor)
    for value in values:
        if is_weak(value):
            dtype = scalar_dtype(value) if dtype is None else promote_with_scalar(dtype, value)
    assert dtype is not None
    return [
        (value if value.dtype == dtype else convert(value, dtype))
        if isinstance(value, Tensor)
        else scalar(value, dtype)
        for value in lifted
    ]


def broadcast(*tensors: Tensor) -> list[Tensor]:
    """Return the tensors broadcast to one shape, as in NumPy.

    Raises:
        ShapeMismatch: The shapes do not broadcast.

    """
    first_shape = tensors[0].shape
    if all(tensor.shape == first_shape for tensor in tensors):
        return list(tensors)
    shape = broadcast_shape(*(tensor.shape for tensor in tensors))
    return [broadcast_to(tensor, shape) for tensor in tensors]


def alike(x1: Operand, x2: Operand) -> list[Tensor]:
    """Return two operands as tensors of one element type and shape."""
    return broadcast(*together(x1, x2))


def fresh(tensor: Tensor) -> Tensor:
    """Return the tensor's value as a separate Tensor, as NumPy copies it, without an op."""
    copied = row_by_row(tensor)
    copied._permuted = tensor._permuted
    return copied


def row_by_row(tensor: Tensor) -> Tensor:
    """Return a copy as `fresh` does, whose elements NumPy would store in row-major order."""
    builder = current()
    return Tensor(builder, builder.index_of(tensor), tensor.shape, tensor.dtype)


# -- constants --------------------------------------------------------------------------------


def scalar(value: Any, dtype: Dtype) -> Tensor:
    """Return a constant without axes, of a value that must fit the type."""
    return full(value, (), dtype)


def full(value: Any, shape: Shape, dtype: Dtype) -> Tensor:
    """Return a constant filled with one value, which must fit the type.

    Raises:
        BadArgument: An integer type cannot hold the value.

    """
    return current().constant(_checked_value(value, dtype), shape, dtype)


def _checked_value(value: Any, dtype: Dtype) -> Any:
    if dtype == BOOL:
        return bool(value)
    if not is_integer(dtype):
        return float(value)
    whole = int(value)
    bounds = np.iinfo(dtype)
    if not bounds.min <= whole <= bounds.max:
        raise BadArgument.here(
            f"{dtype.name} cannot hold {whole}; convert the tensor to a wider type first"
        )
    return whole


def iota(shape: Shape, axis: int) -> Tensor:
    """Return a tensor of int32 whose elements are their positions along an axis."""
    return current().emit("iota", (), shape, INT32, {"iota_dimension": axis})


# -- elementwise ------------------------------------------------------------------------------


def unary(opcode: str, x: Tensor) -> Tensor:
    """Append an op of one operand; return its result, of the operand's shape and type."""
    return current().emit(opcode, (x,), x.shape, x.dtype)


def binary(opcode: str, x: Tensor, y: Tensor) -> Tensor:
    """Append an op of two operands of one shape and type; return its result, of the same."""
    return current().emit(opcode, (x, y), x.shape, x.dtype)


def add(x: Tensor, y: Tensor) -> Tensor:
    """Return the sum; `or` for bools."""
    return binary("add", x, y)


def subtract(x: Tensor, y: Tensor) -> Tensor:
    """Return `x` minus `y`."""
    return binary("subtract", x, y)


def multiply(x: Tensor, y: Tensor) -> Tensor:
    """Return the product; `and` for bools."""
    return binary("multiply", x, y)


def divide(x: Tensor, y: Tensor) -> Tensor:
    """Return the quotient; integers are rounded towards zero."""
    return binary("divide", x, y)


def compare(direction: Direction, x: Tensor, y: Tensor) -> Tensor:
    """Return bools, true where a relation holds between `x` and `y`."""
    compare_type = "FLOAT" if is_float(x.dtype) else "SIGNED"
    if x.dtype.kind in "ub":
        compare_type = "UNSIGNED"
    attributes = {"comparison_direction": direction, "compare_type": compare_type}
    return current().emit("compare", (x, y), x.shape, BOOL, attributes)


def select(condition: Tensor, x: Tensor, y: Tensor) -> Tensor:
    """Return `x` where the condition holds, else `y`."""
    return current().emit("select", (condition, x, y), x.shape, x.dtype)


def convert(x: Tensor, dtype: Dtype) -> Tensor:
    """Return the values in another element type; as bools, true where they are not zero."""
    if x.dtype == dtype:
        return x
    if dtype == BOOL:
        return compare("NE", x, full(0, x.shape, x.dtype))
    return current().emit("convert", (x,), x.shape, dtype)


def is_finite(x: Tensor) -> Tensor:
    """Return bools, true where a float is neither infinite nor NaN."""
    return current().emit("is_finite", (x,), x.shape, BOOL)


# -- shapes -----------------------------------------------------------------------------------


def broadcast_to(x: Tensor, shape: Shape) -> Tensor:
    """Return the tensor repeated along new leading axes and along axes of extent 1.

    Raises:
        ShapeMismatch: The tensor does not broadcast to the shape.

    """
    if x.shape == shape:
        return x
    offset = len(shape) - len(x.shape)
    fits = offset >= 0 and all(
        extent in (1, shape[axis]) for axis, extent in enumerate(x.shape, offset)
    )
    if not fits:
        raise ShapeMismatch.here(
            f"a tensor of shape {list(x.shape)} does not broadcast to {list(shape)}"
        )
    return broadcast_in_dim(x, shape, tuple(range(offset, len(shape))))


def broadcast_in_dim(x: Tensor, shape: Shape, dimensions: tuple[int, ...]) -> Tensor:
    """Return `x` repeated to `shape`; `dimensions` has the result's axis of each axis of `x`."""
    op = x._builder.ops[x._index] if x._view is None else None
    if op is not None and op.opcode == "constant" and not isinstance(_value(op), np.ndarray):
        return current().constant(_value(op), shape, x.dtype)
    attributes = {"broadcast_dimensions": dimensions}
    return current().emit("broadcast_in_dim", (x,), shape, x.dtype, attributes)


def _value(op: Any) -> Any:
    return op.attributes["value"]


def reshape(x: Tensor, shape: Shape) -> Tensor:
    """Return the elements, in row-major order, in another shape."""
    if x.shape == shape:
        return x
    return current().emit("reshape", (x,), shape, x.dtype)


def along_axis(a: Operand, axis: int | None) -> tuple[Tensor, int]:
    """Return an operand and one of its axes, counted from 0; None: flattened, and its only axis."""
    x = lift(a)
    return (reshape(x, (x.size,)), 0) if axis is None else (x, axis_of(axis, len(x.shape)))


def transpose(x: Tensor, permutation: tuple[int, ...]) -> Tensor:
    """Return the tensor with axis `permutation[i]` at position i."""
    if permutation == tuple(range(len(permutation))):
        return x
    shape = tuple(x.shape[axis] for axis in permutation)
    return current().emit("transpose", (x,), shape, x.dtype, {"permutation": permutation})


def slice_(x: Tensor, start: Shape, limit: Shape, strides: Shape | None = None) -> Tensor:
    """Return the elements from `start` up to `limit`, every `strides`-th."""
    steps = strides or (1,) * len(start)
    if limit == x.shape and not any(start) and all(step == 1 for step in steps):
        return x
    shape = tuple(
        max(0, -(-(end - begin) // step))
        for begin, end, step in zip(start, limit, steps, strict=True)
    )
    attributes = {"start_indices": start, "limit_indices": limit, "strides": steps}
    return current().emit("slice", (x,), shape, x.dtype, attributes)


def concatenate(tensors: Sequence[Tensor], axis: int) -> Tensor:
    """Return tensors of one type joined along an axis; a single tensor is returned unchanged.

    Raises:
        ShapeMismatch: Other axes differ.

    """
    shape0 = tensors[0].shape
    for tensor in tensors:
        if tensor.shape[:axis] + tensor.shape[axis + 1 :] != shape0[:axis] + shape0[axis + 1 :]:
            raise ShapeMismatch.here(
                "all the input array dimensions except for the concatenation axis must match "
                f"exactly, not {list(shape0)} and {list(tensor.shape)} along axis {axis}"
            )
    if len(tensors) == 1:
        return tensors[0]
    extent = sum(tensor.shape[axis] for tensor in tensors)
    shape = (*shape0[:axis], extent, *shape0[axis + 1 :])
    return current().emit("concatenate", tensors, shape, tensors[0].dtype, {"dimension": axis})


def pad(x: Tensor, value: Tensor, low: Shape, high: Shape, interior: Shape | None = None) -> Tensor:
    """Return `x` with `value` before, after and between elements; negative widths cut off."""
    between = interior or (0,) * len(low)
    shape = tuple(
        before + extent + max(0, extent - 1) * gap + after
        for extent, before, after, gap in zip(x.shape, low, high, between, strict=True)
    )
    attributes = {"edge_padding_low": low, "edge_padding_high": high, "interior_padding": between}
    return current().emit("pad", (x, value), shape, x.dtype, attributes)


def reverse(x: Tensor, axes: tuple[int, ...]) -> Tensor:
    """Return `x` with the elements along axes in reverse order."""
    if not axes:
        return x
    return current().emit("reverse", (x,), x.shape, x.dtype, {"dimensions": axes})


def dynamic_slice(x: Tensor, starts: Sequence[Tensor], sizes: Shape) -> Tensor:
    """Return a block of `sizes` elements at `starts`, one tensor per axis, moved inside."""
    return current().emit("dynamic_slice", (x, *starts), sizes, x.dtype, {"slice_sizes": sizes})


def dynamic_update_slice(x: Tensor, update: Tensor, starts: Sequence[Tensor]) -> Tensor:
    """Return `x` with `update` written at `starts`, moved to lie inside."""
    if len(starts) != len(x.shape):
        raise BadIndex.here(
            f"{len(starts)} starts are given for a tensor of {len(x.shape)} axes; give one for each"
        )
    return current().emit("dynamic_update_slice", (x, update, *starts), x.shape, x.dtype)


# -- reductions and products ------------------------------------------------------------------


def reduce(x: Tensor, initial: Tensor, axes: tuple[int, ...], reducer: Reducer) -> Tensor:
    """Return `initial` and the elements along axes, combined by `reducer`."""
    shape = _others(x.shape, axes)
    attributes = {"dimensions": tuple(sorted(axes)), "reducer": reducer}
    return current().emit("reduce", (x, initial), shape, x.dtype, attributes)


def dot_general(
    x: Tensor,
    y: Tensor,
    contracting: tuple[tuple[int, ...], tuple[int, ...]],
    batching: tuple[tuple[int, ...], tuple[int, ...]],
    dtype: Dtype,
) -> Tensor:
    """Return sums of products over contracting axes, for each position along batching axes.

    The axes are pairs: those of `x` and those of `y`. The result has the batching axes, then the
    other axes of `x`, then those of `y`. `dtype` is the type of the sums.

    Raises:
        ShapeMismatch: Paired axes have different extents.

    """
    for left, right in zip((*contracting[0], *batching[0]), (*contracting[1], *batching[1])):  # noqa: B905
        if x.shape[left] != y.shape[right]:
            raise ShapeMismatch.here(
                f"shapes {list(x.shape)} and {list(y.shape)} do not multiply: axis {left} of the "
                f"first has {x.shape[left]} elements, axis {right} of the second {y.shape[right]}; "
                "make them equal, as by transposing one"
            )
    batch = tuple(x.shape[axis] for axis in batching[0])
    x_rest = _others(x.shape, contracting[0] + batching[0])
    y_rest = _others(y.shape, contracting[1] + batching[1])
    attributes = {
        "lhs_batching_dimensions": batching[0],
        "rhs_batching_dimensions": batching[1],
        "lhs_contracting_dimensions": contracting[0],
        "rhs_contracting_dimensions": contracting[1],
    }
    return current().emit("dot_general", (x, y), batch + x_rest + y_rest, dtype, attributes)


def _others(shape: Shape, axes: tuple[int, ...]) -> Shape:
    return tuple(extent for axis, extent in enumerate(shape) if axis not in axes)


def call_kernel(
    name: str,
    calls: Callable[..., Sequence[Any]],
    operands: Sequence[Any],
    results: Sequence[tuple[tuple[int, ...], Dtype]],
    flops: int,
) -> tuple[Tensor, ...]:
    """Append a call of a kernel, and return its results as tensors.

    When the graph runs, `calls` returns arrays of the shapes and types in `results`. Kernels get
    here through `Tensor._call_kernel`, and so do not depend on graphs.
    """
    attributes = {"call_target_name": name, "flops": flops}
    builder = current()
    lifted = [lift(operand) for operand in operands]
    result_tensors = builder.emit_several("custom_call", lifted, results, attributes)
    builder.ops[-1 - len(results)].calls = calls
    return result_tensors
