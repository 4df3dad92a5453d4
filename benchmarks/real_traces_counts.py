"""Sums of other tools' trace files, counted without kvtrace: by plain JSON, CSV and SQL.

`counts_of(tool, path)` reads a file of `real_traces.tsv`. What it counts follows each format's own
documentation, not kvtrace's importers, whose results `real_traces.py` compares with these.
"""

import csv
import gzip
import json
import sqlite3
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from contextlib import closing
from dataclasses import dataclass, field
from decimal import Decimal
from pathlib import Path
from typing import Any

#: Most of the columns of activities in exports of nsys: time, device, stream and process.
_ACTIVITY = '"start", "end", deviceId, streamId'


@dataclass
class Counts:
    """What a trace holds; times in ns.

    Attributes:
        kernels: Executions and their summed time by the kernel's name.
        copies: Number, summed time and summed bytes of memory copies.
        fills: Number and summed time of fills of memory.
        devices: Number and summed time of executions, copies and fills by device.
        streams: (device, stream) with executions, copies or fills.
        first: Start of the first execution, copy or fill, on the clock of the trace.
        last: End of the last.
        ranges: Number of the program's own ranges and marks, by name.
        calls: Logged launches by the kernel's name, where a log has no device times.
        left_out: Events that kvtrace has no table for, by the tool's own category.

    """

    kernels: dict[str, list[int]] = field(default_factory=dict)
    copies: list[int] = field(default_factory=lambda: [0, 0, 0])
    fills: list[int] = field(default_factory=lambda: [0, 0])
    devices: dict[Any, list[int]] = field(default_factory=dict)
    streams: set[tuple[Any, Any]] = field(default_factory=set)
    first: int | None = None
    last: int | None = None
    ranges: Counter[str] = field(default_factory=Counter)
    calls: Counter[str] = field(default_factory=Counter)
    left_out: Counter[str] = field(default_factory=Counter)

    def add(self, kind: str, name: str, start: int, end: int, stream: Any, size: int = 0) -> None:
        """Add an execution (`kind` kernel), a copy of `size` bytes, or a fill."""
        if kind == "kernel":
            self.add_kernels(name, 1, end - start)
        elif kind == "copy":
            for index, value in enumerate((1, end - start, size)):
                self.copies[index] += value
        else:
            self.fills = [self.fills[0] + 1, self.fills[1] + end - start]
        self.streams.add(stream)
        sums = self.devices.setdefault(stream[0], [0, 0])
        sums[0] += 1
        sums[1] += end - start
        self.first = start if self.first is None else min(self.first, start)
        self.last = end if self.last is None else max(self.last, end)

    def add_kernels(self, name: str, count: int, time: int) -> None:
        """Add `count` executions of a kernel that took `time` ns together."""
        entry = self.kernels.setdefault(name, [0, 0])
        entry[0] += count
        entry[1] += time

    def executions(self) -> int:
        """Return the number of executions of kernels."""
        return sum(count for count, _ in self.kernels.values())


def counts_of(tool: str, path: Path) -> Counts:
    """Return the counts of a file that `tool` wrote; KeyError for tools without a counter."""
    return _COUNTERS[tool](path)


def _json(content: bytes) -> Any:
    return json.loads(content, parse_float=str)  # exact


def _content(path: Path) -> bytes:
    content = path.read_bytes()
    return gzip.decompress(content) if content.startswith(b"\x1f\x8b") else content


# torch.profiler: categories since PyTorch 1.8, as libkineto/src/output_json.cpp names them.
_KINETO = {
    "kernel": "kernel", "Kernel": "kernel",
    "gpu_memcpy": "copy", "Memcpy": "copy", "gpu_memset": "fill", "Memset": "fill",
}  # fmt: skip
#: Events of MTIA's devices: copies, waits of streams for others, and else kernels.
_MTIA, _MTIA_COPY, _MTIA_WAITS = "mtia_ccp_events", "dma_request", ("event_wait", "event_record")
#: Categories whose events become stacks and requests of executions, and events of the host.
_KINETO_HOST = {
    "cpu_op", "Operator", "python_function", "cuda_runtime", "cuda_driver", "hip_runtime",
    "privateuse1_runtime", "mtia_runtime", "Runtime",
}  # fmt: skip

