"""`onchip/index`: NKI calls at a glance; `onchip/<call>`: on-chip memory of one, in op order.

Their content is that of `on_chip.py`; a call's block also has its
ops with their engines, and which tiles they read and write. Derived all of it: there is no clock.
Times at best are what the published limits of the target allow, each op by itself.
"""

import math
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, Final

from kvtrace.addons.neuron.views.chip_profile import read_chip_profiles
from kvtrace.addons.neuron.views.on_chip import (
    BUFFERS,
    EXECUTIONS,
    ITERATIONS,
    LOOPS,
    OPS,
    VALUES,
    OnChipCall,
    Usage,
    on_chip_calls,
)
from kvtrace.converters.profile.device_limits import DeviceLimits, limits_for_target
from kvtrace.converters.profile.roofline import Position, Work, position
from kvtrace.converters.report.pack import json_block
from kvtrace.converters.report.sources import Block, BlockSource, Context

__all__ = ["SOURCE"]

#: Tiles of a call that are drawn and listed, the largest ones.
_TILES: Final = 3000

#: Names of tiles that are listed of one op, and tiles that it is listed to access.
_NAMES: Final = 12
_TOUCHED: Final = 400

#: Executed ops that are in the page one by one: what sliders of loops choose from.
_EXECUTED: Final = 50_000


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
    touched: tuple[int, ...]
    """Numbers of tiles and tensors that it reads or writes."""
    best_ns: float | None
    """Its arithmetic at the engine's rate, or its transfers at the memory's, over the call."""


@dataclass(frozen=True, slots=True)
class TargetRoof:
    """Where the call is under the published limits of what it is for: one core of the target.

    Rates are per second; the position is in nanoseconds of one launch, None where not known.
    """

    name: str
    source: str
    bandwidth: float
    matrix: dict[str, float]
    vector: dict[str, float]
    flops: int
    unique_bytes: int | None
    position: Position | None


@dataclass(frozen=True, slots=True)
class LoopAround:
    """A loop of a call, by its op_index, and the one around it; the most trips of an execution."""

    index: int
    loop: int | None
    kind: str
    name: str | None
    stack: int | None
    trips: int


@dataclass(frozen=True, slots=True)
class Sequence:
    """The first executed ops, each by its op, program and iteration, in their order.

    An iteration is a place in the other three columns: its loop, which trip of it, and the
    iteration around. At place 0 is what is outside of all loops, with -1 for loop and trip.
    """

    op: tuple[int, ...]
    program: tuple[int, ...]
    iteration: tuple[int, ...]
    loop: tuple[int, ...]
    trip: tuple[int, ...]
    around: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class TileValues:
    """What a tile held at the end: the first elements of its first partitions, by partition.

    A value is None where it was never written, and a word where it is not a finite number.
    """

    tile: int
    dtype: str
    partitions: int
    elements: int
    rows: tuple[tuple[float | str | None, ...], ...]


@dataclass(frozen=True, slots=True)
class CallBlock:
    """What the view of one call shows; the stacks of tiles are places in the report."""

    memory: OnChipCall
    tiles_left_out: int
    ops: tuple[OpWork, ...]
    loops: tuple[LoopAround, ...]
    """In the order of the program, each before those inside it."""
    sequence: Sequence
    roof: TargetRoof | None


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
    for place in found:
        values = tuple(_values(context, place))
        if values:
            yield Block(f"onchip/{place}/values", partial(json_block, values))


def _calls(context: Context) -> Iterator[tuple[int, OnChipCall]]:
    """Return the NKI calls of the report by their places in it, in its order."""
    calls = {(call.run, call.call_id): call for call in on_chip_calls(context.trace, context.runs)}
    for chip in read_chip_profiles(context.trace, context.runs):
        observed = calls[chip.run, chip.call_id]
        busy = {each.engine: each for each in chip.engines}
        engines = tuple(
            replace(each, busy_ns=busy[each.engine].busy_ns, share=busy[each.engine].share)
            if each.engine in busy
            else each
            for each in observed.engines
        )
        calls[chip.run, chip.call_id] = replace(observed, engines=engines)
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
    limits = limits_for_target(f"neuron:{call.target}")
    ops = tuple(_ops(context, place, limits))
    roof = None if limits is None else _roof(context, place, limits)
    loops = tuple(_loops(context, place))
    sequence = _sequence(context, place)
    return json_block(CallBlock(memory, left_out, ops, loops, sequence, roof))


def _loops(context: Context, place: int) -> Iterator[LoopAround]:
    known = {row["op_index"]: row for row in context.of_call("loops", place)}
    for row in context.of_client(LOOPS, place):
        loop = known[row["op_index"]]
        yield LoopAround(
            index=row["op_index"],
            loop=row["loop"],
            kind=row["kind"],
            name=row["name"],
            stack=context.stack(loop["stack_id"]),
            trips=loop["trips_max"],
        )


