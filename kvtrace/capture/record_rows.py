"""Rows of calls' arguments and of kernels, whose contents become artifacts of the journal."""

from dataclasses import asdict, fields
from typing import Any, Final

from kvtrace.capture.journal import Journal
from kvtrace.capture.records import ArgumentRecord, KernelRecord

_ARGUMENT: Final = tuple(field.name for field in fields(ArgumentRecord))


def argument_row(journal: Journal, record: ArgumentRecord) -> dict[str, Any]:
    """Return an entry of a call's `args`."""
    row = {name: getattr(record, name) for name in _ARGUMENT}  # asdict takes five times as long
    value = row.pop("value")
    row["value_artifact"] = None if value is None else journal.add_artifact("tensor", value)
    return row


def kernel_row(journal: Journal, kernel_id: int, record: KernelRecord) -> dict[str, Any]:
    """Return a row of `kernels`."""
    row = asdict(record)
    source = row.pop("source")
    row["kernel_id"] = kernel_id
    row["source_artifact"] = source and journal.add_artifact("source", source.encode())
    row["files"] = [
        {"path": path, "artifact": content and journal.add_artifact("file", content)}
        for path, content in record.files
    ]
    row["stages"] = [
        {
            "stage": stage.stage,
            "artifact": stage.content and journal.add_artifact(stage.stage, stage.content),
            "duration_ns": stage.duration_ns,
        }
        for stage in record.stages
    ]
    return row
