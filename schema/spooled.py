"""Reading of spools of dead processes, whose rows are added to their journals."""

import json
import time
from array import array
from base64 import b64decode
from collections.abc import Iterator
from dataclasses import dataclass, field
from io import BytesIO
from pathlib import Path
from struct import Struct
from typing import Any, BinaryIO, Final

import pyarrow as pa

from kvtrace.schema.columns import batch_of_columns, batch_of_rows
from kvtrace.schema.content import UNKNOWN, artifact_row, stack_row
from kvtrace.schema.errors import SchemaMismatch
from kvtrace.schema.hot_rows import columns_in_python, integers
from kvtrace.schema.journal import SegmentWriter
from kvtrace.schema.layout import (
    journal_folder,
    make_folder,
    part_numbers,
    refuse_irregular,
    run_folder,
    segment_path,
    segments,
)
from kvtrace.schema.parts import read_part
from kvtrace.schema.reading import captured_rows, quietly, segment_rows
from kvtrace.schema.spool import (
    AREA_BYTES,
    ARGUMENT_FIELDS,
    FIELDS,
    LAUNCHES_FRAME,
    NEWEST,
    NEWEST_BYTES,
    NEWEST_ROWS,
    PHASE_MASK,
    PHASES,
    ROW,
    memory_path,
    spool_folder,
)
from kvtrace.schema.tables import TABLES
from kvtrace.schema.versions import captured_facts

_FRAME: Final = Struct("=IIQQ")
_MAGIC: Final = 0x70534B8B
_JSON: Final = 1
#: Upper bound of the bytes of a file, and so of a frame.
_MAX_BYTES: Final = 512 << 20
_NUMBER: Final = Struct("=q")
#: Launches that are turned into columns at once.
_BATCH_LAUNCHES: Final = 100_000
#: Positions of these fields in a row.
_CALL, _PHASE = map(tuple(FIELDS).index, ("call_id", "phase"))
_MIXER: Final = 0x9E3779B97F4A7C15
_WORD: Final = (1 << 64) - 1


@dataclass(slots=True)
class SpoolContents:
    """Contents of a spool: known columns of rows by table and key, and packed launches.

    `launches` has pairs of the first `seq` and of launches packed as `ROW`, in order.
    """

    rows: dict[str, dict[Any, dict[str, Any]]] = field(default_factory=dict)
    launches: list[tuple[int, bytes]] = field(default_factory=list)

    @property
    def run(self) -> dict[str, Any] | None:
        """The run's row of `runs`, or None if the spool does not have it."""
        return next(iter(self.rows.get("runs", {}).values()), None)


_KEYS: Final = {"runs": "run_id", "artifacts": "sha256", "kernels": "kernel_id", "calls": "call_id"}


def read_spool(out: Path, run_id: str) -> SpoolContents:
    """Return the contents of a run's spool, of each part up to the first damaged frame."""
    spooled = SpoolContents()
    folder, memory = spool_folder(out, run_id), memory_path(run_id)
    for path in (folder / "0", folder / "1"):
        with _opened(path) as file:
            _add_frames(spooled, file)
    with _opened(memory if _is_of_owner(memory, folder) else None) as file:
        for area in (0, 1):
            file.seek(NEWEST_BYTES + area * AREA_BYTES)
            _add_frames(spooled, file)
        file.seek(0)
        spooled.launches += _newest_launches(file.read(NEWEST_BYTES))
    spooled.launches.sort(key=lambda numbered: numbered[0])
    return spooled


def _opened(path: Path | None) -> BinaryIO:
    """Return a file to be read; an empty file if there is none."""
    try:
        if path is None:
            return BytesIO()
        refuse_irregular(path)
        return path.open("rb")
    except FileNotFoundError:
        return BytesIO()


def _is_of_owner(memory: Path, folder: Path) -> bool:
    """Return whether a spool's memory and folder belong to one user: all can write to /dev/shm."""
    try:
        return memory.lstat().st_uid == folder.stat().st_uid
    except FileNotFoundError:
        return False


def _newest_launches(content: bytes) -> Iterator[tuple[int, bytes]]:
    """Yield the first `seq` and the rows of launches in a spool's memory, in two pieces at most."""
    if len(content) < NEWEST_BYTES:
        return
    first, end, kind = NEWEST.unpack_from(content)
    first = max(first, end - NEWEST_ROWS)
    while kind == LAUNCHES_FRAME and 0 <= first < end:
        row = first % NEWEST_ROWS
        count = min(end - first, NEWEST_ROWS - row)
        begin = NEWEST.size + row * ROW.size
        yield first, content[begin : begin + count * ROW.size]
        first += count


