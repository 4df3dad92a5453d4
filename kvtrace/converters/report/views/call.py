"""`call/<index>`: what each op of a call did, and where its accesses went.

From the derived tables that `kvtrace replay` fills, and from the kernel's TTIR; a call without ops
has no block.
"""

import json
import re
from collections.abc import Iterable
from dataclasses import asdict
from functools import partial
from typing import Any, Final

import numpy as np

from kvtrace.converters.report.dots import dots_of
from kvtrace.converters.report.pack import json_block
from kvtrace.converters.report.recorded import recorded_values
from kvtrace.converters.report.sources import Block, BlockSource, Context

__all__ = ["SOURCE"]

_FIGURES: Final = (
    "op", "kind", "dtype", "loop", "executions", "elements", "masked_off", "bytes",
    "unique_bytes", "sectors", "flops", "buffer",
)  # fmt: skip
#: How the tracer and the profiler begin a note.
_LEFT_OUT: Final = re.compile(r"call (?P<call>\d+), op (?P<op>\d+) \([^)]*\): (?P<text>.*)", re.S)
_ACCESS: Final = ("arg", "program", "iteration", "first", "last", "active")


def _blocks(context: Context) -> Iterable[Block]:
    for call in _by_need(context):
        yield Block(f"call/{call}", partial(_packed, context, call))


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


def _packed(context: Context, call: int) -> str:
    variant = context.report.calls[call].variant
    module = context.module(variant) if variant >= 0 else None
    return json_block(
        {
            "measured": False,
            "ops": [_op(context, row) for row in context.of_call("ops", call)],
            "loops": [_loop(context, row) for row in context.of_call("loops", call)],
            "accesses": [_access(row) for row in context.of_call("accesses", call)],
            "dots": [] if module is None else [asdict(dot) for dot in dots_of(module)],
            "values": [asdict(value) for value in recorded_values(context, call)],
            "notes": _notes(context, call),
        }
    )


def _notes(context: Context, call: int) -> list[dict[str, Any]]:
    """Return what passes gave up for its cost in this call: an op, and what of it is missing."""
    own = context.report.calls[call]
    found = []
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


def _loop(context: Context, row: dict[str, Any]) -> dict[str, Any]:
    return {
        "index": row["op_index"],
        "stack": context.stack(row["stack_id"]),
        "min": row["trips_min"],
        "median": row["trips_median"],
        "max": row["trips_max"],
    }


def _access(row: dict[str, Any]) -> dict[str, Any]:
    return {
        "op": row["op_index"],
        **{name: row[name] for name in _ACCESS},
        "layout": None if row["layout"] is None else json.loads(row["layout"]),
    }


SOURCE: Final = BlockSource(
    name="call",
    order=10,
    share=0.4,
    noun="calls' ops and accesses",
    query="FROM ops JOIN accesses USING (run, call_id, op_index)",
    blocks=_blocks,
)
