"""Blocks `checks/index` (results of checked launches) and `checks/<number>` (map of errors).

A row is a storage after a launch, or a launch that could not be computed. The device's values are
measured, the IR's values and the bounds derived; the stage at fault is in the findings.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import partial
from math import isfinite
from typing import Any, Final

import pyarrow.compute as pc

from kvtrace.addons.check.stage_faults import Fault, fault_in
from kvtrace.converters.report.pack import json_block
from kvtrace.converters.report.sources import Block, BlockSource, Context
from kvtrace.schema.columns import without_dictionary
from kvtrace.schema.runs import plain_rows
from kvtrace.schema.trace import Run

__all__ = ["SOURCE", "CheckRow", "ErrorMap"]

_ORDER: Final = {"differs": 0, "undecided": 1, "agrees": 2}

#: Columns of a wrong storage's finding that locate it, and the same columns of `checks`.
_PLACE: Final = {
    "call_id": "call_id", "arg": "name", "lanes": "differing", "program_x": "program_x",
    "program_y": "program_y", "program_z": "program_z", "lane": "lane",
}  # fmt: skip
_WRONG: Final = "wrong-result"


@dataclass(frozen=True, slots=True)
class CheckRow:
    """Result for one storage after a launch; `number` names the block of its map."""

    number: int
    run: int
    seq: int
    call: int | None
    """Index into `Report.calls`."""
    arg: int | None
    """Position of the tensor among the call's arguments."""
    name: str | None
    dtype: str | None
    answer: str
    reason: str | None
    elements: int | None
    undecided: int | None
    differing: int | None
    nearest: float | None
    """The largest distance, as a share of the bound, of elements within their bounds."""
    bound: float | None
    """The median bound, relative to the root mean square of the elements."""
    got: str | None
    """The element farthest beyond its bound: the device's value; `expected` is the IR's value."""
    expected: str | None
    worst_bound: float | None
    program: tuple[int, int, int] | None
    lane: tuple[int, ...] | None
    pattern: str | None
    stage: str | None
    """The stage at fault of a storage that differs: ttgir, behind ttgir or unknown."""
    stage_reason: str | None
    has_map: bool


@dataclass(frozen=True, slots=True)
class ErrorMap:
    """The largest error of each part of a tensor, relative to the tensor's root mean square.

    Values are row by row; None is an infinite error, as for a NaN.
    """

    columns: int
    errors: tuple[float | None, ...]


def _blocks(context: Context) -> Iterable[Block]:
    numbered = list(_numbered_rows(context))
    if not numbered:
        return
    rows = [row for row, _ in numbered]
    yield Block("checks/index", lambda: json_block(rows))
    for row, table_row in numbered:
        if row.has_map:
            yield Block(f"checks/{row.number}", partial(_map_block, table_row))


def _numbered_rows(context: Context) -> Iterator[tuple[CheckRow, dict[str, Any]]]:
    """Yield the page's rows of all runs, each with its row of the table `checks`.

    Rows that differ come first, then undecided ones. Rows are numbered from 0.
    """
    call_indexes = {
        (call.run, call.call_id): call_index for call_index, call in enumerate(context.report.calls)
    }
    rows = [
        (index, row, fault)
        for index, run in enumerate(context.runs)
        for row, fault in _rows_with_faults(context, run)
    ]  # fmt: skip
    rows.sort(key=lambda entry: _ORDER.get(entry[1]["answer"], 1))
    for number, (run, row, fault) in enumerate(rows):
        yield _page_row(number, run, call_indexes.get((run, row["call_id"])), row, fault), row


def _rows_with_faults(context: Context, run: Run) -> Iterator[tuple[dict[str, Any], Fault | None]]:
    """Yield the rows of a run's table `checks`, each with the stage at fault.

    The stage is None if there is no finding at the row's location, or findings with several stages.
    """
    rows = list(plain_rows(context.trace.table("checks", (run,))))
    faults = (
        _faults_by_location(context, run) if any(row["answer"] == "differs" for row in rows) else {}
    )
    for row in rows:
        faults_of_row = tuple(faults.get(_location_key(row, _PLACE.values()), ()))
        yield row, faults_of_row[0] if len(faults_of_row) == 1 else None


def _faults_by_location(context: Context, run: Run) -> dict[str, set[Fault | None]]:
    """Return the compiler stages that findings of wrong results name, by location key."""
    table = context.trace.table("findings", (run,), [*_PLACE, "rule", "message"])
    wrong = table.filter(pc.equal(without_dictionary(table["rule"]), _WRONG))
    by_location: dict[str, set[Fault | None]] = {}
    for row in plain_rows(wrong):
        by_location.setdefault(_location_key(row, _PLACE), set()).add(fault_in(row["message"]))
    return by_location


def _location_key(row: dict[str, Any], columns: Iterable[str]) -> str:
    return repr([row[name] for name in columns])


def _page_row(
    number: int, run: int, call: int | None, row: dict[str, Any], fault: Fault | None
) -> CheckRow:
    x, y, z = (row[f"program_{axis}"] for axis in "xyz")
    return CheckRow(
        number=number,
        run=run,
        seq=row["seq"],
        call=call,
        arg=row["arg"] if row["arg"] is not None and row["arg"] >= 0 else None,
        name=row["name"],
        dtype=row["dtype"],
        answer=row["answer"] or "undecided",
        reason=row["reason"],
        elements=row["elements"],
        undecided=row["undecided"],
        differing=row["differing"],
        nearest=_finite_or_none(row["nearest"]),
        bound=_finite_or_none(row["bound"]),
        got=_number_text(row["got"]),
        expected=_number_text(row["expected"]),
        worst_bound=_finite_or_none(row["worst_bound"]),
        program=None if x is None else (x, y or 0, z or 0),
        lane=None if row["lane"] is None else tuple(row["lane"]),
        pattern=row["pattern"],
        stage=None if fault is None else fault.stage,
        stage_reason=None if fault is None else fault.reason,
        has_map=bool(row["map"] and row["map_columns"]),
    )


def _map_block(row: dict[str, Any]) -> str:
    return json_block(ErrorMap(row["map_columns"], tuple(map(_finite_or_none, row["map"]))))


def _finite_or_none(number: float | None) -> float | None:
    return number if number is not None and isfinite(number) else None


def _number_text(number: float | None) -> str | None:
    return None if number is None else f"{number:.9g}"


SOURCE: Final = BlockSource(
    name="checks",
    order=8,
    share=0.2,
    noun="checked launches",
    query="FROM checks",
    blocks=_blocks,
    types=(CheckRow, ErrorMap),
)
