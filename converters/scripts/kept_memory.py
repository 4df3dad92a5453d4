"""Memory of a call's first launch that was kept before and after it (`KVTRACE_CHECK`)."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from kvtrace.schema.runs import Run, plain_rows
from kvtrace.schema.trace import Trace


@dataclass(frozen=True, slots=True)
class KeptParts:
    """Parts of a storage (begin and size), and the artifact with the bytes of all, joined."""

    storage: str
    when: str
    spans: tuple[tuple[int, int], ...]
    artifact: str


def kept_memory(
    trace: Trace, run: Run, call_id: int, rows: Sequence[Mapping[str, Any]], limit_bytes: int
) -> tuple[int, tuple[KeptParts, ...]] | None:
    """Return the number of a call's first launch, and the memory that was kept of it.

    None if it was not kept whole, or is larger than `limit_bytes`. At later launches arguments may
    have been elsewhere in their storages. `rows` are the call's arguments.
    """
    launches, kept = (_of(trace, run, name, call_id) for name in ("launches", "checked_launches"))
    seq = pc.min(launches["seq"]).as_py()
    first = [row for row in kept.to_pylist() if row["seq"] == seq and row["programs"] is None]
    if not first or (first[0]["bytes"] or 0) > limit_bytes:
        return None
    memory = plain_rows(_of(trace, run, "checked_memory", call_id))
    parts = [_parts(trace, row, rows) for row in memory if row["seq"] == seq]
    known = tuple(part for part in parts if part is not None)
    return (seq, known) if known and len(known) == len(parts) else None


def _of(trace: Trace, run: Run, name: str, call_id: int) -> pa.Table:
    table = trace.table(name, (run,))
    return table.filter(pc.equal(table["call_id"], call_id))


def _parts(
    trace: Trace, row: Mapping[str, Any], rows: Sequence[Mapping[str, Any]]
) -> KeptParts | None:
    """Return what a row of `checked_memory` kept; None if it is not there, or fits no argument."""
    content = trace.artifact(row["artifact"])
    spans = tuple(
        (int(span["offset_bytes"]), int(span["size_bytes"])) for span in row["spans"] or ()
    )
    if any(begin < 0 or size < 0 for begin, size in spans):
        return None
    if content is None or sum(size for _, size in spans) != len(content):
        return None
    if not 0 <= row["arg"] < len(rows):
        return None
    argument = rows[row["arg"]]
    end = max((begin + size for begin, size in spans), default=0)
    if end > (argument["storage_bytes"] or 0):
        return None
    return KeptParts(argument["name"], row["when"], spans, row["artifact"])
