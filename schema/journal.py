"""Journal segments: one table's rows in batches, appended while a run is recorded.

A segment is a sequence of frames: a head of fixed size (`_HEAD`) and a payload, each with a
checksum. The first two frames hold the schema, each other frame one batch, which can be read
without other batches. Heads begin with magic bytes, by which a reader finds the next frame after
damage; so damage costs only the batches in which it lies.

After a failed write a segment is cut back to the last whole batch. A reader reads every whole batch
of a segment that a killed process left. Segments of older versions of kvtrace are plain Arrow IPC
streams, which are read up to the first batch that is not whole.
"""

import os
import struct
import zlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Final, NamedTuple

import pyarrow as pa

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

#: Most places of damage that a text names.
_PLACES: Final = 5

#: Bytes read at once in the search for the next frame.
_PIECE_BYTES: Final = 1 << 20


class SegmentWriter:
    """One table's journal segment, open for appending.

    `rows` and `size_bytes` are handed to the operating system; `pending_rows` and `pending_bytes`
    wait for a flush.
    """

    def __init__(self, path: Path, table: Table, facts: FileFacts) -> None:
        """Create the file; OSError if that fails, as for an existing file."""
        self.path = path
        self.rows = 0
        self.size_bytes = 0
        self.pending_rows = 0
        self.pending_bytes = 0
        # O_APPEND: after a failed write the file is cut, and the next write must begin there.
        flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_APPEND | getattr(os, "O_BINARY", 0)
        self._handle = os.open(path, flags, 0o666)
        self._schema = table.schema.with_metadata(facts.metadata())
        self._schema_bytes = self._schema.serialize()
        self._batches = 0
        # No buffered file, which would write when garbage-collected: a forked child must not write
        # the parent's rows a second time.
        self._pending: list[memoryview] = []
        self._add(0, 0, self._schema_bytes)
        self._add(0, 0, self._schema_bytes)

    def append(self, batch: pa.RecordBatch) -> None:
        """Add a batch, which survives the process after the next `flush`."""
        sink = pa.BufferOutputStream()
        with pa.ipc.new_stream(sink, self._schema) as stream:
            stream.write_batch(batch)
        self._batches += 1
        self._add(self._batches, batch.num_rows, sink.getvalue()[self._schema_bytes.size :])
        self.pending_rows += batch.num_rows

    def flush(self) -> None:
        """Write pending batches to the operating system.

        Raises:
            OSError: as on a full disk. The file ends after the last whole batch, and pending rows
                stay pending, for another try.

        """
        try:
            for piece in self._pending:
                rest = piece
                while rest:
                    rest = rest[os.write(self._handle, rest) :]
        except OSError:
            os.ftruncate(self._handle, self.size_bytes)
            raise
        self.size_bytes += self.pending_bytes
        self.rows += self.pending_rows
        self._pending = []
        self.pending_rows = self.pending_bytes = 0

    def sync(self) -> None:
        """Write flushed bytes to the disk (fsync); OSError if that fails."""
        os.fsync(self._handle)

    def close(self) -> None:
        """Close the file; pending rows are not written."""
        if self._handle >= 0:
            os.close(self._handle)
            self._handle = -1

    def _add(self, number: int, rows: int, payload: pa.Buffer) -> None:
        before = self.rows + self.pending_rows
        head = _HEAD.pack(_MAGIC, number, rows, before, payload.size, zlib.crc32(payload))
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
        """Return place and loss, as "batch 4 at byte 12,345 (1,000 rows)"."""
        what = f"{self.size_bytes:,} bytes" if self.batch is None else f"batch {self.batch}"
        rows = "number of rows not known" if self.rows is None else f"{self.rows:,} rows"
        return f"{what} at byte {self.byte:,} ({rows})"


def described(damage: Sequence[Damage]) -> str:
    """Return text about damage: the first few places, and the number of further ones."""
    places = ", ".join(map(str, damage[:_PLACES]))
    return places if len(damage) <= _PLACES else f"{places} and {len(damage) - _PLACES} more"


