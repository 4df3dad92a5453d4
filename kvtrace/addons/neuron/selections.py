"""Access through selections: views with an index per lane and dimension.

Lanes that a mask leaves out access nothing, nor do lanes outside of the tensor, which are reported.
"""

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from kvtrace.addons.neuron import dtypes
from kvtrace.addons.neuron.errors import NkiError
from kvtrace.addons.neuron.findings import OUT_OF_BOUNDS, UNINITIALIZED
from kvtrace.addons.neuron.indices import lanes_of
from kvtrace.addons.neuron.memory import size_of
from kvtrace.addons.neuron.tensors import Tensor

if TYPE_CHECKING:
    from kvtrace.addons.neuron.operations import Issue


def gather(
    issue: "Issue", tensor: Tensor, lanes: NDArray[np.bool_] | None
) -> tuple[NDArray[Any], int]:
    """Return values (garbage where inactive) of a selection, and the number of reads."""
    memory = tensor.memory
    positions, active = _memory_positions(issue, tensor, lanes, "load")
    elements = memory.raw.view(tensor.dtype)
    values = np.full(tensor.shape, dtypes.poison(tensor.dtype), elements.dtype)
    issue.positions = positions[active]
    values[active] = elements[issue.positions]
    if memory.written_elements is not None:
        written = np.ones(tensor.shape, np.bool_)
        written[active] = memory.written_elements[_storage_positions(tensor, issue.positions)]
        report_unwritten(issue, tensor, written, None)
    issue.masked_off += tensor.size - issue.positions.size
    return values, int(issue.positions.size)


def scatter(
    issue: "Issue", tensor: Tensor, values: NDArray[Any], lanes: NDArray[np.bool_] | None
) -> int:
    """Write values to a selection's elements in bounds; return the number of elements written."""
    memory = tensor.memory
    positions, active = _memory_positions(issue, tensor, lanes, "store")
    issue.positions = positions[active]
    active_values = np.broadcast_to(values, tensor.shape)[active]
    memory.put(tensor.dtype, issue.positions, active_values)
    if memory.written_elements is not None:
        memory.written_elements[_storage_positions(tensor, issue.positions)] = True
    return int(issue.positions.size)


def report_unwritten(
    issue: "Issue",
    tensor: Tensor,
    written: NDArray[np.bool_],
    lanes: NDArray[np.bool_] | None,
) -> None:
    """Report the active lanes whose elements no op has written, if there are any."""
    is_unwritten = ~written if lanes is None else ~written & lanes
    count = int(np.count_nonzero(is_unwritten))
    if count:
        lane = tuple(int(index) for index in np.argwhere(is_unwritten)[0])
        message = (
            f"{issue.operation.name} reads {count} elements of {describe(tensor)} "
            "that were never written"
        )
        issue.report(UNINITIALIZED, message, access="load", lane=lane, lanes=count)


def _storage_positions(tensor: Tensor, positions: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return positions, in elements of the view's type, as positions in the memory's type."""
    view_bytes, memory_bytes = tensor.dtype.itemsize, tensor.memory.dtype.itemsize
    return positions if view_bytes == memory_bytes else positions * view_bytes // memory_bytes


def _memory_positions(
    issue: "Issue", tensor: Tensor, lanes: NDArray[np.bool_] | None, access: str
) -> tuple[NDArray[np.int64], NDArray[np.bool_]]:
    """Return lanes' positions in memory, and active lanes; those out of bounds are reported."""
    selection = tensor.selection
    assert selection is not None
    if selection.from_data:
        issue.run.recorder.sites[issue.site].from_data = True
    positions = np.full(tensor.shape, tensor.offset, np.int64)
    is_outside = np.zeros(tensor.shape, bool)
    for indices, size, step in zip(selection.indices, tensor.sizes, tensor.strides, strict=True):
        positions += indices * step
        is_outside |= (indices < 0) | (indices >= size)
    active = np.ones(tensor.shape, bool) if lanes is None else broadcast_mask(lanes, tensor.shape)
    violates = is_outside & active
    if violates.any():
        lane = tuple(int(index) for index in np.argwhere(violates)[0])
        if selection.strict and lanes is None:
            dimension, _ = _violated_dimension(tensor, lane)
            stop = int(selection.indices[dimension].max()) + 1
            raise NkiError(
                f"the slice up to {stop} exceeds dimension {dimension} of "
                f"{describe(tensor)}, which has {tensor.sizes[dimension]} elements"
            )
        _report_out_of_bounds(
            issue, tensor, lane, int(violates.sum()), int(positions[lane]), access
        )
    return positions, active & ~is_outside


def _violated_dimension(tensor: Tensor, lane: tuple[int, ...]) -> tuple[int, int]:
    assert tensor.selection is not None
    indices = [int(np.broadcast_to(i, tensor.shape)[lane]) for i in tensor.selection.indices]
    dimension = next(
        axis for axis, size in enumerate(tensor.sizes) if not 0 <= indices[axis] < size
    )
    return dimension, indices[dimension]


def broadcast_mask(lanes: NDArray[np.bool_], shape: tuple[int, ...]) -> NDArray[np.bool_]:
    """Return a mask broadcast to `shape`, the shape of the lanes."""
    try:
        return np.broadcast_to(lanes, shape)
    except ValueError:
        raise NkiError(
            f"a mask of shape {lanes.shape} does not fit lanes of shape {shape}"
        ) from None


def lanes_within(mask: Any, shape: tuple[int, ...], operand_shape: tuple[int, ...]) -> Any:
    """Return an op's mask reduced to the shape of an operand that the op broadcasts.

    An element of the operand is active if any lane that reads the element is active. None stands
    for all, also if the shapes do not fit.
    """
    if mask is None or operand_shape == shape:
        return mask
    lanes = broadcast_mask(lanes_of(mask), shape)
    if size_of(operand_shape) == lanes.size:
        return lanes.reshape(operand_shape)
    sizes = (1,) * (len(shape) - len(operand_shape)) + operand_shape
    if len(sizes) != len(shape) or any(s not in (1, n) for s, n in zip(sizes, shape, strict=True)):
        return None
    broadcast_axes = tuple(axis for axis, size in enumerate(sizes) if size == 1)
    return lanes.any(axis=broadcast_axes, keepdims=True).reshape(operand_shape)


def _report_out_of_bounds(
    issue: "Issue", tensor: Tensor, lane: tuple[int, ...], lanes: int, position: int, access: str
) -> None:
    dimension, index = _violated_dimension(tensor, lane)
    element_bytes = tensor.dtype.itemsize
    address = position * element_bytes
    past_end_bytes = address + element_bytes - tensor.memory.raw.size
    verb = "reads" if access == "load" else "writes"
    message = (
        f"{issue.operation.name} {verb} index {index} of dimension {dimension} of "
        f"{describe(tensor)}, which has {tensor.sizes[dimension]} elements"
    )
    issue.report(
        OUT_OF_BOUNDS,
        message,
        access=access,
        lane=lane,
        lanes=lanes,
        argument=tensor.memory.argument,
        address_offset=address,
        past_end_bytes=past_end_bytes if past_end_bytes > 0 or address >= 0 else address,
    )


def describe(tensor: Tensor) -> str:
    """Return the tensor's name, or its shape and memory, for a message."""
    memory = tensor.memory
    name = memory.argument or memory.life.name
    shape = "×".join(str(size) for size in memory.shape)
    return f"{name!r}" if name else f"the {shape} tensor in {memory.space}"
