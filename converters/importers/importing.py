"""Import of other tools' files as runs of a trace: either all runs are added, or none."""

import csv
import gzip
import io
import os
import re
import secrets
import shutil
import time
import zlib
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, BinaryIO, Final

import pyarrow as pa

from kvtrace.converters.importers.registry import (
    BadSource,
    ImportedRun,
    importer_names,
    importer_of,
    left_out_sentence,
    load_importer,
)
from kvtrace.converters.importers.rows import RunRows
from kvtrace.figures.host_events import NO_IMPORTED_KERNELS
from kvtrace.progress import progress
from kvtrace.schema.errors import BadSetting, TraceNotFound, TraceWriteError
from kvtrace.schema.layout import IMPORT_UNCERTAIN, JOURNAL, refuse_links
from kvtrace.schema.output_folders import check_output_folder
from kvtrace.schema.writer import RunWriter, new_run_id

#: A function that is called with the number of bytes read of the current file.
_read_bytes: ContextVar[Callable[[int], None] | None] = ContextVar("read_bytes", default=None)

#: Largest ratio of unpacked to packed size, above `_SMALL_BYTES`; tools' files have about 20.
_MOST_RATIO: Final = 50
_SMALL_BYTES: Final = 64 << 20
#: Bytes of a file by which its tool is recognized.
_HEAD: Final = 1 << 16
#: Bytes that are unpacked in one read.
_PIECE: Final = 1 << 20
#: Share of an import's time in which the file is read; then its last tables are made and written.
_READING: Final = 0.8
_GZIP: Final = b"\x1f\x8b"
#: A byte order mark of UTF-8, which some editors and exports put before a text.
_BYTE_ORDER_MARK: Final = b"\xef\xbb\xbf"
#: Errors that importers raise for files with unexpected contents.
_FORM_ERRORS: Final = (
    ValueError, TypeError, KeyError, IndexError, AttributeError, RecursionError, OverflowError,
    pa.ArrowException, csv.Error,
)  # fmt: skip
#: Key of the file's name in the `settings` of an imported run.
FILE: Final = "imported_from"
#: Times of less than this many ns since 1970 (the year 2001) count from another moment, such as the
#: start of the machine.
EPOCH_NS: Final = 10**18
#: The rank in a file's name, such as `rank-3.pt.trace.json.gz` or `trace_rank_3_.ndjson`.
_RANK: Final = re.compile(r"(?<![a-z])rank[-_ ]?(\d{1,6})(?!\d)", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class ImportedRunFile:
    """One imported run: its tool and file, and sentences about data that the file lacks.

    `left_out` and `has_all_events` are as in `ImportedRun`. `group` is the run's `group_id`.
    `has_kernels`: a launch or an execution of a kernel is recorded.
    """

    run_id: str
    source: str
    file: str
    lacks: tuple[str, ...]
    left_out: Mapping[str, int]
    has_all_events: bool
    group: str
    has_kernels: bool


class _UnpackedContent(io.RawIOBase):
    """Stream of a file's unpacked content; reading reports progress, and fails at `_MOST_RATIO`."""

    def __init__(self, path: Path, plain: io.BufferedReader, content: io.BufferedIOBase) -> None:
        self._path = path
        self._plain = plain
        self._content = content
        self._total = os.fstat(plain.fileno()).st_size
        self._done = 0

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        count = self._content.readinto(buffer)
        self._done += count
        if (
            self._done > max(_SMALL_BYTES, _MOST_RATIO * self._total)
            and self._content != self._plain
        ):
            raise BadSource(
                f"{self._path} unpacks to more than {_MOST_RATIO} times its size, so it is "
                "probably damaged; if it is not, unpack it with gunzip and import the result"
            )
        tell = _read_bytes.get()
        if tell is not None:
            tell(self._plain.tell())
        return count


@contextmanager
def unpacked(path: Path) -> Iterator[BinaryIO]:
    """Open a file for reading, and unpack its content if it is packed with gzip.

    A byte order mark at the begin of the content is skipped.

    Raises:
        BadSource: the file cannot be read, or its packed content is damaged or far too large.

    """
    try:
        with path.open("rb") as plain:
            if plain.peek(2)[:2] != _GZIP:
                yield _without_mark(io.BufferedReader(_UnpackedContent(path, plain, plain)))
                return
            with gzip.open(plain) as content:
                yield _without_mark(io.BufferedReader(_UnpackedContent(path, plain, content)))
    except (EOFError, zlib.error, gzip.BadGzipFile) as problem:
        raise BadSource(f"{path} is damaged or incomplete ({problem}): copy it again") from problem
    except OSError as problem:
        reason = problem.strerror or problem
        raise BadSource(f"{path} cannot be read ({reason})") from problem


def _without_mark(content: io.BufferedReader) -> io.BufferedReader:
    """Skip a byte order mark."""
    if content.peek(len(_BYTE_ORDER_MARK)).startswith(_BYTE_ORDER_MARK):
        content.read(len(_BYTE_ORDER_MARK))
    return content


def _unpack_once(path: Path) -> None:
    """Unpack a packed file to detect damage at once; parsing is fifty times as slow."""
    if path.is_file():
        with path.open("rb") as file:
            is_packed = file.read(2) == _GZIP
        if is_packed:
            with unpacked(path) as content:
                while content.read(_PIECE):
                    pass


def head_of(path: Path) -> bytes:
    """Return the first unpacked bytes of a file; b"" for a folder. Errors as `unpacked`."""
    if path.is_dir():
        return b""
    with unpacked(path) as file:
        return file.read(_HEAD)


def import_files(
    paths: Sequence[Path],
    out: Path,
    source: str | None = None,
) -> list[ImportedRunFile]:
    """Add the runs of files to the trace `out`, which is created if it does not exist; return them.

    Either all runs are added or none. They get one group, as the ranks of a job. Several runs of
    the same rank are not of one job: the first of each rank get a group, the second another.

    Args:
        paths: Files, or folders for tools that write folders.
        out: The trace.
        source: Name of the tool; None: recognize the tool by the content of each file.

    Raises:
        BadSource: no known tool wrote a file, or a file is damaged.
        MemoryError: a file takes more memory than the process may have.
        BadSetting: the tool is not known, `out` has files and is no trace, or a file describes no
            process.
        TraceNotFound: a file does not exist.
        TraceWriteError: the trace cannot be written, for example because the disk is full.

    """
    for path in paths:
        if not path.exists():
            raise TraceNotFound(f"{path} does not exist")
        if not (path.is_file() or path.is_dir()):
            raise BadSetting(f"{path} is not a regular file: copy its content to a file")
    check_output_folder(out, "add")
    for path in paths:
        _unpack_once(path)
    tools = [(path, source or importer_of(path, head_of(path))) for path in paths]
    for _, name in tools:
        load_importer(name)
    groups = _Groups(f"imported-{secrets.token_hex(6)}")
    work_folder = out.resolve().with_name(f".{out.name or 'trace'}.{secrets.token_hex(4)}.tmp")
    try:
        runs = [
            run
            for path, name in _with_progress(tools)
            for run in _read(path, name, work_folder, groups)
        ]
        if not runs:
            raise BadSource(f"{paths[0]} describes no process: nothing was traced")
        _publish(work_folder, out)
    except OSError as problem:
        raise TraceWriteError(
            f"the trace {out} cannot be written ({problem.strerror or problem})"
        ) from problem
    finally:
        shutil.rmtree(work_folder, ignore_errors=True)
    return runs


def _with_progress(tools: Sequence[tuple[Path, str]]) -> Iterator[tuple[Path, str]]:
    """Yield files and their tools, and show what of all bytes was read and written."""
    sizes = [path.stat().st_size if path.is_file() else 0 for path, _ in tools]
    before, total = 0, sum(sizes)

    def tell(count: int) -> None:
        report(before + _READING * count, total)

    with progress("import") as report:
        token = _read_bytes.set(tell)
        try:
            for entry, size in zip(tools, sizes, strict=True):
                yield entry
                before += size
                report(before, total)
        finally:
            _read_bytes.reset(token)


@dataclass(slots=True)
class _Groups:
    """Groups of the runs of one import; no group has two runs of the same rank."""

    first: str
    _runs_of_rank: Counter[int] = field(default_factory=Counter)

    def of(self, rank: int | None) -> str:
        """Return the group of the next run of a rank, or of no known rank."""
        if rank is None:
            return self.first
        self._runs_of_rank[rank] += 1
        number = self._runs_of_rank[rank]
        return self.first if number == 1 else f"{self.first}-{number}"


def _read(path: Path, name: str, work: Path, groups: _Groups) -> Iterator[ImportedRunFile]:
    """Write the runs of one file into the folder `work`, and yield each when it is complete."""
    importer = load_importer(name)
    writer = RunWriter(work, new_run_id(), of_this_process=False)
    rows = RunRows(writer)
    try:
        for run in importer.read(path, rows):
            yield _sealed(run, writer, rows, name, path, groups)
            writer = RunWriter(work, new_run_id(), of_this_process=False)
            rows.begin(writer)
    except MemoryError:
        raise  # also Arrow's, which is an ArrowException too
    except _FORM_ERRORS as problem:
        raise _unexpected_form(path, name, problem) from problem
    finally:
        writer.close()
        shutil.rmtree(work / JOURNAL, ignore_errors=True)


def _unexpected_form(path: Path, name: str, problem: BaseException) -> BadSource:
    detail = " ".join(str(problem).split())[:120]
    return BadSource(
        f"{path} does not have the form that {name} writes ({type(problem).__name__}: {detail}): "
        f"it is damaged, or from another tool ({', '.join(importer_names())})"
    )


def _sealed(
    run: ImportedRun, writer: RunWriter, rows: RunRows, name: str, path: Path, groups: _Groups
) -> ImportedRunFile:
    """Write a run's messages and its row of `runs`, which completes the run; return its facts."""
    begin = run.row.get("started")
    if begin is None or begin < EPOCH_NS:
        begin = None
    has_kernels = writer.has_rows("launches") or writer.has_rows("gpu_kernels")
    lacks = *run.lacks, *rows.notes, *(() if has_kernels else (NO_IMPORTED_KERNELS,))
    messages = [("info", f"import-{name}", text) for text in lacks]
    messages += [("warning", IMPORT_UNCERTAIN, text) for text in rows.warnings]
    lacks += tuple(rows.warnings)
    left_out = left_out_sentence(run.left_out, in_events=run.has_all_events)
    if left_out is not None:
        messages.append(("warning", f"import-{name}-left-out", left_out))
    now = time.time_ns() if begin is None else begin
    rows.rows(
        "messages",
        (
            {"time": now, "level": level, "code": code, "text": text, "count": count}
            for (level, code, text), count in Counter(messages).items()
        ),
    )
    rank = run.row.get("rank")
    if rank is None and run.has_whole_file:
        rank_in_name = _RANK.search(path.name)
        rank = None if rank_in_name is None else int(rank_in_name[1])
    group = groups.of(rank)
    writer.seal(
        {
            "mode": "timeline",
            "ending": "stopped",
            **run.row,
            "started": begin,
            "ended": None if begin is None else run.row.get("ended"),
            "rank": rank,
            "group_id": group,
            "settings": {**run.row.get("settings", {}), FILE: path.name},
            "source": name,
        }
    )
    return ImportedRunFile(
        writer.run_id, name, path.name, lacks, run.left_out, run.has_all_events, group,
        has_kernels,
    )  # fmt: skip


def _publish(work: Path, out: Path) -> None:
    """Move the runs' folders from `work` into the trace `out`; those of the table `runs` come last.

    If one cannot be moved, those moved before are removed again.
    """
    shutil.rmtree(work / JOURNAL, ignore_errors=True)
    if not out.exists():
        out.parent.mkdir(parents=True, exist_ok=True)
        work.rename(out)
        return
    refuse_links(out)
    moved: list[Path] = []
    try:
        for table in sorted(work.iterdir(), key=lambda folder: folder.name == "runs"):
            (out / table.name).mkdir(exist_ok=True)
            for folder in table.iterdir():
                target = out / table.name / folder.name
                os.rename(folder, target)  # noqa: PTH104 - a rename, never a replacement
                moved.append(target)
    except OSError:
        for target in moved:
            shutil.rmtree(target, ignore_errors=True)
        raise
