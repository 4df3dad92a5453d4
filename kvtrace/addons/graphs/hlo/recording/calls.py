"""Recorded calls of traced functions: graphs and calls once, launches every time.

A graph's rows of `graph_ops` have its kernel's id as `graph_id`. Its figures are rows of `ops`,
added by the pass `graphs` when the run ends.
"""

import os
import time
from collections.abc import Callable, Sequence
from math import prod
from typing import TYPE_CHECKING, Any, Final

from kvtrace.addons.graphs.hlo.errors import user_locations
from kvtrace.addons.graphs.hlo.graph import Graph, constant_contents
from kvtrace.addons.graphs.hlo.op import Op
from kvtrace.addons.graphs.hlo.traced import Call, TracedFunction
from kvtrace.capture.python_source import function_facts, used_files
from kvtrace.capture.records import ArgumentRecord, Frame, KernelRecord, Parameter
from kvtrace.forks import Lock
from kvtrace.schema.content import artifact_row, stack_id
from kvtrace.schema.vocabularies import SHORT_NAMES
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
    locations = (location for op in graph.ops for location in user_locations(op.stack))
    parameters = tuple(Parameter(spec.name, f"*{short_name(spec.dtype)}") for spec in graph.inputs)
    figures = graph.figures()
    return KernelRecord(
        **function_facts(function.function, source_setting),
        name=function.name,
        origin="numpy",
        files=used_files(((path, line) for path, line, *_ in locations), source_setting),
        signature=parameters,
        target=graph.target,
        options={
            "graph_ops": str(len(graph.ops)),
            "graph_flops": str(figures.flops),
            "graph_bytes": str(figures.bytes),
            "graph_boundary_bytes": str(figures.boundary_bytes),
            "graph_peak_live_bytes": str(figures.peak_live_bytes),
        },
    )


# -- rows of graphs --------------------------------------------------------------------------------


#: Kinds of ops in the table `ops`; all others are elementwise.
_KINDS: Final = {
    "dot_general": "dot",
    "convolution": "dot",
    "reduce": "reduce",
    "reduce_window": "scan",
    "parameter": "load",
    "custom_call": "other",
}


def short_name(dtype: Any) -> str:
    """Return an element type's name in tables other than `graph_ops`: fp32, i64."""
    name = str(dtype.name)
    return SHORT_NAMES.get(name, name)


def graph_columns(
    graph: Graph, graph_id: int, add_stack: Callable[[Sequence[Frame]], int]
) -> dict[str, Any]:
    """Return a graph's columns of `graph_ops`; large constants are hashes."""
    ops = graph.rows(graph_id, constants_apart=True)
    return {
        "graph_id": [op.graph_id for op in ops],
        "op_index": [op.op_index for op in ops],
        "opcode": [op.opcode for op in ops],
        "operands": [list(op.operands) for op in ops],
        "dtype": [op.dtype for op in ops],
        "shape": [list(op.shape) for op in ops],
        "attributes": [dict(op.attributes) for op in ops],
        "stack_id": [add_stack(_frames(op.stack)) if op.stack else None for op in ops],
        "input_name": [op.input_name for op in ops],
        "output_name": [op.output_name for op in ops],
        "aliases": [op.aliases for op in ops],
    }


def _frames(stack: Sequence[Any]) -> list[Frame]:
    return [
        Frame(file or "", line, column, function or "") for file, line, column, function in stack
    ]


def constant_columns(graph: Graph, written: set[str]) -> dict[str, Any]:
    """Return columns of `artifacts` for large constants not in `written`; add their hashes."""
    rows = [artifact_row("tensor", content) for content in constant_contents(graph)]
    new_rows = {row["sha256"]: row for row in rows if row["sha256"] not in written}
    written.update(new_rows)
    names = ("sha256", "kind", "size_bytes", "bytes")
    return {name: [row[name] for row in new_rows.values()] for name in names}


def op_rows(graph: Graph, call_id: int) -> list[dict[str, Any]]:
    """Return a row of `ops` per op, and then a row per result of the graph, a store.

    Only loads and stores have bytes, as in a graph that is fused into one kernel: those of inputs
    and outputs. The bytes of each op by itself are in `Graph.figures`.
    """
    rows = []
    for index, (op, figures) in enumerate(zip(graph.ops, graph.figures().ops, strict=True)):
        row = _row(graph, op, call_id, index)
        row |= {"op": op.opcode, "kind": _KINDS.get(op.opcode, "elementwise")}
        row["flops"] = figures.flops
        if op.opcode == "parameter":
            row |= _bytes(op, op.input_name)
        rows.append(row)
    for output_index, index in enumerate(graph.output_indices):
        op = graph.ops[index]
        row = _row(graph, op, call_id, len(graph.ops) + output_index)
        row |= {"op": "output", "kind": "store", "flops": 0}
        rows.append(row | _bytes(op, op.aliases or op.output_name))
    return rows


def _row(graph: Graph, op: Op, call_id: int, index: int) -> dict[str, Any]:
    # The type of the computation is its operand's: a comparison does not compute in bool.
    dtype = graph.ops[op.operands[0]].dtype if op.operands else op.dtype
    return {
        "call_id": call_id,
        "op_index": index,
        "dtype": None if dtype is None else short_name(dtype),
        "stack_id": stack_id(user_locations(op.stack)) if op.stack else None,
        "executions": 1,
        "elements": prod(op.shape) if op.dtype is not None else 0,
        "masked_off": 0,
    }


def _bytes(op: Op, buffer: str | None) -> dict[str, Any]:
    assert op.dtype is not None
    nbytes = prod(op.shape) * op.dtype.itemsize
    return {"bytes": nbytes, "unique_bytes": nbytes, "buffer": buffer}
