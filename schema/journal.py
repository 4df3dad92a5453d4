"""Journal segments: one table's rows in batches, appended while a run is recorded.

A segment is a sequence of frames: a head of fixed size (`_HEAD`) and a payload, each with a
checksum. The first two frames hold the schema, each other frame one batch, which can be read
without other batches. Heads begin with magic bytes, by which a reader finds the next frame after
damage; so damage costs only the batches in which it lies.

After a failed write a segment is cut back to the last whole batch. A reader reads every whole batch
of a segment that a killed process left. Segments of older versions of kvtrace are plain Arrow IPC
streams, which are read up to the first batch that is not whole.
"""

import errno
import os
import struct
import zlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Final, NamedTuple

import pyarrow as pa

from kvtrace.schema.descriptors import Descriptor
from kvtrace.schema.errors import lacks_descriptor
from kvtrace.schema.layout import refuse_irregular
from kvtrace.schema.table_types import Table
from kvtrace.schema.versions import FileFacts, read_facts

#: Magic, number of the batch (0: the schema), rows of the batch, rows of the segment before the
#: batch, bytes of the payload, CRC-32 of the payload; and (`_SUM`) CRC-32 of all these.
_HEAD: Final = struct.Struct("<8sIIQQI")
_SUM: Final = struct.Struct("<I")
_MAGIC: Final = b"\x8bkvt\r\n\x1a\x93"
_HEAD_BYTES: Final = _HEAD.size + _SUM.size

#: First bytes of a segment of an older version, an Arrow IPC stream.
_STREAM: Final = b"\xff\xff\xff\xff"

#: Number of damages that a text lists.
_MAX_LISTED: Final = 5

#: Bytes read at once in the search for the next frame.
_PIECE_BYTES: Final = 1 << 20


class SegmentWriter:
    """One table's journal segment, open for appending.

    `rows` and `size_bytes` are handed to the operating system; `pending_rows` and `pending_bytes`
    wait for a flush.
    """

    def __init__(self, path: Path, table: Table, facts: FileFacts) -> None:
        """Create the file and queue two frames with the schema; OSError if the file exists.

        Where all file descriptors are in use, `flush` creates the file.
        """
        self.path = path
        self.rows = 0
        self.size_bytes = 0
        self.pending_rows = 0
        self.pending_bytes = 0
        self._file: Descriptor | None = None
        try:
            self._open()
        except OSError as error:
            if not lacks_descriptor(error):
                raise
        self._schema = table.schema.with_metadata(facts.metadata())
        self._schema_bytes = self._schema.serialize()
        self._batches = 0
        # No buffered file, which would write when garbage-collected: a forked child must not write
        # the parent's rows a second time.
        self._pending: list[memoryview] = []
        self._queue_frame(0, 0, self._schema_bytes)
        self._queue_frame(0, 0, self._schema_bytes)

    def append(self, batch: pa.RecordBatch) -> None:
        """Queue a batch; it survives the process's end once `flush` has written it."""
        sink = pa.BufferOutputStream()
        with pa.ipc.new_stream(sink, self._schema) as stream:
            stream.write_batch(batch)
        self._batches += 1
        self._queue_frame(self._batches, batch.num_rows, sink.getvalue()[self._schema_bytes.size :])
        self.pending_rows += batch.num_rows

    def flush(self) -> None:
        """Write pending batches to the operating system.

        Raises:
            OSError: as on a full disk, or without a descriptor for the file. The file ends after
                the last whole batch, and pending rows stay pending, for another try.

        """
        number = self._open()
        try:
            unwritten = memoryview(b"".join(self._pending))  # a write may take long
            while unwritten:
                unwritten = unwritten[os.write(number, unwritten) :]
        except OSError:
            os.ftruncate(number, self.size_bytes)
            raise
        self.size_bytes += self.pending_bytes
        self.rows += self.pending_rows
        self._pending = []
        self.pending_rows = self.pending_bytes = 0

    def sync(self) -> None:
        """Write flushed bytes to the disk (fsync); OSError if that fails."""
        os.fsync(self._open())

    def close(self) -> None:
        """Close the file; pending rows are not written."""
        if self._file is not None:
            self._file.close()

    def _open(self) -> int:
        """Return the file's number; create the file, or open it again if the program closed it."""
        if self._file is not None and self._file.is_open:
            return self._file.number
        # O_APPEND: after a failed write the file is cut, and the next write must begin there.
        flags = os.O_WRONLY | os.O_APPEND | getattr(os, "O_BINARY", 0)
        create = os.O_CREAT | os.O_EXCL if self._file is None else 0
        self._file = Descriptor(os.open(self.path, flags | create, 0o666))
        return self._file.number

    def _queue_frame(self, number: int, rows: int, payload: pa.Buffer) -> None:
        rows_before = self.rows + self.pending_rows
        head = _HEAD.pack(_MAGIC, number, rows, rows_before, payload.size, zlib.crc32(payload))
        self._pending += [memoryview(head + _SUM.pack(zlib.crc32(head))), memoryview(payload)]
        self.pending_bytes += _HEAD_BYTES + payload.size


