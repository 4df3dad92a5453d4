"""Stages of kernels compiled after the recording, added to the tables as they are read.

A kernel that was compiled only to TTIR has no later stages in the trace. Code that compiles the
later stages passes them to `Trace.complete`; then the tables that this process reads have them.
Nothing is written.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import pyarrow as pa

from kvtrace.schema.content import content_hash


@dataclass(frozen=True, slots=True)
class LaterStages:
    """Results of compiling a kernel completely: content by stage, and values by column."""

    stages: Mapping[str, bytes]
    columns: Mapping[str, Any]


class CompletedKernels:
    """Later stages of kernels that were added with `add`, and rows completed from them."""

    def __init__(self) -> None:
        self._kernels: dict[tuple[str, int], LaterStages] = {}
        self._contents: dict[str, tuple[str, bytes]] = {}

    def add(self, run_id: str, kernel_id: int, later: LaterStages) -> None:
        """Store the later stages of one kernel."""
        self._kernels[run_id, kernel_id] = later
        for stage, content in later.stages.items():
            self._contents[content_hash(content)] = (stage, content)

    def concerns(self, table: str, run_id: str) -> bool:
        """Return whether `rows` would change this table of the run."""
        return table in ("kernels", "artifacts") and any(run == run_id for run, _ in self._kernels)

    def content(self, digest: str) -> bytes | None:
        """Return the content of the later stage with this SHA-256, or None."""
        _, content = self._contents.get(digest, ("", None))
        return content

    def rows(self, table: str, run_id: str, rows: pa.Table) -> pa.Table:
        """Return `rows` with later stages: in cells of `kernels`, or as new rows of `artifacts`.

        `rows` must have the column `kernel_id` or `sha256`.
        """
        if table == "artifacts":
            return self._with_artifacts(rows)
        stages = [self._kernels.get((run_id, kernel)) for kernel in rows["kernel_id"].to_pylist()]
        filled = {"stages"}.union(*(later.columns for later in stages if later is not None))
        for name in filled.intersection(rows.schema.names):
            index = rows.schema.get_field_index(name)
            pairs = zip(rows.column(index).to_pylist(), stages, strict=True)
            values = [
                value if later is None else _with_later(name, value, later)
                for value, later in pairs
            ]
            field = rows.schema.field(index)
            rows = rows.set_column(index, field, pa.array(values, field.type))
        return rows

    def _with_artifacts(self, rows: pa.Table) -> pa.Table:
        captured = set(rows["sha256"].to_pylist())
        added = [
            {"sha256": digest, "kind": stage, "size_bytes": len(content)}
            for digest, (stage, content) in self._contents.items()
            if digest not in captured
        ]
        return pa.concat_tables([rows, pa.Table.from_pylist(added, schema=rows.schema)])


def _with_later(name: str, value: Any, later: LaterStages) -> Any:
    if name == "options":
        return sorted({**later.columns["options"], **dict(value or ())}.items())
    if name != "stages":
        return later.columns.get(name) if value is None else value
    captured = value or []
    captured_stages = {stage["stage"] for stage in captured}
    return captured + [
        {"stage": stage, "artifact": content_hash(content), "duration_ns": None}
        for stage, content in later.stages.items()
        if stage not in captured_stages
    ]