#: Categories of arrows from calls to executions, which repeat their correlation ids.
_KINETO_ARROWS = {"ac2g", "async_cpu_to_gpu", "async_gpu", "async"}


def _kineto(path: Path) -> Counts:
    content = _json(_content(path))
    events = content if isinstance(content, list) else content["traceEvents"]
    facts = {} if isinstance(content, list) else content
    base = int(facts.get("baseTimeNanoseconds", 0))
    counts = Counts()
    for event in events:
        category, name = event.get("cat"), event.get("name", "")
        if event.get("ph") != "X":
            if category not in _KINETO_ARROWS and not _is_bookkeeping(event):
                counts.left_out[f"{category or name} ({event['ph']})"] += 1
            continue
        args = event.get("args") or {}
        if category == _MTIA and name not in _MTIA_WAITS:
            category = "gpu_memcpy" if name == _MTIA_COPY else "kernel"
        if category in _KINETO:
            start = base + _ns(event["ts"])
            stream = (_int(args.get("device", event.get("pid"))),
                      _int(args.get("stream", event.get("tid"))))  # fmt: skip
            counts.add(
                _KINETO[category],
                name,
                start,
                start + _ns(event.get("dur", 0)),
                stream,
                int(args.get("bytes", args.get("size", 0))),
            )
        elif category == "user_annotation" or _is_old_step(event):
            counts.ranges[_range_name(name)] += 1
        elif category not in _KINETO_HOST and category != "Trace":  # the file's own span
            counts.left_out[f"{category} {name}" if category == _MTIA else str(category)] += 1
    return counts


def _is_bookkeeping(event: Any) -> bool:
    """Return whether an event names a process or a thread, or marks the profiler's own window."""
    name = event.get("name", "")
    return event["ph"] == "M" or name.startswith(("Iteration Start", "Record Window End"))


def _is_old_step(event: Any) -> bool:
    """Return whether an event is a step of PyTorch 1.8 to 1.10, which had no category for them."""
    return event.get("cat") == "Operator" and event["name"].startswith("ProfilerStep#")


def _range_name(name: str) -> str:
    """Return a range's name, without the number of a step of torch.profiler's schedule."""
    return "ProfilerStep" if name.startswith("ProfilerStep#") else name


def _ns(microseconds: Any) -> int:
    return round(Decimal(str(microseconds)) * 1000)


def _int(value: Any) -> int | None:
    try:
        return int(value)
    except (TypeError, ValueError):
        return None  # a thread with a name


def _nsys(path: Path) -> Counts:
    counts = Counts()
    with closing(sqlite3.connect(f"file:{path.resolve()}?mode=ro", uri=True)) as database:
        database.text_factory = lambda raw: raw.decode("utf-8", "replace")
        tables = {
            name: database.execute(f'SELECT count(*) FROM "{name}"').fetchone()[0]
            for (name,) in database.execute("SELECT name FROM sqlite_master WHERE type = 'table'")
        }
        shift = 0
        if "TARGET_INFO_SESSION_START_TIME" in tables:
            shift = database.execute(
                "SELECT max(utcEpochNs) FROM TARGET_INFO_SESSION_START_TIME"
            ).fetchone()[0]
        for kind, query in _nsys_queries(tables):
            for name, start, end, device, stream, size in database.execute(query):
                counts.add(kind, name, start + shift, end + shift, (device, stream), size)
        if "NVTX_EVENTS" in tables:
            named = "coalesce(nullif(text, ''), (SELECT value FROM StringIds WHERE id = textId))"
            counts.ranges.update(
                name or "?"
                for (name,) in database.execute(
                    f"SELECT {named} FROM NVTX_EVENTS WHERE eventType IN (34, 59, 60)"
                )
            )
            others = (  # 33, 39, 75 and 76 name categories, threads and domains
                "SELECT count(*) FROM NVTX_EVENTS "
                "WHERE eventType NOT IN (33, 34, 39, 59, 60, 75, 76)"
            )
            counts.left_out["NVTX_EVENTS of other types"] = database.execute(others).fetchone()[0]
    for name, rows in tables.items():
        if rows and _is_of_events(name):
            counts.left_out[name] = rows
    counts.left_out += Counter()  # without zeros
    return counts


