"""NKI calls on a timeline: a track per engine, and counters of SBUF and PSUM.

Ops that ran on NumPy have an order but no times. So the ops of a call are spread evenly over the
time of its first launch, as the tracks' names say. Flows lead from an op that writes a buffer to
the ops that read the written contents.
"""

from collections.abc import Mapping
from hashlib import blake2b
from pathlib import PurePath
from typing import TYPE_CHECKING, Any, Final

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from kvtrace.addons.neuron.views.chip_profile import CALLS
from kvtrace.addons.neuron.views.on_chip import EXECUTIONS, OnChipCall, on_chip_calls
from kvtrace.converters.timeline.captions import Caption, Facts
from kvtrace.converters.timeline.timeline import (
    Counter,
    Integers,
    PartDrawing,
    Slices,
    TimelinePart,
    Track,
)
from kvtrace.figures.columns import combined_codes, dictionary_values, integers

if TYPE_CHECKING:
    from kvtrace.schema.trace import Run, Trace

_CATEGORY: Final = "nki"
_UNITS: Final = {"sbuf": "SBUF bytes a partition", "psum": "PSUM banks"}


def _draw(trace: "Trace", run: "Run", process: Track) -> PartDrawing:
    """Return slices and counters of a run's NKI calls; ops without a row are counted as left out.

    Raises:
        DamagedFile, NewerFormat: as the reader of the trace.

    """
    drawn, missing_ops = PartDrawing(), 0
    if CALLS not in trace.client_tables:
        return drawn
    launch_spans = _first_launch_spans(trace, run)
    executions = trace.table(EXECUTIONS, [run])
    captions = _captions_by_call(trace, run)
    for call in on_chip_calls(trace, [run]):
        launch_span = launch_spans.get(call.call_id)
        if launch_span is None or not call.executed:
            continue
        begin, op_duration = (
            launch_span[0],
            max((launch_span[1] - launch_span[0]) // call.executed, 1),
        )
        title = f"{call.kernel}, call {call.call_id}: ops in their order, not their times"
        parent = process.child(title, lane=call.call_id, rank=1)
        rows = executions.filter(pc.equal(executions["call_id"], call.call_id))
        missing_ops += call.executed - rows.num_rows
        call_captions = captions.get(call.call_id, {})
        flow = buffer_flows(rows, f"{run.run_id}/{call.call_id}")
        begins = begin + integers(rows["order"]) * op_duration
        durations: Integers = np.full(begins.size, op_duration, np.int64)
        drawn.slices += _engine_slices(rows, parent, begins, durations, call_captions, flow)
        drawn.counters += _counters(call, parent, begin, op_duration)
    if missing_ops:
        drawn.left_out["ops of NKI kernels that were not kept one by one"] = missing_ops
    return drawn


def _first_launch_spans(trace: "Trace", run: "Run") -> dict[int, tuple[int, int]]:
    rows = trace.table("launches", [run], ["seq", "call_id", "enter", "exit"]).sort_by("seq")
    begins, ends = integers(rows["enter"]), integers(rows["exit"])
    spans: dict[int, tuple[int, int]] = {}
    calls = rows["call_id"].to_pylist()
    for call, begin, end in zip(calls, begins.tolist(), ends.tolist(), strict=True):
        spans.setdefault(call, (begin, end))
    return spans


def _captions_by_call(trace: "Trace", run: "Run") -> dict[int, dict[int, Caption]]:
    stacks = {
        row["stack_id"]: row["frames"]
        for row in trace.table("stacks", [run], ["stack_id", "frames"]).to_pylist()
    }
    columns = ["call_id", "op_index", "op", "dtype", "stack_id", "buffer"]
    captions: dict[int, dict[int, Caption]] = {}
    for row in trace.table("ops", [run], columns).to_pylist():
        captions.setdefault(row["call_id"], {})[row["op_index"]] = _caption(row, stacks)
    return captions


def _caption(row: Mapping[str, Any], stacks: Mapping[int, Any]) -> Caption:
    facts: list[tuple[str, int | str | Facts]] = [("op_index", row["op_index"])]
    facts += [(key, row[key]) for key in ("dtype", "buffer") if row[key]]
    frames = stacks.get(row["stack_id"]) or ()
    if frames:
        facts.append(("line", f"{PurePath(frames[0]['file'] or '?').name}:{frames[0]['line']}"))
    return Caption(row["op"] or "op", tuple(facts))


def _engine_slices(
    rows: pa.Table,
    parent: Track,
    begins: Integers,
    durations: Integers,
    captions_by_op: Mapping[int, Caption],
    flow: npt.NDArray[np.uint64] | None,
) -> list[Slices]:
    op_codes, first_rows = combined_codes([rows["op_index"]])
    ops = dictionary_values(rows["op_index"], first_rows)
    captions = [captions_by_op.get(code, Caption(f"op {code}")) for code in ops]
    all_slices = Slices(parent, _CATEGORY, begins, durations, op_codes, captions, flow=flow)
    engine_codes, first_rows = combined_codes([rows["engine"]])
    engines = dictionary_values(rows["engine"], first_rows)
    return [
        all_slices.rows(engine_codes == code, parent.child(f"{engine} engine"))
        for code, engine in enumerate(engines)
    ]


def _counters(call: OnChipCall, parent: Track, begin: int, step: int) -> list[Counter]:
    return [
        Counter(
            parent.child(f"{_UNITS[usage.space]} (of {usage.limit:,})", "counter"),
            begin + np.array(usage.orders, np.int64) * step,
            np.array(usage.amounts, np.int64),
        )
        for usage in call.usage
        if usage.orders
    ]


PART: Final = TimelinePart(_CATEGORY, "executed ops of NKI kernels", _draw)


#: Maximum number of executed ops of a call for which flows are made.
LIMIT: Final = 100_000

#: Maximum number of flows that lead to an op, one for each buffer read.
_READS: Final = 4


def buffer_flows(rows: pa.Table, key: str) -> npt.NDArray[np.uint64] | None:
    """Return the flow ids of each executed op: of the buffer it writes, and of those it reads.

    A flow connects a write with all reads before the next write; 0 stands for no flow. `key`
    distinguishes the flows of different calls. The result is None without ops, or if there are too
    many.
    """
    if rows.num_rows > LIMIT or not rows.num_rows:
        return None
    digest = blake2b(key.encode(), digest_size=4).digest()
    base_id = int.from_bytes(digest, "little") << 32
    flows = np.zeros((rows.num_rows, 1 + _READS), np.uint64)
    writer: dict[int, int] = {}
    accesses = zip(rows["read"].to_pylist(), rows["written"].to_pylist(), strict=True)
    for order, (read_buffers, target) in enumerate(accesses):
        sources = [
            writer[buffer] for buffer in dict.fromkeys(read_buffers or ()) if buffer in writer
        ]
        for column, source in enumerate(sources[:_READS]):
            flows[order, 1 + column] = flows[source, 0] = base_id + source + 1
        if target is not None:
            writer[target] = order
    return flows
