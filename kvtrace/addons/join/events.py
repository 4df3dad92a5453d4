"""Events of a run in torch.profiler's JSON format, built from the trace's tables.

What an imported file had comes back as it was, from `tool_events` and `gpu_kernels`. Launches that
kvtrace recorded become operators with the driver's call.
"""

import heapq
import json
from collections.abc import Iterator
from typing import Any, Final

import pyarrow as pa
import pyarrow.compute as pc

from kvtrace.addons.join.call_facts import CallFacts
from kvtrace.figures import names
from kvtrace.schema.runs import Run, plain_rows
from kvtrace.schema.trace import Trace

_CATEGORY: Final = {"copy": "gpu_memcpy", "fill": "gpu_memset", None: "kernel"}
_REQUEST: Final = {"copy": "cudaMemcpyAsync", "fill": "cudaMemsetAsync", None: "cudaLaunchKernel"}
_CALLS: Final = frozenset({"cuda_runtime", "cuda_driver"})
_EXECUTIONS: Final = frozenset(_CATEGORY.values())
_MARK: Final = "user_annotation"
#: Name of the marks of torch.profiler's schedule, whose attribute `step` has the step's number.
_STEP: Final = "ProfilerStep"
#: The `source` of runs that were imported from files of this format.
_KINETO: Final = "kineto"
_BATCH_ROWS: Final = 1 << 12
_Event = dict[str, Any]
#: Call id, thread, begin and end of a launch.
_Launch = tuple[int, int | None, int, int]
#: Process, thread and begin of an event at which a flow ends, or begins.
_Place = tuple[Any, Any, Any]


def file_members(trace: Trace, run: Run) -> dict[str, Any]:
    """Return the members of the imported file besides its events; empty if it had none.

    Raises:
        DamagedFile, NewerFormat: a file cannot be read.
    """
    rows = trace.table("tool_events", [run], ["phase", "name", "members"])
    rows = rows.filter(pc.and_(rows["phase"].is_null(), rows["members"].is_valid()))
    return {row["name"]: json.loads(row["members"]) for row in rows.to_pylist()}


def events_of(trace: Trace, run: Run, facts: CallFacts, base: int) -> Iterator[_Event]:
    """Yield events of a run: executions, calls that asked for them, operators, marks, and flows.

    Times are µs since `base` (ns since 1970); rows without times are skipped. The driver's call of
    a recorded launch gets the times of the launching function, since kvtrace does not time the
    driver. An imported file of torch.profiler comes back with its events and no other.

    Raises:
        DamagedFile, NewerFormat: a file cannot be read.
    """
    kept = trace.table("tool_events", [run])
    kept = kept.filter(kept["phase"].is_valid())
    if kept.num_rows:
        events = _imported_events(trace, run, kept, facts)
    else:
        events = _recorded_events(trace, run, facts)
    for event in events if run.source == _KINETO else _with_flows(events):
        if "ts" in event:
            event["ts"] = _microseconds(event["ts"] - base)
        if "dur" in event:
            event["dur"] = _microseconds(event["dur"])
        yield event


def _microseconds(nanoseconds: int) -> int | float:
    whole, rest = divmod(nanoseconds, 1000)
    return nanoseconds / 1000 if rest else whole


def _imported_events(trace: Trace, run: Run, kept: pa.Table, facts: CallFacts) -> Iterator[_Event]:
    """Yield the events of an imported file in their order; those of other tools after the marks."""
    if run.source != _KINETO:  # else marks are among the kept events
        yield from _mark_events(trace, run)
    executions = trace.table("gpu_kernels", [run])
    numbered = (
        ((row["record"], _kept_event(row, run.pid or 0)) for row in _in_order(kept)),
        ((row["record"], _execution_event(row, facts, as_recorded=True))
         for row in _in_order(executions) if row["start"] is not None
         if row["end"] is not None or row["impossible"] is not None),
    )  # fmt: skip
    for _, event in heapq.merge(*numbered, key=lambda pair: pair[0]):
        yield event


