"""`kvtrace convert kineto`: torch.profiler's JSON, with shapes, bytes and FLOPs of Triton kernels.

With `--set trace=FILE`, facts of the recording are added to that file: arguments to events of
kernels, and to the operators that PyTorch's compiler writes for its kernels; kernels without an
operator get one around the driver's call, as PyTorch does. Otherwise the events are built from the
tables. Fields: https://github.com/pytorch/kineto/blob/main/libkineto/src/output_json.cpp
"""

import gzip
import json
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from decimal import Decimal, InvalidOperation
from itertools import islice
from pathlib import Path
from typing import Any, BinaryIO, Final

from kvtrace.addons.join.call_facts import CallFacts
from kvtrace.addons.join.events import event_lines, file_members
from kvtrace.converters.importers.importing import unpacked
from kvtrace.converters.importers.json_stream import JsonFile
from kvtrace.converters.importers.json_values import integer, mapping, nanoseconds
from kvtrace.converters.importers.rows import NONE
from kvtrace.converters.output import whole_file
from kvtrace.converters.registry import Conversion, reject_unknown_settings
from kvtrace.figures.columns import integers
from kvtrace.figures.scans import row_count
from kvtrace.schema.errors import BadSetting, TraceNotFound
from kvtrace.schema.layout import JOIN
from kvtrace.schema.runs import Run
from kvtrace.schema.trace import Selection, Trace
from kvtrace.schema.without_ir import runs_without_ir
from kvtrace.text import plural

_SECOND: Final = 1_000_000_000
_WRITTEN_EVENTS: Final = 1024
_WITH_EVENTS: Final = ("launches", "gpu_kernels", "tool_events")
_REPLAY: Final = "bytes and FLOPs are missing: kvtrace profile --replay derives them"
_NO_IR: Final = "bytes and FLOPs are missing: the trace has no TTIR, which they are derived from"


class KinetoConverter:
    """Converter to torch.profiler's JSON, for tools that read this format, such as HTA."""

    summary = "torch.profiler's JSON, with shapes, bytes and FLOPs of Triton kernels"
    default_output = "kvtrace.pt.trace.json"

    def convert(
        self, selection: Selection, output: Path, settings: Mapping[str, str]
    ) -> Conversion:
        """Write one run's events into `output`, or with the setting `trace` the annotated file."""
        reject_unknown_settings("kineto", settings, ("trace",))
        trace, run = selection.trace, _one_run(selection)
        facts = CallFacts(trace, run)
        if "trace" in settings:
            annotations = Annotations(trace, run, facts)
            parts = annotated_file(Path(settings["trace"]), annotations)
            _write(output, parts)
            notes = annotations.sentences()
        else:
            _write(output, _document_parts(trace, run, facts))
            notes = ()
        if facts.underived:
            notes = (*notes, _NO_IR if runs_without_ir(trace, (run,)) else _REPLAY)
        return Conversion((output,), notes)


CONVERTER: Final = KinetoConverter()


def _one_run(selection: Selection) -> Run:
    """Return the only run with events, since torch.profiler writes a file per process.

    Raises:
        BadSetting: no run, or several, have launches, executions or an imported file's events.
    """
    runs = [
        run
        for run in selection.runs
        if any(row_count(selection.trace, run, name) for name in _WITH_EVENTS)
    ]
    if len(runs) != 1:
        raise BadSetting(
            f"{selection.trace.path} has {plural(len(runs), 'run')} with launches or executions, "
            "but a file of torch.profiler is of one process: name one run with --run."
        )
    return runs[0]


def _document_parts(trace: Trace, run: Run, facts: CallFacts) -> Iterator[str]:
    document_head = file_members(trace, run)
    base = document_head.get("baseTimeNanoseconds", 0)
    if not document_head:
        base = (
            (run.started or 0) // _SECOND * _SECOND
        )  # µs since 1970 have more digits than a float
        document_head = _new_members(run, base)
    yield json.dumps(document_head)[:-1] + ', "traceEvents": [\n'
    events = event_lines(trace, run, facts, base)
    separator = ""
    while lines := ",\n".join(islice(events, _WRITTEN_EVENTS)):
        yield separator + lines
        separator = ",\n"
    yield "\n]}\n"