@dataclass(frozen=True, slots=True)
class Damage:
    """Damaged bytes of a segment; `rows` is the number of lost rows, None if unknown."""

    byte: int
    size_bytes: int
    batch: int | None
    rows: int | None

    def __str__(self) -> str:
        """Return text as "batch 4 at byte 12,345 (1,000 rows)"."""
        damaged_text = f"{self.size_bytes:,} bytes" if self.batch is None else f"batch {self.batch}"
        rows_text = "number of rows not known" if self.rows is None else f"{self.rows:,} rows"
        return f"{damaged_text} at byte {self.byte:,} ({rows_text})"


def damage_text(damage: Sequence[Damage]) -> str:
    """Return the texts of the first `_MAX_LISTED` damages, and the number of further damages."""
    listed = ", ".join(map(str, damage[:_MAX_LISTED]))
    return (
        listed if len(damage) <= _MAX_LISTED else f"{listed} and {len(damage) - _MAX_LISTED} more"
    )


class _Frame(NamedTuple):
    """A frame whose head is undamaged: its byte offset in the file, and the fields of its head."""

    position: int
    number: int
    rows: int
    rows_before: int
    payload_bytes: int
    checksum: int

    @property
    def end(self) -> int:
        return self.position + _HEAD_BYTES + self.payload_bytes


