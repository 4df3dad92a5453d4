"""One op of a traced graph, with its result."""

from collections.abc import Callable, Sequence
from typing import Any

from msgspec import Struct

from kvtrace.addons.graphs.hlo.dtypes import Dtype
from kvtrace.addons.graphs.hlo.errors import Stack


class Op(Struct, eq=False):
    """One op, with its result.

    Attributes:
        opcode: The op's name in StableHLO; `parameter` and `copy` as in HLO.
        operands: Positions of the operands.
        dtype: Element type of the result; None for several results.
        shape: Shape of the result.
        attributes: Further parameters of the op's meaning, as plain values.
        stack: The stack in the user's program.
        input_name: Name of the parameter, if the op is one.
        output_name: Name of the graph's result, if the op is one.
        aliases: Parameter that this result is written into.
        calls: Function of arrays that a `custom_call` runs.

    """

    opcode: str
    operands: tuple[int, ...]
    dtype: Dtype | None
    shape: tuple[int, ...]
    attributes: dict[str, Any]
    stack: Stack
    input_name: str | None = None
    output_name: str | None = None
    aliases: str | None = None
    calls: Callable[..., Sequence[Any]] | None = None

    def __repr__(self) -> str:
        result_type = "tuple" if self.dtype is None else f"{self.dtype.name}{list(self.shape)}"
        return f"{self.opcode}{self.operands} -> {result_type}"
