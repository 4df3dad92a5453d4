"""Rows of the table `graph_ops` as plain data, and the graphs that they form.

A graph is the rows of one `graph_id`, in the order of `op_index`. Traces up to version 0.3 also
have bodies of loops and branches, of ids from 1 << 32 on, which are not read.
"""

import json
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any, Final

import pyarrow as pa
import pyarrow.compute as pc
from msgspec import Struct

from kvtrace.schema.errors import DamagedFile
from kvtrace.schema.trace import Selection

#: The first graph id of a body of a loop or branch, as traces up to version 0.3 have them.
FIRST_BODY: Final = 1 << 32

#: Fewest operands of ops (others: one); with fewer, MLIR's parser can crash.
_LEAST_OPERANDS: Final = {
    **dict.fromkeys(("parameter", "constant", "iota", "replica_id", "while"), 0),
    **dict.fromkeys(("reduce", "reduce_window", "dot_general", "convolution", "gather"), 2),
    **dict.fromkeys(("compare", "pad", "dynamic_update_slice"), 2),
    **dict.fromkeys(("select", "scatter"), 3),
}

#: File, line, column (from 1) and function, innermost frame first.
Frame = tuple[str | None, int | None, int | None, str | None]


class GraphOp(Struct, frozen=True):
    """One row of `graph_ops`, with the frames of the stack in place of its id."""

    graph_id: int
    op_index: int
    opcode: str
    operands: tuple[int, ...]
    dtype: str
    shape: tuple[int, ...]
    attributes: Mapping[str, str]
    stack: tuple[Frame, ...] = ()
    input_name: str | None = None
    output_name: str | None = None
    aliases: str | None = None

    def attribute(self, name: str, default: Any = None) -> Any:
        """Return an attribute's value, parsed as JSON; `default` if the op does not have it."""
        text = self.attributes.get(name)
        try:
            return default if text is None else json.loads(text)
        except ValueError:
            raise damaged(self, f"its attribute {name} is not JSON") from None


def damaged(op: GraphOp, damage: str) -> DamagedFile:
    """Return the error for a row that kvtrace cannot have written."""
    return DamagedFile(
        f"the op {op.op_index} ({op.opcode}) of the graph {op.graph_id} in the trace is damaged: "
        f"{damage}; restore the trace from a copy, or record the program again."
    )


@contextmanager
def damaged_graph_errors(graph_id: int) -> Iterator[None]:
    """Convert errors while the rows of a graph are processed into `DamagedFile`.

    Raises:
        DamagedFile: The rows do not form a graph.

    """
    try:
        yield
    except (ArithmeticError, LookupError, RecursionError, TypeError, ValueError) as error:
        reason = f"{type(error).__name__}: {error}"
        raise DamagedFile(
            f"the graph {graph_id} in the trace is damaged, or newer than kvtrace ({reason}); "
            "restore the trace from a copy, or record the program again."
        ) from error


def outputs_of(ops: Sequence[GraphOp]) -> list[GraphOp]:
    """Return the ops of a graph that are its results, in order of `output_index`."""
    outputs = [op for op in ops if op.output_name is not None]
    return sorted(outputs, key=lambda op: int(op.attributes["output_index"]))


def inputs_of(ops: Sequence[GraphOp]) -> list[GraphOp]:
    """Return the ops of a graph that are its parameters, in order."""
    return [op for op in ops if op.opcode == "parameter"]


def read_graphs(
    selection: Selection, *, meaning_only: bool = False
) -> dict[tuple[str, int], list[GraphOp]]:
    """Return the rows of each graph of the selected runs, in order, by (run, graph_id).

    With `meaning_only` ops have no stacks, and large constants have a hash instead of their value,
    enough to compare graphs.

    Raises:
        DamagedFile: An op has no type or shape, or an operand that is not an earlier op.

    """
    frames = {} if meaning_only else _frames(selection)
    graphs: dict[tuple[str, int], list[GraphOp]] = {}
    for row in graph_rows(selection.table("graph_ops")):
        attributes = _with_constant(row["attributes"] or {}, None if meaning_only else selection)
        op = op_of_row(row, attributes, frames.get((row["run"], row["stack_id"]), ()))
        graphs.setdefault((row["run"], op.graph_id), []).append(op)
    for ops in graphs.values():
        _check_rows(ops)
    return graphs


def graph_rows(table: pa.Table) -> list[dict[str, Any]]:
    """Return the rows of a table `graph_ops` by graph, each graph's in order, without bodies."""
    kept = table.filter(pc.less(table["graph_id"], FIRST_BODY))
    rows: list[dict[str, Any]] = kept.to_pylist(maps_as_pydicts="lossy")
    return sorted(rows, key=lambda row: (row["graph_id"], row["op_index"]))


def op_of_row(
    row: Mapping[str, Any], attributes: Mapping[str, str], stack: tuple[Frame, ...] = ()
) -> GraphOp:
    """Return the op of a row of the table, with these attributes and frames."""
    return GraphOp(
        graph_id=row["graph_id"],
        op_index=row["op_index"],
        opcode=row["opcode"],
        operands=tuple(row["operands"] or ()),
        dtype=row["dtype"] or "",
        shape=tuple(row["shape"] or ()),
        attributes=attributes,
        stack=stack,
        input_name=row["input_name"],
        output_name=row["output_name"],
        aliases=row["aliases"],
    )


def _check_rows(graph: Sequence[GraphOp]) -> None:
    earlier_indices: set[int] = set()
    for op in graph:
        if op.op_index in earlier_indices:
            raise damaged(op, "another op has its number")
        if not op.dtype or any(extent < 0 for extent in op.shape):
            raise damaged(op, "it has no element type, or a negative extent")
        if not earlier_indices.issuperset(op.operands):
            raise damaged(op, "an operand is not an op before it")
        if len(op.operands) < _LEAST_OPERANDS.get(op.opcode, 1):
            raise damaged(op, "it has too few operands")
        earlier_indices.add(op.op_index)


def _with_constant(attributes: dict[str, str], selection: Selection | None) -> dict[str, str]:
    """Return the attributes with a large constant's value, or its hash without `selection`."""
    digest = attributes.get("value_artifact")
    if digest is None:
        return attributes
    if selection is None:
        return {**attributes, "value": f"0x{digest}"}
    content = selection.trace.artifact(digest)
    if content is None:
        raise DamagedFile(
            f"the trace lacks the artifact {digest[:12]}, the value of a constant of a graph; "
            "restore it from a copy, or record the program again."
        )
    return {**attributes, "value": f"0x{content.hex()}"}


def _frames(selection: Selection) -> dict[tuple[str, int], tuple[Frame, ...]]:
    return {
        (row["run"], row["stack_id"]): tuple(
            (f["file"], f["line"], f["column"], f["function"]) for f in row["frames"] or ()
        )
        for row in selection.table("stacks").to_pylist()
    }
