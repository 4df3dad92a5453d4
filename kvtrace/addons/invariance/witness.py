"""Search for witnesses: rows with the same data to which the evaluator gives two values."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from math import prod
from typing import TYPE_CHECKING, Any, Final

import ml_dtypes
import numpy as np
from numpy.typing import NDArray

from kvtrace.addons.invariance.ordered import evaluate_ordered
from kvtrace.evaluate.arguments import Argument, ScalarArgument, Storage, TensorArgument
from kvtrace.evaluate.errors import UNFIT
from kvtrace.inputs.kinds import (
    NO_FILL_VALUES,
    WITH_INTEGERS,
    WITHOUT_OVERFLOW,
    FillValues,
    Inputs,
    numbers_of,
)
from kvtrace.ir.data_dependence import leading_integers
from kvtrace.schema.errors import KvtraceError

if TYPE_CHECKING:
    from kvtrace.recorded_calls.recorded import Call

_MOST_BYTES: Final = 1 << 26
MOST_STEPS: Final = 50_000
_SEEDS: Final = 2
_MOST_PROGRAMS: Final = 256
"""Limit on the programs of a launch that is evaluated in another order."""

_EXTREMES: Final = tuple(
    sign * number
    for bits in (7, 8, 15, 16, 31, 32, 63)
    for number in (2**bits - 1, 2**bits, 2 ** (bits - 1) + 5)
    for sign in (-1, 1)
)
"""Integers near the limits of types, for which arithmetic overflows."""
Dims = frozenset[int]
"""Axes of a tensor that number rows of the batch."""


@dataclass(frozen=True, slots=True)
class Witness:
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


@dataclass(frozen=True)
class BatchedCall:
    """A call with the axes of its tensors that number rows, by argument position."""

    call: Call
    axes: Mapping[int, Dims]
    extents: Mapping[int, tuple[int, ...]] = field(default_factory=dict)
    """The larger shape of each tensor that two launches pad differently, by argument position."""

    def rows(self, output: int) -> int:
        """Return the number of rows of an output."""
        tensor = self.call.arguments[output]
        assert isinstance(tensor, TensorArgument)
        return prod(tensor.shape[axis] for axis in self.axes.get(output, ()))


def batch_axes(first: Call, second: Call, rows: tuple[int, int]) -> Mapping[int, Dims]:
    """Return the axes of each tensor that number rows: their extents grow as the batch does.

    Args:
        first: A call.
        second: A call with another size of the batch.
        rows: The number of the output's rows in each call.
    """
    axes_by_position = {}
    for position, (first_tensor, second_tensor) in enumerate(
        zip(first.arguments, second.arguments, strict=False)
    ):
        if isinstance(first_tensor, TensorArgument) and isinstance(second_tensor, TensorArgument):
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
    padded = _padded_shapes(first, second)
    if padded is None:
        return None
    first, second = replace(first, extents=padded), replace(second, extents=padded)
    compared_rows = None if any_row and not _positions_of_leading(second.call) else 1
    launch_names = [f"{call.rows(output)} rows" for call in (first, second)]
    for seed in range(_SEEDS):
        first_rows, second_rows = (
            _rows_of(call, output, _same_rows, seed) for call in (first, second)
        )
        if (
            first_rows is None
            or second_rows is None
            or first_rows.shape[1:] != second_rows.shape[1:]
        ):
            return None
        witness = _differing(
            first_rows[:1],
            second_rows[:compared_rows],
            f"{launch_names[0]}, row 0",
            f"{launch_names[1]}, row",
        )
        if witness is not None:
            return witness
    return None


def _numbers(call: Call, excluded: Collection[str]) -> list[float]:
    """Return the float arguments of a call, except those with excluded names."""
    scalars = (argument for argument in call.arguments if isinstance(argument, ScalarArgument))
    scalar_values = (argument.value for argument in scalars if argument.name not in excluded)
    return [value for value in scalar_values if isinstance(value, float)]


def witness_of_other_rows(batched: BatchedCall, output: int) -> Witness | None:
    """Return an element of the first or last row that changes with other rows' data, or None.

    None also if loaded integers lead to data: other rows may then belong to the row's own data, as
    the tokens of its sequence do.
    """
    row_count = batched.rows(output)
    if row_count < 2 or _positions_of_leading(batched.call):
        return None
    tensor = batched.call.arguments[output]
    assert isinstance(tensor, TensorArgument)
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
        witness = _differing(row_before, row_after, f"{name} alike", f"{name} not")
        if witness is not None:
            return witness
    return None


def witness_of_program_order(call: Call, output: int) -> Witness | None:
    """Return an element that changes with the order in which programs run, or None.

    The device fixes no order; among atomic updates other than sums, the last or first one decides.
    """
    if prod(call.grid) > _MOST_PROGRAMS:
        return None

    def fill(tensor: TensorArgument, position: int) -> NDArray[Any]:
        return _random_floats(tensor.shape, position, tensor)

    forward, backward = (
        _output_after(call, output, fill, backwards=backwards_first)
        for backwards_first in (False, True)
    )
    if forward is None or backward is None:
        return None
    names = (f"programs {order}" for order in ("from the first to the last", "from the last"))
    return _differing(forward.reshape(1, -1), backward.reshape(1, -1), *names)


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
        result = _output_after(
            replace(call, arguments=arguments), position,
            lambda tensor, tensor_position: _random_floats(tensor.shape, tensor_position, tensor),
        )  # fmt: skip
        if result is None:
            return None
        outputs.append(result.reshape(1, -1))
    first, second = (f"{name} = {argument_value:g}" for argument_value in argument_values)
    return _differing(outputs[0], outputs[1], first, second)


def _padded_shapes(first: BatchedCall, second: BatchedCall) -> dict[int, tuple[int, ...]] | None:
    """Return the larger shape of each tensor that two calls pad differently; None: others differ.

    An extent is padding if, in both calls, it equals the largest integer in some tensor, such as
    one of lengths. Other extents may only differ along the axes that number rows.
    """
    pairs = list(enumerate(zip(first.call.arguments, second.call.arguments, strict=False)))
    largest_integers = {
        (_largest(first_tensor), _largest(second_tensor))
        for _, (first_tensor, second_tensor) in pairs
        if isinstance(first_tensor, TensorArgument) and isinstance(second_tensor, TensorArgument)
    }
    padded_extents: dict[int, tuple[int, ...]] = {}
    for position, (first_tensor, second_tensor) in pairs:
        if not isinstance(first_tensor, TensorArgument) or not isinstance(
            second_tensor, TensorArgument
        ):
            if isinstance(first_tensor, TensorArgument) or isinstance(
                second_tensor, TensorArgument
            ):
                return None
            continue
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


def _largest(tensor: TensorArgument) -> int | None:
    """Return the largest recorded integer of a tensor, or None if no integers were recorded."""
    if tensor.element.kind == "f" or tensor.storage.data is None or 0 in tensor.shape:
        return None
    return int(_view(tensor).max())


def _first_integers(batched: BatchedCall) -> list[bytes]:
    """Return the recorded integers of the first row of each tensor with rows, as bytes."""
    integers = []
    for position, axes in batched.axes.items():
        tensor = batched.call.arguments[position]
        assert isinstance(tensor, TensorArgument)
        if axes and tensor.element.kind != "f" and tensor.storage.data is not None:
            integers.append(_view(tensor)[_first_row(tensor, axes)].tobytes())
    return integers


_OTHER_ROWS: Final[tuple[Inputs, ...]] = ("random numbers", "huge numbers")
"""Contents of the other rows in `witness_of_other_rows`; huge ones show even a tiny influence."""


def versions_differ(
    first: Call,
    second: Call,
    output: int,
    pairs: Sequence[tuple[int, int]],
    drawn: FillValues = NO_FILL_VALUES,
) -> Witness | str | bool | None:
    """Compare an output of two versions of a kernel by the evaluator, on random floats.

    Args:
        first: A call of the first version.
        second: A call of the second version.
        output: The position of the output among the first call's arguments.
        pairs: The positions of each tensor among the arguments of the first and second call.
        drawn: Integers and constants for tensors to hold; without integers, the tensors' integers
            must be recorded.

    Returns:
        An element with two values; a sentence if only one version writes some element; False if
        the results are equal; None if a version cannot be evaluated.
    """
    tensors = list(zip(*pairs, strict=True))
    if not tensors or output not in tensors[0]:
        return None
    rank = tensors[0].index(output)
    integers = _integer_contents(first, second, pairs, drawn.integers)
    if integers is None:
        return None
    results: list[tuple[NDArray[Any], NDArray[np.bool_]]] = []
    for call, positions in zip((first, second), tensors, strict=True):
        result = _result_and_mask(call, positions, rank, integers)
        if result is None:
            return None
        results.append(result)
    (first_values, first_mask), (second_values, second_mask) = (
        (values.reshape(-1), positions.reshape(-1)) for values, positions in results
    )
    if first_values.size != second_values.size:
        return None
    if (first_mask != second_mask).any():
        element = int(np.flatnonzero(first_mask != second_mask)[0])
        writer = "the first" if first_mask[element] else "the second"
        return f"only {writer} version writes element {element}"
    return _witness_between(first_values, second_values)


def versions_differ_on(
    inputs: Inputs,
    first: Call,
    second: Call,
    output: int,
    pairs: Sequence[tuple[int, int]],
    drawn: FillValues = NO_FILL_VALUES,
) -> Witness | bool | None:
    """Compare as `versions_differ` on a kind of inputs, or None; unwritten elements are equal."""
    rank = [first_values for first_values, _ in pairs].index(output)
    outputs: list[NDArray[Any]] = []
    for call, positions in zip((first, second), zip(*pairs, strict=True), strict=True):
        fill = filled_with(inputs, first, second, positions, pairs, drawn)
        result = fill and _output_after(call, positions[rank], fill, any_integers=True)
        if result is None:
            return None
        outputs.append(result.reshape(-1))
    first_values, second_values = outputs
    return (
        None
        if first_values.size != second_values.size
        else _witness_between(first_values, second_values, inputs)
    )


def filled_with(
    inputs: Inputs,
    first: Call,
    second: Call,
    positions: Sequence[int],
    pairs: Sequence[tuple[int, int]],
    drawn: FillValues,
) -> Fill | None:
    """Return a function that fills a version's tensors with a kind of inputs.

    None if the kind needs integers or constants that are not known.

    Args:
        inputs: The kind.
        first: A call of the first version.
        second: A call of the second version.
        positions: The positions of the pairs' tensors in the version that is filled.
        pairs: The positions of each tensor among the arguments of the first and second call.
        drawn: Integers and constants for tensors to hold.
    """
    needs_integers = inputs in WITH_INTEGERS
    integers = _integer_contents(first, second, pairs, drawn.integers, others=needs_integers)
    if integers is None or (needs_integers and not (integers and drawn.integers)):
        return None
    if inputs == "integers that are 0":
        integers = {rank: np.zeros_like(array) for rank, array in integers.items()}
    if inputs == "constants of the kernels" and not drawn.constants:
        return None
    if inputs == "numbers beyond the constants" and not drawn.exceeded:
        return None
    constants = drawn.exceeded if inputs == "numbers beyond the constants" else drawn.constants

    def fill(tensor: TensorArgument, position: int) -> NDArray[Any]:
        if tensor.element.kind != "f":
            return integers[positions.index(position)]
        rank = positions.index(position)
        return numbers_of(inputs, tensor.shape, tensor.element.memory, rank, constants)

    return fill


def _witness_between(
    first_values: NDArray[Any], second_values: NDArray[Any], inputs: Inputs = "random numbers"
) -> Witness | bool:
    """Return an element with two values, or False.

    Elements that are finite in the first version come first, as an overflow is weak evidence of a
    change. On inputs without overflow, a NaN in one version only is strong evidence, so that all
    elements count alike.
    """
    before, after = first_values.reshape(1, -1), second_values.reshape(1, -1)
    names = "the first version", "the second"
    witness = None
    if inputs not in WITHOUT_OVERFLOW:
        with np.errstate(invalid="ignore"):
            was_finite = np.isfinite(before.astype(np.float64))
        witness = _differing(before, np.where(was_finite, after, before), *names)
    return witness or _differing(before, after, *names) or False


def _result_and_mask(
    call: Call, positions: Sequence[int], rank: int, integers: Mapping[int, NDArray[Any]]
) -> tuple[NDArray[Any], NDArray[np.bool_]] | None:
    """Return (a tensor's contents after a launch, mask of the written elements), or None."""
    results = []
    for seed in (0, 1):  # unwritten elements keep the contents of both seeds

        def fill(tensor: TensorArgument, position: int, seed: int = seed) -> NDArray[Any]:
            tensor_rank = positions.index(position)
            if tensor.element.kind != "f":
                return (
                    integers[tensor_rank] ^ integers[tensor_rank].dtype.type(seed)
                    if tensor_rank == rank
                    else integers[tensor_rank]
                )
            return _random_floats(
                tensor.shape, tensor_rank + (1000 * seed if tensor_rank == rank else 0), tensor
            )

        result = _output_after(call, positions[rank], fill, any_integers=True)
        if result is None:
            return None
        tensor = call.arguments[positions[rank]]
        assert isinstance(tensor, TensorArgument)
        results.append((result, fill(tensor, positions[rank])))
    is_unchanged = np.logical_and(*(_bits(after) == _bits(before) for after, before in results))
    return results[0][0], ~is_unchanged.reshape(*results[0][0].shape, -1).all(axis=-1)


def _bits(array: NDArray[Any]) -> NDArray[np.uint8]:
    return np.ascontiguousarray(array).reshape(-1).view(np.uint8)


def _differing(compared_row: Any, other_rows: Any, first: str, second: str) -> Witness | None:
    """Return the element with the largest distance between a row and other rows, or None.

    All NaNs are equal. The row's number is appended to `second` if that ends in "row".
    """
    first_row, rows = (array.reshape(len(array), -1) for array in (compared_row, other_rows))
    differs = _bits_of(first_row) != _bits_of(rows)
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


def _bits_of(array: NDArray[Any]) -> NDArray[Any]:
    """Return the elements of a matrix as unsigned integers of their width."""
    whole = np.ascontiguousarray(array)
    return whole.view(f"u{whole.dtype.itemsize}")


def _epsilon(dtype: np.dtype[Any]) -> float:
    """Return the distance from 1 to the next number of a type; 1 for integers."""
    if dtype.kind in "iub":
        return 1.0
    return float(ml_dtypes.finfo(dtype).eps)


def _text_of_value(value: Any) -> str:
    return repr(value.item())


# -- launches ------------------------------------------------------------------------------------


Fill = Callable[[TensorArgument, int], NDArray[Any]]
"""Function from a tensor and its position among the arguments to the tensor's contents."""


def _rows_of(
    batched: BatchedCall,
    output: int,
    fill: Callable[[TensorArgument, Dims, int, Sequence[int]], NDArray[Any]],
    seed: int,
) -> NDArray[Any] | None:
    """Return an output's rows after a launch, shaped (rows, …); None if evaluation fails."""
    result = _output_after(
        batched.call,
        output,
        lambda tensor, n: fill(
            tensor,
            batched.axes.get(n, frozenset()),
            n + 10_000 * seed,
            batched.extents.get(n, tensor.shape),
        ),
        filled_integers=not _positions_of_leading(batched.call),
    )
    if result is None:
        return None
    axes = sorted(batched.axes.get(output, ()))
    rows = np.moveaxis(result, axes, range(len(axes)))
    return rows.reshape(batched.rows(output), *rows.shape[len(axes) :])


def _integer_contents(
    first: Call,
    second: Call,
    pairs: Sequence[tuple[int, int]],
    integers: Sequence[int],
    *,
    others: bool = False,
) -> dict[int, NDArray[Any]] | None:
    """Return contents of integer tensors for both versions, by their index in `pairs`.

    Recorded contents are used unless `others`; otherwise random choices of `integers`. None if a
    version reads a tensor that was not recorded and `integers` is empty.
    """
    contents: dict[int, NDArray[Any]] = {}
    reads = [_read_positions(call) for call in (first, second)]
    for rank, positions in enumerate(pairs):
        tensors = [call.arguments[n] for call, n in zip((first, second), positions, strict=True)]
        present_tensors = [tensor for tensor in tensors if isinstance(tensor, TensorArgument)]
        if not present_tensors or present_tensors[0].element.kind == "f":
            continue
        recorded = next(
            (tensor for tensor in present_tensors if tensor.storage.data is not None), None
        )
        is_read = any(n in read for n, read in zip(positions, reads, strict=True))
        if recorded is not None and not others:
            contents[rank] = _view(recorded).copy()
        elif is_read and not integers:
            return None
        else:
            extremes = _EXTREMES if others else ()
            contents[rank] = _random_integers((*integers, *extremes), present_tensors[0], rank)
    return contents


def _random_integers(integers: Sequence[int], tensor: TensorArgument, seed: int) -> NDArray[Any]:
    """Return a random choice of the integers that a tensor's type can hold, in its shape."""
    limits = np.iinfo(tensor.element.memory) if tensor.element.memory.kind in "iu" else None
    low, high = (0, 1) if limits is None else (limits.min, limits.max)
    fitting = [integer for integer in integers if low <= integer <= high] or [0]
    numbers = np.random.default_rng(seed).choice(fitting, tensor.shape)
    return numbers.astype(tensor.element.memory)


def _output_after(
    call: Call,
    output: int,
    fill: Fill,
    *,
    any_integers: bool = False,
    filled_integers: bool = False,
    backwards: bool = False,
) -> NDArray[Any] | None:
    """Return a tensor's contents after a launch, or None if evaluation fails.

    Args:
        call: The launch.
        output: The tensor's position among the arguments.
        fill: Returns the floats, and the integers with `any_integers` or `filled_integers`.
        any_integers: Fill integers, and ignore recorded ones. Otherwise recorded integers are
            used, or 1 if none were recorded and the integers select no data.
        filled_integers: Fill integers by `fill`, which is called with their other contents.
        backwards: Run programs from the last to the first.

    """
    arguments = filled_arguments(
        call, fill, any_integers=any_integers, filled_integers=filled_integers
    )
    if arguments is None:
        return None
    try:
        with np.errstate(all="ignore"):
            for programs in _program_groups(call, backwards=backwards):
                evaluate_ordered(
                    call.module, arguments, call.grid, kernel=call.kernel,
                    most_steps=MOST_STEPS, programs=programs,
                )  # fmt: skip
    except (KvtraceError, *UNFIT):
        return None
    tensor = arguments[output]
    assert isinstance(tensor, TensorArgument)
    return _view(tensor).copy()


def filled_arguments(
    call: Call, fill: Fill, *, any_integers: bool = False, filled_integers: bool = False
) -> list[Argument] | None:
    """Return a call's arguments with new contents, as for `_output_after`.

    None if the tensors are too large, or if integers that select data were not recorded.
    """
    if sum(map(_nbytes, call.arguments)) > _MOST_BYTES:
        return None
    leading = _positions_of_leading(call)
    storages: dict[int, Storage] = {}
    arguments: list[Argument] = []
    for position, argument in enumerate(call.arguments):
        if not isinstance(argument, TensorArgument):
            arguments.append(argument)
            continue
        original = argument.storage
        if id(original) not in storages:
            data = np.zeros(original.nbytes, np.uint8)
            if argument.element.kind != "f" and not any_integers:
                if original.data is not None:
                    data[:] = original.data
                elif position in leading:
                    return None  # any integers would lead rows to each other's data
            storages[id(original)] = Storage(original.nbytes, data, original.address)
        tensor = replace(argument, storage=storages[id(original)])
        if original.data is None and argument.element.kind != "f":
            _view(tensor)[...] = 1
        if argument.element.kind == "f" or any_integers or filled_integers:
            _view(tensor)[...] = fill(tensor, position)
        arguments.append(tensor)
    return arguments


def _program_groups(call: Call, *, backwards: bool) -> list[NDArray[np.int64] | None]:
    """Return groups of programs in the order of evaluation; [None] is the whole grid, forwards."""
    return [np.asarray([n]) for n in reversed(range(prod(call.grid)))] if backwards else [None]


def _read_positions(call: Call) -> frozenset[int]:
    """Return the positions of the arguments that a kernel may read."""
    from kvtrace.symbolic.walk import summarize

    loads = [access for access in summarize(call.module).accesses if access.kind != "store"]
    if any(access.argument is None for access in loads):
        return frozenset(range(len(call.arguments)))
    return frozenset(access.argument for access in loads if access.argument is not None)


def _positions_of_leading(call: Call) -> frozenset[int]:
    """Return the positions of tensors whose integers decide which data are read, written or run.

    All positions if some load is not through an argument.
    """
    from kvtrace.symbolic.walk import summarize

    leading = leading_integers(call.module)
    reads = {
        access.argument for access in summarize(call.module).accesses if access.op.index in leading
    }
    positions = frozenset(position for position in reads if position is not None)
    return frozenset(range(len(call.arguments))) if len(positions) < len(reads) else positions


def _nbytes(argument: Argument) -> int:
    return argument.storage.nbytes if isinstance(argument, TensorArgument) else 0


def _view(tensor: TensorArgument) -> NDArray[Any]:
    """Return an array of a tensor's elements in its storage; writing to it changes the storage."""
    assert tensor.storage.data is not None
    memory = tensor.storage.data[tensor.offset_bytes :]
    memory = memory[: memory.size // tensor.element.bytes * tensor.element.bytes]
    strides = [stride * tensor.element.bytes for stride in tensor.strides]
    return np.lib.stride_tricks.as_strided(
        memory.view(tensor.element.memory), tensor.shape, strides
    )


def _first_row(tensor: TensorArgument, axes: Dims) -> tuple[slice, ...]:
    """Return the index of a tensor's first row, as slices, so that all axes remain."""
    return tuple(slice(0, 1) if n in axes else slice(None) for n in range(len(tensor.shape)))


def _random_floats(shape: Sequence[int], seed: int, tensor: TensorArgument) -> NDArray[Any]:
    numbers = np.random.default_rng(seed).standard_normal(shape)
    return numbers.astype(tensor.element.memory)


def _same_rows(
    tensor: TensorArgument, axes: Dims, seed: int, extents: Sequence[int]
) -> NDArray[Any]:
    """Return a tensor's contents with equal rows: random floats, or the first row's integers."""
    if tensor.element.kind != "f":
        return np.broadcast_to(_view(tensor)[_first_row(tensor, axes)].copy(), tensor.shape)
    inner = [1 if axis in axes else extent for axis, extent in enumerate(extents)]
    within = tuple(slice(extent) for extent in tensor.shape)
    return np.broadcast_to(_random_floats(inner, seed, tensor)[within], tensor.shape)


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
        contents = _view(tensor).copy()
    index = tuple(
        unchanged_row if axis in axes else slice(None) for axis in range(len(tensor.shape))
    )
    contents[index] = same[index]
    return contents
