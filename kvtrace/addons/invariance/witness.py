"""Witnesses: launches in which a row holds the same data and the evaluator gives it two values."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from math import prod
from types import MappingProxyType
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
_SEEDS: Final = 4
_ROUNDING: Final = 1e-4
"""What sums in another order may differ by here, relative to the largest element of the row."""
_MOST_PROGRAMS: Final = 256

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


def batch_axes(first: Call, second: Call, rows: tuple[int, int]) -> Mapping[int, Dims]:
    """Return which axes of tensors number rows: those that grow as the batch does.

    Args:
        first: A call.
        second: One of another batch.
        rows: How many rows the output has in each.

    """
    found = {}
    for position, (one, other) in enumerate(zip(first.arguments, second.arguments, strict=False)):
        if isinstance(one, TensorArgument) and isinstance(other, TensorArgument):
            pairs = enumerate(zip(one.shape, other.shape, strict=False))
            found[position] = frozenset(
                axis for axis, (m, n) in pairs if m != n and m * rows[1] == n * rows[0]
            )
    return found


def between(first: Batched, second: Batched, output: int) -> Witness | None:
    """Return an element of row 0 that two launches of different batches give two values.

    All rows hold the same data in both. Row 0 alone is compared: what other rows lead to through
    integers in memory may be other data.
    """
    if _first_integers(first) != _first_integers(second) or not _share_shapes(first, second):
        return None  # then the row does not hold the same data
    names = [f"{each.rows(output)} rows" for each in (first, second)]
    for seed in range(_SEEDS):
        one, other = (_rows_of(each, output, _same_rows, seed) for each in (first, second))
        if one is None or other is None or one.shape[1:] != other.shape[1:]:
            return None
        found = _differing(one[:1], other[:1], f"{names[0]}, row 0", f"{names[1]}, row 0")
        if found is not None:
            return found
    return None


def with_other_rows(batched: Batched, output: int) -> Witness | None:
    """Return an element of row 0 that changes with what the other rows hold.

    Not where the kernel reads integers: other rows may be part of row 0's own data, as the tokens
    of its sequence are.
    """
    tensors = (each for each in batched.call.arguments if isinstance(each, TensorArgument))
    if any(each.element.kind != "f" for each in tensors):
        return None
    alike, unlike = (_rows_of(batched, output, fill, 0) for fill in (_same_rows, _own_rows))
    if alike is None or unlike is None:
        return None
    name = f"{batched.rows(output)} rows, row 0, the others"
    return _differing(alike[:1], unlike[:1], f"{name} alike", f"{name} not")


def _share_shapes(first: Batched, second: Batched) -> bool:
    """Whether tensors differ in nothing but how many rows they have."""
    shapes = []
    for each in (first, second):
        tensors = [
            (n, a) for n, a in enumerate(each.call.arguments) if isinstance(a, TensorArgument)
        ]
        shapes.append(
            [
                [extent for axis, extent in enumerate(a.shape) if axis not in each.axes.get(n, ())]
                for n, a in tensors
            ]
        )
    return shapes[0] == shapes[1]


def _first_integers(batched: Batched) -> list[bytes]:
    """Return the recorded integers of the first row of each tensor."""
    found = []
    for position, axes in batched.axes.items():
        tensor = batched.call.arguments[position]
        assert isinstance(tensor, TensorArgument)
        if axes and tensor.element.kind != "f" and tensor.storage.data is not None:
            kept = [slice(0, 1) if n in axes else slice(None) for n in range(len(tensor.shape))]
            found.append(_view(tensor)[tuple(kept)].tobytes())
    return found


def versions_differ(first: Call, second: Call, output: int) -> Witness | str | bool | None:
    """Compare what two versions of a kernel leave in an output, by the evaluator.

    Args:
        first: A call of the one.
        second: A call of the other with the same tensors, in the same order.
        output: The position of the output among the first one's arguments.

    Returns:
        An element with two values; a sentence if one writes elements that the other does not; False
        if both leave the same; None if one cannot be evaluated.

    """
    tensors = [
        [n for n, each in enumerate(call.arguments) if isinstance(each, TensorArgument)]
        for call in (first, second)
    ]
    if output not in tensors[0] or len(tensors[0]) != len(tensors[1]):
        return None
    rank = tensors[0].index(output)
    left: list[tuple[NDArray[Any], NDArray[np.bool_]]] = []
    for call, places in zip((first, second), tensors, strict=True):
        found = _written(call, places, rank)
        if found is None:
            return None
        left.append(found)
    (mine, my_places), (theirs, their_places) = left
    if (my_places != their_places).any():
        element = int(np.flatnonzero((my_places != their_places).reshape(-1))[0])
        who = "the first" if my_places.reshape(-1)[element] else "the second"
        return f"only {who} version writes element {element}"
    one, other = mine.reshape(1, -1), theirs.reshape(1, -1)
    return _differing(one, other, "the first version", "the second") or False


def _written(
    call: Call, places: Sequence[int], rank: int
) -> tuple[NDArray[Any], NDArray[np.bool_]] | None:
    """Return what a launch leaves in a tensor, and which of its elements it changed."""
    left = []
    for seed in (0, 1):  # what is not written keeps both of its values

        def fill(tensor: TensorArgument, position: int, seed: int = seed) -> NDArray[Any]:
            own = places.index(position)
            return _random(tensor.shape, own + (1000 * seed if own == rank else 0), tensor)

        found = _left_by(call, places[rank], fill)
        if found is None:
            return None
        tensor = call.arguments[places[rank]]
        assert isinstance(tensor, TensorArgument)
        left.append((found, fill(tensor, places[rank])))
    kept = np.logical_and(*(_bits(now) == _bits(before) for now, before in left))
    return left[0][0], ~kept.reshape(*left[0][0].shape, -1).all(axis=-1)


def _bits(array: NDArray[Any]) -> NDArray[np.uint8]:
    return np.ascontiguousarray(array).reshape(-1).view(np.uint8)


def _differing(one: Any, others: Any, first: str, second: str) -> Witness | None:
    """Return the first element of a row that has another value in one of some rows.

    The evaluator's own sums go in an order that depends on the shapes of arrays. So only what is
    farther apart than another order of sums would bring it counts.
    """
    first_row, rows = (each.reshape(len(each), -1) for each in (one, others))
    with np.errstate(invalid="ignore"):
        values = [each.astype(np.float64) for each in (first_row, rows)]
        scale = np.maximum(np.abs(values[0]).max(initial=0.0), 1e-30)
        apart = np.abs(values[0] - values[1]) > _ROUNDING * scale
    apart |= np.isnan(values[0]) != np.isnan(values[1])
    if not apart.any():
        return None
    row, element = (int(index) for index in np.argwhere(apart)[0])
    return Witness(
        element, first, second, (_shown(first_row[0, element]), _shown(rows[row, element]))
    )


def _shown(value: Any) -> str:
    return repr(value.item())


# -- launches ------------------------------------------------------------------------------------


Fill = Callable[[TensorArgument, int], NDArray[Any]]
"""Gives the numbers of a tensor, from it and its position among the arguments."""


def _rows_of(
    batched: Batched,
    output: int,
    filled: Callable[[TensorArgument, Dims, int], NDArray[Any]],
    seed: int,
) -> NDArray[Any] | None:
    """Return the rows of an output of a launch, (rows, …); None where it cannot be evaluated."""
    left = _left_by(
        batched.call,
        output,
        lambda tensor, n: filled(tensor, batched.axes.get(n, frozenset()), n + 10_000 * seed),
        batched.axes,
    )
    if left is None:
        return None
    axes = sorted(batched.axes.get(output, ()))
    rows = np.moveaxis(left, axes, range(len(axes)))
    return rows.reshape(batched.rows(output), *rows.shape[len(axes) :])


def _left_by(
    call: Call, output: int, fill: Fill, axes: Mapping[int, Dims] = MappingProxyType({})
) -> NDArray[Any] | None:
    """Return what a launch leaves in a tensor; None where it cannot be evaluated.

    Floats are filled. Integers are those that were recorded, else 0; along `axes`, which number
    rows, all are as the first row's.
    """
    if sum(_nbytes(each) for each in call.arguments) > _MOST_BYTES:
        return None
    storages: dict[int, Storage] = {}
    arguments: list[Argument] = []
    for position, given in enumerate(call.arguments):
        if not isinstance(given, TensorArgument):
            arguments.append(given)
            continue
        own = given.storage
        if id(own) not in storages:
            data = np.zeros(own.nbytes, np.uint8)
            if own.data is not None and given.element.kind != "f":
                data[:] = own.data
            storages[id(own)] = Storage(own.nbytes, data, own.address)
        tensor = replace(given, storage=storages[id(own)])
        if given.element.kind == "f":
            _view(tensor)[...] = fill(tensor, position)
        elif axes.get(position):
            kept = [
                slice(0, 1) if n in axes[position] else slice(None)
                for n in range(len(tensor.shape))
            ]
            _view(tensor)[...] = _view(tensor)[tuple(kept)].copy()
        arguments.append(tensor)
    try:
        with np.errstate(all="ignore"):
            evaluate(call.module, arguments, call.grid, kernel=call.kernel, most_steps=_MOST_STEPS)
    except (KvtraceError, *UNFIT):
        return None
    left = arguments[output]
    assert isinstance(left, TensorArgument)
    return _view(left).copy()


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


def _random(shape: Sequence[int], seed: int, tensor: TensorArgument) -> NDArray[Any]:
    numbers = np.random.default_rng(seed).standard_normal(shape)
    return numbers.astype(tensor.element.memory)


def _same_rows(tensor: TensorArgument, axes: Dims, seed: int) -> NDArray[Any]:
    """Return the same random numbers for every row: those of a tensor without its batch axes."""
    inner = [1 if axis in axes else extent for axis, extent in enumerate(tensor.shape)]
    return np.broadcast_to(_random(inner, seed, tensor), tensor.shape)


def _own_rows(tensor: TensorArgument, axes: Dims, seed: int) -> NDArray[Any]:
    """Return rows of which the first is as `_same_rows` has it, and the others are not."""
    found = _same_rows(tensor, axes, seed).copy()
    others = _random(tensor.shape, seed + 1000, tensor) * 4  # so that maxima change, too
    for axis in axes:
        kept = [slice(None)] * len(tensor.shape)
        kept[axis] = slice(1, None)
        found[tuple(kept)] = others[tuple(kept)]
    return found
