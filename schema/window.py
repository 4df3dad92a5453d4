"""Windows of a trace: of tables with times, only the rows between two times.

Of sealed runs only row groups are read whose statistics overlap the window.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Final, NamedTuple

import pyarrow as pa
import pyarrow.compute as pc

from kvtrace.schema.columns import checked_names
from kvtrace.schema.opened_parts import Bounds
from kvtrace.schema.parts import RowGroupChoice
from kvtrace.schema.reading import run_pieces
from kvtrace.schema.repair import RANGES
from kvtrace.schema.runs import Run, with_run
from kvtrace.schema.tables import TABLES
from kvtrace.schema.trace import Trace

#: Columns with begin and end of a row, by table.
_SPANS: Final = {
    **{name: span for name, span in RANGES.items() if name != "runs"},
    "messages": ("time", "time"),
}
#: Tables whose times are the devices', which may be behind the host.
_DEVICE_TABLES: Final = frozenset({"gpu_kernels"})
#: Columns with begin and duration of a kernel's compilation, and of its loading.
_KERNEL_TIMES: Final = (("compile_begin", "compile_ns"), ("load_begin", "load_ns"))


class RunWindow(NamedTuple):
    """A run's window, in ns since 1970: for events of the host, and for events of devices.

    `device_steps` has the begin of each of the window's steps on the devices and the end of the
    last one, and `first_step` the number of the first of them in the run; empty without steps.
    """

    begin: int
    end: int
    device_begin: int
    device_end: int
    device_steps: tuple[int, ...] = ()
    first_step: int = 0


class TraceWindow(Trace):
    """The rows of the trace `whole` that lie at least partly between two times (ns since 1970).

    Runs in `windows` have windows of their own, which may differ between host and devices. All
    kernels stay; times of compilation and loading outside of the window become null. Derived tables
    stay whole.
    """

    def __init__(
        self, whole: Trace, begin: int, end: int, windows: Mapping[str, RunWindow] | None = None
    ) -> None:
        super().__init__(whole.path)
        self.whole = whole
        self.notes = whole.notes
        self.begin, self.end = begin, end
        self.windows = dict(windows or {})

    def window_of(self, run_id: str) -> RunWindow:
        """Return the run's own window if `windows` has one, else the window of the trace."""
        return self.windows.get(run_id, RunWindow(self.begin, self.end, self.begin, self.end))

    def table(
        self,
        name: str,
        runs: Iterable[Run | str] | None = None,
        columns: Sequence[str] | None = None,
    ) -> pa.Table:
        """Return the rows of a table in the window; arguments and errors as `Trace.table`."""
        if name in _SPANS:
            pieces = [self.whole.table(name, (), columns), *self.pieces(name, runs, columns)]
            return pa.concat_tables(pieces).unify_dictionaries()
        if name == "kernels":
            return self._kernels(runs, columns)
        return self.whole.table(name, runs, columns)

    def pieces(
        self,
        name: str,
        runs: Iterable[Run | str] | None = None,
        columns: Sequence[str] | None = None,
    ) -> Iterator[pa.Table]:
        """Yield the rows of a table in the window, in pieces; arguments as `Trace.pieces`."""
        if name not in _SPANS:
            yield self.table(name, runs, columns)
            return
        table, span = TABLES[name], _SPANS[name]
        names = checked_names(table, columns)
        read_names = tuple(dict.fromkeys((*names, *span)))
        for run in self.run_ids if runs is None else runs:
            run_id = run.run_id if isinstance(run, Run) else run
            window_limits = self._limits(name, run_id)
            pieces = run_pieces(
                self.path,
                table,
                run_id,
                read_names,
                self.whole.note,
                _groups_in_ranges(span, [window_limits]),
            )
            for piece in pieces:
                begin, end = (piece[column].cast(pa.int64()) for column in span)
                in_window = _overlaps(begin, pc.coalesce(end, begin), *window_limits)
                rows = piece.filter(in_window).select(names)
                if rows.num_rows:
                    yield with_run(rows, run_id)

    def _limits(self, name: str, run_id: str) -> tuple[int, int]:
        window = self.window_of(run_id)
        if name in _DEVICE_TABLES:
            return window.device_begin, window.device_end
        return window.begin, window.end

    def _kernels(self, runs: Iterable[Run | str] | None, columns: Sequence[str] | None) -> pa.Table:
        names = checked_names(TABLES["kernels"], columns)
        time_columns = [name for span in _KERNEL_TIMES for name in span]
        read_names = tuple(dict.fromkeys((*names, *time_columns)))
        rows = self.whole.table("kernels", runs, read_names)
        return self.with_times_inside(rows).select([*names, "run"])

    def with_times_inside(self, kernels: pa.Table) -> pa.Table:
        """Return rows of `kernels`, with `run` and all times, without times outside the window."""
        if not kernels.num_rows:
            return kernels
        runs = kernels["run"].unify_dictionaries().combine_chunks()
        limits = [self._limits("kernels", run_id) for run_id in runs.dictionary.to_pylist()]
        edges = zip(*limits, strict=True)
        low, high = (pa.array(edge, pa.int64()).take(runs.indices) for edge in edges)
        for begin, duration in _KERNEL_TIMES:
            begins = kernels[begin].cast(pa.int64())
            ends = pc.add(begins, pc.coalesce(kernels[duration], 0))
            index = kernels.schema.get_field_index(begin)
            kept_begins = pc.if_else(_overlaps(begins, ends, low, high), kernels[begin], None)
            kernels = kernels.set_column(index, kernels.schema.field(index), kept_begins)
        return kernels


