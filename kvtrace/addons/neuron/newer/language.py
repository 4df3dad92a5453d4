"""`nki.language`: the names of both languages, and those of the newer one alone."""

import inspect
from collections.abc import Callable
from typing import Any

from kvtrace.addons.neuron import dtypes
from kvtrace.addons.neuron.buffers import Buffer, buffer_of
from kvtrace.addons.neuron.errors import missing_name_handler
from kvtrace.addons.neuron.language import *  # noqa: F403 - its names are this module's
from kvtrace.addons.neuron.loops import no_reorder  # noqa: F401
from kvtrace.addons.neuron.newer.tensors import (  # noqa: F401
    NkiBlockGrid,
    NkiGrid,
    NkiTensor,
    NkiTileGrid,
    alloc_blocks,
    alloc_tiles,
    blocks,
    tiles,
)
from kvtrace.addons.neuron.ops import elementwise, moves
from kvtrace.addons.neuron.ops.creation import shared_identity_matrix as _identity_in_device_memory
from kvtrace.addons.neuron.registers import VirtualRegister, dynamic_range, number_of
from kvtrace.addons.neuron.tokens import BYPASS, Token

bypass = BYPASS
MemoryRegion = Buffer
Op = Token
where = elementwise.where.older


class NKIObject:
    """Base of classes that kernels pass around; annotated names are fields, as in a dataclass.

    A subclass may be a dataclass, but need not.
    """

    def __init__(self, *values: Any, **named: Any) -> None:
        """Set fields by position and by name; other fields keep the class's values."""
        kind = type(self)
        fields = list(
            dict.fromkeys(
                name for base in reversed(kind.__mro__) for name in inspect.get_annotations(base)
            )
        )
        if len(values) > len(fields):
            raise TypeError(f"{kind.__name__} has {len(fields)} fields, not {len(values)}")
        by_position = dict(zip(fields, values, strict=False))
        if twice := by_position.keys() & named.keys():
            raise TypeError(f"{kind.__name__} has two values for {', '.join(sorted(twice))}")
        vars(self).update(by_position | named)
        if missing := [name for name in fields if not hasattr(self, name)]:
            raise TypeError(f"{kind.__name__} has no value for {', '.join(missing)}")
        post_init = getattr(self, "__post_init__", None)
        if post_init is not None:
            post_init()


def is_sbuf(buffer: Any) -> bool:
    """Return whether a memory is SBUF."""
    return buffer_of(buffer).space == "sbuf"


def is_psum(buffer: Any) -> bool:
    """Return whether a memory is PSUM."""
    return buffer_of(buffer).space == "psum"


def is_hbm(buffer: Any) -> bool:
    """Return whether a memory is device memory of any kind."""
    return buffer_of(buffer).space == "hbm"


def is_on_chip(buffer: Any) -> bool:
    """Return whether a memory is SBUF or PSUM."""
    return not is_hbm(buffer)


def fori_loop(lower: Any, upper: Any, body_fun: Callable[[Any], None], step: int = 1) -> None:
    """Call a function with each number of a range, whose bounds may be registers.

    If a bound is a register, the numbers are passed as registers.
    """
    has_registers = isinstance(lower, VirtualRegister) or isinstance(upper, VirtualRegister)
    for number in dynamic_range(lower, upper, step):
        body_fun(VirtualRegister(number) if has_registers else number)


def while_loop(init: VirtualRegister, body_fun: Callable[[VirtualRegister], Any]) -> None:
    """Call a function with a register, and then with each register that it returns, until zero."""
    register = init
    while number_of(register):
        register = body_fun(VirtualRegister(number_of(register)))


def broadcast_to(x: Any, shape: Any, dtype: Any = None) -> Any:
    """Return a view that repeats dimensions of size 1; a tile if `dtype` is another type."""
    view = x.broadcast_to(shape)
    return view if dtype is None or x.dtype == dtype else moves.copy.older(view, dtype=dtype)


def shared_identity_matrix(n: int, dtype: Any = dtypes.uint8, dst: Any = None) -> Any:
    """Return an n x n identity matrix in a new tile in SBUF, or write it to `dst`."""
    matrix = _identity_in_device_memory(n, dtype)
    return moves.load.older(matrix) if dst is None else moves.load.into(dst, matrix)


__getattr__ = missing_name_handler("nki.language")
