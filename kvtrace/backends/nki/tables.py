"""Rows of what NKI calls did: ops, loops, accesses, findings, buffers, and tables of their own.

Device bytes of an op are those that it moved from or to device memory. Sites, and after them
loops, are numbered through as `op_index`.
"""

import hashlib
import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from statistics import median_low
from typing import Any, Final

import pyarrow as pa

from kvtrace.nki import findings
from kvtrace.nki.findings import Finding
from kvtrace.nki.memory import Life
from kvtrace.nki.recorder import Execution, Place, Recorder, Site
from kvtrace.nki.targets import Target
from kvtrace.schema.client_tables import client_table
from kvtrace.schema.columns import batch_of_columns, batch_of_rows
from kvtrace.schema.content import stack_id, stack_row
from kvtrace.schema.tables import BOOL, I32, I64, NAME, TABLES, TEXT, Column, Table

_C = Column

#: Each executed op: what the machine's engines did, in the order of the program.
EXECUTIONS: Final = client_table(
    "nki_executions",
    "one executed op of the first launch of an NKI call",
    (
        _C("call_id", I64, "the call", key=True),
        _C("order", I64, "its place among the executed ops of the call", key=True),
        _C("op_index", I32, "the op"),
        _C("engine", NAME, "tensor, vector, scalar, gpsimd or dma"),
        _C("program", I64, "linear program id, x fastest"),
        _C("elements", I64, "elements of its result"),
        _C("device_bytes", I64, "bytes from or to device memory", "bytes"),
        _C("chip_bytes", I64, "bytes from or to SBUF and PSUM", "bytes"),
        _C("flops", I64, "floating-point operations"),
        _C("written", I32, "buffer that it wrote"),
        _C("read", pa.list_(I32), "buffers that it read"),
    ),
    ("call_id", "order"),
)

#: Each buffer: how large it is, and from when to when it was used.
BUFFERS: Final = client_table(
    "nki_buffers",
    "one buffer of the first launch of an NKI call",
    (
        _C("call_id", I64, "the call", key=True),
        _C("buffer", I32, "its number", key=True),
        _C("space", NAME, "hbm, sbuf or psum"),
        _C("name", TEXT, "what the program calls it"),
        _C("argument", BOOL, "whether it is an argument of the kernel"),
        _C("bytes", I64, "size", "bytes"),
        _C("partitions", I32, "partitions that it spans"),
        _C("partition_bytes", I64, "bytes of one partition", "bytes"),
        _C("banks", I32, "banks of PSUM that it takes of each partition"),
        _C("first", I64, "order of the first op that uses it; null if none does"),
        _C("last", I64, "order of the last one"),
        _C("stack_id", I64, "where it was allocated"),
    ),
    ("call_id", "buffer"),
)

#: What `ops` has no columns for.
OPS: Final = client_table(
    "nki_ops",
    "one op of an NKI call",
    (
        _C("call_id", I64, "the call", key=True),
        _C("op_index", I32, "the op", key=True),
        _C("engine", NAME, "tensor, vector, scalar, gpsimd or dma"),
        _C("device_bytes", I64, "bytes from or to device memory", "bytes"),
        _C("chip_bytes", I64, "bytes from or to SBUF and PSUM", "bytes"),
    ),
    ("call_id", "op_index"),
)

_DEFINITIONS: Final = (EXECUTIONS, BUFFERS, OPS)


@dataclass(frozen=True)
class Observed:
    """The record of the first launch of a call."""

    call_id: int
    function: Callable[..., Any]
    grid: tuple[int, ...]
    target: Target
    recorder: Recorder


class _Stacks:
    """The stacks that rows refer to."""

    def __init__(self) -> None:
        self.rows: dict[int, dict[str, Any]] = {}

    def add(self, frames: Sequence[Place]) -> int | None:
        if not frames:
            return None
        identity = stack_id(frames)
        if identity not in self.rows:
            self.rows[identity] = stack_row(frames)
        return identity


def derived_tables(
    observed: Sequence[Observed],
) -> tuple[dict[str, pa.Table], tuple[Table, ...]]:
    """Give the derived tables of calls, and the definitions of those that are not the format's."""
    stacks = _Stacks()
    ops = [row for each in observed for row in _op_rows(each, stacks)]
    loops = [row for each in observed for row in _loop_rows(each, stacks)]
    found = [row for each in observed for row in _finding_rows(each, stacks)]
    accesses = [row for each in observed for row in _access_rows(each)]
    buffers = [row for each in observed for row in _life_rows(each, stacks)]
    more = [row for each in observed for row in _engine_rows(each)]
    tables = {
        "ops": _of_rows(TABLES["ops"], ops),
        "loops": _of_rows(TABLES["loops"], loops),
        "findings": _of_rows(TABLES["findings"], found),
        "accesses": _of_rows(TABLES["accesses"], accesses),
        EXECUTIONS.name: pa.Table.from_batches(
            [_executions(each) for each in observed], schema=EXECUTIONS.schema
        ),
        BUFFERS.name: _of_rows(BUFFERS, buffers),
        OPS.name: _of_rows(OPS, more),
        "stacks": _of_rows(TABLES["stacks"], list(stacks.rows.values())),
    }
    return tables, _DEFINITIONS


