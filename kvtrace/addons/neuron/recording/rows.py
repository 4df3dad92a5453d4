"""Table rows of one launch of an NKI call: ops, loops, findings, buffers, executed ops.

`bytes` of an op are those moved from or to device memory. `op_index` numbers all sites, and after
them all loops.
"""

import hashlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from statistics import median_low
from typing import Any, NamedTuple

import pyarrow as pa

from kvtrace.addons.neuron import capacity, findings, targets
from kvtrace.addons.neuron.findings import Finding
from kvtrace.addons.neuron.recorder import Execution, Recorder, Site
from kvtrace.addons.neuron.recording.definitions import BUFFERS, CALLS, DEFINITIONS, EXECUTIONS, OPS
from kvtrace.addons.neuron.targets import Target
from kvtrace.capture.records import Frame
from kvtrace.schema.columns import batch_of_columns, batch_of_rows
from kvtrace.schema.content import StackRows, stack_id
from kvtrace.schema.table_types import Table
from kvtrace.schema.tables import TABLES


@dataclass(frozen=True)
class ObservedLaunch:
    """The record of a launch that table rows are made from."""

    call_id: int
    grid: tuple[int, ...]
    target: Target
    recorder: Recorder


def derived_tables(launch: ObservedLaunch) -> dict[str, pa.Table]:
    """Return all derived tables of a launch, including the `stacks` that they refer to."""
    stacks = StackRows()
    tables = {
        "ops": _table_of_rows(TABLES["ops"], _op_rows(launch, stacks)),
        "loops": _table_of_rows(TABLES["loops"], _loop_rows(launch, stacks)),
        "findings": _table_of_rows(TABLES["findings"], _finding_rows(launch, stacks)),
        EXECUTIONS.name: pa.Table.from_batches([_executions(launch)], schema=EXECUTIONS.schema),
        BUFFERS.name: _table_of_rows(BUFFERS, _life_rows(launch, stacks)),
        OPS.name: _table_of_rows(OPS, _engine_rows(launch)),
        CALLS.name: _table_of_rows(CALLS, [_call_row(launch)]),
    }
    return tables | {"stacks": _table_of_rows(TABLES["stacks"], stacks.rows())}


def empty_tables() -> dict[str, pa.Table]:
    """Return all derived tables without rows."""
    tables = [TABLES[name] for name in ("ops", "loops", "findings", "stacks")]
    return {
        table.name: pa.Table.from_batches([], table.schema) for table in (*tables, *DEFINITIONS)
    }


def finding_tables(launch: ObservedLaunch, new_findings: Sequence[Finding]) -> dict[str, pa.Table]:
    """Return the tables `findings` and `stacks` for some findings of a launch."""
    stacks = StackRows()
    rows = [_finding_row(launch, finding, stacks) for finding in new_findings]
    return {
        "findings": _table_of_rows(TABLES["findings"], rows),
        "stacks": _table_of_rows(TABLES["stacks"], stacks.rows()),
    }


def finding_identity(launch: ObservedLaunch, finding: Finding) -> str:
    """Return the `finding_id`, which is equal for the same rule and position in all runs."""
    frames = launch.recorder.sites[finding.site].frames
    stack = stack_id(frames) if frames else None
    return _finding_id(finding.rule, finding.argument, finding.access, stack)


def _finding_id(rule: str, argument: str, access: str, stack: int | None) -> str:
    text = f"{rule}|{argument}|{access}|{stack}"
    return hashlib.blake2b(text.encode(), digest_size=8).hexdigest()


def _table_of_rows(table: Table, rows: Sequence[dict[str, Any]]) -> pa.Table:
    return pa.Table.from_batches([batch_of_rows(table, rows)], schema=table.schema)


def _executed_sites(launch: ObservedLaunch) -> list[tuple[int, Site]]:
    numbered = enumerate(launch.recorder.sites)
    return [(site_index, site) for site_index, site in numbered if site.executions]


