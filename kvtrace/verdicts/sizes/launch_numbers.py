"""Numbers of a launch (scalars, extents, strides, grid), and launches with other numbers.

`NumbersAt` computes all numbers at given sizes, by every reading that fits.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import combinations, product
from math import prod
from typing import TYPE_CHECKING, Any, Final

from kvtrace.evaluate import ScalarArgument, Storage, TensorArgument
from kvtrace.evaluate.arguments import with_storages
from kvtrace.schema.errors import KvtraceError
from kvtrace.symbolic.terms import ONE, Symbol, Term, as_term
from kvtrace.verdicts.sizes.readings import Reading, difference, larger, smaller, uses_grid

if TYPE_CHECKING:
    from kvtrace.recorded_calls.recorded import Call
    from kvtrace.symbolic.conditions import Condition
    from kvtrace.verdicts.sizes.relations import Relations

Number = tuple[str, int, int]
"""Key of a number of a launch: ("scalar", argument, 0), ("shape" or "stride", argument, axis) or
("grid", axis, 0)."""
Numbers = Mapping[Number, int]
Key = tuple[str, Any]
"""A symbol's kind and key."""


def numbers_of(call: Call) -> dict[Number, int]:
    """Return the numbers of a launch: integer scalars, extents, strides, and the grid."""
    numbers: dict[Number, int] = {}
    for position, argument in enumerate(call.arguments):
        if isinstance(argument, TensorArgument):
            for axis, size in enumerate(argument.shape):
                numbers["shape", position, axis] = size
                numbers["stride", position, axis] = argument.strides[axis]
        elif isinstance(argument, ScalarArgument) and type(argument.value) is int:
            numbers["scalar", position, 0] = argument.value
    for axis, extent in enumerate(call.grid):
        numbers["grid", axis, 0] = extent
    return numbers


def name_of(number: Number, call: Call) -> str:
    """Return a number's name for messages: "n", "x.shape[0]" or "grid_x"."""
    kind, position, axis = number
    if kind == "grid":
        return f"grid_{'xyz'[position]}"
    name = call.arguments[position].name
    return name if kind == "scalar" else f"{name}.{kind}[{axis}]"


def key_of(number: Number) -> Key:
    """Return the kind and key of a number's symbol."""
    kind, position, axis = number
    if kind == "grid":
        return "programs", position
    return "scalar", position if kind == "scalar" else (position, kind, axis)


def holds_at(condition: Condition, numbers: Numbers) -> bool | None:
    """Return whether numbers satisfy a condition, None if it is of other numbers, too."""
    values = {key_of(number): value for number, value in numbers.items()}
    symbols = [atom for atom in condition.atoms() if isinstance(atom, Symbol)]
    if not all((symbol.kind, symbol.key) in values for symbol in symbols):
        return None
    return condition.value({symbol: values[symbol.kind, symbol.key] for symbol in symbols})


def call_with(call: Call, numbers: Numbers) -> Call:
    """Return a launch with other numbers; no tensor is allocated.

    A tensor has its recorded contents only if the size of its storage is unchanged.
    """
    storage_bytes: dict[Storage, int] = {}
    resized: list[TensorArgument | ScalarArgument] = []
    for position, argument in enumerate(call.arguments):
        if not isinstance(argument, TensorArgument):
            value = numbers.get(("scalar", position, 0))
            resized.append(argument if value is None else ScalarArgument(argument.name, value))
            continue
        axes = range(len(argument.shape))
        shape = tuple(numbers["shape", position, axis] for axis in axes)
        strides = tuple(numbers["stride", position, axis] for axis in axes)
        tensor = replace(argument, shape=shape, strides=strides)
        storage, end = argument.storage, argument.offset_bytes + tensor.view_bytes[1]
        storage_bytes[storage] = max(storage_bytes.get(storage, storage.nbytes), end)
        resized.append(tensor)

    def extended(storage: Storage) -> Storage:
        nbytes = storage_bytes[storage]
        return storage if nbytes == storage.nbytes else Storage(nbytes)

    arguments = with_storages(resized, extended)
    x, y, z = (numbers["grid", axis, 0] for axis in range(3))
    recorded = tuple(
        argument.name
        for argument in arguments
        if isinstance(argument, TensorArgument) and argument.storage.data is not None
    )
    return replace(
        call, grid=(x, y, z), arguments=arguments, recorded=recorded, compiled=None, launches=None
    )


# -- numbers at other sizes ------------------------------------------------------------------------

Terms = Mapping[Number, Term]

_MOST: Final = 1 << 48
_MAX_LAUNCHES_AT: Final = 16


class Ambiguous(KvtraceError):
    """The error of a number for which recorded launches allow several readings."""

    slug = "ambiguous-size"


