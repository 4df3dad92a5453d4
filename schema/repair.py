"""Repair of rows that are read: rows without keys are dropped, impossible values become null.

Files may come from other programs, and clocks are set back while a program runs. A bad row must
cost only that row. So readers get rows with keys, times that can be subtracted without overflow,
ends not before begins, and lists without null entries; each repair is reported. Of rows that
several parts of a run have, one is read.
"""

from collections.abc import Callable
from functools import partial
from typing import Any, Final, NamedTuple

import pyarrow as pa
import pyarrow.compute as pc

from kvtrace.schema.content import BY_CONTENT
from kvtrace.schema.layout import OBSERVED
from kvtrace.schema.table_types import Table

#: Most nanoseconds of a valid time before and after 1970: years 1824 and 2116. The difference of
#: two valid times fits into 64 bits.
LATEST: Final = 2**62
#: Columns with begin and end of a row, by table.
RANGES: Final = {
    "launches": ("enter", "exit"),
    "gpu_kernels": ("start", "end"),
    "host_events": ("begin", "end"),
    "operations": ("begin", "end"),
    "allocations": ("begin", "end"),
    "marks": ("begin", "end"),
    "runs": ("started", "ended"),
}
#: Tables whose rows each cost work: a small file may repeat one row very often.
_UNIQUE_TABLES: Final = frozenset({"kernels", "calls"})


def repaired(table: Table, rows: pa.Table, report: Callable[[str], None]) -> pa.Table:
    """Return rows without null keys and impossible values; `report` receives a text per repair."""
    for name in table.keys:
        if name in rows.column_names and rows.column(name).null_count:
            null_count = rows.column(name).null_count
            rows = rows.filter(pc.is_valid(rows.column(name)))
            report(f"{_rows_text(null_count)} without {name}, and left out")
    if table.name in _UNIQUE_TABLES:
        rows = _without_repeated_rows(rows, table.keys[0], report)
    for index, field in enumerate(rows.schema):
        if pa.types.is_timestamp(field.type):
            repaired_column, invalid_count = _valid_times(rows.column(index))
            if invalid_count:
                rows = rows.set_column(index, field, repaired_column)
                report(
                    f"{_rows_text(invalid_count)} with an impossible time {field.name}; "
                    "treated as unknown"
                )
        elif pa.types.is_list(field.type) and pa.types.is_struct(field.type.value_type):
            repaired_column, changed_count = _without_null_entries(rows.column(index))
            if changed_count:
                rows = rows.set_column(index, field, repaired_column)
                report(f"{_rows_text(changed_count)} with empty entries in {field.name}")
    return _without_negative_times(table.name, rows, report)


def _without_repeated_rows(rows: pa.Table, key: str, report: Callable[[str], None]) -> pa.Table:
    """Return `_first_rows`; `report` receives the number of the others."""
    first_rows = _first_rows(rows, key)
    if len(first_rows) < len(rows):
        repeated = _rows_text(len(rows) - len(first_rows))
        report(f"{repeated} with a {key} that an earlier row has; left out")
    return first_rows


def _first_rows(rows: pa.Table, key: str) -> pa.Table:
    """Return rows without those whose key an earlier row has; all rows without the key's column."""
    if key not in rows.column_names or pc.count_distinct(rows.column(key)).as_py() == len(rows):
        return rows
    indices = pa.table({"key": rows.column(key), "place": range(len(rows))})
    first_indices = indices.group_by("key").aggregate([("place", "min")])["place_min"].sort()
    return rows.take(first_indices)


def _without_negative_times(name: str, rows: pa.Table, report: Callable[[str], None]) -> pa.Table:
    """Return rows in which each end before its begin is replaced by the begin."""
    begin, end = RANGES.get(name, ("", ""))
    if begin not in rows.column_names or end not in rows.column_names:
        return rows
    ends, begins = rows.column(end), rows.column(begin)
    is_negative = pc.fill_null(pc.less(ends, begins), False)
    count = pc.sum(is_negative).as_py() or 0
    if not count:
        return rows
    report(
        f"{_rows_text(count)} with {end} before {begin}, since a clock was set back; "
        "treated as 0 ns"
    )
    end_index = rows.column_names.index(end)
    return rows.set_column(
        end_index, rows.schema.field(end_index), pc.if_else(is_negative, begins, ends)
    )


