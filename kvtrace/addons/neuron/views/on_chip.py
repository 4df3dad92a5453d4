"""On-chip memory of NKI calls as plain data: tiles, memory in use over time, and flows.

Time is the order of executed ops, since kernels that run on NumPy have no other clock. A tile is in
use from the first to the last op that accesses it: the least that a compiler needs.
"""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from kvtrace.addons.neuron.views.chip_profile import (
    ChipProfile,
    EngineWork,
    read_chip_profiles,
)
from kvtrace.schema.trace import Run, Trace

BUFFERS: Final = "client_nki_buffers"
EXECUTIONS: Final = "client_nki_executions"


@dataclass(frozen=True, slots=True)
class Tile:
    """A buffer in SBUF or PSUM: its size, and the orders of the first and last op that use it.

    `amount` counts toward the memory's limit: bytes per partition of SBUF, or banks of PSUM.
    """

    number: int
    space: str
    name: str | None
    bytes: int
    partitions: int
    amount: int
    first: int
    last: int
    stack_id: int | None


@dataclass(frozen=True, slots=True)
class Usage:
    """A memory's amount in use: `amounts[i]` from order `orders[i]` to the next order.

    `limit` and `amounts` count bytes per partition (SBUF) or banks (PSUM).
    """

    space: str
    unit: str
    limit: int
    peak: int
    orders: tuple[int, ...]
    amounts: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Flow:
    """Bytes that ops read in one memory and wrote to another, summed over the call."""

    source: str
    target: str
    bytes: int
    executions: int


@dataclass(frozen=True, slots=True)
class OnChipCall:
    """On-chip memory of one call, by order of its executed ops (0 to `executed` - 1)."""

    run: str
    call_id: int
    kernel: str
    target: str
    executed: int
    usage: tuple[Usage, ...]
    tiles: tuple[Tile, ...]
    flows: tuple[Flow, ...]
    engines: tuple[EngineWork, ...]


def on_chip_calls(trace: Trace, runs: Sequence[Run]) -> tuple[OnChipCall, ...]:
    """Return the on-chip memory of each NKI call of the runs, in the order of the table.

    Raises:
        DamagedFile, NewerFormat: as the reader of the trace.

    """
    chips = read_chip_profiles(trace, runs)
    if not chips:
        return ()
    buffers = _tables_by_call(trace.table(BUFFERS, runs))
    executions = _tables_by_call(trace.table(EXECUTIONS, runs))
    return tuple(
        _call(chip, buffers.get(key), executions.get(key))
        for chip in chips
        for key in ((chip.run, chip.call_id),)
    )


def _tables_by_call(table: pa.Table) -> dict[tuple[str, int], pa.Table]:
    tables = {}
    for run in pc.unique(table["run"]).to_pylist():
        run_rows = table.filter(pc.equal(table["run"].cast(pa.string()), run))
        for call in pc.unique(run_rows["call_id"]).to_pylist():
            tables[run, call] = run_rows.filter(pc.equal(run_rows["call_id"], call))
    return tables


def _call(chip: ChipProfile, buffers: pa.Table | None, executions: pa.Table | None) -> OnChipCall:
    lives = [] if buffers is None else buffers.to_pylist()
    spaces = {life["buffer"]: life["space"] for life in lives}
    tiles = tuple(_tile(life) for life in lives if _is_tile(life))
    limits = {
        "sbuf": ("bytes", chip.sbuf_bytes),
        "psum": ("banks", chip.psum_banks),
    }
    return OnChipCall(
        run=chip.run,
        call_id=chip.call_id,
        kernel=chip.kernel,
        target=chip.target,
        executed=chip.executed,
        usage=tuple(
            _usage(space, unit, limit, [tile for tile in tiles if tile.space == space])
            for space, (unit, limit) in limits.items()
        ),
        tiles=tiles,
        flows=() if executions is None else _flows(executions, spaces),
        engines=chip.engines,
    )


def _is_tile(life: Mapping[str, Any]) -> bool:
    return life["space"] != "hbm" and life["first"] is not None


def _tile(life: Mapping[str, Any]) -> Tile:
    return Tile(
        number=life["buffer"],
        space=life["space"],
        name=life["name"],
        bytes=life["bytes"],
        partitions=life["partitions"],
        amount=life["banks"] if life["space"] == "psum" else life["partition_bytes"],
        first=life["first"],
        last=life["last"],
        stack_id=life["stack_id"],
    )


def _usage(space: str, unit: str, limit: int, tiles: Sequence[Tile]) -> Usage:
    changes: defaultdict[int, int] = defaultdict(int)
    for tile in tiles:
        changes[tile.first] += tile.amount
        changes[tile.last + 1] -= tile.amount
    orders = tuple(order for order in sorted(changes) if changes[order])
    amounts = tuple(int(amount) for amount in np.cumsum([changes[order] for order in orders]))
    return Usage(space, unit, limit, max(amounts, default=0), orders, amounts)


def _flows(executions: pa.Table, spaces: Mapping[int, str]) -> tuple[Flow, ...]:
    """Return bytes and ops by source and target memory; of several sources, the farthest."""
    totals_by_memories: dict[tuple[str, str], list[int]] = {}
    columns = (executions[name].to_pylist() for name in ("read", "written", "written_bytes"))
    for read_buffers, written_buffer, nbytes in zip(*columns, strict=True):
        target = spaces.get(written_buffer)
        sources = {spaces[buffer] for buffer in read_buffers or () if buffer in spaces}
        source = next((space for space in ("hbm", "psum", "sbuf") if space in sources), None)
        if target is None or source is None or source == target:
            continue
        bytes_and_ops = totals_by_memories.setdefault((source, target), [0, 0])
        bytes_and_ops[0] += nbytes or 0
        bytes_and_ops[1] += 1
    return tuple(
        Flow(*source_and_target, *bytes_and_ops)
        for source_and_target, bytes_and_ops in sorted(totals_by_memories.items())
    )
