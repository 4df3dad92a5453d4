"""Recording of NKI launches: kernels, unique calls and launches, and the calls' tables.

With `KVTRACE_SANITIZE=raise`, a launch that violates a rule raises instead of returning its result.
NKI kernels are judged by running them, so arguments that the kernel wrote to stay changed.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Container, Iterable, Mapping, Sequence
from dataclasses import is_dataclass, replace
from enum import Enum
from typing import TYPE_CHECKING, Any, Final

import numpy as np
import pyarrow as pa

from kvtrace.addons.neuron import findings, newer, older
from kvtrace.addons.neuron.arguments import array_of
from kvtrace.addons.neuron.dtypes import short_name
from kvtrace.addons.neuron.findings import RULES, Finding
from kvtrace.addons.neuron.launching import Kernel, Outcome
from kvtrace.addons.neuron.recording import BACKEND
from kvtrace.addons.neuron.recording.definitions import (
    BUFFERS,
    CALLS,
    DEFINITIONS,
    EXECUTIONS,
    OPS,
)
from kvtrace.addons.neuron.recording.rows import (
    ObservedLaunch,
    buffer_columns,
    derived_tables,
    empty_tables,
    finding_facts,
    finding_identity,
    finding_tables,
)
from kvtrace.addons.neuron.tokens import Token
from kvtrace.capture.arguments import literal
from kvtrace.capture.python_source import function_facts, used_files
from kvtrace.capture.records import ArgumentRecord, KernelRecord, Parameter, capped
from kvtrace.forks import Lock
from kvtrace.schema.arrays import array_of as arrow_array
from kvtrace.schema.errors import BadSetting, KernelDefect
from kvtrace.settings import Source
from kvtrace.verdicts.rules.choice import rule_ids

if TYPE_CHECKING:
    import pyarrow as pa

    from kvtrace.capture.session import Session


class ObservedCall:
    """The record of a call's first launch, and findings that only later launches had.

    Once the tables are made, the launch's record is released. With `only_findings`, for calls
    beyond the limit, there are no other tables.
    """

    def __init__(self, call_id: int, outcome: Outcome, *, only_findings: bool = False) -> None:
        self.function = outcome.kernel.function
        self._is_complete = not only_findings
        self._lock = Lock()
        self._observed: ObservedLaunch | None = None
        self._tables: dict[str, pa.Table] | None = None
        self._later_tables: list[dict[str, pa.Table]] = []
        self._call_id = call_id
        self._finding_ids: set[str] = set()
        if only_findings:
            self._tables = empty_tables()
            self.add_launch(outcome)
            return
        first_launch = self._observed = ObservedLaunch(
            call_id, outcome.grid, outcome.target, outcome.recorder
        )
        self._finding_ids = {
            finding_identity(first_launch, finding) for finding in outcome.recorder.findings
        }

    @property
    def has_rows(self) -> bool:
        """The call adds rows to at least one table."""
        return self._is_complete or bool(self._later_tables)

    def add_launch(self, outcome: Outcome) -> list[Finding]:
        """Store and return the findings of a later launch that no earlier launch had."""
        launch = ObservedLaunch(self._call_id, outcome.grid, outcome.target, outcome.recorder)

        new_findings = [
            finding
            for finding in outcome.recorder.findings
            if finding_identity(launch, finding) not in self._finding_ids
        ]
        if new_findings:
            self._finding_ids.update(finding_identity(launch, finding) for finding in new_findings)
            with self._lock:
                self._later_tables.append(finding_tables(launch, new_findings))
        return new_findings

    def tables(self) -> dict[str, pa.Table]:
        """Return the call's derived tables, including later launches' findings."""
        with self._lock:
            if self._tables is None:
                assert self._observed is not None
                self._tables = derived_tables(self._observed)
            table_sets = [self._tables, *self._later_tables]
            return self._tables | {
                name: pa.concat_tables([table_set[name] for table_set in table_sets])
                for name in ("findings", "stacks")
            }

    def buffers(self, add_stack: Callable[[Any], int]) -> dict[str, list[Any]]:
        """Return the columns of `buffers`, and release the record; to be called once."""
        assert self._observed is not None
        columns = buffer_columns(self._observed, add_stack)
        self.tables()
        self._observed = None
        return columns


def joined_tables(calls: Sequence[ObservedCall]) -> dict[str, pa.Table]:
    """Return the derived tables of several calls, concatenated; each stack has one row."""
    parts = [call.tables() for call in calls] or [empty_tables()]
    tables = {name: pa.concat_tables([part[name] for part in parts]) for name in parts[0]}
    stacks = tables["stacks"]
    first_rows: dict[int, int] = {}
    for row, stack_id in enumerate(stacks["stack_id"].to_pylist()):
        first_rows.setdefault(stack_id, row)
    return tables | {"stacks": stacks.take(arrow_array(list(first_rows.values()), pa.int64()))}


#: Client → its tables. Other clients need IR, which NKI kernels do not have.
CLIENTS: Final[Mapping[str, tuple[str, ...]]] = {
    "tracer": (BUFFERS.name, EXECUTIONS.name),
    "profiler": ("ops", "loops", OPS.name, CALLS.name),
    "sanitizer": ("findings",),
}
#: Maximum number of unique calls whose ops and buffers are kept, in memory.
_OBSERVED_LIMIT: Final = 1000

#: Total of executed ops after which no further calls are kept.
_ROWS_LIMIT: Final = 5_000_000

_NAME: Final = "nki"


class Launches:
    """The observer that records the NKI kernels, calls and launches of a session."""

    def __init__(self, session: Session) -> None:
        self._session = session
        self._lock = Lock()
        self._raised_rules: tuple[str, ...] = ()
        if session.settings.sanitize == "raise":
            self._raised_rules = raised_rules(session)
        self._begin_run()
        session.at_end.append(self._add_tables)

    def _begin_run(self) -> None:
        """Clear all records, as a forked process records a separate run."""
        self._process = os.getpid()
        self._kernels: dict[tuple[Any, ...], int] = {}
        self._calls: dict[tuple[Any, ...], int] = {}
        self._observed_calls: dict[int, ObservedCall] = {}
        #: Number of completely kept calls, and of their executed ops.
        self._complete_calls = self._rows = 0

    def before(self, kernel: Kernel, grid: tuple[int, ...], bound: dict[str, Any]) -> Any:
        """Return start time (ns) and contents of tensors; None if the kernel is not recorded."""
        del grid
        session = self._session
        if not session.records_launches or not session.settings.records_kernel(kernel.__name__):
            return None
        contents = {}
        if session.settings.tensors in ("int", "all"):
            try:
                contents = _contents(bound, everything=session.settings.tensors == "all")
            except Exception as error:  # noqa: BLE001 - counted; never the program's problem
                session.problem(error)
        return time.time_ns(), contents

    def after(self, token: Any, outcome: Outcome | None) -> Exception | None:
        """Record a launch, up to its error if the kernel raised.

        Returns the error to raise if the setting `sanitize` is `raise` and a rule was violated,
        else None.
        """
        if token is None or outcome is None:
            return None
        defect = None
        if self._raised_rules and not outcome.error:
            defect = defect_of(outcome, self._raised_rules)
        leave = time.time_ns()
        try:
            with self._lock:
                if self._process != os.getpid():
                    self._begin_run()
                call_id = self._call_id(outcome, token[1])
            self._session.add_launch(call_id, token[0], leave)
            self._session.spent(time.time_ns() - leave)
        except Exception as error:  # noqa: BLE001 - counted; never the program's problem
            self._session.problem(error)
        return defect

    def observed(self, function: Any) -> list[ObservedCall]:
        """Return the unique calls of a kernel's function that have rows."""
        with self._lock:
            return [call for call in self._calls_with_rows() if call.function is function]

    def _call_id(self, outcome: Outcome, contents: dict[str, bytes]) -> int:
        arguments = _argument_records(outcome.arguments)
        kernel = (outcome.kernel.function, outcome.kernel.interface, outcome.target.name)
        # The error is part of the key: a launch that raised is not a complete record of the call.
        call_key = (*kernel, outcome.grid, outcome.error, *(record for _, record in arguments))
        recorded_id = self._calls.get(call_key)
        if recorded_id is not None:
            if outcome.recorder.findings and recorded_id in self._observed_calls:
                new_findings = self._observed_calls[recorded_id].add_launch(outcome)
                self._report_findings(outcome, new_findings)
            return recorded_id
        kernel_id = self._kernel_id(outcome, arguments)
        x, y, z = (*outcome.grid, 1, 1)[:3]
        records = [replace(record, value=contents.get(record.name)) for _, record in arguments]
        call_id = self._session.add_call(kernel_id, (x, y, z), records)
        self._calls[call_key] = call_id
        if outcome.error:
            message = (
                f"{outcome.error}; kernel {outcome.kernel.__name__} is recorded up to this error"
            )
            self._session.message("warning", "nki-raised", message)
        self._observe(call_id, outcome)
        return call_id

    def _kernel_id(self, outcome: Outcome, values: list[tuple[Parameter, ArgumentRecord]]) -> int:
        parameters = tuple(parameter for parameter, _ in values)
        kernel_key = (
            outcome.kernel.function,
            outcome.kernel.interface,
            outcome.target.name,
            parameters,
        )
        kernel_id = self._kernels.get(kernel_key)
        if kernel_id is None:
            record = _kernel_record(outcome, parameters, self._session.settings.source)
            kernel_id = self._kernels[kernel_key] = self._session.add_kernel(record)
        return kernel_id

    def _observe(self, call_id: int, outcome: Outcome) -> None:
        """Store the first launch of a call, or only its findings if limits are exceeded."""
        session = self._session
        self._report_findings(outcome, outcome.recorder.findings)
        is_over_limit = self._complete_calls >= _OBSERVED_LIMIT or self._rows > _ROWS_LIMIT
        call = ObservedCall(call_id, outcome, only_findings=is_over_limit)
        self._observed_calls[call_id] = call
        if is_over_limit:
            message = (
                f"ops were recorded for only the first {self._complete_calls:,} unique calls of "
                f"NKI kernels, {self._rows:,} executed ops; further calls have only findings"
            )
            session.message("info", "watch-limit", message)
            return
        self._complete_calls += 1
        self._rows += len(outcome.recorder.rows)
        session.add_columns("buffers", call.buffers)

    def _calls_with_rows(self) -> list[ObservedCall]:
        return [call for call in self._observed_calls.values() if call.has_rows]

    def _report_findings(self, outcome: Outcome, new_findings: Sequence[findings.Finding]) -> None:
        for finding in new_findings:
            if finding.severity == "error":
                innermost = next(iter(outcome.recorder.sites[finding.site].frames), None)
                location = "" if innermost is None else f" ({innermost.file}:{innermost.line})"
                message = f"kernel {outcome.kernel.__name__}: {finding.message}{location}"
                self._session.message("warning", f"nki-{finding.rule}", message)

    def _add_tables(self) -> None:
        run_id = self._session.run_id
        calls = self._calls_with_rows()
        if run_id is None or not calls or self._process != os.getpid():
            return
        from kvtrace.schema.trace import open_trace

        facts = {"while": "running", "rules": findings.ADDED.rules}
        tables = joined_tables(calls)
        open_trace(self._session.out).add_derived(run_id, _NAME, tables, facts, DEFINITIONS)


