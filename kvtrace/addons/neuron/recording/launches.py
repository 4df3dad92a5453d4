"""Launches of NKI kernels: kernels and calls are recorded once, and what a call did with them."""

import os
import threading
import time
from collections.abc import Sequence
from dataclasses import is_dataclass, replace
from enum import Enum
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from kvtrace.addons.neuron import findings
from kvtrace.addons.neuron.arguments import array_of
from kvtrace.addons.neuron.dtypes import short_name
from kvtrace.addons.neuron.launching import Kernel, Outcome
from kvtrace.addons.neuron.recording.call_tables import ObservedCall, joined
from kvtrace.addons.neuron.recording.definitions import DEFINITIONS
from kvtrace.addons.neuron.recording.refusing import refusal_of, refused_rules
from kvtrace.addons.neuron.tokens import Token
from kvtrace.backends.python_source import definition_line, function_source, kept_of_file
from kvtrace.capture.arguments import literal
from kvtrace.capture.records import ArgumentRecord, KernelRecord, Parameter, capped
from kvtrace.forks import Lock
from kvtrace.settings import Source

if TYPE_CHECKING:
    from kvtrace.capture.session import Session

#: Unique calls whose ops, buffers and findings are kept: they wait in memory.
_OBSERVED_LIMIT: Final = 1000

#: Executed ops after which no further calls are observed.
_ROWS_LIMIT: Final = 5_000_000

_NAME: Final = "nki"


class Launches:
    """What one session has recorded of NKI kernels."""

    def __init__(self, session: "Session") -> None:
        self._session = session
        self._lock = Lock()
        self._refused: tuple[str, ...] = ()
        if session.settings.sanitize == "raise":
            self._refused = refused_rules(session)
        self._begin_run()
        session.at_end.append(self._finish)

    def _begin_run(self) -> None:
        """A forked process records a separate run."""
        self._process = os.getpid()
        self._kernels: dict[tuple[Any, ...], int] = {}
        self._calls: dict[tuple[Any, ...], int] = {}
        self._by_call: dict[int, ObservedCall] = {}
        #: Calls that are kept whole, and their executed ops.
        self._whole = self._rows = 0

    @property
    def keeps_tiles(self) -> bool:
        """Whether what tiles hold is recorded: where all that tensors hold is."""
        return self._session.settings.tensors == "all"

    def before(self, kernel: Kernel, grid: tuple[int, ...], bound: dict[str, Any]) -> Any:
        """Note when a launch begins, and what tensors hold if it is kept; None: not recorded."""
        del grid
        session = self._session
        if not session.recording or not session.settings.records_kernel(kernel.__name__):
            return None
        contents = {}
        if session.settings.tensors in ("int", "all"):
            try:
                contents = _contents(bound, everything=session.settings.tensors == "all")
            except Exception as error:  # noqa: BLE001 - counted; never the program's problem
                session.problem(error)
        return time.time_ns(), contents

    def after(self, token: Any, outcome: Outcome | None) -> Exception | None:
        """Record a launch, as far as it came where the kernel raised.

        Gives what is wrong with it where the setting `sanitize` asks for that to be raised.
        """
        if token is None or outcome is None:
            return None
        refusal = None
        if self._refused and not outcome.error:
            refusal = refusal_of(outcome, self._refused)
        leave = time.time_ns()
        try:
            with self._lock:
                if self._process != os.getpid():
                    self._begin_run()
                call_id = self._call(outcome, token[1])
            self._session.add_launch(call_id, token[0], leave)
            self._session.spent(time.time_ns() - leave)
        except Exception as error:  # noqa: BLE001 - counted; never the program's problem
            self._session.problem(error)
        return refusal

    def observed(self, function: Any) -> list[ObservedCall]:
        """Return the records of a kernel's unique calls."""
        with self._lock:
            return [each for each in self._told() if each.function is function]

    def _call(self, outcome: Outcome, contents: dict[str, bytes]) -> int:
        values = _arguments(outcome.arguments)
        kernel = (outcome.kernel.function, outcome.kernel.kind, outcome.target.name)
        # What a launch that raised did is not a record of the call: another may run to the end.
        key = (*kernel, outcome.grid, outcome.error, *(record for _, record in values))
        known = self._calls.get(key)
        if known is not None:
            if outcome.recorder.findings and known in self._by_call:
                self._tell(outcome, self._by_call[known].again(outcome))
            return known
        kernel_id = self._kernel(outcome, values)
        x, y, z = (*outcome.grid, 1, 1)[:3]
        records = [replace(each, value=contents.get(each.name)) for _, each in values]
        call_id = self._session.add_call(kernel_id, (x, y, z), records)
        self._calls[key] = call_id
        if outcome.error:
            text = f"{outcome.error}; what kernel {outcome.kernel.__name__} did until then is kept"
            self._session.message("warning", "nki-raised", text)
        self._observe(call_id, outcome)
        return call_id

    def _kernel(self, outcome: Outcome, values: list[tuple[Parameter, ArgumentRecord]]) -> int:
        parameters = tuple(parameter for parameter, _ in values)
        key = (outcome.kernel.function, outcome.kernel.kind, outcome.target.name, parameters)
        known = self._kernels.get(key)
        if known is None:
            record = _kernel_record(outcome, parameters, self._session.settings.source)
            known = self._kernels[key] = self._session.add_kernel(record)
        return known

    def _observe(self, call_id: int, outcome: Outcome) -> None:
        """Keep what the first launch of a call did."""
        session = self._session
        self._tell(outcome, outcome.recorder.findings)
        beyond = self._whole >= _OBSERVED_LIMIT or self._rows > _ROWS_LIMIT
        call = self._by_call[call_id] = ObservedCall(call_id, outcome, only_findings=beyond)
        if beyond:
            text = (
                f"only the first {self._whole:,} unique calls of NKI kernels were observed: "
                f"{self._rows:,} of their executed ops are kept; others have only findings"
            )
            session.message("info", "watch-limit", text)
            return
        self._whole += 1
        self._rows += len(outcome.recorder.rows)
        session.add_columns("buffers", call.buffers)

    def _told(self) -> list[ObservedCall]:
        """Return the calls that have rows in the run's tables."""
        return [each for each in self._by_call.values() if each.has_rows]

    def _tell(self, outcome: Outcome, found: Sequence[findings.Finding]) -> None:
        """Say what is wrong, once each."""
        for finding in found:
            if finding.severity == "error":
                place = next(iter(outcome.recorder.sites[finding.site].frames), None)
                where = "" if place is None else f" ({place.file}:{place.line})"
                text = f"kernel {outcome.kernel.__name__}: {finding.message}{where}"
                self._session.message("warning", f"nki-{finding.rule}", text)

    def _finish(self) -> None:
        """Add what calls did to the run, which ends."""
        run_id = self._session.run_id
        told = self._told()
        if run_id is None or not told or self._process != os.getpid():
            return
        from kvtrace.schema.trace import open_trace

        facts = {"while": "running", "rules": findings.ADDED.rules}
        tables = joined(told)
        open_trace(self._session.out).add_derived(run_id, _NAME, tables, facts, DEFINITIONS)


