"""Which recorded numbers of a kernel's launches vary together, and launches at other sizes.

Scalars and extents that were equal in every recorded launch of one variant are one *quantity*. When
it grows, what follows from it grows along: strides of contiguous tensors, extents that were
products of two scalars, scalars that were a stride or a product of extents, and the grid, by the
kernel's masks or by what its programs are multiplied by. All of it must hold in every launch. Where
two readings of a number fit all launches and differ at the new size, none is chosen: `Ambiguous`
says which.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import combinations_with_replacement, pairwise
from math import prod
from typing import TYPE_CHECKING, Final

from kvtrace.evaluate import ScalarArgument, Storage, TensorArgument
from kvtrace.schema.errors import KvtraceError
from kvtrace.symbolic.conditions import AtLeast
from kvtrace.symbolic.terms import Symbol, Term
from kvtrace.symbolic.walk import summarise
from kvtrace.verdicts.generic import conditions_of

if TYPE_CHECKING:
    from kvtrace.calls.recorded import Call

Number = tuple[str, int, int]
"""What a number of a launch is: ("scalar", argument, 0), ("shape" or "stride", argument, axis) or
("grid", axis, 0)."""
Numbers = Mapping[Number, int]

_LEAST: Final = 2
"""Smaller numbers are equal by chance."""


class Ambiguous(KvtraceError):
    """The recorded launches do not tell which numbers grow along."""

    slug = "ambiguous-size"


@dataclass(frozen=True)
class Grown:
    """A launch at another size: `numbers` are all of it, `along` says what grew how, in words."""

    call: Call
    numbers: Numbers
    along: tuple[str, ...]


@dataclass(frozen=True)
class _Reading:
    """One way to read a number: by a formula of others."""

    text: str
    value: Callable[[Numbers], int]


class Relations:
    """The relations between numbers that hold in all of some launches of one variant."""

    def __init__(self, call: Call, more: Sequence[Numbers] = ()) -> None:
        """`call` is the launch that is grown; `more` are the numbers of others."""
        self.call = call
        self.base: Numbers = numbers_of(call)
        self._launches = (self.base, *more)
        self.quantities = self._quantities()
        self._grid = {axis: self._grid_readings(axis) for axis in range(3)}
        self._runs = list(self._extent_runs())

    @property
    def launches(self) -> int:
        """How many launches the relations hold in."""
        return len(self._launches)

    # -- names -----------------------------------------------------------------------------------

    def name(self, number: Number) -> str:
        """Return what a number is called in text."""
        kind, place, axis = number
        if kind == "grid":
            return f"grid_{'xyz'[place]}"
        name = self.call.arguments[place].name
        return name if kind == "scalar" else f"{name}.{kind}[{axis}]"

    def number(self, name: str) -> Number | None:
        """Return the number that has a name."""
        return next((number for number in self.base if self.name(number) == name), None)

    def quantity(self, name: str) -> tuple[Number, ...] | None:
        """Return the quantity that a name belongs to; None: it is no number that may vary."""
        return next((q for q in self.quantities if any(self.name(n) == name for n in q)), None)

    def follows_grid(self, axis: int) -> bool:
        """Whether an axis of the grid is what other numbers say."""
        return bool(self._grid[axis])

    def is_derived(self, quantity: Sequence[Number]) -> bool:
        """Whether a scalar was a stride, so that it grows with extents, and not by itself."""
        (first, *_) = quantity
        return all(number[0] == "scalar" for number in quantity) and any(
            self._values(number) == self._values(first)
            for number in self.base
            if number[0] == "stride"
        )

    # -- what was equal --------------------------------------------------------------------------

    def _values(self, number: Number) -> tuple[int, ...]:
        return tuple(launch[number] for launch in self._launches)

    def _fits(self, number: Number, reading: _Reading) -> bool:
        return all(reading.value(launch) == launch[number] for launch in self._launches)

    def _quantities(self) -> tuple[tuple[Number, ...], ...]:
        """Scalars and extents by their values in all launches; scalars come first."""
        found: dict[tuple[int, ...], list[Number]] = {}
        same = [n for n in self.base if all(n in launch for launch in self._launches)]
        for number in sorted(same, key=lambda n: (n[0] != "scalar", n)):
            values = self._values(number)
            if number[0] in ("scalar", "shape") and min(values) >= _LEAST:
                found.setdefault(values, []).append(number)
        alone = [("grid", axis, 0) for axis in range(3) if max(self._values(("grid", axis, 0))) > 1]
        return (*map(tuple, found.values()), *((number,) for number in alone))

    def _extent_runs(self) -> Iterator[_Reading]:
        """Products of neighbouring extents of a tensor, its number of elements among them."""
        for place, argument in enumerate(self.call.arguments):
            rank = len(argument.shape) if isinstance(argument, TensorArgument) else 0
            for first in range(rank):
                for last in range(first + 2, rank + 1):
                    axes = [("shape", place, axis) for axis in range(first, last)]
                    text = " * ".join(map(self.name, axes))
                    yield _Reading(text, lambda n, axes=axes: prod(n[a] for a in axes))  # type: ignore[misc]

    def _plain(self, number: Number) -> _Reading:
        return _Reading(self.name(number), lambda numbers: numbers[number])

    def _sizes(self) -> list[Number]:
        """One number of each quantity that is no axis of the grid."""
        return [q[0] for q in self.quantities if q[0][0] != "grid"]

    # -- the grid --------------------------------------------------------------------------------

    def _grid_readings(self, axis: int) -> list[_Reading]:
        """Readings of an axis of the grid: by the kernel's masks, else by what fits."""
        number: Number = ("grid", axis, 0)
        by_masks = [r for r in self._by_reach(axis) if self._fits(number, r)]
        if by_masks or max(self._values(number)) < _LEAST:
            return by_masks
        sizes = self._sizes()
        blocks = _factors_of_program(self.call, axis)
        near = [_ceiling(self._plain(s), by) for s in sizes for by in sorted(blocks | {1})]
        tiers = [
            near,
            [_ceiling(self._plain(s), by) for s in sizes for by in _block_extents(self.call)],
            list(self._products(sizes)),
        ]
        for tier in tiers:
            fitting = [reading for reading in tier if self._fits(number, reading)]
            if fitting:
                return fitting
        return []

    def _by_reach(self, axis: int) -> Iterator[_Reading]:
        """Read `size <= block * grid`, which stores need to write all that their masks let."""
        for found in conditions_of(self.call.module):
            for condition in found.reach:
                read = _size_by_grid(condition.term) if isinstance(condition, AtLeast) else None
                if read is not None and read[1] == axis and ("scalar", read[0], 0) in self.base:
                    yield _ceiling(self._plain(("scalar", read[0], 0)), read[2])

    def _products(self, sizes: Sequence[Number]) -> Iterator[_Reading]:
        blocks = sorted({1, *_block_extents(self.call)})
        parts = [_ceiling(self._plain(size), by) for size in sizes for by in blocks]
        for one, other in combinations_with_replacement(parts, 2):
            yield _Reading(
                f"{one.text} * {other.text}",
                lambda n, one=one, other=other: one.value(n) * other.value(n),  # type: ignore[misc]
            )

    # -- growing ---------------------------------------------------------------------------------

    def grown(self, wanted: Mapping[tuple[Number, ...], int]) -> Grown:
        """Return the first launch with quantities at other sizes, and all that follows from them.

        Raises:
            Ambiguous: the launches do not tell how a number follows.

        """
        numbers = dict(self.base)
        along: dict[str, None] = {}
        for quantity, value in wanted.items():
            self._unambiguous(quantity)
            if self.is_derived(quantity) and value != self.base[quantity[0]]:
                raise Ambiguous(
                    f"{self.name(quantity[0])} was a stride of a tensor: it grows with its extents"
                )
            for number in quantity:
                numbers[number] = value
                if number != quantity[0]:
                    along[f"{self.name(number)} = {self.name(quantity[0])}"] = None
        fixed = {number for quantity in wanted for number in quantity}
        for quantity, value in wanted.items():
            self._elements(quantity, value, numbers, along)
        self._extents(numbers, fixed, along)
        for place, argument in enumerate(self.call.arguments):
            if isinstance(argument, TensorArgument):
                self._strides(place, argument, numbers)
        self._scalars(numbers, fixed, along)
        for axis in range(3):
            programs: Number = ("grid", axis, 0)
            if programs not in fixed:
                self._follow(programs, self._grid[axis], numbers, along)
        return Grown(_call(self.call, numbers), numbers, tuple(along))

    def _unambiguous(self, quantity: Sequence[Number]) -> None:
        extents = [number for number in quantity if number[0] == "shape"]
        for one, other in pairwise(extents):
            if one[1] == other[1]:
                raise Ambiguous(
                    f"{self.name(quantity[0])} was {self.base[one]:,}, as were {self.name(one)} "
                    f"and {self.name(other)}: record a launch where they differ"
                )

    def _elements(
        self,
        quantity: Sequence[Number],
        value: int,
        numbers: dict[Number, int],
        along: dict[str, None],
    ) -> None:
        """Let contiguous tensors have as many elements as a scalar said, whatever their extents."""
        if any(number[0] != "scalar" for number in quantity):
            return
        for place, argument in enumerate(self.call.arguments):
            if not isinstance(argument, TensorArgument) or len(argument.shape) < 2:
                continue
            axes: list[Number] = [("shape", place, axis) for axis in range(len(argument.shape))]
            text = " * ".join(map(self.name, axes))
            reading = _Reading(text, lambda n, axes=axes: prod(n[a] for a in axes))  # type: ignore[misc]
            if self._fits(quantity[0], reading) and value != self.base[quantity[0]]:
                for number in axes:
                    numbers[number] = value if number is axes[0] else 1
                    numbers["stride", place, number[2]] = 1
                along[f"{text} = {self.name(quantity[0])}"] = None

    def _follow(
        self,
        number: Number,
        readings: Sequence[_Reading],
        numbers: dict[Number, int],
        along: dict[str, None],
    ) -> None:
        """Let a number be what all of its readings say."""
        values = {reading.value(numbers): reading for reading in readings}
        if len(values) > 1:
            texts = " or ".join(reading.text for reading in values.values())
            raise Ambiguous(
                f"{self.name(number)} was {self.base[number]:,}, which may be {texts}: record a "
                "launch where they differ"
            )
        for value, reading in values.items():
            if value != numbers[number]:
                numbers[number] = value
                along[f"{self.name(number)} = {reading.text}"] = None

    def _extents(
        self, numbers: dict[Number, int], fixed: set[Number], along: dict[str, None]
    ) -> None:
        """Extents that were products of two scalars stay so."""
        scalars = [q[0] for q in self.quantities if q[0][0] == "scalar"]
        for quantity in self.quantities:
            extents = [n for n in quantity if n[0] == "shape"]
            if quantity[0][0] != "shape" or fixed.intersection(quantity):
                continue
            readings = [
                _Reading(
                    f"{self.name(one)} * {self.name(other)}",
                    lambda n, one=one, other=other: n[one] * n[other],  # type: ignore[misc]
                )
                for one, other in combinations_with_replacement(scalars, 2)
            ]
            readings = [r for r in readings if self._fits(extents[0], r)]
            for extent in extents:
                self._follow(extent, readings, numbers, along)

    def _strides(self, place: int, tensor: TensorArgument, numbers: dict[Number, int]) -> None:
        """Strides that were the product of a faster axis' stride and extent stay so."""
        axes = sorted(range(len(tensor.shape)), key=lambda a: (tensor.strides[a], -a))
        for inner, outer in pairwise(axes):
            mine: Number = ("stride", place, outer)
            other: Number = ("stride", place, inner)
            size: Number = ("shape", place, inner)
            if self.base[mine] != numbers[mine]:
                continue
            needed = numbers[other] * numbers[size]
            if self.base[mine] == self.base[other] * self.base[size]:
                numbers[mine] = needed
            elif needed > numbers[mine] > 0 and needed != self.base[other] * self.base[size]:
                raise Ambiguous(
                    f"{tensor.name} was not contiguous, and how {self.name(mine)} "
                    f"({self.base[mine]:,}) grows with {self.name(size)} is not known"
                )

    def _scalars(
        self, numbers: dict[Number, int], fixed: set[Number], along: dict[str, None]
    ) -> None:
        """Scalars that were an extent, a stride, or a product of extents stay so."""
        sizes = [n for n in self.base if n[0] in ("shape", "stride")]
        for number in self.base:
            if number[0] != "scalar" or min(self._values(number)) < _LEAST:
                continue
            equal = [self._plain(n) for n in sizes if n in numbers]
            readings = [r for r in equal if self._fits(number, r)]
            if number not in fixed:
                readings = readings or [r for r in self._runs if self._fits(number, r)]
            else:
                readings.append(_Reading(self.name(number), lambda n, m=number: n[m]))  # type: ignore[misc]
            self._follow(number, readings, numbers, along)


