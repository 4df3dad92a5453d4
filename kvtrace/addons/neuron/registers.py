"""Virtual registers of the newer interface: integers that a kernel sets while it runs."""

from collections.abc import Iterator
from typing import Any

import numpy as np

from kvtrace.addons.neuron.errors import NkiError
from kvtrace.addons.neuron.machine import LoopNumber, current
from kvtrace.addons.neuron.ops import moves
from kvtrace.addons.neuron.tensors import Tensor


class VirtualRegister:
    """An integer that instructions set; accepted wherever an integer is."""

    __slots__ = ("value",)

    def __init__(self, value: int = 0) -> None:
        self.value = int(value)

    def __index__(self) -> int:
        return self.value

    def __int__(self) -> int:
        return self.value

    def __bool__(self) -> bool:
        return self.value != 0

    def __repr__(self) -> str:
        return f"VirtualRegister({self.value})"


def number_of(value: Any) -> int:
    """Return the integer in a register or a tensor of one element, or a plain integer itself.

    Raises:
        NkiError: the value is something else, or a tensor of several elements.
    """
    if isinstance(value, Tensor):
        if value.size != 1:
            raise NkiError(f"a register can hold one number, not a tensor of {value.shape}")
        return int(value.array().reshape(-1)[0])
    if isinstance(value, VirtualRegister | int | np.integer):
        return int(value)
    raise NkiError(f"a register can hold a whole number, not {type(value).__name__}")


def register_alloc(x: Any = None) -> VirtualRegister:
    """Return a new register that holds `x`, or 0."""
    return VirtualRegister(0 if x is None else number_of(x))


def register_move(dst: VirtualRegister, src: Any = None, imm: Any = None) -> None:
    """Set a register to an integer, or to another register's; older releases name it `imm`."""
    dst.value = number_of(imm if src is None else src)


def register_load(dst: VirtualRegister, src: Tensor) -> None:
    """Set a register to the only element of a tensor."""
    dst.value = number_of(moves.load_number.older(src))


def register_store(dst: Tensor, src: VirtualRegister) -> None:
    """Store a register's integer to the only element of a tensor."""
    moves.store_number.into(dst, int(src))


def dynamic_range(start: Any, stop: Any = None, step: Any = 1) -> Iterator[LoopNumber]:
    """Iterate in order over a range whose bounds may be registers."""
    begin, end = (0, start) if stop is None else (start, stop)
    loop_range = range(number_of(begin), number_of(end), number_of(step))
    return current().iterate("dynamic_range", loop_range)
