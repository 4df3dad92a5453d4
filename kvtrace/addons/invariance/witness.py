"""Witnesses: launches in which a row holds the same data and the evaluator gives it two values."""

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

from kvtrace.addons.invariance.inputs import (
    NOTHING,
    WITH_INTEGERS,
    WITHOUT_OVERFLOW,
    Drawn,
    Inputs,
    numbers_of,
)
from kvtrace.addons.invariance.ordered import evaluate_ordered
from kvtrace.evaluate.arguments import Argument, ScalarArgument, Storage, TensorArgument
from kvtrace.evaluate.errors import UNFIT
from kvtrace.ir.data_dependence import leading_integers
from kvtrace.schema.errors import KvtraceError

if TYPE_CHECKING:
    from kvtrace.recorded_calls.recorded import Call

_MOST_BYTES: Final = 1 << 26
MOST_STEPS: Final = 50_000
_SEEDS: Final = 2
_MOST_PROGRAMS: Final = 256
"""Of a launch that is evaluated in another order."""

_EXTREMES: Final = tuple(
    sign * number
    for bits in (7, 8, 15, 16, 31, 32, 63)
    for number in (2**bits - 1, 2**bits, 2 ** (bits - 1) + 5)
    for sign in (-1, 1)
)
"""Integers at which arithmetic leaves its width."""
Dims = frozenset[int]
"""Axes of a tensor that number rows of the batch."""


@dataclass(frozen=True, slots=True)
class Witness:
    """An element of a row that has two values, by the evaluator, for the same data in the row.

    `first` and `second` say in which launch and row, as "100 rows, row 0". `ulps` is how far apart
    the values are: units in the last place of the output's type, at the row's largest element.
    """

    element: int
    first: str
    second: str
    values: tuple[str, str]
    ulps: float = 0.0

    @property
    def is_finite(self) -> bool:
        """Whether both values are finite numbers."""
        return all(map(is_finite, self.values))

    @property
    def has_one_nan(self) -> bool:
        """Whether one value alone is a NaN."""
        return any(value == "nan" for value in self.values)


def is_finite(value: str) -> bool:
    """Return whether a value of a `Witness` is a finite number."""
    return value not in ("nan", "inf", "-inf")


@dataclass(frozen=True)
class Batched:
    """A call whose tensors' batch axes are known, by the arguments' positions."""

    call: Call
    axes: Mapping[int, Dims]
    extents: Mapping[int, tuple[int, ...]] = field(default_factory=dict)
    """How large tensors are in the launch that pads them the most, where they differ."""

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


def between(
    first: Batched,
    second: Batched,
    output: int,
    *,
    any_row: bool = False,
    numbers: Collection[str] = (),
) -> Witness | None:
    """Return an element of a row that two launches of different batches give two values.

    All rows hold the same data in both.

    Args:
        first: A launch, of which row 0 is compared.
        second: A launch of another batch.
        output: The position of the output among the arguments.
        any_row: Whether all rows of the second are compared. Else row 0 alone is, and so it is
            where integers in memory may lead rows to other data; where not, all rows hold the same.
        numbers: Names of numbers of the launch that the size of the batch decides.

    """
    if _first_integers(first) != _first_integers(second):
        return None  # then the row does not hold the same data
    if _numbers(first.call, numbers) != _numbers(second.call, numbers):
        return None
    padded = _padded(first, second)
    if padded is None:
        return None
    first, second = replace(first, extents=padded), replace(second, extents=padded)
    compared = None if any_row and not _leading(second.call) else 1
    names = [f"{each.rows(output)} rows" for each in (first, second)]
    for seed in range(_SEEDS):
        one, other = (_rows_of(each, output, _same_rows, seed) for each in (first, second))
        if one is None or other is None or one.shape[1:] != other.shape[1:]:
            return None
        found = _differing(one[:1], other[:compared], f"{names[0]}, row 0", f"{names[1]}, row")
        if found is not None:
            return found
    return None