def _contents(bound: dict[str, Any], *, everything: bool) -> dict[str, bytes]:
    """Return tensors' bytes before a launch by argument: `everything`, or integers and bools."""
    contents = {}
    for name, value in (pair for argument in bound.items() for pair in _flat_items(*argument)):
        array = array_of(value)
        if array is not None and (everything or array.dtype.kind in "iub"):
            contents[name] = array.tobytes()
    return contents


def _argument_records(bound: dict[str, Any]) -> list[tuple[Parameter, ArgumentRecord]]:
    arguments: list[tuple[Parameter, ArgumentRecord]] = []
    first_positions: dict[int, int] = {}
    for name, value in bound.items():
        for path, item in _flat_items(name, value):
            arguments.append(_argument_record(path, item, len(arguments), first_positions))
    return arguments


def _flat_items(name: str, value: Any) -> list[tuple[str, Any]]:
    """Return (path, value) of the items of an argument; without arrays, the argument itself."""
    if isinstance(value, dict):
        items = [(f"{name}.{key}", item) for key, item in value.items()]
    elif isinstance(value, tuple | list):
        items = [(f"{name}.{index}", item) for index, item in enumerate(value)]
    else:
        return [(name, value)]
    pairs = [pair for path, item in items for pair in _flat_items(path, item)]
    return pairs if any(array_of(item) is not None for _, item in pairs) else [(name, value)]