def _of_rows(table: Table, rows: Sequence[dict[str, Any]]) -> pa.Table:
    return pa.Table.from_batches([batch_of_rows(table, rows)], schema=table.schema)


def _sites(observed: Observed) -> list[tuple[int, Site]]:
    listed = enumerate(observed.recorder.sites)
    return [(number, site) for number, site in listed if site.executions]


def _op_rows(observed: Observed, stacks: _Stacks) -> list[dict[str, Any]]:
    loops_from = len(observed.recorder.sites)
    return [
        {
            "call_id": observed.call_id,
            "op_index": number,
            "op": site.op,
            "kind": site.kind,
            "dtype": site.dtype or None,
            "stack_id": stacks.add(site.frames),
            "executions": site.executions,
            "elements": site.elements,
            "masked_off": site.masked_off,
            "bytes": site.device_bytes,
            "unique_bytes": observed.recorder.unique_bytes(number) if site.device_bytes else None,
            "flops": site.flops,
            "loop": None if site.loop < 0 else loops_from + site.loop,
            "buffer": site.argument or None,
        }
        for number, site in _sites(observed)
    ]


def _engine_rows(observed: Observed) -> list[dict[str, Any]]:
    return [
        {
            "call_id": observed.call_id,
            "op_index": number,
            "engine": site.engine,
            "device_bytes": site.device_bytes,
            "chip_bytes": site.chip_bytes,
        }
        for number, site in _sites(observed)
    ]


def _loop_rows(observed: Observed, stacks: _Stacks) -> list[dict[str, Any]]:
    first = len(observed.recorder.sites)
    return [
        {
            "call_id": observed.call_id,
            "op_index": first + number,
            "stack_id": stacks.add(loop.frames),
            "trips_min": min(loop.trips),
            "trips_median": median_low(loop.trips),
            "trips_max": max(loop.trips),
        }
        for number, loop in enumerate(observed.recorder.loops)
        if loop.trips
    ]


def _access_rows(observed: Observed) -> list[dict[str, Any]]:
    return [
        {
            "call_id": observed.call_id,
            "op_index": row.site,
            "program": row.program,
            "iteration": row.iteration,
            "arg": row.argument or None,
            "first": row.first,
            "last": row.last,
            "active": row.active,
            "layout": _layout(row.first, row.shape, row.steps),
        }
        for row in observed.recorder.accesses
    ]


def _layout(base: int, shape: tuple[int, ...], steps: tuple[int, ...]) -> str | None:
    """Say where the lanes went, as docs/accesses.md has it."""
    if not shape:
        return None
    lanes = [[size, step] for size, step in zip(shape, steps, strict=True)]
    return json.dumps({"base": base, "lanes": lanes}, separators=(",", ":"))


def _finding_rows(observed: Observed, stacks: _Stacks) -> list[dict[str, Any]]:
    found = [_finding_row(observed, finding, stacks) for finding in observed.recorder.findings]
    return found + _proven_rows(observed, stacks)


def _proven_rows(observed: Observed, stacks: _Stacks) -> list[dict[str, Any]]:
    """Say which accesses to device memory stay inside: every lane of every program was looked at.

    Nothing is said of an access whose indices are data.
    """
    broken = {
        finding.site
        for finding in observed.recorder.findings
        if finding.rule == findings.OUT_OF_BOUNDS
    }
    rows = []
    for number, site in _sites(observed):
        if site.kind not in ("load", "store") or number in broken or site.from_data:
            continue
        identity = f"{findings.OUT_OF_BOUNDS}|{site.argument}|{site.kind}|{stacks.add(site.frames)}"
        rows.append(
            {
                "finding_id": hashlib.blake2b(identity.encode(), digest_size=8).hexdigest(),
                "call_id": observed.call_id,
                "op_index": number,
                "rule": findings.OUT_OF_BOUNDS,
                "verdict": "proven",
                "severity": "note",
                "access": site.kind,
                "stack_id": stacks.add(site.frames),
                "arg": site.argument or None,
                "method": "evaluated",
            }
        )
    return rows


