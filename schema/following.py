"""Followers of runs that are still recorded: rows added to the journals since the last look.

A follower writes, locks and waits for nothing in the trace. A segment that is sealed between two
looks is read to the end through the file that is still open; a segment that was begun and sealed in
between is read from the part.
"""

import contextlib
import os
from collections.abc import Container, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pyarrow as pa

from kvtrace.schema.columns import filled
from kvtrace.schema.errors import BadSetting, DamagedFile
from kvtrace.schema.journal import SegmentReader
from kvtrace.schema.layout import JOURNAL, part_numbers, run_folder, run_ids, segments
from kvtrace.schema.parts import part_pieces
from kvtrace.schema.reading import RUN_COLUMNS, journal_runs_row, quietly, sealed_runs_row
from kvtrace.schema.recovery import may_live
from kvtrace.schema.runs import Run
from kvtrace.schema.tables import TABLES


@dataclass(frozen=True, slots=True)
class News:
    """Rows added to a run between two looks, as `pieces` of (table name, rows).

    `live`: the process may still record. `whole`: this and earlier news have all rows of the run.
    """

    run: Run
    live: bool
    whole: bool
    pieces: list[tuple[str, pa.Table]]


@dataclass(slots=True)
class _FollowedRun:
    """State of a run: readers by (table, segment number), and each table's next segment number."""

    readers: dict[tuple[str, int], SegmentReader] = field(default_factory=dict)
    next: dict[str, int] = field(default_factory=dict)
    whole: bool = True
    row: dict[str, Any] | None = None


class Follower:
    """Follower of the runs in a directory's journal, from the first look on.

    Rows come in the order of writing, table by table; `columns` has the columns to read of each
    table. Tables that others refer to come last, so that each row comes with the rows that it
    refers to: {"launches": ["seq", "call_id"], "calls": ["call_id"]}. Of tables in `from_start`,
    rows that were sealed before the first look are read, too.
    """

    def __init__(
        self,
        out: Path,
        columns: Mapping[str, Sequence[str]],
        from_start: Container[str] = (),
    ) -> None:
        """Create a follower; nothing is read before the first `look`.

        Raises:
            BadSetting: on Windows, where the program could not remove files that are open here.

        """
        if os.name == "nt":
            raise BadSetting(
                "following a run keeps its files open, and Windows would not let the program "
                "remove them; follow it on Linux or macOS, or call kvtrace info"
            )
        self._out = out
        self._columns = columns
        self._from_start = from_start
        self._runs: dict[str, _FollowedRun] = {}

    def look(self) -> list[News]:
        """Return each run's rows since the last look; a run that has ended comes a last time.

        Raises:
            DamagedFile, NewerFormat, OlderFormat: a file cannot be read.

        """
        journalled = run_ids(self._out / JOURNAL)
        news = []
        for run_id in dict.fromkeys([*self._runs, *journalled]):
            followed = self._runs.setdefault(run_id, _FollowedRun())
            unsealed = segments(self._out, run_id)
            if not followed.next:
                self._set_next_segments(run_id, followed, unsealed)
            pieces = list(self._new_pieces(run_id, followed, unsealed))
            has_ended = run_id not in journalled
            sealed_row = sealed_runs_row(self._out, run_id, RUN_COLUMNS) if has_ended else None
            row = sealed_row or self._newest_row(run_id, followed)
            live = not has_ended and self._may_live(run_id, row)
            run = Run.of_row({**(row or {}), "run_id": run_id}, sealed_row is not None)
            news.append(News(run, live, followed.whole, pieces))
            if has_ended:
                self._close_run(run_id)
        return news

    def close(self) -> None:
        """Close all files."""
        for run_id in tuple(self._runs):
            self._close_run(run_id)

    def _set_next_segments(
        self, run_id: str, followed: _FollowedRun, unsealed: Mapping[str, Mapping[int, Path]]
    ) -> None:
        """Set each table's next segment: 0 for tables in `from_start`, else the journal's first.

        That is the one after the last part for a table that has none in the journal.
        """
        for table in self._columns:
            parts = part_numbers(run_folder(self._out, table, run_id))
            after_parts = max(parts, default=-1) + 1
            in_journal = min(unsealed.get(table, ()), default=after_parts)
            followed.next[table] = 0 if table in self._from_start else in_journal
            followed.whole = followed.whole and followed.next[table] == 0

    def _may_live(self, run_id: str, row: dict[str, Any] | None) -> bool:
        try:
            return may_live(self._out, run_id, row) is not None
        except FileNotFoundError:  # its journal went in this moment
            return False

    def _newest_row(self, run_id: str, followed_run: _FollowedRun) -> dict[str, Any] | None:
        with contextlib.suppress(DamagedFile):  # what is known of it stays
            followed_run.row = journal_runs_row(self._out, run_id, quietly) or followed_run.row
        return followed_run.row

    def _new_pieces(
        self, run_id: str, followed: _FollowedRun, unsealed: Mapping[str, Mapping[int, Path]]
    ) -> Iterator[tuple[str, pa.Table]]:
        for table, names in self._columns.items():
            paths = unsealed.get(table, {})
            parts = part_numbers(run_folder(self._out, table, run_id))
            open_numbers = [number for name, number in followed.readers if name == table]
            for number in sorted({*paths, *open_numbers, *parts}):
                if number < followed.next[table]:
                    continue
                reader = followed.readers.pop((table, number), None)
                reader = reader or _open_segment(paths.get(number))
                if reader is not None:
                    yield from ((table, rows) for rows in _added_rows(reader, table, names))
                    if number in paths and number not in parts:
                        followed.readers[table, number] = (
                            reader  # it may have more at the next look
                        )
                        break
                    reader.close()
                elif number in parts:
                    pieces = part_pieces(parts[number], TABLES[table], list(names))
                    yield from ((table, rows) for rows in pieces)
                else:
                    break  # it was sealed in this moment, and its part is there at the next look
                followed.next[table] = number + 1

    def _close_run(self, run_id: str) -> None:
        for reader in self._runs.pop(run_id).readers.values():
            reader.close()


def _open_segment(path: Path | None) -> SegmentReader | None:
    try:
        return None if path is None else SegmentReader(path)
    except FileNotFoundError:  # it was sealed in the meantime
        return None


def _added_rows(reader: SegmentReader, table: str, names: Sequence[str]) -> Iterator[pa.Table]:
    for batch in reader.more():
        known_columns = batch.select([name for name in names if name in batch.schema.names])
        rows = pa.Table.from_batches([known_columns.replace_schema_metadata(None)])
        yield filled(TABLES[table], rows, list(names), str(reader.path))
