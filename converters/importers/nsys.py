"""Nsight Systems' exports: SQLite, and folders of Parquet (`nsys export --type parquetdir`).

Tables and columns as its user guide's "SQLite Schema Reference" has them, 2021 to 2026. Tables are
made only where there are rows, columns come and go between versions, and a table's name may end in
a version, so each is looked for, and what is not there is null.
"""

import re
import sqlite3
from collections.abc import Iterator, Sequence
from contextlib import closing
from pathlib import Path
from typing import Any, Final

import pyarrow as pa
import pyarrow.parquet as pq

from kvtrace.converters.importers.executions import COPY, FILL, KERNEL, Executions, marks
from kvtrace.converters.importers.json_values import integer, text
from kvtrace.converters.importers.registry import BadSource, ImportedRun
from kvtrace.converters.importers.rows import NONE, RunRows

_SQLITE: Final = b"SQLite format 3\0"
_VERSION: Final = re.compile(r"_V\d+")
_KERNELS: Final = "CUPTI_ACTIVITY_KIND_KERNEL"
_EXECUTED: Final = {_KERNELS: KERNEL, "CUPTI_ACTIVITY_KIND_MEMCPY": COPY,
                    "CUPTI_ACTIVITY_KIND_MEMSET": FILL}  # fmt: skip
_ACTIVITY: Final = (
    "start", "end", "deviceId", "streamId", "correlationId", "graphNodeId", "globalPid",
    "demangledName", "shortName", "gridX", "gridY", "gridZ", "blockX", "blockY", "blockZ",
    "registersPerThread", "staticSharedMemory", "dynamicSharedMemory", "bytes", "copyKind",
)  # fmt: skip
#: Names of `copyKind`, which is CUpti_ActivityMemcpyKind.
_COPIES: Final = {1: "HtoD", 2: "DtoH", 3: "HtoA", 4: "AtoH", 5: "AtoA", 6: "AtoD", 7: "DtoA",
                  8: "DtoD", 9: "HtoH", 10: "PtoP"}  # fmt: skip
#: Values of NVTX_EVENTS.eventType: a mark, a range that is pushed and popped, one that is started.
_MARK, _PUSHED, _STARTED = 34, 59, 60
#: A serialized id has the process above the thread, 24 bits each.
_BITS: Final = 24
_ID: Final = (1 << _BITS) - 1


class Nsys:
    """Reads the exports of Nsight Systems."""

    summary = "Nsight Systems: nsys export --type sqlite, or parquetdir"

    def recognizes(self, path: Path, head: bytes) -> bool:
        """Whether it is a database, or a folder, with tables of CUPTI."""
        if path.is_dir():
            return any(path.glob("CUPTI_ACTIVITY_KIND_*.parquet")) or any(
                path.glob("StringIds*.parquet")
            )
        return head.startswith(_SQLITE)

    def read(self, path: Path, rows: RunRows) -> Iterator[ImportedRun]:
        """Add the rows of each process. Errors as `Importer.read`."""
        try:
            if path.is_dir():
                yield from _runs(_Parquet(path), path, rows)
                return
            with closing(sqlite3.connect(f"file:{path.resolve()}?mode=ro", uri=True)) as database:
                yield from _runs(_Sqlite(database), path, rows)
        except MemoryError:
            raise  # also Arrow's, which is an ArrowException too
        except (sqlite3.Error, pa.ArrowException, OSError) as problem:
            said = " ".join(str(problem).split())[:120]
            raise BadSource(
                f"{path} cannot be read as an export of nsys ({said}); export the report again."
            ) from problem


class _Tables:
    """The tables of an export, by their names without a version."""

    def __init__(self, names: Sequence[str]) -> None:
        self._names = {_VERSION.sub("", name): name for name in sorted(names)}

    def __contains__(self, table: str) -> bool:
        return table in self._names

    def rows(self, table: str, columns: Sequence[str]) -> Iterator[tuple[Any, ...]]:
        """Return the rows of a table; None in columns that it lacks, nothing if there is none."""
        raise NotImplementedError


class _Sqlite(_Tables):
    def __init__(self, database: sqlite3.Connection) -> None:
        database.text_factory = lambda raw: raw.decode("utf-8", "replace")
        found = database.execute("SELECT name FROM sqlite_master WHERE type = 'table'").fetchall()
        super().__init__([str(name) for (name,) in found])
        self._database = database

    def rows(self, table: str, columns: Sequence[str]) -> Iterator[tuple[Any, ...]]:
        name = self._names.get(table)
        if name is None:
            return
        quoted = '"' + name.replace('"', '""') + '"'
        known = {row[1] for row in self._database.execute(f"PRAGMA table_info({quoted})")}
        chosen = ", ".join(f'"{each}"' if each in known else "NULL" for each in columns)
        yield from self._database.execute(f"SELECT {chosen} FROM {quoted}")  # noqa: S608 - quoted


class _Parquet(_Tables):
    def __init__(self, folder: Path) -> None:
        self._folder = folder
        super().__init__([path.stem for path in folder.glob("*.parquet")])

    def rows(self, table: str, columns: Sequence[str]) -> Iterator[tuple[Any, ...]]:
        name = self._names.get(table)
        if name is None:
            return
        with pq.ParquetFile(self._folder / f"{name}.parquet") as file:
            present = [each for each in columns if each in file.schema_arrow.names]
            for batch in file.iter_batches(1 << 16, columns=present):
                found = {each: batch.column(each).to_pylist() for each in present}
                nothing = [None] * batch.num_rows
                yield from zip(*(found.get(each, nothing) for each in columns), strict=True)


