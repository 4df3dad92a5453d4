"""Stages of kernels that were made after the recording: shown with what was captured, not written.

A kernel that was compiled to TTIR alone has no later stages in the trace. What makes them hands
them to `Trace.complete`, and from then on the tables that this process reads have them.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from hashlib import sha256
from typing import Any, Final

import pyarrow as pa

#: Columns of `kernels` that are filled where something is missing.
_FILLED: Final = ("registers", "spills", "shared_bytes", "options", "stages")


@dataclass(frozen=True, slots=True)
class LaterStages:
    """What compiling a kernel to its end gave: stage → content, and the resources."""

    stages: Mapping[str, bytes]
    registers: int | None = None
    spills: int | None = None
    shared_bytes: int | None = None
    options: Mapping[str, str] = field(default_factory=dict)


class Completed:
    """Later stages of kernels, by run and kernel."""

    def __init__(self) -> None:
        self._kernels: dict[tuple[str, int], LaterStages] = {}
        self._contents: dict[str, tuple[str, bytes]] = {}

    def add(self, run_id: str, kernel_id: int, made: LaterStages) -> None:
        """Add those of one kernel."""
        self._kernels[run_id, kernel_id] = made
        for stage, content in made.stages.items():
            self._contents[sha256(content).hexdigest()] = (stage, content)

    def concerns(self, table: str, run_id: str) -> bool:
        """Whether rows of a run's table are other than they were captured."""
        return table in ("kernels", "artifacts") and any(run == run_id for run, _ in self._kernels)

    def content(self, digest: str) -> bytes | None:
        """The content with that hash."""
        found = self._contents.get(digest)
        return None if found is None else found[1]

    def rows(self, table: str, run_id: str, rows: pa.Table) -> pa.Table:
        """The rows of `kernels` (with `kernel_id`) or `artifacts` (with `sha256`), completed."""
        if table == "artifacts":
            return self._with_artifacts(rows)
        made = [self._kernels.get((run_id, each)) for each in rows["kernel_id"].to_pylist()]
        for name in _FILLED:
            if name not in rows.schema.names:
                continue
            index = rows.schema.get_field_index(name)
            held = zip(rows.column(index).to_pylist(), made, strict=True)
            values = [value if of is None else _filled(name, value, of) for value, of in held]
            field = rows.schema.field(index)
            rows = rows.set_column(index, field, pa.array(values, field.type))
        return rows

    def _with_artifacts(self, rows: pa.Table) -> pa.Table:
        known = set(rows["sha256"].to_pylist())
        added = [
            {"sha256": digest, "kind": stage, "size_bytes": len(content)}
            for digest, (stage, content) in self._contents.items()
            if digest not in known
        ]
        return pa.concat_tables([rows, pa.Table.from_pylist(added, schema=rows.schema)])


def _filled(name: str, value: Any, made: LaterStages) -> Any:
    if name == "options":
        return sorted({**made.options, **dict(value or ())}.items())
    if name != "stages":
        return getattr(made, name) if value is None else value
    held = value or []
    known = {stage["stage"] for stage in held}
    return held + [
        {"stage": stage, "artifact": sha256(content).hexdigest(), "duration_ns": None}
        for stage, content in made.stages.items()
        if stage not in known
    ]
