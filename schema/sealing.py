"""Sealing a journal segment: its rows become a part, and it goes; what is damaged is kept aside."""

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
    """What a segment has that no part has: a write that was cut off, or damage."""

    table: str
    segment: Path
    torn_bytes: int
    damage: tuple[Damage, ...]

    @property
    def rows(self) -> int:
        """How many rows are lost, as far as that is known."""
        return sum(damage.rows or 0 for damage in self.damage)

    def message(self, out: Path, run_id: str) -> dict[str, Any]:
        """A row of `messages` that says it."""
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
        """Set the sealed segment aside where it is damaged, else remove it; OSError if it stays."""
        if self.damage:
            set_aside(self.segment, aside_path(out, run_id, self.segment))
        else:
            self.segment.unlink()


def seal_segment(segment: Path, path: Path | None, table: Table, facts: FileFacts) -> Loss | None:
    """Write a journal segment's whole batches as a part; return what is lost.

    Batches that are in order already are streamed; others are sorted in memory, which the size of
    a segment bounds. A segment with no row makes no part, and none is made where there is one
    already, or no path is given.

    Raises:
        OSError: as `write_part`.
        NewerFormat: it has columns that this version does not know.

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
    """Batches with the table's own columns; those of an older minor version lack some."""
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
    """How many rows there are, and whether they are in order already."""
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
    """Whether rows are in lexicographic order, first key first."""
    (first, *more) = keys
    # A slice of a memoryview copies nothing, and this takes a third of the time of what follows.
    if all(map(lt, first, first[1:])):
        return True
    rows = zip(*keys, strict=True) if more else first
    return all(before <= after for before, after in pairwise(rows))