def _contents(bound: dict[str, Any], *, everything: bool) -> dict[str, bytes]:
    """Copy what tensors hold before a launch, by their names: all of them, or integers only."""
    found = {}
    for name, value in (pair for each in bound.items() for pair in _flat(*each)):
        array = array_of(value)
        if array is not None and (everything or array.dtype.kind in "iub"):
            found[name] = array.tobytes()
    return found


def _arguments(bound: dict[str, Any]) -> list[tuple[Parameter, ArgumentRecord]]:
    """Return each argument of a call as a parameter and its record, lists and tuples flattened."""
    found: list[tuple[Parameter, ArgumentRecord]] = []
    storages: dict[int, int] = {}
    for name, value in bound.items():
        for path, item in _flat(name, value):
            found.append(_argument(path, item, len(found), storages))
    return found


def _flat(name: str, value: Any) -> list[tuple[str, Any]]:
    """Return the arrays and other values of an argument; containers without arrays stay whole."""
    if isinstance(value, dict):
        items = [(f"{name}.{key}", item) for key, item in value.items()]
    elif isinstance(value, tuple | list):
        items = [(f"{name}.{at}", item) for at, item in enumerate(value)]
    else:
        return [(name, value)]
    found = [pair for path, item in items for pair in _flat(path, item)]
    return found if any(array_of(item) is not None for _, item in found) else [(name, value)]


def _text(value: Any) -> str:
    """Return a constant as text that tells it from others of its type."""
    if isinstance(value, Enum | Token | np.dtype | dict) or is_dataclass(value):
        return capped(repr(value))
    return literal(value)


def _argument(
    name: str, value: Any, position: int, storages: dict[int, int]
) -> tuple[Parameter, ArgumentRecord]:
    array = array_of(value)
    if array is None:
        text = _text(value)
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
        alias_group=storages.setdefault(address, position),
        alignment=address % 16,
    )
    return Parameter(name, f"*{dtype}"), record


def _kernel_record(
    outcome: Outcome, parameters: tuple[Parameter, ...], keep: Source
) -> KernelRecord:
    function = outcome.kernel.function
    code = getattr(function, "__code__", None)
    file = None if code is None else str(code.co_filename)
    lines: dict[str, set[int]] = {}
    for place in (place for site in outcome.recorder.sites for place in site.frames):
        lines.setdefault(place.file, set()).add(place.line or 0)
    return KernelRecord(
        name=outcome.kernel.__name__,
        origin="nki",
        module=function.__module__,
        file=file,
        line=None if code is None else definition_line(function),
        source=function_source(function) if keep != "off" else None,
        files=tuple((path, kept_of_file(path, lines[path], keep)) for path in lines),
        signature=parameters,
        target=f"neuron:{outcome.target.name}",
        options={"interface": outcome.kernel.interface},
        thread=threading.get_native_id(),
    )
