"""Importer of rocprofv3's results on AMD's GPUs: JSON, CSV of kernels and copies, Perfetto traces.

The JSON has the structure of rocprofiler-sdk (source/lib/output/generateJSON.cpp and the records of
rocprofiler-sdk/buffer_tracing.h, https://github.com/ROCm/rocprofiler-sdk), the CSV the columns of
"Using rocprofv3" in its documentation. rocprofv3 counts grids in threads, kvtrace in blocks.
"""

import csv
import io
import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Final

from kvtrace.converters.importers.executions import COPY, Executions, marks
from kvtrace.converters.importers.importing import unpacked
from kvtrace.converters.importers.json_values import entries, integer, mapping, text
from kvtrace.converters.importers.registry import BadSource, ImportedRun
from kvtrace.converters.importers.rocprofv3_perfetto import read_perfetto
from kvtrace.converters.importers.rows import NONE, RunRows

_TOOL: Final = "rocprofiler-sdk-tool"
#: Value of an agent's `type` for a GPU.
_GPU: Final = 2
_APIS: Final = ("hip_api", "hsa_api")
_KERNEL_COLUMNS: Final = ("Kernel_Name", "Start_Timestamp", "End_Timestamp")
_AXES: Final = "XYZ"
_LACKS: Final = (
    "rocprofv3 records neither arguments of Triton's launches nor IR, so figures that need them "
    "are missing",
    "rocprofv3 records neither Python stacks nor ranks",
    "rocprofv3's times count from the start of the machine, not from 1970",
)


class Rocprofv3:
    """Importer of rocprofv3's JSON, CSV and Perfetto traces."""

    summary = "rocprofv3: _results.json, _kernel_trace.csv, _memory_copy_trace.csv, .pftrace"

    def recognizes(self, path: Path, head: bytes) -> bool:
        """Return whether the file begins as JSON or CSV of rocprofv3, or ends in .pftrace."""
        first = head.partition(b"\n")[0]
        return (
            f'"{_TOOL}"'.encode() in head[:256]
            or (b"Kind" in first and b"Start_Timestamp" in first and b"End_Timestamp" in first)
            or path.suffix == ".pftrace"
        )

    def read(self, path: Path, rows: RunRows) -> Iterator[ImportedRun]:
        """Add the rows of each process, and yield its facts. Errors as `Importer.read`."""
        if path.suffix == ".pftrace":
            device = Executions()
            marks(rows, read_perfetto(path, device), 0)
            yield _finished(path, device, rows, {}, [])
            return
        with unpacked(path) as file:
            if file.read(1) == b"{":
                try:
                    content = json.loads(b"{" + file.read())
                except (ValueError, RecursionError) as problem:
                    raise BadSource(
                        f"{path} is not JSON, or ends too early ({problem}): import a complete file"
                    ) from problem
                tools = content.get(_TOOL)
                for tool in tools if isinstance(tools, list) else [tools]:
                    yield _import_process(path, mapping(tool), rows)
                return
        with unpacked(path) as file:
            lines = io.TextIOWrapper(file, "utf-8", errors="replace", newline="")
            yield _import_csv(path, csv.DictReader(lines), rows)