def _numbers(call: Call, but: Collection[str]) -> list[float]:
    """Return the floats that are passed to a call, except some."""
    scalars = (each for each in call.arguments if isinstance(each, ScalarArgument))
    given = (each.value for each in scalars if each.name not in but)
    return [value for value in given if isinstance(value, float)]


def with_other_rows(batched: Batched, output: int) -> Witness | None:
    """Return an element of the first or last row that changes with what all other rows hold.

    Not where integers may lead it there: other rows may be part of a row's own data, as the tokens
    of its sequence are.
    """
    count = batched.rows(output)
    if count < 2 or _leading(batched.call):
        return None
    tensor = batched.call.arguments[output]
    assert isinstance(tensor, TensorArgument)
    rows = [tensor.shape[axis] for axis in sorted(batched.axes.get(output, ()))]
    alike = _rows_of(batched, output, _same_rows, 0)
    if alike is None:
        return None
    for inputs, row in itertools.product(_OTHER_ROWS, (0, count - 1)):
        fill = partial(_own_rows, rows=rows, kept=0 if row == 0 else -1, inputs=inputs)
        unlike = _rows_of(batched, output, fill, 0)
        if unlike is None:
            return None
        name = f"{count} rows, row {row}, the others"
        one, other = alike[row : row + 1], unlike[row : row + 1]
        found = _differing(one, other, f"{name} alike", f"{name} not")
        if found is not None:
            return found
    return None


def in_other_order(call: Call, output: int) -> Witness | None:
    """Return an element that changes with the order in which a launch's programs run.

    Programs have none; of atomic updates that are not sums, the last or the first decides.
    """
    if prod(call.grid) > _MOST_PROGRAMS:
        return None

    def fill(tensor: TensorArgument, position: int) -> NDArray[Any]:
        return _random(tensor.shape, position, tensor)

    forth, back = (_left_by(call, output, fill, backwards=way) for way in (False, True))
    if forth is None or back is None:
        return None
    names = (f"programs {way}" for way in ("from the first to the last", "from the last"))
    return _differing(forth.reshape(1, -1), back.reshape(1, -1), *names)


def with_other_number(call: Call, output: str, name: str) -> Witness | None:
    """Return an element of the first row that changes with a float that is passed to a call.

    Args:
        call: It.
        output: The name of what it writes.
        name: The float's; of an integer, or a number that was not recorded, there is none.

    """
    names = [value.name.lstrip("%") for value in call.module.main.arguments]
    given = next((each for each in call.arguments if each.name == name), None)
    if not isinstance(given, ScalarArgument) or not isinstance(given.value, float):
        return None
    position, numbers = names.index(output), (given.value, 2 * given.value + 1)
    left = []
    for number in numbers:
        arguments = tuple(
            replace(each, value=number) if isinstance(each, ScalarArgument) and each is given
            else each
            for each in call.arguments
        )  # fmt: skip
        found = _left_by(
            replace(call, arguments=arguments), position,
            lambda tensor, n: _random(tensor.shape, n, tensor),
        )  # fmt: skip
        if found is None:
            return None
        left.append(found.reshape(1, -1))
    first, second = (f"{name} = {number:g}" for number in numbers)
    return _differing(left[0], left[1], first, second)


def _padded(first: Batched, second: Batched) -> dict[int, tuple[int, ...]] | None:
    """Return the larger extents of tensors that differ in how far their rows are padded.

    None where tensors differ in something else than that and how many rows they have. An extent
    of a tensor of rows is one of padding if it is, in both calls, the largest of a tensor's
    integers, as of lengths.
    """
    pairs = list(enumerate(zip(first.call.arguments, second.call.arguments, strict=False)))
    longest = {
        (_largest(one), _largest(other))
        for _, (one, other) in pairs
        if isinstance(one, TensorArgument) and isinstance(other, TensorArgument)
    }
    found: dict[int, tuple[int, ...]] = {}
    for position, (one, other) in pairs:
        if not isinstance(one, TensorArgument) or not isinstance(other, TensorArgument):
            if isinstance(one, TensorArgument) or isinstance(other, TensorArgument):
                return None
            continue
        if len(one.shape) != len(other.shape):
            return None
        sizes = list(zip(one.shape, other.shape, strict=True))
        rows = first.axes.get(position, frozenset())
        unlike = {pair for n, pair in enumerate(sizes) if n not in rows and pair[0] != pair[1]}
        if unlike and (not rows or not unlike <= longest):
            return None
        if unlike:
            found[position] = tuple(max(pair) for pair in sizes)
    return found


