"""Journal segments: Arrow IPC streams that grow while a run is recorded.

A segment never ends inside a message after a failed write (it is cut back to its last whole
batch), and a reader takes every whole batch of one that a killed process left.
"""

import os
from collections.abc import Iterator
from pathlib import Path
from types import TracebackType
from typing import Any, Final

import pyarrow as pa

from kvtrace.schema.tables import Table
from kvtrace.schema.versions import FileFacts, read_facts


class _Pending:
    """The file object that Arrow writes into: bytes wait here for the next flush.

    Unlike a buffered file it writes nothing when it is collected, so a forked child never writes
    its parent's rows a second time.
    """

    closed: Final = False

    def __init__(self) -> None:
        self.data = bytearray()

    def write(self, data: Any) -> int:
        self.data += data
        return len(data)

    def flush(self) -> None:
        """Nothing: the segment flushes."""

    def close(self) -> None:
        """Nothing: the segment closes."""


class SegmentWriter:
    """One table's journal segment, open for appending.

    `rows` are those that the operating system has; `pending_rows` wait for a flush.
    """

    def __init__(self, path: Path, table: Table, facts: FileFacts) -> None:
        """Create the file; OSError if that fails, as when it exists already."""
        self.path = path
        self.rows = 0
        self.pending_rows = 0
        self.size_bytes = 0
        # Appending: after a failed write the file is cut, and the next one must begin there.
        flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_APPEND | getattr(os, "O_BINARY", 0)
        self._handle = os.open(path, flags, 0o666)
        self._pending = _Pending()
        self._stream = pa.ipc.new_stream(
            self._pending, table.schema.with_metadata(facts.metadata())
        )

    def append(self, batch: pa.RecordBatch) -> None:
        """Add a batch; it survives the process after the next `flush`."""
        self._stream.write_batch(batch)
        self.pending_rows += batch.num_rows

    @property
    def pending_bytes(self) -> int:
        """Bytes that wait for a flush."""
        return len(self._pending.data)

    def flush(self) -> None:
        """Hand what is pending to the operating system.

        Raises:
            OSError: the disk is full, or the like. The file ends after its last whole batch, and
                the pending rows stay pending, for another try.

        """
        rest = memoryview(self._pending.data)
        try:
            while rest:
                rest = rest[os.write(self._handle, rest) :]
        except OSError:
            os.ftruncate(self._handle, self.size_bytes)
            raise
        self.size_bytes += len(self._pending.data)
        self.rows += self.pending_rows
        self._pending.data = bytearray()
        self.pending_rows = 0

    def close(self) -> None:
        """Close the file; pending rows are not written."""
        if self._handle >= 0:
            os.close(self._handle)
            self._handle = -1


class SegmentReader:
    """The whole batches of a segment, in order, one in memory at a time.

    After the iteration `torn_bytes` says how many bytes at the end are no whole batch: a write
    that was cut off, or that is still under way.
    """

    def __init__(self, path: Path) -> None:
        """Open the file: FileNotFoundError where it was sealed meanwhile."""
        self.path = path
        self.size_bytes = path.stat().st_size
        self.torn_bytes = 0
        self._source = pa.OSFile(str(path))

    def __enter__(self) -> "SegmentReader":
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._source.close()

    def __iter__(self) -> Iterator[pa.RecordBatch]:
        """Raise NewerFormat, OlderFormat or DamagedFile for a segment that is not readable."""
        self._source.seek(0)
        self.torn_bytes = self.size_bytes
        try:
            stream = pa.ipc.open_stream(self._source)
        except (pa.ArrowException, OSError):
            return  # not even the schema is whole
        read_facts(stream.schema.metadata, str(self.path))
        self._whole_until(self._source.tell())
        while True:
            try:
                batch = stream.read_next_batch()
                batch.validate(full=True)
            except (StopIteration, pa.ArrowException, OSError):
                return
            self._whole_until(self._source.tell())
            yield batch

    def _whole_until(self, position: int) -> None:
        self.torn_bytes = max(0, self.size_bytes - position)
