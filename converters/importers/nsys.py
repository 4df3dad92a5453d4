"""Importer of Nsight Systems' exports: SQLite, and folders of Parquet (`--type parquetdir`).

Tables and columns are those of the user guide's "SQLite Schema Reference", 2021 to 2026. Exports
omit empty tables, columns differ between versions, and a table's name may end in a version, so
every table and column is optional; missing values are null.
"""

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, Final

from kvtrace.converters.importers.collective_rows import CollectiveRows
from kvtrace.converters.importers.event_rows import json_text
from kvtrace.converters.importers.executions import COPY, FILL, KERNEL, Executions, marks
from kvtrace.converters.importers.json_values import device_facts, int32_or_none, integer, text
from kvtrace.converters.importers.registry import BadSource, ImportedRun
from kvtrace.converters.importers.rows import NONE, RunRows
from kvtrace.converters.importers.tables import (
    ParquetTables,
    SqliteTables,
    Tables,
    has_table,
    opened_sqlite,
    readable,
)

_VERSION: Final = re.compile(r"_V\d+")
#: Tables that only exports of nsys have.
_OWN_TABLE: Final = re.compile("CUPTI_|NVTX_EVENTS|TARGET_INFO_|META_DATA_EXPORT|EXPORT_META_DATA")
_EXECUTED: Final = {"CUPTI_ACTIVITY_KIND_KERNEL": KERNEL, "CUPTI_ACTIVITY_KIND_MEMCPY": COPY,
                    "CUPTI_ACTIVITY_KIND_MEMSET": FILL}  # fmt: skip
_CALLS: Final = "CUPTI_ACTIVITY_KIND_RUNTIME"
_RANGES: Final = "NVTX_EVENTS"
#: Columns that only tables of events have, and names of such tables without any of them.
_MOMENTS: Final = frozenset({"start", "timestamp"})
_WITHOUT_MOMENT: Final = re.compile("CUPTI_ACTIVITY_KIND_|.*_EVENTS$")
_ACTIVITY: Final = (
    "start", "end", "deviceId", "streamId", "correlationId", "graphNodeId", "globalPid",
    "demangledName", "shortName", "gridX", "gridY", "gridZ", "blockX", "blockY", "blockZ",
    "registersPerThread", "staticSharedMemory", "dynamicSharedMemory", "bytes", "copyKind",
    "graphId",
)  # fmt: skip
#: Columns of executions that are kept as `members`.
_KEPT: Final = ("greenContextId", "clusterX", "clusterY", "clusterZ", "launchType")
#: Table of the kinds of copies, and the beginning of its names.
_COPY_KINDS, _COPY_KIND = "ENUM_CUDA_MEMCPY_OPER", "CUDA_MEMCPY_KIND_"
#: Names of `copyKind`, which is CUpti_ActivityMemcpyKind.
_COPIES: Final = {1: "HtoD", 2: "DtoH", 3: "HtoA", 4: "AtoH", 5: "AtoA", 6: "AtoD", 7: "DtoA",
                  8: "DtoD", 9: "HtoH", 10: "PtoP"}  # fmt: skip
#: Values of NVTX_EVENTS.eventType: a mark, a range that is pushed and popped, one that is started.
_MARK, _PUSHED, _STARTED = 34, 59, 60
#: Values of it for names of categories, threads and domains, which are not events.
_DEFINITIONS: Final = frozenset({33, 39, 75, 76})
#: A serialized id has 24 bits for the thread, and above them 24 bits for the process.
_BITS: Final = 24
_ID: Final = (1 << _BITS) - 1


class Nsys:
    """Importer of Nsight Systems' exports."""

    summary = "Nsight Systems: nsys export --type sqlite, or parquetdir"

    def recognizes(self, path: Path, head: bytes) -> bool:
        """Return whether the path is a SQLite database or a folder with tables of nsys."""
        if path.is_dir():
            return any(path.glob("CUPTI_ACTIVITY_KIND_*.parquet")) or any(
                path.glob("StringIds*.parquet")
            )
        return has_table(path, head, _OWN_TABLE)

    def read(self, path: Path, rows: RunRows) -> Iterator[ImportedRun]:
        """Add the rows of each process, and yield its facts. Errors as `Importer.read`."""
        with readable(path, "an export of nsys: export the report again"):
            if path.is_dir():
                names = [file.stem for file in path.glob("*.parquet")]
                yield from _runs(ParquetTables(path, _by_known_name(names)), path, rows)
                return
            with opened_sqlite(path) as (database, names_in_database):
                tables = SqliteTables(database, _by_known_name(names_in_database))
                yield from _runs(tables, path, rows)


