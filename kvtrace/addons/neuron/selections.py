"""Views that are bound when they are used: each lane has an index per dimension.

Lanes that a mask leaves out, or that lie outside, touch nothing; the latter are found.
"""

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from kvtrace.addons.neuron import dtypes, sharing
from kvtrace.addons.neuron.errors import NkiError
from kvtrace.addons.neuron.findings import OUT_OF_BOUNDS
from kvtrace.addons.neuron.indices import lanes_of
from kvtrace.addons.neuron.memory import DEFINED, GARBAGE, size_of
from kvtrace.addons.neuron.tensors import Tensor

if TYPE_CHECKING:
    from kvtrace.addons.neuron.operations import Issue


def gather(
    issue: "Issue", tensor: Tensor, lanes: NDArray[np.bool_] | None
) -> tuple[NDArray[Any], NDArray[np.uint8] | None, int]:
    """Read a selection; lanes that are masked off, or outside, are garbage."""
    memory = tensor.memory
    places, active = _places(issue, tensor, lanes, "load")
    elements = memory.elements(tensor.dtype)
    values = np.full(tensor.shape, dtypes.poison(tensor.dtype), elements.dtype)
    states = np.full(tensor.shape, GARBAGE, np.uint8)
    inside = places[active]
    issue.places = inside
    values[active] = elements[inside]
    kept = _of_memory(tensor, inside)
    states[active] = DEFINED if memory.states is None else memory.states[kept]
    sharing.note_read(issue, tensor, kept, None)
    issue.masked_off += tensor.size - inside.size
    return values, states, int(inside.size)


def scatter(
    issue: "Issue",
    tensor: Tensor,
    values: NDArray[Any],
    states: NDArray[np.uint8] | None,
    lanes: NDArray[np.bool_] | None,
) -> int:
    """Write to a selection; lanes outside of the tensor touch nothing."""
    memory = tensor.memory
    places, active = _places(issue, tensor, lanes, "store")
    inside = places[active]
    issue.places = inside
    held = _of_memory(tensor, inside)
    elements = memory.elements(tensor.dtype)
    given = np.broadcast_to(values, tensor.shape)[active]
    sharing.note_write(issue, tensor, held, lanes, lambda: differs(elements[inside], given))
    memory.put(tensor.dtype, inside, given)
    if memory.states is not None or states is not None:
        kept = memory.state_array()
        kept[held] = DEFINED if states is None else np.broadcast_to(states, tensor.shape)[active]
    return int(inside.size)


def add_at(
    issue: "Issue",
    tensor: Tensor,
    values: NDArray[Any],
    lanes: NDArray[np.bool_] | None,
) -> None:
    """Add to the elements of a selection, lane after lane: one that is selected twice gets both.

    Other programs may do the same at the same time: that is not a race.
    """
    memory = tensor.memory
    places, active = _places(issue, tensor, lanes, "store")
    inside = issue.places = places[active]
    total = dtypes.computed(memory.elements(tensor.dtype))
    np.add.at(total, inside, np.broadcast_to(values, tensor.shape)[active])
    touched = np.unique(inside)
    memory.put(tensor.dtype, touched, total[touched])
    nbytes = 2 * int(inside.size) * tensor.dtype.itemsize
    issue.masked_off += tensor.size - int(inside.size)
    issue.device_bytes += nbytes


