"""`graph/<variant>`: the ops of a traced NumPy graph.

Ops, shapes and names were recorded while the function was traced; bytes, FLOPs and live memory are
derived from shapes (`kvtrace.addons.graphs.figures`). Bodies of loops and branches follow their
graph, each with the op that owns the body.
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import partial
from typing import Any, Final, TypedDict

import pyarrow as pa
import pyarrow.compute as pc

from kvtrace.addons.graphs.figures import byte_size, figures_of
from kvtrace.addons.graphs.rows import (
    BODY_ROLES,
    BODY_SHIFT,
    GraphOp,
    by_graph,
    damaged_graph_errors,
    op_of_row,
    outermost,
)
from kvtrace.converters.report.pack import json_block
from kvtrace.converters.report.sources import Block, BlockSource, Context

__all__ = ["SOURCE", "GraphBlock"]

#: Maximum number of characters of an attribute; longer ones, mostly constants, are cut.
_ATTR_LIMIT: Final = 160


class OpNames(TypedDict):
    """An op's names as input and as output of the graph, and the input that it is written into."""

    input: str | None
    output: str | None
    aliases: str | None


class BodyOwner(TypedDict):
    """The op that a body belongs to, and the body's role."""

    body: int
    op: int
    role: str


class GraphTotals(TypedDict):
    """Figures of a whole graph."""

    bytes: int
    flops: int
    boundary_bytes: int
    peak_live_bytes: int
    peak_op: int | None
    unknown_loops: int


class GraphColumns(TypedDict):
    """One graph as columns, a value for each op in order; body 0 is the traced function itself."""

    body: int
    owner: BodyOwner | None
    opcodes: list[str]
    dtypes: list[str]
    opcode: list[int]
    dtype: list[int]
    shape: list[tuple[int, ...]]
    operands: list[tuple[int, ...]]
    stack: list[int | None]
    bytes: list[int]
    read: list[int]
    written: list[int]
    flops: list[int]
    live: list[int]
    names: Mapping[int, OpNames]
    attributes: Mapping[int, Mapping[str, str]]
    totals: GraphTotals


class GraphBlock(TypedDict):
    """The block `graph/<variant>`."""

    measured: bool
    graphs: list[GraphColumns]


def _blocks(context: Context) -> Iterable[Block]:
    graphs = dict(_graph_rows(context))
    variants = context.report.variants
    slowest_first = sorted(graphs, key=lambda index: (-variants[index].host_ns, index))
    for variant in slowest_first:
        kernel_id = variants[variant].kernel_id
        yield Block(f"graph/{variant}", partial(_graph_block, context, kernel_id, graphs[variant]))


def _graph_rows(context: Context) -> Iterator[tuple[int, pa.Table]]:
    """Yield the index of each variant that is a graph, with rows of the graph and its bodies."""
    variants = context.report.variants
    indices = {(v.run, v.kernel_id): index for index, v in enumerate(variants)}
    for run in range(len(context.runs)):
        table = context.trace.table("graph_ops", (context.runs[run],))
        owners = pc.bit_wise_and(table["graph_id"], outermost(-1))
        for kernel_id in pc.unique(owners).to_pylist():
            variant = indices.get((run, kernel_id))
            if variant is not None:
                yield variant, table.filter(pc.equal(owners, kernel_id))


def _sorted_ops(rows: Sequence[Mapping[str, Any]]) -> list[GraphOp]:
    ops = [op_of_row(row, row["attributes"] or {}) for row in rows]
    return sorted(ops, key=lambda op: (op.graph_id, op.op_index))


def _graph_block(context: Context, kernel_id: int, table: pa.Table) -> str:
    with damaged_graph_errors(kernel_id):
        return _graphs_as_json(context, table)


def _graphs_as_json(context: Context, table: pa.Table) -> str:
    rows = table.to_pylist(maps_as_pydicts="lossy")
    stacks = {(row["graph_id"], row["op_index"]): context.stack(row["stack_id"]) for row in rows}
    ops = _sorted_ops(rows)
    graphs = by_graph(ops)
    owners = _owner_by_body(ops)
    return json_block(
        {
            "measured": False,
            "graphs": [
                {
                    "body": graph_id >> BODY_SHIFT,
                    "owner": owners.get(graph_id),
                    **_graph_columns(
                        context, graph, [*graph, *_other_graphs(ops, graph_id)], stacks
                    ),
                }
                for graph_id, graph in graphs.items()
            ],
        }
    )


def _owner_by_body(ops: Sequence[GraphOp]) -> dict[int, dict[str, Any]]:
    return {
        int(op.attributes[role]): {
            "body": op.graph_id >> BODY_SHIFT,
            "op": op.op_index,
            "role": role,
        }
        for op in ops
        for role in BODY_ROLES
        if role in op.attributes
    }


def _other_graphs(ops: Sequence[GraphOp], graph_id: int) -> list[GraphOp]:
    return [op for op in ops if op.graph_id != graph_id]


def _graph_columns(
    context: Context,
    graph: Sequence[GraphOp],
    rows: Sequence[GraphOp],
    stacks: Mapping[tuple[int, int], int | None],
) -> dict[str, Any]:
    """Return the columns of one graph, a value per op; names and attributes only of some ops.

    `rows` are the rows of the graph and then those of all other graphs, for the figures; `stacks`
    has the stack of each (graph id, op).
    """
    figures = figures_of(rows)
    opcodes = list(Counter(op.opcode for op in graph))
    dtypes = list(Counter(op.dtype for op in graph))
    return {
        "opcodes": opcodes,
        "dtypes": dtypes,
        "opcode": [opcodes.index(op.opcode) for op in graph],
        "dtype": [dtypes.index(op.dtype) for op in graph],
        "shape": [op.shape for op in graph],
        "operands": [op.operands for op in graph],
        "stack": [stacks[op.graph_id, op.op_index] for op in graph],
        "bytes": [byte_size(op.dtype, op.shape) for op in graph],
        "read": [op.read_bytes for op in figures.ops],
        "written": [op.written_bytes for op in figures.ops],
        "flops": [op.flops for op in figures.ops],
        "live": [op.live_bytes for op in figures.ops],
        "names": {
            op.op_index: {"input": op.input_name, "output": op.output_name, "aliases": op.aliases}
            for op in graph
            if op.input_name is not None or op.output_name is not None
        },
        "attributes": {
            op.op_index: shown for op in graph if (shown := _attributes(op, context.source))
        },
        "totals": {
            "bytes": figures.bytes,
            "flops": figures.flops,
            "boundary_bytes": figures.boundary_bytes,
            "peak_live_bytes": figures.peak_live_bytes,
            "peak_op": figures.peak_op,
            "unknown_loops": figures.unknown_loops,
        },
    }


def _attributes(op: GraphOp, source: bool) -> dict[str, str]:
    """Return the op's attributes, cut, with body numbers; constants only with `source`."""
    attributes = {}
    for name, text in op.attributes.items():
        if name in BODY_ROLES:
            attributes[name] = f"body {int(text) >> BODY_SHIFT}"
        elif source or not name.startswith("value"):
            attributes[name] = text if len(text) <= _ATTR_LIMIT else f"{text[:_ATTR_LIMIT]}…"
    return attributes


SOURCE: Final = BlockSource(
    name="graph",
    order=25,
    share=0.5,
    noun="tensor graphs",
    query="FROM graph_ops",
    blocks=_blocks,
    types=(GraphBlock,),
)