def numbers_of(call: Call) -> dict[Number, int]:
    """Return the numbers of a launch: integers passed by value, extents, strides, and the grid."""
    found: dict[Number, int] = {}
    for place, argument in enumerate(call.arguments):
        if isinstance(argument, TensorArgument):
            for axis, size in enumerate(argument.shape):
                found["shape", place, axis] = size
                found["stride", place, axis] = argument.strides[axis]
        elif isinstance(argument, ScalarArgument) and type(argument.value) is int:
            found["scalar", place, 0] = argument.value
    for axis, extent in enumerate(call.grid):
        found["grid", axis, 0] = extent
    return found


def _call(call: Call, numbers: Numbers) -> Call:
    """Make a launch with other numbers; nothing is allocated.

    What a tensor held is known only where its storage is as large as it was.
    """
    needed: dict[int, int] = {}
    made: list[TensorArgument | ScalarArgument] = []
    for place, argument in enumerate(call.arguments):
        if not isinstance(argument, TensorArgument):
            value = numbers.get(("scalar", place, 0))
            made.append(argument if value is None else ScalarArgument(argument.name, value))
            continue
        axes = range(len(argument.shape))
        shape = tuple(numbers["shape", place, axis] for axis in axes)
        strides = tuple(numbers["stride", place, axis] for axis in axes)
        tensor = replace(argument, shape=shape, strides=strides)
        key = id(argument.storage)
        end = argument.offset_bytes + tensor.view_bytes[1]
        needed[key] = max(needed.get(key, argument.storage.nbytes), end)
        made.append(tensor)
    before = {
        id(each.storage): each.storage
        for each in call.arguments
        if isinstance(each, TensorArgument)
    }
    storages = {
        key: before[key] if nbytes == before[key].nbytes else Storage(nbytes)
        for key, nbytes in needed.items()
    }
    arguments = tuple(
        replace(each, storage=storages[id(each.storage)])
        if isinstance(each, TensorArgument)
        else each
        for each in made
    )
    x, y, z = (numbers["grid", axis, 0] for axis in range(3))
    recorded = tuple(
        each.name
        for each in arguments
        if isinstance(each, TensorArgument) and each.storage.data is not None
    )
    return replace(
        call, grid=(x, y, z), arguments=arguments, recorded=recorded, compiled=None, launches=None
    )


