"""Reader of rocprofv3's Perfetto traces, which uses Perfetto's engine (`kvtrace[perfetto]`).

The engine is the `trace_processor_shell` on PATH, else the one that the package downloads.
Categories, arguments and names of tracks are those of rocprofiler-sdk,
source/lib/output/generatePerfetto.cpp of https://github.com/ROCm/rocprofiler-sdk.
"""

import re
import shutil
from importlib.util import find_spec
from pathlib import Path
from typing import Any, Final

from kvtrace.converters.importers.executions import COPY, KERNEL, Executions
from kvtrace.converters.importers.json_values import integer, text
from kvtrace.converters.importers.registry import BadSource
from kvtrace.converters.importers.rows import NONE

_ENGINE: Final = "trace_processor_shell"
#: Seconds within which the engine has to start.
_START_TIMEOUT_S: Final = 30
#: A range's name, begin and end in ns, and thread.
Range = tuple[str, int, int, int]

_KINDS: Final = {"kernel_dispatch": KERNEL, "memory_copy": COPY}
_APIS: Final = ("hip_api", "hsa_api")
_RANGES: Final = "marker_api"
#: Arguments of a slice; `agent` was a number, and `stream_ID` an argument, before ROCm 7.
_ARGUMENTS: Final = (
    "corr_id", "tid", "queue", "stream_ID", "agent", "dst_agent", "copy_bytes",
    "group_segment_size",
)  # fmt: skip
_CATEGORIES: Final = ", ".join(f"'{name}'" for name in (*_KINDS, *_APIS, _RANGES))
_QUERY: Final = f"""
    SELECT s.category, s.name, s.ts, s.dur, t.name AS track,
        {", ".join(f"extract_arg(s.arg_set_id, 'debug.{name}') AS {name}" for name in _ARGUMENTS)}
    FROM slice s JOIN track t ON t.id = s.track_id
    WHERE s.category IN ({_CATEGORIES}) AND s.dur >= 0 ORDER BY s.ts
"""  # noqa: S608 - constant names
_LEFT_OUT_QUERY: Final = f"""
    SELECT coalesce(category, name) AS kind, count(*) AS number FROM slice
    WHERE category IS NULL OR category NOT IN ({_CATEGORIES}) OR dur < 0 GROUP BY 1
    UNION ALL SELECT t.name, count(*) FROM counter c JOIN track t ON t.id = c.track_id GROUP BY 1
"""  # noqa: S608 - constant names
#: `COMPUTE AGENT [4] STREAM [1] (GPU)`, with `QUEUE` where kernels are grouped by queue.
_STREAM: Final = re.compile(r"STREAM \[(\d+)\]")
_NUMBER: Final = re.compile(r"(\d+)\D*$")


def read_perfetto(path: Path, device: Executions) -> tuple[list[Range], dict[str, int]]:
    """Add the kernels, copies and calls of a trace to `device`; return the ranges of roctx.

    The second result has the numbers of other slices and of counters' values, by kind.

    Raises:
        BadSource: Perfetto's engine is not installed, does not start, or cannot read the file.

    """
    if find_spec("perfetto") is None:
        raise BadSource(
            f"reading {path} needs Perfetto's engine: pip install 'kvtrace[perfetto]', or import "
            "rocprofv3's JSON"
        )
    from perfetto.trace_processor import TraceProcessor, TraceProcessorConfig

    config = TraceProcessorConfig(bin_path=shutil.which(_ENGINE), load_timeout=_START_TIMEOUT_S)
    ranges: list[Range] = []
    try:
        with TraceProcessor(str(path), config=config) as engine:
            for row in engine.query(_QUERY):
                name, end = (text(row.name) or "?").removesuffix(".kd"), row.ts + row.dur
                if row.category in _KINDS:
                    _add_execution(device, row, name, end)
                elif row.category in _APIS:
                    thread, correlation = integer(row.tid), integer(row.corr_id)
                    device.call(name, row.ts, end, thread, correlation)
                else:
                    ranges.append((name, row.ts, end, integer(row.tid)))
            left_out = {
                text(row.kind) or "?": integer(row.number) for row in engine.query(_LEFT_OUT_QUERY)
            }
    except Exception as problem:
        detail = " ".join(str(problem).split())[:120]
        raise BadSource(
            f"Perfetto's engine cannot read {path} ({detail}): put {_ENGINE} on PATH if it cannot "
            "be downloaded, or import rocprofv3's JSON"
        ) from problem
    return ranges, left_out


def _add_execution(device: Executions, row: Any, name: str, end: int) -> None:
    kind = _KINDS[row.category]
    stream_match = _STREAM.search(text(row.track) or "")
    stream = integer(row.queue if row.stream_ID is None else row.stream_ID)
    if stream_match is not None:
        stream = int(stream_match[1])
    device.add(
        name,
        row.ts,
        end,
        stream=stream,
        device=_agent_number(row.dst_agent if kind == COPY else row.agent),
        correlation=integer(row.corr_id),
        shared=integer(row.group_segment_size),
        size=integer(row.copy_bytes),
        kind=kind,
    )


def _agent_number(value: Any) -> int:
    """Return the number at the end of an agent's name (new versions write a word before it)."""
    number = _NUMBER.search(str(value))
    return NONE if number is None else integer(number[1])
