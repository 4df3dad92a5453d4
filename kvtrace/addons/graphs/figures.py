"""Bytes, floating-point operations and live memory of a graph, from its shapes alone.

Every op counts as if it ran by itself: it reads its operands whole (slices and gathers: what they
take) and writes its result. A compiler that fuses ops moves less; `boundary_bytes`, the inputs and
outputs, is the least that any can move. Ops that only rename (reshape, copy, get_tuple_element)
count nothing. A loop's body counts once for each of its `trip_count`, and once where that is not
known, which `unknown_loops` says.

FLOPs: 2 · m · n · k of a product of matrices, 2 · outputs · window · input channels per group of a
convolution, one per element for arithmetic and comparisons of floats, one per element joined for a
reduction; a transcendental function counts as one. Integers and moves count none.

Live memory: an input and an output count from their op to the end, all else to its last use. A
result that is written into an input takes no other memory.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import islice, takewhile
from math import prod
from typing import Final

from kvtrace.addons.graphs.rows import BODY_ROLES, GraphOp, by_graph

#: Ops whose result is their operand's memory, or none at all.
RENAMES: Final = frozenset({"copy", "get_tuple_element", "parameter", "reshape"})

#: Ops that read as much as they give, whatever they take it from.
_TAKES: Final = frozenset({"slice", "dynamic_slice", "gather"})

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
    """What one op moves and computes, once."""

    op_index: int
    read_bytes: int
    written_bytes: int
    flops: int
    live_bytes: int


@dataclass(frozen=True, slots=True)
class GraphFigures:
    """What a graph moves and computes.

    Attributes:
        ops: one per op of the outermost graph, loops with all that their bodies do.
        bytes: read and written by all ops, each by itself.
        flops: floating-point operations.
        boundary_bytes: inputs and outputs.
        peak_live_bytes: the most memory that is live at once.
        peak_op: the op at which it is.
        unknown_loops: loops whose number of trips is not known, counted once.

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
        """FLOPs by byte of inputs and outputs: what a fused graph can reach."""
        return self.flops / self.boundary_bytes if self.boundary_bytes else None

    @property
    def unfused_intensity(self) -> float | None:
        """FLOPs by byte that the ops move each by itself."""
        return self.flops / self.bytes if self.bytes else None


def figures_of(rows: Sequence[GraphOp]) -> GraphFigures:
    """Count a graph, given its rows and those of its bodies; the first row is the outermost's."""
    graphs = by_graph(rows)
    if not rows:
        return GraphFigures((), 0, 0, 0, 0, None, 0)
    return _figures(graphs[rows[0].graph_id], graphs)


def byte_size(dtype: str, shape: tuple[int, ...]) -> int:
    """Bytes of a tensor; a tuple has none."""
    if dtype == "tuple":
        return 0
    digits = "".join(c if c.isdigit() else " " for c in dtype.partition("_")[0]).split()
    bits = 8 if dtype == "bool" else int(digits[-1])
    return prod(shape) * bits // 8


def _size(op: GraphOp) -> int:
    """Bytes of an op's result; those of one number where a constant repeats it for what uses it."""
    value = op.attributes.get("value", "[")
    if op.opcode == "constant" and op.output_name is None and not value.startswith(("[", "0x")):
        return byte_size(op.dtype, ())
    return byte_size(op.dtype, op.shape)


