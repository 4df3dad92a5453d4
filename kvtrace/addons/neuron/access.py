"""Reads and writes of views by ops, with checks of bounds, races and undefined elements."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

import numpy as np
from numpy.typing import NDArray

from kvtrace.addons.neuron import dtypes, sharing
from kvtrace.addons.neuron.errors import NkiError
from kvtrace.addons.neuron.findings import MEMORY_SPACE, UNDEFINED_LANES, UNINITIALIZED
from kvtrace.addons.neuron.memory import DEFINED, GARBAGE, NEVER_WRITTEN, Memory, size_of
from kvtrace.addons.neuron.recorder import AccessRow
from kvtrace.addons.neuron.selections import (
    broadcast_mask,
    describe,
    differing_elements,
    gather,
    scatter,
)
from kvtrace.addons.neuron.tensors import Tensor

if TYPE_CHECKING:
    from kvtrace.addons.neuron.operations import Issue, Result


@dataclass(slots=True, eq=False)
class Values:
    """An operand's values, element states (None: all defined), element type and memory space."""

    values: NDArray[Any]
    states: NDArray[np.uint8] | None
    dtype: np.dtype[Any]
    #: hbm, sbuf or psum; empty for a plain number.
    space: str = ""

    @property
    def is_number(self) -> bool:
        """The operand is a plain number of the program, not a tensor."""
        return not self.space

    def computed(self) -> NDArray[Any]:
        """Return the values as float32, in which engines compute."""
        return dtypes.computed(self.values)

    def moved(self, function: Callable[[NDArray[Any]], NDArray[Any]]) -> "Values":
        """Return the operand with values and states moved by a function of arrays."""
        states = None if self.states is None else function(self.states)
        return Values(function(self.values), states, self.dtype, self.space)

    def reshaped(self, *shape: int) -> "Values":
        """Return the operand in another shape of the same size, as `numpy.reshape`."""
        return self.moved(lambda array: array.reshape(shape))

    def as_matrix(self) -> "Values":
        """Return a tile's values and states in shape (partitions, free elements)."""
        return self if self.values.ndim == 2 else self.reshaped(self.values.shape[0], -1)


_FLOAT: Final = dtypes.float32


def number_operand(operand: Any) -> Values:
    """Return a Python or NumPy number as an operand without dimensions or states.

    Raises:
        NkiError: the operand is neither a tensor nor a number.
    """
    if type(operand) is float:
        return Values(np.asarray(operand, np.float32), None, _FLOAT)
    if isinstance(operand, bool | np.bool_):
        return Values(np.asarray(bool(operand)), None, dtypes.bool_)
    if isinstance(operand, int | np.integer):
        return Values(np.asarray(int(operand), np.int64), None, _number_type(operand, dtypes.int32))
    if isinstance(operand, float | np.floating) or _is_scalar_array(operand):
        return Values(np.asarray(float(operand), np.float32), None, _number_type(operand, _FLOAT))
    raise NkiError(f"an operand must be a tile or a number, not {type(operand).__name__}")


def _number_type(operand: Any, default: np.dtype[Any]) -> np.dtype[Any]:
    """Return a NumPy number's type if NKI has the type, else the default."""
    dtype = getattr(operand, "dtype", default)
    return dtype if dtype in dtypes.SHORT else default


def _is_scalar_array(operand: Any) -> bool:
    return getattr(operand, "ndim", None) == 0 and hasattr(operand, "dtype")


def read(issue: "Issue", tensor: Tensor, lanes: NDArray[np.bool_] | None) -> Values:
    """Return a view's values; count bytes; report bounds, races and unwritten elements."""
    memory = tensor.memory
    _record_use(issue, memory)
    issue.read_buffers.append(memory.number)
    if tensor.selection is not None:
        values, states, count = gather(issue, tensor, lanes)
    else:
        values = tensor.array()
        count = tensor.size if lanes is None else int(broadcast_mask(lanes, tensor.shape).sum())
        states = None if memory.states is None else tensor.per_element(memory.states)
        sharing.note_read(issue, tensor, None, lanes)
    if memory.life.block_bytes:
        _record_block_use(issue, tensor)
    nbytes = count * tensor.dtype.itemsize
    if memory.space == "hbm":
        issue.device_bytes += nbytes
        _record_device_access(issue, tensor, count, lanes)
    else:
        issue.chip_bytes += nbytes
    if states is not None:
        states = _report_uninitialized(issue, tensor, states, lanes)
    if tensor.on_chip and values.ndim == 1:
        values = values.reshape(-1, 1)
        states = None if states is None else states.reshape(-1, 1)
    return Values(values, states, tensor.dtype, memory.space)


