"""Bytes, floating-point operations and live memory of a graph, from its shapes alone.

Every op counts as if it ran by itself: it reads its whole operands (a slice or gather: only the
elements taken) and writes its result. A compiler that fuses ops moves fewer bytes;
`boundary_bytes`, the inputs and outputs, is a lower bound. Ops that only rename (reshape, copy,
get_tuple_element) count nothing.

FLOPs: 2 · m · n · k of a matrix product, 2 · outputs · window · input channels per group of a
convolution, one per element for arithmetic and comparisons of floats, one per reduced element for a
reduction; a transcendental function counts as one. Integers and moves count none. Example: `relu(x
@ w)` of float32 [4, 8] and [8, 16] has 2 · 4 · 16 · 8 + 64 = 1,088 FLOPs and 128 + 512 + 256
boundary bytes.

Live memory: inputs and outputs are live from their op to the end, other results to their last use.
A result that is written into an input takes no further memory.
"""

from collections.abc import Sequence
from itertools import islice, takewhile
from math import prod
from typing import Final

from msgspec import Struct

from kvtrace.addons.graphs.rows import GraphOp

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


class OpFigures(Struct, frozen=True):
    """Bytes, FLOPs and live memory of one op."""

    op_index: int
    read_bytes: int
    written_bytes: int
    flops: int
    live_bytes: int


class GraphFigures(Struct, frozen=True):
    """Bytes, FLOPs and live memory of a graph.

    Attributes:
        ops: One entry per op.
        bytes: Bytes read and written by all ops, each by itself.
        flops: Floating-point operations.
        boundary_bytes: Bytes of inputs and outputs.
        peak_live_bytes: The most memory that is live at once.
        peak_op: The op with the most live memory.

    """

    ops: tuple[OpFigures, ...]
    bytes: int
    flops: int
    boundary_bytes: int
    peak_live_bytes: int
    peak_op: int | None


def figures_of(ops: Sequence[GraphOp]) -> GraphFigures:
    """Return the figures of the graph that some rows are, in order."""
    sizes = [_size(op) for op in ops]
    live_bytes = _live_bytes(ops, sizes)
    op_figures = [
        OpFigures(op.op_index, *_moved(op, sizes), _flops(op, ops), live_bytes[op.op_index])
        for op in ops
    ]
    peak = max(op_figures, key=lambda figures: figures.live_bytes, default=None)
    boundary_ops = [op for op in ops if op.opcode == "parameter"]
    boundary_ops += [op for op in ops if op.output_name is not None]
    return GraphFigures(
        ops=tuple(op_figures),
        bytes=sum(figures.read_bytes + figures.written_bytes for figures in op_figures),
        flops=sum(figures.flops for figures in op_figures),
        boundary_bytes=sum(sizes[op.op_index] for op in boundary_ops),
        peak_live_bytes=0 if peak is None else peak.live_bytes,
        peak_op=None if peak is None else peak.op_index,
    )


def byte_size(dtype: str, shape: tuple[int, ...]) -> int:
    """Return the size of a tensor in bytes; 0 if `dtype` is "tuple"."""
    if dtype == "tuple":
        return 0
    digits = "".join(c if c.isdigit() else " " for c in dtype.partition("_")[0]).split()
    bits = 8 if dtype == "bool" else int(digits[-1])
    return prod(shape) * bits // 8


def _size(op: GraphOp) -> int:
    """Return the bytes of an op's result; a constant of one repeated value counts one element."""
    value = op.attributes.get("value", "[")
    if op.opcode == "constant" and op.output_name is None and not value.startswith(("[", "0x")):
        return byte_size(op.dtype, ())
    return byte_size(op.dtype, op.shape)


def _moved(op: GraphOp, sizes: Sequence[int]) -> tuple[int, int]:
    """Return the bytes that an op reads and those it writes; `sizes` has each result's bytes."""
    result_bytes = sizes[op.op_index]
    if op.opcode in RENAMES or op.dtype == "tuple":
        return (sum(sizes[operand] for operand in op.operands) if op.dtype == "tuple" else 0), 0
    if op.opcode in _PARTIAL_READS:
        return result_bytes + sum(sizes[operand] for operand in op.operands[1:]), result_bytes
    if op.opcode == "dynamic_update_slice":
        update_bytes = sizes[op.operands[1]]
        return update_bytes, update_bytes  # in place: the other elements stay
    return sum(sizes[operand] for operand in op.operands), result_bytes


def _flops(op: GraphOp, ops: Sequence[GraphOp]) -> int:
    if op.opcode == "custom_call":
        flops: int = op.attribute("flops", 0)
        return flops
    if op.dtype == "tuple" or op.opcode in _MOVES or not op.operands:
        return 0
    first_operand = ops[op.operands[0]]
    if "float" not in first_operand.dtype:
        return 0
    if op.opcode == "dot_general":
        contracted_extent: int = prod(
            first_operand.shape[axis] for axis in op.attribute("lhs_contracting_dimensions")
        )
        return 2 * prod(op.shape) * contracted_extent
    if op.opcode == "convolution":
        kernel = ops[op.operands[1]]
        output_axis = op.attribute("kernel_output_feature_dimension", 0)
        window_size = prod(n for axis, n in enumerate(kernel.shape) if axis != output_axis)
        return 2 * prod(op.shape) * window_size
    return max(prod(op.shape), prod(first_operand.shape))


def _live_bytes(ops: Sequence[GraphOp], sizes: Sequence[int]) -> list[int]:
    """Return, per op, the bytes of all results live while it runs; `sizes` are results' bytes."""
    memory_owner = list(range(len(ops)))
    for op in ops:
        if op.opcode in RENAMES and op.operands:
            memory_owner[op.op_index] = memory_owner[op.operands[0]]
    parameter_indices = {op.input_name: op.op_index for op in ops if op.opcode == "parameter"}
    last_use = list(range(len(ops)))
    for op in ops:
        for operand in op.operands:
            last_use[memory_owner[operand]] = max(last_use[memory_owner[operand]], op.op_index)
    boundary_ops = [op for op in ops if op.opcode == "parameter" or op.output_name is not None]
    for op in boundary_ops:
        last_use[memory_owner[op.op_index]] = len(ops)
    size_changes = [0] * (len(ops) + 2)
    for op in ops:
        index = op.op_index
        owns_memory = memory_owner[index] == index and not (
            op.aliases in parameter_indices and op.aliases is not None
        )
        if owns_memory and op.dtype != "tuple":
            size_changes[0 if op.opcode == "parameter" else index] += sizes[index]
            size_changes[last_use[index] + 1] -= sizes[index]
        if op.dtype == "tuple":  # the memory of its elements, which the following rows rename
            elements = takewhile(
                lambda row: row.opcode == "get_tuple_element", islice(ops, index + 1, None)
            )
            tuple_bytes = sum(sizes[row.op_index] for row in elements)
            size_changes[index] += tuple_bytes
            size_changes[last_use[index] + 1] -= tuple_bytes
    live_bytes, live_now = [], 0
    for index in range(len(ops)):
        live_now += size_changes[index]
        live_bytes.append(live_now)
    return live_bytes
