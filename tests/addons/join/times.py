"""Traces of times made of kvtrace's own device timelines, which say what a join has to find."""

import shutil
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pyarrow as pa

from kvtrace.figures.columns import integers
from kvtrace.schema.tables import TABLES
from kvtrace.schema.trace import open_trace
from kvtrace.schema.writer import RunWriter
from tests.support.tree import ROOT

H200 = ROOT / "tests" / "fixtures" / "h200"
NONE = -1


@dataclass(frozen=True)
class Known:
    """A recording without device times, times without launches, and what belongs together."""

    recording: Path
    times: Path
    #: By the times' rows: the launch, the call, and whether a graph was replayed.
    seq: np.ndarray
    call: np.ndarray
    replayed: np.ndarray


def without_times(trace: Path, out: Path) -> Path:
    """Copy a recording without its device timeline."""
    return shutil.copytree(trace, out, ignore=shutil.ignore_patterns("gpu_kernels"))


def known(
    name: str,
    folder: Path,
    *,
    requested: bool = True,
    same_process: bool = True,
    later_ns: int = 0,
    rows: slice = slice(None),
) -> Known:
    """Make both of a fixture's one run with launches.

    Args:
        name: The fixture.
        folder: Where both are written.
        requested: Whether the times say when the host asked: in the middle of the launch.
        same_process: Whether the times are of the same process.
        later_ns: How much later the other tool's clock is.
        rows: Which executions, in order of their begin, the other tool saw.
    """
    trace = open_trace(H200 / name)
    (run,) = (run for run in trace.runs if trace.table("launches", [run], ["seq"]).num_rows)
    found = trace.table("gpu_kernels", [run]).drop_columns(["run"]).sort_by("start")[rows]
    seq, call = integers(found["launch_seq"], NONE), integers(found["call_id"], NONE)
    replayed = ~np.asarray(found["graph_id"].is_null())
    launches = trace.table("launches", [run], ["seq", "enter", "exit"])
    middle = (integers(launches["enter"]) + integers(launches["exit"])) // 2
    at = dict(zip(launches["seq"].to_pylist(), middle.tolist(), strict=True))
    start = integers(found["start"])
    asked = [
        begin - 1 if graph or number == NONE else at[number]
        for number, graph, begin in zip(seq.tolist(), replayed, start.tolist(), strict=True)
    ]
    nothing = pa.nulls(found.num_rows, pa.int64())
    columns = {
        **{each: found[each] for each in TABLES["gpu_kernels"].schema.names},
        "launch_seq": nothing,
        "call_id": nothing,
        "graph_id": nothing,
        "graph_node_id": nothing,
        "stack_id": nothing,
        "start": start + later_ns,
        "end": integers(found["end"]) + later_ns,
        "requested": np.asarray(asked) + later_ns if requested else nothing,
    }
    writer = RunWriter(folder / "times", "20260102-030405-000-0000000a")
    writer.append("gpu_kernels", columns)
    row = {
        "run_id": writer.run_id,
        "group_id": writer.run_id,
        "started": (run.started or 0) + later_ns,
        "ended": int(start.max()) + later_ns,
        "pid": run.pid if same_process else 1,
        "ending": "exit",
    }
    writer.seal(row)
    recording = without_times(H200 / name, folder / "recording")
    return Known(recording, folder / "times", seq, call, replayed)
