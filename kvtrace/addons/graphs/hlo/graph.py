"""A traced graph: a list of ops, which are the rows of the table `graph_ops`. There is no other IR.

An op's `operands` are positions in the list, so a graph is in order of evaluation. The first ops
are the graph's parameters. A result of the graph is an op with an `output_name`; its attribute
`output_index` is the result's number. An op with several results (sort, while) has dtype None, and
is followed by one `get_tuple_element` for each result. Bodies of loops and branches are separate
graphs.
"""

import hashlib
import json
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any, Final

import numpy as np
from msgspec import Struct

from kvtrace.addons.graphs.hlo.dtypes import Dtype
from kvtrace.addons.graphs.hlo.errors import user_locations
from kvtrace.addons.graphs.hlo.op import Op

if TYPE_CHECKING:
    from kvtrace.addons.graphs.figures import GraphFigures
    from kvtrace.addons.graphs.rows import GraphOp

#: Constants of more bytes are recorded as artifacts.
CONSTANT_LIMIT: Final = 4096


class TensorSpec(Struct, frozen=True):
    """An input or an output of a graph."""

    name: str
    dtype: Dtype
    shape: tuple[int, ...]


class Graph:
    """A function of tensors, as ops.

    Attributes:
        name: The traced function's name.
        ops: The ops in order of evaluation, parameters first.
        target: The target, which limits the element types.
        structure: The function's return value with numbers of outputs as leaves, in tuples,
            lists and dicts.

    """

    def __init__(
        self,
        name: str,
        ops: Sequence[Op],
        structure: Any = None,
        target: str = "xla",
    ) -> None:
        self.name = name
        self.ops = list(ops)
        self.structure = structure
        self.target = target
        outputs = [
            (op.attributes["output_index"], i)
            for i, op in enumerate(self.ops)
            if op.output_name is not None
        ]
        self.output_indices = [index for _, index in sorted(outputs)]
        self.input_count = sum(op.opcode == "parameter" for op in self.ops)

    def __repr__(self) -> str:
        inputs = ", ".join(f"{i.name}: {i.dtype.name}{list(i.shape)}" for i in self.inputs)
        outputs = ", ".join(f"{o.name}: {o.dtype.name}{list(o.shape)}" for o in self.outputs)
        return f"<Graph {self.name}({inputs}) -> ({outputs}), {len(self.ops)} ops>"

    @property
    def inputs(self) -> tuple[TensorSpec, ...]:
        """The parameters, in order."""
        return tuple(_spec(op, op.input_name) for op in self.ops[: self.input_count])

    @property
    def outputs(self) -> tuple[TensorSpec, ...]:
        """The results in order: returned tensors, then parameters only written in place."""
        return tuple(
            _spec(self.ops[index], self.ops[index].output_name) for index in self.output_indices
        )

    @property
    def aliases(self) -> dict[str, str]:
        """Name of each output that is written in place → name of the input written to."""
        ops = (self.ops[index] for index in self.output_indices)
        return {str(op.output_name): op.aliases for op in ops if op.aliases is not None}

    def evaluate(self, *arrays: Any) -> tuple[np.ndarray[Any, Any], ...]:
        """Return every output, computed by NumPy, in the order of `outputs`. Inputs stay unchanged.

        Raises:
            SignatureMismatch: the arrays do not fit the inputs.

        """
        from kvtrace.addons.graphs.hlo.run import evaluate

        return evaluate(self, arrays)

    def run(self, *arrays: Any) -> Any:
        """Run the traced function by NumPy: write into inputs, and return the function's result.

        `arrays` are the graph's inputs in order; other values are converted to arrays.

        Raises:
            SignatureMismatch: the arrays do not fit the inputs.

        """
        from kvtrace.addons.graphs.hlo.run import run

        return run(self, arrays)

    def to_stablehlo(self) -> str:
        """Return the graph as StableHLO text, with the user's source location on every op."""
        from kvtrace.addons.graphs.stablehlo.module_text import module_text

        return module_text(self.rows(0), name=self.name)

    def figures(self) -> "GraphFigures":
        """Return the graph's bytes, FLOPs and live memory (`kvtrace.addons.graphs.figures`)."""
        from kvtrace.addons.graphs.figures import figures_of

        return figures_of(self.rows(0))

    def rows(self, graph_id: int, constants_apart: bool = False) -> "list[GraphOp]":
        """Return the rows of `graph_ops` of the graph.

        With `constants_apart`, large constants have the attribute `value_artifact`, the SHA-256 of
        their content, instead of `value`.
        """
        return list(_rows(self, graph_id, constants_apart))


def _spec(op: Op, name: str | None) -> TensorSpec:
    assert op.dtype is not None
    assert name is not None
    return TensorSpec(name, op.dtype, op.shape)


def _rows(graph: Graph, graph_id: int, apart: bool) -> "Iterator[GraphOp]":
    from kvtrace.addons.graphs.rows import GraphOp

    for index, op in enumerate(graph.ops):
        attributes = {
            name: attribute_text(value)
            for name, value in op.attributes.items()
            if not (apart and _is_large(value))
        }
        if apart and _is_large(op.attributes.get("value")):
            content = _content(op.attributes["value"])
            attributes["value_artifact"] = hashlib.sha256(content).hexdigest()
        yield GraphOp(
            graph_id=graph_id,
            op_index=index,
            opcode=op.opcode,
            operands=op.operands,
            dtype="tuple" if op.dtype is None else op.dtype.name,
            shape=op.shape,
            attributes=attributes,
            stack=user_locations(op.stack),
            input_name=op.input_name,
            output_name=op.output_name,
            aliases=op.aliases,
        )


def constant_contents(graph: Graph) -> Iterator[bytes]:
    """Yield the bytes of each constant above CONSTANT_LIMIT, little-endian."""
    for op in graph.ops:
        value = op.attributes.get("value")
        if _is_large(value):
            yield _content(value)


def _is_large(value: Any) -> bool:
    return isinstance(value, np.ndarray) and value.nbytes > CONSTANT_LIMIT


def _content(array: Any) -> bytes:
    little = array.dtype.newbyteorder("<") if array.dtype.byteorder == ">" else array.dtype
    return np.ascontiguousarray(array).astype(little, copy=False).tobytes()


def attribute_text(value: Any) -> str:
    """Return an attribute's text for the column: text unchanged, other values as JSON.

    An array of more than 16 elements is `0x` and its little-endian bytes in hexadecimal.
    """
    if isinstance(value, str):
        return value
    if isinstance(value, np.ndarray):
        if value.size > 16:
            return f"0x{_content(value).hex()}"
        if value.dtype.kind not in "biuf":
            value = value.astype(np.float32)
        return json.dumps(value.tolist())
    return json.dumps(value)
