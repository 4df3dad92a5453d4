"""Relations of the numbers of recorded launches: sizes, and numbers that follow from them.

A *size* is an integer argument, or an extent or grid axis that follows from none. All other
numbers follow from sizes, by every reading (`readings.py`) that fits all recorded launches, or by
the one that the user states. Nothing is guessed: a number with two readings lies between them, so
that a claim is proven only if every reading allows it, and refuted only if every reading breaks it.
With `n = 64, 256` and `part.shape[0] = 2, 8`, both `cdiv(n, 32)` and `n // 32` fit: at 33, two
elements are possible and one is certain.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from copy import copy
from itertools import islice
from typing import TYPE_CHECKING, Final

from kvtrace.evaluate import TensorArgument
from kvtrace.symbolic.terms import Symbol, Term, as_term
from kvtrace.verdicts.sizes.launch_numbers import (
    Number,
    Numbers,
    NumbersAt,
    Sizes,
    holds_at,
    inner_axis,
    name_of,
    number_of,
    number_symbol,
    numbers_of,
)
from kvtrace.verdicts.sizes.readings import (
    Reading,
    block_extents,
    buffers_of,
    divisors_of,
    factors_of_program,
    family,
    fixed_numbers,
    is_quotient,
    limited,
    limits_of,
    multiple,
    padded,
    parts_of_tie,
    product,
    quotients,
    shifted,
    term_of,
    ties_of,
    uses_grid,
)

if TYPE_CHECKING:
    from kvtrace.recorded_calls.recorded import Call
    from kvtrace.symbolic.conditions import Condition

_MAX_READINGS: Final = 12
_LEAST_QUOTIENT: Final = 8
"""Smaller quotients are often equal to a number by chance."""
_MAX_LAUNCHES: Final = 64
"""Readings are checked on this many different launches."""


class Relations:
    """The sizes of one variant's recorded launches, and the readings of its other numbers."""

    def __init__(
        self, call: Call, more: Sequence[Numbers] = (), ties: Sequence[str] = (), count: int = 0,
        stated: Mapping[str, str] | None = None, outputs: frozenset[str] = frozenset(),
    ) -> None:  # fmt: skip
        """Find readings; `call` is the launch to resize, `more` has numbers of other launches.

        `count` is the number of all launches, if `more` lacks some that are equal to others.
        `stated` has the formulas that the program's text gives, by the name of the number, and
        `outputs` the arguments that only these launches write, by the same text.

        Raises:
            BadTie: one of `ties`, as "part.shape[0] = n // 32", is malformed.

        """
        self.call = call
        self.outputs = outputs
        self.base: Numbers = numbers_of(call)
        self._count = count or 1 + len(more)
        shared = [n for n in self.base if all(n in launch for launch in more)]
        distinct = {tuple(launch[n] for n in shared): launch for launch in (self.base, *more)}
        self._launches = tuple(islice(distinct.values(), _MAX_LAUNCHES))
        self._shared = frozenset(shared)
        self._values = {n: tuple(launch[n] for launch in self._launches) for n in shared}
        self._assignments = [
            {number_symbol(number): value for number, value in launch.items()}
            for launch in self._launches
        ]
        self._divisors = divisors_of(call.module)
        grid = (n for n in shared if n[0] == "grid" and not self.varies(n))
        self._shares = frozenset(map(self.base.__getitem__, grid)) - {1}
        """Numbers of programs, the same in all launches, that may share a size."""
        self._fixed = fixed_numbers(call.module)
        self._readings: dict[Number, tuple[Reading, ...]] = {}
        self.unfit: dict[str, str] = {}
        self._stated: set[Number] = set()
        for text in ties:
            self._state(text)
        for name, expression in (stated or {}).items():
            if self.number(name) not in self._stated:
                self._state(f"{name} = {expression}")
        self.sizes = self._sizes()

    def of(self, call: Call) -> Relations:
        """Return the same relations with another recorded launch as the one to resize."""
        relations = copy(self)
        relations.call, relations.base = call, numbers_of(call)
        return relations

    # -- names -----------------------------------------------------------------------------------

    def name(self, number: Number) -> str:
        """Return a number's name for messages: "n", "x.shape[0]" or "grid_x"."""
        return name_of(number, self.call)

    def number(self, name: str) -> Number | None:
        """Return the number with a name, None if there is none."""
        return next((number for number in self.base if self.name(number) == name), None)

    def basis(self, size: Number | None = None) -> str:
        """Return a phrase for the launches, and their values of a size, that readings fit."""
        if self._count == 1:
            return "one recorded launch"
        if size is None:
            return f"one of {self._count:,} recorded launches"
        values = len(set(self._values.get(size, ())))
        texts = "all of one size" if values <= 1 else f"{values:,} sizes"
        return f"{self._count:,} recorded launches, {texts}"

    def values(self, number: Number) -> tuple[int, ...]:
        """Return a number's values in all launches, () if some launch has no such number."""
        return self._values.get(number, ())

    def varies(self, number: Number) -> bool:
        """Return whether a number differs between recorded launches."""
        return len(set(self._values.get(number, ()))) > 1

    def equal_sizes(self, name: str) -> tuple[str, ...]:
        """Return the names of the other sizes that were equal to a size in all launches."""
        values = {self.name(n): self._values[n] for n in self.sizes}
        return tuple(n for n in values if n != name and values[n] == values.get(name))

    def always_holds(self, condition: Condition) -> bool:
        """Return whether a condition of numbers holds in all recorded launches."""
        return all(holds_at(condition, launch) is not False for launch in self._launches)

    # -- sizes and readings ----------------------------------------------------------------------

    def _state(self, text: str) -> None:
        """Read a tie; if it does not fit this kernel, `unfit` has the reason."""
        name, expression, tree = parts_of_tie(text)
        number = self.number(name)
        term = term_of(tree, self._symbol_named)
        if number is None or number not in self._shared or term is None:
            self.unfit[text] = f"no kernel has all numbers of the tie {text!r}."
            return
        for assignment, launch in zip(self._assignments, self._launches, strict=True):
            value = term.value(assignment)
            if value != launch[number]:
                self.unfit[text] = (
                    f"{text!r} does not hold in a recorded launch of {self.call.kernel}: "
                    f"{name} was {launch[number]:,}, and {expression} is {value:,}."
                )
                return
        self._readings[number] = (Reading(expression, term),)
        self._stated.add(number)

    def _symbol_named(self, name: str) -> Term | None:
        number = self.number(name)
        return None if number is None else number_symbol(number).term

    def _sizes(self) -> tuple[Number, ...]:
        """Return the sizes: arguments first, then extents, then the grid; find all readings."""
        scalars = [n for n in self.base if n[0] == "scalar" and n in self._shared]
        limits = limits_of(self.call.module)
        scalars.sort(key=lambda n: (-max(self._values[n]), n[1] not in limits, n))
        strides = [n for n in scalars if self._is_stride(n)]
        shapes = [n for n in self.base if n[0] == "shape" and n in self._shared]
        grid: list[Number] = [("grid", axis, 0) for axis in range(3)]
        sizes: list[Number] = []
        for number in (*(n for n in scalars if n not in strides), *shapes):
            if number[0] == "shape":  # an extent may be the grid's, if scalars give the grid
                for axis in (n for n in grid if self.varies(n) and n not in self._readings):
                    by_scalars = self._fitting(axis, [n for n in sizes if n[0] == "scalar"])
                    self._readings |= {axis: tuple(by_scalars)} if by_scalars else {}
            if number not in self._readings and self._is_size(number, sizes):
                sizes.append(number)
        for number in (*grid, *strides):
            if number not in self._readings and self._is_size(number, sizes):
                sizes.append(number)
        return tuple(sizes)

    def _is_stride(self, number: Number) -> bool:
        """Return whether a varying scalar was a stride of a tensor, and no extent."""
        values = self._values[number]
        equal = {n[0] for n, others in self._values.items() if others == values}
        is_scalar = number[0] == "scalar" and self.varies(number)
        return is_scalar and "stride" in equal and "shape" not in equal

    def _is_size(self, number: Number, sizes: Sequence[Number]) -> bool:
        """Return whether a number follows from no size; if it varies, keep its readings."""
        if not self.varies(number):
            if number[0] == "scalar":
                return abs(self.base[number]) > 1
            of_grid = {self.base["grid", axis, 0] for axis in range(3)}
            is_fixed = number[0] == "shape" and self.base[number] in self._fixed - of_grid
            if is_fixed or self.base[number] < 2:
                return False
            is_shape = number[0] == "shape"  # only an equal size is more than a coincidence
            equal = [n for n in sizes if not is_shape or self.base[n] == self.base[number]]
            return not any(True for size in equal for _ in self._possible(number, size))
        readings = tuple(self._fitting(number, sizes))
        if readings:
            self._readings[number] = readings
        return not readings

    def _fits(self, number: Number, reading: Reading) -> bool:
        return all(
            reading.term.value(assignment) == value
            for assignment, value in zip(self._assignments, self._values[number], strict=True)
        )

    def _fitting(self, number: Number, sizes: Sequence[Number]) -> list[Reading]:
        """Return the readings of a varying number that fit all launches, each function once.

        Kinds of readings are tried in turn, the simplest first: a maximum that was not reached, or
        padding of what has none, fits any launch.
        """
        for kind in (self._identical, self._quotients):
            fitting = {r.term: r for r in kind(number, sizes) if self._fits(number, r)}
            if fitting:
                readings = list(fitting.values())[:_MAX_READINGS]
                return [*readings, *self._at_most(number, readings)]
        return []

    def _at_most(self, number: Number, readings: Sequence[Reading]) -> Iterator[Reading]:
        """Yield a grid's readings limited to the length of a buffer with a number a program.

        Grids of 2 and 5 with a buffer of 8 may be `cdiv(n, 64)` or `min(cdiv(n, 64), 8)`.
        """
        if number[0] != "grid" or not all(map(is_quotient, readings)):
            return
        buffers: list[Number] = [
            ("shape", position, 0) for position in buffers_of(self.call.module, number[1])
        ]
        lengths = {self.base[n] for n in buffers if n in self._shared and not self.varies(n)}
        for most in sorted(n for n in lengths if n >= max(self._values[number])):
            yield from (limited(reading, most) for reading in readings)

    def _varying(self, number: Number, sizes: Sequence[Number]) -> list[Reading]:
        """Return the sizes that vary, and what follows from them: scalars, for a grid extents."""
        kinds = ("scalar", "shape") if number[0] == "grid" else ("scalar",)
        numbers = [*sizes, *(n for n in self._readings if n[0] in kinds)]
        by_values = {self._values[n]: n for n in reversed(numbers) if not self._uses(n, number)}
        return [self._reading(n) for n in by_values.values() if self.varies(n)][::-1]

    def _uses(self, number: Number, other: Number) -> bool:
        """Return whether a number is another, or follows from it."""
        atoms = (a for reading in self._readings.get(number, ()) for a in reading.term.atoms())
        bases = (number_of(a) for a in atoms if isinstance(a, Symbol))
        return number == other or any(self._uses(base, other) for base in bases)

    def _identical(self, number: Number, sizes: Sequence[Number]) -> Iterator[Reading]:
        """Yield the equal numbers; an extent may also be padded to, or cut at, whole blocks."""
        varying = self._varying(number, sizes)
        yield from (base for base in varying if self._fits(number, base))
        for other, values in self._values.items() if self._is_stride(number) else ():
            if other[0] == "stride" and values == self._values[number]:
                yield self._reading(other)
        if number[0] == "shape" and self._is_flat(number):
            for axis in range(3):
                blocks = sorted(factors_of_program(self.call.module, axis))[-1:]
                for base in varying:
                    yield from padded(base, blocks)

    def _quotients(self, number: Number, sizes: Sequence[Number]) -> Iterator[Reading]:
        """Yield quotients of sizes, for an extent all that fit, and one element more or less."""
        for base in self._varying(number, sizes):
            if number[0] == "grid":
                yield from family(base, self._divisors)
            else:
                values = [base.term.value(assignment) for assignment in self._assignments]
                launches = zip(values, self._values[number], strict=True)
                yield from quotients(base, launches, self._divisors | self._shares)
                yield from (shifted(base, 1), shifted(base, -1))

    def unknown_growth(self, number: Number, size: Number) -> str:
        """Return the reason of an unknown row: nothing states how a number follows from a size."""
        name, of_size = self.name(number), self.name(size)
        return (
            f"recorded launches differ in {name}, and how it grows with {of_size} is not known: "
            f'record a launch in which {of_size} alone changes, or state it as --tie "{name} = …"'
        )

    def _recorded(self, reading: Reading) -> int:
        return reading.term.value(self._assignments[0])

    def _is_flat(self, number: Number) -> bool:
        """Return whether a number is no extent of a tensor of several axes."""
        argument = self.call.arguments[number[1]] if number[0] == "shape" else None
        return not isinstance(argument, TensorArgument) or len(argument.shape) == 1

    def _reading(self, number: Number) -> Reading:
        return Reading(self.name(number), number_symbol(number).term)

    def _possible(self, number: Number, size: Number) -> Iterator[Reading]:
        """Yield the readings of a number that is the same in all launches, by one size.

        It may follow from a size that is the same, too, if the kernel accesses the tensor by the
        size; else it may be blocks that all sizes fill, or a grid's largest extent.
        """
        if number == size or number[0] == "stride" or self.varies(number):
            return
        if not {number, size} <= self._shared:
            return
        value, base, of_size = self.base[number], self._reading(size), self.base[size]
        is_grid, is_shape, varies = number[0] == "grid", number[0] == "shape", self.varies(size)
        if not is_grid and min(value, of_size) < 2:
            return
        if is_shape and not self._is_accessed_by(number[1], size):
            return
        if not varies and value == of_size:
            yield base
            return
        if not varies and is_shape and self._is_flat(number) and abs(value - of_size) == 1:
            yield shifted(base, value - of_size)
        divisors = self._divisors_of(number, size)
        for reading in family(base, divisors, one_more=is_shape and varies):
            if self._fits(number, reading):
                if is_grid or varies or value >= _LEAST_QUOTIENT:
                    yield reading
            elif is_grid and varies and uses_grid(self.call.module) and reading is not base:
                values = (reading.term.value(assignment) for assignment in self._assignments)
                if min(values) >= value > 1:
                    yield limited(reading, value)
            elif is_grid and not varies and self._recorded(reading) > 1:
                factor, rest = divmod(value, self._recorded(reading))
                sizes = [self.base[n] for n in self.base if n[0] in ("scalar", "shape")]
                if not rest and factor in {-(-s // d) for s in sizes for d in (1, *divisors)}:
                    yield multiple(reading, factor)

    def _divisors_of(self, number: Number, size: Number) -> frozenset[int]:
        """Return the divisors of a size by which a number that is the same may follow."""
        module, varies = self.call.module, self.varies(size)
        if number[0] != "grid" and not varies:
            return self._divisors
        axes = (number[1],) if number[0] == "grid" else range(3)
        factors = frozenset().union(*(factors_of_program(module, axis) for axis in axes))
        return factors if varies or self.base[number] < 2 else factors | block_extents(module)

    def _is_accessed_by(self, position: int, size: Number) -> bool:
        """Return whether a size, or the grid of one that varies, decides where a tensor is used."""
        keys = {("scalar" if size[0] == "scalar" else "program", size[1])}
        keys |= {("program", axis) for axis in range(3) if self.varies(size)}
        is_tied = any((key, position) in ties_of(self.call.module) for key in keys)
        return size[0] == "shape" or is_tied

    def is_product(self, stride: Number, inner_stride: Number, extent: Number) -> bool:
        """Return whether a stride was the inner axis's stride times its extent in all launches."""
        numbers = stride, inner_stride, extent
        if not all(n in self._shared for n in numbers):
            return False
        columns = zip(*(self._values[n] for n in numbers), strict=True)
        return all(outer == inner * size for outer, inner, size in columns)

    # -- launches at other sizes -----------------------------------------------------------------

    def at(self, sizes: Mapping[Number, Term]) -> Sizes:
        """Return all numbers at given sizes; the others are as recorded.

        Raises:
            Ambiguous: a tensor was not contiguous, and its strides' growth is not known.

        """
        return NumbersAt(self, sizes).sizes()

    def follows(self, number: Number) -> str | None:
        """Return the readings of a number that follows from sizes as text, None for others."""
        readings = self._readings.get(number)
        if readings is None:
            return None
        names = {reading.text: self.number(reading.text) for reading in readings}
        texts = ((n and n != number and self.follows(n)) or text for text, n in names.items())
        return " or ".join(dict.fromkeys(texts))

    def readings_at(self, number: Number, sizes: Mapping[Number, Term]) -> tuple[Reading, ...]:
        """Return the readings of a number at given sizes, by numbers that vary and by these."""
        if number in sizes:
            return (Reading(self.name(number), sizes[number]),)
        options = self._readings.get(number)
        if options is None:
            recorded = Reading(f"{self.base[number]}", as_term(self.base[number]))
            if number[0] == "stride":
                return self._stride_readings(number) or (recorded,)
            options = (recorded, *(r for s in sizes for r in self._possible(number, s)))
        return options

    def _stride_readings(self, stride: Number) -> tuple[Reading, ...]:
        """Return the readings of a stride: the product of a contiguous tensor, and scalars."""
        readings = [
            product(self._reading(("stride", stride[1], inner)), self._reading(extent))
            for inner, extent in inner_axis(self.call, stride)
            if self.is_product(stride, ("stride", stride[1], inner), extent)
        ]
        if readings and self.varies(stride):
            return tuple(readings)
        values = self._values.get(stride, (0,))
        same = [n for n, other in self._values.items() if n[0] == "scalar" and other == values]
        if min(values) > 1:
            readings += map(self._reading, same)
        if not readings or (len(readings) == len(same) and not self.varies(stride)):
            readings.append(Reading(f"{self.base[stride]}", as_term(self.base[stride])))
        return tuple(readings)
