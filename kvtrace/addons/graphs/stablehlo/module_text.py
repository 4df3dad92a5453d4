"""StableHLO modules, written from the rows of a graph.

Every op is written in MLIR's generic form, which is the same for all ops and does not change
between versions: `%5 = "stablehlo.add"(%3, %4) : (type, type) -> type loc(#loc1)`. MLIR's tools
print it in the pretty form.
"""

import json
from collections.abc import Mapping, Sequence

from kvtrace.addons.graphs.rows import (
    BODY_SHIFT,
    GraphOp,
    by_graph,
    damage_named,
    inputs_of,
    outputs_of,
)
from kvtrace.addons.graphs.stablehlo.attributes import OPERANDS, REGIONS, attributes_text
from kvtrace.addons.graphs.stablehlo.constants import dense
from kvtrace.addons.graphs.stablehlo.locations import Locations
from kvtrace.addons.graphs.stablehlo.types import tensor_type


def module_text(rows: Sequence[GraphOp], name: str = "graph", num_replicas: int = 1) -> str:
    """Return the module of a graph, given the rows of the graph and of its bodies.

    The first graph is the outermost; it becomes the public function `main`. An argument that a
    result is written into has the attribute `tf.aliasing_output` with that result's number.
    """
    graphs = by_graph(rows)
    main = graphs[rows[0].graph_id] if rows else []
    locations = Locations()
    function = FunctionText(graphs, locations)
    results = outputs_of(main)
    parameters = inputs_of(main)
    arguments = ", ".join(
        _argument(op, number, results, locations) for number, op in enumerate(parameters)
    )
    returned = ", ".join(_result(op) for op in results)
    function.write_all(main, [f"%arg{number}" for number in range(len(parameters))])
    names, types = function.returned(main)
    last = locations.of(results[-1].stack if results else ())
    lines = [
        f"module @{_symbol(name)} attributes {{mhlo.num_partitions = 1 : i32, "
        f"mhlo.num_replicas = {num_replicas} : i32}} {{",
        f"  func.func public @main({arguments}) -> ({returned}) {{",
        *(f"    {line}" for line in function.lines),
        f'    "func.return"({names}) : ({types}) -> (){last}',
        f"  }} loc({json.dumps(name)})",
        f"}} loc({json.dumps(name)})",
        *locations.lines,
    ]
    return "\n".join(lines) + "\n"


def recorded_module_text(rows: Sequence[GraphOp], name: str = "graph", replicas: int = 1) -> str:
    """Return the module of a graph whose rows were read from a trace, which may be damaged.

    Raises:
        DamagedFile: The rows form no module.

    """
    with damage_named(rows[0].graph_id):
        return module_text(rows, name, replicas)


def _symbol(name: str) -> str:
    plain = name.replace("_", "").replace(".", "")
    if plain.isalnum() and plain.isascii() and not name[0].isdigit():
        return name
    return json.dumps(name)


def _argument(op: GraphOp, number: int, results: Sequence[GraphOp], locations: Locations) -> str:
    attributes = [f"kvtrace.name = {json.dumps(op.input_name)}"]
    for position, result in enumerate(results):
        if result.aliases == op.input_name:
            attributes.append(f"tf.aliasing_output = {position} : i32")
            break
    kind = tensor_type(op.dtype, op.shape)
    location = locations.named(str(op.input_name), op.stack)
    return f"%arg{number}: {kind} {{{', '.join(attributes)}}}{location}"


def _result(op: GraphOp) -> str:
    kind = tensor_type(op.dtype, op.shape)
    return f"{kind} {{jax.result_info = {json.dumps(op.output_name)}}}"