def _by_known_name(stored_names: Sequence[str]) -> dict[str, str]:
    return {_VERSION.sub("", name): name for name in sorted(stored_names)}


def _runs(tables: Tables, path: Path, rows: RunRows) -> Iterator[ImportedRun]:
    """Write rows and yield facts of each process with executions (or of all, if none has any)."""
    if not any(name in tables for name in (*_EXECUTED, _CALLS)):
        raise BadSource(
            f"{path} has no table of CUDA activities: profile with --trace=cuda and export again"
        )
    names = dict(tables.rows("StringIds", ("id", "value")))
    processes = _Processes(names, _copy_kinds(tables))
    for row in tables.rows(_CALLS, ("start", "end", "globalTid", "correlationId", "nameId")):
        processes.add_call(*row)
    columns = ("start", "end", "eventType", "globalTid", "text", "textId", "jsonText")
    for row in tables.rows(_RANGES, columns):
        processes.add_range(*row)
    for table, kind in _EXECUTED.items():
        for row in tables.rows(table, (*_ACTIVITY, *_KEPT)):
            processes.add_execution(kind, row)
    starts = list(tables.rows("TARGET_INFO_SESSION_START_TIME", ("utcEpochNs",)))
    session_start = integer(starts[0][0]) if starts else NONE
    lacks = (
        "nsys records neither arguments of launches nor IR, so figures that need them are missing",
        "the imported tables of nsys have no Python stacks",
        *(("the export has no time of day",) if session_start == NONE else ()),
    )
    shift = 0 if session_start == NONE else session_start
    ids = processes.ids()
    left_out = processes.left_out(ids)
    for table in tables:
        is_of_events = _WITHOUT_MOMENT.match(table) or _MOMENTS & set(tables.columns(table))
        if is_of_events and table not in (*_EXECUTED, _CALLS, _RANGES):
            left_out[table] += tables.count(table)
    machine_row = {"devices": list(_devices(tables)), **_machine(tables)}
    for number, process in enumerate(ids):
        run_row = processes.finish(process, rows, shift)
        yield ImportedRun(
            {**run_row, **machine_row},
            lacks,
            {} if number else left_out,  # of the whole export, so they are counted once
            has_whole_file=len(ids) == 1,
        )


def _machine(tables: Tables) -> dict[str, Any]:
    """Return the values for columns of `runs` that an export has on the machine."""
    known = dict(tables.rows("TARGET_INFO_SYSTEM_ENV", ("name", "value")))
    driver = text(known.get("CudaDriverVersion"))
    return {
        "host": text(known.get("Hostname")),
        "versions": {} if driver is None else {"cuda_driver_version": driver},
    }


def _devices(tables: Tables) -> Iterator[dict[str, Any]]:
    columns = ("id", "name", "computeMajor", "computeMinor", "totalMemory")
    for row in tables.rows("TARGET_INFO_GPU", columns):
        yield device_facts(*row)


def _copy_kinds(tables: Tables) -> dict[Any, str]:
    """Return the names of copies by their number in the export's own table, else CUPTI's."""
    copy_names = {name.upper(): name for name in _COPIES.values()}
    stated = {
        number: copy_names.get(str(name).removeprefix(_COPY_KIND), text(label) or text(name) or "?")
        for number, name, label in tables.rows(_COPY_KINDS, ("id", "name", "label"))
    }
    return {**_COPIES, **stated}


