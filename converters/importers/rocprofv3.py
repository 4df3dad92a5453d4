"""Importer of rocprofv3's results on AMD's GPUs: JSON, and CSV of kernels and copies.

The JSON has the structure of rocprofiler-sdk (source/lib/output/generateJSON.cpp and the records of
rocprofiler-sdk/buffer_tracing.h, https://github.com/ROCm/rocprofiler-sdk), the CSV the columns of
"Using rocprofv3" in its documentation. rocprofv3 counts grids in threads, kvtrace in blocks.
"""

import csv
import io
import json
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any, Final

from kvtrace.converters.importers.executions import COPY, Executions, marks
from kvtrace.converters.importers.importing import unpacked
from kvtrace.converters.importers.json_values import entries, int32_or_none, integer, mapping, text
from kvtrace.converters.importers.registry import BadSource, ImportedRun
from kvtrace.converters.importers.rows import NONE, RunRows
from kvtrace.text import plural

_TOOL: Final = "rocprofiler-sdk-tool"
#: Value of an agent's `type` for a GPU.
_GPU: Final = 2
_APIS: Final = ("hip_api", "hsa_api")
_RANGES: Final = "marker_api"
#: Records of these kinds are imported; all others are counted.
_IMPORTED: Final = frozenset({"kernel_dispatch", "memory_copy", *_APIS, _RANGES})
_KERNEL_COLUMNS: Final = ("kernel_name", "start_timestamp", "end_timestamp")
_TRACE_TABLE: Final = re.compile(r"(kernel|memory_copy)_trace\.csv$")
#: The architecture whose accumulation registers are a file of their own, always of the same size.
_SEPARATE_ACCUMULATORS: Final = "gfx908"
LACKS: Final = (
    "rocprofv3 records neither arguments of Triton's launches nor IR, so figures that need them "
    "are missing",
    "rocprofv3 records no Python stacks",
    "rocprofv3's times count from the start of the machine, not from 1970",
)


class Rocprofv3:
    """Importer of rocprofv3's JSON and CSV."""

    summary = "rocprofv3: _results.json, _kernel_trace.csv, _memory_copy_trace.csv"

    def recognizes(self, path: Path, head: bytes) -> bool:  # noqa: ARG002 - others need it
        """Return whether the file begins as JSON or CSV of rocprofv3."""
        first = head.partition(b"\n")[0].lower()
        is_table = b"kind" in first and b"start_timestamp" in first and b"end_timestamp" in first
        is_result = is_table and (b"kernel_name" in first or b"direction" in first)
        return is_result or f'"{_TOOL}"'.encode() in head[:256]

    def read(self, path: Path, rows: RunRows) -> Iterator[ImportedRun]:
        """Add the rows of each process, and yield its facts. Errors as `Importer.read`."""
        with unpacked(path) as file:
            if file.read(1) == b"{":
                try:
                    content = json.loads(b"{" + file.read())
                except (ValueError, RecursionError) as problem:
                    raise BadSource(
                        f"{path} is not JSON, or ends too early ({problem}): import a complete file"
                    ) from problem
                listed = content.get(_TOOL)
                tools = listed if isinstance(listed, list) else [listed]
                for tool in tools:
                    run = _import_process(path, mapping(tool), rows)
                    yield replace(run, has_whole_file=len(tools) == 1)
                return
        with unpacked(path) as file:
            lines = io.TextIOWrapper(file, "utf-8", errors="replace", newline="")
            yield _import_csv(path, csv.DictReader(lines), rows)


