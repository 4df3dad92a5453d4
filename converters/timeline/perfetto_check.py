"""Checks a written Perfetto file: what Perfetto's own engine reads in it, against the tables.

The engine is the trace processor of the package `perfetto` (extra `kvtrace[perfetto]`), which
fetches it when it is first used. Slices are compared by category and name: how many there are, and
how long they take together. What the tables say is summed here from their rows, by nothing that
drew the file.
"""

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import pyarrow as pa
import pyarrow.compute as pc

from kvtrace.schema.errors import KvtraceError
from kvtrace.schema.runs import Run, plain_rows
from kvtrace.schema.symbols import titled
from kvtrace.schema.trace import Selection, Trace
from kvtrace.text import duration, plural

if TYPE_CHECKING:
    from perfetto.trace_processor import TraceProcessor

#: Answers a query with its rows.
Ask = Callable[[str], list[tuple[Any, ...]]]
#: A category and a name.
Key = tuple[str, str]

#: Differences that are reported one by one.
_MOST: Final = 5
#: The engine starts within that, or not at all.
_PATIENCE_S: Final = 30
_LOADED: Final = (
    "SELECT category, name, count(*) AS number, sum(dur) AS taken FROM slice GROUP BY 1, 2"
)
_REFUSED: Final = """
    SELECT name, sum(value) AS number FROM stats
    WHERE severity IN ('error', 'data_loss') AND value > 0 GROUP BY name
"""


class EngineMissing(KvtraceError):
    """Perfetto's trace processor cannot be used here."""

    slug = "no-trace-processor"


@dataclass(slots=True)
class Sums:
    """How many slices there are of each category and name, and their nanoseconds together."""

    counts: Counter[Key]
    taken: Counter[Key]

    def add(self, category: str, name: str, count: int = 1, taken: int = 0) -> None:
        """Count slices; the engine's SQL ends a text at NUL, so the file has NUL's symbol."""
        key = category, name.replace("\0", "␀")
        self.counts[key] += count
        self.taken[key] += taken


@dataclass(frozen=True, slots=True)
class Checked:
    """Sentences on what was compared, and on what differs."""

    compared: tuple[str, ...]
    differences: tuple[str, ...]


def check_file(file: Path, selection: Selection, engine: str | None = None) -> Checked:
    """Compare a written file with the selected runs.

    Args:
        file: the Perfetto file.
        selection: the runs that it was made of.
        engine: path of a trace processor; None: the one that the package fetches.

    Raises:
        EngineMissing: the package is not installed, or its engine does not start.
        DamagedFile, NewerFormat: as the reader of the trace.

    """
    with _engine(file, engine) as ask:
        found, refused = loaded(ask), ask(_REFUSED)
    wanted = of_tables(selection.trace, selection.runs)
    differences = [*different(found, wanted)]
    differences += [f"the engine refused something: {name} ({number})" for name, number in refused]
    return Checked(tuple(_compared(wanted)), tuple(differences))


@contextmanager
def _engine(file: Path, engine: str | None) -> Iterator[Ask]:
    try:
        from perfetto.trace_processor import TraceProcessor, TraceProcessorConfig
    except ImportError as problem:
        raise EngineMissing(
            "--check needs Perfetto's trace processor; install kvtrace[perfetto], or leave it out."
        ) from problem
    config = TraceProcessorConfig(bin_path=engine, load_timeout=_PATIENCE_S)
    try:
        processor = TraceProcessor(str(file), config=config)
    except Exception as problem:  # what it fetches and starts is the package's business
        reason = str(problem).strip().splitlines() or [type(problem).__name__]
        raise EngineMissing(
            f"Perfetto's trace processor does not start ({reason[0]}); the package fetches it when "
            "it is first used, or --set trace_processor=PATH names one."
        ) from problem
    try:
        yield lambda sql: _rows(processor, sql)
    finally:
        processor.close()


def _rows(processor: "TraceProcessor", sql: str) -> list[tuple[Any, ...]]:
    return [tuple(row.__dict__.values()) for row in processor.query(sql)]


def loaded(ask: Ask) -> Sums:
    """Return what the engine has read; steps are made of marks, and are left out."""
    sums = Sums(Counter(), Counter())
    for category, name, count, taken in ask(_LOADED):
        if category != "step":
            sums.add(category or "", name or "", count, taken or 0)
    return sums


def of_tables(trace: Trace, runs: Sequence[Run]) -> Sums:
    """Return what the tables hold of all that has a time; errors as `Trace.table`."""
    sums = Sums(Counter(), Counter())
    for run in runs:
        _add_launches(sums, trace, run)
        _add_executions(sums, trace, run)
        _add_compilations(sums, trace, run)
        for mark in plain_rows(trace.table("marks", [run], ["name", "begin", "end"])):
            if mark["begin"] is not None:
                taken = max((mark["end"] or 0) - mark["begin"], 0)
                sums.add("mark", "mark" if mark["name"] is None else mark["name"], 1, taken)
        for message in plain_rows(trace.table("messages", [run], ["code"])):
            sums.add("message", message["code"] or "message")
    return sums


