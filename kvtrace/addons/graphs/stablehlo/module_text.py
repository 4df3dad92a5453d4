"""StableHLO modules, written from the rows of a graph.

Every op is written in MLIR's generic form, which is the same for all ops and does not change
between versions: `%5 = "stablehlo.add"(%3, %4) : (type, type) -> type loc(#loc1)`. MLIR's tools
print it in the pretty form.

In constants, a float needs a point or an exponent; infinities and NaN have no literal and are
written as the bits of their type in hexadecimal.
"""

import json
import math
from collections.abc import Mapping, Sequence
from typing import Any, Final

from kvtrace.addons.graphs.rows import (
    Frame,
    GraphOp,
    damaged_graph_errors,
    inputs_of,
    outputs_of,
)
from kvtrace.addons.graphs.stablehlo.attributes import (
    REGIONS,
    attributes_text,
    tensor_type,
)


class Locations:
    """MLIR's locations of stacks: a name for each distinct stack, and the lines that define it."""

    def __init__(self) -> None:
        self.lines: list[str] = []
        self._names: dict[str, str] = {}
        self._stacks: dict[tuple[Frame, ...], str] = {}

    def of(self, stack: tuple[Frame, ...]) -> str:
        """Return ` loc(#locN)` for a stack, whose innermost frame is first."""
        location = self._stacks.get(stack)
        if location is None:
            location = self._stacks[stack] = f" loc({self._stack(stack)})"
        return location

    def named(self, name: str, stack: tuple[Frame, ...]) -> str:
        """Return the location of an argument: its name with a stack."""
        return f" loc({self._defined_name(f'{json.dumps(name)}({self._stack(stack)})')})"

    def _stack(self, stack: tuple[Frame, ...]) -> str:
        if not stack:
            return self._defined_name("unknown")
        *callers, name = [self._frame(frame) for frame in reversed(stack)]
        for caller in reversed(callers):
            name = self._defined_name(f"callsite({name} at {caller})")
        return name

    def _frame(self, frame: Frame) -> str:
        file, line, column, function = frame
        location = self._defined_name(f"{json.dumps(file or '')}:{line or 0}:{column or 0}")
        return self._defined_name(f"{json.dumps(function)}({location})") if function else location

    def _defined_name(self, content: str) -> str:
        name = self._names.get(content)
        if name is None:
            name = self._names[content] = f"#loc{len(self._names)}"
            self.lines.append(f"{name} = loc({content})")
        return name


#: Bits of NaN, infinity and minus infinity; None where the type has no infinity.
_SPECIAL: Final[dict[str, tuple[str, str | None, str | None]]] = {
    "float16": ("0x7E00", "0x7C00", "0xFC00"),
    "bfloat16": ("0x7FC0", "0x7F80", "0xFF80"),
    "float32": ("0x7FC00000", "0x7F800000", "0xFF800000"),
    "float64": ("0x7FF8000000000000", "0x7FF0000000000000", "0xFFF0000000000000"),
    "float8_e4m3fn": ("0x7F", None, None),
    "float8_e5m2": ("0x7E", "0x7C", "0xFC"),
    "float8_e4m3": ("0x7C", "0x78", "0xF8"),
    "float8_e3m4": ("0x78", "0x70", "0xF0"),
    "float8_e4m3b11fnuz": ("0x80", None, None),
    "float8_e4m3fnuz": ("0x80", None, None),
    "float8_e5m2fnuz": ("0x80", None, None),
}


def dense(text: str, dtype: str, shape: tuple[int, ...]) -> str:
    """Return `dense<…> : tensor<…>` for a constant, whose attribute `value` is `text`."""
    type_text = tensor_type(dtype, shape)
    if 0 in shape:
        return f"dense<> : {type_text}"
    if text.startswith("0x"):
        return f"dense<{_hexadecimal_value(text, dtype, shape)}> : {type_text}"
    return f"dense<{_literal(json.loads(text), dtype)}> : {type_text}"


def _hexadecimal_value(text: str, dtype: str, shape: tuple[int, ...]) -> str:
    if dtype != "bool":
        return f'"{text.upper().replace("X", "x")}"'
    # MLIR packs the bytes of bools differently; a list avoids that.
    values = [byte != 0 for byte in bytes.fromhex(text[2:])]
    for extent in reversed(shape[1:]):
        values = [values[i : i + extent] for i in range(0, len(values), extent)]  # type: ignore[misc]
    return _literal(values, dtype)


def _literal(value: Any, dtype: str) -> str:
    if isinstance(value, list):
        return f"[{', '.join(_literal(item, dtype) for item in value)}]"
    if dtype == "bool":
        return "true" if value else "false"
    if "float" not in dtype:
        return str(int(value))
    return _float_literal(float(value), dtype)


def _float_literal(value: float, dtype: str) -> str:
    if math.isfinite(value):
        text = repr(value)
        mantissa, exponent, power = text.partition("e")
        return f"{mantissa if '.' in mantissa else f'{mantissa}.0'}{exponent}{power}"
    nan, infinity, minus_infinity = _SPECIAL[dtype]
    if math.isnan(value):
        return nan
    # A type without infinities has NaN instead, as after a conversion.
    return (infinity if value > 0 else minus_infinity) or nan


