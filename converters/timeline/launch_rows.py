"""Launches of a run as narrow columns, one set for each thread: what a timeline is drawn from.

They are read in pieces, so that a hundred million take 20 bytes each and not five times as much.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from kvtrace.figures.columns import (
    Integers,
    combined_codes,
    dictionary_values,
    integers,
    narrow,
)

if TYPE_CHECKING:
    from kvtrace.schema.trace import Run, Trace

#: A call and a phase, None where it is not recorded.
Example = tuple[int, str | None]

_COLUMNS: Final = ("seq", "call_id", "enter", "exit", "thread", "phase")
_NO_TIME: Final = np.iinfo(np.int64).min


@dataclass(slots=True)
class LaunchRows:
    """Launches of one thread; times are ns since 1970. `example` are indices into `examples`.

    A launch whose end is missing, or before its begin, has no duration.
    """

    begin: Integers
    duration: Integers
    example: Integers
    seq: Integers


@dataclass(slots=True)
class LaunchColumns:
    """The launches of a run that have a time, by thread in order; without one are `untimed`.

    `examples` are what their calls and phases are, in the order of the calls.
    """

    threads: dict[int | None, LaunchRows]
    examples: Sequence[Example]
    untimed: int


@dataclass(slots=True)
class _Gathered:
    """Columns of one thread as they come: begin, duration, example, seq."""

    columns: tuple[list[Integers], ...] = field(default_factory=lambda: ([], [], [], []))

    def add(self, *columns: Integers) -> None:
        for kept, column in zip(self.columns, columns, strict=True):
            kept.append(column)

    def joined(self, order: Integers) -> LaunchRows:
        """Return them as one, and let go of the pieces; `order` has each example's new index."""
        begin, duration, example, seq = (_emptied(column) for column in self.columns)
        return LaunchRows(begin, duration, order[example], seq)


def launch_columns(trace: "Trace", run: "Run") -> LaunchColumns:
    """Read the launches of a run; errors as `Trace.table`."""
    examples: dict[Example, int] = {}
    phases: dict[str | None, int] = {None: -1}
    threads: dict[int | None, _Gathered] = {}
    untimed = 0
    for piece in trace.pieces("launches", [run], _COLUMNS):
        for phase in _names(piece["phase"]):
            phases.setdefault(phase, len(phases))
        untimed += piece["enter"].null_count
        piece = piece.filter(pc.is_valid(piece["enter"]))
        begin = integers(piece["enter"])
        duration = np.maximum(integers(piece["exit"], _NO_TIME), begin) - begin
        codes, first = combined_codes([piece["call_id"], piece["phase"]])
        alike = piece.select(["call_id", "phase"]).take(first).to_pylist()
        known = [
            examples.setdefault((row["call_id"], row["phase"]), len(examples)) for row in alike
        ]
        columns = (begin, duration, np.array(known, np.int64)[codes], integers(piece["seq"]))
        where, first = combined_codes([piece["thread"]])
        for number, tid in enumerate(dictionary_values(piece["thread"], first)):
            rows = np.flatnonzero(where == number)
            own = (column[rows] for column in columns)
            threads.setdefault(tid, _Gathered()).add(next(own), *map(narrow, own))
    ordered = sorted(examples, key=lambda each: (_rank(each[0]), phases[each[1]]))
    place = {example: index for index, example in enumerate(ordered)}
    order = narrow(np.array([place[example] for example in examples], np.int64))
    return LaunchColumns(
        {tid: threads.pop(tid).joined(order) for tid in sorted(threads, key=_rank)},
        ordered,
        untimed,
    )


def _names(column: pa.ChunkedArray) -> list[str]:
    return [name for chunk in column.chunks for name in chunk.dictionary.to_pylist()]


def _emptied(pieces: list[Integers]) -> Integers:
    """Return one column of pieces that may differ in width, which it lets go of."""
    whole = np.concatenate(pieces)
    pieces.clear()
    return whole


def _rank(number: int | None) -> tuple[bool, int]:
    """Order numbers, None first."""
    return (number is not None, number or 0)
