"""Reading and writing of views: elements, what of them is defined, bounds, and who wrote them."""

from typing import TYPE_CHECKING, Any, Final

import numpy as np
from numpy.typing import NDArray

from kvtrace.addons.neuron import dtypes, sharing
from kvtrace.addons.neuron.errors import NkiError
from kvtrace.addons.neuron.findings import MEMORY_SPACE, UNDEFINED_LANES, UNINITIALISED
from kvtrace.addons.neuron.memory import DEFINED, GARBAGE, NEVER_WRITTEN, Memory, size_of
from kvtrace.addons.neuron.recorder import AccessRow
from kvtrace.addons.neuron.selections import called, differs, gather, on_lanes, scatter
from kvtrace.addons.neuron.tensors import Tensor

if TYPE_CHECKING:
    from kvtrace.addons.neuron.operations import Issue, Result


class Values:
    """The values of an operand, their states (None: all defined), and its element type."""

    __slots__ = ("dtype", "space", "states", "values")

    def __init__(
        self,
        values: NDArray[Any],
        states: NDArray[np.uint8] | None,
        dtype: np.dtype[Any],
        space: str = "",
    ) -> None:
        self.values = values
        self.states = states
        self.dtype = dtype
        #: hbm, sbuf or psum; empty for a number.
        self.space = space

    @property
    def is_number(self) -> bool:
        """Whether it is a plain number of the program."""
        return not self.space

    def computed(self) -> NDArray[Any]:
        """Return the values in float32, as engines compute with them."""
        return dtypes.computed(self.values)


_FLOAT: Final = dtypes.float32


def number(operand: Any) -> Values:
    """Return a plain number of the program as an operand.

    Raises:
        NkiError: it is none.
    """
    if type(operand) is float:
        return Values(np.asarray(operand, np.float32), None, _FLOAT)
    if isinstance(operand, bool | np.bool_):
        return Values(np.asarray(bool(operand)), None, dtypes.bool_)
    if isinstance(operand, int | np.integer):
        return Values(np.asarray(int(operand), np.int64), None, _own_type(operand, dtypes.int32))
    if isinstance(operand, float | np.floating) or _is_scalar_array(operand):
        return Values(np.asarray(float(operand), np.float32), None, _own_type(operand, _FLOAT))
    raise NkiError(f"an op takes tiles and numbers, not {type(operand).__name__}")


def _own_type(operand: Any, weak: np.dtype[Any]) -> np.dtype[Any]:
    """Return the type of a number: NumPy's own, if NKI has it; Python's are of the widest."""
    own = getattr(operand, "dtype", weak)
    return own if own in dtypes.SHORT else weak


def _is_scalar_array(operand: Any) -> bool:
    return getattr(operand, "ndim", None) == 0 and hasattr(operand, "dtype")


def read(issue: "Issue", tensor: Tensor, lanes: NDArray[np.bool_] | None) -> Values:
    """Read a view: count its bytes, look at what is defined, and at bounds."""
    memory = tensor.memory
    _used(issue, memory)
    issue.readers.append(memory.number)
    if tensor.selection is not None:
        values, states, count = gather(issue, tensor, lanes)
    else:
        values = tensor.array()
        count = tensor.size if lanes is None else int(on_lanes(lanes, tensor.shape).sum())
        states = None if memory.states is None else tensor.of_elements(memory.states)
        sharing.note_read(issue, tensor, None, lanes)
    if memory.life.block_bytes:
        _use_blocks(issue, tensor)
    nbytes = count * tensor.dtype.itemsize
    if memory.space == "hbm":
        issue.device_bytes += nbytes
        _note(issue, tensor, count, lanes)
    else:
        issue.chip_bytes += nbytes
    if states is not None:
        states = _looked_at(issue, tensor, states, lanes)
    if tensor.on_chip and values.ndim == 1:
        values = values.reshape(-1, 1)
        states = None if states is None else states.reshape(-1, 1)
    return Values(values, states, tensor.dtype, memory.space)


