"""How values are held while a batch of programs is evaluated.

Every array has a leading axis over programs (their number, or 1 where all agree) and then the
value's own axes, each at its extent, or 1 where the value does not vary along it. So splats,
broadcasts and loop-invariant scalars cost nothing.

* floats: NumPy arrays.
* integers: NumPy arrays, or `Sum`: a constant and int64 terms of different shapes whose broadcast
  sum is the value. `row * stride + column` stays two vectors instead of a matrix. A Sum is exact:
  whatever may leave the width of its type is materialised and wrapped.
* Booleans: Python bools, NumPy arrays, or `Mask`: factors whose broadcast conjunction is the value.
* pointers: `Pointer`, an argument and a Sum.
* parts of the memory that a program's threads share: `SharedView` (see shared_memory.py).
* anything whose data was not captured: `Unknown`, with the names of the arguments it depends on.
* under an instrument that follows more than the number: `Shadowed`, the number and its shadow.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kvtrace.evaluate.errors import UnsupportedOp
from kvtrace.evaluate.types import ValueType
from kvtrace.ir.integers import wrapped

Array = NDArray[Any]


class Sum:
    """An integer value as `constant + sum(terms)`, known to lie in [low, high]; never wraps.

    `terms` are int64 arrays of one rank that broadcast against each other.
    """

    __slots__ = ("constant", "high", "low", "terms")

    def __init__(self, constant: int, terms: tuple[Array, ...], low: int, high: int) -> None:
        self.constant = constant
        self.terms = terms
        self.low = low
        self.high = high

    def __repr__(self) -> str:
        shapes = "+".join(str(term.shape) for term in self.terms)
        return f"Sum({self.constant}+{shapes} in [{self.low}, {self.high}])"


class Mask:
    """A Boolean value as the conjunction of two or more broadcastable Boolean arrays."""

    __slots__ = ("factors",)

    def __init__(self, factors: tuple[Array, ...]) -> None:
        self.factors = factors


@dataclass(frozen=True)
class Unknown:
    """A value that depends on data which was not captured.

    `sources` name the arguments whose data it is, or describe what else decides. A Boolean may
    be known to be false somewhere: wherever one of its `factors` is.
    """

    sources: frozenset[str]
    factors: tuple[Array, ...] = field(default=(), compare=False, repr=False)

    @property
    def reason(self) -> str:
        """Say what decides the value."""
        names = [source for source in sorted(self.sources) if " " not in source]
        phrases = [source for source in sorted(self.sources) if " " in source]
        if names:
            phrases.insert(0, f"the data of {', '.join(names)}")
        return f"depends on {' and '.join(phrases) or 'data that was not captured'}"


@dataclass(frozen=True)
class Pointer:
    """Pointers into one argument: `offset` counts bytes from its data pointer.

    `argument` None: it is not known into what (then `offset` is Unknown as well). Every part of the
    offset, terms and constant alike, is a multiple of `unit` (0: no offset yet).
    """

    argument: int | None
    offset: Sum | Unknown
    unit: int = 1


@dataclass(frozen=True)
class PointerChoice:
    """Pointers of which some go into one argument, some into another: `first` where `condition`."""

    condition: Array
    first: Pointer | PointerChoice
    second: Pointer | PointerChoice


@dataclass(frozen=True)
class Shadowed:
    """A value with a shadow: an array beside it, of its shape, which an instrument follows.

    Ops are given `actual`, what the kernel computes; the shadow goes with it through branches,
    loops and calls (see shadows/).
    """

    actual: Any
    shadow: Array

    @classmethod
    def shadow_of(cls, value: Any, type_: ValueType) -> Array:
        """Return the shadow of any value: of one that has none, what it would be."""
        raise NotImplementedError

    @classmethod
    def joined(cls, value: Any, shadow: Array, given: Sequence[Any]) -> Any:
        """Put a shadow beside a value; `given` is what both were made of."""
        raise NotImplementedError

    def mapped(self, change: Callable[[Array], Array]) -> Shadowed:
        """Apply a change of shape to both."""
        return replace(self, actual=map_arrays(self.actual, change), shadow=change(self.shadow))

    def merged(self, parts: Sequence[tuple[Array, Any]], programs: int, type_: ValueType) -> Any:
        """Put together the values of different programs, and their shadows: `merge_programs`."""
        shadows = of_one_dtype([self.shadow_of(value, type_) for _, value in parts])
        indices = [index for index, _ in parts]
        shadow = _scatter(list(zip(indices, shadows, strict=True)), programs)
        value = merge_programs([(i, actual(each)) for i, each in parts], programs, type_)
        return self.joined(value, shadow, [each for _, each in parts])


def of_one_dtype(arrays: Sequence[Array]) -> list[Array]:
    """Return arrays with the widest dtype among them."""
    widest = np.result_type(*(array.dtype for array in arrays))
    return [array.astype(widest, copy=False) for array in arrays]


@dataclass(frozen=True)
class Descriptor:
    """A tensor descriptor: base pointer, extents and strides in elements (scalars), padding."""

    base: Pointer
    shape: tuple[Any, ...]
    strides: tuple[Any, ...]
    padding_nan: bool


@dataclass(frozen=True)
class SharedView:
    """A part of one allocation of the memory that a program's threads share.

    `start` is where each program's part begins in the buffer, `lanes` (of the view's shape) how far
    from there each element is.
    """

    buffer: Any
    start: Array
    lanes: Array

    @property
    def places(self) -> Array:
        """Where in the buffer each program's elements are."""
        places: Array = self.start.reshape(-1, *(1,) * self.lanes.ndim) + self.lanes
        return places


