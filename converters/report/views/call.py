"""Blocks `call/<index>`: figures of each op of a call, and the addresses of its accesses.

The data comes from the tables that the tracer and the profiler fill, from the kernel's TTIR, and
from the recorded contents of tensor arguments. A call without ops has no block.
"""

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import lru_cache, partial
from typing import Any, Final, NotRequired, TypedDict

import msgspec
import numpy as np

from kvtrace.converters.report.model import Argument
from kvtrace.converters.report.pack import bytes_block, json_text
from kvtrace.converters.report.sources import Block, BlockSource, Context
from kvtrace.converters.report.tensor_elements import Histogram, Layout, elements_of, histogram
from kvtrace.ir import Module, Value
from kvtrace.ir import Op as IrOp
from kvtrace.ir.flow import Flow, backward, enclosing_ops, flow_of, forward
from kvtrace.ir.model import once_per_module
from kvtrace.ir.ops import LOOPS, WRITING, Kind, effect_of, named, operator_of
from kvtrace.ir.types import TensorType

# Matrix products of a kernel: their shapes, and the loads and stores of their tiles.
#
# They are read from the kernel's TTIR; fields that it does not determine are None.

_PRODUCTS: Final = named(lambda row: row.kind is Kind.PRODUCT)
#: Ops that keep a tile's elements in place, or transpose the tile.
_SAME_TILE: Final = named(lambda row: row.kind is Kind.ELEMENTWISE or row.operator == "trans")


@dataclass(frozen=True, slots=True)
class Dot:
    """A dot op: the product C[m, n] = A[m, k] · B[k, n]; `op` and all other indices are `op_index`.

    `a` and `b` are the loads whose tiles become the factors by elementwise ops, `a_transposed` and
    `b_transposed` whether a tile is transposed in between. `c` is the store of the result, if there
    is exactly one. `loop` is the innermost loop around the product.
    """

    op: int
    m: int | None
    n: int | None
    k: int | None
    a: int | None
    a_transposed: bool
    b: int | None
    b_transposed: bool
    c: int | None
    loop: int | None


@once_per_module
def dots_of(module: Module) -> tuple[Dot, ...]:
    """Return the products of a module, in program order."""
    flow = flow_of(module)
    return tuple(_dot(op, flow) for op in module.ops if op.name in _PRODUCTS)


def _dot(op: IrOp, flow: Flow) -> Dot:
    left, right = op.operand("left"), op.operand("right")
    m = n = k = None
    shapes = [v.type.shape for v in (left, right) if isinstance(v.type, TensorType)]
    if operator_of(op) == "dot" and len(shapes) == 2:  # factors of scaled products are packed
        (m, k), n = shapes[0][-2:], shapes[1][-1]
    a, a_transposed = _source_load(left)
    b, b_transposed = _source_load(right)
    loop = next((outer.index for outer in enclosing_ops(op) if outer.name in LOOPS), None)
    return Dot(op.index, m, n, k, a, a_transposed, b, b_transposed, _result_store(op, flow), loop)


def _source_load(factor: Value) -> tuple[int | None, bool]:
    """Return the index of the only load behind a factor, and whether its tile is transposed.

    (None, False) if there is no load, or more than one.
    """
    loads: set[int] = set()
    is_transposed = False
    for value in backward([factor], _source_tiles):
        op = value.owner
        if isinstance(op, IrOp):
            is_transposed ^= operator_of(op) == "trans"
            if effect_of(op) == "load":
                loads.add(op.index)
    return (loads.pop(), is_transposed) if len(loads) == 1 else (None, False)


def _source_tiles(value: Value) -> Iterable[Value]:
    """Return the operands of an elementwise or transposing op; () for any other value."""
    op = value.owner
    return op.operands if isinstance(op, IrOp) and op.name in _SAME_TILE else ()


def _result_store(dot: IrOp, flow: Flow) -> int | None:
    """Return the index of the only store of the dot's result, or None.

    The result may pass through loops, elementwise ops and the addend of further dots.
    """
    stores: set[int] = set()

    def results_to_follow(op: IrOp, value: Value) -> Iterable[Value]:
        if op.name in WRITING and value in op.group("value"):
            stores.add(op.index)
        is_same_tile = op.name in _SAME_TILE or (
            op.name in _PRODUCTS and value is op.operand("added")
        )
        return op.results if is_same_tile else ()

    forward(flow, dot.results, results_to_follow)
    return stores.pop() if len(stores) == 1 else None