def _import_process(path: Path, tool: Mapping[str, Any], rows: RunRows) -> ImportedRun:
    """Add the rows of one process from its JSON, and return its facts."""
    records = mapping(tool.get("buffer_records"))
    gpus = sorted(
        (agent for agent in _objects(tool.get("agents")) if agent.get("type") == _GPU),
        key=lambda agent: integer(agent.get("logical_node_id", agent.get("node_id"))),
    )
    device_by_agent = {_handle(agent.get("id")): index for index, agent in enumerate(gpus)}
    symbols = {
        integer(symbol.get("kernel_id")): symbol for symbol in _objects(tool.get("kernel_symbols"))
    }
    architecture = text(gpus[0].get("name")) if gpus else None
    operations = _operation_namer(tool)
    device = Executions()
    for record in _objects(records.get("kernel_dispatch")):
        info = mapping(record.get("dispatch_info"))
        symbol = symbols.get(integer(info.get("kernel_id")), {})
        block = _sizes(info.get("workgroup_size"))
        device.add(
            kernel_name(symbol),
            *_span(record),
            device=device_by_agent.get(_handle(info.get("agent_id")), NONE),
            stream=_stream(record, info),
            correlation=_correlation(record),
            graph=integer(record.get("graph_exec_id")) or NONE,
            node=integer(record.get("graph_node_id")) or NONE,
            grid=blocks(_sizes(info.get("grid_size")), block),
            block=block,
            registers=vector_registers(symbol, architecture),
            shared=integer(info.get("group_segment_size")),
        )
    for record in _objects(records.get("memory_copy")):
        source = device_by_agent.get(_handle(record.get("src_agent_id")), NONE)
        target = device_by_agent.get(_handle(record.get("dst_agent_id")), NONE)
        device.add(
            operations(record) or "memory copy",
            *_span(record),
            device=source if target == NONE else target,
            stream=_stream(record, {}),
            correlation=_correlation(record),
            kind=COPY,
            size=integer(record.get("bytes")),
        )
    for api in _APIS:
        for record in _objects(records.get(api)):
            thread = integer(record.get("thread_id"))
            device.call(operations(record) or "?", *_span(record), thread, _correlation(record))
    ranges = list(_ranges(tool, records))
    marks(rows, ranges, 0)
    left_out = {
        kind: len(entries(listed))
        for kind, listed in {**records, **mapping(tool.get("callback_records"))}.items()
        if kind not in _IMPORTED
    }
    left_out[_RANGES] = len(entries(records.get(_RANGES))) - len(ranges)
    metadata = mapping(tool.get("metadata"))
    command = [text(word) or "" for word in entries(metadata.get("command"))]
    row = {
        "pid": int32_or_none(metadata.get("pid")),
        "command": " ".join(command) or None,
        "host": text(mapping(metadata.get("node")).get("hostname")),
        "devices": [device_entry(number, gpu) for number, gpu in enumerate(gpus)],
    }
    return _finished(path, device, rows, row, left_out)


def _import_csv(path: Path, lines: "csv.DictReader[str]", rows: RunRows) -> ImportedRun:
    """Add the rows of a CSV table of kernels or of copies, and return the process's facts."""
    device = Executions()
    # rocprofv3 writes VGPR_Count, and rocpd Vgpr_Count.
    columns = lines.fieldnames = [name.lower() for name in lines.fieldnames or ()]
    has_kernels = all(name in columns for name in _KERNEL_COLUMNS)
    if not has_kernels and "direction" not in columns:
        raise BadSource(
            f"{path} is neither rocprofv3's table of kernels nor that of memory copies: import "
            "_kernel_trace.csv or _memory_copy_trace.csv"
        )
    agents = _agents_beside(path)
    for row in _whole_rows(path, lines, rows):
        stream = integer(row.get("stream_id") or row.get("queue_id"))
        correlation = integer(row.get("correlation_id"))
        if not has_kernels:
            target = agents.device(row.get("destination_agent_id"))
            device.add(
                text(row.get("direction")) or "memory copy",
                *_span(row),
                device=agents.device(row.get("source_agent_id")) if target == NONE else target,
                stream=stream,
                correlation=correlation,
                kind=COPY,
            )
            continue
        block = _sizes(row, "workgroup_size_")
        device.add(
            (text(row.get("kernel_name")) or "?").removesuffix(".kd"),
            *_span(row),
            device=agents.device(row.get("agent_id")),
            grid=blocks(_sizes(row, "grid_size_"), block),
            block=block,
            registers=vector_registers(row, agents.architecture),
            shared=integer(row.get("lds_block_size", row.get("group_segment_size"))),
            stream=stream,
            correlation=correlation,
        )
    return _finished(path, device, rows, {"devices": agents.devices()}, {})


def _whole_rows(
    path: Path, lines: "csv.DictReader[str]", rows: RunRows
) -> Iterator[Mapping[str, str]]:
    """Yield rows with as many fields as the header; of others, no field's column is certain.

    Raises:
        BadSource: no row has as many.

    """
    names = lines.fieldnames or ()
    whole = others = 0
    first = ""
    for row in lines:
        fields = len(row.get(None, ())) + sum(row[name] is not None for name in names)
        if fields == len(names):
            whole += 1
            yield row
            continue
        others += 1
        first = first or f"line {lines.line_num} has {fields}, and the header {len(names)}"
    if others and not whole:
        raise BadSource(
            f"{path} has no row with as many fields as its header ({first}): export it again"
        )
    if others:
        rows.note(
            f"{plural(others, 'row')} with another number of fields than the header, left out "
            f"({first})"
        )


