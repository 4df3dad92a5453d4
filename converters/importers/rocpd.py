"""Importer of rocpd databases: SQLite, the format that rocprofv3 writes by default since ROCm 7.

Tables and columns are those of source/share/rocprofiler-sdk-rocpd/rocpd_tables.sql and of
source/lib/output/generateRocpd.cpp of https://github.com/ROCm/rocprofiler-sdk. Each table's name
ends in an id of the recording, and a merged database has several of them. Newer schemas move times
to a table `rocpd_timestamp`, and process, agent, queue and stream to `rocpd_track`. Grids count
threads, and times count from the start of the machine.
"""

import json
import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

from kvtrace.converters.importers.executions import COPY, Executions, marks
from kvtrace.converters.importers.json_values import int32_or_none, integer, mapping, text
from kvtrace.converters.importers.registry import BadSource, ImportedRun
from kvtrace.converters.importers.rocprofv3 import (
    LACKS,
    blocks,
    device_entry,
    kernel_name,
    vector_registers,
)
from kvtrace.converters.importers.rows import NONE, RunRows
from kvtrace.converters.importers.tables import SqliteTables, has_table, opened_sqlite, readable

_DISPATCHES, _COPIES, _REGIONS = "kernel_dispatch", "memory_copy", "region"
_TABLE: Final = re.compile(
    r"rocpd_(?P<name>(info_)?[a-z]+(_symbol|_object|_dispatch|_copy|_allocate|_event)?)"
    r"(?P<recording>_?[0-9a-f_-]{32,})?"
)
_OWN_TABLE: Final = re.compile("rocpd_kernel_dispatch")
#: Tables of events that are not imported.
_LEFT_OUT: Final = ("memory_allocate", "sample", "pmc_event")
_SIZES: Final = tuple(f"{what}_size_{axis}" for what in ("grid", "workgroup") for axis in "xyz")
#: Variables by which launchers tell a process its rank and the number of ranks.
_RANKS: Final = (
    ("OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE"),
    ("PMIX_RANK", "PMIX_SIZE"),
    ("PMI_RANK", "PMI_SIZE"),
    ("RANK", "WORLD_SIZE"),
    ("SLURM_PROCID", "SLURM_NTASKS"),
)


class Rocpd:
    """Importer of rocpd databases."""

    summary = "rocprofv3's databases (_results.db), and merged ones"

    def recognizes(self, path: Path, head: bytes) -> bool:
        """Return whether the file is a SQLite database with a table of dispatches."""
        return has_table(path, head, _OWN_TABLE)

    def read(self, path: Path, rows: RunRows) -> Iterator[ImportedRun]:
        """Add the rows of each process, and yield its facts. Errors as `Importer.read`."""
        what = "a rocpd database: record it again, or convert it with rocpd convert"
        with readable(path, what), opened_sqlite(path) as (database, names):
            processes = [
                process
                for stored_names in _recordings(names).values()
                for process in _Recording(SqliteTables(database, stored_names)).processes()
            ]
            executing = [process for process in processes if len(process.device)]
            if not executing:
                raise BadSource(f"{path} has neither kernels nor copies: trace with --kernel-trace")
            left_out = sum((process.left_out for process in processes), Counter[str]())
            left_out["processes without executions"] = len(processes) - len(executing)
            for number, process in enumerate(executing):
                yield process.finished(
                    rows, {} if number else left_out, has_whole_file=len(executing) == 1
                )


def _recordings(names: Sequence[str]) -> dict[str, dict[str, str]]:
    """Return the tables of each recording: stored names by the name without prefix and id."""
    recordings: dict[str, dict[str, str]] = {}
    for stored_name in names:
        match = _TABLE.fullmatch(stored_name)
        if match is not None:
            tables = recordings.setdefault(match["recording"] or "", {})
            tables[match["name"]] = stored_name
    return {recording: tables for recording, tables in recordings.items() if _DISPATCHES in tables}


