"""Sealing of journal segments: rows become a part; the segment is removed, or kept if damaged."""

import time
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from operator import lt
from pathlib import Path
from typing import Any

import pyarrow as pa

from kvtrace.schema.arrays import comparable
from kvtrace.schema.columns import filled
from kvtrace.schema.errors import NewerFormat
from kvtrace.schema.journal import Damage, SegmentReader, described
from kvtrace.schema.layout import aside_path, set_aside
from kvtrace.schema.parts import sorted_rows, write_part
from kvtrace.schema.table_types import Table
from kvtrace.schema.versions import FileFacts


@dataclass(frozen=True, slots=True)
class Loss:
    """Bytes of a segment that are in no part: a write that was cut off, or damage."""

    table: str
    segment: Path
    torn_bytes: int
    damage: tuple[Damage, ...]

    @property
    def rows(self) -> int:
        """Number of lost rows, as far as known."""
        return sum(damage.rows or 0 for damage in self.damage)

    def message(self, out: Path, run_id: str) -> dict[str, Any]:
        """Return the row of `messages` about the loss."""
        if self.damage:
            code = "damaged-journal"
            kept = aside_path(out, run_id, self.segment).relative_to(out).as_posix()
            text = (
                f"the journal of {self.table} is damaged, and {described(self.damage)} could not "
                f"be read; the file is kept as {kept}"
            )
        else:
            code = "torn-journal"
            text = (
                f"the last write was cut off, and {self.torn_bytes} bytes of {self.table} were lost"
            )
        return {"time": time.time_ns(), "level": "warning", "code": code, "text": text, "count": 1}

    def retire(self, out: Path, run_id: str) -> None:
        """Remove the sealed segment, or move it aside if it is damaged; OSError if that fails."""
        if self.damage:
            set_aside(self.segment, aside_path(out, run_id, self.segment))
        else:
            self.segment.unlink()


def seal_segment(segment: Path, path: Path | None, table: Table, facts: FileFacts) -> Loss | None:
    """Write a journal segment's whole batches as a part; return the loss, or None.

    Ordered batches are streamed; others are sorted in memory, which the size of a segment bounds.
    No part is written for a segment without rows, over an existing part, or without a path.

    Raises:
        OSError: as `write_part`.
        NewerFormat: the segment has columns that this version does not know.

    """
    with SegmentReader(segment) as reader:
        rows, ordered = _survey(reader, table.sort)
        torn, damage = reader.torn_bytes, tuple(reader.lost)
        if rows and path is not None and not path.exists():
            batches: Iterable[pa.RecordBatch] = _conformed(reader, table)
            if not ordered:
                batches = sorted_rows(pa.Table.from_batches(batches), table).to_batches()
            write_part(path, table, facts, batches)
    return Loss(table.name, segment, torn, damage) if torn or damage else None


def _conformed(reader: SegmentReader, table: Table) -> Iterator[pa.RecordBatch]:
    """Yield batches with all columns of the table; an older minor version may lack some."""
    names = [column.name for column in table.columns]
    for batch in reader:
        if batch.schema.equals(table.schema):
            yield batch
            continue
        unknown = set(batch.schema.names) - set(names)
        if unknown:
            raise NewerFormat(
                f"{reader.path} has columns that this kvtrace does not know "
                f"({', '.join(sorted(unknown))}); seal it with a newer kvtrace"
            )
        plain = pa.Table.from_batches([batch.replace_schema_metadata(None)])
        rows = filled(table, plain, names, str(reader.path))
        yield from pa.Table.from_arrays(rows.columns, schema=table.schema).to_batches()


def _survey(batches: Iterable[pa.RecordBatch], sort: Sequence[str]) -> tuple[int, bool]:
    """Return the number of rows, and whether they are sorted."""
    rows, ordered = 0, True
    last: tuple[Any, ...] | None = None
    for batch in batches:
        if batch.num_rows == 0:
            continue
        rows += batch.num_rows
        if not ordered or not sort:
            ordered = False
            continue
        if any(batch.column(name).null_count for name in sort):
            ordered = False  # nulls come last, which only sorting gives
            continue
        keys = [comparable(batch.column(name)) for name in sort]
        first = tuple(key[0] for key in keys)
        ordered = (last is None or last <= first) and _in_order(keys)
        last = tuple(key[-1] for key in keys)
    return rows, ordered


def _in_order(keys: Sequence[Sequence[Any]]) -> bool:
    """Return whether rows are in lexicographic order of the key columns."""
    (first, *more) = keys
    # A slice of a memoryview copies nothing, and this takes a third of the time of what follows.
    if all(map(lt, first, first[1:])):
        return True
    rows = zip(*keys, strict=True) if more else first
    return all(before <= after for before, after in pairwise(rows))