class _Agents:
    """Agents of the table `_agent_info.csv`, which rocprofv3 writes beside its other tables."""

    def __init__(self, rows: Iterable[Mapping[str, str | None]]) -> None:
        agents = [row for row in rows if row.get("Agent_Type") == "GPU"]
        self._gpus = sorted(agents, key=lambda row: integer(row.get("Logical_Node_Id")))
        self._device_by_node = {
            integer(gpu.get(key)): number
            for key in ("Node_Id", "Logical_Node_Id")  # the latter is meant if both fit
            for number, gpu in enumerate(self._gpus)
        }

    @property
    def architecture(self) -> str | None:
        """AMD's name of the first GPU's architecture."""
        return text(self._gpus[0].get("Name")) if self._gpus else None

    def device(self, agent: Any) -> int:
        """Return the number among GPUs of an agent: `GPU 0`, `Agent 4`, or `4`; NONE for others.

        Without the table it is the number that is written, which counts CPUs, too.
        """
        kind, _, number = (text(agent) or "").rpartition(" ")
        if not self._gpus or kind == "GPU":
            return integer(number)
        return self._device_by_node.get(integer(number), NONE)

    def devices(self) -> list[dict[str, Any]]:
        """Return the entries of `runs.devices`."""
        return [
            device_entry(number, {"name": gpu.get("Name"), "product_name": gpu.get("Product_Name")})
            for number, gpu in enumerate(self._gpus)
        ]


def _agents_beside(path: Path) -> _Agents:
    table = path.with_name(_TRACE_TABLE.sub("agent_info.csv", path.name))
    if table == path or not table.is_file():
        return _Agents(())
    with table.open(encoding="utf-8-sig", errors="replace", newline="") as lines:
        return _Agents(csv.DictReader(lines))


def _finished(
    path: Path,
    device: Executions,
    rows: RunRows,
    row: Mapping[str, Any],
    left_out: Mapping[str, int],
) -> ImportedRun:
    if not len(device):
        raise BadSource(f"{path} has neither kernels nor copies: trace with --kernel-trace")
    device.finish(rows)
    return ImportedRun(row, LACKS, left_out)


def device_entry(number: int, agent: Mapping[str, Any]) -> dict[str, Any]:
    """Return the entry of `runs.devices` for a GPU; the capability is AMD's architecture name."""
    memory = sum(
        integer(bank.get("size_in_bytes"))
        for bank in _objects(agent.get("mem_banks"))
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
        for message in _objects(strings.get("marker_api"))
    }
    for record in _objects(records.get("marker_api")):
        name = messages.get(_correlation(record))
        if name:
            yield name, *_span(record), integer(record.get("thread_id"))


def _objects(value: Any) -> Iterator[dict[str, Any]]:
    """Return the entries of a JSON array, {} for those that are no objects."""
    return map(mapping, entries(value))


def _correlation(record: Mapping[str, Any]) -> int:
    return integer(mapping(record.get("correlation_id")).get("internal"))


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
    return start, end


def kernel_name(symbol: Mapping[str, Any]) -> str:
    """Return the full name of a kernel's symbol without the suffix of its descriptor, or "?".

    The formatted name is a short one if rocprofv3 was told to truncate names.
    """
    keys = ("demangled_kernel_name", "formatted_kernel_name", "kernel_name")
    name = next((name for key in keys if (name := text(symbol.get(key)))), "?")
    return name.removesuffix(" [clone .kd]").removesuffix(".kd")


def _sizes(facts: Any, prefix: str = "") -> tuple[int, int, int]:
    x, y, z = (integer(mapping(facts).get(f"{prefix}{axis}")) for axis in "xyz")
    return x, y, z


def blocks(threads: tuple[int, int, int], block: tuple[int, int, int]) -> tuple[int, int, int]:
    """Return the sizes of a grid in blocks, from its sizes in threads; NONE where unknown."""
    x, y, z = (
        -(-grid // size) if grid != NONE and size > 0 else NONE
        for grid, size in zip(threads, block, strict=True)
    )
    return x, y, z


def vector_registers(facts: Mapping[str, Any], architecture: str | None) -> int:
    """Return the vector registers of a thread: those for addresses and values, and accumulators.

    Args:
        facts: The columns of a kernel's symbol, or of its row in a table.
        architecture: AMD's name of the device's architecture.

    """
    values = integer(facts.get("arch_vgpr_count", facts.get("vgpr_count")))
    accumulators = integer(facts.get("accum_vgpr_count"))
    if NONE in (values, accumulators) or architecture == _SEPARATE_ACCUMULATORS:
        return values
    return values + accumulators


IMPORTER = Rocprofv3()