_MOST_BYTES: Final = 256 << 20


@dataclass(frozen=True, slots=True)
class RecordedValue:
    """A tensor argument as recorded before the call's first launch.

    `arg` is the position of the argument in the call; `artifact` names the block
    `tensor/<artifact>` with the storage's bytes, in which `offset_bytes`, `shape` and `strides` (in
    elements) locate the elements. `histogram` is None if the type is not supported, or the storage
    is incomplete or larger than 256 MiB.
    """

    arg: int
    name: str | None
    artifact: str
    dtype: str | None
    offset_bytes: int
    shape: tuple[int, ...]
    strides: tuple[int, ...]
    histogram: Histogram | None
    measured: bool = True


def recorded_values(context: Context, call: int) -> tuple[RecordedValue, ...]:
    """Return the recorded tensors of a call of the report, in the order of arguments."""
    arguments = map(context.report.arguments.__getitem__, context.report.calls[call].args)
    values = (_recorded_value(context, *numbered) for numbered in enumerate(arguments))
    return tuple(value for value in values if value is not None)


def _recorded_value(context: Context, position: int, argument: Argument) -> RecordedValue | None:
    if argument.value is None or argument.shape is None or argument.strides is None:
        return None
    offset = argument.offset_bytes or 0
    layout = Layout(argument.dtype, offset, argument.shape, argument.strides)
    return RecordedValue(
        arg=position,
        name=argument.name,
        artifact=argument.value,
        dtype=argument.dtype,
        offset_bytes=offset,
        shape=argument.shape,
        strides=argument.strides,
        histogram=_histogram(context, argument, layout),
    )


def _histogram(context: Context, argument: Argument, layout: Layout) -> Histogram | None:
    """Return the histogram of an argument's recorded contents, or None (`RecordedValue`).

    Histograms are cached in `context.histograms` by storage and layout.
    """
    if argument.value is None or (argument.storage_bytes or 0) > _MOST_BYTES:
        return None
    key = (argument.value, layout)
    if key not in context.histograms:
        content = context.trace.artifact(argument.value)
        values = None if content is None else elements_of(content, layout)
        context.histograms[key] = None if values is None else histogram(values)
    return context.histograms[key]


_FIGURES: Final = (
    "op", "kind", "dtype", "loop", "executions", "elements", "masked_off", "bytes",
    "unique_bytes", "sectors", "flops", "buffer",
)  # fmt: skip
#: A note of the tracer or the profiler on a figure that was skipped: call id, op index, text.
_LEFT_OUT: Final = re.compile(r"call (?P<call>\d+), op (?P<op>\d+) \([^)]*\): (?P<text>.*)", re.S)
_ACCESS: Final = ("arg", "program", "iteration", "first", "last", "active")

#: One level of a progression: count, step of the id, step of the address in bytes.
_IdLevel = tuple[int, int, int]
_Ranges = tuple[tuple[int, int], ...]


class Op(TypedDict):
    """Figures of an op over all programs of a launch; `index` is its position in generic TTIR.

    `loop` is the enclosing loop, `buffer` the argument that a memory op accesses; `elements` counts
    lanes, including masked-off ones.
    """

    index: int
    stack: int | None
    op: str
    kind: str | None
    dtype: str | None
    loop: int | None
    executions: int | None
    elements: int | None
    masked_off: int | None
    bytes: int | None
    unique_bytes: int | None
    sectors: int | None
    flops: int | None
    buffer: str | None


class Loop(TypedDict):
    """A loop with its trip counts over programs (minimum, median, maximum).

    `loop` is the index of the enclosing loop, if known.
    """

    index: int
    stack: int | None
    loop: int | None
    min: int | None
    median: float | None
    max: int | None


class AccessLayout(TypedDict):
    """Addresses of a record as progressions, as docs/accesses.md describes."""

    base: int
    programs: NotRequired[tuple[int, tuple[_IdLevel, ...]]]
    trips: NotRequired[tuple[int, tuple[_IdLevel, ...]]]
    lanes: NotRequired[_Ranges]
    box: NotRequired[_Ranges]
    active: NotRequired[_Ranges | None]
    runs: NotRequired[tuple[tuple[int, int, int, int, int], ...] | None]
    around: NotRequired[_Ranges]


_LAYOUT: Final = msgspec.json.Decoder(AccessLayout)


