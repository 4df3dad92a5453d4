"""Evaluation of graphs with NumPy: one meaning per opcode, values freed after their last use."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from kvtrace.addons.graphs.hlo.dtypes import native
from kvtrace.addons.graphs.hlo.errors import RefusedMutation, SignatureMismatch, UnsupportedFunction
from kvtrace.addons.graphs.hlo.graph import Graph
from kvtrace.addons.graphs.hlo.meanings import MEANINGS, load
from kvtrace.addons.graphs.hlo.op import Op
from kvtrace.addons.graphs.hlo.structures import structured

Array = np.ndarray[Any, Any]


def evaluate(graph: Graph, arrays: Sequence[Any]) -> tuple[Array, ...]:
    """Return every output of a graph for input arrays, which stay unchanged.

    Raises:
        SignatureMismatch: the arrays do not fit the inputs.

    """
    load()
    values_by_op: list[Any] = [None] * len(graph.ops)
    values_by_op[: graph.input_count] = _checked_inputs(graph, arrays)
    last_use = _last_uses(graph)
    with np.errstate(all="ignore"):
        for index in range(graph.input_count, len(graph.ops)):
            op = graph.ops[index]
            values_by_op[index] = _op_result(op, [values_by_op[operand] for operand in op.operands])
            for operand in op.operands:
                if last_use[operand] == index:
                    values_by_op[operand] = None
    return tuple(values_by_op[index] for index in graph.output_indices)


def _op_result(op: Op, operands: list[Any]) -> Any:
    if op.opcode == "get_tuple_element":
        return operands[0][op.attributes["index"]]
    meaning = MEANINGS.get(op.opcode)
    if meaning is None:
        raise UnsupportedFunction(
            f"the op {op.opcode} cannot be evaluated with NumPy; its meaning belongs into "
            "kvtrace/addons/graphs/hlo/meanings."
        )
    return meaning(op, *operands)


def _last_uses(graph: Graph) -> list[int]:
    last_use = list(range(len(graph.ops)))
    for index, op in enumerate(graph.ops):
        for operand in op.operands:
            last_use[operand] = index
    for index in graph.output_indices:
        last_use[index] = len(graph.ops)
    return last_use


def _checked_inputs(graph: Graph, arrays: Sequence[Any]) -> list[Array]:
    inputs = graph.inputs
    if len(arrays) != len(inputs):
        raise SignatureMismatch(
            f"the graph {graph.name} has {len(inputs)} inputs, but {len(arrays)} arrays are given."
        )
    checked = []
    for spec, value in zip(inputs, arrays, strict=True):
        array = np.asarray(value)
        if not array.dtype.isnative:
            array = array.astype(native(array.dtype))
        if array.shape != spec.shape or array.dtype != spec.dtype:
            raise SignatureMismatch(
                f"the input {spec.name} of the graph {graph.name} is {spec.dtype.name}"
                f"{list(spec.shape)}, but {array.dtype.name}{list(array.shape)} is given."
            )
        checked.append(array)
    return checked


def run(graph: Graph, arrays: Sequence[Any]) -> Any:
    """Run the traced function: write outputs that alias inputs, and return the function's result.

    Raises:
        SignatureMismatch: the arrays do not fit the inputs.
        RefusedMutation: An array that is written to is read-only, or shares memory with another.

    """
    _check_written_arrays(graph, arrays)
    # An output may be the old value of an input that is written to, so all are copied first.
    results = [np.array(result) for result in evaluate(graph, arrays)]
    input_positions = {spec.name: position for position, spec in enumerate(graph.inputs)}
    aliases = graph.aliases
    for position, spec in enumerate(graph.outputs):
        written_input = aliases.get(spec.name)
        target = None if written_input is None else arrays[input_positions[written_input]]
        if isinstance(target, np.ndarray):
            target[...] = results[position]
            results[position] = target
    return structured(graph.structure, results)


def _check_written_arrays(graph: Graph, arrays: Sequence[Any]) -> None:
    """Raise an error if a written array is read-only, or shares memory with another input."""
    written = set(graph.aliases.values())
    if not written:
        return
    ranges = []
    for spec, array in zip(graph.inputs, arrays, strict=False):
        if not isinstance(array, np.ndarray):
            continue
        if spec.name in written and not array.flags.writeable:
            raise RefusedMutation.here(
                f"{graph.name} writes to {spec.name}, and its array is read-only; pass a copy()"
            )
        if array.size:
            ranges.append((*_bounds(array), spec.name, array))
    ranges.sort(key=lambda one_range: one_range[:2])
    overlapping: list[tuple[int, str, Array]] = []
    for begin, end, name, array in ranges:
        overlapping = [one_range for one_range in overlapping if one_range[0] > begin]
        for _, other_name, other_array in overlapping:
            if (name in written or other_name in written) and np.shares_memory(array, other_array):
                written_name, sharing_name = (
                    (name, other_name) if name in written else (other_name, name)
                )
                raise RefusedMutation.here(
                    f"{graph.name} writes to {written_name}, whose array shares memory with that "
                    f"of {sharing_name}, which a graph cannot follow; pass a copy() of one"
                )
        overlapping.append((end, name, array))


def _bounds(array: Array) -> tuple[int, int]:
    """Return the address of an array's first byte, and the address after its last byte."""
    address = int(array.__array_interface__["data"][0])
    spans = [(n - 1) * step for n, step in zip(array.shape, array.strides, strict=True)]
    first_address = address + sum(step for step in spans if step < 0)
    return first_address, address + sum(step for step in spans if step > 0) + array.itemsize
