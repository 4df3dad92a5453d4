"""Values of a batch of programs under evaluation: arrays, sums of terms, masks, pointers.

Every array has a leading axis over programs (their number, or 1 where all agree) and then the
value's own axes, each at its extent, or 1 where the value does not vary along it. So splats,
broadcasts and loop-invariant scalars cost nothing.

* floats: NumPy arrays.
* integers: NumPy arrays, or `Sum`: a constant and int64 terms of different shapes whose broadcast
  sum is the value. `row * stride + column` stays two vectors instead of a matrix. A Sum is exact:
  a result that may exceed the width of its type becomes an array and is wrapped.
* Booleans: Python bools, NumPy arrays, or `Mask`: factors whose broadcast conjunction is the value.
* pointers: `Pointer`, an argument and a Sum.
* parts of the memory that a program's threads share: `SharedView` (see shared_memory.py).
* values that depend on data which was not captured: `Unknown`, with the names of the arguments.
* under an instrument with shadows: `ShadowedValue`, the value and its shadow.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from msgspec import Struct
from msgspec.structs import replace
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

    `sources` name the arguments with the data, or describe another cause. A Boolean is known to be
    false wherever one of its `factors` is false.
    """

    sources: frozenset[str]
    factors: tuple[Array, ...] = field(default=(), compare=False, repr=False)

    @property
    def reason(self) -> str:
        """The phrase that says what the value depends on."""
        names = [source for source in sorted(self.sources) if " " not in source]
        phrases = [source for source in sorted(self.sources) if " " in source]
        if names:
            phrases.insert(0, f"the data of {', '.join(names)}")
        return f"depends on {' and '.join(phrases) or 'data that was not captured'}"


class Pointer(Struct, frozen=True):
    """Pointers into one argument: `offset` counts bytes from its data pointer.

    `argument` None: the target is not known (then `offset` is Unknown as well). Every part of the
    offset, terms and constant alike, is a multiple of `unit` (0: no offset yet).
    """

    argument: int | None
    offset: Sum | Unknown
    unit: int = 1


class PointerChoice(Struct, frozen=True):
    """Pointers into several arguments: `first` where `condition`, else `second`."""

    condition: Array
    first: Pointer | PointerChoice
    second: Pointer | PointerChoice


class ShadowedValue(Struct, frozen=True):
    """A value with a shadow: an array of the value's shape that an instrument computes.

    Ops run on `actual`, the kernel's own value; the shadow follows through branches, loops and
    calls (see shadows/).
    """

    actual: Any
    shadow: Array

    @classmethod
    def shadow_of(cls, value: Any, type_: ValueType) -> Array:
        """Return a value's shadow; for a value without a shadow, the default of `type_`."""
        raise NotImplementedError

    @classmethod
    def joined(cls, value: Any, shadow: Array, sources: Sequence[Any]) -> Any:
        """Return `value` together with `shadow`; `sources` are the operands that both come from."""
        raise NotImplementedError

    def mapped(self, change: Callable[[Array], Array]) -> ShadowedValue:
        """Return this value after `change`, a change of shape, of both value and shadow."""
        return replace(self, actual=map_arrays(self.actual, change), shadow=change(self.shadow))

    def merged(self, parts: Sequence[tuple[Array, Any]], programs: int, type_: ValueType) -> Any:
        """Return values and shadows of different programs as one, as `merge_programs`."""
        shadows = with_common_dtype([self.shadow_of(value, type_) for _, value in parts])
        indices = [index for index, _ in parts]
        shadow = _scatter(list(zip(indices, shadows, strict=True)), programs)
        actual_parts = [(index, actual(part)) for index, part in parts]
        value = merge_programs(actual_parts, programs, type_)
        return self.joined(value, shadow, [part for _, part in parts])


def with_common_dtype(arrays: Sequence[Array]) -> list[Array]:
    """Return the arrays converted to the widest dtype among them."""
    widest = np.result_type(*(array.dtype for array in arrays))
    return [array.astype(widest, copy=False) for array in arrays]


class Descriptor(Struct, frozen=True):
    """A tensor descriptor: base pointer, extents and strides in elements (scalars), padding.

    `predicate`: a number per program (i32); AMD's copies by the descriptor happen unless it is 0.
    """

    base: Pointer
    shape: tuple[Any, ...]
    strides: tuple[Any, ...]
    padding_nan: bool
    predicate: Any = None