def _valid_times(column: pa.ChunkedArray) -> tuple[pa.ChunkedArray, int]:
    """Return the column with times beyond +-`LATEST` as null, and the number of these times."""
    nanoseconds = column.cast(pa.int64())
    bounds = pc.min_max(nanoseconds)
    earliest, latest = bounds["min"].as_py(), bounds["max"].as_py()
    if earliest is None or (earliest >= -LATEST and latest <= LATEST):
        return column, 0
    valid = pc.and_(pc.greater_equal(nanoseconds, -LATEST), pc.less_equal(nanoseconds, LATEST))
    invalid_count = pc.sum(pc.invert(valid)).as_py()
    return pc.if_else(valid, nanoseconds, pa.scalar(None, pa.int64())).cast(
        column.type
    ), invalid_count


def _without_null_entries(column: pa.ChunkedArray) -> tuple[pa.ChunkedArray, int]:
    """Return a column of lists of structs without null entries, and the number of changed lists.

    A null entry is replaced by an entry with null fields, so positions do not change.
    """
    if not any(chunk.flatten().null_count for chunk in column.chunks):
        return column, 0
    chunks = []
    changed = 0
    for chunk in column.chunks:
        lists: list[Any] = chunk.to_pylist()
        for entries in lists:
            null_indices = [i for i, entry in enumerate(entries or ()) if entry is None]
            changed += bool(null_indices)
            for null_index in null_indices:
                entries[null_index] = dict.fromkeys(field.name for field in column.type.value_type)
        chunks.append(pa.array(lists, column.type))
    return pa.chunked_array(chunks, column.type), changed


def _rows_text(count: int) -> str:
    return f"{count:,} row{'' if count == 1 else 's'}"


# -- rows of which several parts of a run may have the same: one of each is read -------------------
# Findings that the run itself observed are merged with those of judging its calls. Observed
# behavior is certain. If judging found the same violation, judging's finding stays, as it says more
# (the address, the lanes over the grid). If judging proved the access (for other contents than that
# launch's) or could not decide it, the observed finding replaces judging's.


#: The columns of `findings` that identify a finding.
_KEYS: Final = ("call_id", "op_index", "rule", "verdict", "method")
_WHERE: Final = ("call_id", "op_index")
#: For an observed rule, another rule whose proof contradicts the observation.
_PROVEN_BY: Final = {"out-of-view": "out-of-bounds"}


def _without_replaced_findings(table: pa.Table) -> pa.Table:
    """Return one run's findings (with columns `_KEYS`), each violation once, as described above."""
    is_observed = pc.fill_null(
        pc.equal(table["method"].cast(pa.string()), OBSERVED), fill_value=False
    )
    observed = table.filter(is_observed).select([*_WHERE, "rule"]).to_pylist()
    if not observed:
        return table
    calls = pc.unique(table.filter(is_observed)["call_id"])
    is_judged_near = pc.and_(pc.is_in(table["call_id"], calls), pc.invert(is_observed))
    positions = pc.indices_nonzero(is_judged_near).to_pylist()
    judged = table.filter(is_judged_near).select([*_WHERE, "rule", "verdict"]).to_pylist()
    violated = {(_call_and_op(row), row["rule"]) for row in judged if row["verdict"] == "violation"}
    contradicted = {(_call_and_op(row), row["rule"]) for row in observed} - violated
    contradicted |= {
        (call_and_op, _PROVEN_BY[rule]) for call_and_op, rule in contradicted if rule in _PROVEN_BY
    }
    dropped = {
        position
        for position, row in zip(positions, judged, strict=True)
        if row["verdict"] != "violation" and (_call_and_op(row), row["rule"]) in contradicted
    }
    repeated = (
        position
        for position, row in zip(pc.indices_nonzero(is_observed).to_pylist(), observed, strict=True)
        if (_call_and_op(row), row["rule"]) in violated
    )
    dropped.update(repeated)
    return table.take(pa.array((i for i in range(len(table)) if i not in dropped), pa.int64()))


def _call_and_op(row: dict[str, Any]) -> tuple[Any, ...]:
    return tuple(row[name] for name in _WHERE)


class _Deduplication(NamedTuple):
    """Removal of a run's repeated rows by the function `rows`, which needs the columns `keys`."""

    keys: tuple[str, ...]
    rows: Callable[[pa.Table], pa.Table]


#: By table.
DEDUPLICATIONS: Final = {
    **{
        table: _Deduplication((key,), partial(_first_rows, key=key))
        for table, key in BY_CONTENT.items()
    },
    "findings": _Deduplication(_KEYS, _without_replaced_findings),
}
