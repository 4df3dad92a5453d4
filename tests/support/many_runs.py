"""Traces of several runs, for what drops and rewrites runs."""

import time
from pathlib import Path
from typing import Any

import pyarrow as pa

from kvtrace.schema.content import artifact_row
from kvtrace.schema.layout import SHARED
from kvtrace.schema.tables import TABLES
from kvtrace.schema.trace import open_trace
from kvtrace.schema.writer import RunWriter, new_run_id
from tests.schema.rows import plain
from tests.schema.written_runs import launches

DAY = 86_400 * 10**9
#: What every run holds, and what is a run's own.
COMMON = artifact_row("ttir", b"module of all runs")


def own(number: int) -> dict[str, Any]:
    """The artifact of one run."""
    return artifact_row("source", f"source of run {number}".encode() * 500)


def write_run(
    out: Path,
    number: int = 0,
    days: float = 0,
    group: str | None = None,
    *,
    shares: bool = False,
) -> str:
    """Write a run that began some days ago, with artifacts, marks and what two passes derived.

    With `shares`, another run holds the common artifact, as earlier versions merged traces.
    """
    writer = RunWriter(out, new_run_id())
    started = time.time_ns() - int(days * DAY)
    settings = [(SHARED, "yes")] if shares else []
    writer.append_rows("runs", [{"started": started, "group_id": group, "settings": settings}])
    writer.append_rows("artifacts", [own(number)] if shares else [COMMON, own(number)])
    stages = [{"stage": "ttir", "artifact": COMMON["sha256"], "duration_ns": 1}]
    kernel = {"kernel_id": 0, "name": "scale", "stages": stages}
    writer.append_rows("kernels", [kernel | {"source_artifact": own(number)["sha256"]}])
    writer.append_rows("calls", [{"call_id": call, "kernel_id": 0} for call in range(7)])
    writer.append("launches", launches(0, 100))
    writer.append_rows("marks", [{"mark_id": 0, "name": f"mark of {number}", "begin": started}])
    writer.seal({"ended": started + 1, "ending": "exit"})
    found = pa.table({"finding_id": ["a"], "call_id": [0]})
    trace = open_trace(out)
    trace.add_derived(writer.run_id, "sanitize", {"findings": found}, {"rules": "all"})
    facts = {"while": "running"}  # the recording alone makes it
    trace.add_derived(writer.run_id, "watched", {"findings": found}, facts)
    return writer.run_id


def content(out: Path, runs: list[str] | None = None) -> dict[str, list[dict[str, Any]]]:
    """Every row of every table, artifacts as they are named and read, but for runs' settings."""
    trace = open_trace(out)
    runs = list(trace.run_ids) if runs is None else runs
    found = {
        name: plain(trace.table(name, runs)) for name in TABLES if name not in ("runs", "artifacts")
    }
    held = {run: trace.table("artifacts", [run], ["sha256"])["sha256"].to_pylist() for run in runs}
    found["artifacts"] = [
        {"run": run, "sha256": digest, "content": trace.artifact(digest)}
        for run, digests in held.items()
        for digest in sorted(digests)
    ]
    return found