def _new_members(run: Run, base: int) -> dict[str, Any]:
    """Return the members of a file of a run besides its events; times count from `base` (ns)."""
    members: dict[str, Any] = {"schemaVersion": 1, "displayTimeUnit": "ms"}
    members["baseTimeNanoseconds"] = base
    if run.rank is not None:
        members["distributedInfo"] = {"rank": run.rank, "world_size": run.world_size}
    members["deviceProperties"] = [
        {"id": device["index"], "name": device["name"], "totalGlobalMem": device["memory_bytes"]}
        for device in run.devices
    ]
    return members


def _write(output: Path, parts: Iterable[str]) -> None:
    with whole_file(output) as file, _compressed(output, file) as target:
        for part in parts:
            target.write(part.encode())


@contextmanager
def _compressed(output: Path, file: BinaryIO) -> Iterator[Any]:
    """Yield the file to write into: one that compresses if the output's name ends in .gz."""
    if output.suffix != ".gz":
        yield file
        return
    with gzip.GzipFile(filename="", mode="wb", fileobj=file, mtime=0) as packed:
        yield packed


# -- facts of a recording, added event by event ----------------------------------------------------


_DRIVER: Final = ("cuda_driver", "cuda_runtime")
#: Margin of an inserted operator around the driver's call, on each side: a nanosecond.
_MARGIN: Final = Decimal("0.001")
#: An execution: its correlation id, and its begin in ns since 1970.
_Key = tuple[int, int]


class Annotations:
    """Facts on the executions of a run, and counts of annotated events.

    Attributes:
        run_id: The run.
        facts: The arguments to add to events of its calls.
        done: Counts of "kernels" and "operators" with added facts, and of "inserted" operators.
        calls: External id of an operator → call id of the kernel that it launched.
        alone: Correlation id of a kernel without an operator → its call id.
    """

    def __init__(self, trace: Trace, run: Run, facts: CallFacts) -> None:
        columns = ["correlation_id", "start", "call_id", "graph_id", "grade"]
        rows = trace.table("gpu_kernels", [run], columns)
        rows = rows.filter(rows["call_id"].is_valid())
        shift_ns = int(trace.passes(run.run_id).get(JOIN, {}).get("shift_ns", 0))
        keys = zip(
            integers(rows["correlation_id"], NONE).tolist(),
            (integers(rows["start"], NONE) - shift_ns).tolist(),
            strict=True,
        )
        calls, grades = rows["call_id"].to_pylist(), rows["grade"].to_pylist()
        graphs = rows["graph_id"].to_pylist()
        self._matches = dict(zip(keys, zip(calls, grades, graphs, strict=True), strict=True))
        self.facts = facts
        self.run_id = run.run_id
        self.done: Counter[str] = Counter()
        self.calls: dict[int, int] = {}
        self.alone: dict[int, int] = {}

    def of(self, key: _Key) -> dict[str, Any]:
        """Return the arguments to add to an execution's event; empty for unknown executions."""
        match = self._matches.get(key)
        if match is None:
            return {}
        call, grade, _ = match
        return {**self.facts.of(call), **({"kvtrace grade": grade} if grade else {})}

    def call_of(self, key: _Key) -> int | None:
        """Return the call id of an execution; None if it is unknown or a graph's replay."""
        match = self._matches.get(key)
        return None if match is None or match[2] is not None else match[0]

    def check(self, path: Path) -> None:
        """Raise BadSetting if no kernel of the file `path` got facts."""
        if not self.done["kernels"]:
            raise BadSetting(
                f"no execution in {path} was joined to run {self.run_id}; first run "
                f"kvtrace import {path} --into TRACE"
            )

    def sentences(self) -> tuple[str, ...]:
        """Return one sentence with the counts of annotated and inserted events."""
        return (
            f"arguments added to {plural(self.done['kernels'], 'kernel')} and "
            f"{plural(self.done['operators'], 'operator')}; "
            f"{plural(self.done['inserted'], 'operator')} inserted",
        )


