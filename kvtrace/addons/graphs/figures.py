"""Bytes, floating-point operations and live memory of a graph, from its shapes alone.

Every op counts as if it ran by itself: it reads its whole operands (a slice or gather: only the
elements taken) and writes its result. A compiler that fuses ops moves fewer bytes;
`boundary_bytes`, the inputs and outputs, is a lower bound. Ops that only rename (reshape, copy,
get_tuple_element) count nothing. A loop's body counts `trip_count` times, or once if that is
unknown, as `unknown_loops` reports.

FLOPs: 2 · m · n · k of a matrix product, 2 · outputs · window · input channels per group of a
convolution, one per element for arithmetic and comparisons of floats, one per reduced element for a
reduction; a transcendental function counts as one. Integers and moves count none. Example: `relu(x
@ w)` of float32 [4, 8] and [8, 16] has 2 · 4 · 16 · 8 + 64 = 1,088 FLOPs and 128 + 512 + 256
boundary bytes.

Live memory: inputs and outputs are live from their op to the end, other results to their last use.
A result that is written into an input takes no further memory.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import islice, takewhile
from math import prod
from typing import Final

from kvtrace.addons.graphs.rows import BODY_ROLES, GraphOp, by_graph

#: Ops whose result is their operand's memory, or none at all.
RENAMES: Final = frozenset({"copy", "get_tuple_element", "parameter", "reshape"})

#: Ops that read as many elements as their result has, from an operand of any size.
_PARTIAL_READS: Final = frozenset({"slice", "dynamic_slice", "gather"})

_MOVES: Final = frozenset(
    {
        "all_gather",
        "all_to_all",
        "broadcast_in_dim",
        "collective_permute",
        "concatenate",
        "constant",
        "convert",
        "dynamic_slice",
        "dynamic_update_slice",
        "gather",
        "iota",
        "pad",
        "reverse",
        "scatter",
        "select",
        "slice",
        "sort",
        "transpose",
        *RENAMES,
    }
)


@dataclass(frozen=True, slots=True)
class OpFigures:
    """Bytes, FLOPs and live memory of one op, executed once."""

    op_index: int
    read_bytes: int
    written_bytes: int
    flops: int
    live_bytes: int


@dataclass(frozen=True, slots=True)
class GraphFigures:
    """Bytes, FLOPs and live memory of a graph.

    Attributes:
        ops: One entry per op of the outermost graph; loops include their bodies.
        bytes: Bytes read and written by all ops, each by itself.
        flops: Floating-point operations.
        boundary_bytes: Bytes of inputs and outputs.
        peak_live_bytes: The most memory that is live at once.
        peak_op: The op with the most live memory.
        unknown_loops: Number of loops with an unknown trip count, whose bodies count once.

    """

    ops: tuple[OpFigures, ...]
    bytes: int
    flops: int
    boundary_bytes: int
    peak_live_bytes: int
    peak_op: int | None
    unknown_loops: int

    @property
    def intensity(self) -> float | None:
        """FLOPs per byte of inputs and outputs, which a fused graph can reach."""
        return self.flops / self.boundary_bytes if self.boundary_bytes else None

    @property
    def unfused_intensity(self) -> float | None:
        """FLOPs per byte that the ops move, each by itself."""
        return self.flops / self.bytes if self.bytes else None


def figures_of(rows: Sequence[GraphOp]) -> GraphFigures:
    """Return the figures of a graph, given the rows of the graph (first) and of its bodies."""
    graphs = by_graph(rows)
    if not rows:
        return GraphFigures((), 0, 0, 0, 0, None, 0)
    return _figures(graphs[rows[0].graph_id], graphs)


def byte_size(dtype: str, shape: tuple[int, ...]) -> int:
    """Return the bytes of a tensor; 0 for a tuple."""
    if dtype == "tuple":
        return 0
    digits = "".join(c if c.isdigit() else " " for c in dtype.partition("_")[0]).split()
    bits = 8 if dtype == "bool" else int(digits[-1])
    return prod(shape) * bits // 8


def _size(op: GraphOp) -> int:
    """Return the bytes of an op's result; a constant of one repeated number is one number."""
    value = op.attributes.get("value", "[")
    if op.opcode == "constant" and op.output_name is None and not value.startswith(("[", "0x")):
        return byte_size(op.dtype, ())
    return byte_size(op.dtype, op.shape)


