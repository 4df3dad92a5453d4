"""Quantities: numbers of recorded launches that vary together, and launches at new sizes.

A *quantity* is a set of numbers that grow as one: `n = 1000`, `x.shape[0] = 1000`. Numbers that
differ between launches, but are equal in each launch, form a quantity. Numbers that are the same in
all launches are often equal by chance: then a scalar, or an axis of the grid, belongs to an extent
only if the kernel accesses that tensor by it. Further numbers depend on quantities by *readings*,
formulas that fit all launches: strides of contiguous tensors, scalars that were a stride, `batch +
1` offsets, and the grid by the kernel's masks. Products of two sizes are readings only if launches
of different sizes show them. If two readings of a number differ at a new size, `Ambiguous` names
both. Every dependence is an assumption, and is reported.

All numbers are terms, so that one quantity may be a symbol: see `sized.py`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial, reduce
from itertools import accumulate, combinations_with_replacement, pairwise
from operator import mul
from typing import TYPE_CHECKING, Final

from kvtrace.evaluate import TensorArgument
from kvtrace.schema.errors import KvtraceError
from kvtrace.symbolic.conditions import AtLeast
from kvtrace.symbolic.expressions import expression
from kvtrace.symbolic.functions import Quotient, quotient
from kvtrace.symbolic.terms import ONE, Substitution, Symbol, Term, as_term
from kvtrace.symbolic.walk import summarize
from kvtrace.verdicts.sizes.condition import conditions_of
from kvtrace.verdicts.sizes.growth_ties import (
    block_extents,
    compared_in,
    constant_moduli,
    divisors_of,
    factors_of_program,
    fixed_numbers,
    limits_of,
    quotients_in,
    size_by_grid,
    ties_of,
)
from kvtrace.verdicts.sizes.launch_numbers import Number, Numbers, call_with, numbers_of

if TYPE_CHECKING:
    from kvtrace.recorded_calls.recorded import Call

Terms = Mapping[Number, Term]
Quantity = tuple[Number, ...]

_ROUNDS: Final = 2
_LEAST: Final = 2
"""Smaller numbers are often equal by chance."""


class Ambiguous(KvtraceError):
    """The recorded launches do not determine how a number depends on a size."""

    slug = "ambiguous-size"


@dataclass(frozen=True)
class Grown:
    """A launch at another size, its numbers, and `along`: texts of the numbers that grew, too."""

    call: Call
    numbers: Numbers
    along: tuple[str, ...]


@dataclass(frozen=True)
class _Reading:
    """A formula of other numbers that may give a number."""

    text: str
    value: Callable[[Terms], Term]


class Relations:
    """Relations between numbers that hold in all recorded launches of one variant."""

    def __init__(self, call: Call, more: Sequence[Numbers] = ()) -> None:
        """`call` is the launch that is resized; `more` are the numbers of other launches."""
        self.call = call
        self.base: Numbers = numbers_of(call)
        self._launches = (self.base, *more)
        self._as_terms = [{n: as_term(v) for n, v in launch.items()} for launch in self._launches]
        self._shared = [n for n in self.base if all(n in launch for launch in self._launches)]
        self._ties = ties_of(call.module)
        self._fixed = fixed_numbers(call.module)
        self._compared = compared_in(call.module)
        self._moduli = constant_moduli(call.module)
        by_mask = {axis: self._by_reach(axis) for axis in range(3)}
        self.quantities: tuple[Quantity, ...] = self._quantities(
            {("grid", axis, 0) for axis, readings in by_mask.items() if readings}
        )
        self._derived = {
            q: formulas for q in self.quantities if (formulas := self._size_readings(q))
        }
        self._grid = {axis: by_mask[axis] or self._grid_readings(axis) for axis in range(3)}

    # -- names -----------------------------------------------------------------------------------

    def name(self, number: Number) -> str:
        """Return a number's name for texts: "n", "x.shape[0]" or "grid_x"."""
        kind, place, axis = number
        if kind == "grid":
            return f"grid_{'xyz'[place]}"
        name = self.call.arguments[place].name
        return name if kind == "scalar" else f"{name}.{kind}[{axis}]"

    def number(self, name: str) -> Number | None:
        """Return the number that has a name."""
        return next((number for number in self.base if self.name(number) == name), None)

    def quantity(self, name: str) -> Quantity | None:
        """Return the quantity that has a number of this name, or None."""
        return next((q for q in self.quantities if any(self.name(n) == name for n in q)), None)

    def basis(self, quantity: Quantity) -> str:
        """Return text on the number of launches and sizes that a quantity's assumptions fit."""
        count, sizes = len(self._launches), len(set(self._values(quantity[0])))
        if count == 1:
            return "one recorded launch"
        return (
            f"{count:,} recorded launches, {'all of one size' if sizes == 1 else f'{sizes} sizes'}"
        )

    def basis_of_all(self) -> str:
        """Return text on the number of recorded launches."""
        count = len(self._launches)
        return "one recorded launch" if count == 1 else f"the first of {count:,} recorded launches"

    def is_derived(self, quantity: Quantity) -> bool:
        """Return whether a quantity depends on a scalar, or was a stride, so has no own row."""
        return quantity in self._derived or (
            all(n[0] == "scalar" for n in quantity)
            and any(self._stride_readings(number) for number in quantity)
        )

    def is_open(self, number: Number) -> bool:
        """Return whether an extent, or an axis of the grid, varies and has no reading."""
        kind, place, _ = number
        if not self.varies(number):
            return False
        if kind == "grid":
            return not self._grid[place] and not self._is_member(number)
        has_scalar = any(q[0][0] == "scalar" for q in self.quantities if number in q)
        return not has_scalar and not self._extent_readings(number)

    # -- equal numbers ----------------------------------------------------------------------------

    def _values(self, number: Number) -> tuple[int, ...]:
        return tuple(launch[number] for launch in self._launches)

    def varies(self, number: Number) -> bool:
        """Return whether recorded launches differ in a number."""
        return number in self._shared and len(set(self._values(number))) > 1

    def _fits(self, number: Number, reading: _Reading) -> bool:
        return number in self._shared and all(
            reading.value(terms).constant == launch[number]
            for terms, launch in zip(self._as_terms, self._launches, strict=True)
        )

    def _is_tied(self, number: Number, place: int) -> bool:
        """Return whether the kernel accesses a tensor by a scalar, or by an axis of the grid."""
        return ((number[0], number[1]), place) in self._ties

    def _quantities(self, masked: set[Number]) -> tuple[Quantity, ...]:
        """Return the quantities; `masked` are axes of the grid that have a reading by masks."""
        by_values: dict[tuple[int, ...], list[Number]] = {}
        order = ("scalar", "shape", "grid")
        for number in sorted(
            self._shared, key=lambda n: (n[0] not in order[:1], n[0] == "grid", n)
        ):
            is_size = number[0] in order and number not in masked
            if is_size and min(self._values(number)) >= _LEAST:
                by_values.setdefault(self._values(number), []).append(number)
        for number in self._shared:
            small = self.varies(number) and min(self._values(number)) < _LEAST
            if small and number[0] == "grid" and number not in masked:
                by_values.setdefault(self._values(number), []).append(number)
        groups = (group for equal in by_values.values() for group in self._split_equal(equal))
        return tuple(tuple(g) for g in groups if not self._is_fixed(g))

    def _split_equal(self, equal: Sequence[Number]) -> list[list[Number]]:
        """Return groups of equal numbers: one if launches differ in them, else by the kernel."""
        if self.varies(equal[0]):
            return [self._by_name(equal)]
        groups: list[list[Number]] = []
        for number in equal:
            joined = [g for g in groups if any(self._belong_together(number, n) for n in g)]
            groups = [g for g in groups if g not in joined]
            groups.append([*(n for g in joined for n in g), number])
        ordered = [self._by_name(g) for g in groups]
        return sorted(ordered, key=lambda group: min(map(equal.index, group)))

    def _by_name(self, group: Iterable[Number]) -> list[Number]:
        """Return a group with its name first: a scalar that masks compare with, if there is any."""
        order = ("scalar", "shape", "grid")
        limits = limits_of(self.call.module)
        return sorted(group, key=lambda n: (order.index(n[0]), n[1] not in limits, n))

    def _belong_together(self, one: Number, other: Number) -> bool:
        """Return whether one number is an extent of a tensor that is accessed by the other."""
        for number, extent in ((one, other), (other, one)):
            if extent[0] == "shape" and number[0] != "shape" and self._is_tied(number, extent[1]):
                return (extent[1], self.base[extent]) not in self._moduli
        return False

    def _is_fixed(self, group: Sequence[Number]) -> bool:
        """Return whether all numbers of a group are extents that equal constants of the kernel."""
        return all(
            number[0] == "shape" and not self.varies(number) and self.base[number] in self._fixed
            for number in group
        )

    def _plain(self, number: Number) -> _Reading:
        return _Reading(self.name(number), lambda numbers: numbers[number])

    # -- readings --------------------------------------------------------------------------------

    def _grid_readings(self, axis: int) -> list[_Reading]:
        """Return readings of an axis of the grid by sizes; none if it is a quantity of its own."""
        number: Number = ("grid", axis, 0)
        if number not in self._shared or self._is_member(number):
            return []
        sizes = [r for q in self.quantities if number not in q for r in self._readings_of(q)]
        blocks = factors_of_program(self.call.module, axis)
        near = [
            _ceiling(size, by)
            for quantity in self.quantities
            if any(n[0] == "shape" and self._is_tied(number, n[1]) for n in quantity)
            for size in self._readings_of(quantity)
            for by in sorted(blocks)
            if min(self._values(quantity[0])) >= by
        ]
        fitting = [reading for reading in near if self._fits(number, reading)]
        if fitting or not self.varies(number):
            return fitting
        by_blocks = sorted({1, *blocks, *block_extents(self.call.module)})
        parts = [_ceiling(size, by) for size in sizes for by in by_blocks]
        products = (
            _Reading(
                f"{one.text} * {other.text}",
                lambda n, one=one, other=other: one.value(n) * other.value(n),  # type: ignore[misc]
            )
            for one, other in combinations_with_replacement(parts, 2)
        )
        plain = [reading for reading in parts if self._fits(number, reading)]
        return (
            plain
            or [reading for reading in products if self._fits(number, reading)]
            or [
                reading
                for size in self._scalars()
                for reading in self._multiples(number, size)
                if self.base[number] // self.base[size] in divisors_of(self.call.module)
                if self._fits(number, reading)
            ]
        )

    def _readings_of(self, quantity: Quantity) -> list[_Reading]:
        return self._derived.get(quantity) or [self._plain(quantity[0])]

    def _scalars(self) -> list[Number]:
        """Return the first number of each quantity of scalars that launches differ in."""
        return [q[0] for q in self.quantities if q[0][0] == "scalar" and self.varies(q[0])]

    def _multiples(self, number: Number, size: Number) -> Iterator[_Reading]:
        times, rest = divmod(self.base[number], self.base[size] or 1)
        if times > 1 and not rest:
            yield _Reading(f"{times} * {self.name(size)}", lambda n: n[size] * times)

    def _size_readings(self, quantity: Quantity) -> list[_Reading]:
        """Return readings of an extent by a scalar that its tensor is accessed by.

        Launches of different sizes have to fit: `cdiv(n, 32)` or `n // 32` if the kernel divides by
        32; for a tensor with one axis also `6 * n` and `n - 1`. If the tensor has an element for
        each program, and the program index is multiplied by 64, `cdiv(n, 64)`.
        """
        if any(number[0] == "scalar" for number in quantity) or not self.varies(quantity[0]):
            return []
        is_counted = any(number[0] == "grid" for number in quantity)
        readings = {
            reading.text: reading
            for number in quantity
            if number[0] == "grid"
            for by in factors_of_program(self.call.module, number[1])
            for size in self._scalars()
            for reading in (_ceiling(self._plain(size), by),)
        }
        for extent in (number for number in quantity if number[0] == "shape"):
            is_flat = not is_counted and self._rank(extent[1]) == 1
            for size in self._scalars():
                if self._is_tied(size, extent[1]):
                    formulas = [*self._quotients_of(size)]
                    if is_flat:
                        formulas += (*self._multiples(extent, size), *self._near(extent, size))
                    readings |= {formula.text: formula for formula in formulas}
        return [reading for reading in readings.values() if self._fits(quantity[0], reading)]

    def _rank(self, place: int) -> int:
        argument = self.call.arguments[place]
        return len(argument.shape) if isinstance(argument, TensorArgument) else 0

    def _quotients_of(self, size: Number) -> Iterator[_Reading]:
        plain = self._plain(size)
        for by in sorted(divisors_of(self.call.module)):
            yield from (_ceiling(plain, by), _floor(plain, by))

    def _near(self, extent: Number, size: Number) -> Iterator[_Reading]:
        """Yield the reading `size + constant` of an extent, up to a quarter of the size."""
        constant = self.base[extent] - self.base[size]
        if 0 < abs(constant) * 4 <= self.base[size]:
            text = f"{self.name(size)} {'+' if constant > 0 else '-'} {abs(constant)}"
            yield _Reading(text, lambda n: n[size] + constant)

    def _by_reach(self, axis: int) -> list[_Reading]:
        """Return readings of a grid axis by masks: stores need `size <= block * grid`."""
        readings: dict[str, _Reading] = {}
        for condition in (c for access in conditions_of(self.call.module) for c in access.reach):
            parts = size_by_grid(condition.term) if isinstance(condition, AtLeast) else None
            if parts is not None and parts[1] == axis and ("scalar", parts[0], 0) in self.base:
                reading = _ceiling(self._plain(("scalar", parts[0], 0)), parts[2])
                if self._fits(("grid", axis, 0), reading):
                    readings[reading.text] = reading
        return list(readings.values())

    def _stride_readings(self, number: Number) -> list[_Reading]:
        """Return readings of a scalar as a stride of a tensor that is accessed by the scalar."""
        if number[0] != "scalar" or min(self._values(number)) < _LEAST:
            return []
        strides = (n for n in self.base if n[0] == "stride")
        possible = [n for n in strides if self.varies(number) or self._is_tied(number, n[1])]
        return [reading for n in possible if self._fits(number, reading := self._plain(n))]

    def _offset_readings(self, extent: Number) -> list[_Reading]:
        """Return readings `batch + 1` of an extent by a number that the tensor is accessed by."""
        argument = self.call.arguments[extent[1]]
        if not isinstance(argument, TensorArgument) or len(argument.shape) != 1:
            return []
        readings = []
        for number in (n for q in self.quantities for n in q if n[0] in ("scalar", "grid")):
            reading = _Reading(
                f"{self.name(number)} + 1",
                lambda n, number=number: n[number] + 1,  # type: ignore[misc]
            )
            tied = self.varies(extent) or self._is_tied(number, extent[1])
            if tied and self._fits(extent, reading):
                readings.append(reading)
        return readings

    def _quotient_readings(self, extent: Number) -> list[_Reading]:
        """Return readings `n // 2` of an extent by a quotient that the tensor is accessed by."""
        readings: dict[str, _Reading] = {}
        for place, atom in sorted(quotients_in(self.call.module), key=lambda pair: pair[1].order):
            if place != extent[1]:
                continue
            scalars = [a for a in atom.within() if isinstance(a, Symbol)]
            if not all(("scalar", symbol.key, 0) in self._shared for symbol in scalars):
                continue
            text = _bare(expression(atom.term, summarize(self.call.module)))
            reading = _Reading(text, partial(_substituted, atom, scalars))
            if self._fits(extent, reading):
                readings[text] = reading
        return list(readings.values())

    def _product_readings(self, extent: Number) -> list[_Reading]:
        """Return readings of an extent as a product of two sizes, if launches differ in it."""
        if not self.varies(extent):
            return []
        sizes = [
            q[0]
            for q in self.quantities
            if extent not in q and q[0][0] != "grid" and q not in self._derived
        ]
        readings = (
            _Reading(
                f"{self.name(one)} * {self.name(other)}",
                lambda n, one=one, other=other: n[one] * n[other],  # type: ignore[misc]
            )
            for one, other in combinations_with_replacement(sizes, 2)
        )
        return [reading for reading in readings if self._fits(extent, reading)]

    def _run_readings(self, scalar: Number) -> list[_Reading]:
        """Return readings of a scalar as a product of neighboring extents of a tensor.

        Launches have to differ in the scalar, unless it is the number of all elements of a tensor
        that is accessed by the scalar.
        """
        return [
            reading
            for place, whole, reading in self._extent_runs()
            if self.varies(scalar) or (whole and self._is_tied(scalar, place))
            if self._fits(scalar, reading)
        ]

    def _extent_runs(self) -> Iterator[tuple[int, bool, _Reading]]:
        """Yield (argument, whether all axes are included, product) of neighboring extents."""
        for place, argument in enumerate(self.call.arguments):
            rank = len(argument.shape) if isinstance(argument, TensorArgument) else 0
            for first in range(rank):
                for last in range(first + 2, rank + 1):
                    axes: list[Number] = [("shape", place, axis) for axis in range(first, last)]
                    yield place, last - first == rank, self._product(axes)

    def _product(self, numbers: Sequence[Number]) -> _Reading:
        text = " * ".join(map(self.name, numbers))
        return _Reading(text, lambda n: reduce(mul, (n[number] for number in numbers), ONE))

    # -- launches at other sizes -----------------------------------------------------------------

    def grown(self, sizes: Mapping[Quantity, int]) -> Grown:
        """Return the first launch with quantities at other sizes, and the numbers that follow.

        Raises:
            Ambiguous: the launches do not determine how a number depends on the sizes.

        """
        terms, along = self.numbers_with({q: as_term(value) for q, value in sizes.items()})
        numbers = {number: term.constant or 0 for number, term in terms.items()}
        return Grown(call_with(self.call, numbers), numbers, along)

    def numbers_with(self, sizes: Mapping[Quantity, Term]) -> tuple[Terms, tuple[str, ...]]:
        """Return all numbers of a launch with some quantities as terms, and texts on the others.

        Raises:
            Ambiguous: the launches do not determine how a number depends on the sizes.

        """
        numbers = dict(self._as_terms[0])
        along: dict[str, None] = {}
        for quantity, value in sizes.items():
            if numbers[quantity[0]] == value:
                continue
            self._refuse_equal_extents(quantity)
            if self.is_derived(quantity):
                name, readings = self.name(quantity[0]), self._derived.get(quantity)
                raise Ambiguous(
                    f"{name} was {readings[0].text}: it grows with that"
                    if readings
                    else f"{name} was a stride of a tensor: it grows with its extents"
                )
            for number in quantity:
                numbers[number] = value
                if number != quantity[0]:
                    along[f"{self.name(number)} = {self.name(quantity[0])}"] = None
            self._elements(quantity, value, numbers, along)
            self._open_ends(quantity)
        fixed = {number for quantity in sizes for number in quantity}
        for _ in range(_ROUNDS):  # the grid may depend on extents, and an extent on the grid
            for axis in range(3):
                programs: Number = ("grid", axis, 0)
                if programs not in fixed:
                    self._follow(programs, self._grid[axis], numbers, along)
            for number in self.base:
                if number[0] == "shape" and number not in fixed and not self._is_member(number):
                    self._follow(number, self._extent_readings(number), numbers, along)
        for place, argument in enumerate(self.call.arguments):
            if isinstance(argument, TensorArgument):
                self._strides(place, argument, numbers)
        for number in self.base:
            self._scalar(number, numbers, fixed, along)
        return numbers, tuple(along)

    def _extent_readings(self, extent: Number) -> list[_Reading]:
        return (
            self._offset_readings(extent)
            or self._product_readings(extent)
            or self._quotient_readings(extent)
            or next((readings for q, readings in self._derived.items() if extent in q), [])
        )

    def _open_ends(self, quantity: Quantity) -> None:
        """Raise Ambiguous if another number may depend on a quantity in an unknown way.

        Launches of different sizes would show the dependence.
        """
        if self.varies(quantity[0]):
            return
        for (number,) in (q for q in self.quantities if len(q) == 1 and q != quantity):
            if self._is_open(number) and self._may_follow(number, quantity):
                raise Ambiguous(
                    f"how {self.name(number)}, which was {self.base[number]:,}, grows with "
                    f"{self.name(quantity[0])} is not known: record a launch of another size"
                )

    def _is_open(self, number: Number) -> bool:
        """Return whether a number decides accesses, and has no reading."""
        kind, place, _ = number
        if not any(of == (kind, place) for of, _ in self._ties):
            return False
        if kind == "grid":
            return not self._grid[place] and self.base[number] not in self._fixed
        return kind == "scalar" and not (
            self._stride_readings(number) or self._run_readings(number)
        )

    def _may_follow(self, number: Number, quantity: Quantity) -> bool:
        """Return whether a number may depend on a quantity, by its value or by the masks."""
        value, size = self.base[number], self.base[quantity[0]]
        compared = ((number[0], number[1]), frozenset(n[1] for n in quantity if n[0] == "scalar"))
        if any(of == compared[0] and scalar in compared[1] for of, scalar in self._compared):
            return True
        parts = {size, *(-(-size // by) for by in block_extents(self.call.module))} - {1}
        return any(value % part == 0 or abs(value - part) <= 1 for part in parts)

    def _is_member(self, extent: Number) -> bool:
        """Return whether a number shares a quantity that has no reading with another number."""
        return any(len(q) > 1 and extent in q for q in self.quantities if q not in self._derived)

    def _refuse_equal_extents(self, quantity: Quantity) -> None:
        """Raise Ambiguous if two extents of one tensor are equal in all launches."""
        extents = [number for number in quantity if number[0] == "shape"]
        for one, other in pairwise(extents):
            if one[1] == other[1] and not self.varies(one):
                equal = [*dict.fromkeys(map(self.name, (quantity[0], one, other)))]
                raise Ambiguous(
                    f"{', '.join(equal[:-1])} and {equal[-1]} were equal, {self.base[one]:,}: "
                    "record a launch where they differ"
                )

    def _elements(
        self, quantity: Quantity, value: Term, numbers: dict[Number, Term], along: dict[str, None]
    ) -> None:
        """Give contiguous tensors as many elements as a scalar that was their element count."""
        if any(number[0] != "scalar" for number in quantity):
            return
        for place, argument in enumerate(self.call.arguments):
            if not isinstance(argument, TensorArgument) or len(argument.shape) < 2:
                continue
            if not any(self._is_tied(number, place) for number in quantity):
                continue
            axes: list[Number] = [("shape", place, axis) for axis in range(len(argument.shape))]
            reading = self._product(axes)
            if self._fits(quantity[0], reading):
                for number in axes:
                    numbers[number] = value if number is axes[0] else ONE
                    numbers["stride", place, number[2]] = ONE
                along[f"{reading.text} = {self.name(quantity[0])}"] = None

    def _follow(
        self,
        number: Number,
        readings: Sequence[_Reading],
        numbers: dict[Number, Term],
        along: dict[str, None],
    ) -> None:
        """Set a number to the value of its readings; Ambiguous if their values differ."""
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

    def _strides(self, place: int, tensor: TensorArgument, numbers: dict[Number, Term]) -> None:
        """Set strides that were the product of a faster axis' stride and extent to that product."""
        axes = sorted(range(len(tensor.shape)), key=lambda a: (tensor.strides[a], -a))
        for inner, outer in pairwise(axes):
            mine: Number = ("stride", place, outer)
            other: Number = ("stride", place, inner)
            size: Number = ("shape", place, inner)
            if numbers[mine].constant != self.base[mine] or self.base[mine] == 0:
                continue
            needed, before = numbers[other] * numbers[size], self.base[other] * self.base[size]
            if self.base[mine] == before:
                numbers[mine] = needed
            elif needed != before and self.base["shape", place, outer] > 1:
                raise Ambiguous(
                    f"{tensor.name} was not contiguous, and how {self.name(mine)} "
                    f"({self.base[mine]:,}) grows with {self.name(size)} is not known"
                )

    def _scalar(
        self,
        number: Number,
        numbers: dict[Number, Term],
        fixed: set[Number],
        along: dict[str, None],
    ) -> None:
        """Set a scalar that was a stride, or a product of extents, to its new value."""
        if number[0] != "scalar" or number not in self._shared:
            return
        readings = self._stride_readings(number)
        if number in fixed:
            readings.append(self._plain(number))
        elif not readings and not self._is_member(number):
            readings = self._run_readings(number)
        self._follow(number, readings, numbers, along)


def _substituted(atom: Quotient, scalars: Sequence[Symbol], numbers: Terms) -> Term:
    """Return a quotient with its scalars replaced by terms."""
    terms = {s: numbers["scalar", s.key, 0] for s in scalars if isinstance(s.key, int)}
    return atom.substituted(Substitution(terms))


def _bare(text: str) -> str:
    """Return an expression without the parentheses that enclose all of it, if any."""
    depths = accumulate({"(": 1, ")": -1}.get(letter, 0) for letter in text[:-1])
    return text[1:-1] if text[0] == "(" and min(depths) > 0 else text


def _floor(reading: _Reading, by: int) -> _Reading:
    return _Reading(f"{reading.text} // {by}", lambda n: quotient(reading.value(n), by, floor=True))


def _ceiling(reading: _Reading, by: int) -> _Reading:
    if by == 1:
        return reading
    return _Reading(
        f"cdiv({reading.text}, {by})",
        lambda n: quotient(reading.value(n) + (by - 1), by, floor=True),
    )