def _largest(tensor: TensorArgument) -> int | None:
    """Return the largest recorded integer of a tensor; None: none was recorded."""
    if tensor.element.kind == "f" or tensor.storage.data is None or 0 in tensor.shape:
        return None
    return int(_view(tensor).max())


def _first_integers(batched: Batched) -> list[bytes]:
    """Return the recorded integers of the first row of each tensor."""
    found = []
    for position, axes in batched.axes.items():
        tensor = batched.call.arguments[position]
        assert isinstance(tensor, TensorArgument)
        if axes and tensor.element.kind != "f" and tensor.storage.data is not None:
            found.append(_view(tensor)[_first_row(tensor, axes)].tobytes())
    return found


_OTHER_ROWS: Final[tuple[Inputs, ...]] = ("random numbers", "huge numbers")
"""What other rows hold where a row is to stay as it is; of huge numbers a tiny share shows."""


def versions_differ(
    first: Call,
    second: Call,
    output: int,
    pairs: Sequence[tuple[int, int]],
    drawn: Drawn = NOTHING,
) -> Witness | str | bool | None:
    """Compare what two versions of a kernel leave in an output, by the evaluator.

    Args:
        first: A call of the one.
        second: A call of the other.
        output: The position of the output among the first one's arguments.
        pairs: The positions of each tensor among the arguments of the one and of the other.
        drawn: What tensors hold besides; without integers, these must be recorded.

    Returns:
        An element with two values; a sentence if one writes elements that the other does not; False
        if both leave the same; None if one cannot be evaluated.

    """
    tensors = list(zip(*pairs, strict=True))
    if not tensors or output not in tensors[0]:
        return None
    rank = tensors[0].index(output)
    held = _held(first, second, pairs, drawn.integers)
    if held is None:
        return None
    left: list[tuple[NDArray[Any], NDArray[np.bool_]]] = []
    for call, places in zip((first, second), tensors, strict=True):
        found = _written(call, places, rank, held)
        if found is None:
            return None
        left.append(found)
    (mine, my_places), (theirs, their_places) = (
        (values.reshape(-1), places.reshape(-1)) for values, places in left
    )
    if mine.size != theirs.size:
        return None
    if (my_places != their_places).any():
        element = int(np.flatnonzero(my_places != their_places)[0])
        who = "the first" if my_places[element] else "the second"
        return f"only {who} version writes element {element}"
    return _apart(mine, theirs)


def versions_differ_on(
    inputs: Inputs,
    first: Call,
    second: Call,
    output: int,
    pairs: Sequence[tuple[int, int]],
    drawn: Drawn = NOTHING,
) -> Witness | bool | None:
    """Compare likewise on other numbers; what both leave as it was is the same."""
    rank = [mine for mine, _ in pairs].index(output)
    left: list[NDArray[Any]] = []
    for call, places in zip((first, second), zip(*pairs, strict=True), strict=True):
        fill = filled_with(inputs, first, second, places, pairs, drawn)
        found = fill and _left_by(call, places[rank], fill, any_integers=True)
        if found is None:
            return None
        left.append(found.reshape(-1))
    mine, theirs = left
    return None if mine.size != theirs.size else _apart(mine, theirs, inputs)


