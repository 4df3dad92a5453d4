"""Replay of two programs at one byte: a race is reported only if both touch the byte in it."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from kvtrace.evaluate import Access, Argument, Observer, Storage, TensorArgument
from kvtrace.ir import Op
from kvtrace.recorded_calls.recorded import Call
from kvtrace.verdicts.conflicts.orders import Order, Renamed, run_in_order
from kvtrace.verdicts.conflicts.outcomes import Touch, Witness
from kvtrace.verdicts.replaying import run


class _Touches(Observer):
    """An observer that collects the lanes that certainly touch a byte: one per op and program."""

    def __init__(
        self, arguments: Sequence[Argument], storage: Storage, byte: int, programs: dict[int, int]
    ) -> None:
        """Watch `programs`, given as the observer's numbers and the programs' ids."""
        self._arguments = arguments
        self._storage = storage
        self._byte = byte
        self._programs = programs
        self.by_op: dict[tuple[int, int], Touch] = {}

    def witness(self, ops: tuple[Op, Op], programs: tuple[int, int]) -> Witness | None:
        """Return both sides of a race, or None if one was not seen."""
        first, second = (
            self.by_op.get((op.index, program)) for op, program in zip(ops, programs, strict=True)
        )
        if first is None or second is None:
            return None
        return Witness(first, second, self._byte)

    def access(self, access: Access) -> None:
        """Note the lanes that cover the byte."""
        if access.argument is None or access.lowest is None or not access.certain:
            return
        argument = self._arguments[access.argument]
        if not isinstance(argument, TensorArgument) or argument.storage is not self._storage:
            return
        byte = self._byte - argument.offset_bytes
        assert access.highest is not None
        if not access.lowest <= byte < access.highest + access.element_bytes:
            return
        for part in (access,) if access.each_trip is None else access.each_trip():
            self._note_lanes(part, access.argument, byte)

    def _note_lanes(self, access: Access, argument: int, byte: int) -> None:
        parts = access.parts
        if parts is None:
            return
        shape, offsets = parts.shape, parts.offsets()
        covers = parts.active_of((offsets <= byte) & (byte < offsets + access.element_bytes))
        is_watched = np.isin(parts.programs, list(self._programs))
        covers = np.broadcast_to(covers, shape) & is_watched.reshape(
            (-1,) + (1,) * len(parts.block)
        )
        for row in np.flatnonzero(covers.any(axis=tuple(range(1, covers.ndim)))):
            key = access.op.index, self._programs[int(parts.programs[row])]
            if key in self.by_op:
                continue
            lane = np.unravel_index(int(covers[row].argmax()), parts.block) if parts.block else ()
            offset = np.broadcast_to(offsets, shape)[(int(row), *lane)]
            iteration = np.broadcast_to(np.asarray(parts.iteration), (shape[0],))[row]
            self.by_op[key] = Touch(
                access.op, key[1], int(iteration), tuple(map(int, lane)), argument, int(offset)
            )


def touched(
    call: Call, op: Op, program: int, storage: Storage, byte: int, *, lanes: int
) -> Touch | None:
    """Evaluate a program and return how its op touches a byte; None: the touch did not occur.

    Args:
        call: the call to evaluate.
        op: the memory op.
        program: linear id, x fastest.
        storage: the storage of one of the call's arguments.
        byte: offset from the start of the storage, possibly outside of the storage.
        lanes: the number of lanes of memory accesses after which to stop.

    """
    touches = _Touches(call.arguments, storage, byte, {program: program})
    run(call, [touches], (program,), contents="all", lanes=lanes)
    return touches.by_op.get((op.index, program))


def replayed(
    call: Call,
    ops: tuple[Op, Op],
    programs: tuple[int, int],
    storage: Storage,
    byte: int,
    *,
    whole: bool,
    order: Order | None = None,
) -> Witness | None:
    """Evaluate two programs and return their accesses to a byte; None: they do not meet.

    Args:
        call: the call to evaluate.
        ops: the memory op of each program.
        programs: linear ids, x fastest.
        storage: the storage of one of the call's arguments.
        byte: offset from the start of the storage.
        whole: whether to run all programs if these two alone do not meet.
        order: the order of programs in which these two met; None: only by ids.

    """
    for chosen, contents in ((programs, "none"), (programs, "integers"), (None, "integers")):
        if not whole and chosen is None:
            return None
        touches = _Touches(call.arguments, storage, byte, {p: p for p in programs})
        run(call, [touches], chosen, contents=contents)
        witness = touches.witness(ops, programs)
        if witness is not None:
            return witness
    if order is None:
        return None
    turns = {int(np.flatnonzero(order == program)[0]): program for program in programs}
    touches = _Touches(call.arguments, storage, byte, turns)
    run_in_order(call, [touches], Renamed(order))
    return touches.witness(ops, programs)