def _figures(ops: Sequence[GraphOp], graphs: Mapping[int, Sequence[GraphOp]]) -> GraphFigures:
    sizes = [_size(op) for op in ops]
    live = _live_bytes(ops, sizes)
    figures_by_op: list[OpFigures] = []
    unknown = 0
    for op in ops:
        bodies = [_figures(graphs[body], graphs) for body in _bodies(op)]
        unknown += sum(body.unknown_loops for body in bodies)
        if bodies and op.opcode == "while":
            unknown += op.attribute("trip_count") is None
        trips = op.attribute("trip_count", 1)
        # Of two branches, the more expensive counts.
        inner = max(bodies, key=lambda body: body.flops + body.bytes, default=None)
        read, written = _moved(op, sizes) if inner is None else (inner.bytes * trips, 0)
        flops = _flops(op, ops) if inner is None else inner.flops * trips
        inner_live = 0 if inner is None else inner.peak_live_bytes
        figures_by_op.append(
            OpFigures(op.op_index, read, written, flops, live[op.op_index] + inner_live)
        )
    peak = max(figures_by_op, key=lambda figures: figures.live_bytes, default=None)
    ends = [op for op in ops if op.opcode == "parameter"]
    ends += [op for op in ops if op.output_name is not None]
    return GraphFigures(
        ops=tuple(figures_by_op),
        bytes=sum(figures.read_bytes + figures.written_bytes for figures in figures_by_op),
        flops=sum(figures.flops for figures in figures_by_op),
        boundary_bytes=sum(sizes[op.op_index] for op in ends),
        peak_live_bytes=0 if peak is None else peak.live_bytes,
        peak_op=None if peak is None else peak.op_index,
        unknown_loops=unknown,
    )


def _bodies(op: GraphOp) -> list[int]:
    return [int(op.attributes[role]) for role in BODY_ROLES if role in op.attributes]


def _moved(op: GraphOp, sizes: Sequence[int]) -> tuple[int, int]:
    """Return the bytes that an op reads and writes."""
    result = sizes[op.op_index]
    if op.opcode in RENAMES or op.dtype == "tuple":
        return (sum(sizes[operand] for operand in op.operands) if op.dtype == "tuple" else 0), 0
    if op.opcode in _PARTIAL_READS:
        return result + sum(sizes[operand] for operand in op.operands[1:]), result
    if op.opcode == "dynamic_update_slice":
        update = sizes[op.operands[1]]
        return update, update  # in place: the other elements stay
    return sum(sizes[operand] for operand in op.operands), result


def _flops(op: GraphOp, ops: Sequence[GraphOp]) -> int:
    if op.opcode == "custom_call":
        flops: int = op.attribute("flops", 0)
        return flops
    if op.dtype == "tuple" or op.opcode in _MOVES or not op.operands:
        return 0
    first = ops[op.operands[0]]
    if "float" not in first.dtype:
        return 0
    if op.opcode == "dot_general":
        extent: int = prod(first.shape[axis] for axis in op.attribute("lhs_contracting_dimensions"))
        return 2 * prod(op.shape) * extent
    if op.opcode == "convolution":
        kernel = ops[op.operands[1]]
        output = op.attribute("kernel_output_feature_dimension", 0)
        window = prod(n for axis, n in enumerate(kernel.shape) if axis != output)
        return 2 * prod(op.shape) * window
    return max(prod(op.shape), prod(first.shape))


def _live_bytes(ops: Sequence[GraphOp], sizes: Sequence[int]) -> list[int]:
    """Return the bytes that are live while each op runs."""
    holder = list(range(len(ops)))
    for op in ops:
        if op.opcode in RENAMES and op.operands:
            holder[op.op_index] = holder[op.operands[0]]
    inputs = {op.input_name: op.op_index for op in ops if op.opcode == "parameter"}
    last = list(range(len(ops)))
    for op in ops:
        for operand in op.operands:
            last[holder[operand]] = max(last[holder[operand]], op.op_index)
    permanent = [op for op in ops if op.opcode == "parameter" or op.output_name is not None]
    for op in permanent:
        last[holder[op.op_index]] = len(ops)
    change = [0] * (len(ops) + 2)
    for op in ops:
        index = op.op_index
        owns_memory = holder[index] == index and not (
            op.aliases in inputs and op.aliases is not None
        )
        if owns_memory and op.dtype != "tuple":
            change[0 if op.opcode == "parameter" else index] += sizes[index]
            change[last[index] + 1] -= sizes[index]
        if op.dtype == "tuple":  # the memory of its elements, which the following rows rename
            rows = takewhile(
                lambda row: row.opcode == "get_tuple_element", islice(ops, index + 1, None)
            )
            size = sum(sizes[row.op_index] for row in rows)
            change[index] += size
            change[last[index] + 1] -= size
    live, total = [], 0
    for index in range(len(ops)):
        total += change[index]
        live.append(total)
    return live
