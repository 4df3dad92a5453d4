"""Windows of a trace: of tables with times, only the rows between two times.

Of sealed runs only row groups are read whose statistics overlap the window.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, Final, NamedTuple

import pyarrow as pa
import pyarrow.compute as pc

from kvtrace.schema.columns import checked_names
from kvtrace.schema.reading import run_pieces
from kvtrace.schema.repair import RANGES
from kvtrace.schema.runs import Run
from kvtrace.schema.tables import TABLES
from kvtrace.schema.trace import Trace, with_run

#: Columns with begin and end of a row, by table.
_SPANS: Final = {
    **{name: span for name, span in RANGES.items() if name != "runs"},
    "messages": ("time", "time"),
}
#: Tables whose times are the devices', which may be behind the host.
_OF_DEVICES: Final = frozenset({"gpu_kernels"})
#: Columns with begin and duration of a kernel's compilation, and of its loading.
_OF_KERNELS: Final = (("compile_begin", "compile_ns"), ("load_begin", "load_ns"))


class RunWindow(NamedTuple):
    """A window of one run, in ns since 1970: for the host's requests, and for the devices.

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
        """Return the window of a run."""
        return self.windows.get(run_id, RunWindow(self.begin, self.end, self.begin, self.end))

    def table(
        self,
        name: str,
        runs: Iterable[Run | str] | None = None,
        columns: Sequence[str] | None = None,
    ) -> pa.Table:
        """Return the rows of a table in the window; as `Trace.table`."""
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
        """Yield the rows of a table in the window, in pieces; as `Trace.pieces`."""
        if name not in _SPANS:
            yield self.table(name, runs, columns)
            return
        table, span = TABLES[name], _SPANS[name]
        names = checked_names(table, columns)
        read = tuple(dict.fromkeys((*names, *span)))
        for run in self.run_ids if runs is None else runs:
            run_id = run.run_id if isinstance(run, Run) else run
            limits = self._limits(name, run_id)
            pieces = run_pieces(
                self.path, table, run_id, read, self.whole.note, _touched(span, *limits)
            )
            for piece in pieces:
                begin, end = (piece[column].cast(pa.int64()) for column in span)
                inside = _inside(begin, pc.coalesce(end, begin), *limits)
                rows = piece.filter(inside).select(names)
                if rows.num_rows:
                    yield with_run(rows, run_id)

    def _limits(self, name: str, run_id: str) -> tuple[int, int]:
        window = self.window_of(run_id)
        if name in _OF_DEVICES:
            return window.device_begin, window.device_end
        return window.begin, window.end

    def _kernels(self, runs: Iterable[Run | str] | None, columns: Sequence[str] | None) -> pa.Table:
        names = checked_names(TABLES["kernels"], columns)
        times = [name for span in _OF_KERNELS for name in span]
        read = tuple(dict.fromkeys((*names, *times)))
        pieces = [self.whole.table("kernels", (), read)]
        for run in self.run_ids if runs is None else runs:
            rows = self.whole.table("kernels", [run], read)
            run_id = run.run_id if isinstance(run, Run) else run
            pieces.append(_timed_inside(rows, *self._limits("kernels", run_id)))
        return pa.concat_tables(pieces).unify_dictionaries().select([*names, "run"])


def _timed_inside(rows: pa.Table, low: int, high: int) -> pa.Table:
    """Return kernels with begins of compilation and loading null outside of two times."""
    for begin, duration in _OF_KERNELS:
        began = rows[begin].cast(pa.int64())
        inside = _inside(began, pc.add(began, pc.coalesce(rows[duration], 0)), low, high)
        place = rows.schema.get_field_index(begin)
        begins = pc.if_else(inside, rows[begin], None)
        rows = rows.set_column(place, rows.schema.field(place), begins)
    return rows


def _inside(begin: pa.ChunkedArray, end: pa.ChunkedArray, low: int, high: int) -> pa.ChunkedArray:
    overlap = pc.and_(pc.less_equal(begin, high), pc.greater_equal(end, low))
    return pc.fill_null(overlap, False)


def _touched(span: tuple[str, str], low: int, high: int) -> Any:
    """Return a function that selects the row groups of a file that may overlap two times."""

    def chosen(file: Any) -> list[int]:
        metadata = file.metadata
        places = {metadata.schema.column(i).path: i for i in range(metadata.num_columns)}
        groups = []
        for number in range(metadata.num_row_groups):
            group = metadata.row_group(number)
            bounds = [group.column(places[name]).statistics for name in span if name in places]
            has_bounds = len(bounds) == 2 and all(b and b.has_min_max for b in bounds)
            # An end before its begin counts as the begin, so both columns bound the last time.
            if not has_bounds or (
                bounds[0].min_raw <= high and max(b.max_raw for b in bounds) >= low
            ):
                groups.append(number)
        return groups

    return chosen
