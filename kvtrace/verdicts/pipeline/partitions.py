"""Order in kernels whose partitions wait for each other: evaluations of calls by clocks.

All states of several partitions are too many to visit. An evaluation of one order of their turns
finds what no barrier orders, for the loops and branches that the call's numbers decide.
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import partial

from msgspec import Struct

from kvtrace.evaluate.clocks import EarlyAccess
from kvtrace.evaluate.errors import UNFIT, Deadlock
from kvtrace.evaluate.partitions import ORDERS, PartitionedMemory
from kvtrace.ir import Module, Op
from kvtrace.ir.model import line_text
from kvtrace.ir.ops import PARTITIONING
from kvtrace.recorded_calls.recorded import Call
from kvtrace.schema.errors import KvtraceError
from kvtrace.verdicts.pipeline.contentless import Contentless, EmptyShared


class Finding(Struct, frozen=True):
    """An op that comes too early, or waits forever; `other` is the op on the other side."""

    op: Op
    other: Op | None
    text: str


def find_disorder(module: Module, calls: Iterable[Call]) -> list[Finding | None]:
    """Return what evaluations of calls find, in each order of turns; None: nothing.

    Calls that cannot be evaluated are left out.
    """
    outcomes: list[Finding | None] = []
    takes_turns = any(op.name in PARTITIONING for op in module.ops)
    for call in calls:
        orders = ORDERS if takes_turns else ORDERS[:1]
        replays = [Contentless(partial(_EmptyPartitions, order=order)) for order in orders]
        ends = [_end(module, call, replay) for replay in replays]
        early = [finding for replay in replays for finding in _early(replay.shared)]
        stuck = [end for end in ends if isinstance(end, Finding)]
        if early or len(stuck) == len(ends):  # what waits forever does so in any order
            outcomes += [*early, *stuck]
        elif True in ends:
            outcomes.append(None)
    return outcomes


def _end(module: Module, call: Call, replay: Contentless[_EmptyPartitions]) -> Finding | bool:
    """Evaluate a call; return a wait that never ends, or whether all was evaluated and known."""
    try:
        replay.run(module, call, call.arguments)
    except Deadlock as error:
        return next((Finding(op, None, str(error)) for op in replay.shared.stuck), False)
    except (KvtraceError, *UNFIT):  # not all ops are evaluated; nothing is concluded then
        return False
    return replay.shared.complete


class _EmptyPartitions(EmptyShared, PartitionedMemory):
    """Memory of partitions without contents."""


def _early(memory: PartitionedMemory) -> list[Finding]:
    """Return the accesses that came too early, the first one first."""
    early = memory.early.values()
    return [Finding(e.op, e.other if "{other}" in e.text else None, _text(e)) for e in early]


def _text(early: EarlyAccess) -> str:
    return f"{_named(early.op)} {early.text.format(other=_named(early.other))}"


def _named(op: Op) -> str:
    return f"{op.name}{line_text(op, 'at')}"