def _in_order(rows: pa.Table) -> Iterator[dict[str, Any]]:
    return _plain_rows(rows.sort_by("record"))


def _plain_rows(rows: pa.Table) -> Iterator[dict[str, Any]]:
    for batch in rows.to_batches(_BATCH_ROWS):
        yield from plain_rows(pa.Table.from_batches([batch]))


def _kept_event(row: dict[str, Any], pid: int) -> _Event:
    """Return an event of `tool_events` as it was; `pid` is the process of one without."""
    members = json.loads(row["members"] or "{}")
    ids = {"External id": row["external_id"], "correlation": row["correlation_id"]}
    args = members.get("args", {})
    if isinstance(args, dict):
        args |= {key: value for key, value in ids.items() if value is not None and key not in args}
        if args:
            members["args"] = args
    event = {
        "ph": row["phase"] or None,
        "cat": row["category"],
        "name": row["name"],
        "pid": pid if row["process"] is None else row["process"],
        "tid": row["thread"],
        "ts": row["begin"],
        "dur": None if None in (row["begin"], row["end"]) else row["end"] - row["begin"],
    }
    return {**{key: value for key, value in event.items() if value is not None}, **members}


def _recorded_events(trace: Trace, run: Run, facts: CallFacts) -> Iterator[_Event]:
    """Yield the events of a recording by kvtrace, with times in ns since 1970."""
    pid = run.pid or 0
    yield from _mark_events(trace, run)
    launches = _timed_launches(trace, run)
    requested: set[int] = set()
    ids = trace.table("gpu_kernels", [run], ["correlation_id"])["correlation_id"]
    has_ids = ids.null_count < len(ids)
    for row in _rows(trace, run, "gpu_kernels"):
        if row["start"] is None or row["end"] is None:
            continue
        if not has_ids and row["graph_id"] is None:  # readers match by an id alone
            row["correlation_id"] = row["launch_seq"]
        launch = launches.pop(row["launch_seq"], None) if row["graph_id"] is None else None
        if launch is not None and row["call_id"] is None:
            row["call_id"] = launch[0]
        yield _execution_event(row, facts, as_recorded=False)
        if launch is not None:
            yield from _launch_events(launch, row["correlation_id"], pid, facts)
        elif row["requested"] is not None and row["correlation_id"] not in requested:
            requested.add(row["correlation_id"])
            yield _request_event(row, pid)
    for launch in launches.values():
        yield from _launch_events(launch, None, pid, facts)


def _timed_launches(trace: Trace, run: Run) -> dict[int, _Launch]:
    """Return the launches that have both times, by number."""
    launches: dict[int, _Launch] = {}
    for piece in trace.pieces("launches", [run], ["seq", "call_id", "thread", "enter", "exit"]):
        enter, left = (piece[name].cast(pa.int64()) for name in ("enter", "exit"))
        times = enter.to_pylist(), left.to_pylist()
        rows = zip(piece["call_id"].to_pylist(), piece["thread"].to_pylist(), *times, strict=True)
        launches.update(
            (seq, row)
            for seq, row in zip(piece["seq"].to_pylist(), rows, strict=True)
            if row[2] is not None and row[3] is not None
        )
    return launches


def _mark_events(trace: Trace, run: Run) -> Iterator[_Event]:
    for mark in _rows(trace, run, "marks"):
        if mark["begin"] is not None and mark["end"] is not None:
            step = dict(mark["attributes"] or ()).get("step")
            name = f"{_STEP}#{step}" if step and mark["name"] == _STEP else mark["name"]
            span = (run.pid or 0, mark["thread"] or 0, mark["begin"], mark["end"])
            yield _event(_MARK, name, *span, {})


def _rows(trace: Trace, run: Run, table: str) -> Iterator[dict[str, Any]]:
    for piece in trace.pieces(table, [run]):
        yield from _plain_rows(piece)


