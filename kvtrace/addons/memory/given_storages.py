"""Storages that calls of kernels and operators are given, and what is done to each."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from msgspec import Struct

from kvtrace.addons.memory.carried_values import Uses
from kvtrace.addons.memory.lives import Birth, Place
from kvtrace.addons.memory.operator_effects import Operator
from kvtrace.addons.memory.states import Effect, Spoiling
from kvtrace.ir import Op
from kvtrace.ir.memory_sites import PointerRoots
from kvtrace.recorded_calls.recorded import Call


def argument_of(call: Call, args: Sequence[int], op: Op) -> int:
    """Return the argument by which an op accesses a storage, of those that lie in it."""
    reached = PointerRoots(call.module).of((op,)) if len(args) > 1 else None
    return next((index for index in args if reached is None or index in reached), args[0])


class CallStorage(Struct, frozen=True):
    """A storage of a call: which of a launch's addresses leads to it, and what the call does to it.

    `position` is an index in the launch's addresses, `argument` in the call's arguments. At the
    call's first launch, from which the effect is derived, the storage began `offset_bytes` before
    that address and had `size` bytes. Other launches of the call may have views elsewhere in their
    storages. `others` are the positions of further tensors in the storage, each with its distance
    in bytes from the first one. `stores`: the kernel has a store to it, reached or not. `foreign`
    are the bytes that it stores with values from beyond another storage, None if there are none.
    `uses`: what becomes of what it reads there, None if all of it matters. `address` is where a
    table of pointers has a storage that is no argument, at all of the launches.
    """

    position: int
    argument: int
    offset_bytes: int
    size: int
    effect: Effect
    others: tuple[tuple[int, int], ...] = ()
    stores: bool = True
    foreign: Spoiling | None = None
    uses: Uses | None = None
    address: int | None = None

    def address_in(self, addresses: Sequence[int]) -> int:
        """Return where the tensor lies at a launch with these addresses."""
        return addresses[self.position] if self.address is None else self.address


class TensorUse(NamedTuple):
    """The effect of an operator of torch on the storage of one of its tensors.

    `birth` is where the storage came from, if the operator makes it. `is_moved`: its values are
    passed on to memory of a device.
    """

    position: int
    offset_bytes: int
    size: int
    is_of_host: bool
    birth: Birth | None
    is_moved: bool
    effect: Effect | None
    place: Place


def uses_by(operator_id: int, operator: Operator) -> list[TensorUse]:
    """Return what an operator of torch does to the storages of its tensors."""
    tensors = operator.tensors
    leaves = any(tensor.is_of_host and tensor.role != "read" for tensor in tensors)
    # a number of Python's beside a tensor of a device is recorded as a tensor of the host
    is_beside = any(not tensor.is_of_host and tensor.role != "created" for tensor in tensors)
    return [
        TensorUse(
            index, tensor.offset_bytes, tensor.storage_bytes, tensor.is_of_host,
            Birth("host" if tensor.is_of_host else "operator", operator_id)
            if tensor.role == "created" else None,
            operator.effects.moves and effect is not None and not (effect.may_write or leaves),
            None if tensor.is_of_host and not tensor.shape and is_beside else effect,
            Place("operator", operator_id, index),
        )
        for index, (tensor, effect) in enumerate(
            zip(tensors, operator.effects.effects, strict=True)
        )
        if tensor.storage_bytes
    ]  # fmt: skip