class Access(TypedDict):
    """A row of the table `accesses`: bytes that one op touches, in one program and iteration.

    `first` and `last` are byte offsets from the argument's data pointer; `active` counts lanes.
    """

    op: int
    arg: str | None
    program: int | None
    iteration: int | None
    first: int | None
    last: int | None
    active: int | None
    layout: AccessLayout | None


class SkippedFigure(TypedDict):
    """A note on a figure of an op that a pass skipped for its cost; `op` is the op's index."""

    op: int
    text: str


class CallOps(TypedDict):
    """The block `call/<index>` of a call; its figures are derived."""

    measured: bool
    ops: tuple[Op, ...]
    loops: tuple[Loop, ...]
    accesses: tuple[Access, ...]
    dots: tuple[Dot, ...]
    values: tuple[RecordedValue, ...]
    notes: tuple[SkippedFigure, ...]


def _blocks(context: Context) -> Iterable[Block]:
    for call in _calls_by_need(context):
        yield Block(f"call/{call}", partial(_call_block, context, call))


def _calls_by_need(context: Context) -> list[int]:
    """Return the indexes of calls with ops: calls with findings first, then the most launched."""
    report = context.report
    replayed = {
        (run, call_id)
        for run in range(len(context.runs))
        for call_id in np.unique(context.by_call("ops", run).calls).tolist()
    }
    indexes = [
        index for index, call in enumerate(report.calls) if (call.run, call.call_id) in replayed
    ]
    calls_of_findings = {finding.call for finding in report.findings}
    return sorted(
        indexes,
        key=lambda i: (
            i not in calls_of_findings,
            -report.calls[i].runs,
            -report.calls[i].launches,
            i,
        ),
    )


def _call_block(context: Context, call: int) -> str:
    variant = context.report.calls[call].variant
    module = context.module(variant) if variant >= 0 else None
    return bytes_block(
        msgspec.json.encode(  # the same bytes for texts and whole numbers, several times faster
            {
                "measured": False,
                "ops": [_op(context, row) for row in context.of_call("ops", call)],
                "loops": _raw(
                    [_loop(context, row, module) for row in context.of_call("loops", call)]
                ),
                "accesses": [_access(row) for row in context.of_call("accesses", call)],
                "dots": [] if module is None else dots_of(module),
                "values": _raw(recorded_values(context, call)),
                "notes": _raw(_notes(context, call)),
            }
        )
    )


def _raw(values: Sequence[Any]) -> Any:
    """Return values, of which numbers may be floats and texts anything, as encoded JSON."""
    return msgspec.Raw(json_text(values).encode("utf-8", "replace")) if values else ()


def _notes(context: Context, call: int) -> list[SkippedFigure]:
    record = context.report.calls[call]
    notes: list[SkippedFigure] = []
    for text in context.left_out(record.run):
        match = _LEFT_OUT.fullmatch(text)
        if match is not None and int(match["call"]) == record.call_id:
            notes.append({"op": int(match["op"]), "text": match["text"]})
    return notes


def _op(context: Context, row: dict[str, Any]) -> dict[str, Any]:
    return {
        "index": row["op_index"],
        "stack": context.stack(row["stack_id"]),
        **{name: row[name] for name in _FIGURES},
    }


def _loop(context: Context, row: dict[str, Any], module: Module | None) -> Loop:
    index = row["op_index"]
    ops = () if module is None else module.ops[index : index + 1]
    outer = (enclosing for op in ops for enclosing in enclosing_ops(op))
    return {
        "index": index,
        "stack": context.stack(row["stack_id"]),
        "loop": next((enclosing.index for enclosing in outer if enclosing.name in LOOPS), None),
        "min": row["trips_min"],
        "median": row["trips_median"],
        "max": row["trips_max"],
    }


def _access(row: dict[str, Any]) -> dict[str, Any]:
    return {
        "op": row["op_index"],
        **{name: row[name] for name in _ACCESS},
        "layout": _layout(row["layout"]),
    }


@lru_cache(1 << 12)  # calls of one kernel have many layouts in common
def _layout(layout_json: str | None) -> AccessLayout | None:
    """Return the JSON of the column `layout` as a dict; None if missing or malformed."""
    try:
        return None if layout_json is None else _LAYOUT.decode(layout_json)
    except (ValueError, RecursionError):
        return None


SOURCE: Final = BlockSource(
    name="call",
    order=10,
    share=0.4,
    noun="calls' ops and accesses",
    query="FROM ops JOIN accesses USING (run, call_id, op_index)",
    blocks=_blocks,
)