def _import_process(path: Path, tool: Mapping[str, Any], rows: RunRows) -> ImportedRun:
    """Add the rows of one process from its JSON, and return its facts."""
    records = mapping(tool.get("buffer_records"))
    agents = map(mapping, entries(tool.get("agents")))
    gpus = sorted(
        (agent for agent in agents if agent.get("type") == _GPU),
        key=lambda agent: integer(agent.get("logical_node_id", agent.get("node_id"))),
    )
    device_by_agent = {_handle(agent.get("id")): index for index, agent in enumerate(gpus)}
    symbols = {
        integer(symbol.get("kernel_id")): symbol
        for symbol in map(mapping, entries(tool.get("kernel_symbols")))
    }
    operations = _operation_namer(tool)
    device = Executions()
    for record in entries(records.get("kernel_dispatch")):
        info = record["dispatch_info"]
        symbol = symbols.get(integer(info.get("kernel_id")), {})
        start, end = _span(record)
        block = _sizes(info.get("workgroup_size"))
        device.add(
            _kernel_name(symbol),
            start,
            end,
            device=device_by_agent.get(_handle(info.get("agent_id")), NONE),
            stream=_stream(record, info),
            correlation=integer(mapping(record.get("correlation_id")).get("internal")),
            graph=integer(record.get("graph_exec_id")) or NONE,
            node=integer(record.get("graph_node_id")) or NONE,
            grid=_blocks(_sizes(info.get("grid_size")), block),
            block=block,
            registers=integer(symbol.get("arch_vgpr_count")),
            shared=integer(info.get("group_segment_size")),
        )
    for record in entries(records.get("memory_copy")):
        start, end = _span(record)
        source = device_by_agent.get(_handle(record.get("src_agent_id")), NONE)
        target = device_by_agent.get(_handle(record.get("dst_agent_id")), NONE)
        device.add(
            operations(record) or "memory copy",
            start,
            end,
            device=source if target == NONE else target,
            stream=_stream(record, {}),
            correlation=integer(mapping(record.get("correlation_id")).get("internal")),
            kind=COPY,
            size=integer(record.get("bytes")),
        )
    for api in _APIS:
        for record in entries(records.get(api)):
            start, end = _span(record)
            correlation = integer(mapping(record.get("correlation_id")).get("internal"))
            thread = integer(record.get("thread_id"))
            device.call(operations(record) or "?", start, end, thread, correlation)
    marks(rows, list(_ranges(tool, records)), 0)
    metadata = mapping(tool.get("metadata"))
    pid = integer(metadata.get("pid"))
    command = [text(word) or "" for word in entries(metadata.get("command"))]
    row = {"pid": None if pid == NONE else pid, "command": " ".join(command) or None}
    return _finished(path, device, rows, row, [_device_entry(n, gpu) for n, gpu in enumerate(gpus)])


def _import_csv(path: Path, lines: "csv.DictReader[str]", rows: RunRows) -> ImportedRun:
    """Add the rows of a CSV table of kernels or of copies, and return the process's facts."""
    device = Executions()
    columns = lines.fieldnames or ()
    has_kernels = all(name in columns for name in _KERNEL_COLUMNS)
    if not has_kernels and "Direction" not in columns:
        raise BadSource(
            f"{path} is neither rocprofv3's table of kernels nor that of memory copies: import "
            "_kernel_trace.csv or _memory_copy_trace.csv"
        )
    for line_number, row in enumerate(lines, 2):
        start, end = integer(row.get("Start_Timestamp")), integer(row.get("End_Timestamp"))
        if NONE in (start, end):
            raise BadSource(
                f"{path}, line {line_number:,} has no times: the file may be incomplete"
            )
        stream = integer(row.get("Stream_Id") or row.get("Queue_Id"))
        correlation = integer(row.get("Correlation_Id"))
        if not has_kernels:
            agent = row.get("Destination_Agent_Id")
            name = text(row.get("Direction")) or "memory copy"
            device.add(
                name,
                start,
                end,
                device=_agent_number(agent),
                stream=stream,
                correlation=correlation,
                kind=COPY,
            )
            continue
        block = _sizes_in_columns(row, "Workgroup_Size")
        device.add(
            text(row.get("Kernel_Name")) or "?",
            start,
            end,
            device=_agent_number(row.get("Agent_Id")),
            grid=_blocks(_sizes_in_columns(row, "Grid_Size"), block),
            block=block,
            registers=integer(row.get("VGPR_Count")),
            shared=integer(row.get("LDS_Block_Size")),
            stream=stream,
            correlation=correlation,
        )
    return _finished(path, device, rows, {}, [])


def _finished(
    path: Path,
    device: Executions,
    rows: RunRows,
    row: Mapping[str, Any],
    devices: list[dict[str, Any]],
) -> ImportedRun:
    if not len(device):
        raise BadSource(f"{path} has neither kernels nor copies: trace with --kernel-trace")
    times = device.finish(rows)
    return ImportedRun(
        {**row, "started": times and times[0], "ended": times and times[1], "devices": devices},
        _LACKS,
    )


