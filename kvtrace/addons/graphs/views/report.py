"""`graph/<variant>`: the ops of a traced NumPy graph; `stablehlo/<variant>`: their texts.

Ops, shapes and names were recorded while the function was traced; bytes, FLOPs and live memory are
derived from shapes (`kvtrace.addons.graphs.figures`). Bodies of loops and branches follow the graph
that they belong to, each with the op that owns it.
"""

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
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
    damage_named,
    outermost,
)
from kvtrace.addons.graphs.stablehlo.locations import Locations
from kvtrace.addons.graphs.stablehlo.module_text import FunctionText
from kvtrace.converters.report.pack import json_block
from kvtrace.converters.report.sources import Block, BlockSource, Context

__all__ = ["SOURCE", "GraphBlock"]

#: Longer attributes are cut; constants are what is long.
_LONGEST: Final = 160
#: The text of an op with regions can be long.
_LONGEST_TEXT: Final = 2000
#: Graphs with more ops have no texts in the page.
_MOST_TEXTS: Final = 50_000
_RESULT: Final = re.compile(r"%(?:b\d+_)?(\d+)")
_LOCATION: Final = re.compile(r" loc\(#loc\d+\)")
#: An attribute of constants whose value was left out.
_CUT: Final = "value cut"


class OpNames(TypedDict):
    """What an op is called as an input or an output, and which input it is written into."""

    input: str | None
    output: str | None
    aliases: str | None


class BodyOwner(TypedDict):
    """The op that a body belongs to, and what it is of that op."""

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
    order = sorted(graphs, key=lambda index: (-variants[index].host_ns, index))
    for variant in order:
        number = variants[variant].kernel_id
        yield Block(f"graph/{variant}", partial(_packed, context, number, graphs[variant]))
    if not context.source:
        return
    for variant in order:
        if graphs[variant].num_rows <= _MOST_TEXTS:
            number = variants[variant].kernel_id
            yield Block(f"stablehlo/{variant}", partial(_packed_texts, number, graphs[variant]))


def _graph_rows(context: Context) -> Iterator[tuple[int, pa.Table]]:
    """Return each variant that is a graph, with its rows and those of its bodies."""
    variants = context.report.variants
    places = {(one.run, one.kernel_id): index for index, one in enumerate(variants)}
    for run in range(len(context.runs)):
        table = context.trace.table("graph_ops", (context.runs[run],))
        owners = pc.bit_wise_and(table["graph_id"], outermost(-1))
        for kernel_id in pc.unique(owners).to_pylist():
            variant = places.get((run, kernel_id))
            if variant is not None:
                yield variant, table.filter(pc.equal(owners, kernel_id))


def _ops(rows: Sequence[Mapping[str, Any]]) -> list[GraphOp]:
    """Rows as ops, by graph and place, without their stacks."""
    found = [
        GraphOp(
            graph_id=row["graph_id"],
            op_index=row["op_index"],
            opcode=row["opcode"],
            operands=tuple(row["operands"] or ()),
            dtype=row["dtype"] or "",
            shape=tuple(row["shape"] or ()),
            attributes=row["attributes"] or {},
            input_name=row["input_name"],
            output_name=row["output_name"],
            aliases=row["aliases"],
        )
        for row in rows
    ]
    return sorted(found, key=lambda op: (op.graph_id, op.op_index))


def _packed(context: Context, kernel_id: int, table: pa.Table) -> str:
    with damage_named(kernel_id):
        return _block_of(context, table)


def _block_of(context: Context, table: pa.Table) -> str:
    rows = table.to_pylist(maps_as_pydicts="lossy")
    stacks = {(row["graph_id"], row["op_index"]): context.stack(row["stack_id"]) for row in rows}
    ops = _ops(rows)
    graphs = by_graph(ops)
    owners = _owners(ops)
    return json_block(
        {
            "measured": False,
            "graphs": [
                {
                    "body": graph_id >> BODY_SHIFT,
                    "owner": owners.get(graph_id),
                    **_graph(context, own, [*own, *_beside(ops, graph_id)], stacks),
                }
                for graph_id, own in graphs.items()
            ],
        }
    )