class SegmentReader:
    """Iterator over the undamaged batches of a segment, in order, one in memory at a time.

    After the iteration `torn_bytes` is the number of bytes of an incomplete batch at the end: a
    write that was cut off, or that is still in progress. `damage` lists other damaged bytes.
    """

    def __init__(self, path: Path) -> None:
        """Open the segment; FileNotFoundError if it was sealed, DamagedFile if it is no file."""
        refuse_irregular(path)
        self.path = path
        self.torn_bytes = 0
        self.damage: list[Damage] = []
        #: By position of a frame, whether the payload matches its checksum; computed once.
        self._is_payload_whole: dict[int, bool] = {}
        self._read_to = 0
        self._schema = b""
        self._file = path.open("rb", buffering=0)
        self.size_bytes = os.fstat(self._file.fileno()).st_size

    def __enter__(self) -> "SegmentReader":
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def close(self) -> None:
        """Close the file."""
        self._file.close()

    def __iter__(self) -> Iterator[pa.RecordBatch]:
        """Yield batches; NewerFormat, OlderFormat or DamagedFile if the segment is not readable."""
        self.torn_bytes = 0
        self.damage = []
        is_old_format = self._read(0, len(_STREAM)) == _STREAM
        return self._batches_of_stream() if is_old_format else self._batches()

    def more(self) -> Iterator[pa.RecordBatch]:
        """Yield the whole batches added since the last call, to follow a run.

        A batch that is being written is left for the next call, and damage is skipped. This works
        even after the file is sealed and removed, as the system keeps open files. Segments of older
        versions yield nothing. Errors as of the iteration.
        """
        self.size_bytes = os.fstat(self._file.fileno()).st_size
        self.damage, self.torn_bytes = [], 0
        if self._read(0, len(_STREAM)) != _STREAM:
            yield from self._batches(self._read_to)
        self._is_payload_whole.clear()

    @property
    def lost(self) -> list[Damage]:
        """The items of `damage` by which rows were lost, or may have been lost."""
        return [damage for damage in self.damage if damage.rows != 0]

    def _batches(self, start: int = 0) -> Iterator[pa.RecordBatch]:
        schema = self._schema if start else b""
        for frame in self._frames(start):
            self._read_to = frame.end
            buffer = pa.allocate_buffer(len(schema) + frame.payload_bytes)
            content = memoryview(buffer).cast("B")
            payload = content[len(schema) :]  # read to where it is decoded
            self._read_into(payload, frame.position + _HEAD_BYTES)
            is_first_read = frame.position not in self._is_payload_whole
            if is_first_read:
                self._is_payload_whole[frame.position] = zlib.crc32(payload) == frame.checksum
            is_whole = self._is_payload_whole[frame.position]
            if is_whole and frame.number == 0:
                schema = self._schema = schema or self._checked_schema(bytes(payload))
                continue
            content[: len(schema)] = schema
            batch = _decoded_batch(buffer, is_first_read) if is_whole and schema else None
            if batch is not None:
                yield batch
                continue
            self._is_payload_whole[frame.position] = False
            frame_bytes = frame.end - frame.position
            self.damage.append(
                Damage(frame.position, frame_bytes, frame.number or None, frame.rows)
            )

    def _checked_schema(self, content: bytes) -> bytes:
        """Return `content` if it is a serialized schema, else b""; errors as `read_facts`."""
        try:
            schema = pa.ipc.read_schema(pa.py_buffer(content))
        except (pa.ArrowException, OSError):
            return b""
        read_facts(schema.metadata, str(self.path))
        return content

    def _frames(self, start: int = 0) -> Iterator[_Frame]:
        """Yield frames with undamaged heads from byte `start` on; add other bytes to `damage`."""
        position, expected_rows = start, 0
        while position < self.size_bytes:
            frame = self._next_frame(position)
            frame_start = self.size_bytes if frame is None else frame.position
            if frame is None and self._is_cut_head(position):
                self.torn_bytes = self.size_bytes - position
                return
            if frame_start > position:
                lost_rows = None if frame is None else max(0, frame.rows_before - expected_rows)
                self.damage.append(Damage(position, frame_start - position, None, lost_rows))
            if frame is None:
                return
            if frame.end > self.size_bytes:
                self.torn_bytes = self.size_bytes - frame.position
                return
            yield frame
            position, expected_rows = frame.end, frame.rows_before + frame.rows

    def _next_frame(self, position: int) -> _Frame | None:
        """Return the first frame at or after a byte offset; None if there is no further frame."""
        frame = self._frame_at(position)
        if frame is not None:
            return frame  # the usual case, without damage
        while (position := self._data_from(position)) < self.size_bytes:
            chunk = self._read(position, _PIECE_BYTES)
            magic_index = chunk.find(_MAGIC)
            while magic_index >= 0:
                frame = self._frame_at(position + magic_index)
                if frame is not None:
                    return frame
                magic_index = chunk.find(_MAGIC, magic_index + 1)
            position += max(1, len(chunk) - len(_MAGIC) + 1)
        return None

    def _data_from(self, position: int) -> int:
        """Return the first byte offset from `position` on that is in no hole of the file.

        A file of few bytes may have a size of terabytes.
        """
        try:
            return os.lseek(self._file.fileno(), position, os.SEEK_DATA)
        except (AttributeError, OSError) as error:  # not of this system, or no data behind it
            is_at_end = getattr(error, "errno", None) == errno.ENXIO
            return self.size_bytes if is_at_end else position

    def _frame_at(self, position: int) -> _Frame | None:
        head = self._read(position, _HEAD_BYTES)
        if len(head) < _HEAD_BYTES or not head.startswith(_MAGIC):
            return None
        fields, checksum = head[: _HEAD.size], head[_HEAD.size :]
        if _SUM.pack(zlib.crc32(fields)) != checksum:
            return None
        return _Frame(position, *_HEAD.unpack(fields)[1:])

    def _is_cut_head(self, position: int) -> bool:
        """Return whether all bytes from `position` on are the incomplete head of a frame."""
        head = self._read(position, _HEAD_BYTES)
        begins = head.startswith(_MAGIC[: len(head)])
        return begins and self.size_bytes - position < _HEAD_BYTES

    def _read(self, position: int, count: int) -> bytes:
        """Return `count` bytes from `position` on, fewer at `size_bytes`, the segment's end."""
        content = bytearray(max(0, min(count, self.size_bytes - position)))
        return bytes(content[: self._read_into(memoryview(content), position)])

    def _read_into(self, target: memoryview, position: int) -> int:
        """Read bytes from `position` on into `target`; return the number of bytes read."""
        self._file.seek(position)
        filled = 0
        while filled < len(target) and (count := self._file.readinto(target[filled:])):
            filled += count
        return filled

    def _batches_of_stream(self) -> Iterator[pa.RecordBatch]:
        """Yield the batches of an older version's segment, up to the first damage."""
        read_bytes = 0
        with pa.OSFile(os.fsencode(self.path)) as source:
            try:
                stream = pa.ipc.open_stream(source)
                read_facts(stream.schema.metadata, str(self.path))
                read_bytes = source.tell()
                while True:
                    batch = stream.read_next_batch()
                    batch.validate(full=True)
                    read_bytes = source.tell()
                    yield batch
            except (StopIteration, pa.ArrowException, OSError):
                pass
        if read_bytes < self.size_bytes:
            self.damage.append(Damage(read_bytes, self.size_bytes - read_bytes, None, None))


