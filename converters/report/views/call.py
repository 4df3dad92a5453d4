"""`call/<index>`: what each op of a call did, and where its accesses went.

From the derived tables that `kvtrace replay` fills, and from the kernel's TTIR; a call without ops
has no block.
"""

import json
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict
from functools import partial
from typing import Any, Final, NotRequired, TypedDict

import numpy as np

from kvtrace.converters.report.dots import Dot, dots_of
from kvtrace.converters.report.pack import json_block
from kvtrace.converters.report.recorded_tensors import RecordedValue, recorded_values
from kvtrace.converters.report.sources import Block, BlockSource, Context, block_sources
from kvtrace.ir import Module
from kvtrace.ir.flow import enclosing_ops
from kvtrace.ir.ops import LOOPS

__all__ = ["SOURCE", "CallOps"]

_FIGURES: Final = (
    "op", "kind", "dtype", "loop", "executions", "elements", "masked_off", "bytes",
    "unique_bytes", "sectors", "flops", "buffer",
)  # fmt: skip
#: How the tracer and the profiler begin a note.
_LEFT_OUT: Final = re.compile(r"call (?P<call>\d+), op (?P<op>\d+) \([^)]*\): (?P<text>.*)", re.S)
_ACCESS: Final = ("arg", "program", "iteration", "first", "last", "active")
#: Of a layout's lists of rows, how many numbers a row has.
_WIDTHS: Final = {"lanes": 2, "box": 2, "active": 2, "runs": 5, "around": 2}

#: How many, step of the id, step of the address in bytes.
_IdLevel = tuple[int, int, int]
_Ranges = tuple[tuple[int, int], ...]


class Op(TypedDict):
    """What an op did over all programs of one launch; `index` is its place in the generic TTIR.

    `loop` is the loop around it, `buffer` the argument that a memory op goes to; `elements` counts
    lanes, those that a mask turns off among them.
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
    """A loop, the loop around it where that is known, and trips of each program.

    `before` is its place among the ops, where its own index is none: it comes before that one.
    """

    index: int
    before: int
    name: str | None
    stack: int | None
    loop: int | None
    min: int | None
    median: float | None
    max: int | None


class AccessLayout(TypedDict):
    """Addresses of a record as progressions: docs/accesses.md says how they are to be read."""

    base: int
    programs: NotRequired[tuple[int, tuple[_IdLevel, ...]]]
    trips: NotRequired[tuple[int, tuple[_IdLevel, ...]]]
    lanes: NotRequired[_Ranges]
    box: NotRequired[_Ranges]
    active: NotRequired[_Ranges | None]
    runs: NotRequired[tuple[tuple[int, int, int, int, int], ...] | None]
    around: NotRequired[_Ranges]


class Access(TypedDict):
    """A record of accesses; `first` and `last` are bytes from the argument's data pointer."""

    op: int
    arg: str | None
    program: int | None
    iteration: int | None
    first: int | None
    last: int | None
    active: int | None
    layout: AccessLayout | None


class CallNote(TypedDict):
    """What passes gave up for its cost in a call: an op, and what of it is missing."""

    op: int
    text: str


class CallOps(TypedDict):
    """The block `call/<index>`."""

    measured: bool
    ops: tuple[Op, ...]
    loops: tuple[Loop, ...]
    accesses: tuple[Access, ...]
    dots: tuple[Dot, ...]
    values: tuple[RecordedValue, ...]
    notes: tuple[CallNote, ...]


def _blocks(context: Context) -> Iterable[Block]:
    loop_tables = [each.loop_table for each in block_sources() if each.loop_table is not None]
    for call in _by_need(context):
        yield Block(f"call/{call}", partial(_packed, context, loop_tables, call))


def _by_need(context: Context) -> list[int]:
    """Return calls that have ops: those that findings point at, then the most launched."""
    report = context.report
    replayed = {
        (run, call_id)
        for run in range(len(context.runs))
        for call_id in np.unique(context.by_call("ops", run).calls).tolist()
    }
    found = [
        index for index, call in enumerate(report.calls) if (call.run, call.call_id) in replayed
    ]
    pointed = {finding.call for finding in report.findings}
    return sorted(
        found, key=lambda i: (i not in pointed, -report.calls[i].runs, -report.calls[i].launches, i)
    )


def _packed(context: Context, loop_tables: Sequence[str], call: int) -> str:
    variant = context.report.calls[call].variant
    module = context.module(variant) if variant >= 0 else None
    nesting = {
        row["op_index"]: row for table in loop_tables for row in context.of_client(table, call)
    }
    return json_block(
        {
            "measured": False,
            "ops": [_op(context, row) for row in context.of_call("ops", call)],
            "loops": [
                _loop(context, row, module, nesting) for row in context.of_call("loops", call)
            ],
            "accesses": [_access(row) for row in context.of_call("accesses", call)],
            "dots": [] if module is None else [asdict(dot) for dot in dots_of(module)],
            "values": [asdict(value) for value in recorded_values(context, call)],
            "notes": _notes(context, call),
        }
    )


def _notes(context: Context, call: int) -> list[CallNote]:
    own = context.report.calls[call]
    found: list[CallNote] = []
    for text in context.left_out(own.run):
        match = _LEFT_OUT.fullmatch(text)
        if match is not None and int(match["call"]) == own.call_id:
            found.append({"op": int(match["op"]), "text": match["text"]})
    return found


def _op(context: Context, row: dict[str, Any]) -> dict[str, Any]:
    return {
        "index": row["op_index"],
        "stack": context.stack(row["stack_id"]),
        **{name: row[name] for name in _FIGURES},
    }


def _loop(
    context: Context,
    row: dict[str, Any],
    module: Module | None,
    nesting: Mapping[int, Mapping[str, Any]],
) -> Loop:
    index = row["op_index"]
    nested = nesting.get(index, {})
    ops = () if module is None else module.ops[index : index + 1]
    outer = (each for op in ops for each in enclosing_ops(op))
    return {
        "index": index,
        "before": nested.get("before", index),
        "name": nested.get("name"),
        "stack": context.stack(row["stack_id"]),
        "loop": next((each.index for each in outer if each.name in LOOPS), nested.get("loop")),
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


def _layout(text: str | None) -> dict[str, Any] | None:
    """Return a layout that a page can show; None where there is none, or a file says nonsense."""
    try:
        layout = None if text is None else json.loads(text)
    except (ValueError, RecursionError):
        return None
    if not isinstance(layout, dict) or not _numbers([layout.get("base")], 1):
        return None
    fine = all(_has_width(layout.get(name), width) for name, width in _WIDTHS.items()) and all(
        name not in layout or _is_levels(layout[name]) for name in ("programs", "trips")
    )
    return layout if fine else None


def _numbers(entry: object, width: int) -> bool:
    return (
        isinstance(entry, list) and len(entry) == width and all(type(each) is int for each in entry)
    )


def _has_width(entries: object, width: int) -> bool:
    """Tell whether these are rows of so many numbers; nothing is, too."""
    return entries is None or (
        isinstance(entries, list) and all(_numbers(each, width) for each in entries)
    )


def _is_levels(entry: object) -> bool:
    """Tell whether this is a first id, and levels of three numbers each."""
    return (
        isinstance(entry, list)
        and len(entry) == 2
        and type(entry[0]) is int
        and isinstance(entry[1], list)
        and _has_width(entry[1], 3)
    )


SOURCE: Final = BlockSource(
    name="call",
    order=10,
    share=0.4,
    noun="calls' ops and accesses",
    query="FROM ops JOIN accesses USING (run, call_id, op_index)",
    blocks=_blocks,
)