def _device_entry(number: int, agent: Mapping[str, Any]) -> dict[str, Any]:
    """Return the entry of `runs.devices` for a GPU; the capability is AMD's architecture name."""
    memory = sum(
        integer(bank.get("size_in_bytes"))
        for bank in map(mapping, entries(agent.get("mem_banks")))
        if integer(bank.get("size_in_bytes")) > 0
    )
    return {
        "index": number,
        "name": text(agent.get("product_name")) or text(agent.get("name")),
        "capability": text(agent.get("name")),
        "memory_bytes": memory or None,
    }


def _operation_namer(tool: Mapping[str, Any]) -> Any:
    """Return a function from a record to the name of its operation, or None."""
    kinds = entries(mapping(tool.get("strings")).get("buffer_records"))
    names = [
        [text(name) or "" for name in entries(mapping(kind).get("operations"))] for kind in kinds
    ]

    def operation(record: Mapping[str, Any]) -> str | None:
        kind, number = integer(record.get("kind")), integer(record.get("operation"))
        is_named = 0 <= kind < len(names) and 0 <= number < len(names[kind])
        return names[kind][number] or None if is_named else None

    return operation


def _ranges(
    tool: Mapping[str, Any], records: Mapping[str, Any]
) -> Iterator[tuple[str, int, int, int]]:
    """Yield (name, start, end, thread) of roctx's ranges whose correlation id has a message."""
    strings = mapping(tool.get("strings"))
    messages = {
        integer(message.get("key")): text(message.get("value"))
        for message in map(mapping, entries(strings.get("marker_api")))
    }
    for record in entries(records.get("marker_api")):
        start, end = _span(record)
        correlation = integer(mapping(record.get("correlation_id")).get("internal"))
        name = messages.get(correlation)
        if name:
            yield name, start, end, integer(record.get("thread_id"))


def _handle(value: Any) -> int:
    return integer(mapping(value).get("handle"))


def _stream(record: Mapping[str, Any], info: Mapping[str, Any]) -> int:
    """Return the stream of a record, else its queue (old versions), else NONE."""
    for identity in (record.get("stream_id"), info.get("queue_id")):
        if _handle(identity) != NONE:
            return _handle(identity)
    return NONE


def _span(record: Mapping[str, Any]) -> tuple[int, int]:
    start, end = integer(record.get("start_timestamp")), integer(record.get("end_timestamp"))
    if not 0 <= start <= end <= 2**62:
        raise ValueError(f"a record has the times {start} and {end}")
    return start, end


def _kernel_name(symbol: Mapping[str, Any]) -> str:
    """Return the name of a kernel's symbol without the suffix `.kd` of its descriptor, or "?"."""
    keys = ("formatted_kernel_name", "demangled_kernel_name", "kernel_name")
    name = next((name for key in keys if (name := text(symbol.get(key)))), "?")
    return name.removesuffix(".kd")


def _sizes(value: Any) -> tuple[int, int, int]:
    sizes = mapping(value)
    return integer(sizes.get("x")), integer(sizes.get("y")), integer(sizes.get("z"))


def _sizes_in_columns(row: Mapping[str, Any], name: str) -> tuple[int, int, int]:
    x, y, z = (integer(row.get(f"{name}_{axis}")) for axis in _AXES)
    return x, y, z


def _blocks(threads: tuple[int, int, int], block: tuple[int, int, int]) -> tuple[int, int, int]:
    """Return the sizes of a grid in blocks, from its sizes in threads; NONE where unknown."""
    x, y, z = (
        -(-grid // size) if grid != NONE and size > 0 else NONE
        for grid, size in zip(threads, block, strict=True)
    )
    return x, y, z


def _agent_number(agent: Any) -> int:
    """Return the number of an agent that is written as `Agent 4` or `4`; NONE for other values."""
    return integer((text(agent) or "").rpartition(" ")[2])


IMPORTER = Rocprofv3()