def whole_trace(trace: Trace) -> Trace:
    """Return the whole trace of a window, or the trace itself if it is not a window."""
    return trace.whole if isinstance(trace, TraceWindow) else trace


def _overlaps(
    begin: pa.ChunkedArray, end: pa.ChunkedArray, low: int | pa.Array, high: int | pa.Array
) -> pa.ChunkedArray:
    overlap = pc.and_(pc.less_equal(begin, high), pc.greater_equal(end, low))
    return pc.fill_null(overlap, False)


def pieces_near(
    trace: Trace,
    name: str,
    run: Run,
    columns: Sequence[str],
    span: tuple[str, str],
    ranges: Sequence[tuple[int, int]] | Sequence[tuple[bytes, bytes]],
) -> Iterator[pa.Table]:
    """Yield the rows of a table that may lie in some ranges, with others near them.

    Of parts only row groups are read whose statistics overlap a range.

    Args:
        trace: The whole trace.
        name: The table.
        run: The run.
        columns: Names of columns.
        span: Columns with the first and the last number, or time, of a row; or twice one of texts.
        ranges: First and last number of each range, or times in ns since 1970, or texts in UTF-8.

    Errors as `Trace.table`.
    """
    chosen = _groups_in_ranges(span, ranges)
    names = checked_names(TABLES[name], columns)
    for piece in run_pieces(trace.path, TABLES[name], run.run_id, names, trace.note, chosen):
        yield with_run(piece.select(names), run.run_id)


def _groups_in_ranges(
    span: tuple[str, str], ranges: Sequence[tuple[int, int]] | Sequence[tuple[bytes, bytes]]
) -> RowGroupChoice:
    """Return a function that chooses the row groups which may have rows in some ranges.

    `span` and ranges are as those of `pieces_near`.
    """

    def choose_groups(bounds: Callable[[str], list[Bounds]]) -> list[int]:
        first, last = map(bounds, span)
        return [
            number
            for number, (begin, end) in enumerate(zip(first, last, strict=True))
            # An end before its begin counts as the begin, so both columns bound the last time.
            if begin is None
            or end is None
            or any(begin[0] <= high and max(begin[1], end[1]) >= low for low, high in ranges)
        ]

    return choose_groups


def split_by_run(rows: pa.Table) -> Iterator[tuple[str, pa.Table]]:
    """Yield run id and rows of each run of a table in which the rows of a run are together."""
    runs = rows["run"].combine_chunks()
    if isinstance(runs, pa.ChunkedArray):  # no rows
        return
    if not pa.types.is_dictionary(runs.type):
        runs = runs.dictionary_encode()
    first = 0
    for end in pc.run_end_encode(runs.indices).run_ends.to_pylist():
        yield runs.dictionary[runs.indices[first].as_py()].as_py(), rows.slice(first, end - first)
        first = end
