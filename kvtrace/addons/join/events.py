"""Events of a run in torch.profiler's JSON format, built from the trace's tables.

What an imported file had comes back as it was, from `tool_events` and `gpu_kernels`. Launches that
kvtrace recorded become operators with the driver's call.
"""

import heapq
import json
from collections.abc import Iterable, Iterator
from itertools import repeat
from typing import Any, Final, NamedTuple

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from kvtrace.addons.join.call_facts import CallFacts
from kvtrace.converters.importers.json_values import mapping
from kvtrace.converters.importers.rows import NONE, IntegerRows, Names
from kvtrace.figures import names
from kvtrace.figures.columns import Positions, integers
from kvtrace.schema.layout import DEBUG_MODE
from kvtrace.schema.runs import Run, plain_rows
from kvtrace.schema.trace import Trace

_CATEGORY: Final = {"copy": "gpu_memcpy", "fill": "gpu_memset", None: "kernel"}
_REQUEST: Final = {"copy": "cudaMemcpyAsync", "fill": "cudaMemsetAsync", None: "cudaLaunchKernel"}
_CALLS: Final = frozenset({"cuda_runtime", "cuda_driver"})
_EXECUTIONS: Final = frozenset(_CATEGORY.values())
_MARK: Final = "user_annotation"
#: Name of the marks of torch.profiler's schedule, whose attribute `step` has the step's number.
_STEP: Final = "ProfilerStep"
#: The `source` of runs that were imported from files of this format.
_KINETO: Final = "kineto"
_BATCH_ROWS: Final = 1 << 12
_Event = dict[str, Any]
#: Columns of executions that many have in common, and the numbers of each.
_SHAPE: Final = (
    "call_id", "graph_id", "kind", "name", "device", "stream", "graph_node_id", "registers",
    "shared_bytes", "bytes", "grid_x", "grid_y", "grid_z", "block_x", "block_y", "block_z",
    "grade", "members",
)  # fmt: skip
_NUMBERS: Final = (
    "launch_seq", "start", "end", "correlation_id", "external_id", "requested", "request_thread",
)  # fmt: skip
#: Columns of a launch, whose values are NONE where it has none.
_LAUNCH: Final = ("call_id", "thread", "enter", "exit")
_Launch = tuple[int, ...]
#: Stands for a number in an event: no text of a table is half of a surrogate pair.
_NUMBER: Final = "\udc00"
_MOST_TEMPLATES: Final = 1 << 15
_encoded: Final = json.JSONEncoder(check_circular=False).encode


def file_members(trace: Trace, run: Run) -> dict[str, Any]:
    """Return the members of the imported file besides its events; empty if it had none.

    Raises:
        DamagedFile, NewerFormat: a file cannot be read.
    """
    rows = trace.table("tool_events", [run], ["phase", "name", "members"])
    rows = rows.filter(pc.and_(rows["phase"].is_null(), rows["members"].is_valid()))
    return {row["name"]: json.loads(row["members"]) for row in rows.to_pylist()}


def event_lines(trace: Trace, run: Run, facts: CallFacts, base: int) -> Iterator[str]:
    """Yield events of a run, each as JSON: executions, their calls, operators, marks, and flows.

    Times are µs since `base` (ns since 1970); rows without times are skipped. The driver's call of
    a recorded launch gets the times of the launching function, since kvtrace does not time the
    driver. An imported file of torch.profiler comes back with its events and no other.

    Raises:
        DamagedFile, NewerFormat: a file cannot be read.
    """
    kept = trace.table("tool_events", [run])
    is_other = pc.fill_null(pc.not_equal(kept["category"], DEBUG_MODE), True)
    kept = kept.filter(pc.and_(kept["phase"].is_valid(), is_other))
    lines = _Lines(base, facts, run)
    if kept.num_rows:
        yield from map(lines.of, _imported_events(trace, run, kept, facts))
    else:
        yield from _recorded_lines(trace, run, lines)
    yield from lines.flows()


def _microseconds(nanoseconds: int) -> int | float:
    whole, rest = divmod(nanoseconds, 1000)
    return nanoseconds / 1000 if rest else whole


def _imported_events(trace: Trace, run: Run, kept: pa.Table, facts: CallFacts) -> Iterator[_Event]:
    """Yield the events of an imported file in their order; those of other tools after the marks."""
    if run.source != _KINETO:  # else marks are among the kept events
        yield from _mark_events(trace, run)
    executions = trace.table("gpu_kernels", [run])
    numbered = (
        ((row["record"], _kept_event(row, run.pid or 0)) for row in _in_order(kept)),
        ((row["record"], _execution_event(row, facts, as_recorded=True))
         for row in _in_order(executions) if row["start"] is not None
         if row["end"] is not None or row["impossible"] is not None),
    )  # fmt: skip
    for _, event in heapq.merge(*numbered, key=lambda pair: pair[0]):
        yield event


