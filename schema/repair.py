"""Repair of rows that are read: rows without keys are dropped, impossible values become null.

Files may come from other programs, and clocks are set back while a program runs. A bad row must
cost only that row. So readers get rows with keys, times that can be subtracted without overflow,
ends not before begins, and lists without null entries; each repair is reported.
"""

from collections.abc import Callable
from typing import Any, Final

import pyarrow as pa
import pyarrow.compute as pc

from kvtrace.schema.table_types import Table

#: Most nanoseconds of a valid time before and after 1970: years 1824 and 2116. The difference of
#: two valid times fits into 64 bits.
LATEST: Final = 2**62
#: Columns with begin and end of a row, by table.
RANGES: Final = {
    "launches": ("enter", "exit"),
    "gpu_kernels": ("start", "end"),
    "host_events": ("begin", "end"),
    "marks": ("begin", "end"),
    "runs": ("started", "ended"),
}
#: Tables whose rows each cost work: a small file may repeat one row very often.
_ONCE: Final = frozenset({"kernels", "calls"})


def repaired(table: Table, rows: pa.Table, say: Callable[[str], None]) -> pa.Table:
    """Return repaired rows; `say` receives a text about each kind of repair."""
    for name in table.keys:
        if name in rows.column_names and rows.column(name).null_count:
            lost = rows.column(name).null_count
            rows = rows.filter(pc.is_valid(rows.column(name)))
            say(f"{_counted(lost)} without {name}, and left out")
    if table.name in _ONCE:
        rows = _once(rows, table.keys[0], say)
    for place, field in enumerate(rows.schema):
        if pa.types.is_timestamp(field.type):
            fresh, unknown = _valid_times(rows.column(place))
            if unknown:
                rows = rows.set_column(place, field, fresh)
                say(f"{_counted(unknown)} with an impossible time {field.name}; treated as unknown")
        elif pa.types.is_list(field.type) and pa.types.is_struct(field.type.value_type):
            fresh, empty = _with_entries(rows.column(place))
            if empty:
                rows = rows.set_column(place, field, fresh)
                say(f"{_counted(empty)} with entries of {field.name} that are empty")
    return _forwards(table.name, rows, say)


def _once(rows: pa.Table, key: str, say: Callable[[str], None]) -> pa.Table:
    """Return the first row of each key."""
    if key not in rows.column_names or pc.count_distinct(rows.column(key)).as_py() == len(rows):
        return rows
    places = pa.table({"key": rows.column(key), "place": range(len(rows))})
    first = places.group_by("key").aggregate([("place", "min")])["place_min"].sort()
    say(f"{_counted(len(rows) - len(first))} with a {key} that an earlier row has; left out")
    return rows.take(first)


def _forwards(name: str, rows: pa.Table, say: Callable[[str], None]) -> pa.Table:
    """Return rows with ends before begins, after a clock was set back, replaced by the begins."""
    begin, end = RANGES.get(name, ("", ""))
    if begin not in rows.column_names or end not in rows.column_names:
        return rows
    ends, begins = rows.column(end), rows.column(begin)
    back = pc.fill_null(pc.less(ends, begins), False)
    count = pc.sum(back).as_py() or 0
    if not count:
        return rows
    say(f"{_counted(count)} with {end} before {begin}, since a clock was set back; treated as 0 ns")
    place = rows.column_names.index(end)
    return rows.set_column(place, rows.schema.field(place), pc.if_else(back, begins, ends))


def _valid_times(column: pa.ChunkedArray) -> tuple[pa.ChunkedArray, int]:
    """Return times with invalid ones as null, and the number of invalid times."""
    plain = column.cast(pa.int64())
    bounds = pc.min_max(plain)
    least, most = bounds["min"].as_py(), bounds["max"].as_py()
    if least is None or (least >= -LATEST and most <= LATEST):
        return column, 0
    valid = pc.and_(pc.greater_equal(plain, -LATEST), pc.less_equal(plain, LATEST))
    lost = pc.sum(pc.invert(valid)).as_py()
    return pc.if_else(valid, plain, pa.scalar(None, pa.int64())).cast(column.type), lost


def _with_entries(column: pa.ChunkedArray) -> tuple[pa.ChunkedArray, int]:
    """Return lists of structs without null entries, and the number of changed lists.

    A null entry is replaced by an entry with null fields, so positions do not change.
    """
    if not any(chunk.flatten().null_count for chunk in column.chunks):
        return column, 0
    fresh = []
    changed = 0
    for chunk in column.chunks:
        listed: list[Any] = chunk.to_pylist()
        for entries in listed:
            holes = [i for i, entry in enumerate(entries or ()) if entry is None]
            changed += bool(holes)
            for hole in holes:
                entries[hole] = dict.fromkeys(field.name for field in column.type.value_type)
        fresh.append(pa.array(listed, column.type))
    return pa.chunked_array(fresh, column.type), changed


def _counted(count: int) -> str:
    return f"{count:,} row{'' if count == 1 else 's'}"
