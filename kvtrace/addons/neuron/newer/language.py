"""`nki.language`: what both languages have, and what only the newer one has."""

import inspect
from collections.abc import Callable
from typing import Any

from kvtrace.addons.neuron import dtypes
from kvtrace.addons.neuron import language as _shared
from kvtrace.addons.neuron.buffers import Buffer, buffer_of
from kvtrace.addons.neuron.language import *  # noqa: F403 - its names are this module's
from kvtrace.addons.neuron.loops import no_reorder
from kvtrace.addons.neuron.missing import missing_name_handler
from kvtrace.addons.neuron.newer.grids import (
    NkiBlockGrid,
    NkiGrid,
    NkiTileGrid,
    alloc_blocks,
    alloc_tiles,
    blocks,
    tiles,
)
from kvtrace.addons.neuron.newer.tensors import NkiTensor
from kvtrace.addons.neuron.ops import elementwise, moves
from kvtrace.addons.neuron.ops.creation import shared_identity_matrix as _identity_in_device_memory
from kvtrace.addons.neuron.registers import VirtualRegister, dynamic_range, number_of
from kvtrace.addons.neuron.tokens import BYPASS, Token

__all__ = [
    "NkiBlockGrid",
    "NkiGrid",
    "NkiTensor",
    "NkiTileGrid",
    "alloc_blocks",
    "alloc_tiles",
    "blocks",
    "dynamic_range",
    "no_reorder",
    "tiles",
]
__all__ += _shared.__all__

bypass = BYPASS
MemoryRegion = Buffer
Op = Token
where = elementwise.where.older


class NKIObject:
    """Base of classes that kernels pass around; their annotated names are fields, in order.

    As of a dataclass, which a subclass may be as well but need not.
    """

    def __init__(self, *values: Any, **named: Any) -> None:
        """Set fields by position and by name; others keep the class's own values."""
        kind = type(self)
        fields = list(
            dict.fromkeys(
                name for base in reversed(kind.__mro__) for name in inspect.get_annotations(base)
            )
        )
        if len(values) > len(fields):
            raise TypeError(f"{kind.__name__} has {len(fields)} fields, not {len(values)}")
        given = dict(zip(fields, values, strict=False))
        if twice := given.keys() & named.keys():
            raise TypeError(f"{kind.__name__} is given {', '.join(sorted(twice))} twice")
        vars(self).update(given | named)
        if missing := [name for name in fields if not hasattr(self, name)]:
            raise TypeError(f"{kind.__name__} is not given {', '.join(missing)}")
        after = getattr(self, "__post_init__", None)
        if after is not None:
            after()


def is_sbuf(buffer: Any) -> bool:
    """Whether a memory is SBUF."""
    return buffer_of(buffer).space == "sbuf"


def is_psum(buffer: Any) -> bool:
    """Whether a memory is PSUM."""
    return buffer_of(buffer).space == "psum"


def is_hbm(buffer: Any) -> bool:
    """Whether a memory is device memory of any kind."""
    return buffer_of(buffer).space == "hbm"


def is_on_chip(buffer: Any) -> bool:
    """Whether a memory is SBUF or PSUM."""
    return not is_hbm(buffer)


def fori_loop(lower: Any, upper: Any, body_fun: Callable[[Any], None], step: int = 1) -> None:
    """Call a function with each number of a loop, whose bounds registers may hold.

    The function is given a register if one of the bounds is one, else a number.
    """
    registers = isinstance(lower, VirtualRegister) or isinstance(upper, VirtualRegister)
    for number in dynamic_range(lower, upper, step):
        body_fun(VirtualRegister(number) if registers else number)


def while_loop(init: VirtualRegister, body_fun: Callable[[VirtualRegister], Any]) -> None:
    """Call a function with a register until the register that it returns holds zero."""
    register = init
    while number_of(register):
        register = body_fun(VirtualRegister(number_of(register)))


def broadcast_to(x: Any, shape: Any, dtype: Any = None) -> Any:
    """Return a view in which dimensions of one element are repeated, or a tile of another type."""
    wide = x.broadcast_to(shape)
    return wide if dtype is None or x.dtype == dtype else moves.copy.older(wide, dtype=dtype)


def shared_identity_matrix(n: int, dtype: Any = dtypes.uint8, dst: Any = None) -> Any:
    """Return an identity matrix in SBUF, or in a tile that is given."""
    matrix = _identity_in_device_memory(n, dtype)
    return moves.load.older(matrix) if dst is None else moves.load.into(dst, matrix)


__getattr__ = missing_name_handler("nki.language")
