"""One op of a traced graph, and its result."""

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from kvtrace.addons.graphs.hlo.dtypes import Dtype
from kvtrace.addons.graphs.hlo.frames import Stack

if TYPE_CHECKING:
    from kvtrace.addons.graphs.hlo.graph import Graph


class Op:
    """One op, and its result.

    Attributes:
        opcode: StableHLO's name of it; `parameter` and `copy` as in HLO.
        operands: positions of what it works on.
        dtype: element type of the result; None where it has several results.
        shape: shape of the result.
        attributes: all else that the op's meaning depends on, as plain values.
        stack: where the user's program made it.
        graphs: bodies, by their role (condition, body, true, false).
        input_name: name of the parameter that it is.
        output_name: name of the result that it is.
        aliases: parameter that this result is written into.
        calls: what a `custom_call` runs: a function of arrays.

    """

    __slots__ = (
        "aliases",
        "attributes",
        "calls",
        "dtype",
        "graphs",
        "input_name",
        "opcode",
        "operands",
        "output_name",
        "shape",
        "stack",
    )

    def __init__(
        self,
        opcode: str,
        operands: tuple[int, ...],
        dtype: Dtype | None,
        shape: tuple[int, ...],
        attributes: dict[str, Any],
        stack: Stack,
        graphs: "dict[str, Graph] | None" = None,
    ) -> None:
        self.opcode = opcode
        self.operands = operands
        self.dtype = dtype
        self.shape = shape
        self.attributes = attributes
        self.stack = stack
        self.graphs = graphs
        self.input_name: str | None = None
        self.output_name: str | None = None
        self.aliases: str | None = None
        self.calls: Callable[..., Sequence[Any]] | None = None

    def __repr__(self) -> str:
        kind = "tuple" if self.dtype is None else f"{self.dtype.name}{list(self.shape)}"
        return f"{self.opcode}{self.operands} -> {kind}"
