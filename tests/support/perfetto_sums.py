"""Sums of the slices that Perfetto's engine reads from a file, and of the tables it was made of.

Number and total duration of slices are compared by category and name. The tables are summed here,
independently of the code that wrote the file.
"""

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Final

import pyarrow as pa
import pyarrow.compute as pc

from kvtrace.converters.timeline.captions import device_symbol
from kvtrace.figures.names import shown_names
from kvtrace.schema.runs import Run, plain_rows
from kvtrace.schema.trace import Trace

#: A function that runs an SQL query and returns its rows.
RunQuery = Callable[[str], list[tuple[Any, ...]]]
#: A category and a name.
Key = tuple[str, str]

#: Most differences of a category that are listed.
_MOST_LISTED: Final = 5
_LOADED: Final = """
    SELECT category AS kind, name, count(*) AS number, sum(dur) AS taken FROM slice GROUP BY 1, 2
"""


@dataclass(slots=True)
class Sums:
    """Number and total duration (ns) of the slices of each category and name."""

    counts: Counter[Key]
    total_ns: Counter[Key]

    def add(self, category: str, name: str, count: int = 1, total_ns: int = 0) -> None:
        """Add slices to the sums; NUL in names becomes "␀", as in the file."""
        key = category, name.replace("\0", "␀")
        self.counts[key] += count
        self.total_ns[key] += total_ns


def sums_of_file(run_query: RunQuery) -> Sums:
    """Return the sums of the slices that the engine has read.

    Except steps, which are drawn from marks or launches, and collectives, which are matched over
    the ranks.
    """
    sums = Sums(Counter(), Counter())
    for category, name, count, total_ns in run_query(_LOADED):
        if category not in ("step", "collective"):
            sums.add(category or "", name or "", count, total_ns or 0)
    return sums


def sums_of_tables(trace: Trace, runs: Sequence[Run]) -> Sums:
    """Return the sums of the slices to expect: all rows with a time. Errors as `Trace.table`."""
    sums = Sums(Counter(), Counter())
    for run in runs:
        _add_launches(sums, trace, run)
        _add_executions(sums, trace, run)
        _add_compilations(sums, trace, run)
        for mark in plain_rows(trace.table("marks", [run], ["name", "begin", "end"])):
            if mark["begin"] is not None:
                ns = max((mark["end"] or 0) - mark["begin"], 0)
                sums.add("mark", "mark" if mark["name"] is None else mark["name"], 1, ns)
        for message in plain_rows(trace.table("messages", [run], ["code"])):
            sums.add("message", message["code"] or "message")
    return sums


def _kernel_names(trace: Trace, run: Run) -> dict[int, str | None]:
    """Return the name of each call's kernel by call id, None if the kernel has none."""
    names = {
        row["kernel_id"]: row["name"]
        for row in plain_rows(trace.table("kernels", [run], ["kernel_id", "name"]))
    }
    calls = trace.table("calls", [run], ["call_id", "kernel_id"])
    pairs = zip(*(calls[name].to_pylist() for name in ("call_id", "kernel_id")), strict=True)
    return {call: names.get(kernel) for call, kernel in pairs}


def _add_launches(sums: Sums, trace: Trace, run: Run) -> None:
    names = _kernel_names(trace, run)
    for piece in trace.pieces("launches", [run], ["call_id", "enter", "exit"]):
        rows = piece.filter(pc.is_valid(piece["enter"]))
        for call, count, ns in _sums_by_value(rows, "call_id", "enter", "exit"):
            name = names.get(call)
            sums.add("launch", f"call {call}" if name is None else name, count, ns)