def constant_sum(value: int) -> Sum:
    """Return an integer that is the same for all programs and lanes."""
    return Sum(value, (), value, value)


def to_sum(value: Any) -> Sum:
    """Hold an integer array as a Sum of one term (its range is looked up)."""
    if isinstance(value, Sum):
        return value
    if isinstance(value, bool):
        return constant_sum(int(value))
    array = to_array(value, None)
    if array.size == 1:
        return constant_sum(int(array.reshape(-1)[0]))
    if array.size == 0:
        return constant_sum(0)
    return Sum(0, (array.astype(np.int64, copy=False),), int(array.min()), int(array.max()))


def conjunction(factors: Sequence[Array]) -> Array:
    """Materialise a mask."""
    result = factors[0]
    for factor in factors[1:]:
        result = np.logical_and(result, factor)
    return result


def sum_of_terms(value: Sum) -> Array | int:
    """Materialise a Sum as int64 (modulo 2**64), an int if it has no terms."""
    if not value.terms:
        return value.constant
    total = value.terms[0]
    for term in value.terms[1:]:
        total = total + term
    return total + value.constant if value.constant else total


def to_array(value: Any, type_: ValueType | None) -> Array:
    """Materialise a number; its physical shape may have 1 for any axis.

    `type_` gives rank and dtype; None is allowed only for values that are arrays or masks.
    """
    if isinstance(value, np.ndarray):
        return value
    if isinstance(value, Mask):
        return conjunction(value.factors)
    if type_ is None:
        raise UnsupportedOp(f"a {type(value).__name__} where an array was expected")
    if isinstance(value, bool):
        return np.full((1,) * (len(type_.shape) + 1), value, type_.element.value)
    if isinstance(value, Sum):
        total = sum_of_terms(value)
        if isinstance(total, np.ndarray):
            return total.astype(type_.element.value, copy=False)
        number = wrapped(total, type_.element.bits)
        return np.full((1,) * (len(type_.shape) + 1), number, type_.element.value)
    raise UnsupportedOp(f"a {type(value).__name__} where a number was expected")


def full_array(value: Any, type_: ValueType) -> Array:
    """Materialise with every lane axis at its logical extent; the program axis may still be 1."""
    array = to_array(value, type_)
    if array.shape[1:] == type_.shape:
        return array
    return np.broadcast_to(array, (array.shape[0], *type_.shape))


def unknown_of(values: Iterable[Any]) -> Unknown | None:
    """Join what the unknown ones among the values depend on; None if all are known."""
    found: Unknown | None = None
    for value in values:
        if isinstance(value, Unknown):
            sources = value.sources if found is None else found.sources | value.sources
            found = Unknown(sources)
    return found


def uniform_flag(value: Any) -> bool | None:
    """Tell a Boolean's value where it is the same for all programs and lanes, else None."""
    if isinstance(value, bool):
        return value
    array = to_array(value, None)
    if array.size == 1:
        return bool(array.reshape(-1)[0])
    return None


def program_flags(value: Any, programs: int) -> Array:
    """Return a scalar Boolean of each program."""
    flags = np.asarray(value) if isinstance(value, bool) else to_array(value, None)
    return np.broadcast_to(flags.reshape(-1), (programs,))


def map_arrays(value: Any, change: Callable[[Array], Array]) -> Any:
    """Apply a change of shape to each part of a value. It must keep the set of elements."""
    kind = type(value)
    if kind is np.ndarray:
        return change(value)
    if kind is Sum:
        if not value.terms:
            return value
        return Sum(value.constant, tuple(map(change, value.terms)), value.low, value.high)
    if isinstance(value, Mask):
        return Mask(tuple(map(change, value.factors)))
    if isinstance(value, Unknown):
        return Unknown(value.sources, tuple(map(change, value.factors)))
    if isinstance(value, Pointer):
        return Pointer(value.argument, map_arrays(value.offset, change), value.unit)
    if isinstance(value, PointerChoice):
        return PointerChoice(
            change(value.condition),
            map_arrays(value.first, change),
            map_arrays(value.second, change),
        )
    if isinstance(value, Shadowed):
        return value.mapped(change)
    if isinstance(value, SharedView):
        return SharedView(value.buffer, change(value.start), value.lanes)
    if isinstance(value, Descriptor):
        return Descriptor(
            map_arrays(value.base, change),
            tuple(map_arrays(extent, change) for extent in value.shape),
            tuple(map_arrays(stride, change) for stride in value.strides),
            value.padding_nan,
        )
    return value