@dataclass(slots=True)
class _Process:
    """A process of a recording; `row` has its values for columns of `runs`."""

    row: dict[str, Any]
    device: Executions = field(default_factory=Executions)
    ranges: list[tuple[str, int, int, int]] = field(default_factory=list)
    left_out: Counter[str] = field(default_factory=Counter)

    def finished(
        self, rows: RunRows, left_out: Mapping[str, int], *, has_whole_file: bool
    ) -> ImportedRun:
        """Write the rows of the process, and return its facts."""
        marks(rows, self.ranges, 0)
        self.device.finish(rows)
        return ImportedRun(self.row, LACKS, left_out, has_whole_file=has_whole_file)


class _Recording:
    """The tables of one recording, with the names and agents that they refer to by number."""

    def __init__(self, tables: SqliteTables) -> None:
        self._tables = tables
        self._strings = dict(tables.rows("string", ("id", "string")))
        self._categories = dict(tables.rows("info_category", ("id", "name"))) or self._strings
        self._threads = {
            integer(number): integer(thread)
            for number, thread in tables.rows("info_thread", ("id", "tid"))
        }
        agents = [
            row
            for row in tables.rows(
                "info_agent", ("id", "type", "logical_index", "name", "product_name", "extdata")
            )
            if row[1] == "GPU"
        ]
        agents.sort(key=lambda row: (integer(row[2]), integer(row[0])))
        self._device_by_agent = {integer(row[0]): index for index, row in enumerate(agents)}
        self._devices = [
            device_entry(number, {**_json(row[5]), "name": row[3], "product_name": row[4]})
            for number, row in enumerate(agents)
        ]
        architecture = text(agents[0][3]) if agents else None
        columns = ("kernel_name", "arch_vgpr_count", "accum_vgpr_count")
        symbols = (
            (
                number,
                {
                    **_json(extra),
                    "formatted_kernel_name": name,
                    **dict(zip(columns, row, strict=True)),
                },
            )
            for number, extra, name, *row in tables.rows(
                "info_kernel_symbol", ("id", "extdata", "display_name", *columns)
            )
        )
        #: Full name and vector registers of each kernel.
        self._symbols = {
            integer(number): (kernel_name(facts), vector_registers(facts, architecture))
            for number, facts in symbols
        }

    def processes(self) -> list[_Process]:
        """Return the processes with all that was recorded of them."""
        hosts = dict(self._tables.rows("info_node", ("id", "hostname")))
        found: dict[int, _Process] = {}
        columns = ("id", "pid", "nid", "command", "environment")
        for number, pid, node, command, environment in self._tables.rows("info_process", columns):
            rank, world_size = _rank(_json(environment))
            found[integer(number)] = _Process(
                {
                    "pid": int32_or_none(pid),
                    "host": text(hosts.get(node)),
                    "command": text(command),
                    "rank": rank,
                    "world_size": world_size,
                    "devices": self._devices,
                }
            )
        self._add_kernels(found)
        self._add_copies(found)
        self._add_regions(found)
        first = next(iter(found.values()), None)
        if first is not None:
            for table in _LEFT_OUT:
                first.left_out[f"rocpd_{table}"] += self._tables.count(table)
        return list(found.values())

    def _events(self, table: str, columns: Sequence[str]) -> Iterator[tuple[Any, ...]]:
        """Yield process, thread, start, end, correlation, category and `columns` of each event.

        Columns that neither the table nor its track has are None.
        """
        tables = self._tables
        owners = {"M": table}
        joins = []
        if "track" in tables and "track_id" in tables.columns(table):
            owners["T"] = "track"
            joins.append(f'LEFT JOIN {tables.quoted("track")} T ON T."id" = M."track_id"')
        if "event" in tables and "event_id" in tables.columns(table):
            owners = {"E": "event", **owners}  # first, since `extdata` has the message there
            joins.append(f'LEFT JOIN {tables.quoted("event")} E ON E."id" = M."event_id"')
        times = {"start": "NULL", "end": "NULL"}
        for name, alias in (("start", "B"), ("end", "F")):
            if name in tables.columns(table):
                times[name] = f'M."{name}"'
            elif "timestamp" in tables:
                times[name] = f'{alias}."value"'
                joins.append(
                    f'JOIN {tables.quoted("timestamp")} {alias} ON {alias}."id" = M."{name}_id"'
                )

        def column(name: str) -> str:
            having = (alias for alias, owner in owners.items() if name in tables.columns(owner))
            alias = next(having, None)
            return "NULL" if alias is None else f'{alias}."{name}"'

        selected = [
            *map(column, ("pid", "tid")),
            *times.values(),
            *map(column, ("stack_id", "category_id", *columns)),
        ]
        query = f"SELECT {', '.join(selected)} FROM {tables.quoted(table)} M {' '.join(joins)}"  # noqa: S608 - quoted
        yield from tables.query(query)

    def _add_kernels(self, processes: dict[int, _Process]) -> None:
        columns = ("kernel_id", "agent_id", "stream_id", "queue_id", "group_segment_size", *_SIZES)
        for pid, _, start, end, correlation, _, kernel, agent, *row in self._events(
            _DISPATCHES, columns
        ):
            stream, queue, shared, *sizes = map(integer, row)
            name, registers = self._symbols.get(integer(kernel), ("?", NONE))
            block = sizes[3], sizes[4], sizes[5]
            _of(processes, pid).device.add(
                name,
                integer(start),
                integer(end),
                device=self._device_by_agent.get(integer(agent), NONE),
                stream=queue if stream == NONE else stream,
                correlation=integer(correlation),
                grid=blocks((sizes[0], sizes[1], sizes[2]), block),
                block=block,
                registers=registers,
                shared=shared,
            )

    def _add_copies(self, processes: dict[int, _Process]) -> None:
        if _COPIES not in self._tables:
            return
        columns = ("name_id", "src_agent_id", "dst_agent_id", "stream_id", "queue_id", "size")
        for pid, _, start, end, correlation, _, name, *row in self._events(_COPIES, columns):
            source, target, stream, queue, size = map(integer, row)
            device = self._device_by_agent.get(target, self._device_by_agent.get(source, NONE))
            _of(processes, pid).device.add(
                text(self._strings.get(name)) or "memory copy",
                integer(start),
                integer(end),
                device=device,
                stream=queue if stream == NONE else stream,
                correlation=integer(correlation),
                kind=COPY,
                size=size,
            )

    def _add_regions(self, processes: dict[int, _Process]) -> None:
        """Add calls of HIP and HSA, and ranges of roctx; other regions are counted."""
        if _REGIONS not in self._tables:
            return
        for pid, thread, start, end, correlation, category, name_id, extra in self._events(
            _REGIONS, ("name_id", "extdata")
        ):
            process = _of(processes, pid)
            name = text(self._strings.get(name_id)) or "?"
            kind = text(self._categories.get(category)) or "of no category"
            tid = self._threads.get(integer(thread), integer(thread))
            words = kind.upper().split("_")
            if "HIP" in words or "HSA" in words:
                process.device.call(name, integer(start), integer(end), tid, integer(correlation))
            elif "MARKER" in words:
                message = text(_json(extra).get("message")) or name
                process.ranges.append((message, integer(start), integer(end), tid))
            else:
                process.left_out[f"rocpd_region {kind}"] += 1


def _of(processes: dict[int, _Process], number: Any) -> _Process:
    """Return the process with a number, added without facts if it is not listed."""
    process = processes.get(integer(number))
    if process is None:
        process = processes[integer(number)] = _Process({})
    return process


def _json(value: Any) -> dict[str, Any]:
    """Return the object in a column of JSON; {} if it is missing or not JSON."""
    content = text(value)
    if content is None or content == "{}":
        return {}
    try:
        return mapping(json.loads(content))
    except (ValueError, RecursionError):
        return {}


def _rank(environment: Mapping[str, Any]) -> tuple[int | None, int | None]:
    """Return the rank and the number of ranks that a launcher told a process; None if unknown."""
    for rank_name, size_name in _RANKS:
        rank, size = (integer(environment.get(name)) for name in (rank_name, size_name))
        if 0 <= rank < 2**31:
            return rank, size if 0 < size < 2**31 else None
    return None, None


IMPORTER = Rocpd()
