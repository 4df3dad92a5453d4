"""What a launch leaves in a tensor: exact numbers, and bounds of a device's distance from them."""

from __future__ import annotations

from collections.abc import Container
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from kvtrace.evaluate.errors import Undecided
from kvtrace.evaluate.rounding import from_memory
from kvtrace.evaluate.shadows.errors.planes import PLANES, exact_from

if TYPE_CHECKING:
    from kvtrace.evaluate.arguments import TensorArgument
    from kvtrace.evaluate.shadows.errors.tt_memory import BoundedMemory

Numbers = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class ExactValues:
    """Elements after an evaluation with `Deviations`: float64 arrays of one shape.

    Attributes:
        evaluated: what the evaluator gives, which rounds as the IR says.
        exact: what the kernel means in exact arithmetic.
        worst: how far a device may be from `exact` in the worst case; infinity: not known.
        near: how far it may be except with the stated chance.
        meaning: how far `exact` may be from what the source means, for constants are rounded.

    """

    evaluated: Numbers
    exact: Numbers
    worst: Numbers
    near: Numbers
    meaning: Numbers


def exact_values(
    tensor: TensorArgument, memory: BoundedMemory, open_: Container[str], *, whole: bool = False
) -> ExactValues:
    """Return what memory holds of a tensor, in its shape.

    Args:
        tensor: The tensor, whose storage has contents.
        memory: The memory of an evaluation that has ended.
        open_: Bounds of which nothing is known.
        whole: Whether all elements of its storage are returned, in one axis.

    Raises:
        Undecided: It is written as elements of another size than its own.

    """
    element = tensor.element
    size, phase = element.bytes, tensor.offset_bytes % element.bytes
    flat = held_elements(tensor, memory.bytes_of(tensor.storage))
    evaluated = (flat if whole else _viewed(flat, tensor)).astype(np.float64)
    kept = memory.planes.kept.get(id(tensor.storage))
    if kept is None:
        planes = np.zeros(evaluated.shape, PLANES)
    elif kept[:2] != (size, phase):
        raise Undecided(f"{tensor.name} is written as elements of another size than its own")
    else:
        planes = kept[2] if whole else _viewed(kept[2], tensor)
    worst, near, meaning = (
        np.full(evaluated.shape, np.inf) if plane in open_ else np.array(planes[plane])
        for plane in ("worst", "near", "meaning")
    )
    return ExactValues(evaluated, exact_from(evaluated, planes["off"]), worst, near, meaning)


def elements_of(tensor: TensorArgument, held: NDArray[np.uint8]) -> Numbers:
    """Return a tensor's elements, in its shape, of the bytes that its storage holds."""
    return _viewed(held_elements(tensor, held), tensor).astype(np.float64)


def held_elements(tensor: TensorArgument, held: NDArray[np.uint8]) -> NDArray[Any]:
    """Return all elements of a storage, in one axis, aligned to a tensor in it."""
    element = tensor.element
    size, phase = element.bytes, tensor.offset_bytes % element.bytes
    count = (len(held) - phase) // size
    return from_memory(held[phase : phase + count * size].view(element.memory), element)


def _viewed(flat: NDArray[Any], tensor: TensorArgument) -> NDArray[Any]:
    """Return a tensor's elements of all elements of its storage."""
    start = tensor.offset_bytes // tensor.element.bytes
    steps = tuple(stride * flat.itemsize for stride in tensor.strides)
    view = np.lib.stride_tricks.as_strided(flat[start:], tensor.shape, steps)
    return np.array(view)