def _constant_text(value: Any) -> str:
    """Return a constant as text, equal only for equal constants of a type."""
    if isinstance(value, Enum | Token | np.dtype | dict) or is_dataclass(value):
        return capped(repr(value))
    return literal(value)


def _argument_record(
    name: str, value: Any, position: int, first_positions: dict[int, int]
) -> tuple[Parameter, ArgumentRecord]:
    array = array_of(value)
    if array is None:
        text = _constant_text(value)
        return Parameter(name, "constexpr", text), ArgumentRecord(name, "constexpr", scalar=text)
    address = int(array.__array_interface__["data"][0])
    dtype = short_name(array.dtype)
    record = ArgumentRecord(
        name,
        "tensor",
        dtype=dtype,
        device="cpu",
        shape=array.shape,
        strides=tuple(step // array.itemsize for step in array.strides),
        offset_bytes=0,
        storage_bytes=array.nbytes,
        alias_group=first_positions.setdefault(address, position),
        alignment=address % 16,
    )
    return Parameter(name, f"*{dtype}"), record


def _kernel_record(
    outcome: Outcome, parameters: tuple[Parameter, ...], source_setting: Source
) -> KernelRecord:
    frames = (frame for site in outcome.recorder.sites for frame in site.frames)
    return KernelRecord(
        **function_facts(outcome.kernel.function, source_setting),
        name=outcome.kernel.__name__,
        origin="nki",
        files=used_files(((frame.file, frame.line) for frame in frames), source_setting),
        signature=parameters,
        target=f"neuron:{outcome.target.name}",
        options={"interface": outcome.kernel.interface},
    )


# -- launches that raise ---------------------------------------------------------------------------


def raised_rules(session: Session) -> tuple[str, ...]:
    """Return the NKI rules that the settings select; on a bad setting, warn and use the default."""
    try:
        return _nki_rules(rule_ids([session.settings.rules]))
    except BadSetting as error:
        session.message("warning", "bad-setting", f"{error} Judging by the default rules.")
        return _nki_rules(rule_ids(["default"]))


def _nki_rules(rules: Iterable[str]) -> tuple[str, ...]:
    return tuple(rule for rule in rules if rule in RULES)


def defect_of(outcome: Outcome, rules: Container[str]) -> KernelDefect | None:
    """Return the error for a launch with findings of severity error for some rules, or None."""
    violations = [
        finding
        for finding in outcome.recorder.findings
        if finding.severity == "error" and finding.rule in rules
    ]
    if not violations:
        return None
    json_objects = [_json_object(outcome, finding) for finding in violations]
    lines = [
        f"{defect['file']}:{defect['line']}: error[{defect['rule']}]: {defect['message']}"
        for defect in json_objects
    ]
    name = outcome.kernel.__name__
    return KernelDefect("\n".join([f"kernel {name} has a defect:", *lines]), json_objects)


def _json_object(outcome: Outcome, finding: Finding) -> dict[str, Any]:
    """Return a finding in the form of `kvtrace sanitize --json`, as far as its fields are known."""
    innermost = next(iter(outcome.recorder.sites[finding.site].frames), None)
    return finding_facts(finding) | {
        "kernel": outcome.kernel.__name__,
        "file": None if innermost is None else innermost.file,
        "line": None if innermost is None else innermost.line,
    }


class WatchedKernel:
    """A kernel whose launches are recorded, by a new session if none is in progress."""

    def __init__(
        self, kernel: Any, client: Any, session: Callable[[str], Session], grid: Any = None
    ) -> None:
        """`kernel` is a kernel or a plain function; `session` starts the recording for a name.

        Raises:
            BadSetting: the client does not support NKI kernels.
        """
        if client is not None and client not in CLIENTS:
            raise BadSetting(
                f"clients of NKI kernels are {', '.join(CLIENTS)}; there is no {client!r}"
            )
        self._kernel = kernel if isinstance(kernel, Kernel) else _kernel_of(kernel)
        self._client = client
        self._session = session
        self._grid = grid
        self.__doc__ = self._kernel.__doc__

    def __getitem__(self, grid: Any) -> WatchedKernel:
        return WatchedKernel(self._kernel, self._client, self._session, grid)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._kernel, name)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Launch the kernel, start a recording if none is in progress, and return the results."""
        self._session(self._kernel.__name__)
        kernel = self._kernel if self._grid is None else self._kernel[self._grid]
        return kernel(*args, **kwargs)

    def tables(self) -> dict[str, pa.Table]:
        """Return the tables (of the client, if any) of the calls so far, and their `stacks`."""
        launches: Launches | None = BACKEND.observer
        calls = [] if launches is None else launches.observed(self._kernel.function)
        tables = joined_tables(calls)
        if self._client is None:
            return tables
        return {name: tables[name] for name in (*CLIENTS[self._client], "stacks")}


def _kernel_of(function: Callable[..., Any]) -> Kernel:
    """Return a plain function as a kernel of the interface whose modules the function imports."""
    names = (getattr(value, "__name__", "") for value in function.__globals__.values())
    is_newer = any(name.startswith((newer.__name__, "nki.")) or name == "nki" for name in names)
    kernel: Kernel = (newer if is_newer else older).jit(function)
    return kernel