def _of_memory(tensor: Tensor, places: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return elements of the memory that elements of the view begin in: its width may differ."""
    width, held = tensor.dtype.itemsize, tensor.memory.dtype.itemsize
    return places if width == held else places * width // held


def _places(
    issue: "Issue", tensor: Tensor, lanes: NDArray[np.bool_] | None, access: str
) -> tuple[NDArray[np.int64], NDArray[np.bool_]]:
    """Return the element of the memory that each lane means, and which lanes touch theirs."""
    selection = tensor.selection
    assert selection is not None
    if selection.from_data:
        issue.run.recorder.sites[issue.site].from_data = True
    places = np.full(tensor.shape, tensor.offset, np.int64)
    outside = np.zeros(tensor.shape, bool)
    for indices, size, step in zip(selection.indices, tensor.sizes, tensor.strides, strict=True):
        places += indices * step
        outside |= (indices < 0) | (indices >= size)
    active = np.ones(tensor.shape, bool) if lanes is None else on_lanes(lanes, tensor.shape)
    broken = outside & active
    if broken.any():
        lane = tuple(int(place) for place in np.argwhere(broken)[0])
        if selection.strict and lanes is None:
            dimension, _ = _left_at(tensor, lane)
            found = selection.indices[dimension]
            raise NkiError(
                f"the slice up to {int(found.max()) + 1} leaves dimension {dimension} of "
                f"{called(tensor)}, which has {tensor.sizes[dimension]} elements"
            )
        _left(issue, tensor, lane, int(broken.sum()), int(places[lane]), access)
    return places, active & ~outside


def _left_at(tensor: Tensor, lane: tuple[int, ...]) -> tuple[int, int]:
    """Return the first dimension that a lane leaves, and its index there."""
    assert tensor.selection is not None
    at = [int(np.broadcast_to(each, tensor.shape)[lane]) for each in tensor.selection.indices]
    left = (axis for axis, size in enumerate(tensor.sizes) if not 0 <= at[axis] < size)
    dimension = next(left)
    return dimension, at[dimension]


def inside_lanes(tensor: Tensor, mask: Any) -> Any:
    """Return a mask with the lanes taken out that lie outside of a tensor."""
    selection = tensor.selection
    if selection is None:
        return mask
    inside = np.ones(tensor.shape, bool)
    for indices, size in zip(selection.indices, tensor.sizes, strict=True):
        inside &= (indices >= 0) & (indices < size)
    return inside if mask is None else inside & lanes_of(mask)


def on_lanes(lanes: NDArray[np.bool_], shape: tuple[int, ...]) -> NDArray[np.bool_]:
    """Return a mask for lanes of a shape."""
    try:
        return np.broadcast_to(lanes, shape)
    except ValueError:
        raise NkiError(f"a mask of {lanes.shape} does not fit lanes of {shape}") from None


def differs(held: NDArray[Any], values: NDArray[Any]) -> NDArray[np.bool_]:
    """Return where values differ, in their bits, from those that are there."""
    shape = (*held.shape, held.itemsize)
    there, given = (
        np.ascontiguousarray(np.broadcast_to(each, held.shape)).reshape(-1).view(np.uint8)
        for each in (held, values)
    )
    return np.asarray((there != given).reshape(shape).any(axis=-1))


def lanes_within(mask: Any, shape: tuple[int, ...], operand: tuple[int, ...]) -> Any:
    """Return the mask of an operand that an op broadcasts, or reshapes, to lanes of a shape.

    An element is let through where any of the lanes that it is for is.
    """
    if mask is None or operand == shape:
        return mask
    lanes = on_lanes(lanes_of(mask), shape)
    if size_of(operand) == lanes.size:
        return lanes.reshape(operand)
    sizes = (1,) * (len(shape) - len(operand)) + operand
    if len(sizes) != len(shape) or any(s not in (1, n) for s, n in zip(sizes, shape, strict=True)):
        return None
    repeated = tuple(axis for axis, size in enumerate(sizes) if size == 1)
    return lanes.any(axis=repeated, keepdims=True).reshape(operand)


def _left(
    issue: "Issue", tensor: Tensor, lane: tuple[int, ...], lanes: int, place: int, access: str
) -> None:
    """Find lanes that leave their tensor; the first of them is the witness."""
    dimension, index = _left_at(tensor, lane)
    width = tensor.dtype.itemsize
    address = place * width
    past = address + width - tensor.memory.raw.size
    verb = "reads" if access == "load" else "writes"
    text = (
        f"{issue.operation.name} {verb} index {index} of dimension {dimension} of "
        f"{called(tensor)}, which has {tensor.sizes[dimension]} elements"
    )
    issue.find(
        OUT_OF_BOUNDS,
        text,
        access=access,
        lane=lane,
        lanes=lanes,
        argument=tensor.memory.argument,
        address_offset=address,
        past_end_bytes=past if past > 0 or address >= 0 else address,
    )


def called(tensor: Tensor) -> str:
    """Return what a tensor is called in a sentence."""
    memory = tensor.memory
    name = memory.argument or memory.life.name
    shape = "×".join(str(size) for size in memory.shape)
    return f"{name!r}" if name else f"the {shape} tensor in {memory.space}"