def _runs(tables: _Tables, path: Path, rows: RunRows) -> Iterator[ImportedRun]:
    """Return the processes of an export: those that executed something, or else the first."""
    if not any(name in tables for name in (*_EXECUTED, "CUPTI_ACTIVITY_KIND_RUNTIME")):
        raise BadSource(
            f"{path} has no table of CUPTI's activities; profile with --trace=cuda and export it."
        )
    names = dict(tables.rows("StringIds", ("id", "value")))
    found = _Processes(names)
    for table, kind in _EXECUTED.items():
        for row in tables.rows(table, _ACTIVITY):
            found.add_execution(kind, row)
    columns = ("start", "end", "globalTid", "correlationId", "nameId")
    for row in tables.rows("CUPTI_ACTIVITY_KIND_RUNTIME", columns):
        found.add_call(*row)
    for row in tables.rows(
        "NVTX_EVENTS", ("start", "end", "eventType", "globalTid", "text", "textId")
    ):
        found.add_range(*row)
    starts = list(tables.rows("TARGET_INFO_SESSION_START_TIME", ("utcEpochNs",)))
    began = integer(starts[0][0]) if starts else NONE
    devices = list(_devices(tables))
    lacks = (
        "nsys has no arguments of launches and no IR: what needs them is left out",
        "nsys has no Python stacks in the tables that are imported",
        *(("the export has no time of day",) if began == NONE else ()),
    )
    shift = 0 if began == NONE else began
    for process in found.processes():
        known = found.finish(process, rows, shift)
        yield ImportedRun({**known, "devices": devices}, lacks)


def _devices(tables: _Tables) -> Iterator[dict[str, Any]]:
    columns = ("id", "name", "computeMajor", "computeMinor", "totalMemory")
    for number, name, major, minor, memory in tables.rows("TARGET_INFO_GPU", columns):
        numbers = integer(major), integer(minor)
        yield {
            "index": _small(number),
            "name": text(name),
            "capability": None if NONE in numbers else f"{numbers[0]}.{numbers[1]}",
            "memory_bytes": None if integer(memory) == NONE else integer(memory),
        }


class _Processes:
    """What was collected, by process."""

    def __init__(self, names: dict[Any, Any]) -> None:
        self._names = names
        self._devices: dict[int, Executions] = {}
        self._marks: dict[int, list[tuple[str, int, int, int]]] = {}

    def _of(self, process: int) -> Executions:
        return self._devices.setdefault(process, Executions())

    def add_execution(self, kind: int, row: Sequence[Any]) -> None:
        """Add a row of an activity on the device, with the columns `_ACTIVITY`."""
        (start, end, device, stream, correlation, node, process, long, short) = row[:9]
        grid, block = (tuple(map(integer, part)) for part in (row[9:12], row[12:15]))
        shared = [integer(each) for each in row[16:18]]
        known = [each for each in shared if each != NONE]
        if kind == COPY:
            name = f"Memcpy {_COPIES.get(row[19], 'of an unknown kind')}"
        else:
            name = "Memset" if kind == FILL else self._name(long, short)
        own = integer(process)
        self._of(NONE if own == NONE else own >> _BITS & _ID).add(
            name, _time(start), _time(end), device=integer(device), stream=integer(stream),
            correlation=integer(correlation), node=integer(node) or NONE,
            grid=(grid[0], grid[1], grid[2]), block=(block[0], block[1], block[2]),
            registers=integer(row[15]), shared=sum(known) if known else NONE, kind=kind,
            size=integer(row[18]),
        )  # fmt: skip

    def add_call(self, begin: Any, end: Any, thread: Any, correlation: Any, name: Any) -> None:
        """Add a call of the driver's or the runtime's API."""
        own = integer(thread)
        process = NONE if own == NONE else own >> _BITS & _ID
        tid = NONE if own == NONE else own & _ID
        device = self._of(process)
        device.call(self._name(name), _time(begin), _time(end), tid, integer(correlation))

    def add_range(self, begin: Any, end: Any, kind: Any, thread: Any, own: Any, name: Any) -> None:
        """Add a range or mark of NVTX."""
        number = integer(thread)
        if kind not in (_MARK, _PUSHED, _STARTED) or number == NONE:
            return
        called = text(own) or self._name(name)
        stop = NONE if kind == _MARK or end is None else _time(end)
        if stop != NONE and stop < _time(begin):
            return  # a range that was never closed
        self._marks.setdefault(number >> _BITS & _ID, []).append(
            (called, _time(begin), stop, number & _ID)
        )

    def _name(self, *names: Any) -> str:
        """Return the first text: as it is, or by its number in StringIds."""
        for name in names:
            found = text(name) or text(self._names.get(name))
            if found:
                return found
        return "?"

    def processes(self) -> list[int]:
        """Return those that executed something, or else all."""
        executing = [process for process, each in self._devices.items() if len(each)]
        return sorted(executing or self._devices)[:1024]

    def finish(self, process: int, rows: RunRows, shift: int) -> dict[str, Any]:
        """Write the rows of a process, and return its columns of `runs`."""
        marks(rows, self._marks.get(process, []), shift)
        times = self._devices.pop(process).finish(rows, shift)
        return {
            "pid": None if process == NONE else process,
            "started": times and times[0],
            "ended": times and times[1],
        }


def _time(value: Any) -> int:
    found = integer(value)
    if not 0 <= found <= 2**62:
        raise ValueError(f"{value!r} is not a time in ns")
    return found


def _small(value: Any) -> int | None:
    found = integer(value)
    return found if 0 <= found < 2**31 else None


IMPORTER = Nsys()
