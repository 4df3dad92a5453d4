"""Evaluation of graphs with NumPy: one meaning per opcode, values freed after their last use."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from kvtrace.addons.graphs.hlo.dtypes import native
from kvtrace.addons.graphs.hlo.errors import RefusedMutation, SignatureMismatch, UnsupportedFunction
from kvtrace.addons.graphs.hlo.graph import Graph
from kvtrace.addons.graphs.hlo.meanings import COLLECTIVES, MEANINGS, body_arguments, load
from kvtrace.addons.graphs.hlo.op import Op

Array = np.ndarray[Any, Any]


def evaluate(graph: Graph, arrays: Sequence[Any]) -> tuple[Array, ...]:
    """Return every output of a graph, given its inputs.

    A graph with collectives is evaluated as if all replicas had these inputs.

    Raises:
        SignatureMismatch: the arrays do not fit the inputs.

    """
    if graph.num_replicas > 1:
        return evaluate_replicas(graph, [arrays] * graph.num_replicas)[0]
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


def evaluate_replicas(graph: Graph, arrays: Sequence[Sequence[Any]]) -> list[tuple[Array, ...]]:
    """Return every output of each replica, given the inputs of each replica.

    Raises:
        SignatureMismatch: the arrays do not fit the inputs, or too few replicas are given.

    """
    load()
    if len(arrays) < graph.num_replicas:
        raise SignatureMismatch(
            f"the graph {graph.name} is for {graph.num_replicas} replicas, but inputs of "
            f"{len(arrays)} are given."
        )
    checked = [_checked(graph, inputs) for inputs in arrays]
    with np.errstate(all="ignore"):
        return _evaluate_in_step(graph, checked)


def _evaluate_in_step(graph: Graph, arrays: Sequence[Sequence[Any]]) -> list[tuple[Array, ...]]:
    """Evaluate each op for all replicas before the next op."""
    values: list[list[Any]] = [
        [*replica, *[None] * (len(graph.ops) - graph.input_count)] for replica in arrays
    ]
    for index in range(graph.input_count, len(graph.ops)):
        op = graph.ops[index]
        operands = [[replica[operand] for operand in op.operands] for replica in values]
        for replica, result in zip(values, _results(op, operands), strict=True):
            replica[index] = result
    return [tuple(replica[index] for index in graph.output_indices) for replica in values]


def _results(op: Op, operands: list[list[Any]]) -> list[Any]:
    """Return one op's result on each replica."""
    collective = COLLECTIVES.get(op.opcode)
    if collective is not None:
        results: list[Any] = collective(op, operands)
        return results
    bodies = op.graphs or {}
    if not any(body.num_replicas > 1 for body in bodies.values()):
        return [_result(op, replica) for replica in operands]
    if op.opcode == "if":
        role = "true" if _common_choice([replica[0] for replica in operands]) else "false"
        return list(
            _evaluate_in_step(
                bodies[role], [body_arguments(op, role, replica) for replica in operands]
            )
        )
    count = op.attributes["carried"]
    state = [list(replica) for replica in operands]
    while _common_choice(
        [
            out[0]
            for out in _evaluate_in_step(
                bodies["condition"], [body_arguments(op, "condition", replica) for replica in state]
            )
        ]
    ):
        ends = _evaluate_in_step(
            bodies["body"], [body_arguments(op, "body", replica) for replica in state]
        )
        for replica, end in zip(state, ends, strict=True):
            replica[:count] = end
    return [tuple(replica[:count]) for replica in state]


def _common_choice(choices: Sequence[Any]) -> bool:
    if len({bool(choice) for choice in choices}) != 1:
        raise SignatureMismatch(
            "replicas take different branches around a collective, for which all of them wait."
        )
    return bool(choices[0])


def _result(op: Op, operands: list[Any]) -> Any:
    if op.opcode == "get_tuple_element":
        return operands[0][op.attributes["index"]]
    meaning = MEANINGS.get(op.opcode)
    if meaning is None and op.opcode in COLLECTIVES:  # in a graph for one replica
        return COLLECTIVES[op.opcode](op, [operands])[0]
    if meaning is None:
        raise UnsupportedFunction(
            f"the op {op.opcode} cannot be evaluated with NumPy; its meaning belongs into "
            "kvtrace/addons/graphs/hlo/meanings."
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
    _check_written(graph, arrays)
    # An output may be the old value of an input that is written to, so all are copied first.
    results = [np.array(result) for result in evaluate(graph, arrays)]
    positions = {spec.name: number for number, spec in enumerate(graph.inputs)}
    aliases = graph.aliases
    for number, spec in enumerate(graph.outputs):
        aliased = aliases.get(spec.name)
        target = None if aliased is None else arrays[positions[aliased]]
        if isinstance(target, np.ndarray):
            target[...] = results[number]
            results[number] = target
    return structured(graph.structure, results)


def _check_written(graph: Graph, arrays: Sequence[Any]) -> None:
    """Refuse writes to read-only arrays, or to arrays that share memory with another input."""
    written = set(graph.aliases.values())
    if not written:
        return
    extents = []
    for spec, array in zip(graph.inputs, arrays, strict=False):
        if not isinstance(array, np.ndarray):
            continue
        if spec.name in written and not array.flags.writeable:
            raise RefusedMutation.here(
                f"{graph.name} writes to {spec.name}, and its array is read-only; pass a copy()"
            )
        if array.size:
            extents.append((*_bounds(array), spec.name, array))
    extents.sort(key=lambda extent: extent[:2])
    earlier: list[tuple[int, str, Array]] = []
    for begin, end, name, array in extents:
        earlier = [extent for extent in earlier if extent[0] > begin]
        for _, other, memory in earlier:
            if (name in written or other in written) and np.shares_memory(array, memory):
                first, second = (name, other) if name in written else (other, name)
                raise RefusedMutation.here(
                    f"{graph.name} writes to {first}, whose array shares memory with that of "
                    f"{second}, which a graph cannot follow; pass a copy() of one"
                )
        earlier.append((end, name, array))


def _bounds(array: Array) -> tuple[int, int]:
    """Return the addresses of an array's first byte, and of the byte after its last."""
    address = int(array.__array_interface__["data"][0])
    steps = [(n - 1) * step for n, step in zip(array.shape, array.strides, strict=True)]
    first = address + sum(step for step in steps if step < 0)
    return first, address + sum(step for step in steps if step > 0) + array.itemsize


def structured(structure: Any, leaves: Sequence[Any]) -> Any:
    """Return a structure with its `Leaf` numbers replaced by leaves."""
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
    """The number of an output within a function's return value."""

    __slots__ = ("number",)

    def __init__(self, number: int) -> None:
        self.number = number