def _nsys_queries(tables: dict[str, int]) -> Iterator[tuple[str, str]]:
    """Yield a kind and the SQL of its (name, start, end, device, stream, bytes)."""
    name = "(SELECT value FROM StringIds WHERE id = coalesce(demangledName, shortName))"
    if "CUPTI_ACTIVITY_KIND_KERNEL" in tables:
        yield "kernel", f"SELECT {name}, {_ACTIVITY}, 0 FROM CUPTI_ACTIVITY_KIND_KERNEL"
    for kind, table in (("copy", "MEMCPY"), ("fill", "MEMSET")):
        if f"CUPTI_ACTIVITY_KIND_{table}" in tables:
            yield kind, f"SELECT '', {_ACTIVITY}, bytes FROM CUPTI_ACTIVITY_KIND_{table}"


def _is_of_events(table: str) -> bool:
    """Return whether a table of nsys has events that kvtrace has no table for.

    Call chains and descriptors belong to events of other tables.
    """
    if table.endswith(("_CALLCHAINS", "_DESCRIPTORS")):
        return False
    events = ("CUPTI_ACTIVITY_KIND_", "OSRT_", "SCHED_", "COMPOSITE_", "GPU_",
              "CUDNN_", "CUBLAS_", "MPI_", "CUDA_GPU_MEMORY", "CUDA_UM_", "GENERIC_EVENTS",
              "PROFILER_OVERHEAD", "DIAGNOSTIC_EVENT")  # fmt: skip
    read = ("KERNEL", "MEMCPY", "MEMSET", "RUNTIME")
    return table.startswith(events) and not table.endswith(read)


def _rocprofv3(path: Path) -> Counts:
    content = _content(path)
    counts = Counts()
    if not content.startswith(b"{"):
        for row in csv.DictReader(content.decode().splitlines()):
            agent = row["Agent_Id"].removeprefix("Agent ")
            stream = (int(agent), int(row.get("Stream_Id") or row["Queue_Id"]))
            start, end = int(row["Start_Timestamp"]), int(row["End_Timestamp"])
            counts.add("kernel", row["Kernel_Name"].removesuffix(".kd"), start, end, stream)
        return counts
    tools = _json(content)["rocprofiler-sdk-tool"]
    for tool in tools if isinstance(tools, list) else [tools]:
        gpus = [agent for agent in tool["agents"] if agent["type"] == 2]
        gpus.sort(key=lambda agent: agent.get("logical_node_id", agent["node_id"]))
        numbers = {agent["id"]["handle"]: number for number, agent in enumerate(gpus)}
        names = {symbol["kernel_id"]: symbol["formatted_kernel_name"].removesuffix(".kd")
                 for symbol in tool["kernel_symbols"]}  # fmt: skip
        records = tool["buffer_records"]
        for record in records["kernel_dispatch"]:
            info = record["dispatch_info"]
            stream = record.get("stream_id", info["queue_id"])["handle"]
            _add_record(counts, "kernel", names[info["kernel_id"]], record,
                        (numbers[info["agent_id"]["handle"]], stream))  # fmt: skip
        for record in records["memory_copy"]:
            ends = [record["dst_agent_id"]["handle"], record["src_agent_id"]["handle"]]
            device = next((numbers[end] for end in ends if end in numbers), None)
            stream = record.get("stream_id", {}).get("handle")
            _add_record(counts, "copy", "", record, (device, stream))
        messages = {message["key"]: message["value"]
                    for message in tool["strings"].get("marker_api", ())}  # fmt: skip
        counts.ranges.update(
            messages[record["correlation_id"]["internal"]]
            for record in records.get("marker_api", ())
            if record["correlation_id"]["internal"] in messages
        )
        read = {"kernel_dispatch", "memory_copy", "hip_api", "hsa_api", "marker_api"}
        for where in ("buffer_records", "callback_records"):
            for kind, listed in tool.get(where, {}).items():
                if listed and kind not in read:
                    counts.left_out[f"{where}.{kind}"] += len(listed)
    return counts