class SharedView(Struct, frozen=True):
    """A part of one allocation of the memory that a program's threads share.

    `starts` is the first place of each program's part in the buffer, `offsets` (of the view's
    shape) the distance of each element from there: starts [0, 8] and offsets [2, 3] are the places
    [[2, 3], [10, 11]]. Or elements are `picked`, by each program's places.
    """

    buffer: Any
    starts: Array
    offsets: Array
    picked: Array | None = None

    @property
    def places(self) -> Array:
        """The places in the buffer of each program's elements."""
        if self.picked is not None:
            return self.picked
        places: Array = self.starts.reshape(-1, *(1,) * self.offsets.ndim) + self.offsets
        return places

    @property
    def units(self) -> Array:
        """The places where the buffer counts accesses to each program's elements."""
        step = self.buffer.step
        return self.places if step == 1 else self.places * step


def constant_sum(value: int) -> Sum:
    """Return an integer that is the same for all programs and lanes."""
    return Sum(value, (), value, value)


def to_sum(value: Any) -> Sum:
    """Return an integer or bool as a Sum with its range; an array becomes one term."""
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
    """Return the conjunction of one or more Boolean arrays as one array."""
    result = factors[0]
    for factor in factors[1:]:
        result = np.logical_and(result, factor)
    return result


def sum_of_terms(value: Sum) -> Array | int:
    """Return a Sum as one int64 array (modulo 2**64), or as an int if it has no terms."""
    if not value.terms:
        return value.constant
    total = value.terms[0]
    for term in value.terms[1:]:
        total = total + term
    return total + value.constant if value.constant else total


def to_array(value: Any, type_: ValueType | None) -> Array:
    """Return a value as an array, whose extent may be 1 along any axis.

    `type_` decides rank and dtype; None is allowed only for arrays and masks. Raises UnsupportedOp
    for pointers, Unknown and other values that are not numbers.
    """
    if isinstance(value, np.ndarray):
        return value
    if isinstance(value, Mask):
        return conjunction(value.factors)
    if type_ is None:
        raise UnsupportedOp(f"an array is needed, but the value is a {type(value).__name__}")
    if isinstance(value, bool):
        return np.full((1,) * (len(type_.shape) + 1), value, type_.element.value)
    if isinstance(value, Sum):
        total = sum_of_terms(value)
        if isinstance(total, np.ndarray):
            return total.astype(type_.element.value, copy=False)
        constant = wrapped(total, type_.element.bits)
        return np.full((1,) * (len(type_.shape) + 1), constant, type_.element.value)
    raise UnsupportedOp(f"a number is needed, but the value is a {type(value).__name__}")


def full_array(value: Any, type_: ValueType) -> Array:
    """Return an array with every lane axis at its full extent; the program axis may be 1."""
    array = to_array(value, type_)
    if array.shape[1:] == type_.shape:
        return array
    return np.broadcast_to(array, (array.shape[0], *type_.shape))


def full_arrays(values: Sequence[Any], types: Sequence[ValueType]) -> list[Array]:
    """Return values as full arrays of equally many programs."""
    arrays = [full_array(value, type_) for value, type_ in zip(values, types, strict=True)]
    programs = max(array.shape[0] for array in arrays)
    return [np.broadcast_to(array, (programs, *array.shape[1:])) for array in arrays]


def unknown_of(values: Iterable[Any]) -> Unknown | None:
    """Return an Unknown with the sources of all unknown values; None if all are known."""
    union: Unknown | None = None
    for value in values:
        if isinstance(value, Unknown):
            sources = value.sources if union is None else union.sources | value.sources
            union = Unknown(sources)
    return union


def uniform_flag(value: Any) -> bool | None:
    """Return a Boolean as a bool if it has one element for all programs and lanes, else None."""
    if isinstance(value, bool):
        return value
    array = to_array(value, None)
    if array.size == 1:
        return bool(array.reshape(-1)[0])
    return None


def program_flags(value: Any, programs: int) -> Array:
    """Return a scalar Boolean as an array with one element per program."""
    flags = np.asarray(value) if isinstance(value, bool) else to_array(value, None)
    return np.broadcast_to(flags.reshape(-1), (programs,))


def map_arrays(value: Any, change: Callable[[Array], Array]) -> Any:
    """Return a value with `change`, a change of shape, applied to each of its arrays."""
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
    if isinstance(value, ShadowedValue):
        return value.mapped(change)
    if isinstance(value, SharedView):
        return SharedView(value.buffer, change(value.starts), value.offsets)
    if isinstance(value, Descriptor):
        return Descriptor(
            map_arrays(value.base, change),
            tuple(map_arrays(extent, change) for extent in value.shape),
            tuple(map_arrays(stride, change) for stride in value.strides),
            value.padding_nan,
            map_arrays(value.predicate, change),
        )
    return value


def with_rank(value: Any, rank: int) -> Any:
    """Return a value with axes of one element behind the others, up to a rank."""
    return map_arrays(value, lambda array: array.reshape(array.shape + (1,) * (rank - array.ndim)))