class _Frame(NamedTuple):
    """A frame with a whole head: position, and fields of the head."""

    position: int
    number: int
    rows: int
    before: int
    payload_bytes: int
    checksum: int

    @property
    def end(self) -> int:
        return self.position + _HEAD_BYTES + self.payload_bytes


class SegmentReader:
    """Iterates over the whole batches of a segment, in order, one in memory at a time.

    After the iteration `torn_bytes` is the number of bytes of an incomplete batch at the end: a
    write that was cut off, or that is still in progress. `damage` lists other damaged bytes.
    """

    def __init__(self, path: Path) -> None:
        """Open the file: FileNotFoundError if it was sealed, DamagedFile if it is no file."""
        refuse_irregular(path)
        self.path = path
        self.torn_bytes = 0
        self.damage: list[Damage] = []
        #: By position of a frame, whether the payload matches its checksum; computed once.
        self._whole: dict[int, bool] = {}
        self._followed_to = 0
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
        old = self._read(0, len(_STREAM)) == _STREAM
        return self._batches_of_stream() if old else self._batches()

    def more(self) -> Iterator[pa.RecordBatch]:
        """Yield the whole batches added since the last call, to follow a run.

        A batch that is being written is left for the next call, and damage is skipped. This works
        even after the file is sealed and removed, as the system keeps open files. Segments of older
        versions yield nothing. Errors as of the iteration.
        """
        self.size_bytes = os.fstat(self._file.fileno()).st_size
        self.damage, self.torn_bytes = [], 0
        if self._read(0, len(_STREAM)) != _STREAM:
            yield from self._batches(self._followed_to)
        self._whole.clear()

    @property
    def lost(self) -> list[Damage]:
        """The damage by which rows were lost, or may have been lost."""
        return [damage for damage in self.damage if damage.rows != 0]

    def _batches(self, start: int = 0) -> Iterator[pa.RecordBatch]:
        schema = self._schema if start else b""
        for frame in self._frames(start):
            self._followed_to = frame.end
            buffer = pa.allocate_buffer(len(schema) + frame.payload_bytes)
            content = memoryview(buffer).cast("B")
            payload = content[len(schema) :]  # read to where it is decoded
            self._read_into(payload, frame.position + _HEAD_BYTES)
            first = frame.position not in self._whole
            if first:
                self._whole[frame.position] = zlib.crc32(payload) == frame.checksum
            whole = self._whole[frame.position]
            if whole and frame.number == 0:
                schema = self._schema = schema or self._checked_schema(bytes(payload))
                continue
            content[: len(schema)] = schema
            batch = _decoded(buffer, first) if whole and schema else None
            if batch is not None:
                yield batch
                continue
            self._whole[frame.position] = False
            size = frame.end - frame.position
            self.damage.append(Damage(frame.position, size, frame.number or None, frame.rows))

    def _checked_schema(self, content: bytes) -> bytes:
        """Return the content if it is a schema, else b""; NewerFormat or OlderFormat as usual."""
        try:
            schema = pa.ipc.read_schema(pa.py_buffer(content))
        except (pa.ArrowException, OSError):
            return b""
        read_facts(schema.metadata, str(self.path))
        return content

    def _frames(self, start: int = 0) -> Iterator[_Frame]:
        """Yield frames with whole heads from a position on; bytes between frames are damage."""
        position, rows = start, 0
        while position < self.size_bytes:
            frame = self._next_frame(position)
            begin = self.size_bytes if frame is None else frame.position
            if frame is None and self._is_cut_head(position):
                self.torn_bytes = self.size_bytes - position
                return
            if begin > position:
                lost = None if frame is None else max(0, frame.before - rows)
                self.damage.append(Damage(position, begin - position, None, lost))
            if frame is None:
                return
            if frame.end > self.size_bytes:
                self.torn_bytes = self.size_bytes - frame.position
                return
            yield frame
            position, rows = frame.end, frame.before + frame.rows

    def _next_frame(self, position: int) -> _Frame | None:
        """Return the first frame that begins at or after a position, or None."""
        frame = self._frame_at(position)
        if frame is not None:
            return frame  # the usual case, without damage
        while position < self.size_bytes:
            piece = self._read(position, _PIECE_BYTES)
            place = piece.find(_MAGIC)
            while place >= 0:
                frame = self._frame_at(position + place)
                if frame is not None:
                    return frame
                place = piece.find(_MAGIC, place + 1)
            position += max(1, len(piece) - len(_MAGIC) + 1)
        return None

    def _frame_at(self, position: int) -> _Frame | None:
        head = self._read(position, _HEAD_BYTES)
        if len(head) < _HEAD_BYTES or not head.startswith(_MAGIC):
            return None
        fields, checksum = head[: _HEAD.size], head[_HEAD.size :]
        if _SUM.pack(zlib.crc32(fields)) != checksum:
            return None
        return _Frame(position, *_HEAD.unpack(fields)[1:])

    def _is_cut_head(self, position: int) -> bool:
        """Return whether the file ends with the beginning of a frame's head."""
        head = self._read(position, _HEAD_BYTES)
        begins = head.startswith(_MAGIC[: len(head)])
        return begins and self.size_bytes - position < _HEAD_BYTES

    def _read(self, position: int, count: int) -> bytes:
        """Return bytes of the file, up to the size at opening."""
        content = bytearray(max(0, min(count, self.size_bytes - position)))
        return bytes(content[: self._read_into(memoryview(content), position)])

    def _read_into(self, room: memoryview, position: int) -> int:
        """Fill `room` with bytes of the file; return the number of bytes read."""
        self._file.seek(position)
        done = 0
        while done < len(room) and (count := self._file.readinto(room[done:])):
            done += count
        return done

    def _batches_of_stream(self) -> Iterator[pa.RecordBatch]:
        """Yield the batches of an older version's segment, up to the first damage."""
        whole = 0
        with pa.OSFile(str(self.path)) as source:
            try:
                stream = pa.ipc.open_stream(source)
                read_facts(stream.schema.metadata, str(self.path))
                whole = source.tell()
                while True:
                    batch = stream.read_next_batch()
                    batch.validate(full=True)
                    whole = source.tell()
                    yield batch
            except (StopIteration, pa.ArrowException, OSError):
                pass
        if whole < self.size_bytes:
            self.damage.append(Damage(whole, self.size_bytes - whole, None, None))