def _kernel_names(trace: Trace, run: Run) -> dict[int, str | None]:
    """Return the name of each call's kernel."""
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
        for call, count, taken in _by(rows, "call_id", "enter", "exit"):
            name = names.get(call)
            sums.add("launch", f"call {call}" if name is None else name, count, taken)


def _add_executions(sums: Sums, trace: Trace, run: Run) -> None:
    names = _kernel_names(trace, run)
    for piece in trace.pieces("gpu_kernels", [run], ["name", "call_id", "start", "end"]):
        rows = piece.filter(pc.is_valid(piece["start"]))
        of_calls = [names.get(call) or None for call in rows["call_id"].to_pylist()]
        symbols = rows["name"].cast(pa.string()).to_pylist()
        shown = {
            symbol: titled("kernel of unknown name" if symbol is None else symbol)
            for symbol in set(symbols)
        }
        drawn = [of or shown[symbol] for of, symbol in zip(of_calls, symbols, strict=True)]
        rows = rows.set_column(0, "name", pa.array(drawn, pa.string()))
        for name, count, taken in _by(rows, "name", "start", "end"):
            sums.add("gpu", name, count, taken)
    replays = trace.table(
        "gpu_kernels", [run], ["device", "graph_id", "correlation_id", "start", "end"]
    )
    known = pc.and_(pc.is_valid(replays["graph_id"]), pc.is_valid(replays["correlation_id"]))
    replays = replays.filter(pc.and_(known, pc.is_valid(replays["start"])))
    times = {name: replays[name].cast(pa.int64()) for name in ("start", "end")}
    times["end"] = pc.max_element_wise(times["start"], times["end"])
    keys = ("device", "graph_id", "correlation_id")
    table = pa.table({name: replays[name] for name in keys} | times)
    grouped = table.group_by(keys, use_threads=False)
    for row in grouped.aggregate([("start", "min"), ("end", "max")]).to_pylist():
        sums.add("graph", f"graph {row['graph_id']}", 1, row["end_max"] - row["start_min"])


def _by(rows: pa.Table, key: str, begin: str, end: str) -> Iterator[tuple[Any, int, int]]:
    """Count rows by a column, and sum their durations: 0 where the end is missing or earlier."""
    begins = rows[begin].cast(pa.int64())
    ends = pc.max_element_wise(begins, rows[end].cast(pa.int64()))
    table = pa.table({"key": rows[key], "ns": pc.subtract(ends, begins)})
    grouped = table.group_by("key", use_threads=False).aggregate([([], "count_all"), ("ns", "sum")])
    for row in grouped.to_pylist():
        yield row["key"], row["count_all"], row["ns_sum"] or 0


def _add_compilations(sums: Sums, trace: Trace, run: Run) -> None:
    for kernel in plain_rows(trace.table("kernels", [run])):
        named = kernel["name"]
        name = f"kernel {kernel['kernel_id']}" if named is None else named
        if kernel["load_begin"] is not None:
            sums.add("compile", f"load {name}", 1, max(kernel["load_ns"] or 0, 0))
        if kernel["compile_begin"] is None:
            continue
        stages = [stage for stage in kernel["stages"] or () if stage["duration_ns"] is not None]
        inside = sum(max(stage["duration_ns"], 0) for stage in stages)
        verb = "cached" if kernel["cache_hit"] else "compile"
        sums.add("compile", f"{verb} {name}", 1, max(kernel["compile_ns"] or 0, inside))
        for stage in stages:
            sums.add("compile", stage["stage"] or "stage", 1, max(stage["duration_ns"], 0))


def different(found: Sums, wanted: Sums) -> Iterator[str]:
    """Say what differs: the first few names of each kind, and how many more there are."""
    keys = sorted({*found.counts, *wanted.counts})
    said: Counter[str] = Counter()
    for key in keys:
        ours = found.counts[key], found.taken[key]
        theirs = wanted.counts[key], wanted.taken[key]
        if ours == theirs:
            continue
        category, name = key
        said[category] += 1
        if said[category] <= _MOST:
            yield (
                f"{category} {name!r}: {ours[0]:,} slices of {ours[1]:,} ns in the file, "
                f"{theirs[0]:,} of {theirs[1]:,} ns in the tables"
            )
    for category, count in said.items():
        if count > _MOST:
            yield f"{category}: {count - _MOST:,} more names differ"


def _compared(wanted: Sums) -> Iterator[str]:
    for category in dict.fromkeys(category for category, _ in wanted.counts):
        own = [key for key in wanted.counts if key[0] == category]
        count, taken = (sum(each[key] for key in own) for each in (wanted.counts, wanted.taken))
        yield (
            f"checked in Perfetto's trace processor: {category}, {plural(count, 'slice')} of "
            f"{plural(len(own), 'name')}, {duration(taken)} in all"
        )
