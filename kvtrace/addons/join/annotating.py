"""A file of torch.profiler with what a recording knows of its Triton kernels, read as a stream."""

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
#: How much longer an operator is than the driver's call in it, on each side: a nanosecond.
_MARGIN: Final = Decimal("0.001")
#: An execution: its correlation id, and its begin in ns since 1970.
_Key = tuple[int, int]


class Annotations:
    """What is known of the executions of a run, and what was done with it.

    Attributes:
        run_id: The run.
        done: Kernels and operators that got a call's arguments, and operators that were inserted.
        calls: By external id, the call of the kernel that its operator launched.
        alone: By correlation id, the call of a kernel that no operator launched.

    """

    def __init__(self, trace: Trace, run: Run, facts: CallFacts) -> None:
        columns = ["correlation_id", "start", "call_id", "graph_id", "grade"]
        rows = trace.table("gpu_kernels", [run], columns)
        rows = rows.filter(rows["call_id"].is_valid())
        shift = int(trace.passes(run.run_id).get(JOIN, {}).get("shift_ns", 0))
        place = zip(
            integers(rows["correlation_id"], NONE).tolist(),
            (integers(rows["start"], NONE) - shift).tolist(),
            strict=True,
        )
        calls, grades = rows["call_id"].to_pylist(), rows["grade"].to_pylist()
        graphs = rows["graph_id"].to_pylist()
        self._known = dict(zip(place, zip(calls, grades, graphs, strict=True), strict=True))
        self._facts = facts
        self.run_id = run.run_id
        self.done: Counter[str] = Counter()
        self.calls: dict[int, int] = {}
        self.alone: dict[int, int] = {}

    def of(self, key: _Key) -> dict[str, Any]:
        """Return the arguments of an execution's event; nothing of one that is not known."""
        found = self._known.get(key)
        if found is None:
            return {}
        call, grade, _ = found
        return {**self._facts.of(call), **({"kvtrace grade": grade} if grade else {})}

    def call_of(self, key: _Key) -> int | None:
        """Return the call of an execution that one launch made; None of a graph's, or unknown."""
        found = self._known.get(key)
        return None if found is None or found[2] is not None else found[0]

    def arguments(self, call: int) -> dict[str, Any]:
        """Return the arguments of events of a call."""
        return self._facts.of(call)

    def check(self, path: Path) -> None:
        """Raise BadSetting where nothing was added."""
        if not self.done["kernels"]:
            raise BadSetting(
                f"no execution in {path} is one of run {self.run_id}; join its times first: "
                f"kvtrace join TRACE --times {path}"
            )

    def sentences(self) -> tuple[str, ...]:
        """Say what was added."""
        return (
            f"arguments added to {plural(self.done['kernels'], 'kernel')} and "
            f"{plural(self.done['operators'], 'operator')}; "
            f"{plural(self.done['inserted'], 'operator')} inserted",
        )


def annotated_file(path: Path, known: Annotations) -> Iterator[str]:
    """Give the text of a file of torch.profiler with what is known of its kernels.

    Raises:
        BadSource: it is not JSON, or ends too early.
        BadSetting: none of its executions is known.
        TraceNotFound: there is no such file.

    """
    if not path.is_file():
        raise TraceNotFound(f"{path} is not a file; name what torch.profiler wrote.")
    _look_for_operators(path, known)
    with unpacked(path) as file:
        source = JsonFile(path, file, exact=True)
        separator, base = "{", 0
        for key in source.members():
            yield f"{separator}\n{json.dumps(key)}: "
            separator = ","
            if key == "traceEvents":
                yield from _array(
                    event for each in source.entries() for event in _told(each, base, known)
                )
                continue
            value = source.value()
            base = integer(value) if key == "baseTimeNanoseconds" else base
            yield _text(value)
        yield "\n}\n"
    known.check(path)


def _look_for_operators(path: Path, known: Annotations) -> None:
    """Note which kernels have an operator, as PyTorch's compiler writes them."""
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
                    call = known.call_of(_key(event, base))
                    if call is not None:
                        numbers = (integer(args.get("External id")), integer(args["correlation"]))
                        launched.append((*numbers, call, str(event.get("name"))))
    for external, correlation, call, name in launched:
        if operators.get(external) == name:
            known.calls[external] = call
        else:
            known.alone[correlation] = call


def _told(event: Any, base: int, known: Annotations) -> Iterator[Any]:
    """Give an event with what is known of it, after an operator that is made for it."""
    category, args = mapping(event).get("cat"), mapping(mapping(event).get("args"))
    if category == "kernel" and (more := known.of(_key(event, base))):
        known.done["kernels"] += 1
        yield {**event, "args": {**args, **more}}
        return
    if category == "cpu_op" and "kernel_backend" in args:
        call = known.calls.get(integer(args.get("External id")))
        if call is not None:
            known.done["operators"] += 1
            yield {**event, "args": {**args, **known.arguments(call)}}
            return
    call = known.alone.get(integer(args.get("correlation"))) if category in _DRIVER else None
    if call is not None and (span := _span(event)) is not None:
        known.done["inserted"] += 1
        yield _operator(event, span, known.arguments(call))
    yield event


def _span(event: dict[str, Any]) -> tuple[Decimal, Decimal] | None:
    """Return an event's begin and duration in microseconds; None where one is not a number."""
    try:
        begin, duration = (Decimal(str(event.get(key, 0))) for key in ("ts", "dur"))
    except InvalidOperation:
        return None
    return begin, duration


def _operator(
    call: dict[str, Any], span: tuple[Decimal, Decimal], arguments: dict[str, Any]
) -> dict[str, Any]:
    """Return an operator around the driver's call that launched a kernel."""
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


def _key(event: dict[str, Any], base: int) -> _Key:
    try:
        begin = base + nanoseconds(event.get("ts"))
    except ValueError:
        begin = NONE
    return integer(mapping(event.get("args")).get("correlation")), begin


def _array(values: Iterator[Any]) -> Iterator[str]:
    separator = "["
    for value in values:
        yield separator + "\n" + _text(value)
        separator = ","
    yield "\n]" if separator == "," else "[]"


def _text(value: Any) -> str:
    return json.dumps(value, default=float)