def _add_record(counts: Counts, kind: str, name: str, record: Any, stream: Any) -> None:
    start, end = record["start_timestamp"], record["end_timestamp"]
    counts.add(kind, name, start, end, stream, record.get("bytes", 0))


def _proton(path: Path) -> Counts:
    counts = Counts()
    nodes: list[Any] = [entry for entry in _json(_content(path)) if "frame" in entry]
    while nodes:
        node = nodes.pop()
        metrics = node.get("metrics", {})
        if metrics.get("count") and "device_id" in metrics:
            name = node["frame"]["name"]
            counts.add_kernels(name, int(metrics["count"]), int(metrics["time (ns)"]))
        nodes += node.get("children", ())
    return counts


def _tritonparse(path: Path) -> Counts:
    counts = Counts()
    for line in _content(path).splitlines():
        event = json.loads(line) if line.strip() else {}
        kind = event.get("event_type")
        if kind == "launch":
            counts.calls[event["compilation_metadata"]["name"]] += 1
        elif kind not in (None, "compilation", "launch_diff"):  # the last repeats launches
            counts.left_out[kind] += 1
    return counts


_COUNTERS: dict[str, Callable[[Path], Counts]] = {
    "kineto": _kineto,
    "nsys": _nsys,
    "rocprofv3": _rocprofv3,
    "proton": _proton,
    "tritonparse": _tritonparse,
}


def differences(source: Counts, imported: Counts) -> Iterable[str]:
    """Yield a sentence for each figure of an import that is not equal to the file's own."""
    if source.executions() != imported.executions():
        yield f"executions: {source.executions():,} in the file, {imported.executions():,} imported"
    names = source.kernels.keys() | imported.kernels.keys()
    unequal = [name for name in sorted(names) if not _is_equal(source, imported, name)]
    if unequal:
        yield (
            f"time by kernel: {len(unequal)} of {len(names)} names differ, such as "
            f"{unequal[0][:60]!r}: {source.kernels.get(unequal[0])} in the file, "
            f"{imported.kernels.get(unequal[0])} imported"
        )
    for figure in ("copies", "fills", "devices", "streams", "first", "last", "ranges", "calls"):
        ours, theirs = getattr(imported, figure), getattr(source, figure)
        if ours != theirs:
            yield f"{figure}: {_short(theirs)} in the file, {_short(ours)} imported"


def _is_equal(source: Counts, imported: Counts, name: str) -> bool:
    """Return whether a kernel's count and time are equal.

    A time is, too, if it differs by less than 1 ns an execution where a file has sums only.
    """
    count, time = source.kernels.get(name, [0, 0])
    imported_count, imported_time = imported.kernels.get(name, [0, 0])
    rounding = count if source.first is None else 0
    return count == imported_count and abs(time - imported_time) <= rounding


def _short(value: Any) -> str:
    if isinstance(value, Counter):
        return f"{sum(value.values()):,} of {len(value)} names"
    text = str(sorted(value, key=str) if isinstance(value, set) else value)
    return text if len(text) < 100 else f"{text[:97]}..."
