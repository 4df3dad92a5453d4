"""Numbers of a launch (scalars, extents, strides, grid), and launches with other numbers."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING

from kvtrace.evaluate import ScalarArgument, Storage, TensorArgument

if TYPE_CHECKING:
    from kvtrace.recorded_calls.recorded import Call

Number = tuple[str, int, int]
"""Key of a number of a launch: ("scalar", argument, 0), ("shape" or "stride", argument, axis) or
("grid", axis, 0)."""
Numbers = Mapping[Number, int]


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


def call_with(call: Call, numbers: Numbers) -> Call:
    """Return a launch with other numbers; no tensor is allocated.

    A tensor has its recorded contents only if the size of its storage is unchanged.
    """
    storage_bytes: dict[int, int] = {}
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
        key = id(argument.storage)
        end = argument.offset_bytes + tensor.view_bytes[1]
        storage_bytes[key] = max(storage_bytes.get(key, argument.storage.nbytes), end)
        resized.append(tensor)
    recorded_storages = {
        id(argument.storage): argument.storage
        for argument in call.arguments
        if isinstance(argument, TensorArgument)
    }
    storages = {
        key: recorded_storages[key] if nbytes == recorded_storages[key].nbytes else Storage(nbytes)
        for key, nbytes in storage_bytes.items()
    }
    arguments = tuple(
        replace(argument, storage=storages[id(argument.storage)])
        if isinstance(argument, TensorArgument)
        else argument
        for argument in resized
    )
    x, y, z = (numbers["grid", axis, 0] for axis in range(3))
    recorded = tuple(
        argument.name
        for argument in arguments
        if isinstance(argument, TensorArgument) and argument.storage.data is not None
    )
    return replace(
        call, grid=(x, y, z), arguments=arguments, recorded=recorded, compiled=None, launches=None
    )
