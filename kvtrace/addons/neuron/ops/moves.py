"""Data movement between memories: loads, stores, copies and fills."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from kvtrace.addons.neuron import access, dtypes, selections
from kvtrace.addons.neuron.errors import NkiError
from kvtrace.addons.neuron.findings import MEMORY_SPACE
from kvtrace.addons.neuron.indices import Index, Mask, lanes_of
from kvtrace.addons.neuron.machine import current
from kvtrace.addons.neuron.operations import Issue, Result, UnrecordedIssue, operation
from kvtrace.addons.neuron.tensors import Tensor
from kvtrace.addons.neuron.tokens import TOKENS

Array = NDArray[Any]


@operation("nl.load", engine="dma", kind="load")
def load(issue: Issue, src: Any, *, mask: Any = None, dtype: Any = None) -> Result:
    """Return a new tile in SBUF with a tensor of device memory; masked-off lanes are garbage."""
    if not isinstance(src, Tensor):
        raise NkiError(f"nl.load needs a tensor in device memory, not {type(src).__name__}")
    if src.on_chip:
        issue.report(MEMORY_SPACE, "nl.load reads a tile that is on chip already; use nl.copy")
    source = issue.read(src, mask, device=True)
    return issue.result(source.values, dtype, source, mask=mask)


@operation("nl.store", engine="dma", kind="store")
def store(issue: Issue, dst: Any, value: Any, *, mask: Any = None) -> Result:
    """Store the active lanes of a tile or a number to `dst` in device memory."""
    if not isinstance(dst, Tensor) or dst.on_chip:
        raise NkiError("nl.store writes to a tensor in device memory; assign to a tile on chip")
    value_mask = mask
    if isinstance(value, Tensor):
        value_mask = selections.lanes_within(mask, dst.shape, value.shape)
    source = issue.read(value, value_mask)
    issue.destination = dst
    return issue.result(source.values, dst.dtype, source, mask=mask)


@operation("nisa.dma_copy", engine="dma", kind="other")
def dma_copy(
    issue: Issue,
    dst: Any,
    src: Any,
    priority: Any = None,
    dge_mode: Any = None,
    engine: Any = None,
    *,
    mask: Any = None,
    unique_indices: Any = None,
    name: Any = None,
) -> Result:
    """Copy `src` to `dst`."""
    del priority, dge_mode, engine, unique_indices, name
    if not isinstance(dst, Tensor) or not isinstance(src, Tensor):
        raise NkiError("src and dst of nisa.dma_copy must be tensors")
    issue.classify_copy(src, dst)
    if "psum" in (src.memory.space, dst.memory.space):
        issue.report(MEMORY_SPACE, "nisa.dma_copy moves between device memory and SBUF, not PSUM")
    source = issue.read(src, mask, device=True)
    issue.destination = dst
    if source.values.size != dst.size:
        raise NkiError(f"nisa.dma_copy copies {src.shape} to {dst.shape}: the sizes differ")
    return issue.result(source.values, dst.dtype, source, mask=mask)


@operation("nl.copy", engine="vector", kind="other")
def copy(issue: Issue, src: Any, *, mask: Any = None, dtype: Any = None) -> Result:
    """Return a copy of a tile, by default in its type, as a new tile in SBUF."""
    source = issue.read(src, mask)
    return issue.result(source.values, dtype, source, mask=mask)


TOKENS["copy"].execute = copy.older


@operation("nisa.tensor_copy", engine="vector", kind="other")
def tensor_copy(
    issue: Issue, src: Any, *, mask: Any = None, dtype: Any = None, engine: Any = None
) -> Result:
    """Return the elements of a tile on chip; a destination must have the size of the source."""
    issue.choose_engine(engine)
    source = issue.read(src, mask)
    if issue.destination is not None and issue.destination.size != source.values.size:
        raise NkiError(
            f"nisa.tensor_copy copies {source.values.shape} to {issue.destination.shape}: "
            "the sizes differ"
        )
    return issue.result(source.values, dtype, source, mask=mask)


@operation("nisa.memset", engine="vector", kind="other")
def memset(
    issue: Issue, shape: Any, value: Any, dtype: Any, *, mask: Any = None, engine: Any = None
) -> Result:
    """Return a new tile filled with a number."""
    issue.choose_engine(engine)
    element_type = dtypes.as_dtype(dtype)
    return issue.result(np.full(tuple(shape), value, element_type), element_type, mask=mask)


@operation("nisa.memset", engine="vector", kind="other")
def memset_into(issue: Issue, value: Any, engine: Any = None) -> Result:
    """Return the destination's elements all set to a number."""
    issue.choose_engine(engine)
    destination = issue.destination
    assert destination is not None
    return issue.result(np.full(destination.shape, value, destination.dtype), destination.dtype)