def _owners(ops: Sequence[GraphOp]) -> dict[int, dict[str, Any]]:
    """Return the op that each body belongs to, and what it is of that op."""
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


def _beside(ops: Sequence[GraphOp], graph_id: int) -> list[GraphOp]:
    return [op for op in ops if op.graph_id != graph_id]


def _graph(
    context: Context,
    own: Sequence[GraphOp],
    rows: Sequence[GraphOp],
    stacks: Mapping[tuple[int, int], int | None],
) -> dict[str, Any]:
    """One graph as columns: a value for each op, in order; names and attributes only where any."""
    figures = figures_of(rows)
    opcodes = list(Counter(op.opcode for op in own))
    dtypes = list(Counter(op.dtype for op in own))
    return {
        "opcodes": opcodes,
        "dtypes": dtypes,
        "opcode": [opcodes.index(op.opcode) for op in own],
        "dtype": [dtypes.index(op.dtype) for op in own],
        "shape": [op.shape for op in own],
        "operands": [op.operands for op in own],
        "stack": [stacks[op.graph_id, op.op_index] for op in own],
        "bytes": [byte_size(op.dtype, op.shape) for op in own],
        "read": [each.read_bytes for each in figures.ops],
        "written": [each.written_bytes for each in figures.ops],
        "flops": [each.flops for each in figures.ops],
        "live": [each.live_bytes for each in figures.ops],
        "names": {
            op.op_index: {"input": op.input_name, "output": op.output_name, "aliases": op.aliases}
            for op in own
            if op.input_name is not None or op.output_name is not None
        },
        "attributes": {
            op.op_index: shown for op in own if (shown := _attributes(op, context.source))
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
    """The attributes of an op; bodies by number, and values only with the source."""
    found = {}
    for name, text in op.attributes.items():
        if name in BODY_ROLES:
            found[name] = f"body {int(text) >> BODY_SHIFT}"
        elif source or not name.startswith("value"):
            found[name] = text if len(text) <= _LONGEST else f"{text[:_LONGEST]}…"
    return found


def _packed_texts(kernel_id: int, table: pa.Table) -> str:
    with damage_named(kernel_id):
        return _texts_block(table)


def _texts_block(table: pa.Table) -> str:
    ops = [_light(op) for op in _ops(table.to_pylist(maps_as_pydicts="lossy"))]
    graphs = by_graph(ops)
    return json_block(
        {str(graph_id >> BODY_SHIFT): _texts(own, graphs) for graph_id, own in graphs.items()}
    )


def _light(op: GraphOp) -> GraphOp:
    """The op with a short value in the place of one that is long; its text is not kept."""
    long = "value_artifact" in op.attributes or len(op.attributes.get("value", "")) > _LONGEST
    if op.opcode != "constant" or not long:
        return op
    return replace(op, attributes={**op.attributes, "value": "0x", _CUT: ""})


def _texts(own: Sequence[GraphOp], graphs: Mapping[int, Sequence[GraphOp]]) -> dict[str, str]:
    """The StableHLO of each op of a graph that has one, by its place."""
    function = FunctionText(graphs, Locations())
    parameters = [op for op in own if op.opcode == "parameter"]
    function.write_all(own, [f"%arg{number}" for number in range(len(parameters))])
    cut = {str(op.op_index) for op in own if _CUT in op.attributes}
    found: dict[str, str] = {}
    for line in function.lines:
        place = _RESULT.match(line)
        if place is not None and place[1] not in cut:
            text = _LOCATION.sub("", line)
            found[place[1]] = text if len(text) <= _LONGEST_TEXT else f"{text[:_LONGEST_TEXT]}…"
    return found


SOURCE: Final = BlockSource(
    name="graph",
    order=25,
    share=0.5,
    noun="tensor graphs and their texts",
    query="FROM graph_ops",
    blocks=_blocks,
    types=(GraphBlock,),
)