def annotated_file(path: Path, annotations: Annotations) -> Iterator[str]:
    """Yield the text of a torch.profiler file with facts on its kernels added.

    Raises:
        BadSource: the file is not JSON, or ends too early.
        BadSetting: none of the file's executions was joined to the run.
        TraceNotFound: there is no such file.
    """
    if not path.is_file():
        raise TraceNotFound(f"{path} is not a file; --set trace=FILE needs torch.profiler's file.")
    _find_operators(path, annotations)
    with unpacked(path) as file:
        source = JsonFile(path, file, exact=True)
        separator, base = "{", 0
        for key in source.members():
            yield f"{separator}\n{json.dumps(key)}: "
            separator = ","
            if key == "traceEvents":
                yield from _array_text(
                    event
                    for entry in source.entries()
                    for event in _annotated(entry, base, annotations)
                )
                continue
            value = source.value()
            base = integer(value) if key == "baseTimeNanoseconds" else base
            yield _json_text(value)
        yield "\n}\n"
    annotations.check(path)


def _find_operators(path: Path, annotations: Annotations) -> None:
    """Store in `annotations` the calls of kernels with and without an operator in the file."""
    operators: dict[int, str] = {}
    launched: list[tuple[int, int, int, str]] = []
    with unpacked(path) as file:
        source, base = JsonFile(path, file, exact=True), 0
        for key in source.members():
            if key != "traceEvents":
                value = source.value()
                base = integer(value) if key == "baseTimeNanoseconds" else base
                continue
            for event in map(mapping, source.entries()):
                args = mapping(event.get("args"))
                if event.get("cat") == "cpu_op" and "kernel_backend" in args:
                    operators[integer(args.get("External id"))] = str(event.get("name"))
                elif event.get("cat") == "kernel":
                    call = annotations.call_of(_execution_key(event, base))
                    if call is not None:
                        ids = (integer(args.get("External id")), integer(args["correlation"]))
                        launched.append((*ids, call, str(event.get("name"))))
    for external, correlation, call, name in launched:
        if operators.get(external) == name:
            annotations.calls[external] = call
        else:
            annotations.alone[correlation] = call


def _annotated(event: Any, base: int, annotations: Annotations) -> Iterator[Any]:
    """Yield an event of the file, with added facts if it is a known kernel or its operator.

    For the driver's call of a kernel without an operator, an inserted operator comes first.
    """
    category, args = mapping(event).get("cat"), mapping(mapping(event).get("args"))
    if category == "kernel" and (facts := annotations.of(_execution_key(event, base))):
        annotations.done["kernels"] += 1
        yield {**event, "args": {**args, **facts}}
        return
    if category == "cpu_op" and "kernel_backend" in args:
        call = annotations.calls.get(integer(args.get("External id")))
        if call is not None:
            annotations.done["operators"] += 1
            yield {**event, "args": {**args, **annotations.facts.of(call)}}
            return
    call = annotations.alone.get(integer(args.get("correlation"))) if category in _DRIVER else None
    if call is not None and (span := _begin_and_duration(event)) is not None:
        annotations.done["inserted"] += 1
        yield _operator(event, span, annotations.facts.of(call))
    yield event


def _begin_and_duration(event: dict[str, Any]) -> tuple[Decimal, Decimal] | None:
    """Return an event's begin and duration in microseconds, or None if a value is not a number."""
    try:
        begin, duration = (Decimal(str(event.get(key, 0))) for key in ("ts", "dur"))
    except InvalidOperation:
        return None
    return begin, duration


def _operator(
    call: dict[str, Any], span: tuple[Decimal, Decimal], arguments: dict[str, Any]
) -> dict[str, Any]:
    """Return a new operator event around `call`, the driver's call that launched a kernel."""
    begin, duration = span
    return {
        "ph": "X",
        "cat": "cpu_op",
        "name": arguments.get("kernel_name", "triton"),
        "pid": call.get("pid"),
        "tid": call.get("tid"),
        "ts": begin - _MARGIN,
        "dur": duration + 2 * _MARGIN,
        "args": arguments,
    }


def _execution_key(event: dict[str, Any], base: int) -> _Key:
    try:
        begin = base + nanoseconds(event.get("ts"))
    except ValueError:
        begin = NONE
    return integer(mapping(event.get("args")).get("correlation")), begin


def _array_text(values: Iterator[Any]) -> Iterator[str]:
    separator = "["
    for value in values:
        yield separator + "\n" + _json_text(value)
        separator = ","
    yield "\n]" if separator == "," else "[]"


def _json_text(value: Any) -> str:
    return json.dumps(value, default=float)
