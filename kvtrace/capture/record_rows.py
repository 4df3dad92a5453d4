"""Rows made of records of kernels, calls and marks; contents become artifacts."""

import threading
from collections.abc import Callable, Sequence
from dataclasses import asdict, fields
from functools import partial
from operator import attrgetter
from typing import Any, Final

from kvtrace.capture.journal import Journal
from kvtrace.capture.messages import text_of
from kvtrace.capture.records import ArgumentRecord, CallFacts, Frame, KernelRecord
from kvtrace.schema.content import UNKNOWN, Producer
from kvtrace.schema.spool import ARGUMENT_FIELDS
from kvtrace.settings import Source

_ARGUMENT: Final = tuple(field.name for field in fields(ArgumentRecord))
_argument: Final = attrgetter(*ARGUMENT_FIELDS)
_frame: Final = attrgetter("file", "line", "column", "function")


def _argument_row(journal: Journal, record: ArgumentRecord) -> dict[str, Any]:
    """Return the entry of `calls.args` for an argument's record; contents become an artifact."""
    row = {name: getattr(record, name) for name in _ARGUMENT}  # asdict takes five times as long
    value = row.pop("value")
    row["value_artifact"] = None if value is None else journal.add_artifact("tensor", value)
    return row


def call_row(
    journal: Journal,
    call_id: int,
    kernel_id: int,
    grid: tuple[int, int, int],
    records: Sequence[ArgumentRecord],
    frames: Sequence[Frame],
    facts: CallFacts,
    keep: Source,
) -> dict[str, Any]:
    """Return the row of `calls`; contents become artifacts, and the frames a stack.

    `keep` is the setting `source`: what is kept of the text of functions on the stack.
    """
    x, y, z = grid
    files = partial(_launching_files, journal, frames, keep)
    return {
        "call_id": call_id,
        "kernel_id": kernel_id,
        "args": [_argument_row(journal, record) for record in records],
        "grid_x": x,
        "grid_y": y,
        "grid_z": z,
        "stack_id": journal.add_stack(frames, files) if frames else None,
        **asdict(facts),
    }


def _launching_files(journal: Journal, frames: Sequence[Frame], keep: Source) -> list[Any]:
    """Return the entries of `stacks.files` for the stack of a launch."""
    from kvtrace.capture.running_texts import launching_files

    return [
        {
            "path": text.path,
            "artifact": journal.add_artifact("program", text.content, digest=text.sha256)
            if text.content
            else None,
        }
        for text in launching_files(frames, keep)
    ]


def mark_row(
    mark_id: int, name: str, begin: int, end: int | None, attributes: dict[str, Any]
) -> dict[str, Any]:
    """Return the row of `marks` for a mark of this thread."""
    return {
        "mark_id": mark_id,
        "name": text_of(name),
        "begin": begin,
        "end": end if end is None else max(begin, end),  # the clock may have been set back
        "thread": threading.get_native_id(),
        "attributes": {text_of(key): text_of(value) for key, value in attributes.items()},
    }


def spooled_call(
    call_id: int,
    kernel_id: int,
    grid: tuple[int, int, int],
    records: Sequence[ArgumentRecord],
    frames: Sequence[Frame],
    facts: CallFacts,
) -> dict[str, Any]:
    """Return the row of `calls` for the spool: without contents, with frames, not a stack id."""
    return {
        "call_id": call_id,
        "kernel_id": kernel_id,
        "grid": grid,
        "args": list(map(_argument, records)),
        "frames": list(map(_frame, frames)),
        **asdict(facts),
    }


def kernel_row(
    add_artifact: Callable[[str, bytes, Producer], str], kernel_id: int, record: KernelRecord
) -> dict[str, Any]:
    """Return the row of `kernels` for a kernel's record; its texts and files become artifacts.

    `add_artifact` stores kind, content and producer, and returns the content's SHA-256.
    """
    row = asdict(record)
    source, compiler = row.pop("source"), row.pop("compiler")

    def artifact(kind: str, content: bytes | None, producer: Producer = UNKNOWN) -> str | None:
        return add_artifact(kind, content, producer) if content else None

    row["kernel_id"] = kernel_id
    row["source_artifact"] = artifact("source", source and source.encode())
    row["files"] = [
        {"path": path, "artifact": artifact("file", content)} for path, content in record.files
    ]
    row["stages"] = [
        {
            "stage": stage.stage,
            "artifact": artifact(stage.stage, stage.content, compiler),
            "duration_ns": stage.duration_ns,
        }
        for stage in record.stages
    ]
    return row
