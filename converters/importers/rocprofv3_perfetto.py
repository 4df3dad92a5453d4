"""rocprofv3's Perfetto traces, read by Perfetto's own engine (`kvtrace[perfetto]`)."""

from importlib.util import find_spec
from pathlib import Path
from typing import Final

from kvtrace.converters.importers.executions import COPY, KERNEL, Executions
from kvtrace.converters.importers.json_values import integer, text
from kvtrace.converters.importers.registry import BadSource
from kvtrace.converters.importers.rows import NONE

_KINDS: Final = {"kernel_dispatch": KERNEL, "memory_copy": COPY}
#: Arguments of a slice, as rocprofv3 names them (source/lib/output/generatePerfetto.cpp).
_ARGUMENTS: Final = ("corr_id", "queue", "stream_ID", "agent", "workgroup_size", "grid_size")
_CATEGORIES: Final = ", ".join(f"'{name}'" for name in _KINDS)
_QUERY: Final = f"""
    SELECT category, name, ts, dur,
        {", ".join(f"extract_arg(arg_set_id, 'debug.{name}') AS {name}" for name in _ARGUMENTS)}
    FROM slice WHERE category IN ({_CATEGORIES}) AND dur >= 0
"""  # noqa: S608 - constant names


def read_perfetto(path: Path, device: Executions) -> None:
    """Add the kernels and copies of a trace.

    Raises:
        BadSource: Perfetto's engine is not installed, does not start, or cannot read the file.

    """
    if find_spec("perfetto") is None:
        raise BadSource(
            f"{path} is read by Perfetto's engine: pip install 'kvtrace[perfetto]', or import "
            "rocprofv3's JSON."
        )
    from perfetto.trace_processor import TraceProcessor

    try:
        with TraceProcessor(trace=str(path)) as engine:
            for row in engine.query(_QUERY):
                queue = row.stream_ID if row.stream_ID is not None else row.queue
                device.add(
                    (text(row.name) or "?").removesuffix(".kd"),
                    row.ts,
                    row.ts + row.dur,
                    stream=integer(queue),
                    device=integer(row.agent),
                    correlation=integer(row.corr_id),
                    kind=_KINDS.get(row.category, NONE),
                )
    except Exception as problem:
        said = " ".join(str(problem).split())[:120]
        raise BadSource(
            f"{path} cannot be read by Perfetto's engine ({said}); import rocprofv3's JSON."
        ) from problem