def _ceiling(reading: _Reading, by: int) -> _Reading:
    if by == 1:
        return reading
    return _Reading(f"cdiv({reading.text}, {by})", lambda n: -(-reading.value(n) // by))


def _size_by_grid(term: Term) -> tuple[int, int, int] | None:
    """Return (argument, axis, block) of a condition `block * grid - argument >= 0`."""
    grid = scalar = None
    for monomial, factor in term.coefficients.items():
        if len(monomial) != 1 or not isinstance(monomial[0], Symbol):
            return None
        symbol = monomial[0]
        if symbol.kind == "programs" and factor > 0 and grid is None:
            grid = (symbol.key, factor)
        elif symbol.kind == "scalar" and factor == -1 and isinstance(symbol.key, int):
            scalar = symbol.key
        else:
            return None
    if grid is None or scalar is None or not isinstance(grid[0], int):
        return None
    return scalar, grid[0], grid[1]


def _factors_of_program(call: Call, axis: int) -> frozenset[int]:
    """Return what programs of an axis are multiplied by in the kernel's integers."""
    found = set()
    for arithmetic in summarise(call.module).arithmetic:
        for monomial, factor in arithmetic.result.coefficients.items():
            if len(monomial) == 1 and isinstance(monomial[0], Symbol):
                symbol = monomial[0]
                if symbol.kind == "program" and symbol.key == axis and factor > 1:
                    found.add(factor)
    return frozenset(found)


def _block_extents(call: Call) -> tuple[int, ...]:
    accesses = summarise(call.module).accesses
    return tuple(sorted({size for access in accesses for size in access.shape if size > 1}))
