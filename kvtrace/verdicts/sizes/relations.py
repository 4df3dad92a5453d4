"""Relations of the numbers of recorded launches: sizes, and numbers that follow from them.

A *size* is an integer argument, or an extent or grid axis that follows from none. Nothing is
guessed: another number follows by the formula that the program's text or the user states, or is
equal to a number that varied in the recorded launches. Of all others it is unknown how they grow,
but for those that stayed the same while a size doubled: these are constants.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from copy import copy
from itertools import combinations, islice
from typing import Final

from kvtrace.ir import Module
from kvtrace.ir.model import once_per_module
from kvtrace.recorded_calls.recorded import Call
from kvtrace.symbolic.conditions import Condition
from kvtrace.symbolic.terms import Symbol, Term, as_term
from kvtrace.symbolic.walk import summarize
from kvtrace.verdicts.sizes.launch_numbers import (
    Ambiguous,
    Number,
    Numbers,
    Sizes,
    holds_at,
    inner_axis,
    name_of,
    number_of,
    number_symbol,
    numbers_of,
)
from kvtrace.verdicts.sizes.ties import (
    Formula,
    fixed_numbers,
    limits_of,
    parts_of_tie,
    symbols_by_access,
    term_of,
)

_MAX_LAUNCHES: Final = 64
"""Formulas are checked on this many different launches."""


class Relations:
    """The sizes of one variant's recorded launches, and the formulas of its other numbers."""

    def __init__(
        self, call: Call, more: Sequence[Numbers] = (), ties: Sequence[str] = (), count: int = 0,
        stated: Mapping[str, str] | None = None, outputs: frozenset[str] = frozenset(),
    ) -> None:  # fmt: skip
        """Find sizes and formulas; `call` is the launch to resize, `more` has others' numbers.

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
        self._values = {n: tuple(launch[n] for launch in self._launches) for n in shared}
        self._formulas: dict[Number, Formula] = {}
        self._variables: set[Number] = set()
        """Numbers that the program's text has as variables of their own."""
        self.unfit: dict[str, str] = {}
        for text in ties:
            self._state(text)
        for name, expression in (stated or {}).items():
            if self.number(name) not in self._formulas:
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
        """Return a phrase for the launches, and their values of a size, that formulas fit."""
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

    # -- sizes and formulas ----------------------------------------------------------------------

    def _state(self, text: str) -> None:
        """Read a tie; if it does not fit this kernel, `unfit` has the reason."""
        name, expression, tree = parts_of_tie(text)
        number = self.number(name)
        term = term_of(tree, self._symbol_named)
        if number is None or number not in self._values or term is None:
            self.unfit[text] = f"no kernel has all numbers of the tie {text!r}."
            return
        for launch in self._launches:
            value = term.value({number_symbol(n): value for n, value in launch.items()})
            if value != launch[number]:
                self.unfit[text] = (
                    f"{text!r} does not hold in a recorded launch of {self.call.kernel}: "
                    f"{name} was {launch[number]:,}, and {expression} is {value:,}."
                )
                return
        if term == number_symbol(number).term:
            self._variables.add(number)
        else:
            self._formulas[number] = Formula(expression, term)

    def _symbol_named(self, name: str) -> Term | None:
        number = self.number(name)  # a launch may have it as a constant: `V` of 1
        if number is None or number not in self._values:
            return None
        return number_symbol(number).term

    def _sizes(self) -> tuple[Number, ...]:
        """Return the sizes: arguments first, then extents, then the grid; add equal numbers."""
        scalars = [n for n in self.base if n[0] == "scalar" and n in self._values]
        limits = limits_of(self.call.module)
        scalars.sort(key=lambda n: (-max(self._values[n]), n[1] not in limits, n))
        strides = [n for n in scalars if self._is_stride(n)]
        shapes = [n for n in self.base if n[0] == "shape" and n in self._values]
        grid: list[Number] = [("grid", axis, 0) for axis in range(3)]
        others = [n for n in scalars if n not in strides]
        sizes: list[Number] = []
        for number in (*others, *shapes, *grid, *strides):
            if number in self._formulas:
                continue
            equal = self._equal(number, sizes)
            independent = [n for n in equal if n in sizes and n[0] == "scalar"]
            if equal and self.varies(number) and len(independent) < 2:
                self._formulas[number] = Formula(self.name(equal[0]), number_symbol(equal[0]).term)
            elif not equal and self._is_size(number):
                sizes.append(number)
        return tuple(sizes)

    def _is_stride(self, number: Number) -> bool:
        """Return whether a varying scalar was a stride of a tensor, and no extent."""
        values = self._values[number]
        equal = {n[0] for n, others in self._values.items() if others == values}
        return self.varies(number) and "stride" in equal and "shape" not in equal

    def _equal(self, number: Number, sizes: Sequence[Number]) -> list[Number]:
        """Return the sizes, or scalars that follow from one, that a number was equal to.

        A variable of the program is no other one's formula, and a scalar at most a stride.
        """
        kinds = ("scalar", "shape") if number[0] == "grid" else ("scalar",)
        bases = [
            *sizes,
            *(n for n in self._formulas if n[0] in kinds and not self._uses(n, number)),
        ]
        if number[0] == "scalar":
            bases = [n for n in self._values if n[0] == "stride"] if self._is_stride(number) else []
        elif number in self._variables:
            bases = [n for n in sizes if n in self._variables]
        values = self._values[number]
        return [n for n in bases if self._values[n] == values]

    def _uses(self, number: Number, other: Number) -> bool:
        """Return whether a number is another, or follows from it."""
        formula = self._formulas.get(number)
        atoms = () if formula is None else formula.term.atoms()
        bases = (number_of(a) for a in atoms if isinstance(a, Symbol))
        return number == other or any(n != number and self._uses(n, other) for n in bases)

    def _is_size(self, number: Number) -> bool:
        """Return whether a number that is equal to no size may have other values."""
        value = self.base[number]
        if self.varies(number) or number[0] == "scalar":
            return self.varies(number) or abs(value) > 1
        return value > 1 and not self._is_fixed(number)

    def _is_fixed(self, number: Number) -> bool:
        """Return whether an extent is a constant of the kernel, and not as many as programs."""
        of_grid = {self.base["grid", axis, 0] for axis in range(3)}
        fixed = fixed_numbers(self.call.module) - of_grid
        return number[0] == "shape" and self.base[number] in fixed

    def unknown_growth(self, number: Number, size: Number) -> str | None:
        """Return why it is unknown how a number grows with a size, None if it is known."""
        if number == size or number in self._formulas or number not in self._values:
            return None
        if number[0] == "stride" or {number, size} <= self._variables:
            return None
        name, of_size = self.name(number), self.name(size)
        advice = f'state it as --tie "{name} = …"'
        if self.varies(number):
            if not self.varies(size) or self._is_free(number, size):
                return None
            return (
                f"recorded launches differ in {name}, and how it grows with {of_size} is not "
                f"known: record a launch in which {of_size} alone changes, or {advice}"
            )
        value, sizes = self.base[number], [abs(value) for value in self._values.get(size, (0,))]
        is_unused = number[0] == "grid" and number[1] not in axes_of(self.call.module)
        if number[0] == "scalar" or is_unused or self._is_fixed(number):
            return None
        if value > 1 and max(sizes) >= 2 * max(min(sizes), 1):
            return None  # neither blocks of the size nor a part of it stay the same
        if value < 2 and (number[0] == "shape" or value < 1):
            return None
        launch = f"{of_size} twice as large" if self.varies(size) else f"another {of_size}"
        return (
            f"{name} was {value:,}, and how it grows with {of_size} is not known: record a launch "
            f"with {launch}, or {advice}"
        )

    def deciding_numbers(self) -> set[Number]:
        """Return the numbers that affect an access, and the grid."""
        numbers: set[Number] = {("grid", axis, 0) for axis in range(3)}
        for _, symbol in symbols_by_access(self.call.module):
            if symbol.kind == "scalar":
                numbers.add(number_of(symbol))
        return numbers & self.base.keys()

    def _is_free(self, number: Number, size: Number) -> bool:
        """Return whether launches show that a number does not depend on a size.

        An extent that is the same at two sizes may be of their blocks, so it is free only if it
        differs between launches of one size, too.
        """
        pairs = [*combinations(zip(self._values[number], self._values[size], strict=True), 2)]
        is_kept = any(one[0] == two[0] and one[1] != two[1] for one, two in pairs)
        differs = any(one[0] != two[0] and one[1] == two[1] for one, two in pairs)
        return is_kept and (differs or number[0] == "scalar")

    def is_product(self, stride: Number, inner_stride: Number, extent: Number) -> bool:
        """Return whether a stride was the inner axis's stride times its extent in all launches."""
        numbers = stride, inner_stride, extent
        if not all(n in self._values for n in numbers):
            return False
        columns = zip(*(self._values[n] for n in numbers), strict=True)
        return all(outer == inner * size for outer, inner, size in columns)

    # -- launches at other sizes -----------------------------------------------------------------

    def at(self, sizes: Mapping[Number, Term]) -> Sizes:
        """Return all numbers at given sizes; the others are as recorded.

        Raises:
            Ambiguous: a tensor was not contiguous, and its strides' growth is not known.

        """
        terms: dict[Number, Term] = dict(sizes)
        for number in self.base:
            self._term(number, terms)
        along = [
            f"{self.name(n)} = {self.follows(n)}"
            for n, term in terms.items()
            if n[0] != "stride" and n not in sizes and term != self.base[n]
        ]
        for stride in (n for n in terms if n[0] == "stride" and terms[n] == self.base[n]):
            self._check_stride(stride, terms)
        return Sizes({n: terms[n] for n in self.base}, tuple(along))

    def _term(self, number: Number, terms: dict[Number, Term]) -> Term:
        """Return a number's term at the sizes in `terms`, to which it is added."""
        if number not in terms:
            terms[number] = as_term(self.base[number])  # for a formula that needs itself
            formula = self._stride_formula(number) if number[0] == "stride" else None
            formula = self._formulas.get(number, formula)
            if formula is not None:
                symbols = [a for a in formula.term.atoms() if isinstance(a, Symbol)]
                bases = {a: self._term(number_of(a), terms) for a in symbols}
                terms[number] = formula.term.substitute(bases)
        return terms[number]

    def _stride_formula(self, stride: Number) -> Formula | None:
        """Return the formula of a stride: the product of a contiguous tensor, or a scalar."""
        for axis, extent in inner_axis(self.call, stride):
            inner: Number = ("stride", stride[1], axis)
            if self.is_product(stride, inner, extent):
                return Formula("", number_symbol(inner).term * number_symbol(extent).term)
        values = self._values.get(stride, (0,))
        same = (n for n, other in self._values.items() if n[0] == "scalar" and other == values)
        scalar = next(same, None) if min(values) > 1 else None
        return None if scalar is None else Formula("", number_symbol(scalar).term)

    def _check_stride(self, stride: Number, terms: Mapping[Number, Term]) -> None:
        """Raise Ambiguous if an inner extent changes and a stride says not how it follows."""
        base, tensor = self.base, self.call.arguments[stride[1]]
        if base["shape", stride[1], stride[2]] < 2:
            return
        for inner, extent in inner_axis(self.call, stride):
            product = base["stride", stride[1], inner] * base[extent]
            if terms[extent] != base[extent] and base[stride] != product:
                raise Ambiguous(
                    f"{tensor.name} was not contiguous, and how {self.name(stride)} "
                    f"({base[stride]:,}) grows with {self.name(extent)} is not known"
                )

    def follows(self, number: Number) -> str | None:
        """Return the formula of a number that follows from sizes as text, None for others."""
        formula = self._formulas.get(number)
        if formula is None:
            return None
        base = self.number(formula.text)
        return (base and base != number and self.follows(base)) or formula.text


@once_per_module
def axes_of(module: Module) -> frozenset[int]:
    """Return the axes of the grid that decide what a kernel accesses, or how often."""
    summary = summarize(module)
    formulas = [f for access in summary.accesses for f in (access.offset, access.active)]
    atoms = frozenset().union(
        *(f.atoms() for f in formulas),
        *(loop.trips.atoms() | loop.running.atoms() for loop in summary.loops),
    )
    symbols = (a for a in atoms if isinstance(a, Symbol) and a.kind in ("program", "programs"))
    return frozenset(symbol.key for symbol in symbols if isinstance(symbol.key, int))
