"""Uses of a few storages: the calls of kernels and operators that were given them, and how often.

All launches and operations of a run are read once, as arrays of addresses; only those that lie in
one of the storages, during its life, are counted.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from kvtrace.addons.memory.lives import Kind, Place
from kvtrace.figures.columns import Integers, integers

if TYPE_CHECKING:
    from kvtrace.schema.trace import Run, Trace

#: Rows of a table whose addresses are in memory at a time.
_AT_ONCE: Final = 1 << 18
#: Above any number of tensors of a call.
_TENSORS: Final = 1 << 16
#: Tables with addresses: their columns of ids and of times. An operation counts when it returned.
_TABLES: Final[dict[Kind, tuple[str, str, str]]] = {
    "launch": ("launches", "call_id", "enter"),
    "operator": ("operations", "operator_id", "end"),
}


@dataclass(frozen=True, slots=True)
class Span:
    """Memory during a time: bytes from `address` on, from `begin` until before `stop` (both ns)."""

    address: int
    size: int
    begin: int
    stop: int


@dataclass(slots=True)
class Use:
    """How often a tensor of a unique call or operator was in a storage, first and last (ns).

    The argument of `place` is the tensor's position among the addresses.
    """

    place: Place
    count: int
    first: int
    last: int


@dataclass(frozen=True, slots=True)
class AddressRows:
    """Part of a table with addresses, an entry for each address: row id, position, time in ns."""

    ids: Integers
    positions: Integers
    times: Integers
    addresses: Integers

    def where(self, chosen: NDArray[np.intp] | NDArray[np.bool_]) -> AddressRows:
        """Return the entries with these indices, or with True."""
        return AddressRows(
            self.ids[chosen], self.positions[chosen], self.times[chosen], self.addresses[chosen]
        )


def uses_of(trace: Trace, run: Run, spans: Sequence[Span]) -> list[list[Use]]:
    """Return the uses of each span, the first one first. Errors as `Trace.table`."""
    uses: list[dict[Place, Use]] = [{} for _ in spans]
    for kind in _TABLES:
        for rows in address_rows(trace, run, kind):
            _add_uses(kind, rows, spans, uses)
    return [sorted(of.values(), key=lambda use: (use.first, use.last)) for of in uses]


def address_rows(
    trace: Trace, run: Run, kind: Kind, ids: Sequence[int] | None = None
) -> Iterator[AddressRows]:
    """Yield the addresses of launches or operations part by part, of all or of some calls."""
    name, id_column, time_column = _TABLES[kind]
    table = trace.table(name, (run,), [id_column, time_column, "addresses"])
    if ids is not None:
        table = table.filter(pc.is_in(table[id_column], pa.array(ids, table[id_column].type)))
    table = table.filter(pc.is_valid(table["addresses"]))
    for begin in range(0, table.num_rows, _AT_ONCE):
        part = table.slice(begin, _AT_ONCE)
        column = part["addresses"].combine_chunks()
        lengths = pc.list_value_length(column).to_numpy()
        ends = np.cumsum(lengths)
        rows = np.repeat(np.arange(len(lengths)), lengths)
        yield AddressRows(
            integers(part[id_column])[rows],
            np.arange(len(rows)) - (ends - lengths)[rows],
            integers(part[time_column])[rows],
            column.flatten().to_numpy(),
        )


def _add_uses(
    kind: Kind, rows: AddressRows, spans: Sequence[Span], uses: Sequence[dict[Place, Use]]
) -> None:
    rows = rows.where(np.argsort(rows.addresses, kind="stable"))
    for span, of_span in zip(spans, uses, strict=True):
        first, stop = np.searchsorted(rows.addresses, (span.address, span.address + span.size))
        times = rows.times[first:stop]
        lived = first + np.flatnonzero((times >= span.begin) & (times < span.stop))
        if not lived.size:
            continue
        keys = rows.ids[lived] * _TENSORS + rows.positions[lived]
        order = np.lexsort((rows.times[lived], keys))
        keys, times = keys[order], rows.times[lived][order]
        starts = np.flatnonzero(np.diff(keys, prepend=keys[0] - 1))
        ends = np.append(starts[1:], len(keys))
        for key, begin, end in zip(keys[starts].tolist(), starts, ends, strict=True):
            place = Place(kind, *divmod(key, _TENSORS))
            _add(of_span, Use(place, int(end - begin), int(times[begin]), int(times[end - 1])))


def _add(uses: dict[Place, Use], use: Use) -> None:
    earlier = uses.setdefault(use.place, use)
    if earlier is not use:
        earlier.count += use.count
        earlier.first = min(earlier.first, use.first)
        earlier.last = max(earlier.last, use.last)
