"""A module of StableHLO of the rows of one graph.

Every op is written in MLIR's generic form, which is the same for all of them and does not change
between versions: `%5 = "stablehlo.add"(%3, %4) : (type, type) -> type loc(#loc1)`. Printed again by
any tool of MLIR's it has the pretty form.
"""

import json
from collections.abc import Callable, Sequence
from typing import Final

from kvtrace.converters.graph_ops import GraphOp, by_graph, inputs_of, outputs_of
from kvtrace.converters.stablehlo.attributes import REGIONS, attributes_text
from kvtrace.converters.stablehlo.constants import dense
from kvtrace.converters.stablehlo.locations import Locations
from kvtrace.converters.stablehlo.types import tensor_type

_Writer = Callable[["_Function", GraphOp], str]


def module_text(rows: Sequence[GraphOp], name: str = "graph", num_replicas: int = 1) -> str:
    """Write the module of a graph, given its rows and those of its bodies.

    The first graph is the outermost; it becomes the public function `main`. Arguments that a result
    is written into have the attribute `tf.aliasing_output` with that result's number.
    """
    graphs = by_graph(rows)
    main = graphs[rows[0].graph_id] if rows else []
    locations = Locations()
    body = _Function(graphs, locations)
    results = outputs_of(main)
    arguments = ", ".join(_argument(op, number, results) for number, op in enumerate(inputs_of(main)))
    returned = ", ".join(_result(op) for op in results)
    for number, op in enumerate(inputs_of(main)):
        body.names[op.op_index] = f"%arg{number}"
    for op in main:
        body.write(op)
    names = ", ".join(body.names[op.op_index] for op in results)
    types = ", ".join(tensor_type(op.dtype, op.shape) for op in results)
    last = f'"func.return"({names}) : ({types}) -> ()'
    lines = [
        f"module @{_symbol(name)} attributes {{mhlo.num_partitions = 1 : i32, "
        f"mhlo.num_replicas = {num_replicas} : i32}} {{",
        f"  func.func public @main({arguments}) -> ({returned}) {{",
        *(f"    {line}" for line in [*body.lines, last]),
        "  }",
        "}",
        *locations.lines,
    ]
    return "\n".join(lines) + "\n"


def _symbol(name: str) -> str:
    plain = name.replace("_", "").replace(".", "")
    if plain.isalnum() and plain.isascii() and not name[0].isdigit():
        return name
    return json.dumps(name)


def _argument(op: GraphOp, number: int, results: Sequence[GraphOp]) -> str:
    attributes = [f"kvtrace.name = {json.dumps(op.input_name)}"]
    for position, result in enumerate(results):
        if result.aliases == op.input_name:
            attributes.append(f"tf.aliasing_output = {position} : i32")
            break
    kind = tensor_type(op.dtype, op.shape)
    return f"%arg{number}: {kind} {{{', '.join(attributes)}}}"


def _result(op: GraphOp) -> str:
    kind = tensor_type(op.dtype, op.shape)
    return f"{kind} {{jax.result_info = {json.dumps(op.output_name)}}}"


class _Function:
    """The lines of a function's or region's ops, and the name of each op's result."""

    def __init__(self, graphs: dict[int, list[GraphOp]], locations: Locations) -> None:
        self.graphs = graphs
        self.locations = locations
        self.names: dict[int, str] = {}
        self.lines: list[str] = []
        self.types: dict[int, str] = {}

    def write(self, op: GraphOp) -> None:
        """Append an op's line; some ops are only names."""
        if op.dtype != "tuple":
            self.types[op.op_index] = tensor_type(op.dtype, op.shape)
        if op.opcode == "parameter":
            return
        if op.opcode == "copy":
            self.names[op.op_index] = self.names[op.operands[0]]
            return
        if op.opcode == "get_tuple_element":
            self.names[op.op_index] = f"{self.names[op.operands[0]]}#{op.attributes['index']}"
            return
        self.names[op.op_index] = f"%{op.op_index}"
        self.lines.append(f"{self._result_name(op)} = {self._text(op)}")

    def _text(self, op: GraphOp) -> str:
        location = self.locations.of(op.stack)
        if op.opcode == "constant":
            value = dense(op.attributes["value"], op.dtype, op.shape)
            kind = self.types[op.op_index]
            return f'"stablehlo.constant"() {{value = {value}}} : () -> {kind}{location}'
        operands = ", ".join(self.names[operand] for operand in op.operands)
        region = REGIONS.get(op.opcode)
        regions = f" {region(op, location)}" if region is not None else ""
        return (
            f'"stablehlo.{op.opcode}"({operands}){regions}{attributes_text(op)} : '
            f"({', '.join(self.types[operand] for operand in op.operands)}) -> "
            f"{self.types[op.op_index]}{location}"
        )

    def _result_name(self, op: GraphOp) -> str:
        return f"%{op.op_index}"


_ROLES: Final = ("condition", "body", "true", "false")