def _has_compressed_buffers(message: pa.Message) -> bool:
    """Return whether an Arrow message's buffers are compressed, and may expand to any size.

    kvtrace never writes such messages. The metadata are a FlatBuffer: a vtable before a table has
    the offsets of the table's fields.
    """
    if message.type not in ("record batch", "dictionary"):
        return False
    content = bytes(message.metadata)

    def field_position(table: int, field_index: int) -> int:
        (vtable_distance,) = struct.unpack_from("<i", content, table)
        (vtable_bytes,) = struct.unpack_from("<H", content, table - vtable_distance)
        if 4 + 2 * field_index >= vtable_bytes:
            return 0
        (offset,) = struct.unpack_from("<H", content, table - vtable_distance + 4 + 2 * field_index)
        return table + int(offset) if offset else 0

    def referenced_position(position: int) -> int:
        (offset,) = struct.unpack_from("<I", content, position)
        return position + int(offset)

    batch_table = referenced_position(field_position(referenced_position(0), 2))
    if message.type == "dictionary":
        batch_table = referenced_position(field_position(batch_table, 1))
    return field_position(batch_table, 3) > 0


def _decoded_batch(stream: pa.Buffer, check: bool) -> pa.RecordBatch | None:
    """Return the first batch of an Arrow IPC stream, or None if it is invalid.

    `check` also validates the batch's values, and refuses compressed buffers.
    """
    try:
        if check and any(map(_has_compressed_buffers, pa.ipc.MessageReader.open_stream(stream))):
            return None
        batch = pa.ipc.open_stream(stream).read_next_batch()
        if check:
            batch.validate(full=True)
    except (StopIteration, pa.ArrowException, OSError):
        return None
    return batch