def _is_compressed(message: pa.Message) -> bool:
    """Return whether a message's buffers are compressed, so that they may expand to any size.

    kvtrace never writes such messages. The metadata are a FlatBuffer: a vtable before a table has
    the offsets of the table's fields.
    """
    if message.type not in ("record batch", "dictionary"):
        return False
    content = bytes(message.metadata)

    def field(table: int, number: int) -> int:
        (back,) = struct.unpack_from("<i", content, table)
        (size,) = struct.unpack_from("<H", content, table - back)
        if 4 + 2 * number >= size:
            return 0
        (offset,) = struct.unpack_from("<H", content, table - back + 4 + 2 * number)
        return table + int(offset) if offset else 0

    def followed(place: int) -> int:
        (offset,) = struct.unpack_from("<I", content, place)
        return place + int(offset)

    batch = followed(field(followed(0), 2))
    if message.type == "dictionary":
        batch = followed(field(batch, 1))
    return field(batch, 3) > 0


def _decoded(stream: pa.Buffer, check: bool) -> pa.RecordBatch | None:
    """Return the batch of an Arrow IPC stream; None if invalid, even with a correct checksum."""
    try:
        if check and any(map(_is_compressed, pa.ipc.MessageReader.open_stream(stream))):
            return None
        batch = pa.ipc.open_stream(stream).read_next_batch()
        if check:
            batch.validate(full=True)
    except (StopIteration, pa.ArrowException, OSError):
        return None
    return batch