def _op_rows(launch: ObservedLaunch, stacks: StackRows) -> list[dict[str, Any]]:
    first_loop_index = len(launch.recorder.sites)
    return [
        {
            "call_id": launch.call_id,
            "op_index": site_index,
            "op": site.op,
            "kind": site.kind,
            "dtype": site.dtype or None,
            "stack_id": stacks.add(site.frames),
            "executions": site.executions,
            "elements": site.elements,
            "masked_off": site.masked_off,
            "bytes": site.device_bytes,
            "unique_bytes": launch.recorder.unique_bytes(site_index) if site.device_bytes else None,
            "flops": site.flops,
            "loop": None if site.loop < 0 else first_loop_index + site.loop,
            "buffer": site.argument or None,
        }
        for site_index, site in _executed_sites(launch)
    ]


def _engine_rows(launch: ObservedLaunch) -> list[dict[str, Any]]:
    return [
        {
            "call_id": launch.call_id,
            "op_index": site_index,
            "engine": site.engine,
            "device_bytes": site.device_bytes,
            "chip_bytes": site.chip_bytes,
        }
        for site_index, site in _executed_sites(launch)
    ]


def _call_row(launch: ObservedLaunch) -> dict[str, Any]:
    recorder = launch.recorder
    peaks = {
        space: int(capacity.usage(recorder.buffers, space, recorder.count).max(initial=0))
        for space in ("sbuf", "psum")
    }
    return {
        "call_id": launch.call_id,
        "target": launch.target.name,
        "executed": recorder.count,
        "partitions": targets.PARTITIONS,
        "sbuf_bytes": launch.target.sbuf_usable_bytes,
        "sbuf_peak_bytes": peaks["sbuf"],
        "psum_banks": targets.PSUM_BANKS,
        "psum_bank_bytes": targets.PSUM_BANK_BYTES,
        "psum_peak_banks": peaks["psum"],
    }


def _loop_rows(launch: ObservedLaunch, stacks: StackRows) -> list[dict[str, Any]]:
    first_loop_index = len(launch.recorder.sites)
    return [
        {
            "call_id": launch.call_id,
            "op_index": first_loop_index + loop_index,
            "stack_id": stacks.add(loop.frames),
            "trips_min": min(loop.trips),
            "trips_median": median_low(loop.trips),
            "trips_max": max(loop.trips),
        }
        for loop_index, loop in enumerate(launch.recorder.loops)
        if loop.trips
    ]


def _finding_rows(launch: ObservedLaunch, stacks: StackRows) -> list[dict[str, Any]]:
    rows = [_finding_row(launch, finding, stacks) for finding in launch.recorder.findings]
    return rows + _proven_rows(launch, stacks)