def _figures(ops: Sequence[GraphOp], graphs: Mapping[int, Sequence[GraphOp]]) -> GraphFigures:
    sizes = [_size(op) for op in ops]
    live = _live_bytes(ops, sizes)
    found: list[OpFigures] = []
    unknown = 0
    for op in ops:
        bodies = [_figures(graphs[body], graphs) for body in _bodies(op)]
        unknown += sum(body.unknown_loops for body in bodies)
        if bodies and op.opcode == "while":
            unknown += op.attribute("trip_count") is None
        trips = op.attribute("trip_count", 1)
        # Of two branches, the more expensive one counts.
        inner = max(bodies, key=lambda body: body.flops + body.bytes, default=None)
        read, written = _moved(op, sizes) if inner is None else (inner.bytes * trips, 0)
        flops = _flops(op, ops) if inner is None else inner.flops * trips
        inside = 0 if inner is None else inner.peak_live_bytes
        found.append(OpFigures(op.op_index, read, written, flops, live[op.op_index] + inside))
    peak = max(found, key=lambda figures: figures.live_bytes, default=None)
    ends = [op for op in ops if op.opcode == "parameter"]
    ends += [op for op in ops if op.output_name is not None]
    return GraphFigures(
        ops=tuple(found),
        bytes=sum(figures.read_bytes + figures.written_bytes for figures in found),
        flops=sum(figures.flops for figures in found),
        boundary_bytes=sum(sizes[op.op_index] for op in ends),
        peak_live_bytes=0 if peak is None else peak.live_bytes,
        peak_op=None if peak is None else peak.op_index,
        unknown_loops=unknown,
    )


def _bodies(op: GraphOp) -> list[int]:
    return [int(op.attributes[role]) for role in BODY_ROLES if role in op.attributes]


def _moved(op: GraphOp, sizes: Sequence[int]) -> tuple[int, int]:
    """Bytes that an op reads and writes."""
    result = sizes[op.op_index]
    if op.opcode in RENAMES or op.dtype == "tuple":
        return (sum(sizes[operand] for operand in op.operands) if op.dtype == "tuple" else 0), 0
    if op.opcode in _TAKES:
        return result + sum(sizes[operand] for operand in op.operands[1:]), result
    if op.opcode == "dynamic_update_slice":
        update = sizes[op.operands[1]]
        return update, update  # in place: the rest stays where it is
    return sum(sizes[operand] for operand in op.operands), result


def _flops(op: GraphOp, ops: Sequence[GraphOp]) -> int:
    if op.opcode == "custom_call":
        counted: int = op.attribute("flops", 0)
        return counted
    if op.dtype == "tuple" or op.opcode in _MOVES or not op.operands:
        return 0
    first = ops[op.operands[0]]
    if "float" not in first.dtype:
        return 0
    if op.opcode == "dot_general":
        summed: int = prod(first.shape[axis] for axis in op.attribute("lhs_contracting_dimensions"))
        return 2 * prod(op.shape) * summed
    if op.opcode == "convolution":
        kernel = ops[op.operands[1]]
        output = op.attribute("kernel_output_feature_dimension", 0)
        window = prod(n for axis, n in enumerate(kernel.shape) if axis != output)
        return 2 * prod(op.shape) * window
    return max(prod(op.shape), prod(first.shape))


def _live_bytes(ops: Sequence[GraphOp], sizes: Sequence[int]) -> list[int]:
    """Bytes that are live while each op runs."""
    holder = list(range(len(ops)))
    for op in ops:
        if op.opcode in RENAMES and op.operands:
            holder[op.op_index] = holder[op.operands[0]]
    named = {op.input_name: op.op_index for op in ops if op.opcode == "parameter"}
    last = list(range(len(ops)))
    for op in ops:
        for operand in op.operands:
            last[holder[operand]] = max(last[holder[operand]], op.op_index)
    kept = [op for op in ops if op.opcode == "parameter" or op.output_name is not None]
    for op in kept:
        last[holder[op.op_index]] = len(ops)
    change = [0] * (len(ops) + 2)
    for op in ops:
        index = op.op_index
        own = holder[index] == index and not (op.aliases in named and op.aliases is not None)
        if own and op.dtype != "tuple":
            change[0 if op.opcode == "parameter" else index] += sizes[index]
            change[last[index] + 1] -= sizes[index]
        if op.dtype == "tuple":  # its elements' memory, which their rows rename
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
