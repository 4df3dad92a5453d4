"""Launches of a run by thread, as columns of narrow integers, for drawing a timeline.

The table is read in pieces and narrowed, so that a launch takes 20 bytes of memory, not 100.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
import pyarrow.compute as pc

from kvtrace.figures.columns import (
    Integers,
    combined_codes,
    concatenated,
    dictionary_values,
    integers,
    narrow,
)
from kvtrace.schema.trace import Run, Trace

#: A call id, and a phase (None if not recorded): launches with the same share a caption.
Example = tuple[int, str | None]

_COLUMNS: Final = ("seq", "call_id", "enter", "exit", "thread", "phase")
_NO_TIME: Final = np.iinfo(np.int64).min


@dataclass(slots=True)
class LaunchRows:
    """Launches of one thread; times are ns since 1970.

    `example` has indexes into `LaunchColumns.examples`. The duration is 0 if the end is missing or
    before the begin.
    """

    begin: Integers
    duration: Integers
    example: Integers
    seq: Integers


@dataclass(slots=True)
class LaunchColumns:
    """The launches of a run that have a time, by thread id; `untimed` counts the others.

    `examples` are the distinct pairs of call and phase, in the order of the calls.
    """

    threads: dict[int | None, LaunchRows]
    examples: Sequence[Example]
    untimed: int


def launch_columns(trace: Trace, run: Run) -> LaunchColumns:
    """Return the launches of a run; errors as `Trace.table`."""
    examples: dict[Example, int] = {}
    phases: dict[str | None, int] = {None: -1}
    #: By thread, the pieces of begins, durations, examples and `seq`.
    threads: dict[int | None, tuple[list[Integers], ...]] = {}
    untimed = 0
    for piece in trace.pieces("launches", [run], _COLUMNS):
        for chunk in piece["phase"].chunks:
            for phase in chunk.dictionary.to_pylist():
                phases.setdefault(phase, len(phases))
        untimed += piece["enter"].null_count
        piece = piece.filter(pc.is_valid(piece["enter"]))
        begin = integers(piece["enter"])
        duration = np.maximum(integers(piece["exit"], _NO_TIME), begin) - begin
        codes, first = combined_codes([piece["call_id"], piece["phase"]])
        distinct_rows = piece.select(["call_id", "phase"]).take(first).to_pylist()
        example = [
            examples.setdefault((row["call_id"], row["phase"]), len(examples))
            for row in distinct_rows
        ]
        columns = (duration, np.array(example, np.int64)[codes], integers(piece["seq"]))
        codes, first = combined_codes([piece["thread"]])
        for number, tid in enumerate(dictionary_values(piece["thread"], first)):
            rows = np.flatnonzero(codes == number)
            of_thread = threads.setdefault(tid, ([], [], [], []))
            of_thread[0].append(begin[rows])
            for pieces, column in zip(of_thread[1:], columns, strict=True):
                pieces.append(narrow(column[rows]))
    sorted_examples = sorted(examples, key=lambda pair: (_none_first(pair[0]), phases[pair[1]]))
    index_of = {pair: index for index, pair in enumerate(sorted_examples)}
    new_indexes = narrow(np.array([index_of[pair] for pair in examples], np.int64))
    joined = {}
    for tid in sorted(threads, key=_none_first):
        begin, duration, example_index, seq = map(concatenated, threads.pop(tid))
        joined[tid] = LaunchRows(begin, duration, new_indexes[example_index], seq)
    return LaunchColumns(joined, sorted_examples, untimed)


def _none_first(number: int | None) -> tuple[bool, int]:
    return (number is not None, number or 0)
