"""`onchip/index`: NKI calls at a glance; `onchip/<call>`: on-chip memory of one, in op order.

What stands in them is that of `kvtrace.converters.on_chip`, which see; a call's block also has its
ops with their engines, and which tiles they read and write. Derived all of it: there is no clock.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, Final

from kvtrace.converters.on_chip import BUFFERS, EXECUTIONS, OPS, OnChipCall, Usage, on_chip_calls
from kvtrace.converters.report.pack import json_block
from kvtrace.converters.report.sources import Block, BlockSource, Context

__all__ = ["SOURCE"]

#: Tiles of a call that are drawn and listed, the largest ones.
_TILES: Final = 3000

#: Names of tiles that are listed of one op.
_NAMES: Final = 12


@dataclass(frozen=True, slots=True)
class CallAtAGlance:
    """A row of the list: the call's place in the report, and how much was in use at most."""

    call: int
    kernel: str
    target: str
    executed: int
    usage: tuple[Usage, ...]


@dataclass(frozen=True, slots=True)
class OpWork:
    """An op of a call, its engine, and the tiles and tensors that it reads and writes by name."""

    op_index: int
    op: str
    engine: str | None
    dtype: str | None
    stack: int | None
    executions: int
    flops: int
    device_bytes: int
    chip_bytes: int
    reads: tuple[str, ...]
    writes: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class CallBlock:
    """What the view of one call shows; the stacks of tiles are places in the report."""

    memory: OnChipCall
    tiles_left_out: int
    ops: tuple[OpWork, ...]


def _blocks(context: Context) -> Iterable[Block]:
    found = dict(_calls(context))
    if not found:
        return
    rows = [
        CallAtAGlance(place, call.kernel, call.target, call.executed, _peaks(call))
        for place, call in found.items()
    ]
    yield Block("onchip/index", lambda: json_block(rows))
    for place, call in found.items():
        yield Block(f"onchip/{place}", partial(_packed, context, place, call))


def _calls(context: Context) -> Iterator[tuple[int, OnChipCall]]:
    """Give the NKI calls of the report by their places in it, in its order."""
    calls = {(call.run, call.call_id): call for call in on_chip_calls(context.trace, context.runs)}
    for place, call in enumerate(context.report.calls):
        known = calls.get((context.runs[call.run].run_id, call.call_id))
        if known is not None:
            yield place, known


def _peaks(call: OnChipCall) -> tuple[Usage, ...]:
    return tuple(replace(usage, orders=(), amounts=()) for usage in call.usage)


def _packed(context: Context, place: int, call: OnChipCall) -> str:
    largest = sorted(call.tiles, key=lambda tile: -tile.bytes)[:_TILES]
    tiles = tuple(
        replace(tile, stack_id=context.stack(tile.stack_id))
        for tile in sorted(largest, key=lambda tile: tile.number)
    )
    left_out = len(call.tiles) - len(tiles)
    memory = replace(call, tiles=tiles)
    return json_block(CallBlock(memory, left_out, tuple(_ops(context, place))))


def _ops(context: Context, place: int) -> Iterator[OpWork]:
    names = {row["buffer"]: row["name"] or "?" for row in context.of_call(BUFFERS, place)}
    reads: dict[int, dict[str, None]] = {}
    writes: dict[int, dict[str, None]] = {}
    for row in context.of_call(EXECUTIONS, place):
        for number in row["read"] or ():
            reads.setdefault(row["op_index"], {})[names.get(number, "?")] = None
        if row["written"] is not None:
            writes.setdefault(row["op_index"], {})[names.get(row["written"], "?")] = None
    engines = {row["op_index"]: row for row in context.of_call(OPS, place)}
    for row in context.of_call("ops", place):
        yield _op(context, row, engines, reads, writes)


def _op(
    context: Context,
    row: dict[str, Any],
    engines: dict[int, dict[str, Any]],
    reads: dict[int, dict[str, None]],
    writes: dict[int, dict[str, None]],
) -> OpWork:
    index = row["op_index"]
    engine = engines.get(index, {})
    return OpWork(
        op_index=index,
        op=row["op"] or "?",
        engine=engine.get("engine"),
        dtype=row["dtype"],
        stack=context.stack(row["stack_id"]),
        executions=row["executions"] or 0,
        flops=row["flops"] or 0,
        device_bytes=engine.get("device_bytes") or 0,
        chip_bytes=engine.get("chip_bytes") or 0,
        reads=tuple(reads.get(index, ()))[:_NAMES],
        writes=tuple(writes.get(index, ()))[:_NAMES],
    )


SOURCE: Final = BlockSource(
    name="onchip",
    order=35,
    share=0.5,
    noun="views of on-chip memory",
    query="FROM client_nki_buffers",
    blocks=_blocks,
)
