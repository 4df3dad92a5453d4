"""Search for witnesses: rows with the same data to which the evaluator gives two values."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Collection, Mapping, Sequence
from functools import partial
from math import prod
from typing import Any, Final

import ml_dtypes
import numpy as np
from msgspec import Struct
from msgspec.structs import replace
from numpy.typing import NDArray

from kvtrace.addons.invariance.input_kinds import Inputs, numbers_of
from kvtrace.addons.invariance.launches import (
    elements_of,
    output_after,
    positions_of_leading,
)
from kvtrace.evaluate.arguments import ScalarArgument, TensorArgument
from kvtrace.recorded_calls.recorded import Call

_MOST_PROGRAMS: Final = 256
"""Limit on the programs of a launch that is evaluated in another order."""
Dims = frozenset[int]
"""Axes of a tensor that number rows of the batch."""


class Witness(Struct, frozen=True):
    """An element to which the evaluator gives two values for the same data in its row.

    `first` and `second` name the launch and row of each value, such as "100 rows, row 0". `ulps` is
    the distance of the values in units in the last place of the output's type, at the row's largest
    element.
    """

    element: int
    first: str
    second: str
    values: tuple[str, str]
    ulps: float = 0.0

    @property
    def is_finite(self) -> bool:
        """Both values are finite numbers."""
        return all(map(is_finite, self.values))

    @property
    def has_one_nan(self) -> bool:
        """One of the values is NaN; both cannot be, as all NaNs count as equal."""
        return any(value == "nan" for value in self.values)


def is_finite(value: str) -> bool:
    """Return whether a value of a `Witness` is a finite number."""
    return value not in ("nan", "inf", "-inf")


class BatchedCall(Struct, frozen=True):
    """A call with the axes of its tensors that number rows, by argument position."""

    call: Call
    axes: Mapping[int, Dims]
    extents: Mapping[int, tuple[int, ...]] = {}
    """The larger shape of each tensor that two launches pad differently, by argument position."""

    def rows(self, output: int) -> int:
        """Return the number of rows of an output."""
        tensor = self.call.tensor(output)
        return prod(tensor.shape[axis] for axis in self.axes.get(output, ()))


def batch_axes(first: Call, second: Call, rows: tuple[int, int]) -> Mapping[int, Dims]:
    """Return the axes of each tensor that number rows: their extents grow as the batch does.

    Args:
        first: A call.
        second: A call with another size of the batch.
        rows: The number of the output's rows in each call.
    """
    axes_by_position = {}
    for position, (first_tensor, second_tensor) in enumerate(_tensor_pairs(first, second)):
        if first_tensor and second_tensor:
            pairs = enumerate(zip(first_tensor.shape, second_tensor.shape, strict=False))
            axes_by_position[position] = frozenset(
                axis for axis, (m, n) in pairs if m != n and m * rows[1] == n * rows[0]
            )
    return axes_by_position


def witness_between_sizes(
    first: BatchedCall,
    second: BatchedCall,
    output: int,
    *,
    any_row: bool = False,
    numbers: Collection[str] = (),
) -> Witness | None:
    """Return an element with different values in equal rows of two launches, or None.

    All rows of both launches are filled with the same random data.

    Args:
        first: A launch; its row 0 is compared.
        second: A launch of another batch size.
        output: The position of the output among the arguments.
        any_row: Compare all rows of the second launch, unless integers in memory may lead rows to
            other data. Else only row 0 is compared.
        numbers: Names of scalar arguments that the size of the batch decides.
    """
    if _first_integers(first) != _first_integers(second):
        return None  # then the row does not hold the same data
    if _numbers(first.call, numbers) != _numbers(second.call, numbers):
        return None
    compared_rows = None if any_row and not positions_of_leading(second.call) else 1
    names = [f"{call.rows(output)} rows" for call in (first, second)]
    for seed, inputs in enumerate(_SAME_ROWS):
        rows = _equal_rows(first, second, output, inputs, seed)
        if rows is None:
            return None
        witness = differing_element(
            rows[0][:1], rows[1][:compared_rows], f"{names[0]}, row 0", f"{names[1]}, row"
        )
        if witness is not None:
            return witness
    return None


def witness_on_nans(first: BatchedCall, second: BatchedCall, output: int) -> Witness | bool:
    """Return an element that differs where all floats are NaN; whether it was evaluated, if none.

    Row 0 of both launches is compared.
    """
    rows = _equal_rows(first, second, output, "nothing but NaNs", 0)
    if rows is None:
        return False
    names = (f"{call.rows(output)} rows of NaNs" for call in (first, second))
    return differing_element(rows[0][:1], rows[1][:1], *names) or True


def _equal_rows(
    first: BatchedCall, second: BatchedCall, output: int, inputs: Inputs, seed: int
) -> tuple[NDArray[Any], NDArray[Any]] | None:
    """Return an output's rows after two launches whose input rows are all equal.

    None: the launches cannot have the same rows, or one cannot be evaluated.
    """
    padded = _padded_shapes(first, second)
    if padded is None:
        return None
    fill = partial(_same_rows, inputs=inputs)
    before, after = (
        _rows_of(replace(call, extents=padded), output, fill, seed) for call in (first, second)
    )
    if before is None or after is None or before.shape[1:] != after.shape[1:]:
        return None
    return before, after


def _numbers(call: Call, excluded: Collection[str]) -> list[float]:
    """Return the float arguments of a call, except those with excluded names."""
    return [
        value
        for name, value in call.scalars.items()
        if name not in excluded and isinstance(value, float)
    ]


def witness_of_other_rows(batched: BatchedCall, output: int) -> Witness | None:
    """Return an element of the first or last row that changes with other rows' data, or None.

    None also if loaded integers lead to data: other rows may then belong to the row's own data, as
    the tokens of its sequence do.
    """
    row_count = batched.rows(output)
    if row_count < 2 or positions_of_leading(batched.call):
        return None
    tensor = batched.call.tensor(output)
    rows = [tensor.shape[axis] for axis in sorted(batched.axes.get(output, ()))]
    with_same_rows = _rows_of(batched, output, _same_rows, 0)
    if with_same_rows is None:
        return None
    for inputs, row in itertools.product(_OTHER_ROWS, (0, row_count - 1)):
        fill = partial(
            _differing_rows, rows=rows, unchanged_row=0 if row == 0 else -1, inputs=inputs
        )
        with_other_rows = _rows_of(batched, output, fill, 0)
        if with_other_rows is None:
            return None
        name = f"{row_count} rows, row {row}, the others"
        row_before, row_after = (with_same_rows[row : row + 1], with_other_rows[row : row + 1])
        witness = differing_element(row_before, row_after, f"{name} alike", f"{name} not")
        if witness is not None:
            return witness
    return None


def witness_of_program_order(call: Call, output: int) -> Witness | None:
    """Return an element that changes with the order in which programs run, or None.

    The device fixes no order; among atomic updates other than sums, the last or first one decides.
    """
    if prod(call.grid) > _MOST_PROGRAMS:
        return None
    forward, backward = (
        output_after(call, output, _random_floats, backwards=backwards_first)
        for backwards_first in (False, True)
    )
    if forward is None or backward is None:
        return None
    names = (f"programs {order}" for order in ("from the first to the last", "from the last"))
    return differing_element(forward.reshape(1, -1), backward.reshape(1, -1), *names)


def witness_of_float(call: Call, output: str, name: str) -> Witness | None:
    """Return an element of an output that changes with a float argument of a call, or None.

    Args:
        call: The call.
        output: The name of the output.
        name: The name of the argument, which must be a recorded float.
    """
    names = [value.name.lstrip("%") for value in call.module.main.arguments]
    scalar = next((argument for argument in call.arguments if argument.name == name), None)
    if not isinstance(scalar, ScalarArgument) or not isinstance(scalar.value, float):
        return None
    position, argument_values = names.index(output), (scalar.value, 2 * scalar.value + 1)
    outputs = []
    for argument_value in argument_values:
        arguments = tuple(
            replace(scalar, value=argument_value) if argument is scalar else argument
            for argument in call.arguments
        )
        result = output_after(replace(call, arguments=arguments), position, _random_floats)
        if result is None:
            return None
        outputs.append(result.reshape(1, -1))
    first, second = (f"{name} = {argument_value:g}" for argument_value in argument_values)
    return differing_element(outputs[0], outputs[1], first, second)


def _random_floats(tensor: TensorArgument, position: int) -> NDArray[Any]:
    return numbers_of("random numbers", tensor.shape, tensor.element.memory, position)


def _padded_shapes(first: BatchedCall, second: BatchedCall) -> dict[int, tuple[int, ...]] | None:
    """Return the larger shape of each tensor that two calls pad differently; None: others differ.

    An extent is padding if, in both calls, it equals the largest integer in some tensor, such as
    one of lengths. Other extents may only differ along the axes that number rows.
    """
    pairs = _tensor_pairs(first.call, second.call)
    largest_integers = {(_largest(one), _largest(other)) for one, other in pairs if one and other}
    padded_extents: dict[int, tuple[int, ...]] = {}
    for position, (first_tensor, second_tensor) in enumerate(pairs):
        if first_tensor is second_tensor is None:
            continue
        if not first_tensor or not second_tensor:
            return None
        if len(first_tensor.shape) != len(second_tensor.shape):
            return None
        extent_pairs = list(zip(first_tensor.shape, second_tensor.shape, strict=True))
        rows = first.axes.get(position, frozenset())
        differing_extents = {
            pair for n, pair in enumerate(extent_pairs) if n not in rows and pair[0] != pair[1]
        }
        if differing_extents and (not rows or not differing_extents <= largest_integers):
            return None
        if differing_extents:
            padded_extents[position] = tuple(max(pair) for pair in extent_pairs)
    return padded_extents


def _tensor_pairs(
    first: Call, second: Call
) -> list[tuple[TensorArgument | None, TensorArgument | None]]:
    """Return the tensors of both calls at each position, None for scalars."""
    positions = range(min(len(first.arguments), len(second.arguments)))
    return [(first.tensor_at(position), second.tensor_at(position)) for position in positions]


def _largest(tensor: TensorArgument) -> int | None:
    """Return the largest recorded integer of a tensor, or None if no integers were recorded."""
    if tensor.element.kind == "f" or tensor.storage.data is None or 0 in tensor.shape:
        return None
    return int(elements_of(tensor).max())


def _first_integers(batched: BatchedCall) -> list[bytes]:
    """Return the recorded integers of the first row of each tensor with rows, as bytes."""
    integers = []
    for position, axes in batched.axes.items():
        tensor = batched.call.tensor(position)
        if axes and tensor.element.kind != "f" and tensor.storage.data is not None:
            integers.append(elements_of(tensor)[_first_row(tensor, axes)].tobytes())
    return integers


_OTHER_ROWS: Final[tuple[Inputs, ...]] = (
    "random numbers", "huge numbers", "numbers with NaNs, infinities and zeros",
)  # fmt: skip
"""Contents of the other rows in `witness_of_other_rows`; huge ones show even a tiny influence."""
_SAME_ROWS: Final[tuple[Inputs, ...]] = (
    "random numbers", "random numbers", "infinities among numbers", "nothing but NaNs",
    "nothing but -infinities",
)  # fmt: skip
"""Contents of equal rows in `witness_between_sizes`."""


def differing_element(
    compared_row: Any, other_rows: Any, first: str, second: str
) -> Witness | None:
    """Return the element with the largest distance between a row and other rows, or None.

    All NaNs are equal. The row's number is appended to `second` if that ends in "row".
    """
    first_row, rows = (array.reshape(len(array), -1) for array in (compared_row, other_rows))
    differs = bits_of(first_row) != bits_of(rows)
    with np.errstate(invalid="ignore"):
        values = [array.astype(np.float64) for array in (first_row, rows)]
        nans = [np.isnan(array) for array in values]
        distances = np.abs(values[0] - values[1])
    differs &= ~(nans[0] & nans[1])
    if not differs.any():
        return None
    distances = np.where(differs, np.where(np.isnan(distances), np.inf, distances), -1.0)
    row, element = (int(index) for index in np.unravel_index(np.argmax(distances), distances.shape))
    largest = np.abs(values[0][np.isfinite(values[0])]).max(initial=1e-30)
    return Witness(
        element, first, f"{second} {row}" if second.endswith(" row") else second,
        (_text_of_value(first_row[0, element]), _text_of_value(rows[row, element])),
        float(distances[row, element]) / (_epsilon(first_row.dtype) * float(largest)),
    )  # fmt: skip


def bits_of(array: NDArray[Any]) -> NDArray[Any]:
    """Return elements as unsigned integers of their width."""
    whole = np.ascontiguousarray(array)
    return whole.view(f"u{whole.dtype.itemsize}")


def _epsilon(dtype: np.dtype[Any]) -> float:
    """Return the distance from 1 to the next number of a type; 1 for integers."""
    if dtype.kind in "iub":
        return 1.0
    return float(ml_dtypes.finfo(dtype).eps)


def _text_of_value(value: Any) -> str:
    return repr(value.item())


def _rows_of(
    batched: BatchedCall,
    output: int,
    fill: Callable[[TensorArgument, Dims, int, Sequence[int]], NDArray[Any]],
    seed: int,
) -> NDArray[Any] | None:
    """Return an output's rows after a launch, shaped (rows, …); None if evaluation fails."""
    result = output_after(
        batched.call,
        output,
        lambda tensor, n: fill(
            tensor,
            batched.axes.get(n, frozenset()),
            n + 10_000 * seed,
            batched.extents.get(n, tensor.shape),
        ),
        filled_integers=not positions_of_leading(batched.call),
    )
    if result is None:
        return None
    axes = sorted(batched.axes.get(output, ()))
    rows = np.moveaxis(result, axes, range(len(axes)))
    return rows.reshape(batched.rows(output), *rows.shape[len(axes) :])


