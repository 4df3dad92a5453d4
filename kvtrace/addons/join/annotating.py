"""Facts of a recording on Triton kernels, added to a torch.profiler file event by event."""

import json
from collections import Counter
from collections.abc import Iterator
from decimal import Decimal, InvalidOperation
from pathlib import Path
from typing import Any, Final

from kvtrace.addons.join.call_facts import CallFacts
from kvtrace.converters.importers.importing import unpacked
from kvtrace.converters.importers.json_stream import JsonFile
from kvtrace.converters.importers.json_values import integer, mapping, nanoseconds
from kvtrace.converters.importers.rows import NONE
from kvtrace.figures.columns import integers
from kvtrace.schema.errors import BadSetting, TraceNotFound
from kvtrace.schema.layout import JOIN
from kvtrace.schema.runs import Run
from kvtrace.schema.trace import Trace
from kvtrace.text import plural

_DRIVER: Final = ("cuda_driver", "cuda_runtime")
#: Margin of an inserted operator around the driver's call, on each side: a nanosecond.
_MARGIN: Final = Decimal("0.001")
#: An execution: its correlation id, and its begin in ns since 1970.
_Key = tuple[int, int]


class Annotations:
    """Facts on the executions of a run, and counts of annotated events.

    Attributes:
        run_id: The run.
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
        self._facts = facts
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
        return {**self._facts.of(call), **({"kvtrace grade": grade} if grade else {})}

    def call_of(self, key: _Key) -> int | None:
        """Return the call id of an execution; None if it is unknown or a graph's replay."""
        match = self._matches.get(key)
        return None if match is None or match[2] is not None else match[0]

    def arguments(self, call: int) -> dict[str, Any]:
        """Return the arguments to add to events of a call."""
        return self._facts.of(call)

    def check(self, path: Path) -> None:
        """Raise BadSetting if no kernel of the file `path` got facts."""
        if not self.done["kernels"]:
            raise BadSetting(
                f"no execution in {path} was joined to run {self.run_id}; first run "
                f"kvtrace join TRACE --times {path}"
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
            yield {**event, "args": {**args, **annotations.arguments(call)}}
            return
    call = annotations.alone.get(integer(args.get("correlation"))) if category in _DRIVER else None
    if call is not None and (span := _begin_and_duration(event)) is not None:
        annotations.done["inserted"] += 1
        yield _operator(event, span, annotations.arguments(call))
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
