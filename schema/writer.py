"""Writer of runs: rows go to a journal at once, and into Parquet parts when a run ends.

Segment N of a table's journal becomes part N of the table. The part gets its name once it is
complete and on disk, and only then the segment is removed; so a reader finds each row exactly once
at any moment, whenever the process is killed.
"""

import errno
import os
import platform
import shutil
import time
from collections.abc import Callable, Iterable, Mapping
from contextlib import nullcontext
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import pyarrow as pa

from kvtrace.schema.columns import ColumnValues, batch_of_columns, batch_of_rows, table_named
from kvtrace.schema.errors import SchemaMismatch, TraceWriteError, lacks_descriptor
from kvtrace.schema.features import (
    features_of_rows,
    features_of_run,
    keeps_sums_of_dropped,
)
from kvtrace.schema.journal import SegmentWriter
from kvtrace.schema.layout import (
    journal_folder,
    names_reach_disk_together,
    part_path,
    refuse_links,
    remove_journal,
    reserve_path,
    segment_path,
)
from kvtrace.schema.layout import new_run_id as new_run_id
from kvtrace.schema.older_parts import remove_uncounted
from kvtrace.schema.parts import write_part
from kvtrace.schema.sealing import seal_segment
from kvtrace.schema.tables import TABLES
from kvtrace.schema.versions import FORMAT_VERSION, captured_facts
from kvtrace.version import __version__

#: A segment is sealed during the run when it has this many rows, or bytes.
SEGMENT_ROWS: Final = 1 << 20
SEGMENT_BYTES: Final = 128 << 20

#: Pending bytes beyond which an append flushes on its own, so that memory stays bounded.
_PENDING_BYTES: Final = 4 << 20
#: Most pending bytes of a segment without a file, for which there is no descriptor yet.
_WAITING_BYTES: Final = 64 << 20

#: Bytes on disk that are reserved for the last row of `runs`.
_RESERVE_BYTES: Final = 16 << 10
#: A journal of up to so many bytes is removed at once, after all segments are sealed.
_SMALL_BYTES: Final = 1 << 20

#: Tables to which other tables refer, in the order in which rows must reach the disk: so no row
#: that survives refers to a lost row. Rows of all other tables come after.
REFERRED_TO: Final = ("runs", "artifacts", "stacks", "kernels", "calls", "operators", "launches")


@dataclass(frozen=True, slots=True)
class SealedPart:
    """A part that was written from a full segment while its run continues."""

    table: str
    path: Path
    size_bytes: int


