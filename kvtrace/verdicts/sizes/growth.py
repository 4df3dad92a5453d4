"""Quantities: numbers of recorded launches that vary together, for launches at new sizes.

A *quantity* is a set of numbers that grow together: `n = 1000`, `x.shape[0] = 1000`. Numbers that
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
_MIN_SIZE: Final = 2
"""Smaller numbers are often equal by coincidence."""


class Ambiguous(KvtraceError):
    """The error of a number whose dependence on a size is not determined by recorded launches."""

    slug = "ambiguous-size"


@dataclass(frozen=True)
class Grown:
    """A launch at another size, its numbers, and texts of the numbers that grew with the size."""

    call: Call
    numbers: Numbers
    along: tuple[str, ...]


@dataclass(frozen=True)
class _Reading:
    """A formula by which a number may depend on other numbers."""

    text: str
    value: Callable[[Terms], Term]


class Relations:
    """The relations between numbers that hold in all recorded launches of one variant."""

    def __init__(self, call: Call, more: Sequence[Numbers] = ()) -> None:
        """Find relations; `call` is the launch to resize, `more` has numbers of other launches."""
        self.call = call
        self.base: Numbers = numbers_of(call)
        self._launches = (self.base, *more)
        self._as_terms = [
            {number: as_term(value) for number, value in launch.items()}
            for launch in self._launches
        ]
        self._shared = [
            number for number in self.base if all(number in launch for launch in self._launches)
        ]
        self._ties = ties_of(call.module)
        self._fixed = fixed_numbers(call.module)
        self._compared = compared_in(call.module)
        self._moduli = constant_moduli(call.module)
        mask_readings = {axis: self._mask_readings(axis) for axis in range(3)}
        self.quantities: tuple[Quantity, ...] = self._quantities(
            {("grid", axis, 0) for axis, readings in mask_readings.items() if readings}
        )
        self._derived = {
            quantity: formulas
            for quantity in self.quantities
            if (formulas := self._size_readings(quantity))
        }
        self._grid = {axis: mask_readings[axis] or self._grid_readings(axis) for axis in range(3)}

    # -- names -----------------------------------------------------------------------------------

    def name(self, number: Number) -> str:
        """Return a number's name for messages: "n", "x.shape[0]" or "grid_x"."""
        kind, position, axis = number
        if kind == "grid":
            return f"grid_{'xyz'[position]}"
        name = self.call.arguments[position].name
        return name if kind == "scalar" else f"{name}.{kind}[{axis}]"

    def number(self, name: str) -> Number | None:
        """Return the number with a name, None if there is none."""
        return next((number for number in self.base if self.name(number) == name), None)

    def quantity(self, name: str) -> Quantity | None:
        """Return the quantity that contains a number of this name, else None."""
        return next((q for q in self.quantities if any(self.name(n) == name for n in q)), None)

    def basis(self, quantity: Quantity) -> str:
        """Return a phrase for the launches and sizes that fit a quantity's assumptions."""
        count, sizes = len(self._launches), len(set(self._values(quantity[0])))
        if count == 1:
            return "one recorded launch"
        return (
            f"{count:,} recorded launches, {'all of one size' if sizes == 1 else f'{sizes} sizes'}"
        )

    def basis_of_all(self) -> str:
        """Return a phrase for the number of recorded launches."""
        count = len(self._launches)
        return "one recorded launch" if count == 1 else f"the first of {count:,} recorded launches"

    def is_derived(self, quantity: Quantity) -> bool:
        """Return whether a quantity follows from a scalar, or was a stride, and so has no row."""
        return quantity in self._derived or (
            all(n[0] == "scalar" for n in quantity)
            and any(self._stride_readings(number) for number in quantity)
        )

    def is_open(self, number: Number) -> bool:
        """Return whether an extent, or an axis of the grid, varies and has no reading."""
        kind, position, _ = number
        if not self.varies(number):
            return False
        if kind == "grid":
            return not self._grid[position] and not self._is_member(number)
        has_scalar = any(q[0][0] == "scalar" for q in self.quantities if number in q)
        return not has_scalar and not self._extent_readings(number)

    # -- equal numbers ----------------------------------------------------------------------------

    def _values(self, number: Number) -> tuple[int, ...]:
        return tuple(launch[number] for launch in self._launches)

    def varies(self, number: Number) -> bool:
        """Return whether a number differs between recorded launches."""
        return number in self._shared and len(set(self._values(number))) > 1

    def _fits(self, number: Number, reading: _Reading) -> bool:
        """Return whether a reading gives the number in all recorded launches."""
        return number in self._shared and all(
            reading.value(terms).constant == launch[number]
            for terms, launch in zip(self._as_terms, self._launches, strict=True)
        )

    def _is_tied(self, number: Number, position: int) -> bool:
        """Return whether the kernel accesses a tensor by a scalar or an axis of the grid."""
        return ((number[0], number[1]), position) in self._ties

    def _quantities(self, masked: set[Number]) -> tuple[Quantity, ...]:
        """Return the quantities; axes of the grid in `masked` have a reading by masks instead."""
        by_values: dict[tuple[int, ...], list[Number]] = {}
        order = ("scalar", "shape", "grid")
        for number in sorted(
            self._shared, key=lambda n: (n[0] not in order[:1], n[0] == "grid", n)
        ):
            is_size = number[0] in order and number not in masked
            if is_size and min(self._values(number)) >= _MIN_SIZE:
                by_values.setdefault(self._values(number), []).append(number)
        for number in self._shared:
            is_small_varying = self.varies(number) and min(self._values(number)) < _MIN_SIZE
            if is_small_varying and number[0] == "grid" and number not in masked:
                by_values.setdefault(self._values(number), []).append(number)
        groups = (group for equal in by_values.values() for group in self._split_equal(equal))
        return tuple(tuple(g) for g in groups if not self._is_fixed(g))

    def _split_equal(self, equal: Sequence[Number]) -> list[list[Number]]:
        """Return groups of equal numbers: one group if they vary, else by the kernel's accesses."""
        if self.varies(equal[0]):
            return [self._name_first(equal)]
        groups: list[list[Number]] = []
        for number in equal:
            joined = [g for g in groups if any(self._are_linked(number, n) for n in g)]
            groups = [g for g in groups if g not in joined]
            groups.append([*(n for g in joined for n in g), number])
        ordered = [self._name_first(g) for g in groups]
        return sorted(ordered, key=lambda group: min(map(equal.index, group)))

    def _name_first(self, group: Iterable[Number]) -> list[Number]:
        """Return a group with its naming number first, preferably a scalar that masks compare."""
        order = ("scalar", "shape", "grid")
        limits = limits_of(self.call.module)
        return sorted(group, key=lambda n: (order.index(n[0]), n[1] not in limits, n))

    def _are_linked(self, left: Number, right: Number) -> bool:
        """Return whether one number is an extent of a tensor that the other number accesses."""
        for number, extent in ((left, right), (right, left)):
            if extent[0] == "shape" and number[0] != "shape" and self._is_tied(number, extent[1]):
                return (extent[1], self.base[extent]) not in self._moduli
        return False

    def _is_fixed(self, group: Sequence[Number]) -> bool:
        """Return whether all numbers of a group are extents equal to constants of the kernel."""
        return all(
            number[0] == "shape" and not self.varies(number) and self.base[number] in self._fixed
            for number in group
        )

    def _identity_reading(self, number: Number) -> _Reading:
        return _Reading(self.name(number), lambda numbers: numbers[number])

    # -- readings --------------------------------------------------------------------------------

    def _grid_readings(self, axis: int) -> list[_Reading]:
        """Return readings of a grid axis by sizes, none if it is a quantity itself."""
        number: Number = ("grid", axis, 0)
        if number not in self._shared or self._is_member(number):
            return []
        sizes = [
            reading_
            for quantity_ in self.quantities
            if number not in quantity_
            for reading_ in self._readings_of(quantity_)
        ]
        blocks = factors_of_program(self.call.module, axis)
        tied_readings = [
            _ceiling(size, block)
            for quantity in self.quantities
            if any(n[0] == "shape" and self._is_tied(number, n[1]) for n in quantity)
            for size in self._readings_of(quantity)
            for block in sorted(blocks)
            if min(self._values(quantity[0])) >= block
        ]
        fitting = [reading for reading in tied_readings if self._fits(number, reading)]
        if fitting or not self.varies(number):
            return fitting
        by_blocks = sorted({1, *blocks, *block_extents(self.call.module)})
        block_readings = [_ceiling(size, block) for size in sizes for block in by_blocks]
        products = (
            _Reading(
                f"{left.text} * {right.text}",
                lambda n, left=left, right=right: left.value(n) * right.value(n),  # type: ignore[misc]
            )
            for left, right in combinations_with_replacement(block_readings, 2)
        )
        single_readings = [reading for reading in block_readings if self._fits(number, reading)]
        return (
            single_readings
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
        return self._derived.get(quantity) or [self._identity_reading(quantity[0])]

    def _scalars(self) -> list[Number]:
        """Return the first number of each quantity of scalars that varies."""
        return [q[0] for q in self.quantities if q[0][0] == "scalar" and self.varies(q[0])]

    def _multiples(self, number: Number, size: Number) -> Iterator[_Reading]:
        """Yield the reading of a number as a multiple of a size, if it is one."""
        factor, remainder_ = divmod(self.base[number], self.base[size] or 1)
        if factor > 1 and not remainder_:
            yield _Reading(f"{factor} * {self.name(size)}", lambda n: n[size] * factor)

    def _size_readings(self, quantity: Quantity) -> list[_Reading]:
        """Return readings of an extent by a scalar that accesses its tensor.

        They have to fit launches of different sizes: `cdiv(n, 32)` or `n // 32` if the kernel
        divides by 32; for a tensor with one axis also `6 * n` and `n - 1`. If the tensor has an
        element for each program, and the program index is multiplied by 64, `cdiv(n, 64)`.
        """
        if any(number[0] == "scalar" for number in quantity) or not self.varies(quantity[0]):
            return []
        is_counted = any(number[0] == "grid" for number in quantity)
        readings = {
            reading.text: reading
            for number in quantity
            if number[0] == "grid"
            for block in factors_of_program(self.call.module, number[1])
            for size in self._scalars()
            for reading in (_ceiling(self._identity_reading(size), block),)
        }
        for extent in (number for number in quantity if number[0] == "shape"):
            is_flat = not is_counted and self._rank(extent[1]) == 1
            for size in self._scalars():
                if self._is_tied(size, extent[1]):
                    formulas = [*self._quotients_of(size)]
                    if is_flat:
                        formulas += (
                            *self._multiples(extent, size),
                            *self._offset_reading(extent, size),
                        )
                    readings |= {formula.text: formula for formula in formulas}
        return [reading for reading in readings.values() if self._fits(quantity[0], reading)]

    def _rank(self, position: int) -> int:
        argument = self.call.arguments[position]
        return len(argument.shape) if isinstance(argument, TensorArgument) else 0

    def _quotients_of(self, size: Number) -> Iterator[_Reading]:
        identity = self._identity_reading(size)
        for divisor in sorted(divisors_of(self.call.module)):
            yield from (_ceiling(identity, divisor), _floor(identity, divisor))

    def _offset_reading(self, extent: Number, size: Number) -> Iterator[_Reading]:
        """Yield the reading `size + constant` of an extent, for constants up to a quarter of it."""
        constant = self.base[extent] - self.base[size]
        if 0 < abs(constant) * 4 <= self.base[size]:
            text = f"{self.name(size)} {'+' if constant > 0 else '-'} {abs(constant)}"
            yield _Reading(text, lambda n: n[size] + constant)

    def _mask_readings(self, axis: int) -> list[_Reading]:
        """Return readings of a grid axis by masks of stores, which need `size <= block * grid`."""
        readings: dict[str, _Reading] = {}
        for condition in (c for access in conditions_of(self.call.module) for c in access.reach):
            parts = size_by_grid(condition.term) if isinstance(condition, AtLeast) else None
            if parts is not None and parts[1] == axis and ("scalar", parts[0], 0) in self.base:
                reading = _ceiling(self._identity_reading(("scalar", parts[0], 0)), parts[2])
                if self._fits(("grid", axis, 0), reading):
                    readings[reading.text] = reading
        return list(readings.values())

    def _stride_readings(self, number: Number) -> list[_Reading]:
        """Return readings of a scalar as a stride of a tensor that the scalar accesses."""
        if number[0] != "scalar" or min(self._values(number)) < _MIN_SIZE:
            return []
        strides = (n for n in self.base if n[0] == "stride")
        possible = [n for n in strides if self.varies(number) or self._is_tied(number, n[1])]
        return [
            reading for n in possible if self._fits(number, reading := self._identity_reading(n))
        ]

    def _offset_readings(self, extent: Number) -> list[_Reading]:
        """Return readings `batch + 1` of an extent by a number that accesses the tensor."""
        argument = self.call.arguments[extent[1]]
        if not isinstance(argument, TensorArgument) or len(argument.shape) != 1:
            return []
        readings = []
        for number in (n for q in self.quantities for n in q if n[0] in ("scalar", "grid")):
            reading = _Reading(
                f"{self.name(number)} + 1",
                lambda n, number=number: n[number] + 1,  # type: ignore[misc]
            )
            is_tied = self.varies(extent) or self._is_tied(number, extent[1])
            if is_tied and self._fits(extent, reading):
                readings.append(reading)
        return readings

    def _quotient_readings(self, extent: Number) -> list[_Reading]:
        """Return readings `n // 2` of an extent by a quotient that accesses the tensor."""
        readings: dict[str, _Reading] = {}
        for position, atom in sorted(
            quotients_in(self.call.module), key=lambda pair: pair[1].order
        ):
            if position != extent[1]:
                continue
            scalars = [a for a in atom.within() if isinstance(a, Symbol)]
            if not all(("scalar", symbol.key, 0) in self._shared for symbol in scalars):
                continue
            text = _without_outer_parentheses(expression(atom.term, summarize(self.call.module)))
            reading = _Reading(text, partial(_substituted, atom, scalars))
            if self._fits(extent, reading):
                readings[text] = reading
        return list(readings.values())

    def _product_readings(self, extent: Number) -> list[_Reading]:
        """Return readings of a varying extent as a product of two sizes."""
        if not self.varies(extent):
            return []
        sizes = [
            q[0]
            for q in self.quantities
            if extent not in q and q[0][0] != "grid" and q not in self._derived
        ]
        readings = (
            _Reading(
                f"{self.name(left)} * {self.name(right)}",
                lambda n, left=left, right=right: n[left] * n[right],  # type: ignore[misc]
            )
            for left, right in combinations_with_replacement(sizes, 2)
        )
        return [reading for reading in readings if self._fits(extent, reading)]

    def _element_count_readings(self, scalar: Number) -> list[_Reading]:
        """Return readings of a scalar as a product of neighboring extents of a tensor.

        The scalar has to vary, unless it is the number of all elements of a tensor
        that the scalar accesses.
        """
        return [
            reading
            for position, is_whole, reading in self._extent_runs()
            if self.varies(scalar) or (is_whole and self._is_tied(scalar, position))
            if self._fits(scalar, reading)
        ]

    def _extent_runs(self) -> Iterator[tuple[int, bool, _Reading]]:
        """Yield (position, whether all axes are included, product) of neighboring extents."""
        for position, argument in enumerate(self.call.arguments):
            rank = len(argument.shape) if isinstance(argument, TensorArgument) else 0
            for first in range(rank):
                for last in range(first + 2, rank + 1):
                    axes: list[Number] = [("shape", position, axis) for axis in range(first, last)]
                    yield position, last - first == rank, self._product(axes)

    def _product(self, numbers: Sequence[Number]) -> _Reading:
        text = " * ".join(map(self.name, numbers))
        return _Reading(text, lambda n: reduce(mul, (n[number] for number in numbers), ONE))

    # -- launches at other sizes -----------------------------------------------------------------

    def grown(self, sizes: Mapping[Quantity, int]) -> Grown:
        """Return the first launch with quantities at other sizes, and all numbers that follow.

        Raises:
            Ambiguous: the launches do not determine how a number depends on the sizes.

        """
        terms, dependent_texts = self.numbers_with(
            {quantity: as_term(value) for quantity, value in sizes.items()}
        )
        numbers = {number: term.constant or 0 for number, term in terms.items()}
        return Grown(call_with(self.call, numbers), numbers, dependent_texts)

    def numbers_with(self, sizes: Mapping[Quantity, Term]) -> tuple[Terms, tuple[str, ...]]:
        """Return a launch's numbers with quantities as terms, and texts on dependent numbers.

        Raises:
            Ambiguous: the launches do not determine how a number depends on the sizes.

        """
        numbers = dict(self._as_terms[0])
        dependent_texts: dict[str, None] = {}
        for quantity, value in sizes.items():
            if numbers[quantity[0]] == value:
                continue
            self._refuse_equal_extents(quantity)
            if self.is_derived(quantity):
                name, readings = self.name(quantity[0]), self._derived.get(quantity)
                raise Ambiguous(
                    f"{name} was {readings[0].text}: it grows with that number"
                    if readings
                    else f"{name} was a stride of a tensor: it grows with its extents"
                )
            for number in quantity:
                numbers[number] = value
                if number != quantity[0]:
                    dependent_texts[f"{self.name(number)} = {self.name(quantity[0])}"] = None
            self._set_element_counts(quantity, value, numbers, dependent_texts)
            self._refuse_unknown_growth(quantity)
        fixed = {number for quantity in sizes for number in quantity}
        for _ in range(_ROUNDS):  # the grid may depend on extents, and an extent on the grid
            for axis in range(3):
                grid_number: Number = ("grid", axis, 0)
                if grid_number not in fixed:
                    self._set_by_readings(grid_number, self._grid[axis], numbers, dependent_texts)
            for number in self.base:
                if number[0] == "shape" and number not in fixed and not self._is_member(number):
                    self._set_by_readings(
                        number, self._extent_readings(number), numbers, dependent_texts
                    )
        for position, argument in enumerate(self.call.arguments):
            if isinstance(argument, TensorArgument):
                self._set_strides(position, argument, numbers)
        for number in self.base:
            self._set_scalar(number, numbers, fixed, dependent_texts)
        return numbers, tuple(dependent_texts)

    def _extent_readings(self, extent: Number) -> list[_Reading]:
        return (
            self._offset_readings(extent)
            or self._product_readings(extent)
            or self._quotient_readings(extent)
            or next((readings for q, readings in self._derived.items() if extent in q), [])
        )

    def _refuse_unknown_growth(self, quantity: Quantity) -> None:
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
        """Return whether a number affects accesses and has no reading."""
        kind, position, _ = number
        if not any(tied_number == (kind, position) for tied_number, _ in self._ties):
            return False
        if kind == "grid":
            return not self._grid[position] and self.base[number] not in self._fixed
        return kind == "scalar" and not (
            self._stride_readings(number) or self._element_count_readings(number)
        )

    def _may_follow(self, number: Number, quantity: Quantity) -> bool:
        """Return whether a number may depend on a quantity, judged by its value or by masks."""
        value, size = self.base[number], self.base[quantity[0]]
        compared = ((number[0], number[1]), frozenset(n[1] for n in quantity if n[0] == "scalar"))
        if any(
            number_key == compared[0] and scalar in compared[1]
            for number_key, scalar in self._compared
        ):
            return True
        block_counts = {size, *(-(-size // block) for block in block_extents(self.call.module))} - {
            1
        }
        return any(
            value % block_count == 0 or abs(value - block_count) <= 1
            for block_count in block_counts
        )

    def _is_member(self, extent: Number) -> bool:
        """Return whether a number is in a quantity of several numbers that has no reading."""
        return any(len(q) > 1 and extent in q for q in self.quantities if q not in self._derived)

    def _refuse_equal_extents(self, quantity: Quantity) -> None:
        """Raise Ambiguous if two extents of one tensor are equal in all launches."""
        extents = [number for number in quantity if number[0] == "shape"]
        for left, right in pairwise(extents):
            if left[1] == right[1] and not self.varies(left):
                names = [*dict.fromkeys(map(self.name, (quantity[0], left, right)))]
                raise Ambiguous(
                    f"{', '.join(names[:-1])} and {names[-1]} were equal, {self.base[left]:,}: "
                    "record a launch where they differ"
                )

    def _set_element_counts(
        self, quantity: Quantity, value: Term, numbers: dict[Number, Term], along: dict[str, None]
    ) -> None:
        """Set the extents of contiguous tensors whose element count was the quantity's scalar."""
        if any(number[0] != "scalar" for number in quantity):
            return
        for position, argument in enumerate(self.call.arguments):
            if not isinstance(argument, TensorArgument) or len(argument.shape) < 2:
                continue
            if not any(self._is_tied(number, position) for number in quantity):
                continue
            axes: list[Number] = [("shape", position, axis) for axis in range(len(argument.shape))]
            reading = self._product(axes)
            if self._fits(quantity[0], reading):
                for number in axes:
                    numbers[number] = value if number is axes[0] else ONE
                    numbers["stride", position, number[2]] = ONE
                along[f"{reading.text} = {self.name(quantity[0])}"] = None

    def _set_by_readings(
        self,
        number: Number,
        readings: Sequence[_Reading],
        numbers: dict[Number, Term],
        along: dict[str, None],
    ) -> None:
        """Set a number to the value of its readings; raise Ambiguous if their values differ."""
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

    def _set_strides(
        self, position: int, tensor: TensorArgument, numbers: dict[Number, Term]
    ) -> None:
        """Set strides that were a product of the inner axis's stride and extent to that product."""
        axes = sorted(range(len(tensor.shape)), key=lambda a: (tensor.strides[a], -a))
        for inner, outer in pairwise(axes):
            outer_key: Number = ("stride", position, outer)
            inner_stride: Number = ("stride", position, inner)
            size: Number = ("shape", position, inner)
            if numbers[outer_key].constant != self.base[outer_key] or self.base[outer_key] == 0:
                continue
            new_product, old_product = (
                numbers[inner_stride] * numbers[size],
                self.base[inner_stride] * self.base[size],
            )
            if self.base[outer_key] == old_product:
                numbers[outer_key] = new_product
            elif new_product != old_product and self.base["shape", position, outer] > 1:
                raise Ambiguous(
                    f"{tensor.name} was not contiguous, and how {self.name(outer_key)} "
                    f"({self.base[outer_key]:,}) grows with {self.name(size)} is not known"
                )

    def _set_scalar(
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
            readings.append(self._identity_reading(number))
        elif not readings and not self._is_member(number):
            readings = self._element_count_readings(number)
        self._set_by_readings(number, readings, numbers, along)


def _substituted(atom: Quotient, scalars: Sequence[Symbol], numbers: Terms) -> Term:
    """Return the value of a quotient whose scalars are replaced by terms."""
    terms = {s: numbers["scalar", s.key, 0] for s in scalars if isinstance(s.key, int)}
    return atom.substituted(Substitution(terms))


def _without_outer_parentheses(text: str) -> str:
    """Return an expression without a pair of parentheses around all of it."""
    depths = accumulate({"(": 1, ")": -1}.get(letter, 0) for letter in text[:-1])
    return text[1:-1] if text[0] == "(" and min(depths) > 0 else text


def _floor(reading: _Reading, divisor: int) -> _Reading:
    return _Reading(
        f"{reading.text} // {divisor}", lambda n: quotient(reading.value(n), divisor, floor=True)
    )


def _ceiling(reading: _Reading, divisor: int) -> _Reading:
    if divisor == 1:
        return reading
    return _Reading(
        f"cdiv({reading.text}, {divisor})",
        lambda n: quotient(reading.value(n) + (divisor - 1), divisor, floor=True),
    )