def select_programs(value: Any, index: Array) -> Any:
    """Return a value restricted to the programs at `index`."""
    return map_arrays(value, lambda array: array if array.shape[0] == 1 else array[index])


def merge_programs(parts: Sequence[tuple[Array, Any]], programs: int, type_: ValueType) -> Any:
    """Return the values of different programs as one value.

    `parts` are (program index array, value for these programs); the indices are disjoint. A program
    in no index gets an arbitrary value. The result is Unknown if any value is.
    """
    first_value = parts[0][1]
    # A value that is the same for all programs needs no merge; others were re-indexed.
    if all(value is first_value for _, value in parts) and _is_uniform(first_value):
        return first_value
    unknown = unknown_of(value for _, value in parts)
    if unknown is not None:
        return unknown
    shadowed = next((value for _, value in parts if isinstance(value, ShadowedValue)), None)
    if shadowed is not None:
        return shadowed.merged(parts, programs, type_)
    if isinstance(first_value, Pointer | PointerChoice):
        return _merge_pointers(parts, programs, type_)
    if isinstance(first_value, SharedView):
        if any(value.buffer is not first_value.buffer for _, value in parts):
            raise UnsupportedOp("programs use different shared memory after a branch")
        starts = _scatter([(index, value.starts) for index, value in parts], programs)
        return SharedView(first_value.buffer, starts, first_value.offsets)
    if isinstance(first_value, Descriptor):
        raise UnsupportedOp("programs use different tensor descriptors after a branch")
    arrays = [(index, to_array(value, type_)) for index, value in parts]
    return _scatter(arrays, programs)


def _is_uniform(value: Any) -> bool:
    uniform = True

    def check(array: Array) -> Array:
        nonlocal uniform
        uniform = uniform and array.shape[0] == 1
        return array

    map_arrays(value, check)
    return uniform


def actual(value: Any) -> Any:
    """Return the kernel's own value, without a shadow."""
    return value.actual if isinstance(value, ShadowedValue) else value


def _scatter(parts: Sequence[tuple[Array, Array]], programs: int) -> Array:
    lanes = np.broadcast_shapes(*(array.shape[1:] for _, array in parts))
    result = np.zeros((programs, *lanes), parts[0][1].dtype)
    for index, array in parts:
        result[index] = array
    return result


def pointers_in(value: Pointer | PointerChoice) -> list[Pointer]:
    """Return all pointers that a pointer or a PointerChoice may be."""
    if isinstance(value, Pointer):
        return [value]
    return pointers_in(value.first) + pointers_in(value.second)


def _merge_pointers(parts: Sequence[tuple[Array, Any]], programs: int, type_: ValueType) -> Any:
    """Return pointers of different programs as one Pointer, or a choice by argument."""
    leaves = [leaf for _, value in parts for leaf in pointers_in(value)]
    unknown = unknown_of(leaf.offset for leaf in leaves)
    arguments = {leaf.argument for leaf in leaves}
    if unknown is not None:
        return Pointer(arguments.pop() if len(arguments) == 1 else None, unknown)
    rank = len(type_.shape) + 1
    merged: list[tuple[Array, Pointer | PointerChoice]] = []
    offsets_by_argument: dict[int | None, list[tuple[Array, Array]]] = {}
    for index, value in parts:
        if isinstance(value, Pointer):
            offset = offset_array(value.offset, rank)
            offsets_by_argument.setdefault(value.argument, []).append((index, offset))
        else:
            merged.append((index, _for_all_programs(value, index, programs)))
    for argument, offsets in offsets_by_argument.items():
        index = np.concatenate([index for index, _ in offsets])
        merged.append((index, Pointer(argument, to_sum(_scatter(offsets, programs)))))
    *other_targets, (_, result) = merged
    for index, value in other_targets:
        condition = np.zeros((programs,) + (1,) * (rank - 1), np.bool_)
        condition[index] = True
        result = PointerChoice(condition, value, result)
    return result


def _for_all_programs(value: Any, index: Array, programs: int) -> Any:
    """Return a value of the programs at `index`, with the first element for all others."""

    def spread(array: Array) -> Array:
        if array.shape[0] == 1:
            return array
        full = np.repeat(array[:1], programs, axis=0)
        full[index] = array
        return full

    return map_arrays(value, spread)


def offset_array(offset: Sum | Unknown, rank: int) -> Array:
    """Return the byte offsets of pointers as one array."""
    assert isinstance(offset, Sum)
    total = sum_of_terms(offset)
    if isinstance(total, np.ndarray):
        return total
    return np.full((1,) * rank, total, np.int64)