def _record_device_access(
    issue: "Issue", tensor: Tensor, count: int, lanes: NDArray[np.bool_] | None
) -> None:
    """Record the byte range that an op accesses in device memory; mark the elements."""
    element_bytes = tensor.dtype.itemsize
    memory = tensor.memory
    shape: tuple[int, ...] = ()
    byte_steps: tuple[int, ...] = ()
    if tensor.selection is None:
        shape, byte_steps = tensor.shape, tuple(step * element_bytes for step in tensor.strides)
        first_byte = last_byte = tensor.offset * element_bytes
        for size, step in zip(shape, byte_steps, strict=True):
            last_byte += step * (size - 1)
    elif count:
        positions = issue.positions
        first_byte, last_byte = (
            int(positions.min()) * element_bytes,
            int(positions.max()) * element_bytes,
        )
    else:
        return
    if element_bytes == memory.dtype.itemsize:
        element_marks = issue.run.recorder.touched_elements(
            issue.site, memory.number, memory.raw.size // element_bytes
        )
        selected = None if tensor.selection is None else issue.positions
        tensor.set_per_element(element_marks, 1, selected, lanes)
    loops = issue.run.loops
    issue.run.recorder.add_access(
        AccessRow(
            issue.site,
            issue.run.program,
            loops[-1].trip if loops else None,
            memory.argument or memory.life.name,
            first_byte,
            last_byte + element_bytes - 1,
            count,
            shape,
            byte_steps,
            issue.run.serial,
        )
    )


def _record_use(issue: "Issue", memory: Memory) -> None:
    """Record the op as last (and first) user of a buffer; report GpSimd's access to PSUM."""
    if memory.space == "psum" and issue.engine == "gpsimd" and issue.has_named_engine:
        issue.report(MEMORY_SPACE, f"{issue.operation.name} on GpSimd cannot reach PSUM")
    buffer_life = memory.life
    buffer_life.last = issue.order
    if buffer_life.first < 0:
        buffer_life.first = issue.order


def _record_block_use(issue: "Issue", tensor: Tensor) -> None:
    """Record the op as a user of each block between the first and last element of a view."""
    memory = tensor.memory
    element_bytes = tensor.dtype.itemsize
    if tensor.selection is None:
        first_element = last_element = tensor.offset
        for size, step in zip(tensor.shape, tensor.strides, strict=True):
            last_element += step * (size - 1)
    elif issue.positions.size:
        first_element, last_element = int(issue.positions.min()), int(issue.positions.max())
    else:
        return
    if not any(loop.parallel for loop in issue.run.loops):
        memory.life.reorderable = False
    block_bytes = size_of(memory.shape[memory.partition :]) * memory.dtype.itemsize
    for block_index in range(
        first_element * element_bytes // block_bytes,
        last_element * element_bytes // block_bytes + 1,
    ):
        memory.life.blocks.setdefault(block_index, [issue.order, 0])[1] = issue.order


def _report_uninitialized(
    issue: "Issue",
    tensor: Tensor,
    states: NDArray[np.uint8],
    lanes: NDArray[np.bool_] | None,
) -> NDArray[np.uint8] | None:
    """Report reads of unwritten elements; return the states, None if all are defined."""
    lowest_state = states.min() if states.size else DEFINED
    if lowest_state == DEFINED:
        return None
    if lowest_state > NEVER_WRITTEN:
        return states
    is_unwritten = states == NEVER_WRITTEN
    if lanes is not None:
        is_unwritten = is_unwritten & lanes
    count = int(is_unwritten.sum())
    if count:
        lane = tuple(int(index) for index in np.argwhere(is_unwritten)[0])
        message = (
            f"{issue.operation.name} reads {count} elements of {describe(tensor)} "
            "that were never written"
        )
        issue.report(UNINITIALIZED, message, access="load", lane=lane, lanes=count)
    return np.maximum(states, GARBAGE)