def _sequence(context: Context, place: int) -> Sequence:
    executed = context.of_call(EXECUTIONS, place)[:_EXECUTED]
    rows = {row["iteration"]: row for row in context.of_client(ITERATIONS, place)}
    kept: dict[int | None, int] = {None: 0}
    for number in rows:
        kept[number] = len(kept)
    return Sequence(
        op=tuple(row["op_index"] for row in executed),
        program=tuple(row["program"] for row in executed),
        iteration=tuple(kept[row.get("iteration")] for row in executed),
        loop=(-1, *(row["op_index"] for row in rows.values())),
        trip=(-1, *(row["trip"] for row in rows.values())),
        around=(0, *(kept[row["around"]] for row in rows.values())),
    )


def _values(context: Context, place: int) -> Iterator[TileValues]:
    for row in context.of_client(VALUES, place):
        kept, rows = row["values"], row["rows"]
        along = len(kept) // rows if rows else 0
        shown = [_shown(value) for value in kept]
        yield TileValues(
            tile=row["buffer"],
            dtype=row["dtype"],
            partitions=row["partitions"],
            elements=row["elements"],
            rows=tuple(tuple(shown[at * along : (at + 1) * along]) for at in range(rows)),
        )


def _shown(value: float | None) -> float | str | None:
    return value if value is None or math.isfinite(value) else str(value)


def _roof(context: Context, place: int, limits: DeviceLimits) -> TargetRoof:
    call = context.report.calls[place]
    dots: dict[str, int] = {}
    others: dict[str, int] = {}
    for row in context.of_call("ops", place):
        kind = dots if row["kind"] == "dot" else others
        name = row["dtype"] or "fp32"
        kind[name] = kind.get(name, 0) + (row["flops"] or 0)
    moved = None if call.unknown_accesses else call.bytes
    return TargetRoof(
        name=limits.name,
        source=limits.source,
        bandwidth=limits.bandwidth,
        matrix=dict(limits.matrix),
        vector=dict(limits.vector),
        flops=sum(dots.values()) + sum(others.values()),
        unique_bytes=call.unique_bytes,
        position=position(Work(call.unique_bytes, moved, dots, others), limits),
    )


def _ops(context: Context, place: int, limits: DeviceLimits | None) -> Iterator[OpWork]:
    names = {row["buffer"]: row["name"] or "?" for row in context.of_call(BUFFERS, place)}
    reads: dict[int, dict[str, None]] = {}
    writes: dict[int, dict[str, None]] = {}
    touched: dict[int, dict[int, None]] = {}
    for row in context.of_call(EXECUTIONS, place):
        op = row["op_index"]
        for number in row["read"] or ():
            reads.setdefault(op, {})[names.get(number, "?")] = None
            touched.setdefault(op, {})[number] = None
        if row["written"] is not None:
            writes.setdefault(op, {})[names.get(row["written"], "?")] = None
            touched.setdefault(op, {})[row["written"]] = None
    engines = {row["op_index"]: row for row in context.of_call(OPS, place)}
    for row in context.of_call("ops", place):
        index = row["op_index"]
        yield replace(
            _op(context, row, engines.get(index, {}), reads.get(index, ()), writes.get(index, ())),
            touched=tuple(touched.get(index, ()))[:_TOUCHED],
            best_ns=_best_ns(row, engines.get(index, {}), limits),
        )


def _best_ns(
    row: dict[str, Any], engine: dict[str, Any], limits: DeviceLimits | None
) -> float | None:
    """How long an op takes at least by the target's limits: arithmetic, or transfers.

    None where it has neither, for what moves on chip has no published rate.
    """
    transferred = engine.get("device_bytes") or 0
    if limits is None or not (transferred or row["flops"]):
        return None
    seconds = transferred / limits.bandwidth
    if row["flops"]:
        dtype = row["dtype"] or "fp32"
        dot = row["kind"] == "dot"
        rate = limits.dot_rate(dtype) if dot else limits.vector_rate(dtype)
        if rate is None:
            return None
        seconds = max(seconds, row["flops"] / rate)
    return seconds * 1e9


def _op(
    context: Context,
    row: dict[str, Any],
    engine: dict[str, Any],
    reads: Iterable[str],
    writes: Iterable[str],
) -> OpWork:
    return OpWork(
        op_index=row["op_index"],
        op=row["op"] or "?",
        engine=engine.get("engine"),
        dtype=row["dtype"],
        stack=context.stack(row["stack_id"]),
        executions=row["executions"] or 0,
        flops=row["flops"] or 0,
        device_bytes=engine.get("device_bytes") or 0,
        chip_bytes=engine.get("chip_bytes") or 0,
        reads=tuple(reads)[:_NAMES],
        writes=tuple(writes)[:_NAMES],
        touched=(),
        best_ns=None,
    )


SOURCE: Final = BlockSource(
    name="onchip",
    order=35,
    share=0.5,
    noun="views of on-chip memory",
    query="FROM client_nki_buffers",
    blocks=_blocks,
    types=(CallAtAGlance, CallBlock, TileValues),
    loop_table=LOOPS,
)
