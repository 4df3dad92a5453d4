"""Rows of what one NKI call did: ops, loops, accesses, findings, buffers, executed ops.

`bytes` of an op are those that it moved from or to device memory. Sites, and after them loops, are
numbered through as `op_index`.
"""

import hashlib
import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from statistics import median_low
from typing import Any

import pyarrow as pa

from kvtrace.addons.neuron import capacity, findings, targets
from kvtrace.addons.neuron.findings import Finding
from kvtrace.addons.neuron.recorder import AccessRow, Execution, Place, Recorder, Site
from kvtrace.addons.neuron.recording.definitions import (
    BUFFERS,
    CALLS,
    DEFINITIONS,
    EXECUTIONS,
    ITERATIONS,
    LOOPS,
    OPS,
    VALUES,
)
from kvtrace.addons.neuron.recording.samples import TileSample
from kvtrace.addons.neuron.targets import Target
from kvtrace.schema.columns import batch_of_columns, batch_of_rows
from kvtrace.schema.content import stack_id, stack_row
from kvtrace.schema.table_types import Table
from kvtrace.schema.tables import TABLES


@dataclass(frozen=True)
class Observed:
    """The record of the first launch of a call."""

    call_id: int
    grid: tuple[int, ...]
    target: Target
    recorder: Recorder
    samples: Sequence[TileSample]


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


def derived_tables(observed: Observed) -> dict[str, pa.Table]:
    """Return all derived tables of a call, `stacks` with them."""
    stacks = _Stacks()
    tables = {
        "ops": _of_rows(TABLES["ops"], _op_rows(observed, stacks)),
        "loops": _of_rows(TABLES["loops"], _loop_rows(observed, stacks)),
        "findings": _of_rows(TABLES["findings"], _finding_rows(observed, stacks)),
        "accesses": _of_rows(TABLES["accesses"], _access_rows(observed)),
        EXECUTIONS.name: pa.Table.from_batches([_executions(observed)], schema=EXECUTIONS.schema),
        BUFFERS.name: _of_rows(BUFFERS, _life_rows(observed, stacks)),
        OPS.name: _of_rows(OPS, _engine_rows(observed)),
        CALLS.name: _of_rows(CALLS, [_call_row(observed)]),
        LOOPS.name: _of_rows(LOOPS, _nesting_rows(observed)),
        VALUES.name: _of_rows(VALUES, _value_rows(observed)),
        ITERATIONS.name: pa.Table.from_batches([_iterations(observed)], schema=ITERATIONS.schema),
    }
    return tables | {"stacks": _of_rows(TABLES["stacks"], list(stacks.rows.values()))}


def empty_tables() -> dict[str, pa.Table]:
    """Return all derived tables with no rows: of a call that was not observed."""
    named = [TABLES[name] for name in ("ops", "loops", "findings", "accesses", "stacks")]
    return {table.name: pa.Table.from_batches([], table.schema) for table in (*named, *DEFINITIONS)}


def finding_tables(observed: Observed, found: Sequence[Finding]) -> dict[str, pa.Table]:
    """Return the rows of some findings of a call, and the stacks that they refer to."""
    stacks = _Stacks()
    rows = [_finding_row(observed, finding, stacks) for finding in found]
    return {
        "findings": _of_rows(TABLES["findings"], rows),
        "stacks": _of_rows(TABLES["stacks"], list(stacks.rows.values())),
    }


def finding_identity(observed: Observed, finding: Finding) -> str:
    """Return the `finding_id`: the same for the same rule at the same place, whatever the run."""
    frames = observed.recorder.sites[finding.site].frames
    stack = stack_id(frames) if frames else None
    return _identity(finding.rule, finding.argument, finding.access, stack)


def _identity(rule: str, argument: str, access: str, stack: int | None) -> str:
    text = f"{rule}|{argument}|{access}|{stack}"
    return hashlib.blake2b(text.encode(), digest_size=8).hexdigest()


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


def _call_row(observed: Observed) -> dict[str, Any]:
    recorder = observed.recorder
    peaks = {
        space: int(capacity.usage(recorder.buffers, space, recorder.count).max(initial=0))
        for space in ("sbuf", "psum")
    }
    return {
        "call_id": observed.call_id,
        "target": observed.target.name,
        "executed": recorder.count,
        "partitions": targets.PARTITIONS,
        "sbuf_bytes": observed.target.sbuf_usable_bytes,
        "sbuf_peak_bytes": peaks["sbuf"],
        "psum_banks": targets.PSUM_BANKS,
        "psum_bank_bytes": targets.PSUM_BANK_BYTES,
        "psum_peak_banks": peaks["psum"],
    }


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