def _first_row(tensor: TensorArgument, axes: Dims) -> tuple[slice, ...]:
    """Return the index of a tensor's first row, as slices, so that all axes remain."""
    return tuple(slice(0, 1) if n in axes else slice(None) for n in range(len(tensor.shape)))


def _same_rows(
    tensor: TensorArgument, axes: Dims, seed: int, extents: Sequence[int],
    inputs: Inputs = "random numbers",
) -> NDArray[Any]:  # fmt: skip
    """Return a tensor's contents with equal rows: floats of a kind, or the first row's integers."""
    if tensor.element.kind != "f":
        return np.broadcast_to(elements_of(tensor)[_first_row(tensor, axes)].copy(), tensor.shape)
    inner = [1 if axis in axes else extent for axis, extent in enumerate(extents)]
    within = tuple(slice(extent) for extent in tensor.shape)
    numbers = numbers_of(inputs, inner, tensor.element.memory, seed)
    return np.broadcast_to(numbers[within], tensor.shape)


def _differing_rows(
    tensor: TensorArgument,
    axes: Dims,
    seed: int,
    extents: Sequence[int],
    *,
    rows: Sequence[int],
    unchanged_row: int,
    inputs: Inputs,
) -> NDArray[Any]:
    """Return contents of a tensor with different rows, except `unchanged_row`, as in `_same_rows`.

    A tensor with another number of rows than the output has equal rows, as it is not known which of
    its rows belongs to a row of the output.
    """
    same = _same_rows(tensor, axes, seed, extents)
    if [tensor.shape[axis] for axis in sorted(axes)] != list(rows):
        return same
    if tensor.element.kind == "f":
        others = numbers_of(inputs, tensor.shape, tensor.element.memory, seed + 1000)
        contents = np.asarray(others * tensor.element.memory.type(4))  # so that maxima change, too
    else:
        contents = elements_of(tensor).copy()
    index = tuple(
        unchanged_row if axis in axes else slice(None) for axis in range(len(tensor.shape))
    )
    contents[index] = same[index]
    return contents