class _Processes:
    """Executions, calls and ranges of an export, collected by process id."""

    def __init__(self, names: dict[Any, Any], copy_kinds: dict[Any, str]) -> None:
        self._names, self._copy_kinds = names, copy_kinds
        self._devices: dict[int, Executions] = {}
        self._marks: dict[int, list[tuple[str, int, int, int]]] = {}
        self._collectives: dict[int, CollectiveRows] = {}
        self._left_out: Counter[str] = Counter()

    def _executions_of(self, process: int) -> Executions:
        return self._devices.setdefault(process, Executions())

    def add_execution(self, kind: int, row: Sequence[Any]) -> None:
        """Add an execution (`kind`: KERNEL, COPY, FILL) from a row with the columns `_ACTIVITY`.

        One without a process belongs to the only process that made calls, if there is one.
        """
        (start, end, device, stream, correlation, node, process, long, short) = row[:9]
        grid, block = (tuple(map(integer, part)) for part in (row[9:12], row[12:15]))
        shared = [size for size in map(integer, row[16:18]) if size != NONE]
        if kind == COPY:
            name = f"Memcpy {self._copy_kinds.get(row[19], 'of an unknown kind')}"
        else:
            name = "Memset" if kind == FILL else self._name(long, short)
        kept = zip(_KEPT, row[len(_ACTIVITY) :], strict=True)
        members = {key: value for key, value in kept if value is not None}
        serialized = integer(process)
        owner = self._only_caller() if serialized == NONE else serialized >> _BITS & _ID
        self._executions_of(owner).add(
            name, integer(start), integer(end), device=integer(device), stream=integer(stream),
            correlation=integer(correlation), graph=integer(row[20]) or NONE,
            node=integer(node) or NONE,
            grid=(grid[0], grid[1], grid[2]), block=(block[0], block[1], block[2]),
            registers=integer(row[15]), shared=sum(shared) if shared else NONE, kind=kind,
            size=integer(row[18]), members=json_text(members) if members else None,
        )  # fmt: skip

    def _only_caller(self) -> int:
        return next(iter(self._devices)) if len(self._devices) == 1 else NONE

    def add_call(self, begin: Any, end: Any, thread: Any, correlation: Any, name: Any) -> None:
        """Add a call of the driver's or the runtime's API."""
        serialized = integer(thread)
        process = NONE if serialized == NONE else serialized >> _BITS & _ID
        tid = NONE if serialized == NONE else serialized & _ID
        device = self._executions_of(process)
        device.call(self._name(name), integer(begin), integer(end), tid, integer(correlation))

    def add_range(
        self, begin: Any, end: Any, kind: Any, thread: Any, label: Any, text_id: Any, payload: Any
    ) -> None:
        """Add a range or mark of NVTX, named by `label`, or by `text_id` in StringIds.

        `payload` is the JSON of its arguments, if it has some and nsys wrote it.

        Other kinds of events, and ranges that were never closed, are only counted.
        """
        serialized = integer(thread)
        if kind not in (_MARK, _PUSHED, _STARTED) or serialized == NONE:
            self._left_out[f"{_RANGES} of type {kind}"] += kind not in _DEFINITIONS
            return
        name = text(label) or self._name(text_id)
        start, stop = integer(begin), NONE if kind == _MARK else integer(end)
        if stop != NONE and stop < start:
            self._left_out[f"{_RANGES} that never end"] += 1
            return
        process = serialized >> _BITS & _ID
        self._marks.setdefault(process, []).append((name, start, stop, serialized & _ID))
        requests = self._collectives.setdefault(process, CollectiveRows())
        requests.add_of_nvtx(start, stop, name, payload)

    def _name(self, *names: Any) -> str:
        """Return the first of `names` that is a text or a text's number in StringIds, else "?"."""
        for name in names:
            string = text(name) or text(self._names.get(name))
            if string:
                return string
        return "?"

    def ids(self) -> list[int]:
        """Return the sorted ids of processes with executions, or of all if none has any."""
        executing = [process for process, device in self._devices.items() if len(device)]
        return sorted(executing or self._devices)[:1024]

    def left_out(self, imported: Sequence[int]) -> Counter[str]:
        """Return the numbers of what is not imported, given the ids of imported processes."""
        left_out = Counter(self._left_out)
        for process in self._devices.keys() | self._marks.keys():
            if process not in imported:
                left_out["processes without executions"] += 1
        return left_out

    def finish(self, process: int, rows: RunRows, shift: int) -> dict[str, Any]:
        """Write the rows of a process, and return its values for columns of `runs`."""
        marks(rows, self._marks.get(process, []), shift)
        self._collectives.get(process, CollectiveRows()).write(rows, shift)
        times = self._devices.pop(process).finish(rows, shift)
        return {"pid": int32_or_none(process), **times}


IMPORTER = Nsys()