def _in_order(rows: pa.Table) -> Iterator[dict[str, Any]]:
    return _plain_rows(rows.sort_by("record"))


def _plain_rows(rows: pa.Table) -> Iterator[dict[str, Any]]:
    for batch in rows.to_batches(_BATCH_ROWS):
        yield from plain_rows(pa.Table.from_batches([batch]))


def _kept_event(row: dict[str, Any], pid: int) -> _Event:
    """Return an event of `tool_events` as it was; `pid` is the process of one without."""
    members: _Event = json.loads(row["members"] or "{}")
    args = members.get("args", {})
    if isinstance(args, dict):
        for key, column in (("External id", "external_id"), ("correlation", "correlation_id")):
            if row[column] is not None:
                args.setdefault(key, row[column])
        if args:
            members["args"] = args
    event = {
        "ph": row["phase"] or None,
        "cat": row["category"],
        "name": row["name"],
        "pid": pid if row["process"] is None else row["process"],
        "tid": row["thread"],
        "ts": row["begin"],
        "dur": None if None in (row["begin"], row["end"]) else row["end"] - row["begin"],
    }
    return {key: value for key, value in event.items() if value is not None} | members


def _recorded_lines(trace: Trace, run: Run, lines: "_Lines") -> Iterator[str]:
    """Yield the lines of a recording by kvtrace, without those of flows."""
    yield from map(lines.of, _mark_events(trace, run))
    launches = _Launches(trace, run)
    requested: set[int] = set()
    ids = trace.table("gpu_kernels", [run], ["correlation_id"])["correlation_id"]
    has_ids = ids.null_count < len(ids)
    for piece in trace.pieces("gpu_kernels", [run], [*_SHAPE, *_NUMBERS]):
        for batch in piece.to_batches(_BATCH_ROWS):
            rows = pa.Table.from_batches([batch])
            places, timed = launches.of(rows["launch_seq"])
            shapes = zip(*(_values(rows[name]) for name in _SHAPE), strict=True)
            numbers = zip(*(_values(rows[name]) for name in _NUMBERS), strict=True)
            for place, launch, shape, row in zip(places, timed, shapes, numbers, strict=True):
                seq, start, end, correlation, external, asked, thread = row
                if start is None or end is None:
                    continue
                call_id, graph_id, kind, *_ = shape
                if not has_ids and graph_id is None:  # readers match by an id alone
                    correlation = seq
                launched = graph_id is None and launches.take(place)
                if launched and call_id is None:
                    call_id = launch[0]
                yield lines.of_execution(shape, call_id, start, end, correlation, external)
                if launched:
                    yield from lines.of_launch(launch, correlation)
                elif asked is not None and correlation not in requested:
                    requested.add(correlation)
                    name = "cudaGraphLaunch" if graph_id is not None else _REQUEST.get(kind, "")
                    span = (lines.pid, thread or 0, asked, asked)
                    yield lines.of(
                        _event("cuda_runtime", name, *span, {"correlation": correlation})
                    )
    for launch in launches.remaining():
        yield from lines.of_launch(launch, None)


class _Launches:
    """The launches that have both times; each is taken by one execution at most."""

    def __init__(self, trace: Trace, run: Run) -> None:
        rows = IntegerRows("seq", *_LAUNCH)
        for piece in trace.pieces("launches", [run], ["seq", *_LAUNCH]):
            timed = piece.filter(pc.and_(piece["enter"].is_valid(), piece["exit"].is_valid()))
            rows.add_arrays(*(integers(timed[name], NONE) for name in ("seq", *_LAUNCH)))
        columns = rows.arrays()
        self._order = np.argsort(columns["seq"], kind="stable")
        self._positions = Positions(columns["seq"][self._order])
        self._columns = [columns[name] for name in _LAUNCH]
        self._pending = bytearray(b"\1") * len(rows)

    def of(self, seqs: pa.ChunkedArray) -> tuple[list[int], Iterator[_Launch]]:
        """Return the places of launches by number, -1 for unknown ones, and the launches."""
        positions = self._positions.of(integers(seqs, NONE))
        if not self._order.size:
            return positions.tolist(), repeat((NONE,) * len(_LAUNCH), positions.size)
        places = np.where(positions < 0, -1, self._order[positions])
        return places.tolist(), self._at(places)

    def take(self, place: int) -> bool:
        """Return whether the launch at a place is known and was not taken before; take it."""
        is_pending = place >= 0 and self._pending[place] == 1
        if is_pending:
            self._pending[place] = 0
        return is_pending

    def remaining(self) -> Iterator[_Launch]:
        """Yield the launches that were not taken."""
        places = np.flatnonzero(np.frombuffer(self._pending, np.uint8))
        for first in range(0, places.size, _BATCH_ROWS):
            yield from self._at(places[first : first + _BATCH_ROWS])

    def _at(self, places: npt.NDArray[np.int64]) -> Iterator[_Launch]:
        return zip(*(column[places].tolist() for column in self._columns), strict=True)


