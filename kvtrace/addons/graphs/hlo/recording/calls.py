"""Recorded calls of traced functions: graphs and calls once, launches every time.

A graph's rows of `graph_ops` have its kernel's id as `graph_id`. Its figures are rows of `ops`,
added by the pass `graphs` when the run ends.
"""

import os
import threading
import time
from typing import TYPE_CHECKING, Any, Final

from kvtrace.addons.graphs.hlo.frames import user_locations
from kvtrace.addons.graphs.hlo.graph import Graph
from kvtrace.addons.graphs.hlo.recording.graph_rows import (
    constant_columns,
    graph_columns,
    op_rows,
    short_name,
)
from kvtrace.addons.graphs.hlo.traced import Call, TracedFunction
from kvtrace.backends.python_source import definition_line, function_source, recorded_file_content
from kvtrace.capture.records import ArgumentRecord, KernelRecord, Parameter
from kvtrace.forks import Lock
from kvtrace.settings import Source

if TYPE_CHECKING:
    from kvtrace.capture.session import Session

#: Most unique calls with figures, which are in memory until the run ends.
_FIGURES_LIMIT: Final = 1000


class GraphCalls:
    """The observer that records one session's graphs, unique calls and launches."""

    def __init__(self, session: "Session") -> None:
        self._session = session
        self._lock = Lock()
        self._begin_run()
        session.at_end.append(self._add_figures)

    def _begin_run(self) -> None:
        """Clear all ids, as a forked process records a separate run."""
        self._process = os.getpid()
        self._kernels: dict[int, tuple[int, Graph]] = {}
        self._call_ids: dict[Any, int] = {}
        self._figures: list[tuple[int, Graph]] = []
        self._constants: set[str] = set()

    def called(self, function: TracedFunction, call: Call) -> None:
        """Record a call as a launch, and its graph if that is new; errors are only counted."""
        session = self._session
        if not session.records_launches or not session.settings.records_kernel(function.name):
            return
        begin = time.time_ns()
        try:
            with self._lock:
                if self._process != os.getpid():
                    self._begin_run()
                call_id = self._call_id(function, call)
            session.add_launch(call_id, call.enter, call.leave)
            session.spent(time.time_ns() - begin)
        except Exception as error:  # noqa: BLE001 - counted; never the program's problem
            session.problem(error)

    def _call_id(self, function: TracedFunction, call: Call) -> int:
        kernel_id = self._kernel_id(function, call.graph)
        records = _argument_records(call)
        call_key = (kernel_id, records)
        known_id = self._call_ids.get(call_key)
        if known_id is not None:
            return known_id
        call_id = self._session.add_call(kernel_id, (1, 1, 1), records)
        self._call_ids[call_key] = call_id
        if len(self._figures) < _FIGURES_LIMIT:
            self._figures.append((call_id, call.graph))
        else:
            message = f"only the first {_FIGURES_LIMIT:,} unique calls of graphs have figures"
            self._session.message("info", "watch-limit", message)
        return call_id

    def _kernel_id(self, function: TracedFunction, graph: Graph) -> int:
        known_kernel = self._kernels.get(id(graph))
        if known_kernel is not None:
            return known_kernel[0]
        session = self._session
        source_setting = session.settings.source
        kernel_id = session.add_kernel(lambda: _kernel_record(function, graph, source_setting))
        self._kernels[id(graph)] = (kernel_id, graph)  # with the graph, so that its id stays unique
        # Only the background thread uses the set of written constants.
        session.add_columns("artifacts", lambda _: constant_columns(graph, self._constants))
        session.add_columns("graph_ops", lambda stack: graph_columns(graph, kernel_id, stack))
        return kernel_id

    def _add_figures(self) -> None:
        run_id = self._session.run_id
        if run_id is None or not self._figures or self._process != os.getpid():
            return
        import pyarrow as pa

        from kvtrace.schema.columns import batch_of_rows, table_named
        from kvtrace.schema.trace import open_trace

        rows = [row for call_id, graph in self._figures for row in op_rows(graph, call_id)]
        tables = {"ops": pa.Table.from_batches([batch_of_rows(table_named("ops"), rows)])}
        open_trace(self._session.out).add_derived(run_id, "graphs", tables, {"while": "running"})


def _argument_records(call: Call) -> tuple[ArgumentRecord, ...]:
    first_positions: dict[int, int] = {}
    records = []
    for position, (spec, array) in enumerate(zip(call.graph.inputs, call.arrays, strict=True)):
        address = int(array.__array_interface__["data"][0])
        owner = array
        while getattr(owner, "base", None) is not None and hasattr(owner.base, "nbytes"):
            owner = owner.base
        owner_address = int(owner.__array_interface__["data"][0])
        records.append(
            ArgumentRecord(
                spec.name,
                "tensor",
                dtype=short_name(spec.dtype),
                device="cpu",
                shape=spec.shape,
                strides=tuple(step // array.itemsize for step in array.strides),
                offset_bytes=address - owner_address,
                storage_bytes=owner.nbytes,
                alias_group=first_positions.setdefault(owner_address, position),
                alignment=address % 16,
            )
        )
    return tuple(records)


def _kernel_record(function: TracedFunction, graph: Graph, source_setting: Source) -> KernelRecord:
    code = getattr(function.function, "__code__", None)
    file = None if code is None else str(code.co_filename)
    lines: dict[str, set[int]] = {}
    for path, line, *_ in (location for op in graph.ops for location in user_locations(op.stack)):
        lines.setdefault(path, set()).add(line or 0)
    parameters = tuple(Parameter(spec.name, f"*{short_name(spec.dtype)}") for spec in graph.inputs)
    figures = graph.figures()
    return KernelRecord(
        name=function.name,
        origin="numpy",
        module=getattr(function.function, "__module__", None),
        file=file,
        line=None if code is None else definition_line(function.function),
        source=function_source(function.function) if source_setting != "off" else None,
        files=tuple(
            (path, recorded_file_content(path, lines[path], source_setting)) for path in lines
        ),
        signature=parameters,
        target=graph.target,
        options={
            "graph_ops": str(len(graph.ops)),
            "graph_flops": str(figures.flops),
            "graph_bytes": str(figures.bytes),
            "graph_boundary_bytes": str(figures.boundary_bytes),
            "graph_peak_live_bytes": str(figures.peak_live_bytes),
            "num_replicas": str(graph.num_replicas),
        },
        thread=threading.get_native_id(),
    )