def _proven_rows(launch: ObservedLaunch, stacks: StackRows) -> list[dict[str, Any]]:
    """Return a row with the verdict "proven" for each load and store that was always in bounds.

    Accesses whose indices are data have no row: other data may be out of bounds.
    """
    violating_sites = {
        finding.site
        for finding in launch.recorder.findings
        if finding.rule == findings.OUT_OF_BOUNDS
    }
    rows = []
    for site_index, site in _executed_sites(launch):
        if site.kind not in ("load", "store") or site_index in violating_sites or site.from_data:
            continue
        stack = stacks.add(site.frames)
        rows.append(
            {
                "finding_id": _finding_id(findings.OUT_OF_BOUNDS, site.argument, site.kind, stack),
                "call_id": launch.call_id,
                "op_index": site_index,
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


def finding_facts(finding: Finding) -> dict[str, Any]:
    """Return the fields of a finding that a row and the form of `--json` have in common."""
    return {
        "rule": finding.rule,
        "verdict": "violation",
        "severity": finding.severity,
        "access": finding.access or None,
        "arg": finding.argument or None,
        "lane": list(finding.lane) or None,
        "address_offset": finding.address_offset,
        "past_end_bytes": finding.past_end_bytes,
        "lanes": finding.lanes or None,
        "message": finding.message,
    }


def _finding_row(launch: ObservedLaunch, finding: Finding, stacks: StackRows) -> dict[str, Any]:
    site = launch.recorder.sites[finding.site]
    stack = stacks.add(site.frames)
    row = finding_facts(finding) | _program_columns(finding.program, launch.grid)
    return row | {
        "finding_id": finding_identity(launch, finding),
        "call_id": launch.call_id,
        "op_index": finding.site,
        "stack_id": stack,
        "iteration": finding.iteration,
        "method": "evaluated",
    }


def _program_columns(program: int, grid: tuple[int, ...]) -> dict[str, int]:
    columns = {}
    for axis, size in zip("xyz", (*grid, 1, 1), strict=False):
        columns[f"program_{axis}"] = program % size
        program //= size
    return columns


def _executions(launch: ObservedLaunch) -> pa.RecordBatch:
    rows = launch.recorder.rows
    sites = launch.recorder.sites
    columns = dict(zip(Execution._fields, zip(*rows, strict=True), strict=True)) if rows else {}

    def column_of(name: str) -> Any:
        return columns.get(name, ())

    return batch_of_columns(
        EXECUTIONS,
        {
            "call_id": [launch.call_id] * len(rows),
            "order": list(range(len(rows))),
            "op_index": column_of("site"),
            "engine": [sites[index].engine for index in column_of("site")],
            "program": column_of("program"),
            "elements": column_of("elements"),
            "device_bytes": column_of("device_bytes"),
            "chip_bytes": column_of("chip_bytes"),
            "flops": column_of("flops"),
            "written": [None if index < 0 else index for index in column_of("written")],
            "written_bytes": column_of("written_bytes"),
            "read": [list(indices) for indices in column_of("read")],
        },
    )


def _life_rows(launch: ObservedLaunch, stacks: StackRows) -> list[dict[str, Any]]:
    sites = launch.recorder.sites
    return [
        {
            "call_id": launch.call_id,
            "buffer": buffer_index,
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
        for buffer_index, life in enumerate(launch.recorder.buffers)
        if not life.elided
    ]


class _BufferEvent(NamedTuple):
    """An event of a buffer; of one op, allocations come first and releases last."""

    order: int
    rank: int
    event: str
    buffer: int
    bytes: int
    site: int


def buffer_columns(
    launch: ObservedLaunch, add_stack: Callable[[Sequence[Frame]], int]
) -> dict[str, list[Any]]:
    """Return the columns of `buffers`: a tile's allocation, transfers to it, and its release."""
    recorder = launch.recorder
    events: list[_BufferEvent] = []
    for buffer_index, life in enumerate(recorder.buffers):
        if life.first < 0 or life.elided or life.space == "hbm":
            continue
        buffer = (buffer_index, life.bytes, life.site)
        events.append(_BufferEvent(life.first, 0, "allocate", *buffer))
        events.append(_BufferEvent(life.last, 2, "free", *buffer))
    for order, row in enumerate(recorder.rows):
        if row.written >= 0 and row.read and row.device_bytes:
            buffer = (row.written, row.device_bytes, row.site)
            events.append(_BufferEvent(order, 1, "transfer", *buffer))
    events.sort()
    stacks = {
        site: add_stack(recorder.sites[site].frames) if recorder.sites[site].frames else None
        for site in {event.site for event in events}
    }
    lives = [recorder.buffers[event.buffer] for event in events]
    return {
        "call_id": [launch.call_id] * len(events),
        "order": list(range(len(events))),
        "event": [event.event for event in events],
        "space": [life.space for life in lives],
        "bytes": [event.bytes for event in events],
        "partitions": [life.partitions or None for life in lives],
        "name": [life.name or None for life in lives],
        "stack_id": [stacks[event.site] for event in events],
    }