def _mark_events(trace: Trace, run: Run) -> Iterator[_Event]:
    for mark in _rows(trace, run, "marks"):
        if mark["begin"] is not None and mark["end"] is not None:
            step = dict(mark["attributes"] or ()).get("step")
            name = f"{_STEP}#{step}" if step and mark["name"] == _STEP else mark["name"]
            span = (run.pid or 0, mark["thread"] or 0, mark["begin"], mark["end"])
            yield _event(_MARK, name, *span, {})


def _rows(trace: Trace, run: Run, table: str) -> Iterator[dict[str, Any]]:
    for piece in trace.pieces(table, [run]):
        yield from _plain_rows(piece)


def _values(column: pa.ChunkedArray) -> Iterable[Any]:
    """Return the values of a column; times are ns since 1970."""
    if column.null_count == len(column):  # as of most columns
        return repeat(None, len(column))
    is_time = pa.types.is_timestamp(column.type)
    values: list[Any] = (column.cast(pa.int64()) if is_time else column).to_pylist()
    return values


def _execution_event(row: dict[str, Any], facts: CallFacts, *, as_recorded: bool) -> _Event:
    """Return the event of an execution.

    `as_recorded`: with the name as it is, else a symbol is demangled.
    """
    call_facts = {} if row["call_id"] is None else facts.of(row["call_id"])
    members = json.loads(row["members"]) if row["members"] else {}
    args: dict[str, Any] = {
        "External id": row["external_id"],
        "device": row["device"],
        "stream": row["stream"],
        "correlation": row["correlation_id"],
        "graph id": row["graph_id"],
        "graph node id": row["graph_node_id"],
        "registers per thread": row["registers"],
        "shared memory": row["shared_bytes"],
        "bytes": row["bytes"],
        **{key: _axis_sizes(row, key) for key in ("grid", "block")},
        **call_facts,
        "kvtrace grade": row["grade"],
    }
    args = {key: value for key, value in args.items() if value is not None}
    args |= members.pop("args", {})
    for key in ("device", "stream", "bytes"):  # null: from another member of the imported event
        if key in args and args[key] is None:
            del args[key]
    category = _CATEGORY.get(row["kind"], "kernel")
    name = row["name"] or ""
    end = row["stated_end"] if row["end"] is None else row["end"]
    span = (
        row["device"] or 0,
        row["stream"] or 0,
        row["start"],
        row["start"] if end is None else end,
    )
    shown = name if as_recorded else names.full_name(name)
    event = {**_event(category, shown, *span, args), **members}
    if end is None:
        del event["dur"]
    elif end < row["start"]:
        event["dur"] = end - row["start"]
    return event


def _axis_sizes(row: dict[str, Any], name: str) -> list[int] | None:
    sizes = [row[f"{name}_{axis}"] for axis in "xyz"]
    return None if None in sizes else sizes


class _Template(NamedTuple):
    """Text of an event with "%s" for each number, and the index of its process and thread."""

    text: str
    place: int