def _execution_event(row: dict[str, Any], facts: CallFacts, *, as_recorded: bool) -> _Event:
    """Return the event of an execution.

    `as_recorded`: with the name as it is, else a symbol is demangled.
    """
    call_facts = {} if row["call_id"] is None else facts.of(row["call_id"])
    members = json.loads(row["members"]) if row["members"] else {}
    args: dict[str, Any] = {
        "External id": row["external_id"],
        "device": row["device"],
        "stream": row["stream"],
        "correlation": row["correlation_id"],
        "graph id": row["graph_id"],
        "graph node id": row["graph_node_id"],
        "registers per thread": row["registers"],
        "shared memory": row["shared_bytes"],
        "bytes": row["bytes"],
        **{key: _axis_sizes(row, key) for key in ("grid", "block")},
        **call_facts,
        "kvtrace grade": row["grade"],
    }
    args = {key: value for key, value in args.items() if value is not None}
    args |= members.pop("args", {})
    for key in ("device", "stream", "bytes"):  # null: from another member of the imported event
        if key in args and args[key] is None:
            del args[key]
    category = _CATEGORY.get(row["kind"], "kernel")
    name = row["name"] or ""
    end = row["stated_end"] if row["end"] is None else row["end"]
    span = (
        row["device"] or 0,
        row["stream"] or 0,
        row["start"],
        row["start"] if end is None else end,
    )
    shown = name if as_recorded else names.full_name(name)
    event = {**_event(category, shown, *span, args), **members}
    if end is None:
        del event["dur"]
    elif end < row["start"]:
        event["dur"] = end - row["start"]
    return event


def _axis_sizes(row: dict[str, Any], name: str) -> list[int] | None:
    sizes = [row[f"{name}_{axis}"] for axis in "xyz"]
    return None if None in sizes else sizes


def _launch_events(
    launch: _Launch, correlation: int | None, pid: int, facts: CallFacts
) -> Iterator[_Event]:
    call_id, thread, begin, end = launch
    arguments = facts.of(call_id)
    span = (pid, thread or 0, begin, end)
    if arguments:
        yield _event("cpu_op", arguments.get("kernel_name", "triton"), *span, arguments)
    if correlation is not None:
        yield _event("cuda_driver", "cuLaunchKernelEx", *span, {"correlation": correlation})


def _request_event(row: dict[str, Any], pid: int) -> _Event:
    name = "cudaGraphLaunch" if row["graph_id"] is not None else _REQUEST.get(row["kind"], "")
    thread = row["request_thread"] or 0
    span = (pid, thread, row["requested"], row["requested"])
    return _event("cuda_runtime", name, *span, {"correlation": row["correlation_id"]})


def _with_flows(events: Iterator[_Event]) -> Iterator[_Event]:
    """Yield the events, then for each execution whose call is known a flow from the call to it."""
    calls: dict[int, _Place] = {}
    executions: list[tuple[int, _Place]] = []
    for event in events:
        correlation = event.get("args", {}).get("correlation")
        if correlation is not None and "ts" in event:
            category, place = event.get("cat"), (event.get("pid"), event.get("tid"), event["ts"])
            if category in _CALLS:
                calls[correlation] = place
            elif category in _EXECUTIONS:
                executions.append((correlation, place))
        yield event
    begun: set[int] = set()
    for correlation, place in executions:
        if correlation not in calls:
            continue
        if correlation not in begun:  # executions of a graph's replay share one call
            begun.add(correlation)
            yield _flow("s", correlation, calls[correlation])
        yield _flow("f", correlation, place)


def _flow(phase: str, correlation: int, place: _Place) -> _Event:
    ids = dict(zip(("pid", "tid", "ts"), place, strict=True))
    return {"ph": phase, "id": correlation, **ids, "cat": "ac2g", "name": "ac2g", "bp": "e"}


def _event(
    category: str, name: str, pid: int, tid: int, begin: int, end: int, args: dict[str, Any]
) -> _Event:
    return {
        "ph": "X",
        "cat": category,
        "name": name,
        "pid": pid,
        "tid": tid,
        "ts": begin,
        "dur": max(end - begin, 0),
        "args": args,
    }
