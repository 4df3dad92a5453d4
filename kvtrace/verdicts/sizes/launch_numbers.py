"""The numbers of a launch by what they are, and a launch with other ones."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING

from kvtrace.evaluate import ScalarArgument, Storage, TensorArgument

if TYPE_CHECKING:
    from kvtrace.recorded_calls.recorded import Call

Number = tuple[str, int, int]
"""What a number of a launch is: ("scalar", argument, 0), ("shape" or "stride", argument, axis) or
("grid", axis, 0)."""
Numbers = Mapping[Number, int]


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


def call_with(call: Call, numbers: Numbers) -> Call:
    """Return a launch with other numbers; nothing is allocated.

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
