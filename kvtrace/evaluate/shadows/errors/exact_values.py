"""Exact numbers of a tensor after a launch, and bounds of a device's distance from them."""

from __future__ import annotations

from collections.abc import Container
from typing import Any

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from kvtrace.evaluate.arguments import TensorArgument
from kvtrace.evaluate.errors import Undecided
from kvtrace.evaluate.rounding import from_memory
from kvtrace.evaluate.shadows.errors.images import are_same
from kvtrace.evaluate.shadows.errors.planes import PLANES, exact_from
from kvtrace.evaluate.shadows.errors.tt_memory import BoundedMemory

Numbers = NDArray[np.float64]


class ExactValues(Struct, frozen=True):
    """A tensor's elements after an evaluation with `Deviations`: float64 arrays of one shape.

    Attributes:
        evaluated: the evaluator's numbers, rounded as the IR says.
        exact: the kernel's results in exact arithmetic.
        worst: largest distance of a device's number from `exact`; infinity: no bound is known.
        near: distance that a device's number exceeds only with the stated chance.
        meaning: largest distance of `exact` from the source's meaning; constants are rounded.

    """

    evaluated: Numbers
    exact: Numbers
    worst: Numbers
    near: Numbers
    meaning: Numbers


def exact_values(
    tensor: TensorArgument, memory: BoundedMemory, open_: Container[str], *, whole: bool = False
) -> ExactValues:
    r"""Return a tensor's evaluated and exact numbers and their bounds, in the tensor's shape.

    Args:
        tensor: The tensor, whose storage has contents.
        memory: The memory of an evaluation that has ended.
        open_: Planes that bound nothing, which become infinite.
        whole: Whether all elements of the tensor's storage are returned, in one axis.

    Raises:
        Undecided: The tensor is written as elements of another size than its own.
    """
    element = tensor.element
    size, phase = element.bytes, tensor.offset_bytes % element.bytes
    flat = held_elements(tensor, memory.bytes_of(tensor.storage))
    evaluated = (flat if whole else _strided_elements(flat, tensor)).astype(np.float64)
    storage_planes = memory.planes.by_storage.get(id(tensor.storage))
    if storage_planes is None:
        planes = np.zeros(evaluated.shape, PLANES)
    elif storage_planes[:2] != (size, phase):
        raise Undecided(f"{tensor.name} is written as elements of another size than its own")
    else:
        planes = storage_planes[2] if whole else _strided_elements(storage_planes[2], tensor)
    worst, near, meaning = (
        np.full(evaluated.shape, np.inf) if plane in open_ else np.array(planes[plane])
        for plane in ("worst", "near", "meaning")
    )
    return ExactValues(evaluated, exact_from(evaluated, planes["off"]), worst, near, meaning)


def distances_of(values: Numbers, expected: Numbers) -> Numbers:
    """Return the distance of each number from the expected one.

    It is 0 for two NaNs, and infinite for a NaN and a number.
    """
    with np.errstate(all="ignore"):
        distances = np.abs(values - expected)
    return np.where(
        are_same(values, expected), 0.0, np.where(np.isnan(distances), np.inf, distances)
    )


def elements_of(tensor: TensorArgument, storage_bytes: NDArray[np.uint8]) -> Numbers:
    """Return a tensor's elements as float64, in its shape, from the bytes of its storage."""
    return _strided_elements(held_elements(tensor, storage_bytes), tensor).astype(np.float64)


def held_elements(tensor: TensorArgument, storage_bytes: NDArray[np.uint8]) -> NDArray[Any]:
    """Return all elements of a storage in one axis, beginning where the tensor is aligned."""
    element = tensor.element
    size, phase = element.bytes, tensor.offset_bytes % element.bytes
    count = (len(storage_bytes) - phase) // size
    return from_memory(storage_bytes[phase : phase + count * size].view(element.memory), element)


def _strided_elements(flat: NDArray[Any], tensor: TensorArgument) -> NDArray[Any]:
    start = tensor.offset_bytes // tensor.element.bytes
    steps = tuple(stride * flat.itemsize for stride in tensor.strides)
    view = np.lib.stride_tricks.as_strided(flat[start:], tensor.shape, steps)
    return np.array(view)