def filled_with(
    inputs: Inputs,
    first: Call,
    second: Call,
    places: Sequence[int],
    pairs: Sequence[tuple[int, int]],
    drawn: Drawn,
) -> Fill | None:
    """Return a function that fills a version's tensors with a kind of inputs; None: not possible.

    Args:
        inputs: The kind.
        first: A call of the one version.
        second: A call of the other.
        places: The positions of the pairs' tensors in the version that is filled.
        pairs: The positions of each tensor among the arguments of the one and of the other.
        drawn: What tensors hold besides.

    """
    others = inputs in WITH_INTEGERS
    held = _held(first, second, pairs, drawn.integers, others=others)
    if held is None or (others and not (held and drawn.integers)):
        return None
    if inputs == "integers that are 0":
        held = {rank: np.zeros_like(each) for rank, each in held.items()}
    if inputs == "constants of the kernels" and not drawn.constants:
        return None

    def fill(tensor: TensorArgument, position: int) -> NDArray[Any]:
        if tensor.element.kind != "f":
            return held[places.index(position)]
        return numbers_of(inputs, tensor, places.index(position), drawn.constants)

    return fill


def _apart(
    mine: NDArray[Any], theirs: NDArray[Any], inputs: Inputs = "random numbers"
) -> Witness | bool:
    """Return an element with two values, if there is one: where a number was before, if it can.

    What becomes of an overflow says least about a change. Where nothing overflows, a NaN that is
    gained or lost says most.
    """
    one, other = mine.reshape(1, -1), theirs.reshape(1, -1)
    names = "the first version", "the second"
    found = None
    if inputs not in WITHOUT_OVERFLOW:
        with np.errstate(invalid="ignore"):
            was_number = np.isfinite(one.astype(np.float64))
        found = _differing(one, np.where(was_number, other, one), *names)
    return found or _differing(one, other, *names) or False


