"""Trace of a long training run: a recorded Llama whose steps are repeated.

    python benchmarks/training_trace.py FOLDER [--launches 717000]

The recording is tests/fixtures/h200/llama_steady: 242 compiled variants of 119 kernels, stacks,
the host's waits, and 34 steps of 370 launches and 895 executions each, most of them of cuBLAS,
cuDNN and PyTorch. Its start is written once; its steps follow until the run has so many launches,
each in a range of the mark `step`. From one repetition of the 34 steps to the next the grids
differ, as with lengths of sequences: there are 16 lengths, so unique calls are 16 times those of
the recording. Rows begin later and end earlier at random, by up to 5 % of their durations.
"""

import argparse
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from kvtrace.figures.columns import Integers, integers
from kvtrace.figures.steps import periodic_steps
from kvtrace.schema.runs import plain_rows
from kvtrace.schema.trace import Trace
from kvtrace.schema.writer import RunWriter

RECORDED: Final = Path(__file__).parents[1] / "tests" / "fixtures" / "h200" / "llama_steady"
LENGTHS: Final = 16
#: What is added to the id of a call for each further length.
CALLS_APART: Final = 10_000
#: For each repeated table: its number, its times (a begin and an end first), and its other numbers
#: of launches.
REPEATED: Final = {
    "launches": ("seq", ("enter", "exit")),
    "gpu_kernels": ("record", ("start", "end", "requested")),
    "host_events": ("record", ("begin", "end")),
}
AS_RECORDED: Final = ("artifacts", "stacks", "kernels", "contents", "messages")


def main() -> None:
    """Write a trace into a folder, and print the duration."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder", type=Path)
    parser.add_argument("--launches", type=int, default=717_000)
    options = parser.parse_args()
    began = time.perf_counter()
    write_training(options.folder, options.launches)
    print(f"{options.launches:,} launches in {time.perf_counter() - began:.1f} s")


def write_training(folder: Path, launches: int) -> None:
    """Write a run of at least so many launches, to the end of a repetition of the steps."""
    trace = Trace(RECORDED)
    tables = {run: trace.table("launches", [run]) for run in trace.runs}
    run = max(tables, key=lambda run: tables[run].num_rows)
    steps = periodic_steps(trace, run)
    assert steps is not None
    writer = RunWriter(folder, run.run_id, of_this_process=False)
    for name in AS_RECORDED:
        writer.append(name, _columns(trace.table(name, [run])))
    writer.append_rows("calls", _calls_of_lengths(plain_rows(trace.table("calls", [run]))))
    first, last = int(steps.bounds[0]), int(steps.bounds[-1])
    enter = integers(tables[run]["enter"])
    in_steps = int(((enter >= first) & (enter < last)).sum())
    repetitions = max(-(-(launches - int((enter < first).sum())) // in_steps), 1)
    launches_apart = (
        int(np.ptp(integers(tables[run]["seq"])[(enter >= first) & (enter < last)])) + 1
    )
    for name in REPEATED:
        rows = trace.table(name, [run])
        begin = integers(rows[REPEATED[name][1][0]])
        writer.append(name, _columns(rows.filter(pa.array(begin < first))))
        steady = rows.filter(pa.array((begin >= first) & (begin < last)))
        for columns in _repeated(name, steady, repetitions, last - first, launches_apart):
            writer.append(name, columns)
    marks = np.concatenate([steps.bounds[:-1] + n * (last - first) for n in range(repetitions)])
    _append_marks(writer, np.append(marks, first + repetitions * (last - first)))
    row = plain_rows(trace.table("runs", [run]))[0]
    facts = {key: value for key, value in row.items() if key not in ("run", "schema_version")}
    writer.seal(facts | {"ended": first + repetitions * (last - first) + 1_000_000_000})


def _repeated(
    name: str, rows: pa.Table, repetitions: int, period: int, launches_apart: int
) -> Iterator[dict[str, Any]]:
    """Yield a table's columns of each repetition; `period` ns and `launches_apart` lie between."""
    key, times = REPEATED[name]
    columns = _columns(rows)
    numbers, begin, end = (integers(rows[column]) for column in (key, *times[:2]))
    apart = launches_apart if key == "seq" else int(np.ptp(numbers)) + 1
    random = np.random.default_rng(len(numbers))
    for repetition in range(repetitions):
        changed = {time: _later(rows[time], repetition * period) for time in times}
        lost = (end - begin)[None] * random.uniform(0, 0.05, (2, len(begin)))
        changed[times[0]] = pa.array(begin + lost[0].astype(np.int64) + repetition * period)
        changed[times[1]] = pa.array(end - lost[1].astype(np.int64) + repetition * period)
        changed[key] = pa.array(numbers + repetition * apart)
        if "launch_seq" in columns:
            changed["launch_seq"] = _plus(rows["launch_seq"], repetition * launches_apart)
        if "call_id" in columns:
            changed["call_id"] = _plus(rows["call_id"], repetition % LENGTHS * CALLS_APART)
        yield columns | changed


def _columns(rows: pa.Table) -> dict[str, Any]:
    return {name: rows[name] for name in rows.column_names if name != "run"}


def _plus(column: pa.ChunkedArray, number: int) -> pa.ChunkedArray:
    return pc.add(column, pa.scalar(number, pa.int64()))


def _later(column: pa.ChunkedArray, nanoseconds: int) -> pa.ChunkedArray:
    return _plus(column.cast(pa.int64()), nanoseconds)


def _calls_of_lengths(calls: list[dict[str, Any]]) -> Iterator[dict[str, Any]]:
    for length in range(LENGTHS):
        for call in calls:
            row = {key: value for key, value in call.items() if key != "run"}
            row["call_id"] += length * CALLS_APART
            row["grid_x"] += length
            yield row


def _append_marks(writer: RunWriter, bounds: Integers) -> None:
    names = pa.array(["step"]).dictionary_encode().take(pa.array(np.zeros(len(bounds) - 1, int)))
    thread = np.ones(len(bounds) - 1, np.int64)
    columns = {"mark_id": np.arange(len(bounds) - 1), "name": names, "thread": thread}
    writer.append("marks", columns | {"begin": bounds[:-1], "end": bounds[1:]})


if __name__ == "__main__":
    main()