def _finding_row(observed: Observed, finding: Finding, stacks: _Stacks) -> dict[str, Any]:
    site = observed.recorder.sites[finding.site]
    stack = stacks.add(site.frames)
    identity = f"{finding.rule}|{finding.argument}|{finding.access}|{stack}"
    row = {
        "finding_id": hashlib.blake2b(identity.encode(), digest_size=8).hexdigest(),
        "call_id": observed.call_id,
        "op_index": finding.site,
        "rule": finding.rule,
        "verdict": "violation",
        "severity": finding.severity,
        "access": finding.access or None,
        "stack_id": stack,
        "iteration": finding.iteration,
        "lane": list(finding.lane) or None,
        "arg": finding.argument or None,
        "address_offset": finding.address_offset,
        "past_end_bytes": finding.past_end_bytes,
        "lanes": finding.lanes or None,
        "method": "evaluated",
        "message": finding.message,
    }
    row |= _program_columns("program", finding.program, observed.grid)
    if finding.other_program is not None:
        row |= _program_columns("other_program", finding.other_program, observed.grid)
    if finding.other_site is not None:
        row["other_op_index"] = finding.other_site
        row["other_stack_id"] = stacks.add(observed.recorder.sites[finding.other_site].frames)
    return row


def _program_columns(prefix: str, program: int, grid: tuple[int, ...]) -> dict[str, int]:
    columns = {}
    for axis, size in zip("xyz", (*grid, 1, 1), strict=False):
        columns[f"{prefix}_{axis}"] = program % size
        program //= size
    return columns


def _executions(observed: Observed) -> pa.RecordBatch:
    rows = observed.recorder.rows
    sites = observed.recorder.sites
    columns = dict(zip(Execution._fields, zip(*rows, strict=True), strict=True)) if rows else {}

    def of(name: str) -> Any:
        return columns.get(name, ())

    return batch_of_columns(
        EXECUTIONS,
        {
            "call_id": [observed.call_id] * len(rows),
            "order": list(range(len(rows))),
            "op_index": of("site"),
            "engine": [sites[number].engine for number in of("site")],
            "program": of("program"),
            "elements": of("elements"),
            "device_bytes": of("device_bytes"),
            "chip_bytes": of("chip_bytes"),
            "flops": of("flops"),
            "written": [None if number < 0 else number for number in of("written")],
            "read": [list(numbers) for numbers in of("read")],
        },
    )


def _life_rows(observed: Observed, stacks: _Stacks) -> list[dict[str, Any]]:
    sites = observed.recorder.sites
    return [
        {
            "call_id": observed.call_id,
            "buffer": number,
            "space": life.space,
            "name": life.name or None,
            "argument": sites[life.site].op == "argument",
            "bytes": life.bytes,
            "partitions": life.partitions,
            "partition_bytes": life.partition_bytes if life.space != "hbm" else None,
            "banks": life.banks if life.space == "psum" else None,
            "first": None if life.first < 0 else life.first,
            "last": None if life.first < 0 else life.last,
            "stack_id": stacks.add(sites[life.site].frames),
        }
        for number, life in enumerate(observed.recorder.buffers)
        if not life.settled
    ]


def buffer_rows(observed: Observed, add_stack: Callable[[Any], int]) -> list[dict[str, Any]]:
    """Give the rows of `buffers`: buffers from first to last use, and transfers between them."""
    recorder = observed.recorder
    events: list[tuple[int, int, dict[str, Any]]] = []
    for life in recorder.buffers:
        if life.first < 0 or life.settled or life.space == "hbm":
            continue
        row = _event(life, life.bytes, recorder, add_stack)
        events.append((life.first, 0, row | {"event": "allocate"}))
        events.append((life.last, 2, row | {"event": "free"}))
    for order, execution in enumerate(recorder.rows):
        if execution.written >= 0 and execution.read and execution.device_bytes:
            target = recorder.buffers[execution.written]
            row = _event(target, execution.device_bytes, recorder, add_stack, execution.site)
            events.append((order, 1, row | {"event": "transfer"}))
    events.sort(key=lambda event: event[:2])
    call = observed.call_id
    return [row | {"call_id": call, "order": order} for order, (_, _, row) in enumerate(events)]


def _event(
    life: Life,
    nbytes: int,
    recorder: Recorder,
    add_stack: Callable[[Any], int],
    site: int | None = None,
) -> dict[str, Any]:
    frames = recorder.sites[life.site if site is None else site].frames
    return {
        "space": life.space,
        "bytes": nbytes,
        "partitions": life.partitions,
        "name": life.name or None,
        "stack_id": add_stack(frames) if frames else None,
    }