@dataclass(frozen=True)
class Sizes:
    """The numbers of a kernel's launches at one size, which is a symbol or a number.

    Each number lies between its `lower` and `upper` term, which are equal unless several `readings`
    fit. `along` has the texts of the numbers that change with the size.
    """

    lower: Terms
    upper: Terms
    readings: Mapping[Number, tuple[Reading, ...]]
    along: tuple[str, ...]

    def is_exact(self, number: Number) -> bool:
        """Return whether all readings of a number agree."""
        return self.lower[number] is self.upper[number]


class NumbersAt:
    """The computation of all numbers at given sizes."""

    def __init__(self, relations: Relations, given: Mapping[Number, Term]) -> None:
        self._relations = relations
        self._given = given
        self._options: dict[Number, tuple[Reading, ...]] = {}
        self._lower: dict[Number, Term] = {}
        self._upper: dict[Number, Term] = {}

    def sizes(self) -> Sizes:
        """Return the bounds of all numbers, their readings, and the texts of those that change."""
        relations = self._relations
        readings: dict[Number, tuple[Reading, ...]] = {}
        along = []
        for number in (n for n in relations.base if n[0] != "stride"):
            options = self._of(number)
            self._bound(number, [option.term for option in options])
            if len(options) > 1:
                readings[number] = options
            changed = any(option.term != relations.base[number] for option in options)
            if changed and number not in self._given:
                texts = " or ".join(dict.fromkeys(option.text for option in options))
                along.append(f"{relations.name(number)} = {texts}")
        for position, argument in enumerate(relations.call.arguments):
            if isinstance(argument, TensorArgument):
                count = self._changed_count(position, argument)
                if count is None:
                    self._set_strides(position, argument)
                else:
                    extents = extents_of(position, argument)
                    readings = {n: r for n, r in readings.items() if n not in extents}
                    names = [relations.name(n) for n in extents]
                    along = [text for text in along if text.partition(" = ")[0] not in names]
                    along.append(f"{' * '.join(names)} = {relations.name(count)}")
                    self._flatten(position, argument, count)
        return Sizes(self._lower, self._upper, readings, tuple(along))

    def _bound(self, number: Number, terms: Sequence[Term]) -> None:
        low = high = terms[0]
        for term in terms[1:]:
            low, high = smaller(low, term), larger(high, term)
        self._lower[number], self._upper[number] = low, (low if low == high else high)

    def _of(self, number: Number) -> tuple[Reading, ...]:
        """Return the different readings of a number as terms of the given sizes."""
        if number not in self._options:
            self._options[number] = ()  # a cycle has no reading
            different: list[Reading] = []
            for reading in self._relations.readings_at(number, self._given):
                for option in self._substituted(reading):
                    if all(difference(option.term, other.term) is not None for other in different):
                        different.append(option)
            recorded = as_term(self._relations.base[number])
            self._options[number] = tuple(different) or (Reading(f"{recorded}", recorded),)
        return self._options[number]

    def _substituted(self, reading: Reading) -> Iterator[Reading]:
        """Yield a reading for each reading of the numbers that it names."""
        symbols = [a for a in reading.term.atoms() if isinstance(a, Symbol) and is_number(a)]
        choices = [self._of(number_of(symbol)) for symbol in symbols]
        for options in product(*choices):
            terms = dict(zip(symbols, (option.term for option in options), strict=True))
            is_name = len(symbols) == 1 and reading.term == symbols[0].term
            text = options[0].text if is_name else reading.text
            yield Reading(text, reading.term.substitute(terms))

    def _changed_count(self, position: int, tensor: TensorArgument) -> Number | None:
        """Return the scalar that changes and was the number of a contiguous tensor's elements."""
        extents = extents_of(position, tensor)
        if len(extents) < 2 or not self._given.keys().isdisjoint(extents):
            return None
        counts = self._counts_of(position, tensor)
        return next((n for n in counts if self._lower[n] != self._relations.base[n]), None)

    def _counts_of(self, position: int, tensor: TensorArgument) -> list[Number]:
        """Return the scalars that were the number of a contiguous tensor's elements."""
        relations, extents = self._relations, extents_of(position, tensor)
        strides: list[Number] = [("stride", position, n[2]) for n in extents]
        pairs = zip(strides, strides[1:], extents[1:], strict=False)
        is_packed = relations.values(strides[-1])[:1] == (1,) if strides else False
        if not is_packed or not all(relations.is_product(*three) for three in pairs):
            return []
        counts = tuple(map(prod, zip(*map(relations.values, extents), strict=True)))
        scalars = (n for n in relations.base if n[0] == "scalar" and counts[0] > 1)
        return [n for n in scalars if relations.values(n) == counts]

    def _flatten(self, position: int, tensor: TensorArgument, count: Number) -> None:
        """Give a tensor the extents (count, 1, …)."""
        for number in extents_of(position, tensor):
            stride: Number = ("stride", position, number[2])
            for bounds in (self._lower, self._upper):
                bounds[number] = bounds[stride] = ONE
        terms = [option.term for option in self._of(count)]
        if not self._relations.varies(count):
            terms.append(as_term(self._relations.base[count]))
        self._bound(("shape", position, 0), terms)

    def _set_strides(self, position: int, tensor: TensorArgument) -> None:
        """Set strides; raise Ambiguous if an inner extent changes and a stride says not how."""
        relations, base = self._relations, self._relations.base
        for axis in range(len(tensor.shape)):
            stride: Number = ("stride", position, axis)
            self._bound(stride, [option.term for option in self._of(stride)])
            if self._upper[stride] != base[stride] or base["shape", position, axis] < 2:
                continue
            for inner, extent in inner_axis(relations.call, stride):
                product_of_inner = base["stride", position, inner] * base[extent]
                if self._upper[extent] != base[extent] and base[stride] != product_of_inner:
                    raise Ambiguous(
                        f"{tensor.name} was not contiguous, and how {relations.name(stride)} "
                        f"({base[stride]:,}) grows with {relations.name(extent)} is not known"
                    )


