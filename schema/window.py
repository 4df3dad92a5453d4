"""A trace as it was for a while: of tables with times, only the rows that lie in a window.

Of sealed runs only the row groups are read whose statistics say that they touch it.
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

#: Begin and end of what a row tells of.
_SPANS: Final = {
    **{name: span for name, span in RANGES.items() if name != "runs"},
    "messages": ("time", "time"),
}
#: Tables whose times are the devices', which may be behind the host.
_OF_DEVICES: Final = frozenset({"gpu_kernels"})
#: When a kernel was compiled and loaded, and for how long.
_OF_KERNELS: Final = (("compile_begin", "compile_ns"), ("load_begin", "load_ns"))


class RunWindow(NamedTuple):
    """A window of one run, in ns since 1970: when the host asked for work, and devices did it."""

    begin: int
    end: int
    device_begin: int
    device_end: int


class TraceWindow(Trace):
    """The rows of `whole` that lie between two times, in ns since 1970, at least in part.

    Runs in `windows` have windows that differ, also between host and devices. Every kernel is
    there; of one that was not compiled, or not loaded, in the window the time of that is null. What
    passes derived is there as a whole.
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
        """The rows of a table in the window; as `Trace.table`."""
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
        """The rows of a table in the window, in pieces; as `Trace.pieces`."""
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
                begin, end = (piece[each].cast(pa.int64()) for each in span)
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
        wanted = tuple(dict.fromkeys((*names, *times)))
        found = [self.whole.table("kernels", (), wanted)]
        for run in self.run_ids if runs is None else runs:
            rows = self.whole.table("kernels", [run], wanted)
            run_id = run.run_id if isinstance(run, Run) else run
            found.append(_timed_inside(rows, *self._limits("kernels", run_id)))
        return pa.concat_tables(found).unify_dictionaries().select([*names, "run"])


def _timed_inside(rows: pa.Table, low: int, high: int) -> pa.Table:
    """Return kernels without the times of what did not happen between two moments."""
    for begin, taken in _OF_KERNELS:
        began = rows[begin].cast(pa.int64())
        inside = _inside(began, pc.add(began, pc.coalesce(rows[taken], 0)), low, high)
        place = rows.schema.get_field_index(begin)
        kept = pc.if_else(inside, rows[begin], None)
        rows = rows.set_column(place, rows.schema.field(place), kept)
    return rows


def _inside(begin: pa.ChunkedArray, end: pa.ChunkedArray, low: int, high: int) -> pa.ChunkedArray:
    found = pc.and_(pc.less_equal(begin, high), pc.greater_equal(end, low))
    return pc.fill_null(found, False)


def _touched(span: tuple[str, str], low: int, high: int) -> Any:
    """Return what chooses the row groups that may have rows between two moments."""

    def chosen(file: Any) -> list[int]:
        metadata = file.metadata
        places = {metadata.schema.column(i).path: i for i in range(metadata.num_columns)}
        found = []
        for number in range(metadata.num_row_groups):
            group = metadata.row_group(number)
            told = [group.column(places[name]).statistics for name in span if name in places]
            known = len(told) == 2 and all(each and each.has_min_max for each in told)
            # An end before its begin counts as the begin, so both say how far rows reach.
            if not known or (told[0].min_raw <= high and max(each.max_raw for each in told) >= low):
                found.append(number)
        return found

    return chosen
