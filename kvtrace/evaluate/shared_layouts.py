"""Places of the elements of buffers in shared and tensor memory, by their layouts.

They matter only to views of the bytes of another type (`ttg.memdesc_reinterpret`); otherwise a
buffer's elements are kept in the order of its shape. Source: LinearLayoutConversions.cpp of Triton
3.7, with whose `to_linear_layout` a test compares.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from math import prod
from typing import Final

import numpy as np
from numpy.typing import NDArray

from kvtrace.evaluate.errors import UnsupportedOp
from kvtrace.evaluate.shared_memory import TENSOR_MEMORY_ROWS
from kvtrace.ir import Module, Value
from kvtrace.ir.asynchronous import ACTS, Act
from kvtrace.ir.model import once_per_module
from kvtrace.ir.types import SharedType, bytes_in_memory

Places = NDArray[np.int64]
_Fields = Mapping[str, str]

_FIELD: Final = re.compile(r"(\w+) = (\[[\d, ]*\]|\w+)")
_BASIS: Final = re.compile(r"\[(\d[\d, ]*)")
_PADS: Final = re.compile(r"(\d+):\+(\d+)")


@once_per_module
def reinterprets(module: Module) -> bool:
    """Return whether a module views the bytes of a buffer as another type."""
    return any(ACTS.get(op.name) is Act.RETYPE for op in module.ops)


def element_places(module: Module, view: Value, pitch: int = 0) -> Places:
    """Return the place of each element of a buffer, in elements from its beginning.

    `pitch` is the size in bytes of a row of tensor memory; 0: that of the buffer.

    Raises:
        UnsupportedOp: the layout is not known.

    """
    type_ = view.type
    assert isinstance(type_, SharedType)
    alias = type_.rest.partition(",")[0]
    text = module.encodings.get(alias, alias)
    name, _, body = text.partition("<")
    fields = dict(_FIELD.findall(body))
    listed = body.partition("offset = ")[2].partition("]]")[0]
    bases = [_numbers(basis) for basis in _BASIS.findall(listed)]
    if not bases and name not in _LAYOUTS:
        raise UnsupportedOp(f"bytes of another type are not followed in the layout {text}")
    if name == "#ttng.tensor_memory_encoding":
        return _tensor_memory(type_, fields, pitch)
    rank = len(_numbers(fields["order"])) if "order" in fields else int(fields.get("rank", 2))
    rank = len(bases[0]) if bases else rank
    tile = type_.shape[-rank:]
    inside = (_of_bases(tile, bases) if bases else _LAYOUTS[name](tile, fields)).reshape(-1)
    room = 2 * prod(tile) if fields.get("fp4Padded") == "true" else prod(tile)
    parts = np.arange(prod(type_.shape[:-rank])) * room
    places = (parts[:, None] + inside).reshape(type_.shape)
    pads = sum(places // int(every) * int(pad) for every, pad in _PADS.findall(body))
    return places + pads


def _numbers(text: str) -> list[int]:
    return [int(number) for number in re.findall(r"\d+", text)]


def _ordered(tile: tuple[int, ...], fields: _Fields) -> Places:
    """Return places with the fastest axis first in `order`, swizzled by the second one."""
    order, at = _numbers(fields["order"]), [*np.indices(tile)]
    if len(order) > 1 and "vec" in fields:
        vec, per_phase, phases = (int(fields[name]) for name in ("vec", "perPhase", "maxPhase"))
        column, phase = at[order[0]], at[order[1]] // per_phase % phases
        at[order[0]] = ((column // vec ^ phase) * vec + column % vec) % tile[order[0]]
    places, size = np.zeros(tile, np.int64), 1
    for axis in order:
        places += at[axis] * size
        size *= tile[axis]
    return places


def _of_bases(tile: tuple[int, ...], bases: list[list[int]]) -> Places:
    """Return places by the coordinates that each bit of a place stands for."""
    at = np.zeros((1, len(tile)), np.int64)
    for basis in bases:
        at = np.concatenate([at, at ^ np.array(basis)])
    places = np.zeros(tile, np.int64)
    places[tuple(at.T)] = np.arange(len(at))
    return places


def _of_products(tile: tuple[int, ...], fields: _Fields) -> Places:
    """Return places in blocks of columns of the swizzle's width, which tensor maps copy."""
    width, bits = int(fields["swizzlingByteWidth"]), int(fields["elementBitWidth"])
    transposed = fields.get("transposed") == "true"
    if width == 0 or (transposed and len(tile) != 2):
        if transposed or max(tile) > 256:
            raise UnsupportedOp("bytes of another type are not followed in such a layout")
        return np.arange(prod(tile)).reshape(tile)
    rows, columns = (prod(tile[:-1]), tile[-1]) if not transposed else tile[::-1]
    row, column = np.indices((rows, columns))
    if fields.get("fp4Padded") == "true":  # 8 bytes, then 8 that hold nothing
        column += column // 8 * 8
    across, vec = 8 * width // bits, 128 // bits
    phase, inside = row // (128 // width) % (width // 16), column % across
    inside = (inside // vec ^ phase) * vec + inside % vec
    places: Places = column // across * (rows * across) + row * across + inside
    return (places.T if transposed else places).reshape(tile)


def _tensor_memory(type_: SharedType, fields: _Fields, pitch: int) -> Places:
    """Return places in rows of 128 lanes; a tile of more rows has further columns.

    Of 64 rows, 16 are in every other 16 lanes, and a second block of them, if any, in the others.
    """
    *_, height, width = type_.shape
    count, stride = prod(type_.shape[:-2]), int(fields.get("colStride", 1))
    if fields.get("fp4Padded") == "true":
        raise UnsupportedOp("bytes of another type are not followed in padded tensor memory")
    tall, across = int(fields["blockM"]), min(int(fields["blockN"]), width)
    part, lane, column = np.indices((count, height, width))
    if tall < TENSOR_MEMORY_ROWS:
        beside = height == tall and width > across
        second = column // across % 2 if beside else lane // tall % 2
        block = lane // TENSOR_MEMORY_ROWS
        lane = lane % tall // 16 * 32 + second * 16 + lane % 16 + block * TENSOR_MEMORY_ROWS
        column = column // (2 * across) * across + column % across if beside else column
        width = width // 2 if beside else width
    down = -(-height // TENSOR_MEMORY_ROWS)
    at = part * down * width + column // across * (down * across) + column % across
    at = (at + lane // TENSOR_MEMORY_ROWS * across) * stride
    pitch = pitch // bytes_in_memory(type_) if pitch else count * down * width * stride
    places: Places = lane % TENSOR_MEMORY_ROWS * pitch + at
    return places.reshape(type_.shape)


_LAYOUTS: Final[Mapping[str, Callable[[tuple[int, ...], _Fields], Places]]] = {
    "#ttg.swizzled_shared": _ordered,
    "#ttg.padded_shared": _ordered,
    "#ttg.nvmma_shared": _of_products,
    "#ttng.tensor_memory_encoding": _ordered,
}