def _nesting_rows(observed: Observed) -> list[dict[str, Any]]:
    first = len(observed.recorder.sites)
    return [
        {
            "call_id": observed.call_id,
            "op_index": first + number,
            "loop": None if loop.parent < 0 else first + loop.parent,
            "before": loop.before,
            "kind": loop.kind,
            "name": loop.name or None,
        }
        for number, loop in enumerate(observed.recorder.loops)
        if loop.trips
    ]


def _iterations(observed: Observed) -> pa.RecordBatch:
    """Return the iterations that kept executions were in, and those around them."""
    known = observed.recorder.iterations
    first = len(observed.recorder.sites)
    waiting = {row.iteration for row in observed.recorder.rows}
    kept: set[int] = set()
    while waiting:
        kept |= waiting
        waiting = {known[serial].around for serial in waiting} - kept
    serials = sorted(kept - {0})
    iterations = [known[serial] for serial in serials]
    return batch_of_columns(
        ITERATIONS,
        {
            "call_id": [observed.call_id] * len(serials),
            "iteration": serials,
            "around": [each.around or None for each in iterations],
            "op_index": [first + each.site for each in iterations],
            "trip": [each.trip for each in iterations],
        },
    )


def _value_rows(observed: Observed) -> list[dict[str, Any]]:
    lives = observed.recorder.buffers
    return [
        {"call_id": observed.call_id, **sample._asdict()}
        for sample in observed.samples
        if lives[sample.buffer].first >= 0
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
            "layout": _layout(observed.recorder, row),
        }
        for row in observed.recorder.accesses
    ]


def _layout(recorder: Recorder, row: AccessRow) -> str | None:
    """Say where the lanes went, and in which trips of loops, as docs/accesses.md has it."""
    if not row.shape:
        return None
    lanes = [[size, step] for size, step in zip(row.shape, row.steps, strict=True)]
    layout: dict[str, Any] = {"base": row.first, "lanes": lanes}
    around: list[tuple[int, int]] = []
    serial = row.serial
    while serial:
        iteration = recorder.iterations[serial]
        around.append((len(recorder.sites) + iteration.site, iteration.trip))
        serial = iteration.around
    if around:
        layout["around"] = around[::-1]
    return json.dumps(layout, separators=(",", ":"))


def _finding_rows(observed: Observed, stacks: _Stacks) -> list[dict[str, Any]]:
    found = [_finding_row(observed, finding, stacks) for finding in observed.recorder.findings]
    return found + _proven_rows(observed, stacks)


def _proven_rows(observed: Observed, stacks: _Stacks) -> list[dict[str, Any]]:
    """Say which accesses to device memory stay inside: every lane of every program was checked.

    An access whose indices are data gets no verdict.
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
        stack = stacks.add(site.frames)
        rows.append(
            {
                "finding_id": _identity(findings.OUT_OF_BOUNDS, site.argument, site.kind, stack),
                "call_id": observed.call_id,
                "op_index": number,
                "rule": findings.OUT_OF_BOUNDS,
                "verdict": "proven",
                "severity": "note",
                "access": site.kind,
                "stack_id": stack,
                "arg": site.argument or None,
                "method": "evaluated",
            }
        )
    return rows


def _finding_row(observed: Observed, finding: Finding, stacks: _Stacks) -> dict[str, Any]:
    site = observed.recorder.sites[finding.site]
    stack = stacks.add(site.frames)
    row = {
        "finding_id": finding_identity(observed, finding),
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
            "written_bytes": of("written_bytes"),
            "read": [list(numbers) for numbers in of("read")],
            "iteration": [number or None for number in of("iteration")],
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


def buffer_columns(
    observed: Observed, add_stack: Callable[[Sequence[Place]], int]
) -> dict[str, list[Any]]:
    """Return `buffers` as columns: tiles from first to last use, and transfers to and from them."""
    recorder = observed.recorder
    # Order, rank within it, event, buffer, bytes, site.
    events: list[tuple[int, int, str, int, int, int]] = []
    for number, life in enumerate(recorder.buffers):
        if life.first < 0 or life.settled or life.space == "hbm":
            continue
        events.append((life.first, 0, "allocate", number, life.bytes, life.site))
        events.append((life.last, 2, "free", number, life.bytes, life.site))
    for order, row in enumerate(recorder.rows):
        if row.written >= 0 and row.read and row.device_bytes:
            events.append((order, 1, "transfer", row.written, row.device_bytes, row.site))
    events.sort()
    stacks = {
        site: add_stack(recorder.sites[site].frames) if recorder.sites[site].frames else None
        for site in {event[5] for event in events}
    }
    lives = [recorder.buffers[event[3]] for event in events]
    return {
        "call_id": [observed.call_id] * len(events),
        "order": list(range(len(events))),
        "event": [event[2] for event in events],
        "space": [life.space for life in lives],
        "bytes": [event[4] for event in events],
        "partitions": [life.partitions or None for life in lives],
        "name": [life.name or None for life in lives],
        "stack_id": [stacks[event[5]] for event in events],
    }
