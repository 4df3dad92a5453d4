"""Elements of outputs that a recorded launch stores, from the formulas of the addresses."""

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
"""So many lanes of all programs and trips are enumerated for a store."""
_AT_ONCE: Final = 1 << 20


def stored_elements(kernel: Kernel, argument: int) -> NDArray[np.bool_] | None:
    """Return a mask of the elements that the recorded call stores, in the tensor's shape.

    None if data decide, a formula is not followed, or there are too many lanes.
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
        for each in offsets:
            places = each[(each >= 0) & (each % tensor.element.bytes == 0)] // tensor.element.bytes
            stored[places[places < stored.size]] = True
    return _viewed(stored, tensor)


def _viewed(stored: NDArray[np.bool_], tensor: TensorArgument) -> NDArray[np.bool_]:
    return np.lib.stride_tricks.as_strided(stored, tensor.shape, tensor.strides)


def _offsets(access: Access, kernel: Kernel) -> Iterator[NDArray[np.int64]] | None:
    """Return the byte offsets of all active lanes of an access, in parts; None: not known."""
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
    return _parts(access, extents, scalars)


def _extents(
    access: Access, kernel: Kernel, symbols: set[Symbol], scalars: dict[Symbol, int]
) -> dict[Symbol, int] | None:
    """Return the number of values of each symbol; None if a loop's trips are not known."""
    extents_by_symbol: dict[Symbol, int] = {
        each: kernel.call.grid[each.key] for each in symbols
        if each.kind == "program" and isinstance(each.key, int)
    }  # fmt: skip
    for loop in access.loops:
        if loop.trip not in symbols:
            continue
        most = _most(loop.trips, extents_by_symbol, scalars, kernel)
        if most is None:
            return None
        extents_by_symbol[loop.trip] = max(most, 0)
    extents_by_symbol |= {each: each.high + 1 for each in symbols if each.kind == "lane"}
    return extents_by_symbol if extents_by_symbol.keys() == symbols else None


def _most(
    trips: Term, extents: dict[Symbol, int], scalars: dict[Symbol, int], kernel: Kernel
) -> int | None:
    """Return the most trips of a loop in any program."""
    if not is_followed(trips):
        return None
    at: dict[Symbol, Any] = dict(scalars)
    own = [atom for atom in trips.atoms() if isinstance(atom, Symbol)]
    moving = []
    for symbol in own:
        if symbol.kind in ("scalar", "programs"):
            low, high = kernel.bound.ranges.of(symbol)
            if low != high:
                return None
            at[symbol] = low
        elif symbol.kind == "program" and isinstance(symbol.key, int):
            moving.append((symbol, kernel.call.grid[symbol.key]))
        elif symbol in extents:
            moving.append((symbol, extents[symbol]))
        else:
            return None
    if prod(extent for _, extent in moving) > _MOST:
        return None
    grids = np.ogrid[tuple(slice(extent) for _, extent in moving)]
    at |= {symbol: grid for (symbol, _), grid in zip(moving, grids, strict=True)}
    return int(np.max(trips.values(at), initial=0))


def _parts(
    access: Access, extents: dict[Symbol, int], scalars: dict[Symbol, int]
) -> Iterator[NDArray[np.int64]]:
    order = sorted(extents, key=lambda each: (each.kind != "program", each.order))
    total = prod(extents.values())
    shape = tuple(extents[each] for each in order)
    for begin in range(0, total, _AT_ONCE):
        places = np.arange(begin, min(begin + _AT_ONCE, total), dtype=np.int64)
        indices = np.unravel_index(places, shape) if shape else ()
        at: dict[Symbol, Any] = {**scalars, **dict(zip(order, indices, strict=True))}
        active = np.broadcast_to(access.active.values(at), places.shape)
        offsets = np.broadcast_to(np.asarray(access.offset.values(at), np.int64), places.shape)
        yield offsets[active]