def module_text(rows: Sequence[GraphOp], name: str = "graph", num_replicas: int = 1) -> str:
    """Return the module of a graph as text, from its rows in order.

    The graph becomes the public function `main`. An argument that a result is written into has the
    attribute `tf.aliasing_output` with that result's number.
    """
    locations = Locations()
    function = FunctionText(locations)
    results = outputs_of(rows)
    parameters = inputs_of(rows)
    arguments = ", ".join(
        _argument_text(op, position, results, locations) for position, op in enumerate(parameters)
    )
    result_texts = ", ".join(_result_text(op) for op in results)
    function.write_all(rows, [f"%arg{position}" for position in range(len(parameters))])
    names, types = function.returned(rows)
    return_location = locations.of(results[-1].stack if results else ())
    lines = [
        f"module @{_symbol(name)} attributes {{mhlo.num_partitions = 1 : i32, "
        f"mhlo.num_replicas = {num_replicas} : i32}} {{",
        f"  func.func public @main({arguments}) -> ({result_texts}) {{",
        *(f"    {line}" for line in function.lines),
        f'    "func.return"({names}) : ({types}) -> (){return_location}',
        f"  }} loc({json.dumps(name)})",
        f"}} loc({json.dumps(name)})",
        *locations.lines,
    ]
    return "\n".join(lines) + "\n"


def recorded_module_text(rows: Sequence[GraphOp], name: str = "graph", replicas: int = 1) -> str:
    """Return `module_text` of rows that were read from a trace, which may be damaged.

    Raises:
        DamagedFile: The rows form no module.

    """
    with damaged_graph_errors(rows[0].graph_id):
        return module_text(rows, name, replicas)


def _symbol(name: str) -> str:
    letters = name.replace("_", "").replace(".", "")
    if letters.isalnum() and letters.isascii() and not name[0].isdigit():
        return name
    return json.dumps(name)


def _argument_text(
    op: GraphOp, number: int, results: Sequence[GraphOp], locations: Locations
) -> str:
    attributes = [f"kvtrace.name = {json.dumps(op.input_name)}"]
    for position, result in enumerate(results):
        if result.aliases == op.input_name:
            attributes.append(f"tf.aliasing_output = {position} : i32")
            break
    argument_type = tensor_type(op.dtype, op.shape)
    location = locations.named(str(op.input_name), op.stack)
    return f"%arg{number}: {argument_type} {{{', '.join(attributes)}}}{location}"


def _result_text(op: GraphOp) -> str:
    result_type = tensor_type(op.dtype, op.shape)
    return f"{result_type} {{jax.result_info = {json.dumps(op.output_name)}}}"


class FunctionText:
    """The lines of the ops of a function, and the names of the ops' results."""

    def __init__(self, locations: Locations) -> None:
        self.locations = locations
        self.lines: list[str] = []
        self._names: dict[int, str] = {}
        self._types: dict[int, str] = {}
        self._dtypes: dict[int, str] = {}
        self._results: dict[int, list[str]] = {}

    def write_all(self, ops: Sequence[GraphOp], parameters: Sequence[str]) -> None:
        """Append the lines of a graph's ops; `parameters` are the names of its parameters."""
        self._dtypes = {op.op_index: op.dtype for op in ops}
        for op in ops:
            if op.opcode == "get_tuple_element":
                result_type = tensor_type(op.dtype, op.shape)
                self._results.setdefault(op.operands[0], []).append(result_type)
        parameter_names = iter(parameters)
        for op in ops:
            if op.opcode == "parameter":
                self._names[op.op_index] = next(parameter_names)
                self._types[op.op_index] = tensor_type(op.dtype, op.shape)
            else:
                self._write(op)

    def returned(self, ops: Sequence[GraphOp]) -> tuple[str, str]:
        """Return the names and the types of a graph's results, each joined by commas."""
        output_indices = [op.op_index for op in outputs_of(ops)]
        return self.joined(self._names, output_indices), self.joined(self._types, output_indices)

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
        """Return ` loc(…)` for the op's stack."""
        return self.locations.of(op.stack)

    @staticmethod
    def joined(texts: Mapping[int, str], positions: Sequence[int]) -> str:
        """Return the texts at some positions, joined by commas."""
        return ", ".join(texts[position] for position in positions)

    def _write(self, op: GraphOp) -> None:
        """Append an op's line; `copy` and `get_tuple_element` have a name and no line."""
        index = op.op_index
        if op.dtype != "tuple":
            self._types[index] = tensor_type(op.dtype, op.shape)
        if op.opcode == "copy":
            self._names[index] = self._names[op.operands[0]]
        elif op.opcode == "get_tuple_element":
            result_number = op.attributes["index"]
            source = self._names[op.operands[0]]
            has_several_results = len(self._results[op.operands[0]]) > 1
            self._names[index] = f"{source}#{result_number}" if has_several_results else source
        else:
            self._names[index] = f"%{index}"
            self.lines.append(self._op_line(op))

    def _op_line(self, op: GraphOp) -> str:
        tuple_types = self._results.get(op.op_index)
        result_types = [self._types[op.op_index]] if tuple_types is None else tuple_types
        count_suffix = f":{len(result_types)}" if len(result_types) > 1 else ""
        result = f"{self._names[op.op_index]}{count_suffix}"
        result_type = result_types[0] if len(result_types) == 1 else f"({', '.join(result_types)})"
        if op.opcode == "constant":
            value = dense(op.attributes["value"], op.dtype, op.shape)
            text = f'"stablehlo.constant"() {{value = {value}}} : () -> {result_type}'
            return f"{result} = {text}{self.location(op)}"
        region = REGIONS.get(op.opcode)
        regions = f" ({region(op, self)})" if region is not None else ""
        operand_names = ", ".join(self.operand_names(op))
        operand_types = ", ".join(self.operand_types(op))
        return (
            f'{result} = "stablehlo.{op.opcode}"({operand_names}){regions}{attributes_text(op)} : '
            f"({operand_types}) -> {result_type}{self.location(op)}"
        )