def _add_frames(spooled: SpoolContents, file: BinaryIO) -> None:
    """Add the frames from a file's position on, up to the first incomplete or damaged frame."""
    while len(head := file.read(_FRAME.size)) == _FRAME.size:
        magic, kind, size, checksum = _FRAME.unpack(head)
        if magic != _MAGIC or size > _MAX_BYTES:
            return
        content = file.read(-(-size // 8) * 8)
        if len(content) < size or len(content) % 8 or _frame_checksum(content) != checksum:
            return
        if kind == LAUNCHES_FRAME and size % ROW.size == _NUMBER.size:
            (first_seq,) = _NUMBER.unpack_from(content)
            spooled.launches.append((first_seq, content[_NUMBER.size : size]))
        elif kind == _JSON:
            _add_row(spooled, content[:size])


def _frame_checksum(content: bytes) -> int:
    """Return the checksum of a padded payload as `_hot_spool.h` computes it, over 64-bit words."""
    total = 0
    for word in memoryview(content).cast("Q"):
        total = ((total ^ word) * _MIXER) & _WORD
        total ^= total >> 32
    return total


def _add_row(spooled: SpoolContents, content: bytes) -> None:
    try:
        table, row = json.loads(content)
        key = row[_KEYS[table]]
        columns = spooled.rows.setdefault(table, {}).setdefault(key, {})
    except (ValueError, TypeError, KeyError, RecursionError):
        return  # kvtrace did not write it: there is no key
    columns |= {name: value for name, value in row.items() if value is not None}


def add_spool_to_journal(out: Path, run_id: str) -> str | None:
    """Write those rows of a dead process's spool that its journal lacks to the journal.

    Returns a sentence about added launches, or None without any. A second call changes nothing.

    Raises:
        OSError: as on a full disk.
        DamagedFile, NewerFormat, OlderFormat: the journal cannot be read.

    """
    spooled = read_spool(out, run_id)
    additions = _JournalAdditions(out, run_id)
    if additions.stored_values("runs", "run_id") == set() and spooled.run is not None:
        additions.add("runs", [spooled.run])
    additions.add_artifacts(spooled.rows.get("artifacts", {}))
    without_ir = additions.add_kernels(spooled.rows.get("kernels", {}))
    additions.add_calls(spooled.rows.get("calls", {}))
    count = additions.add_launches(spooled.launches)
    if not count:
        return None
    text = f"{count:,} launches were recovered from the process's spool, beside its journal"
    if without_ir:
        text += f"; of {without_ir} of their kernels only the name was recorded, not the IR"
    message = {"time": time.time_ns(), "level": "info", "code": "spooled", "text": text, "count": 1}
    additions.add("messages", [message])
    return text


class _JournalAdditions:
    """Writer of new segments to a dead run's journal, of rows that the journal does not have."""

    def __init__(self, out: Path, run_id: str) -> None:
        self._out, self._run_id = out, run_id
        self._artifacts = self.stored_values("artifacts", "sha256")
        self._kernels = self.stored_values("kernels", "kernel_id")
        self._calls = self.stored_values("calls", "call_id")
        self._stacks = self.stored_values("stacks", "stack_id")

    def stored_values(self, table: str, column: str) -> set[Any]:
        """Return the values in a column of the run's captured rows of a table."""
        rows = captured_rows(self._out, TABLES[table], self._run_id, [column], quietly)
        return set(rows.column(column).to_pylist())

    def add(self, table: str, rows: list[dict[str, Any]]) -> None:
        """Write rows to a new segment, without rows that do not fit the table."""
        batches = []
        for row in rows:
            try:
                batches.append(batch_of_rows(TABLES[table], [row]))
            except SchemaMismatch:
                continue  # no recording wrote it
        self._write(table, batches)

    def add_artifacts(self, spooled: dict[str, dict[str, Any]]) -> None:
        """Write artifacts that the journal lacks, with the spool's content if its hash is right."""
        rows = []
        for sha256, row in spooled.items():
            try:
                artifact = artifact_row(
                    str(row["kind"]),
                    b64decode(row["content"], validate=True),
                    producer=row.get("producer") or UNKNOWN,
                )
            except (ValueError, TypeError, KeyError):
                continue
            if artifact["sha256"] == sha256 and sha256 not in self._artifacts:
                rows.append(artifact)
                self._artifacts.add(sha256)
        self.add("artifacts", rows)

    def add_kernels(self, spooled: dict[int, dict[str, Any]]) -> int:
        """Write kernels that the journal lacks, and return how many of them have no IR.

        Kernels are left out if the journal lacks one of their artifacts.
        """
        rows = [row for kernel_id, row in spooled.items() if kernel_id not in self._kernels]
        rows = [row for row in rows if _referenced_artifacts(row) <= self._artifacts]
        self.add("kernels", rows)
        self._kernels = self.stored_values("kernels", "kernel_id")
        return sum(not row.get("stages") for row in rows)

    def add_calls(self, spooled: dict[int, dict[str, Any]]) -> None:
        """Write calls that the journal lacks, of kernels that it has, and the calls' stacks."""
        calls, stacks = [], {}
        for call_id, row in spooled.items():
            if call_id in self._calls or row.get("kernel_id") not in self._kernels:
                continue
            try:
                x, y, z = row.pop("grid")
                args = [
                    dict(zip(ARGUMENT_FIELDS, values, strict=True)) for values in row.pop("args")
                ]
                stack = stack_row([tuple(frame) for frame in row.pop("frames")])
            except (ValueError, TypeError, KeyError):
                continue
            call = {**row, "args": args, "grid_x": x, "grid_y": y, "grid_z": z}
            if stack["frames"]:
                call["stack_id"] = stack["stack_id"]
                if stack["stack_id"] not in self._stacks:
                    stacks[stack["stack_id"]] = stack
            calls.append(call)
        self.add("stacks", list(stacks.values()))
        self.add("calls", calls)
        self._calls = self.stored_values("calls", "call_id")

    def add_launches(self, spooled: list[tuple[int, bytes]]) -> int:
        """Write launches newer than the journal's, of calls that it has; return their number."""
        last_seq, batches, count = self._last_launch(), [], 0
        for first_seq, content in spooled:
            known_count = min(max(0, last_seq + 1 - first_seq), len(content) // ROW.size)
            for index in range(known_count, len(content) // ROW.size, _BATCH_LAUNCHES):
                packed = content[index * ROW.size : (index + _BATCH_LAUNCHES) * ROW.size]
                batch = _launch_batch(packed, first_seq + index, self._calls)
                if batch.num_rows:
                    batches.append(batch)
                    count += batch.num_rows
            last_seq = max(last_seq, first_seq + len(content) // ROW.size - 1)
        self._write("launches", batches)
        return count

    def _last_launch(self) -> int:
        """Return the largest `seq` of launches in journal and parts, or -1 without launches."""
        table = TABLES["launches"]
        unsealed = segments(self._out, self._run_id).get("launches", {})
        parts = part_numbers(run_folder(self._out, "launches", self._run_id))
        for segment_number in sorted({*unsealed, *parts}, reverse=True):
            if segment_number in parts:
                rows = read_part(parts[segment_number], table, ["seq"])
            else:
                rows = segment_rows(unsealed[segment_number], table, ["seq"], quietly)
            if rows.num_rows:
                return int(max(rows.column("seq").to_pylist()))
        return -1

    def _write(self, table: str, batches: list[pa.RecordBatch]) -> None:
        if not batches:
            return
        make_folder(journal_folder(self._out, self._run_id))
        numbers = {
            *segments(self._out, self._run_id).get(table, {}),
            *part_numbers(run_folder(self._out, table, self._run_id)),
        }
        path = segment_path(self._out, self._run_id, table, max(numbers, default=-1) + 1)
        segment = SegmentWriter(path, TABLES[table], captured_facts(table, self._run_id))
        try:
            for batch in batches:
                segment.append(batch)
            segment.flush()
        finally:
            segment.close()


def _referenced_artifacts(kernel: dict[str, Any]) -> set[Any]:
    """Return the hashes in a kernel's row: source, files and stages."""
    entries = [*kernel.get("files", ()), *kernel.get("stages", ())]
    hashes = [kernel.get("source_artifact"), *(entry.get("artifact") for entry in entries)]
    return {digest for digest in hashes if digest is not None}


def _launch_batch(content: bytes, first_seq: int, calls: set[int]) -> pa.RecordBatch:
    """Return packed launches of `calls` as a batch; the first packed launch has `first_seq`."""
    launches = [
        (seq, content[byte_offset : byte_offset + ROW.size])
        for seq, byte_offset in enumerate(range(0, len(content), ROW.size), first_seq)
        if _is_launch_of(ROW.unpack_from(content, byte_offset), calls)
    ]
    columns = columns_in_python(b"".join(row for _, row in launches), first_seq, 0).columns
    columns["seq"] = integers(array("q", (seq for seq, _ in launches)))
    return batch_of_columns(TABLES["launches"], columns)


def _is_launch_of(launch: tuple[int, ...], calls: set[int]) -> bool:
    """Return whether an unpacked launch is of one of `calls`, with a valid phase."""
    return launch[_CALL] in calls and launch[_PHASE] & PHASE_MASK < len(PHASES)