def _add_executions(sums: Sums, trace: Trace, run: Run) -> None:
    names = _kernel_names(trace, run)
    started = trace.table("gpu_kernels", [run], ["name", "start"])
    symbols = started.filter(pc.is_valid(started["start"]))["name"].unique().to_pylist()
    titles = shown_names(device_symbol({"name": symbol}) for symbol in symbols)
    for piece in trace.pieces("gpu_kernels", [run], ["name", "call_id", "start", "end"]):
        rows = piece.filter(pc.is_valid(piece["start"]))
        kernel_names = [names.get(call) or None for call in rows["call_id"].to_pylist()]
        symbols = [
            device_symbol({"name": name}) for name in rows["name"].cast(pa.string()).to_pylist()
        ]
        execution_names = [
            name or titles[symbol] for name, symbol in zip(kernel_names, symbols, strict=True)
        ]
        rows = rows.set_column(0, "name", pa.array(execution_names, pa.string()))
        for name, count, ns in _sums_by_value(rows, "name", "start", "end"):
            sums.add("gpu", name, count, ns)
    replays = trace.table(
        "gpu_kernels", [run], ["device", "graph_id", "correlation_id", "start", "end"]
    )
    is_replay = pc.and_(pc.is_valid(replays["graph_id"]), pc.is_valid(replays["correlation_id"]))
    replays = replays.filter(pc.and_(is_replay, pc.is_valid(replays["start"])))
    times = {name: replays[name].cast(pa.int64()) for name in ("start", "end")}
    times["end"] = pc.max_element_wise(times["start"], times["end"])
    keys = ("device", "graph_id", "correlation_id")
    table = pa.table({name: replays[name] for name in keys} | times)
    grouped = table.group_by(keys, use_threads=False)
    for row in grouped.aggregate([("start", "min"), ("end", "max")]).to_pylist():
        sums.add("graph", f"graph {row['graph_id']}", 1, row["end_max"] - row["start_min"])


def _sums_by_value(
    rows: pa.Table, key: str, begin: str, end: str
) -> Iterator[tuple[Any, int, int]]:
    """Yield each value of a column with its number of rows and their total duration in ns.

    A row has the duration 0 where the end is missing or earlier than the begin.
    """
    begins = rows[begin].cast(pa.int64())
    ends = pc.max_element_wise(begins, rows[end].cast(pa.int64()))
    table = pa.table({"key": rows[key], "ns": pc.subtract(ends, begins)})
    grouped = table.group_by("key", use_threads=False).aggregate([([], "count_all"), ("ns", "sum")])
    for row in grouped.to_pylist():
        yield row["key"], row["count_all"], row["ns_sum"] or 0


def _add_compilations(sums: Sums, trace: Trace, run: Run) -> None:
    for kernel in plain_rows(trace.table("kernels", [run])):
        name = kernel["name"]
        name = f"kernel {kernel['kernel_id']}" if name is None else name
        if kernel["load_begin"] is not None:
            sums.add("compile", f"load {name}", 1, max(kernel["load_ns"] or 0, 0))
        if kernel["compile_begin"] is None:
            continue
        stages = [stage for stage in kernel["stages"] or () if stage["duration_ns"] is not None]
        stages_ns = sum(max(stage["duration_ns"], 0) for stage in stages)
        verb = "cached" if kernel["cache_hit"] else "compile"
        sums.add("compile", f"{verb} {name}", 1, max(kernel["compile_ns"] or 0, stages_ns))
        for stage in stages:
            sums.add("compile", stage["stage"] or "stage", 1, max(stage["duration_ns"], 0))


def difference_sentences(in_file: Sums, in_tables: Sums) -> Iterator[str]:
    """Yield sentences on names whose sums differ: the first of each category, then a count."""
    keys = sorted({*in_file.counts, *in_tables.counts})
    differences: Counter[str] = Counter()
    for key in keys:
        file_sums = in_file.counts[key], in_file.total_ns[key]
        table_sums = in_tables.counts[key], in_tables.total_ns[key]
        if file_sums == table_sums:
            continue
        category, name = key
        differences[category] += 1
        if differences[category] <= _MOST_LISTED:
            yield (
                f"{category} {name!r}: {file_sums[0]:,} slices of {file_sums[1]:,} ns in the file, "
                f"{table_sums[0]:,} of {table_sums[1]:,} ns in the tables"
            )
    for category, count in differences.items():
        if count > _MOST_LISTED:
            yield f"{category}: {count - _MOST_LISTED:,} more names differ"