@operation("nisa.iota", engine="gpsimd", kind="other")
def iota(issue: Issue, expr: Any, dtype: Any, *, mask: Any = None) -> Result:
    """Return a new tile with the integers of an index expression."""
    if not isinstance(expr, Index):
        raise NkiError("nisa.iota needs an index expression, as nl.arange(128)[:, None]")
    return issue.result(expr.values, dtype, mask=mask)


@operation("nisa.affine_select", engine="gpsimd", kind="elementwise")
def affine_select(
    issue: Issue,
    pred: Any,
    on_true_tile: Any,
    on_false_value: Any,
    *,
    mask: Any = None,
    dtype: Any = None,
) -> Result:
    """Return a tile's elements where a comparison of index expressions is true, else a number."""
    tile = issue.read(on_true_tile, mask)
    if not isinstance(pred, Mask | bool | np.bool_):
        raise NkiError("pred of nisa.affine_select must compare index expressions")
    lanes = np.broadcast_to(lanes_of(pred), tile.values.shape)
    values = np.where(lanes, tile.computed(), np.float32(on_false_value))
    return issue.result(values, dtype, tile, mask=mask)


@operation("assignment", engine="vector", kind="other")
def assign(issue: Issue, destination: Any, value: Any) -> Result:
    """Copy `value` to `destination`, a part of a tile, as `tile[...] = value`."""
    source = issue.read(value)
    issue.destination = destination
    return issue.result(source.values, destination.dtype, source)


def is_last_result(value: Tensor) -> bool:
    """Return whether a tensor is the whole result of the last op."""
    recorder = current().recorder
    is_whole = value.memory.life.bytes == value.size * value.itemsize
    return is_whole and 0 <= value.memory.producer_order == recorder.count - 1


def put(target: Tensor, value: Any) -> None:
    """Write a value to a part of a tile; the last op's result is written without a copy."""
    if isinstance(value, Tensor) and is_last_result(value):
        redirect_last_result(target, value)
    else:
        assign.older(target, value)


def redirect_last_result(target: Tensor, value: Tensor, add: bool = False) -> None:
    """Write the last op's result to `target`, as if the op had had no separate tile.

    Masked-off lanes of `target` do not change. With `add` the result is added to `target`: products
    accumulate in PSUM.
    """
    run = current()
    issue = UnrecordedIssue(assign, run, None).begun()
    values = access.read(issue, value, None).values
    if add:
        values = _added(issue, target, values)
    lanes = value.memory.produced_lanes
    if lanes is not None and value.itemsize == value.memory.dtype.itemsize:
        lanes = np.ascontiguousarray(value.per_element(lanes))
        lanes = lanes.reshape(target.shape) if lanes.size == target.size else lanes
    access.write(issue, target, Result(values, target.dtype, "sbuf", lanes))
    run.recorder.elide_buffer(
        value.memory.producer_order, value.memory.number, target.memory.number
    )


def _added(issue: Issue, target: Tensor, values: Array) -> Array:
    """Return a product added to a tile, whose unwritten elements count as zero."""
    values = values.reshape(target.shape)
    if target.selection is not None:
        return access.read(issue, target, None).computed() + values
    total = dtypes.computed(target.array()) + values
    if target.memory.written_elements is None:
        return total
    return np.where(target.per_element(target.memory.written_elements), total, values)
