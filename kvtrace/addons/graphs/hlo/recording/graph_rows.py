"""Rows of recorded graphs: `graph_ops` as traced, `ops` with their figures."""

from collections.abc import Callable, Sequence
from math import prod
from typing import Any, Final

from kvtrace.addons.graphs.hlo.frames import user_locations
from kvtrace.addons.graphs.hlo.graph import Graph, constant_contents
from kvtrace.addons.graphs.hlo.op import Op
from kvtrace.capture.arguments import SHORT_NAMES
from kvtrace.capture.records import Frame
from kvtrace.schema.content import artifact_row, stack_id

#: Kinds of ops in the table `ops`; all others are elementwise.
_KINDS: Final = {
    "dot_general": "dot",
    "convolution": "dot",
    "reduce": "reduce",
    "reduce_window": "scan",
    "parameter": "load",
    "all_reduce": "other",
    "all_gather": "other",
    "reduce_scatter": "other",
    "all_to_all": "other",
    "collective_permute": "other",
    "custom_call": "other",
    "while": "other",
    "if": "other",
}


def short_name(dtype: Any) -> str:
    """Return an element type's name in tables other than `graph_ops`: fp32, i64."""
    name = str(dtype.name)
    return SHORT_NAMES.get(name, name)


def graph_columns(
    graph: Graph, graph_id: int, add_stack: Callable[[Sequence[Frame]], int]
) -> dict[str, Any]:
    """Return a graph's columns of `graph_ops`, bodies included; large constants are hashes."""
    ops = graph.rows(graph_id, constants_apart=True)
    return {
        "graph_id": [op.graph_id for op in ops],
        "op_index": [op.op_index for op in ops],
        "opcode": [op.opcode for op in ops],
        "operands": [list(op.operands) for op in ops],
        "dtype": [op.dtype for op in ops],
        "shape": [list(op.shape) for op in ops],
        "attributes": [dict(op.attributes) for op in ops],
        "stack_id": [add_stack(_frames(op.stack)) if op.stack else None for op in ops],
        "input_name": [op.input_name for op in ops],
        "output_name": [op.output_name for op in ops],
        "aliases": [op.aliases for op in ops],
    }


def _frames(stack: Sequence[Any]) -> list[Frame]:
    return [
        Frame(file or "", line, column, function or "") for file, line, column, function in stack
    ]


def constant_columns(graph: Graph, written: set[str]) -> dict[str, Any]:
    """Return columns of `artifacts` for large constants not in `written`; add their hashes."""
    rows = [artifact_row("tensor", content) for content in constant_contents(graph)]
    new_rows = {row["sha256"]: row for row in rows if row["sha256"] not in written}
    written.update(new_rows)
    names = ("sha256", "kind", "size_bytes", "bytes")
    return {name: [row[name] for row in new_rows.values()] for name in names}


def op_rows(graph: Graph, call_id: int) -> list[dict[str, Any]]:
    """Return a row of `ops` per op, and then a row per result of the graph, a store.

    Only loads and stores have bytes, as in a graph that is fused into one kernel: those of inputs
    and outputs. The bytes of each op by itself are in `Graph.figures`.
    """
    rows = []
    for index, (op, figures) in enumerate(zip(graph.ops, graph.figures().ops, strict=True)):
        row = _row(graph, op, call_id, index)
        row |= {"op": op.opcode, "kind": _KINDS.get(op.opcode, "elementwise")}
        row["flops"] = figures.flops
        if op.opcode == "parameter":
            row |= _bytes(op, op.input_name)
        rows.append(row)
    for output_index, index in enumerate(graph.output_indices):
        op = graph.ops[index]
        row = _row(graph, op, call_id, len(graph.ops) + output_index)
        row |= {"op": "output", "kind": "store", "flops": 0}
        rows.append(row | _bytes(op, op.aliases or op.output_name))
    return rows


def _row(graph: Graph, op: Op, call_id: int, index: int) -> dict[str, Any]:
    # The type of the computation is its operand's: a comparison does not compute in bool.
    dtype = graph.ops[op.operands[0]].dtype if op.operands else op.dtype
    return {
        "call_id": call_id,
        "op_index": index,
        "dtype": None if dtype is None else short_name(dtype),
        "stack_id": stack_id(user_locations(op.stack)) if op.stack else None,
        "executions": 1,
        "elements": prod(op.shape) if op.dtype is not None else 0,
        "masked_off": 0,
    }


def _bytes(op: Op, buffer: str | None) -> dict[str, Any]:
    assert op.dtype is not None
    nbytes = prod(op.shape) * op.dtype.itemsize
    return {"bytes": nbytes, "unique_bytes": nbytes, "buffer": buffer}