class FunctionText:
    """The lines of a function's or a body's ops, and the name of each op's result.

    `prefix` separates the names in a body from those around the body, which are visible there.
    """

    def __init__(
        self, graphs: Mapping[int, Sequence[GraphOp]], locations: Locations, prefix: str = "%"
    ) -> None:
        self.graphs = graphs
        self.locations = locations
        self.lines: list[str] = []
        self._prefix = prefix
        self._names: dict[int, str] = {}
        self._types: dict[int, str] = {}
        self._dtypes: dict[int, str] = {}
        self._results: dict[int, list[str]] = {}

    def write_all(self, ops: Sequence[GraphOp], parameters: Sequence[str]) -> None:
        """Write a graph, with the given names for its parameters."""
        self._dtypes = {op.op_index: op.dtype for op in ops}
        for op in ops:
            if op.opcode == "get_tuple_element":
                kind = tensor_type(op.dtype, op.shape)
                self._results.setdefault(op.operands[0], []).append(kind)
        names = iter(parameters)
        for op in ops:
            if op.opcode == "parameter":
                self._names[op.op_index] = next(names)
                self._types[op.op_index] = tensor_type(op.dtype, op.shape)
            else:
                self._write(op)

    def returned(self, ops: Sequence[GraphOp]) -> tuple[str, str]:
        """Return names and types of a graph's results, each joined by commas."""
        results = [op.op_index for op in outputs_of(ops)]
        return self.joined(self._names, results), self.joined(self._types, results)

    def operand_names(self, op: GraphOp) -> list[str]:
        """Return the names of an op's operands."""
        return [self._names[operand] for operand in op.operands]

    def operand_types(self, op: GraphOp) -> list[str]:
        """Return the types of an op's operands."""
        return [self._types[operand] for operand in op.operands]

    def operand_dtype(self, op: GraphOp) -> str:
        """Return the element type of an op's first operand."""
        return self._dtypes[op.operands[0]]

    def operand_element_types(self, op: GraphOp) -> list[str]:
        """Return the scalar types of an op's operands."""
        return [tensor_type(self._dtypes[operand], ()) for operand in op.operands]

    def location(self, op: GraphOp) -> str:
        """Return the op's ` loc(…)`."""
        return self.locations.of(op.stack)

    def body(self, op: GraphOp, role: str, carried: int = 0) -> str:
        """Return a region of an op; its first `carried` parameters are arguments of the region.

        The other parameters are the op's operands, by their names outside of the region.
        """
        graph_id = int(op.attributes[role])
        ops = self.graphs[graph_id]
        prefix = f"%b{graph_id >> BODY_SHIFT}_"
        inner = FunctionText(self.graphs, self.locations, prefix)
        outside = self.operand_names(op)
        positions = op.attribute(f"{role}_operands")
        names = [f"{prefix}a{number}" for number in range(carried)]
        inner.write_all(ops, [*names, *(outside[position] for position in positions[carried:])])
        kinds = [tensor_type(p.dtype, p.shape) for p in inputs_of(ops)[:carried]]
        header = ", ".join(f"{n}: {kind}" for n, kind in zip(names, kinds, strict=True))
        values, types = inner.returned(ops)
        lines = [
            f"^bb0({header}):" if carried else "",
            *inner.lines,
            f'"stablehlo.return"({values}) : ({types}) -> (){self.location(op)}',
        ]
        return "{\n" + "\n".join(line for line in lines if line) + "\n}"

    @staticmethod
    def joined(texts: Mapping[int, str], positions: Sequence[int]) -> str:
        """Return texts at positions, joined by commas."""
        return ", ".join(texts[position] for position in positions)

    def _write(self, op: GraphOp) -> None:
        """Append an op's line; `copy` and `get_tuple_element` only get names."""
        index = op.op_index
        if op.dtype != "tuple":
            self._types[index] = tensor_type(op.dtype, op.shape)
        if op.opcode == "copy":
            self._names[index] = self._names[op.operands[0]]
        elif op.opcode == "get_tuple_element":
            number = op.attributes["index"]
            source = self._names[op.operands[0]]
            several = len(self._results[op.operands[0]]) > 1
            self._names[index] = f"{source}#{number}" if several else source
        else:
            self._names[index] = f"{self._prefix}{index}"
            self.lines.append(self._line(op))

    def _line(self, op: GraphOp) -> str:
        results = self._results.get(op.op_index)
        kinds = [self._types[op.op_index]] if results is None else results
        count = f":{len(kinds)}" if len(kinds) > 1 else ""
        result = f"{self._names[op.op_index]}{count}"
        result_type = kinds[0] if len(kinds) == 1 else f"({', '.join(kinds)})"
        if op.opcode == "constant":
            value = dense(op.attributes["value"], op.dtype, op.shape)
            text = f'"stablehlo.constant"() {{value = {value}}} : () -> {result_type}'
            return f"{result} = {text}{self.location(op)}"
        region = REGIONS.get(op.opcode)
        regions = f" ({region(op, self)})" if region is not None else ""
        operand_count = OPERANDS.get(op.opcode)
        last = len(op.operands) if operand_count is None else operand_count(op)
        names = ", ".join(self.operand_names(op)[:last])
        types = ", ".join(self.operand_types(op)[:last])
        return (
            f'{result} = "stablehlo.{op.opcode}"({names}){regions}{attributes_text(op)} : '
            f"({types}) -> {result_type}{self.location(op)}"
        )
