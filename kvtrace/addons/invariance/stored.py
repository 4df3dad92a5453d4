"""Masks of the elements that a recorded launch stores, from the address formulas."""

from __future__ import annotations

from math import prod
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from kvtrace.addons.invariance.formulas import is_followed
from kvtrace.symbolic.terms import Symbol

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

    from kvtrace.addons.invariance.kernels import Kernel
    from kvtrace.evaluate.arguments import TensorArgument
    from kvtrace.symbolic.summary import Access
    from kvtrace.symbolic.terms import Term

_MOST: Final = 1 << 22
"""Limit on the lanes of all programs and trips that are enumerated for a store."""
_AT_ONCE: Final = 1 << 20


def stored_elements(kernel: Kernel, argument: int) -> NDArray[np.bool_] | None:
    """Return a mask of the elements that the recorded call stores, in the tensor's shape.

    None if data decide what is stored, a formula is not followed, or there are too many lanes.
    """
    tensor = kernel.tensor(argument)
    if tensor is None or 0 in tensor.shape or any(stride < 0 for stride in tensor.strides):
        return None
    stored = np.zeros(tensor.view_bytes[1] // tensor.element.bytes, np.bool_)
    for access in kernel.summary.accesses:
        if access.kind == "load" or access.argument != argument:
            continue
        offsets = _offsets(access, kernel)
        if offsets is None:
            return None
        for chunk in offsets:
            indices = (
                chunk[(chunk >= 0) & (chunk % tensor.element.bytes == 0)] // tensor.element.bytes
            )
            stored[indices[indices < stored.size]] = True
    return _viewed(stored, tensor)


def _viewed(stored: NDArray[np.bool_], tensor: TensorArgument) -> NDArray[np.bool_]:
    return np.lib.stride_tricks.as_strided(stored, tensor.shape, tensor.strides)


def _offsets(access: Access, kernel: Kernel) -> Iterator[NDArray[np.int64]] | None:
    """Return chunks of the byte offsets of all active lanes of an access, or None."""
    if not is_followed(access.offset) or not is_followed(access.active):
        return None
    scalars: dict[Symbol, int] = {}
    symbols: set[Symbol] = set()
    atoms = access.offset.atoms() | access.active.atoms()
    for symbol in (atom for atom in atoms if isinstance(atom, Symbol)):
        if symbol.kind in ("scalar", "programs"):
            low, high = kernel.bound.ranges.of(symbol)
            if low != high:
                return None
            scalars[symbol] = low
        elif symbol.kind in ("program", "lane", "trip"):
            symbols.add(symbol)
        else:
            return None
    extents = _extents(access, kernel, symbols, scalars)
    if extents is None or prod(extents.values()) > _MOST:
        return None
    return _active_offsets(access, extents, scalars)


def _extents(
    access: Access, kernel: Kernel, symbols: set[Symbol], scalars: dict[Symbol, int]
) -> dict[Symbol, int] | None:
    """Return the number of values of each symbol, or None if a loop's trips are unknown."""
    extents_by_symbol: dict[Symbol, int] = {
        symbol: kernel.call.grid[symbol.key] for symbol in symbols
        if symbol.kind == "program" and isinstance(symbol.key, int)
    }  # fmt: skip
    for loop in access.loops:
        if loop.trip not in symbols:
            continue
        trips = _most_trips(loop.trips, extents_by_symbol, scalars, kernel)
        if trips is None:
            return None
        extents_by_symbol[loop.trip] = max(trips, 0)
    extents_by_symbol |= {symbol: symbol.high + 1 for symbol in symbols if symbol.kind == "lane"}
    return extents_by_symbol if extents_by_symbol.keys() == symbols else None


def _most_trips(
    trips: Term, extents: dict[Symbol, int], scalars: dict[Symbol, int], kernel: Kernel
) -> int | None:
    """Return the largest number of trips of a loop in any program, or None if unknown."""
    if not is_followed(trips):
        return None
    values: dict[Symbol, Any] = dict(scalars)
    symbols = [atom for atom in trips.atoms() if isinstance(atom, Symbol)]
    varying = []
    for symbol in symbols:
        if symbol.kind in ("scalar", "programs"):
            low, high = kernel.bound.ranges.of(symbol)
            if low != high:
                return None
            values[symbol] = low
        elif symbol.kind == "program" and isinstance(symbol.key, int):
            varying.append((symbol, kernel.call.grid[symbol.key]))
        elif symbol in extents:
            varying.append((symbol, extents[symbol]))
        else:
            return None
    if prod(extent for _, extent in varying) > _MOST:
        return None
    index_grids = np.ogrid[tuple(slice(extent) for _, extent in varying)]
    values |= {symbol: grid for (symbol, _), grid in zip(varying, index_grids, strict=True)}
    return int(np.max(trips.values(values), initial=0))


def _active_offsets(
    access: Access, extents: dict[Symbol, int], scalars: dict[Symbol, int]
) -> Iterator[NDArray[np.int64]]:
    symbols = sorted(extents, key=lambda symbol: (symbol.kind != "program", symbol.order))
    total = prod(extents.values())
    shape = tuple(extents[symbol] for symbol in symbols)
    for begin in range(0, total, _AT_ONCE):
        flat = np.arange(begin, min(begin + _AT_ONCE, total), dtype=np.int64)
        indices = np.unravel_index(flat, shape) if shape else ()
        values: dict[Symbol, Any] = {**scalars, **dict(zip(symbols, indices, strict=True))}
        active = np.broadcast_to(access.active.values(values), flat.shape)
        offsets = np.broadcast_to(np.asarray(access.offset.values(values), np.int64), flat.shape)
        yield offsets[active]
