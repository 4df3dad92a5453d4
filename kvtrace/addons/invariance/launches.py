"""Evaluation of launches on other contents, in a fixed order: results depend on IR and data alone.

Programs run one after the other, and sums are computed in the order of
`kvtrace.evaluate.fixed_order`: halves for reductions, K for products, programs for atomics. So two
launches that compute a row by the same operations on the same data give the same bits.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import prod
from typing import Any, Final

import numpy as np
from msgspec.structs import replace
from numpy.typing import NDArray

from kvtrace.evaluate import evaluate
from kvtrace.evaluate.arguments import Argument, Storage, TensorArgument
from kvtrace.evaluate.errors import UNFIT
from kvtrace.evaluate.fixed_order import in_fixed_order
from kvtrace.ir import Module
from kvtrace.ir.data_dependence import leading_integers
from kvtrace.recorded_calls.recorded import Call
from kvtrace.schema.errors import KvtraceError
from kvtrace.symbolic.walk import summarize

_MOST_BYTES: Final = 1 << 26
MOST_STEPS: Final = 50_000

Fill = Callable[[TensorArgument, int], NDArray[Any]]
"""Function from a tensor and its position among the arguments to the tensor's contents."""


def evaluate_ordered(
    module: Module, arguments: Sequence[Argument], grid: tuple[int, ...], **named: Any
) -> None:
    """Evaluate a launch in a fixed order; parameters and errors are those of `evaluate`."""
    with in_fixed_order():
        evaluate(module, arguments, grid, **named, chunk_bytes=1)


def output_after(
    call: Call,
    output: int,
    fill: Fill,
    *,
    filled_integers: bool = False,
    backwards: bool = False,
) -> NDArray[Any] | None:
    """Return a tensor's contents after a launch, or None if evaluation fails.

    Args:
        call: The launch.
        output: The tensor's position among the arguments.
        fill: Returns the floats, and the integers with `filled_integers`.
        filled_integers: Fill integers, too. Otherwise, and for `fill` to see, they are the recorded
            ones, or 1 if none were recorded and the integers select no data.
        backwards: Run programs from the last to the first.

    """
    arguments = filled_arguments(call, fill, filled_integers=filled_integers)
    if arguments is None:
        return None
    groups = [np.asarray([n]) for n in reversed(range(prod(call.grid)))] if backwards else [None]
    try:
        for programs in groups:
            evaluate_ordered(
                call.module, arguments, call.grid, kernel=call.kernel,
                most_steps=MOST_STEPS, programs=programs,
            )  # fmt: skip
    except (KvtraceError, *UNFIT):
        return None
    tensor = arguments[output]
    assert isinstance(tensor, TensorArgument)
    return elements_of(tensor).copy()


def filled_arguments(call: Call, fill: Fill, *, filled_integers: bool) -> list[Argument] | None:
    """Return a call's arguments with new contents, as for `output_after`.

    None if the tensors are too large, or if integers that select data were not recorded.
    """
    if not has_small_tensors(call):
        return None
    leading = positions_of_leading(call)
    storages: dict[int, Storage] = {}
    arguments: list[Argument] = []
    for position, argument in enumerate(call.arguments):
        if not isinstance(argument, TensorArgument):
            arguments.append(argument)
            continue
        original = argument.storage
        if id(original) not in storages:
            data = np.zeros(original.nbytes, np.uint8)
            if argument.element.kind != "f":
                if original.data is not None:
                    data[:] = original.data
                elif position in leading and not filled_integers:
                    return None  # any integers would lead rows to each other's data
            storages[id(original)] = Storage(original.nbytes, data, original.address)
        tensor = replace(argument, storage=storages[id(original)])
        if original.data is None and argument.element.kind != "f":
            elements_of(tensor)[...] = 1
        if argument.element.kind == "f" or filled_integers:
            elements_of(tensor)[...] = fill(tensor, position)
        arguments.append(tensor)
    return arguments


def read_positions(call: Call) -> frozenset[int]:
    """Return the positions of the arguments that a kernel may read."""
    loads = [access for access in summarize(call.module).accesses if access.kind != "store"]
    if any(access.argument is None for access in loads):
        return frozenset(range(len(call.arguments)))
    return frozenset(access.argument for access in loads if access.argument is not None)


def positions_of_leading(call: Call) -> frozenset[int]:
    """Return the positions of tensors whose integers decide which data are read, written or run.

    All positions if some load is not through an argument.
    """
    leading = leading_integers(call.module)
    reads = {
        access.argument for access in summarize(call.module).accesses if access.op.index in leading
    }
    positions = frozenset(position for position in reads if position is not None)
    return frozenset(range(len(call.arguments))) if len(positions) < len(reads) else positions


def has_small_tensors(call: Call) -> bool:
    """Return whether a call's tensors are small enough to be filled."""
    return sum(map(_nbytes, call.arguments)) <= _MOST_BYTES


def _nbytes(argument: Argument) -> int:
    """Return the bytes of a storage, or of all elements where the tensor repeats some of it."""
    if not isinstance(argument, TensorArgument):
        return 0
    return max(argument.storage.nbytes, prod(argument.shape) * argument.element.bytes)


def elements_of(tensor: TensorArgument) -> NDArray[Any]:
    """Return an array of a tensor's elements in its storage; writing to it changes the storage."""
    assert tensor.storage.data is not None
    memory = tensor.storage.data[tensor.offset_bytes :]
    memory = memory[: memory.size // tensor.element.bytes * tensor.element.bytes]
    strides = [stride * tensor.element.bytes for stride in tensor.strides]
    return np.lib.stride_tricks.as_strided(
        memory.view(tensor.element.memory), tensor.shape, strides
    )
