"""Blocks of the report: `onchip/index` lists NKI calls, `onchip/<call>` has a call's memory.

The data are those of `on_chip.py`; a call's block also has the call's ops, their engines, and the
tiles that they read and write.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from functools import partial
from typing import Final

from kvtrace.addons.neuron.views.chip_profile import OPS
from kvtrace.addons.neuron.views.on_chip import (
    BUFFERS,
    EXECUTIONS,
    OnChipCall,
    Usage,
    on_chip_calls,
)
from kvtrace.converters.report.pack import json_block
from kvtrace.converters.report.sources import Block, BlockSource, Context

__all__ = ["SOURCE"]

#: Maximum number of tiles of a call that are drawn and listed, the largest ones.
_TILES_LIMIT: Final = 3000

#: Maximum numbers of names of tiles, and of tiles, that are listed for an op.
_NAMES_LIMIT: Final = 12
_TOUCHED_LIMIT: Final = 400


@dataclass(frozen=True, slots=True)
class CallSummary:
    """A row of the list of calls: the call's number in the report, and its peaks of memory."""

    call: int
    kernel: str
    target: str
    executed: int
    usage: tuple[Usage, ...]


@dataclass(frozen=True, slots=True)
class OpWork:
    """An op of a call, its engine, and the names of tiles and tensors that it reads and writes."""

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
    touched: tuple[int, ...]
    """Numbers of tiles and tensors that the op reads or writes."""


@dataclass(frozen=True, slots=True)
class CallBlock:
    """The data of the view of one call; stacks are numbers of the report's stacks."""

    memory: OnChipCall
    tiles_left_out: int
    ops: tuple[OpWork, ...]


def _blocks(context: Context) -> Iterable[Block]:
    calls = dict(_numbered_calls(context))
    if not calls:
        return
    rows = [
        CallSummary(call_number, call.kernel, call.target, call.executed, _peaks(call))
        for call_number, call in calls.items()
    ]
    yield Block("onchip/index", lambda: json_block(rows))
    for call_number, call in calls.items():
        yield Block(f"onchip/{call_number}", partial(_call_block, context, call_number, call))


def _numbered_calls(context: Context) -> Iterator[tuple[int, OnChipCall]]:
    calls = {(call.run, call.call_id): call for call in on_chip_calls(context.trace, context.runs)}
    for call_number, call in enumerate(context.report.calls):
        on_chip = calls.get((context.runs[call.run].run_id, call.call_id))
        if on_chip is not None:
            yield call_number, on_chip


def _peaks(call: OnChipCall) -> tuple[Usage, ...]:
    return tuple(replace(usage, orders=(), amounts=()) for usage in call.usage)


def _call_block(context: Context, call_number: int, call: OnChipCall) -> str:
    largest = sorted(call.tiles, key=lambda tile: -tile.bytes)[:_TILES_LIMIT]
    tiles = tuple(
        replace(tile, stack_id=context.stack(tile.stack_id))
        for tile in sorted(largest, key=lambda tile: tile.number)
    )
    left_out = len(call.tiles) - len(tiles)
    memory = replace(call, tiles=tiles)
    ops = tuple(_op_works(context, call_number))
    return json_block(CallBlock(memory, left_out, ops))


def _op_works(context: Context, call_number: int) -> Iterator[OpWork]:
    names = {row["buffer"]: row["name"] or "?" for row in context.of_call(BUFFERS, call_number)}
    reads: dict[int, dict[str, None]] = {}
    writes: dict[int, dict[str, None]] = {}
    touched: dict[int, dict[int, None]] = {}
    for row in context.of_call(EXECUTIONS, call_number):
        op = row["op_index"]
        for buffer in row["read"] or ():
            reads.setdefault(op, {})[names.get(buffer, "?")] = None
            touched.setdefault(op, {})[buffer] = None
        if row["written"] is not None:
            writes.setdefault(op, {})[names.get(row["written"], "?")] = None
            touched.setdefault(op, {})[row["written"]] = None
    engines = {row["op_index"]: row for row in context.of_call(OPS, call_number)}
    for row in context.of_call("ops", call_number):
        index = row["op_index"]
        engine = engines.get(index, {})
        yield OpWork(
            op_index=index,
            op=row["op"] or "?",
            engine=engine.get("engine"),
            dtype=row["dtype"],
            stack=context.stack(row["stack_id"]),
            executions=row["executions"] or 0,
            flops=row["flops"] or 0,
            device_bytes=engine.get("device_bytes") or 0,
            chip_bytes=engine.get("chip_bytes") or 0,
            reads=tuple(reads.get(index, ()))[:_NAMES_LIMIT],
            writes=tuple(writes.get(index, ()))[:_NAMES_LIMIT],
            touched=tuple(touched.get(index, ()))[:_TOUCHED_LIMIT],
        )


SOURCE: Final = BlockSource(
    name="onchip",
    order=35,
    share=0.5,
    noun="views of on-chip memory",
    query="FROM client_nki_buffers",
    blocks=_blocks,
    types=(CallSummary, CallBlock),
)