def combined_states(
    shape: tuple[int, ...], operands: tuple[Values, ...]
) -> NDArray[np.uint8] | None:
    """Return, per element, the lowest state of the operands; None if all are defined."""
    lowest_states: NDArray[np.uint8] | None = None
    for operand in operands:
        if operand.states is None:
            continue
        states = np.broadcast_to(operand.states, shape)
        lowest_states = states if lowest_states is None else np.minimum(lowest_states, states)
    return lowest_states


def write(issue: "Issue", tensor: Tensor, result: "Result") -> None:
    """Write a result to a view, reshaped or broadcast; count bytes, and report violations."""
    memory = tensor.memory
    values, states = _to_shape(tensor, result.values), None
    if result.states is not None:
        states = _to_shape(tensor, result.states)
    values = dtypes.rounded(values, tensor.dtype)
    _record_use(issue, memory)
    lanes = result.mask
    if tensor.selection is not None:
        written_count = scatter(issue, tensor, values, states, lanes)
    else:
        written_count = _write_strided(issue, tensor, values, states, lanes)
    if memory.life.block_bytes:
        _record_block_use(issue, tensor)
    nbytes = written_count * tensor.dtype.itemsize
    issue.masked_off += tensor.size - written_count
    if memory.space == "hbm":
        issue.device_bytes += nbytes
        _record_device_access(issue, tensor, written_count, lanes)
        if states is not None:
            _report_stored_garbage(issue, tensor, states, lanes)
    else:
        issue.chip_bytes += nbytes


def _write_strided(
    issue: "Issue",
    tensor: Tensor,
    values: NDArray[Any],
    states: NDArray[np.uint8] | None,
    lanes: NDArray[np.bool_] | None,
) -> int:
    """Write to a view without a selection; return the number of elements written."""
    memory = tensor.memory
    target = tensor.array()
    sharing.note_write(issue, tensor, None, lanes, lambda: differing_elements(target, values))
    states_view = None
    if memory.states is not None or states is not None:
        states_view = tensor.per_element(memory.state_array())
        if states_view.shape != target.shape:  # another width: all elements count as defined
            states_view[...] = DEFINED
            states_view = None
    if lanes is None or lanes.all():
        tensor.put(values)
        if states_view is not None:
            states_view[...] = DEFINED if states is None else states
            _drop_states(memory, tensor)
        return tensor.size
    written_lanes = np.broadcast_to(lanes, target.shape)
    tensor.put(values, written_lanes)
    if states_view is not None:
        np.copyto(states_view, np.uint8(DEFINED) if states is None else states, where=written_lanes)
    return int(written_lanes.sum())


def _drop_states(memory: Memory, tensor: Tensor) -> None:
    """Remove the states of a memory that a view covers whole, if all elements are defined."""
    is_complete = tensor.size * tensor.dtype.itemsize == memory.raw.size
    if is_complete and memory.states is not None and memory.states.min() == DEFINED:
        memory.states = None


def _to_shape(tensor: Tensor, values: NDArray[Any]) -> NDArray[Any]:
    shape = tensor.shape
    if values.shape == shape:
        return values
    if values.size == tensor.size:
        return values.reshape(shape)
    try:
        return np.broadcast_to(values, shape)
    except ValueError:
        raise NkiError(
            f"values of shape {values.shape} do not fit a view of shape {shape}"
        ) from None


def _report_stored_garbage(
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
    lane = tuple(int(index) for index in np.argwhere(garbage)[0])
    text = f"{count} lanes without a value are stored to {describe(tensor)}"
    argument = tensor.memory.argument
    issue.report(UNDEFINED_LANES, text, access="store", lane=lane, lanes=count, argument=argument)