def _note(issue: "Issue", tensor: Tensor, count: int, lanes: NDArray[np.bool_] | None) -> None:
    """Keep where an access to device memory went."""
    width = tensor.dtype.itemsize
    memory = tensor.memory
    shape: tuple[int, ...] = ()
    steps: tuple[int, ...] = ()
    if tensor.selection is None:
        shape, steps = tensor.shape, tuple(step * width for step in tensor.strides)
        first = last = tensor.offset * width
        for size, step in zip(shape, steps, strict=True):
            last += step * (size - 1)
    elif count:
        places = issue.places
        first, last = int(places.min()) * width, int(places.max()) * width
    else:
        return
    if width == memory.dtype.itemsize:
        marks = issue.run.recorder.touched(issue.site, memory.number, memory.raw.size // width)
        _mark(tensor, marks, issue.places, lanes)
    loops = issue.run.loops
    issue.run.recorder.access(
        AccessRow(
            issue.site,
            issue.run.program,
            loops[-1].trip if loops else None,
            memory.argument or memory.life.name,
            first,
            last + width - 1,
            count,
            shape,
            steps,
            issue.run.serial,
        )
    )


def _mark(
    tensor: Tensor,
    marks: NDArray[np.uint8],
    places: NDArray[np.int64],
    lanes: NDArray[np.bool_] | None,
) -> None:
    if tensor.selection is not None:
        marks[places] = 1
        return
    view = tensor.of_elements(marks)
    if lanes is None:
        view[...] = 1
    else:
        np.copyto(view, 1, where=np.broadcast_to(lanes, view.shape))


def _used(issue: "Issue", memory: Memory) -> None:
    if memory.space == "psum" and issue.engine == "gpsimd" and issue.named_engine:
        issue.find(MEMORY_SPACE, f"{issue.operation.name} on GpSimd cannot reach PSUM")
    life = memory.life
    life.last = issue.order
    if life.first < 0:
        life.first = issue.order


def _use_blocks(issue: "Issue", tensor: Tensor) -> None:
    """Keep which blocks of a buffer an op used: those between its first and its last element."""
    memory = tensor.memory
    width = tensor.dtype.itemsize
    if tensor.selection is None:
        first = last = tensor.offset
        for size, step in zip(tensor.shape, tensor.strides, strict=True):
            last += step * (size - 1)
    elif issue.places.size:
        first, last = int(issue.places.min()), int(issue.places.max())
    else:
        return
    if not any(loop.parallel for loop in issue.run.loops):
        memory.life.reorderable = False
    block = size_of(memory.shape[memory.partition :]) * memory.dtype.itemsize
    for number in range(first * width // block, last * width // block + 1):
        memory.life.blocks.setdefault(number, [issue.order, 0])[1] = issue.order


def _looked_at(
    issue: "Issue",
    tensor: Tensor,
    states: NDArray[np.uint8],
    lanes: NDArray[np.bool_] | None,
) -> NDArray[np.uint8] | None:
    """Find reads of what was never written; give states only where some are not defined."""
    least = states.min() if states.size else DEFINED
    if least == DEFINED:
        return None
    if least > NEVER_WRITTEN:
        return states
    unwritten = states == NEVER_WRITTEN
    if lanes is not None:
        unwritten = unwritten & lanes
    count = int(unwritten.sum())
    if count:
        lane = tuple(int(place) for place in np.argwhere(unwritten)[0])
        text = (
            f"{issue.operation.name} reads {count} elements of {called(tensor)} "
            "that nothing was written to"
        )
        issue.find(UNINITIALISED, text, access="load", lane=lane, lanes=count)
    return np.maximum(states, GARBAGE)


def least(shape: tuple[int, ...], operands: tuple[Values, ...]) -> NDArray[np.uint8] | None:
    """Return the states of a result: the least of its operands', None where all are defined."""
    found: NDArray[np.uint8] | None = None
    for operand in operands:
        if operand.states is None:
            continue
        states = np.broadcast_to(operand.states, shape)
        found = states if found is None else np.minimum(found, states)
    return found


def write(issue: "Issue", tensor: Tensor, result: "Result") -> None:
    """Write a result to a view; one of equal size is reshaped, a smaller one repeated."""
    memory = tensor.memory
    values, states = _fitted(tensor, result.values), None
    if result.states is not None:
        states = _fitted(tensor, result.states)
    values = dtypes.rounded(values, memory.read_as(tensor.dtype))
    _used(issue, memory)
    lanes = result.mask
    if tensor.selection is not None:
        count = scatter(issue, tensor, values, states, lanes)
    else:
        count = _place(issue, tensor, values, states, lanes)
    if memory.life.block_bytes:
        _use_blocks(issue, tensor)
    nbytes = count * tensor.dtype.itemsize
    issue.masked_off += tensor.size - count
    if memory.space == "hbm":
        issue.device_bytes += nbytes
        _note(issue, tensor, count, lanes)
        if states is not None:
            _stored_garbage(issue, tensor, states, lanes)
    else:
        issue.chip_bytes += nbytes


def _place(
    issue: "Issue",
    tensor: Tensor,
    values: NDArray[Any],
    states: NDArray[np.uint8] | None,
    lanes: NDArray[np.bool_] | None,
) -> int:
    """Write to a view of plain strides; give the number of elements written."""
    memory = tensor.memory
    target = tensor.array()
    sharing.note_write(issue, tensor, None, lanes, lambda: differs(target, values))
    kept = None
    if memory.states is not None or states is not None:
        kept = tensor.of_elements(memory.state_array())
        if kept.shape != target.shape:  # another width: what it covers counts as defined
            kept[...] = DEFINED
            kept = None
    if lanes is None or lanes.all():
        tensor.put(values)
        if kept is not None:
            kept[...] = DEFINED if states is None else states
            _forget_states(memory, tensor)
        return tensor.size
    where = np.broadcast_to(lanes, target.shape)
    tensor.put(values, where)
    if kept is not None:
        np.copyto(kept, np.uint8(DEFINED) if states is None else states, where=where)
    return int(where.sum())


def _forget_states(memory: Memory, tensor: Tensor) -> None:
    """A memory that was written whole and is defined needs no states any more."""
    whole = tensor.size * tensor.dtype.itemsize == memory.raw.size
    if whole and memory.states is not None and memory.states.min() == DEFINED:
        memory.states = None


def _fitted(tensor: Tensor, values: NDArray[Any]) -> NDArray[Any]:
    shape = tensor.shape
    if values.shape == shape:
        return values
    if values.size == tensor.size:
        return values.reshape(shape)
    try:
        return np.broadcast_to(values, shape)
    except ValueError:
        raise NkiError(f"{values.shape} cannot be written to a view of {shape}") from None


def _stored_garbage(
    issue: "Issue",
    tensor: Tensor,
    states: NDArray[np.uint8],
    lanes: NDArray[np.bool_] | None,
) -> None:
    garbage = states < DEFINED
    if lanes is not None:
        garbage = garbage & lanes
    count = int(garbage.sum())
    if not count:
        return
    lane = tuple(int(place) for place in np.argwhere(garbage)[0])
    text = f"{count} lanes without a value are stored to {called(tensor)}"
    argument = tensor.memory.argument
    issue.find(UNDEFINED_LANES, text, access="store", lane=lane, lanes=count, argument=argument)