class _Lines:
    """Events as JSON, one by one, and the flows between them.

    Most events of a recording differ from others in some numbers alone: what they share is encoded
    once, as a template with "%s" for these numbers.

    Args:
        base: The time from which times count, in ns since 1970.
        facts: The run's calls.
        run: The run.

    """

    def __init__(self, base: int, facts: CallFacts, run: Run) -> None:
        self.pid = run.pid or 0
        self._has_flows = run.source != _KINETO  # else they are among the kept events
        self._base = base
        self._facts = facts
        #: By what executions or launches share.
        self._templates: dict[tuple[Any, ...], _Template] = {}
        #: Process and thread of events that flows connect, as members.
        self._places = Names()
        #: Calls that ask for executions, and these: correlation id, place, begin since `base`.
        self._calls, self._executions = (IntegerRows("id", "place", "ts") for _ in range(2))

    def of(self, event: _Event) -> str:
        """Return any event with times in ns since 1970 as a line."""
        if "ts" in event:
            event["ts"] -= self._base
            if self._has_flows:
                self._note(event)
            event["ts"] = _microseconds(event["ts"])
        if "dur" in event:
            event["dur"] = _microseconds(event["dur"])
        return _encoded(event)

    def of_execution(
        self, shape: tuple[Any, ...], call_id: int | None, start: int, end: int,
        correlation: int | None, external: int | None,
    ) -> str:  # fmt: skip
        """Return the line of a recorded execution; `shape` has the values of `_SHAPE`."""
        ids = tuple(number for number in (external, correlation) if number is not None)
        key = (shape, call_id, correlation is None, external is None)
        template = self._templates.get(key)
        if template is None:
            row = dict(zip(_SHAPE, shape, strict=True)) | {"call_id": call_id}
            row |= {"start": start, "end": end}
            if row["members"]:  # which may take the place of any number
                row |= {"correlation_id": correlation, "external_id": external}
                return self.of(_execution_event(row, self._facts, as_recorded=False))
            row["correlation_id"] = None if correlation is None else _NUMBER
            row["external_id"] = None if external is None else _NUMBER
            event = _execution_event(row, self._facts, as_recorded=False)
            template = self._keep(key, event)
        if correlation is not None:
            self._executions.add(correlation, template.place, start - self._base)
        return template.text % (_microseconds(start - self._base), _microseconds(end - start), *ids)

    def of_launch(self, launch: _Launch, correlation: int | None) -> Iterator[str]:
        """Yield the line of a launch's operator, and of its driver's call if that has an id."""
        call_id, thread, begin, end = launch
        span = (self.pid, 0 if thread == NONE else thread, 0, 0)
        times = _microseconds(begin - self._base), _microseconds(max(end - begin, 0))
        operation = self._templates.get((call_id, thread))
        if operation is None:
            arguments = self._facts.of(call_id)
            name = arguments.get("kernel_name", "triton")
            operator = _event("cpu_op", name, *span, arguments) if arguments else None
            operation = self._keep((call_id, thread), operator)
        if operation.text:
            yield operation.text % times
        if correlation is None:
            return
        request = self._templates.get((thread,))
        if request is None:
            ids = {"correlation": _NUMBER}
            call = _event("cuda_driver", "cuLaunchKernelEx", *span, ids)
            request = self._keep((thread,), call)
        self._calls.add(correlation, request.place, begin - self._base)
        yield request.text % (*times, correlation)

    def _keep(self, key: tuple[Any, ...], event: _Event | None) -> _Template:
        """Return and remember an event's template; its text is "" for no event."""
        if len(self._templates) >= _MOST_TEMPLATES:
            self._templates.clear()
        template = _Template("", NONE)
        if event is not None:
            text = _encoded(event | {"ts": _NUMBER, "dur": _NUMBER})
            text = text.replace("%", "%%").replace(_encoded(_NUMBER), "%s")
            template = _Template(text, self._place(event))
        self._templates[key] = template
        return template

    def _note(self, event: _Event) -> None:
        """Remember an event that a flow may begin or end at."""
        correlation, category = mapping(event.get("args")).get("correlation"), event.get("cat")
        if type(correlation) is int and (category in _CALLS or category in _EXECUTIONS):
            ends = self._calls if category in _CALLS else self._executions
            ends.add(correlation, self._place(event), event["ts"])

    def _place(self, event: _Event) -> int:
        ids = {key: event.get(key) for key in ("pid", "tid")}
        return self._places.number(_encoded(ids)[1:-1])

    def flows(self) -> Iterator[str]:
        """Yield for each execution whose call is known the line of a flow from the call to it.

        None for an imported file of torch.profiler, which comes back with its own.
        """
        if not self._has_flows:
            return
        calls, executions = self._calls.arrays(), self._executions.arrays()
        last_first = np.arange(len(self._calls))[::-1]
        order = last_first[np.argsort(calls["id"][last_first], kind="stable")]
        positions = Positions(calls["id"][order]).of(executions["id"])
        called = np.flatnonzero(positions >= 0)
        call = order[positions[called]]
        begins = np.zeros(called.size, bool)  # executions of a graph's replay share one call
        begins[np.unique(call, return_index=True)[1]] = True
        for first in range(0, called.size, _BATCH_ROWS):
            rows = slice(first, first + _BATCH_ROWS)
            starts = zip(*(calls[key][call[rows]].tolist() for key in calls), strict=True)
            ends = zip(*(executions[key][called[rows]].tolist() for key in calls), strict=True)
            for begins_here, start, end in zip(begins[rows].tolist(), starts, ends, strict=True):
                if begins_here:
                    yield self._flow("s", *start)
                yield self._flow("f", *end)

    def _flow(self, phase: str, correlation: int, place: int, begin: int) -> str:
        return (
            f'{{"ph": "{phase}", "id": {correlation}, {self._places.texts[place]}, '
            f'"ts": {_microseconds(begin)}, "cat": "ac2g", "name": "ac2g", "bp": "e"}}'
        )


def _event(
    category: str, name: str, pid: int, tid: int, begin: int, end: int, args: dict[str, Any]
) -> _Event:
    return {
        "ph": "X",
        "cat": category,
        "name": name,
        "pid": pid,
        "tid": tid,
        "ts": begin,
        "dur": max(end - begin, 0),
        "args": args,
    }