def _written(
    call: Call, places: Sequence[int], rank: int, held: Mapping[int, NDArray[Any]]
) -> tuple[NDArray[Any], NDArray[np.bool_]] | None:
    """Return what a launch leaves in a tensor, and which of its elements it changed."""
    left = []
    for seed in (0, 1):  # what is not written keeps both of its values

        def fill(tensor: TensorArgument, position: int, seed: int = seed) -> NDArray[Any]:
            own = places.index(position)
            if tensor.element.kind != "f":
                return held[own] ^ held[own].dtype.type(seed) if own == rank else held[own]
            return _random(tensor.shape, own + (1000 * seed if own == rank else 0), tensor)

        found = _left_by(call, places[rank], fill, any_integers=True)
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
    """Return the element that is farthest apart between a row and others; None: all bits agree.

    A second name that ends in "row" is given the row's number. All NaNs are one value.
    """
    first_row, rows = (each.reshape(len(each), -1) for each in (one, others))
    unlike = _bits_of(first_row) != _bits_of(rows)
    with np.errstate(invalid="ignore"):
        values = [each.astype(np.float64) for each in (first_row, rows)]
        nans = [np.isnan(each) for each in values]
        apart = np.abs(values[0] - values[1])
    unlike &= ~(nans[0] & nans[1])
    if not unlike.any():
        return None
    apart = np.where(unlike, np.where(np.isnan(apart), np.inf, apart), -1.0)
    row, element = (int(index) for index in np.unravel_index(np.argmax(apart), apart.shape))
    largest = np.abs(values[0][np.isfinite(values[0])]).max(initial=1e-30)
    return Witness(
        element, first, f"{second} {row}" if second.endswith(" row") else second,
        (_shown(first_row[0, element]), _shown(rows[row, element])),
        float(apart[row, element]) / (_epsilon(first_row.dtype) * float(largest)),
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


def _shown(value: Any) -> str:
    return repr(value.item())


# -- launches ------------------------------------------------------------------------------------


Fill = Callable[[TensorArgument, int], NDArray[Any]]
"""Gives the numbers of a tensor, from it and its position among the arguments."""


def _rows_of(
    batched: Batched,
    output: int,
    filled: Callable[[TensorArgument, Dims, int, Sequence[int]], NDArray[Any]],
    seed: int,
) -> NDArray[Any] | None:
    """Return the rows of an output of a launch, (rows, …); None where it cannot be evaluated."""
    left = _left_by(
        batched.call,
        output,
        lambda tensor, n: filled(
            tensor,
            batched.axes.get(n, frozenset()),
            n + 10_000 * seed,
            batched.extents.get(n, tensor.shape),
        ),
        filled_integers=not _leading(batched.call),
    )
    if left is None:
        return None
    axes = sorted(batched.axes.get(output, ()))
    rows = np.moveaxis(left, axes, range(len(axes)))
    return rows.reshape(batched.rows(output), *rows.shape[len(axes) :])


def _held(
    first: Call,
    second: Call,
    pairs: Sequence[tuple[int, int]],
    integers: Sequence[int],
    *,
    others: bool = False,
) -> dict[int, NDArray[Any]] | None:
    """Return what tensors of integers hold for both versions, by their places among the pairs.

    `others`: not what was recorded. None where a version reads what was not recorded, and which may
    not be any integers.
    """
    found: dict[int, NDArray[Any]] = {}
    reads = [_read_positions(call) for call in (first, second)]
    for rank, pair in enumerate(pairs):
        tensors = [call.arguments[n] for call, n in zip((first, second), pair, strict=True)]
        own = [each for each in tensors if isinstance(each, TensorArgument)]
        if not own or own[0].element.kind == "f":
            continue
        known = next((each for each in own if each.storage.data is not None), None)
        is_read = any(n in read for n, read in zip(pair, reads, strict=True))
        if known is not None and not others:
            found[rank] = _view(known).copy()
        elif is_read and not integers:
            return None
        else:
            more = _EXTREMES if others else ()
            found[rank] = _picked((*integers, *more), own[0], rank)
    return found


def _picked(integers: Sequence[int], tensor: TensorArgument, seed: int) -> NDArray[Any]:
    """Return integers of some, as far as a tensor's type has them."""
    limits = np.iinfo(tensor.element.memory) if tensor.element.memory.kind in "iu" else None
    low, high = (0, 1) if limits is None else (limits.min, limits.max)
    fitting = [each for each in integers if low <= each <= high] or [0]
    numbers = np.random.default_rng(seed).choice(fitting, tensor.shape)
    return numbers.astype(tensor.element.memory)


def _left_by(
    call: Call,
    output: int,
    fill: Fill,
    *,
    any_integers: bool = False,
    filled_integers: bool = False,
    backwards: bool = False,
) -> NDArray[Any] | None:
    """Return what a launch leaves in a tensor; None where it cannot be evaluated.

    Args:
        call: The launch.
        output: The tensor's position among the arguments.
        fill: Gives the floats, and the integers if they may be any or are filled.
        any_integers: Whether integers may be any. Else they are those that were recorded; those
            that were not, and lead nowhere, are 1.
        filled_integers: Whether they are filled, from what they are otherwise.
        backwards: Whether programs run from the last to the first.

    """
    arguments = filled_arguments(
        call, fill, any_integers=any_integers, filled_integers=filled_integers
    )
    if arguments is None:
        return None
    try:
        with np.errstate(all="ignore"):
            for programs in _orders(call, backwards=backwards):
                evaluate_ordered(
                    call.module, arguments, call.grid, kernel=call.kernel,
                    most_steps=MOST_STEPS, programs=programs,
                )  # fmt: skip
    except (KvtraceError, *UNFIT):
        return None
    left = arguments[output]
    assert isinstance(left, TensorArgument)
    return _view(left).copy()


def filled_arguments(
    call: Call, fill: Fill, *, any_integers: bool = False, filled_integers: bool = False
) -> list[Argument] | None:
    """Return a call's arguments with new contents, as for `_left_by`; None: the call has none."""
    if sum(_nbytes(each) for each in call.arguments) > _MOST_BYTES:
        return None
    leading = _leading(call)
    storages: dict[int, Storage] = {}
    arguments: list[Argument] = []
    for position, given in enumerate(call.arguments):
        if not isinstance(given, TensorArgument):
            arguments.append(given)
            continue
        own = given.storage
        if id(own) not in storages:
            data = np.zeros(own.nbytes, np.uint8)
            if given.element.kind != "f" and not any_integers:
                if own.data is not None:
                    data[:] = own.data
                elif position in leading:
                    return None  # any integers would lead rows to each other's data
            storages[id(own)] = Storage(own.nbytes, data, own.address)
        tensor = replace(given, storage=storages[id(own)])
        if own.data is None and given.element.kind != "f":
            _view(tensor)[...] = 1
        if given.element.kind == "f" or any_integers or filled_integers:
            _view(tensor)[...] = fill(tensor, position)
        arguments.append(tensor)
    return arguments


def _orders(call: Call, *, backwards: bool) -> list[NDArray[np.int64] | None]:
    """Return the groups of programs to evaluate, in order; None: the whole grid, as numbered."""
    return [np.asarray([n]) for n in reversed(range(prod(call.grid)))] if backwards else [None]


def _read_positions(call: Call) -> frozenset[int]:
    """Return the positions of the arguments that a kernel may read."""
    from kvtrace.symbolic.walk import summarise

    loads = [access for access in summarise(call.module).accesses if access.kind != "store"]
    if any(access.argument is None for access in loads):
        return frozenset(range(len(call.arguments)))
    return frozenset(access.argument for access in loads if access.argument is not None)


def _leading(call: Call) -> frozenset[int]:
    """Return the positions of tensors whose integers select what is read, written or run."""
    from kvtrace.symbolic.walk import summarise

    leading = leading_integers(call.module)
    reads = {each.argument for each in summarise(call.module).accesses if each.op.index in leading}
    known = frozenset(position for position in reads if position is not None)
    return frozenset(range(len(call.arguments))) if len(known) < len(reads) else known


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


def _first_row(tensor: TensorArgument, axes: Dims) -> tuple[slice, ...]:
    """Return what picks the first row of a tensor, whose axes stay."""
    return tuple(slice(0, 1) if n in axes else slice(None) for n in range(len(tensor.shape)))


def _random(shape: Sequence[int], seed: int, tensor: TensorArgument) -> NDArray[Any]:
    numbers = np.random.default_rng(seed).standard_normal(shape)
    return numbers.astype(tensor.element.memory)


def _same_rows(
    tensor: TensorArgument, axes: Dims, seed: int, extents: Sequence[int]
) -> NDArray[Any]:
    """Return a tensor's contents, equal in all rows: random floats, or the first row's integers."""
    if tensor.element.kind != "f":
        return np.broadcast_to(_view(tensor)[_first_row(tensor, axes)].copy(), tensor.shape)
    inner = [1 if axis in axes else extent for axis, extent in enumerate(extents)]
    within = tuple(slice(extent) for extent in tensor.shape)
    return np.broadcast_to(_random(inner, seed, tensor)[within], tensor.shape)


def _own_rows(
    tensor: TensorArgument,
    axes: Dims,
    seed: int,
    extents: Sequence[int],
    *,
    rows: Sequence[int],
    kept: int,
    inputs: Inputs,
) -> NDArray[Any]:
    """Return contents whose rows differ, except row `kept`, which is as `_same_rows` has it.

    Of a tensor with another number of rows than the output, it is not known which row is whose:
    all of them are as `_same_rows` has them.
    """
    same = _same_rows(tensor, axes, seed, extents)
    if [tensor.shape[axis] for axis in sorted(axes)] != list(rows):
        return same
    if tensor.element.kind == "f":
        others = numbers_of(inputs, tensor, seed + 1000)
        found = np.asarray(others * tensor.element.memory.type(4))  # so that maxima change, too
    else:
        found = _view(tensor).copy()
    place = tuple(kept if axis in axes else slice(None) for axis in range(len(tensor.shape)))
    found[place] = same[place]
    return found
