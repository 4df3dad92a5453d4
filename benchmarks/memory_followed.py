"""Time and memory to judge a long run by the rules of memory: a recorded run, repeated.

    python benchmarks/memory_followed.py TRACE [--launches 1000000]

Method: TRACE is a run recorded with KVTRACE_MEMORY=on. The second half of its launches, operations
and allocations is repeated, each time later, until there are that many launches; all is judged in
this process. Prints seconds by the clock and of the processor, and the most memory in MB.
"""

import argparse
import dataclasses
import resource
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from kvtrace.addons.memory.judged import findings_of
from kvtrace.schema.trace import Trace, open_trace
from kvtrace.schema.writer import RunWriter, new_run_id

#: Columns of times of the tables that are repeated, the first one orders them; and their ids.
REPEATED = {
    "launches": ("enter", "exit", "seq"),
    "operations": ("begin", "end", "record"),
    "allocations": ("begin", "end", "record"),
}
KEPT = ("artifacts", "stacks", "kernels", "calls", "operators")


def _ns(column: Any) -> Any:
    return column.cast(pa.int64()).fill_null(0).to_numpy()


class Repeater:
    """Writes a run whose second half happens again and again."""

    def __init__(self, trace: Trace, out: Path) -> None:
        (run, *_) = trace.runs
        self._writer = RunWriter(out, new_run_id())
        self._row = {f.name: getattr(run, f.name) for f in dataclasses.fields(run)}
        del self._row["sealed"]
        tables = {
            name: trace.table(name, (run,)).drop_columns(["run"]) for name in (*KEPT, *REPEATED)
        }
        for name in KEPT:
            self._append(name, tables[name])
        self._tables = {name: tables[name].sort_by(REPEATED[name][0]) for name in REPEATED}
        enter = _ns(self._tables["launches"]["enter"])
        self._middle = int(enter[len(enter) // 2])
        latest = [
            int(_ns(self._tables[name][REPEATED[name][1]]).max(initial=0)) for name in REPEATED
        ]
        self._span = max(latest) - self._middle + 1
        self._written = dict.fromkeys(REPEATED, 0)

    def write(self, launches: int) -> dict[str, int]:
        """Write the run, and return how many rows each table has."""
        self._half(second=False, later=0)
        times = 0
        while self._written["launches"] < launches:
            self._half(second=True, later=times * self._span)
            times += 1
        self._writer.seal(self._row | {"run_id": self._writer.run_id})
        return self._written

    def _half(self, *, second: bool, later: int) -> None:
        for name, (begin, end, key) in REPEATED.items():
            table = self._tables[name]
            is_second = _ns(table[begin]) >= self._middle
            part = table.filter(pa.array(is_second if second else ~is_second))
            for column in (begin, end):
                place = part.schema.get_field_index(column)
                kind = part.schema.field(column).type
                moved = pc.add(part[column].cast(pa.int64()), later).cast(kind)
                part = part.set_column(place, column, moved)
            first = self._written[name]
            keys = pa.array(np.arange(first, first + part.num_rows))
            part = part.set_column(part.schema.get_field_index(key), key, keys)
            self._append(name, part)
            self._written[name] += part.num_rows

    def _append(self, name: str, table: pa.Table) -> None:
        if table.num_rows:
            columns = {column: table[column].combine_chunks() for column in table.column_names}
            self._writer.append(name, columns)


@contextmanager
def repeated_run(description: str) -> Iterator[tuple[Trace, str]]:
    """Yield a trace of the repeated run that the command line asks for, and its numbers of rows."""
    parser = argparse.ArgumentParser(description=description)
    parser.add_argument("trace", type=Path)
    parser.add_argument("--launches", type=int, default=1_000_000)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        written = Repeater(open_trace(options.trace), Path(folder, "out")).write(options.launches)
        rows = ", ".join(f"{count:,} {name}" for name, count in written.items())
        yield open_trace(Path(folder, "out")), rows


def main() -> None:
    """Repeat a run, judge it, and print what that took."""
    with repeated_run(__doc__.split("\n", 1)[0]) as (trace, rows):
        begun, processor = time.monotonic(), time.process_time()
        tables = findings_of(trace, trace.runs[0], named=False)
        assert tables is not None, "the run was not recorded with KVTRACE_MEMORY=on"
        seconds, processor = time.monotonic() - begun, time.process_time() - processor
    most = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1000
    print(f"{rows}: {tables['findings'].num_rows} findings in {seconds:.1f} s by the clock,")
    print(f"{processor:.1f} s of the processor, at most {most:,.0f} MB")


if __name__ == "__main__":
    main()
