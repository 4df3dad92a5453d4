"""Numbers of a launch (scalars, extents, strides, grid), and launches with other numbers."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Final

from msgspec import Struct
from msgspec.structs import replace

from kvtrace.evaluate import ScalarArgument, Storage, TensorArgument
from kvtrace.evaluate.arguments import with_storages
from kvtrace.schema.errors import KvtraceError
from kvtrace.symbolic.terms import Symbol, Term, as_term

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


class Ambiguous(KvtraceError):
    """The error of a number of which no launch and no text says how it changes."""

    slug = "ambiguous-size"


class Sizes(Struct, frozen=True):
    """The numbers of a kernel's launches at one size, which is a symbol or a number.

    `along` has the texts of the numbers that change with the size.
    """

    terms: Terms
    along: tuple[str, ...]


def launch_at(relations: Relations, sizes: Mapping[Number, int]) -> tuple[Numbers, Sizes]:
    """Return the numbers of the launch at sizes, and how they follow."""
    at = relations.at({number: as_term(value) for number, value in sizes.items()})
    return {n: term.constant or 0 for n, term in at.terms.items()}, at


def inner_axis(call: Call, stride: Number) -> list[tuple[int, Number]]:
    """Return the next inner axis of a stride's axis, and its extent; [] if there is none."""
    tensor = call.arguments[stride[1]]
    assert isinstance(tensor, TensorArgument)
    axes = sorted(range(len(tensor.shape)), key=lambda a: (tensor.strides[a], -a))
    inner = axes[: axes.index(stride[2])][-1:]
    return [(axis, ("shape", stride[1], axis)) for axis in inner]


def number_symbol(number: Number) -> Symbol:
    """Return the symbol of a number in formulas."""
    low = -_MOST if number[0] in ("scalar", "stride") else 0
    _, key = key_of(number)
    return Symbol("programs" if number[0] == "grid" else "scalar", key, low, _MOST)


def number_of(symbol: Symbol) -> Number:
    """Return the number of a symbol, the inverse of `key_of`."""
    if isinstance(symbol.key, tuple):
        position, kind, axis = symbol.key
        return kind, position, axis
    return "grid" if symbol.kind == "programs" else "scalar", symbol.key, 0