def launches_at(
    relations: Relations, sizes: Mapping[Number, int], *, best: bool = True
) -> tuple[list[Numbers], Sizes]:
    """Return the launches at sizes by all readings ([] if there are too many), and all numbers.

    With `best`, extents are as large as a reading allows, and grids as small, since what is a
    violation there is one by all readings, unless the kernel uses the grid's extent; else
    extents are as small, and grids as large.
    """
    size_terms = {number: as_term(value) for number, value in sizes.items()}
    bounds = NumbersAt(relations, size_terms).sizes()
    large, small = (bounds.upper, bounds.lower) if best else (bounds.lower, bounds.upper)
    choices: list[list[tuple[Number, Term]]] = []
    for number, options in bounds.readings.items():
        terms = [large[number] if number[0] == "shape" else small[number]]
        if number[0] == "scalar" or (number[0] == "grid" and uses_grid(relations.call.module)):
            terms = [option.term for option in options]
        choices.append([(number, term) for term in terms])
    launches: list[Numbers] = []
    for chosen in product(*choices) if prod(map(len, choices)) <= _MAX_LAUNCHES_AT else ():
        at = NumbersAt(relations, {**size_terms, **dict(chosen)}).sizes()
        terms_at = at.upper if best else at.lower
        launches.append({n: term.constant or 0 for n, term in terms_at.items()})
    return launches, bounds


def grows_unknown(relations: Relations, number: Number, size: Number) -> bool:
    """Return whether another size varies with a size in a way that is not known.

    An extent that is the same at two sizes may be of their blocks, so it is independent only if it
    differs between launches of one size, too.
    """
    is_other = number in relations.sizes and number != size and relations.varies(size)
    if not is_other or not relations.varies(number):
        return False
    pairs = [*combinations(zip(relations.values(number), relations.values(size), strict=True), 2)]
    is_kept = any(one[0] == two[0] and one[1] != two[1] for one, two in pairs)
    is_free = any(one[0] != two[0] and one[1] == two[1] for one, two in pairs)
    return not (is_kept and (is_free or number[0] == "scalar"))


def extents_of(position: int, tensor: TensorArgument) -> list[Number]:
    """Return the extents of a tensor argument."""
    return [("shape", position, axis) for axis in range(len(tensor.shape))]


def inner_axis(call: Call, stride: Number) -> list[tuple[int, Number]]:
    """Return the next inner axis of a stride's axis, and its extent; [] if there is none."""
    tensor = call.arguments[stride[1]]
    assert isinstance(tensor, TensorArgument)
    axes = sorted(range(len(tensor.shape)), key=lambda a: (tensor.strides[a], -a))
    inner = axes[: axes.index(stride[2])][-1:]
    return [(axis, ("shape", stride[1], axis)) for axis in inner]


def number_symbol(number: Number) -> Symbol:
    """Return the symbol of a number in readings."""
    low = -_MOST if number[0] in ("scalar", "stride") else 0
    return Symbol("scalar", ("number", *number), low, _MOST)


def is_number(symbol: Symbol) -> bool:
    """Return whether a symbol is of a number in readings."""
    return isinstance(symbol.key, tuple) and symbol.key[0] == "number"


def number_of(symbol: Symbol) -> Number:
    """Return the number of a symbol in readings."""
    assert isinstance(symbol.key, tuple)
    kind, position, axis = symbol.key[1:]
    return kind, position, axis