def select_programs(value: Any, index: Array) -> Any:
    """Restrict a value to some of its programs."""
    return map_arrays(value, lambda array: array if array.shape[0] == 1 else array[index])


def merge_programs(parts: Sequence[tuple[Array, Any]], programs: int, type_: ValueType) -> Any:
    """Put together values that different programs computed: `parts` are (program index, value).

    The indices are disjoint; a program in none of them gets an arbitrary value.
    """
    first = parts[0][1]
    # A value that does not vary over programs is right for all; others were re-indexed.
    if all(value is first for _, value in parts) and _is_uniform(first):
        return first
    unknown = unknown_of(value for _, value in parts)
    if unknown is not None:
        return unknown
    shadowed = next((value for _, value in parts if isinstance(value, Shadowed)), None)
    if shadowed is not None:
        return shadowed.merged(parts, programs, type_)
    if isinstance(first, Pointer | PointerChoice):
        return _merge_pointers(parts, programs, type_)
    if isinstance(first, SharedView):
        if any(value.buffer is not first.buffer for _, value in parts):
            raise UnsupportedOp("shared memory that differs between programs after a branch")
        starts = _scatter([(index, value.start) for index, value in parts], programs)
        return SharedView(first.buffer, starts, first.lanes)
    if isinstance(first, Descriptor):
        raise UnsupportedOp("tensor descriptors that differ between programs after a branch")
    arrays = [(index, to_array(value, type_)) for index, value in parts]
    return _scatter(arrays, programs)


def _is_uniform(value: Any) -> bool:
    uniform = True

    def look(array: Array) -> Array:
        nonlocal uniform
        uniform = uniform and array.shape[0] == 1
        return array

    map_arrays(value, look)
    return uniform


def actual(value: Any) -> Any:
    """Return what the kernel computes, without a shadow."""
    return value.actual if isinstance(value, Shadowed) else value


def _scatter(parts: Sequence[tuple[Array, Array]], programs: int) -> Array:
    lanes = np.broadcast_shapes(*(array.shape[1:] for _, array in parts))
    result = np.zeros((programs, *lanes), parts[0][1].dtype)
    for index, array in parts:
        result[index] = array
    return result


def pointers_in(value: Pointer | PointerChoice) -> list[Pointer]:
    """List the pointers that a value may be."""
    if isinstance(value, Pointer):
        return [value]
    return pointers_in(value.first) + pointers_in(value.second)


def _merge_pointers(parts: Sequence[tuple[Array, Any]], programs: int, type_: ValueType) -> Any:
    """Join by argument first; what is left are choices by program."""
    leaves = [leaf for _, value in parts for leaf in pointers_in(value)]
    unknown = unknown_of(leaf.offset for leaf in leaves)
    arguments = {leaf.argument for leaf in leaves}
    if unknown is not None:
        return Pointer(arguments.pop() if len(arguments) == 1 else None, unknown)
    rank = len(type_.shape) + 1
    merged: list[tuple[Array, Pointer | PointerChoice]] = []
    simple: dict[int | None, list[tuple[Array, Array]]] = {}
    for index, value in parts:
        if isinstance(value, Pointer):
            offset = offset_array(value.offset, rank)
            simple.setdefault(value.argument, []).append((index, offset))
        else:
            merged.append((index, _spread_out(value, index, programs)))
    for argument, offsets in simple.items():
        index = np.concatenate([index for index, _ in offsets])
        merged.append((index, Pointer(argument, to_sum(_scatter(offsets, programs)))))
    *rest, (_, result) = merged
    for index, value in rest:
        condition = np.zeros((programs,) + (1,) * (rank - 1), np.bool_)
        condition[index] = True
        result = PointerChoice(condition, value, result)
    return result


def _spread_out(value: Any, index: Array, programs: int) -> Any:
    """Give a value of some programs the places of all; the others hold what the first one does."""

    def spread(array: Array) -> Array:
        if array.shape[0] == 1:
            return array
        full = np.repeat(array[:1], programs, axis=0)
        full[index] = array
        return full

    return map_arrays(value, spread)


def offset_array(offset: Sum | Unknown, rank: int) -> Array:
    """Materialise the byte offsets of pointers."""
    assert isinstance(offset, Sum)
    total = sum_of_terms(offset)
    if isinstance(total, np.ndarray):
        return total
    return np.full((1,) * rank, total, np.int64)
