"""`graph/<variant>`: the ops of a traced NumPy graph.

Ops, shapes and names were recorded while the function was traced; bytes, FLOPs and live memory are
derived from shapes (`kvtrace.addons.graphs.figures`).
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import partial
from typing import Any, Final, TypedDict

import pyarrow as pa
import pyarrow.compute as pc

from kvtrace.addons.graphs.figures import byte_size, figures_of
from kvtrace.addons.graphs.rows import (
    GraphOp,
    damaged_graph_errors,
    graph_rows,
    op_of_row,
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


class GraphTotals(TypedDict):
    """Figures of a whole graph."""

    bytes: int
    flops: int
    boundary_bytes: int
    peak_live_bytes: int
    peak_op: int | None


class GraphColumns(TypedDict):
    """A graph as columns, a value for each op in order."""

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
    graph: GraphColumns


def _blocks(context: Context) -> Iterable[Block]:
    graphs = dict(_graph_rows(context))
    variants = context.report.variants
    slowest_first = sorted(graphs, key=lambda index: (-variants[index].host_ns, index))
    for variant in slowest_first:
        kernel_id = variants[variant].kernel_id
        yield Block(f"graph/{variant}", partial(_graph_block, context, kernel_id, graphs[variant]))


def _graph_rows(context: Context) -> Iterator[tuple[int, pa.Table]]:
    """Yield the index of each variant that is a graph, with the graph's rows."""
    variants = context.report.variants
    indices = {(v.run, v.kernel_id): index for index, v in enumerate(variants)}
    for run in range(len(context.runs)):
        table = context.trace.table("graph_ops", (context.runs[run],))
        for kernel_id in pc.unique(table["graph_id"]).to_pylist():
            variant = indices.get((run, kernel_id))
            if variant is not None:
                yield variant, table.filter(pc.equal(table["graph_id"], kernel_id))


def _graph_block(context: Context, kernel_id: int, table: pa.Table) -> str:
    with damaged_graph_errors(kernel_id):
        rows = graph_rows(table)
        ops = [op_of_row(row, row["attributes"] or {}) for row in rows]
        stacks = [context.stack(row["stack_id"]) for row in rows]
        return json_block({"measured": False, "graph": _graph_columns(context, ops, stacks)})


def _graph_columns(
    context: Context, ops: Sequence[GraphOp], stacks: Sequence[int | None]
) -> dict[str, Any]:
    """Return the columns of a graph, a value per op; names and attributes only of some ops."""
    figures = figures_of(ops)
    opcodes = list(Counter(op.opcode for op in ops))
    dtypes = list(Counter(op.dtype for op in ops))
    return {
        "opcodes": opcodes,
        "dtypes": dtypes,
        "opcode": [opcodes.index(op.opcode) for op in ops],
        "dtype": [dtypes.index(op.dtype) for op in ops],
        "shape": [op.shape for op in ops],
        "operands": [op.operands for op in ops],
        "stack": stacks,
        "bytes": [byte_size(op.dtype, op.shape) for op in ops],
        "read": [op.read_bytes for op in figures.ops],
        "written": [op.written_bytes for op in figures.ops],
        "flops": [op.flops for op in figures.ops],
        "live": [op.live_bytes for op in figures.ops],
        "names": {
            op.op_index: {"input": op.input_name, "output": op.output_name, "aliases": op.aliases}
            for op in ops
            if op.input_name is not None or op.output_name is not None
        },
        "attributes": {
            op.op_index: shown for op in ops if (shown := _attributes(op, context.source))
        },
        "totals": {
            "bytes": figures.bytes,
            "flops": figures.flops,
            "boundary_bytes": figures.boundary_bytes,
            "peak_live_bytes": figures.peak_live_bytes,
            "peak_op": figures.peak_op,
        },
    }


def _attributes(op: GraphOp, source: bool) -> dict[str, str]:
    """Return the op's attributes, cut; constants only with `source`."""
    return {
        name: text if len(text) <= _ATTR_LIMIT else f"{text[:_ATTR_LIMIT]}…"
        for name, text in op.attributes.items()
        if source or not name.startswith("value")
    }


SOURCE: Final = BlockSource(
    name="graph",
    order=25,
    share=0.5,
    noun="tensor graphs",
    query="FROM graph_ops",
    blocks=_blocks,
    types=(GraphBlock,),
)
