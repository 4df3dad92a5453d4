"""Traces of devices that are wrong: what was kept of a launch's memory is exchanged."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa

from kvtrace.schema.content import artifact_row
from kvtrace.schema.opened_parts import open_part, part_facts
from kvtrace.schema.parts import write_part
from kvtrace.schema.runs import plain_rows
from kvtrace.schema.tables import TABLES
from kvtrace.schema.trace import open_trace


def with_other_memory(out: Path, kernel: str, change: Callable[[bytes], bytes]) -> None:
    """Have a trace say that the first launch of a kernel left other bytes in its one output."""
    opened = open_trace(out)
    (run,) = opened.runs
    named = {row["kernel_id"]: row["name"] for row in plain_rows(opened.table("kernels"))}
    calls = {
        row["call_id"]
        for row in plain_rows(opened.table("calls"))
        if named[row["kernel_id"]] == kernel
    }
    made: list[dict[str, Any]] = []

    def other(sha256: str) -> str:
        content = opened.artifact(sha256)
        assert content is not None
        made.append(artifact_row("memory", change(content)))
        return str(made[-1]["sha256"])

    rewrite_memory(out, lambda row: row["call_id"] in calls, other)
    (row,) = made
    artifacts = pa.Table.from_pylist([row], TABLES["artifacts"].schema)
    opened.add_derived(run.run_id, "planted", {"artifacts": artifacts})


def with_other_ttgir(out: Path, kernel: str, change: Callable[[str], str]) -> None:
    """Have a trace say that the compiler made other TTGIR of a kernel."""
    opened = open_trace(out)
    (run,) = opened.runs
    made: list[dict[str, Any]] = []

    def other(row: dict[str, Any]) -> dict[str, Any]:
        if row["name"] != kernel:
            return {}
        stages = [dict(stage) for stage in row["stages"]]
        (stage,) = [each for each in stages if each["stage"] == "ttgir"]
        text = opened.artifact(stage["artifact"])
        assert text is not None
        made.append(artifact_row("ttgir", change(text.decode()).encode()))
        stage["artifact"] = made[-1]["sha256"]
        return {"stages": stages}

    _rewrite(out, "kernels", other)
    artifacts = pa.Table.from_pylist(made, TABLES["artifacts"].schema)
    opened.add_derived(run.run_id, "planted-ttgir", {"artifacts": artifacts})


def without_stages(out: Path, chosen: Callable[[dict[str, Any]], bool]) -> None:
    """Take the code of chosen kernels out of a trace."""
    _rewrite(out, "kernels", lambda row: {"stages": []} if chosen(row) else {})


def rewrite_memory(
    out: Path, chosen: Callable[[dict[str, Any]], bool], artifact: Callable[[str], str]
) -> None:
    """Name other artifacts as what chosen launches left in memory."""

    def other(row: dict[str, Any]) -> dict[str, Any]:
        if chosen(row) and row["when"] == "after":
            return {"artifact": artifact(row["artifact"])}
        return {}

    _rewrite(out, "checked_memory", other)


def _rewrite(out: Path, name: str, changes: Callable[[dict[str, Any]], dict[str, Any]]) -> None:
    """Write a table of a run of one part anew, with changes to each row."""
    opened, table = open_trace(out), TABLES[name]
    (run,) = opened.runs
    (path,) = (out / table.name / f"run={run.run_id}").glob("*.parquet")
    with open_part(path) as file:
        facts = part_facts(file, path, table.name)
    kept = [
        {column: row.get(column) for column in table.schema.names} | changes(row)
        for row in plain_rows(opened.table(table.name))
    ]
    write_part(path, table, facts, pa.Table.from_pylist(kept, table.schema).to_batches())
