"""Graphs evaluated with NumPy: one meaning per opcode, values freed after their last use."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from kvtrace.hlo.errors import SignatureMismatch, UnsupportedFunction
from kvtrace.hlo.graph import Graph, Op
from kvtrace.hlo.meanings import MEANINGS, load

Array = np.ndarray[Any, Any]


def evaluate(graph: Graph, arrays: Sequence[Any]) -> tuple[Array, ...]:
    """Give every output of a graph, given its inputs.

    Raises:
        SignatureMismatch: the arrays do not fit the inputs.

    """
    if not MEANINGS:
        load()
    values: list[Any] = [None] * len(graph.ops)
    values[: graph.input_count] = _checked(graph, arrays)
    last_use = _last_uses(graph)
    with np.errstate(all="ignore"):
        for index in range(graph.input_count, len(graph.ops)):
            op = graph.ops[index]
            values[index] = _result(op, [values[operand] for operand in op.operands])
            for operand in op.operands:
                if last_use[operand] == index:
                    values[operand] = None
    return tuple(values[index] for index in graph.output_indices)


def _result(op: Op, operands: list[Any]) -> Any:
    if op.opcode == "get_tuple_element":
        return operands[0][op.attributes["index"]]
    meaning = MEANINGS.get(op.opcode)
    if meaning is None:
        raise UnsupportedFunction(
            f"the op {op.opcode} cannot be evaluated with NumPy; its meaning belongs into "
            "kvtrace/hlo/meanings."
        )
    return meaning(op, *operands)


def _last_uses(graph: Graph) -> list[int]:
    last = list(range(len(graph.ops)))
    for index, op in enumerate(graph.ops):
        for operand in op.operands:
            last[operand] = index
    for index in graph.output_indices:
        last[index] = len(graph.ops)
    return last


def _checked(graph: Graph, arrays: Sequence[Any]) -> list[Array]:
    inputs = graph.inputs
    if len(arrays) != len(inputs):
        raise SignatureMismatch(
            f"the graph {graph.name} has {len(inputs)} inputs, and {len(arrays)} arrays are given."
        )
    checked = []
    for spec, given in zip(inputs, arrays, strict=True):
        array = np.asarray(given)
        if array.shape != spec.shape or array.dtype != spec.dtype:
            raise SignatureMismatch(
                f"the input {spec.name} of the graph {graph.name} is {spec.dtype.name}"
                f"{list(spec.shape)}, and {array.dtype.name}{list(array.shape)} is given."
            )
        checked.append(array)
    return checked


def run(graph: Graph, arrays: Sequence[Any]) -> Any:
    """Do what the traced function does: write outputs that alias inputs, give what it returns.

    Raises:
        SignatureMismatch: the arrays do not fit the inputs.

    """
    # An output may be an input as it was before it is written to, so all are copied first.
    results = [np.array(result) for result in evaluate(graph, arrays)]
    places = {spec.name: number for number, spec in enumerate(graph.inputs)}
    aliases = graph.aliases
    for number, spec in enumerate(graph.outputs):
        aliased = aliases.get(spec.name)
        target = None if aliased is None else arrays[places[aliased]]
        if isinstance(target, np.ndarray) and target.flags.writeable:
            target[...] = results[number]
            results[number] = target
    return structured(graph.structure, results)


def structured(structure: Any, leaves: Sequence[Any]) -> Any:
    """What a function returns, of the numbers of its outputs and the outputs."""
    if isinstance(structure, Leaf):
        return leaves[structure.number]
    if isinstance(structure, dict):
        return {key: structured(value, leaves) for key, value in structure.items()}
    if isinstance(structure, tuple | list):
        items = [structured(value, leaves) for value in structure]
        if hasattr(structure, "_fields"):
            return type(structure)(*items)
        return type(structure)(items)
    return structure


class Leaf:
    """The place of an output in what a function returns."""

    __slots__ = ("number",)

    def __init__(self, number: int) -> None:
        self.number = number
