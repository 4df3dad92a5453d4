"""Reads and writes of views by ops, with checks of bounds and unwritten elements."""

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Final

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from kvtrace.addons.neuron import dtypes
from kvtrace.addons.neuron.errors import NkiError
from kvtrace.addons.neuron.findings import MEMORY_SPACE
from kvtrace.addons.neuron.memory import Memory, size_of
from kvtrace.addons.neuron.selections import (
    broadcast_mask,
    gather,
    report_unwritten,
    scatter,
)
from kvtrace.addons.neuron.tensors import Tensor

if TYPE_CHECKING:
    from kvtrace.addons.neuron.operations import Issue, Result


class Values(Struct, eq=False):
    """An operand's values, element type and memory space."""

    values: NDArray[Any]
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
        """Return the operand with its values moved by a function of arrays."""
        return Values(function(self.values), self.dtype, self.space)

    def reshaped(self, *shape: int) -> "Values":
        """Return the operand in another shape of the same size, as `numpy.reshape`."""
        return self.moved(lambda array: array.reshape(shape))

    def as_matrix(self) -> "Values":
        """Return a tile's values in shape (partitions, free elements)."""
        return self if self.values.ndim == 2 else self.reshaped(self.values.shape[0], -1)


_FLOAT: Final = dtypes.float32


def number_operand(operand: Any) -> Values:
    """Return a Python or NumPy number as an operand without dimensions.

    Raises:
        NkiError: the operand is neither a tensor nor a number.
    """
    if type(operand) is float:
        return Values(np.asarray(operand, np.float32), _FLOAT)
    if isinstance(operand, bool | np.bool_):
        return Values(np.asarray(bool(operand)), dtypes.bool_)
    if isinstance(operand, int | np.integer):
        return Values(np.asarray(int(operand), np.int64), _number_type(operand, dtypes.int32))
    if isinstance(operand, float | np.floating) or _is_scalar_array(operand):
        return Values(np.asarray(float(operand), np.float32), _number_type(operand, _FLOAT))
    raise NkiError(f"an operand must be a tile or a number, not {type(operand).__name__}")


def _number_type(operand: Any, default: np.dtype[Any]) -> np.dtype[Any]:
    """Return a NumPy number's type if NKI has the type, else the default."""
    dtype = getattr(operand, "dtype", default)
    return dtype if dtype in dtypes.SHORT else default


def _is_scalar_array(operand: Any) -> bool:
    return getattr(operand, "ndim", None) == 0 and hasattr(operand, "dtype")


def read(issue: "Issue", tensor: Tensor, lanes: NDArray[np.bool_] | None) -> Values:
    """Return a view's values; count bytes; report bounds and unwritten elements."""
    memory = tensor.memory
    _record_use(issue, memory)
    issue.read_buffers.append(memory.number)
    if tensor.selection is not None:
        values, count = gather(issue, tensor, lanes)
    else:
        values = tensor.array()
        count = tensor.size if lanes is None else int(broadcast_mask(lanes, tensor.shape).sum())
        if memory.written_elements is not None:
            report_unwritten(issue, tensor, tensor.per_element(memory.written_elements), lanes)
    _record_bytes(issue, tensor, count, lanes)
    if tensor.on_chip and values.ndim == 1:
        values = values.reshape(-1, 1)
    return Values(values, tensor.dtype, memory.space)


def _record_bytes(
    issue: "Issue", tensor: Tensor, count: int, lanes: NDArray[np.bool_] | None
) -> None:
    """Record that an op accesses so many elements of a view, and their memory."""
    if tensor.memory.life.block_bytes:
        _record_block_use(issue, tensor)
    nbytes = count * tensor.dtype.itemsize
    if tensor.memory.space == "hbm":
        issue.device_bytes += nbytes
        _record_device_access(issue, tensor, lanes)
    else:
        issue.chip_bytes += nbytes


def _record_device_access(issue: "Issue", tensor: Tensor, lanes: NDArray[np.bool_] | None) -> None:
    """Record the argument that an op accesses in device memory, and mark the elements."""
    memory, recorder = tensor.memory, issue.run.recorder
    recorder.sites[issue.site].argument = memory.argument or memory.life.name
    if tensor.dtype.itemsize == memory.dtype.itemsize:
        elements = memory.raw.size // tensor.dtype.itemsize
        marks = recorder.touched_elements(issue.site, memory.number, elements)
        if tensor.selection is not None:
            marks[issue.positions] = 1
        else:
            view = tensor.per_element(marks)
            np.copyto(view, 1, where=True if lanes is None else np.broadcast_to(lanes, view.shape))


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


def write(issue: "Issue", tensor: Tensor, result: "Result") -> None:
    """Write a result to a view, reshaped or broadcast; count bytes, and report violations."""
    memory = tensor.memory
    values = dtypes.rounded(_to_shape(tensor, result.values), tensor.dtype)
    _record_use(issue, memory)
    lanes = result.mask
    if tensor.selection is not None:
        written_count = scatter(issue, tensor, values, lanes)
    else:
        written_count = _write_strided(tensor, values, lanes)
    issue.masked_off += tensor.size - written_count
    _record_bytes(issue, tensor, written_count, lanes)


def _write_strided(tensor: Tensor, values: NDArray[Any], lanes: NDArray[np.bool_] | None) -> int:
    """Write to a view without a selection; return the number of elements written."""
    memory = tensor.memory
    where = True if lanes is None or lanes.all() else np.broadcast_to(lanes, tensor.shape)
    tensor.put(values, where)
    if memory.written_elements is not None:
        written = tensor.per_element(memory.written_elements)
        if written.shape == tensor.shape:
            np.copyto(written, True, where=where)
        else:  # another width
            written[...] = True
        if memory.written_elements.all():
            memory.written_elements = None
    return tensor.size if where is True else int(np.count_nonzero(where))


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
