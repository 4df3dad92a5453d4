"""Events of a run in torch.profiler's JSON format, built from the trace's tables."""

from collections.abc import Iterator
from typing import Any, Final

from kvtrace.addons.join.call_facts import CallFacts
from kvtrace.figures.names import readable
from kvtrace.schema.runs import Run, plain_rows
from kvtrace.schema.trace import Trace

_CATEGORY: Final = {"copy": "gpu_memcpy", "fill": "gpu_memset", None: "kernel"}
_REQUEST: Final = {"copy": "cudaMemcpyAsync", "fill": "cudaMemsetAsync", None: "cudaLaunchKernel"}


def events_of(trace: Trace, run: Run, facts: CallFacts, base: int) -> Iterator[dict[str, Any]]:
    """Yield events of a run: marks, launches as operators with the driver's call, and executions.

    Times are µs since `base` (ns since 1970); rows without times are skipped. The driver's call of
    a launch gets the times of the launching function, since kvtrace does not time the driver.

    Raises:
        DamagedFile, NewerFormat: a file cannot be read.
    """
    for event in _events(trace, run, facts):
        event["ts"] = (event["ts"] - base) / 1000
        event["dur"] /= 1000
        yield event


def _events(trace: Trace, run: Run, facts: CallFacts) -> Iterator[dict[str, Any]]:
    """Yield the events of `events_of` with times in ns since 1970."""
    pid = run.pid or 0
    for mark in _rows(trace, run, "marks"):
        if mark["begin"] is not None and mark["end"] is not None:
            span = (pid, mark["thread"] or 0, mark["begin"], mark["end"])
            yield _event("user_annotation", mark["name"], *span, {})
    launches = {
        row["seq"]: row
        for row in _rows(trace, run, "launches")
        if row["enter"] is not None and row["exit"] is not None
    }
    requested: set[int] = set()
    for row in _rows(trace, run, "gpu_kernels"):
        if row["start"] is None or row["end"] is None:
            continue
        yield _execution_event(row, facts)
        launch = launches.pop(row["launch_seq"], None) if row["graph_id"] is None else None
        if launch is not None:
            yield from _launch_events(launch, row["correlation_id"], pid, facts)
        elif row["requested"] is not None and row["correlation_id"] not in requested:
            requested.add(row["correlation_id"])
            yield _request_event(row, pid)
    for row in launches.values():
        yield from _launch_events(row, None, pid, facts)


def _rows(trace: Trace, run: Run, table: str) -> Iterator[dict[str, Any]]:
    for piece in trace.pieces(table, [run]):
        yield from plain_rows(piece)


def _execution_event(row: dict[str, Any], facts: CallFacts) -> dict[str, Any]:
    call_facts = {} if row["call_id"] is None else facts.of(row["call_id"])
    args: dict[str, Any] = {
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
    category = _CATEGORY.get(row["kind"], "kernel")
    name = readable(row["name"] or "")
    span = (row["device"] or 0, row["stream"] or 0, row["start"], row["end"])
    return _event(category, name, *span, args)


def _axis_sizes(row: dict[str, Any], name: str) -> list[int] | None:
    sizes = [row[f"{name}_{axis}"] for axis in "xyz"]
    return None if None in sizes else sizes


def _launch_events(
    row: dict[str, Any], correlation: int | None, pid: int, facts: CallFacts
) -> Iterator[dict[str, Any]]:
    arguments = facts.of(row["call_id"])
    span = (pid, row["thread"] or 0, row["enter"], row["exit"])
    yield _event("cpu_op", arguments.get("kernel_name", "triton"), *span, arguments)
    if correlation is not None:
        yield _event("cuda_driver", "cuLaunchKernelEx", *span, {"correlation": correlation})


def _request_event(row: dict[str, Any], pid: int) -> dict[str, Any]:
    name = "cudaGraphLaunch" if row["graph_id"] is not None else _REQUEST.get(row["kind"], "")
    thread = row["request_thread"] or 0
    span = (pid, thread, row["requested"], row["requested"])
    return _event("cuda_runtime", name, *span, {"correlation": row["correlation_id"]})


def _event(
    category: str, name: str, pid: int, tid: int, begin: int, end: int, args: dict[str, Any]
) -> dict[str, Any]:
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