class RunWriter:
    """Writer of one run of a trace; called from one thread at a time.

    Any number of writers may work in one directory at once. After a fork the child needs a separate
    writer; the inherited writer refuses to write.

        writer = RunWriter(Path("out"), new_run_id())
        writer.append_rows("runs", [{"command": "python train.py", "mode": "launch"}])
        writer.append("launches", {"seq": [0], "call_id": [0]})
        writer.flush()
        writer.seal({"ended": time.time_ns(), "ending": "exit"})
    """

    def __init__(
        self,
        out: str | os.PathLike[str],
        run_id: str,
        segment_rows: int = SEGMENT_ROWS,
        segment_bytes: int = SEGMENT_BYTES,
        *,
        of_this_process: bool = True,
    ) -> None:
        """Create the run's journal with a provisional row of `runs`.

        `of_this_process` adds the time, and this process's host and id, to the row.

        Raises:
            TraceWriteError: the directory cannot be written to, has this run already, or has a
                table's folder that is a link.

        """
        self.out = Path(out)
        self.run_id = run_id
        self._lost_rows = 0
        self._loss_messages: list[dict[str, Any]] = []
        self._segment_rows = segment_rows
        self._segment_bytes = segment_bytes
        self._process = os.getpid()
        #: By table: the segment that rows go to, one whose file was made before there are rows
        #: (`open_ahead`), and the number of the next segment.
        self._open: dict[str, SegmentWriter] = {}
        self._ahead: dict[str, SegmentWriter] = {}
        self._next: dict[str, int] = {}
        self._failure: str | None = None
        self._sealed = False
        #: Parts that were sealed since the last `take_sealed`, and the bytes of all parts.
        self._parts: list[SealedPart] = []
        self._part_bytes = 0
        self._features: set[str] = set()
        self._run: dict[str, Any] = {
            "run_id": run_id,
            "schema_version": FORMAT_VERSION,
            "producer": "kvtrace",
            "producer_version": __version__,
        }
        if of_this_process:
            began = time.time_ns()
            self._run |= {"started": began, "host": platform.node(), "pid": self._process}
        refuse_links(self.out, ())
        try:
            journal_folder(self.out, run_id).mkdir(parents=True)
        except OSError as error:
            raise self._refuse_further_rows(error) from error
        try:
            self._reserve_space()
            self.append_rows("runs", [])
            self.flush()
        except TraceWriteError:
            self.close()
            shutil.rmtree(journal_folder(self.out, run_id), ignore_errors=True)
            raise

    @property
    def dropped_rows(self) -> int:
        """Number of rows lost so far; after a failed write, pending rows count, too."""
        if self._failure is None:
            return self._lost_rows
        pending_rows = (self._open[table].pending_rows for table in self._open if table != "runs")
        return self._lost_rows + sum(pending_rows)

    @property
    def size_bytes(self) -> int:
        """Bytes of the run on disk: parts, and written bytes of the journal."""
        return self._part_bytes + sum(segment.size_bytes for segment in self._open.values())

    def open_ahead(self, tables: Iterable[str]) -> None:
        """Create files for rows to come while there are descriptors; OSError as `SegmentWriter`."""
        for table in tables:
            self._ahead[table] = self._new_segment(table, 0)

    def _remove_ahead(self) -> None:
        """Remove the files of `open_ahead` that no row was written to."""
        for segment in self._ahead.values():
            segment.path.unlink(missing_ok=True)
        self._close_ahead()

    def _close_ahead(self) -> None:
        for segment in self._ahead.values():
            segment.close()
        self._ahead.clear()

    def open_segment(self, table: str) -> tuple[int, int]:
        """Return (rows, bytes) written to a table's open segment, (0, 0) without one."""
        segment = self._open.get(table)
        return (0, 0) if segment is None else (segment.rows, segment.size_bytes)

    def take_sealed(self) -> list[SealedPart]:
        """Return and forget the parts that were sealed since the last call, oldest first."""
        parts, self._parts = self._parts, []
        return parts

    def rotate(self, table: str) -> None:
        """Write a table's open segment as a part; TraceWriteError as `flush`."""
        self._check_usable()
        try:
            self._flush_whole()
            self._sync_referred_to()
            self._seal_segment(table)
        except OSError as error:
            raise self._refuse_further_rows(error) from error

    def drop(self, part: SealedPart, before: Callable[[SealedPart], None]) -> None:
        """Delete the file of a sealed part after `before` was called; TraceWriteError as `flush`.

        An OSError of `before` ends the run, as one of deleting does.
        """
        self._check_usable()
        try:
            before(part)
            part.path.unlink(missing_ok=True)
        except OSError as error:
            raise self._refuse_further_rows(error) from error
        self._part_bytes -= part.size_bytes

    def lose(self, rows: int) -> None:
        """Add rows that were lost before they reached the writer to `dropped_rows`."""
        self._lost_rows += rows

    def has_rows(self, table: str) -> bool:
        """Return whether rows of a table were written."""
        return table in self._next

    def append(self, table: str, columns: Mapping[str, ColumnValues]) -> None:
        """Add rows as columns: NumPy arrays, sequences or Arrow arrays of one length.

        Times are int64 nanoseconds or Arrow timestamps. Missing columns are null.

        Raises:
            SchemaMismatch: an unknown table or column, or values that do not fit; nothing is added.
            TraceWriteError: the rows could not be written.

        """
        if table == "runs":
            raise SchemaMismatch("write a row of runs with append_rows or seal")
        self._append(table, batch_of_columns(table_named(table), columns))

    def append_rows(self, table: str, rows: Iterable[Mapping[str, Any]]) -> None:
        """Add rows as mappings; a key that the table lacks is an error. Errors as `append`.

        A row of `runs` updates the provisional row; missing columns keep their values.
        """
        if table != "runs":
            batch = batch_of_rows(table_named(table), rows)
            if batch.num_rows:
                self._append(table, batch)
            return
        for row in rows:
            self._update_run_row(row)
        self._append_run_row()

    def flush(self) -> bool:
        """Write all rows to the operating system, so that they survive the end of this process.

        Return False if some wait for a later flush, as there is no descriptor for their file.

        Raises:
            TraceWriteError: some rows could not be written, as on a full disk.

        """
        self._check_usable()
        try:
            return self._flush_all()
        except OSError as error:
            raise self._refuse_further_rows(error) from error

    def seal(
        self,
        runs_row: Mapping[str, Any],
        at_last: Callable[[], Mapping[str, Any]] = dict,
        may_go_on: Callable[[], bool] = lambda: True,
    ) -> bool:
        """Turn the journal into Parquet parts, `runs` last, and remove the journal.

        `runs_row` updates the provisional row, and so does the result of `at_last`, called when all
        other tables are sealed. After an earlier failure this still seals the written rows, since
        the disk may have space again. No rows can be added afterwards.

        Return False if the rest stays in the journal, as `may_go_on`, called before each table, has
        returned False.

        Raises:
            TraceWriteError: some rows could not be sealed; they stay in the journal, where readers
                find them.

        """
        self._check_process()
        if self._sealed:
            return True
        self._update_run_row(runs_row)
        try:
            self._remove_ahead()  # whose descriptors sealing may need
            self._flush_whole()
            if not self._seal_all(at_last, may_go_on):
                self._write_final_row_to_journal()
                self.close()
                return False
        except OSError as error:
            failure = self._refuse_further_rows(error)
            self._write_final_row_to_journal()
            raise failure from error
        self._sealed = True
        return True

    def close(self) -> None:
        """Close the files without sealing, as a forked child does with its parent's."""
        for segment in self._open.values():
            segment.close()
        self._open.clear()
        self._close_ahead()
        self._failure = self._failure or "the writer was closed"

    def _append_run_row(self) -> None:
        self._append("runs", batch_of_rows(TABLES["runs"], [self._with_features(self._run)]))

    def _with_features(self, row: Mapping[str, Any]) -> dict[str, Any]:
        """Return a row of `runs` with the features that it and the written rows require."""
        return {**row, "required_features": sorted(self._features | features_of_run(row))}

    def _append(self, table: str, batch: pa.RecordBatch) -> None:
        try:
            self._check_usable()
            new_features = features_of_rows(table, batch) - self._features
            if new_features:  # before the rows, so that a killed run requires them, too
                self._features |= new_features
                self._append_run_row()
        except TraceWriteError:
            self._lost_rows += 0 if table == "runs" else batch.num_rows
            raise
        try:
            segment = self._segment(table)
            segment.append(batch)
            is_full = self._is_full(segment)
            must_flush = is_full or segment.pending_bytes >= _PENDING_BYTES
            if must_flush and self._flush_all() and is_full:
                self._sync_referred_to()
                self._seal_segment(table)
        except OSError as error:
            if table not in self._open and table != "runs":
                self._lost_rows += batch.num_rows
            raise self._refuse_further_rows(error) from error

    def _flush_all(self) -> bool:
        """Return whether all is written; False if rows wait for a descriptor, as in `flush`."""
        other_tables = [table for table in self._open if table not in REFERRED_TO]
        is_whole = True
        for table in (*REFERRED_TO, *other_tables):
            try:
                if table in self._open:
                    self._open[table].flush()
            except OSError as error:
                waiting_bytes = self._open[table].pending_bytes
                if not lacks_descriptor(error) or waiting_bytes > _WAITING_BYTES:
                    raise
                if table in REFERRED_TO:
                    return False
                is_whole = False
        return is_whole

    def _flush_whole(self) -> None:
        if not self._flush_all():
            raise OSError(errno.EMFILE, os.strerror(errno.EMFILE))

    def _sync_referred_to(self) -> None:
        """Sync the open segments of tables that parts refer to (`REFERRED_TO`) to the disk."""
        for table in REFERRED_TO:
            if table in self._open:
                self._open[table].sync()

    def _is_full(self, segment: SegmentWriter) -> bool:
        rows = segment.rows + segment.pending_rows
        return rows >= self._segment_rows or segment.size_bytes >= self._segment_bytes

    def _segment(self, table: str) -> SegmentWriter:
        segment = self._open.get(table)
        if segment is None:
            segment_number = self._next.get(table, 0)
            segment = self._ahead.pop(table, None) or self._new_segment(table, segment_number)
            self._open[table] = segment
            self._next[table] = segment_number + 1
        return segment

    def _new_segment(self, table: str, number: int) -> SegmentWriter:
        path = segment_path(self.out, self.run_id, table, number)
        return SegmentWriter(path, TABLES[table], captured_facts(table, self.run_id))

    def _seal_segment(self, table: str, *, stays: bool = False) -> None:
        """Write a table's segment as a part, and delete the segment unless `stays`.

        Losses are counted, and reported by a message at the end of the run.
        """
        if table == "runs":
            return  # its one row is written when the run ends
        segment = self._open[table]
        path = part_path(self.out, table, self.run_id, self._next[table] - 1)
        loss = seal_segment(segment.path, path, TABLES[table], captured_facts(table, self.run_id))
        if path.exists():
            self._parts.append(SealedPart(table, path, path.stat().st_size))
            self._part_bytes += self._parts[-1].size_bytes
        segment.close()
        del self._open[table]
        if loss is None:
            if not stays:
                segment.path.unlink()
            return
        self._lost_rows += loss.rows
        self._loss_messages.append(loss.message(self.out, self.run_id))
        loss.retire(self.out, self.run_id)

    def _seal_all(
        self, at_last: Callable[[], Mapping[str, Any]], may_go_on: Callable[[], bool]
    ) -> bool:
        # The smallest first: on a full disk each sealed segment frees space for the next.
        tables = sorted(self._open, key=lambda name: self._open[name].size_bytes)
        is_small = sum(self._open[name].size_bytes for name in tables) <= _SMALL_BYTES
        with names_reach_disk_together() if is_small else nullcontext():
            for table in tables:
                if not may_go_on():
                    return False
                self._seal_segment(table, stays=is_small)
        if self._loss_messages:
            messages, self._loss_messages = self._loss_messages, []
            self._segment("messages").append(batch_of_rows(TABLES["messages"], messages))
            self._open["messages"].flush()
            self._seal_segment("messages")
        if keeps_sums_of_dropped(dict(self._run.get("settings") or ())):
            remove_uncounted(self.out, self.run_id)
        self._update_run_row(at_last())
        write_part(
            part_path(self.out, "runs", self.run_id, 0),
            TABLES["runs"],
            captured_facts("runs", self.run_id),
            [batch_of_rows(TABLES["runs"], [self._final_row()])],
        )
        runs_segment = self._open.pop("runs", None)
        if runs_segment is not None:
            runs_segment.close()
        remove_journal(self.out, self.run_id)
        return True

    def _final_row(self) -> dict[str, Any]:
        return self._with_features({"dropped_rows": self.dropped_rows, **self._run})

    def _reserve_space(self) -> None:
        """Create the file that reserves space for the run's last row; ignore a full disk."""
        reserve = reserve_path(self.out, self.run_id)
        try:
            reserve.write_bytes(bytes(_RESERVE_BYTES))
        except OSError:
            reserve.unlink(missing_ok=True)

    def _write_final_row_to_journal(self) -> None:
        """Write the final row of `runs` to the journal, after freeing the reserved space."""
        runs_segment = self._open.get("runs")
        if runs_segment is None:
            return
        try:
            reserve_path(self.out, self.run_id).unlink(missing_ok=True)
            runs_segment.append(batch_of_rows(TABLES["runs"], [self._final_row()]))
            runs_segment.flush()
        except OSError as error:
            self._refuse_further_rows(error)

    def _update_run_row(self, row: Mapping[str, Any]) -> None:
        run_id = row.get("run_id", self.run_id)
        if run_id != self.run_id:
            raise SchemaMismatch(
                f"the row of runs has the id {run_id}, but the writer's run is {self.run_id}"
            )
        updated_row = self._run | {key: value for key, value in row.items() if value is not None}
        batch_of_rows(TABLES["runs"], [updated_row])  # an error of the new values leaves the row
        self._run = updated_row

    def _check_usable(self) -> None:
        self._check_process()
        if self._sealed:
            raise TraceWriteError(f"run {self.run_id} is sealed, and accepts no more rows")
        if self._failure is not None:
            raise TraceWriteError(self._failure)

    def _check_process(self) -> None:
        if os.getpid() != self._process:
            raise TraceWriteError(
                f"run {self.run_id} belongs to process {self._process}; "
                "a forked process needs a separate run"
            )

    def _refuse_further_rows(self, error: OSError) -> TraceWriteError:
        """Refuse further rows, and return the error to raise; `seal` tries pending rows again."""
        if self._failure is None:
            reason = error.strerror or str(error)
            is_no_folder = isinstance(error, NotADirectoryError | FileExistsError)
            rest = "name a folder" if is_no_folder else "earlier records stay readable"
            self._failure = f"the trace in {self.out} cannot be written on ({reason}); {rest}"
        return TraceWriteError(self._failure)
