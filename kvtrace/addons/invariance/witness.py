"""Witnesses: launches in which a row holds the same data and the evaluator gives it two values."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from math import prod
from typing import TYPE_CHECKING, Any, Final

import numpy as np
from numpy.typing import NDArray

from kvtrace.evaluate import evaluate
from kvtrace.evaluate.arguments import Argument, Storage, TensorArgument
from kvtrace.evaluate.errors import UNFIT
from kvtrace.schema.errors import KvtraceError

if TYPE_CHECKING:
    from kvtrace.recorded_calls.recorded import Call

_MOST_BYTES: Final = 1 << 26
_MOST_STEPS: Final = 200_000

Dims = frozenset[int]
"""Axes of a tensor that number rows of the batch."""


@dataclass(frozen=True, slots=True)
class Witness:
    """An element of a row that has two values, by the evaluator, for the same data in the row.

    `first` and `second` say in which launch and row, as "100 rows, row 0".
    """

    element: int
    first: str
    second: str
    values: tuple[str, str]


@dataclass(frozen=True)
class Batched:
    """A call whose tensors' batch axes are known, by the arguments' positions."""

    call: Call
    axes: Mapping[int, Dims]

    def rows(self, output: int) -> int:
        """Return how many rows an output has."""
        tensor = self.call.arguments[output]
        assert isinstance(tensor, TensorArgument)
        return prod(tensor.shape[axis] for axis in self.axes.get(output, ()))


def axes_that_differ(first: Call, second: Call) -> Mapping[int, Dims]:
    """Return which axes of tensors have another extent in another call: those of the batch."""
    found = {}
    for position, (one, other) in enumerate(zip(first.arguments, second.arguments, strict=False)):
        if isinstance(one, TensorArgument) and isinstance(other, TensorArgument):
            pairs = enumerate(zip(one.shape, other.shape, strict=False))
            found[position] = frozenset(axis for axis, (m, n) in pairs if m != n)
    return found


def between(first: Batched, second: Batched, output: int) -> Witness | None:
    """Return an element that two launches of different batches give two values, if one is found.

    All rows hold the same data in both, so every row should have the same result in both.
    """
    one, other = (_rows_of(each, output, _same_rows) for each in (first, second))
    if one is None or other is None or one.shape[1:] != other.shape[1:]:
        return None
    names = [f"{each.rows(output)} rows" for each in (first, second)]
    return _differing(one[:1], other, f"{names[0]}, row 0", f"{names[1]}, row {{}}")


def within(batched: Batched, output: int) -> Witness | None:
    """Return an element that differs between rows of one launch that hold the same data."""
    rows = _rows_of(batched, output, _same_rows)
    name = f"{batched.rows(output)} rows"
    if rows is None:
        return None
    return _differing(rows[:1], rows, f"{name}, row 0", f"{name}, row {{}}")


def with_other_rows(batched: Batched, output: int) -> Witness | None:
    """Return an element of row 0 that changes with what the other rows hold."""
    rows = [_rows_of(batched, output, fill) for fill in (_same_rows, _own_rows)]
    if rows[0] is None or rows[1] is None:
        return None
    name = f"{batched.rows(output)} rows, row 0, the others"
    return _differing(rows[0][:1], rows[1][:1], f"{name} alike", f"{name} not")


def _differing(one: Any, others: Any, first: str, second: str) -> Witness | None:
    """Return the first element of a row that has other bits in one of some rows."""
    first_row, rows = (each.reshape(len(each), -1) for each in (one, others))
    size = rows.dtype.itemsize
    bits = [np.ascontiguousarray(each).view(np.uint8) for each in (first_row, rows)]
    unlike = (bits[0] != bits[1]).reshape(*rows.shape, size).any(axis=2)
    nans = [np.isnan(each.astype(np.float64)) for each in (first_row, rows)]
    unlike &= ~(nans[0] & nans[1])
    if not unlike.any():
        return None
    row, element = (int(index) for index in np.argwhere(unlike)[0])
    values = (first_row[0, element], rows[row, element])
    return Witness(element, first, second.format(row), (_shown(values[0]), _shown(values[1])))


def _shown(value: Any) -> str:
    return repr(value.item())


# -- launches ------------------------------------------------------------------------------------


def _rows_of(
    batched: Batched, output: int, fill: Callable[[TensorArgument, Dims, int], NDArray[Any]]
) -> NDArray[Any] | None:
    """Return the rows of an output of a launch, (rows, …); None where it cannot be evaluated."""
    call = batched.call
    if sum(_nbytes(each) for each in call.arguments) > _MOST_BYTES:
        return None
    storages: dict[int, Storage] = {}
    arguments: list[Argument] = []
    for position, given in enumerate(call.arguments):
        if isinstance(given, TensorArgument):
            own = given.storage
            if id(own) not in storages:
                data = np.zeros(own.nbytes, np.uint8)
                if own.data is not None and given.element.kind != "f":
                    data[:] = own.data
                storages[id(own)] = Storage(own.nbytes, data, own.address)
            tensor = replace(given, storage=storages[id(own)])
            if given.element.kind == "f":
                _view(tensor)[...] = fill(tensor, batched.axes.get(position, frozenset()), position)
            arguments.append(tensor)
        else:
            arguments.append(given)
    try:
        with np.errstate(all="ignore"):
            evaluate(
                call.module, arguments, call.grid, kernel=call.kernel, most_steps=_MOST_STEPS
            )
    except (KvtraceError, *UNFIT):
        return None
    left = arguments[output]
    assert isinstance(left, TensorArgument)
    axes = sorted(batched.axes.get(output, ()))
    rows = np.moveaxis(_view(left), axes, range(len(axes)))
    return rows.reshape(batched.rows(output), *rows.shape[len(axes) :]).copy()


def _nbytes(argument: Argument) -> int:
    return argument.storage.nbytes if isinstance(argument, TensorArgument) else 0


def _view(tensor: TensorArgument) -> NDArray[Any]:
    """Return a tensor's elements in its storage."""
    assert tensor.storage.data is not None
    memory = tensor.storage.data[tensor.offset_bytes :]
    memory = memory[: memory.size // tensor.element.bytes * tensor.element.bytes]
    strides = [stride * tensor.element.bytes for stride in tensor.strides]
    return np.lib.stride_tricks.as_strided(
        memory.view(tensor.element.memory), tensor.shape, strides
    )


def _same_rows(tensor: TensorArgument, axes: Dims, position: int) -> NDArray[Any]:
    """Return the same random numbers for every row: those of a tensor without its batch axes."""
    inner = [1 if axis in axes else extent for axis, extent in enumerate(tensor.shape)]
    random = np.random.default_rng(position).standard_normal(inner)
    return np.broadcast_to(random, tensor.shape).astype(tensor.element.memory)


def _own_rows(tensor: TensorArgument, axes: Dims, position: int) -> NDArray[Any]:
    """Return rows of which the first is as `_same_rows` has it, and the others are not."""
    found = _same_rows(tensor, axes, position).astype(np.float64)
    others = np.random.default_rng(position + 1000).standard_normal(tensor.shape)
    for axis in axes:
        kept = [slice(None)] * len(tensor.shape)
        kept[axis] = slice(1, None)
        found[tuple(kept)] = others[tuple(kept)]
    return found.astype(tensor.element.memory)
