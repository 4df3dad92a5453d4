"""`checks/index`: checked launches with what came of them; `checks/<number>`: where one is wrong.

A row is a storage after a launch, or a launch that could not be computed. What the device has is
measured, what the IR means and the bounds are derived; the stage at fault is in the findings.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import partial
from math import isfinite
from typing import TYPE_CHECKING, Any, Final

import pyarrow.compute as pc

from kvtrace.converters.report.pack import json_block
from kvtrace.converters.report.sources import Block, BlockSource, Context
from kvtrace.schema.columns import without_dictionary
from kvtrace.schema.faults import Fault, fault_in
from kvtrace.schema.runs import plain_rows

if TYPE_CHECKING:
    from kvtrace.schema.trace import Run

__all__ = ["SOURCE", "CheckRow", "ErrorMap"]

_ORDER: Final = {"differs": 0, "undecided": 1, "agrees": 2}

#: What a wrong storage's finding says of where that is, and the columns of `checks` for the same.
_PLACE: Final = {
    "call_id": "call_id", "arg": "name", "lanes": "differing", "program_x": "program_x",
    "program_y": "program_y", "program_z": "program_z", "lane": "lane",
}  # fmt: skip
_WRONG: Final = "wrong-result"


@dataclass(frozen=True, slots=True)
class CheckRow:
    """What came of one storage after a launch; `number` names the block of its map."""

    number: int
    run: int
    seq: int
    call: int | None
    """Index into `Report.calls`."""
    arg: int | None
    """Place of the tensor among the call's arguments."""
    name: str | None
    dtype: str | None
    answer: str
    reason: str | None
    elements: int | None
    undecided: int | None
    differing: int | None
    nearest: float | None
    """The largest part of its bound that an element used which is within it."""
    bound: float | None
    """The median bound, relative to the root mean square of the elements."""
    got: str | None
    """The element that is farthest beyond its bound: the device's value, and the expected one."""
    expected: str | None
    worst_bound: float | None
    program: tuple[int, int, int] | None
    lane: tuple[int, ...] | None
    pattern: str | None
    stage: str | None
    """The stage at fault where it differs: ttgir, behind ttgir or unknown."""
    stage_reason: str | None
    has_map: bool


@dataclass(frozen=True, slots=True)
class ErrorMap:
    """The largest error of each part of a tensor, relative to the root mean square of it.

    Row by row; None is an infinite error, as of a NaN.
    """

    columns: int
    errors: tuple[float | None, ...]


def _blocks(context: Context) -> Iterable[Block]:
    found = list(_found(context))
    if not found:
        return
    rows = [row for row, _ in found]
    yield Block("checks/index", lambda: json_block(rows))
    for row, table_row in found:
        if row.has_map:
            yield Block(f"checks/{row.number}", partial(_map, table_row))


def _found(context: Context) -> Iterator[tuple[CheckRow, dict[str, Any]]]:
    """Return the rows of all runs, what differs first."""
    calls = {(call.run, call.call_id): place for place, call in enumerate(context.report.calls)}
    rows = [
        (index, *each)
        for index, run in enumerate(context.runs)
        for each in _rows(context, run)
    ]  # fmt: skip
    rows.sort(key=lambda each: _ORDER.get(each[1]["answer"], 1))
    for number, (run, row, fault) in enumerate(rows):
        yield _row(number, run, calls.get((run, row["call_id"])), row, fault), row


def _rows(context: Context, run: "Run") -> Iterator[tuple[dict[str, Any], Fault | None]]:
    """Return each row with the stage at fault, where findings of that place agree on one."""
    rows = list(plain_rows(context.trace.table("checks", (run,))))
    faults = _faults(context, run) if any(row["answer"] == "differs" for row in rows) else {}
    for row in rows:
        told = tuple(faults.get(_place(row, _PLACE.values()), ()))
        yield row, told[0] if len(told) == 1 else None


def _faults(context: Context, run: "Run") -> dict[str, set[Fault | None]]:
    """Return the stages at fault that findings of wrong results name, by their places."""
    table = context.trace.table("findings", (run,), [*_PLACE, "rule", "message"])
    wrong = table.filter(pc.equal(without_dictionary(table["rule"]), _WRONG))
    found: dict[str, set[Fault | None]] = {}
    for row in plain_rows(wrong):
        found.setdefault(_place(row, _PLACE), set()).add(fault_in(row["message"]))
    return found


def _place(row: dict[str, Any], columns: Iterable[str]) -> str:
    return repr([row[name] for name in columns])


def _row(
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
        nearest=_finite(row["nearest"]),
        bound=_finite(row["bound"]),
        got=_number(row["got"]),
        expected=_number(row["expected"]),
        worst_bound=_finite(row["worst_bound"]),
        program=None if x is None else (x, y or 0, z or 0),
        lane=None if row["lane"] is None else tuple(row["lane"]),
        pattern=row["pattern"],
        stage=None if fault is None else fault.stage,
        stage_reason=None if fault is None else fault.reason,
        has_map=bool(row["map"] and row["map_columns"]),
    )


def _map(row: dict[str, Any]) -> str:
    return json_block(ErrorMap(row["map_columns"], tuple(map(_finite, row["map"]))))


def _finite(number: float | None) -> float | None:
    return number if number is not None and isfinite(number) else None


def _number(number: float | None) -> str | None:
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
