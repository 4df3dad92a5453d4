"""The graph under construction, to which traced operations are appended.

There is one innermost builder per thread; ops always go into it.
"""

import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from types import FrameType
from typing import TYPE_CHECKING, Any, ClassVar, Final

import numpy as np

from kvtrace.addons.graphs.hlo.dtypes import INSTEAD, TARGETS, Dtype, native
from kvtrace.addons.graphs.hlo.errors import DtypeNotOnTarget, ForeignTensor, Stack, current_stack
from kvtrace.addons.graphs.hlo.graph import Graph
from kvtrace.addons.graphs.hlo.op import Op

if TYPE_CHECKING:
    from kvtrace.addons.graphs.hlo.wrapper import Tensor

_ELEMENTWISE: Final = (
    "abs add and atan2 ceil compare convert cosine divide exponential exponential_minus_one "
    "floor is_finite log log_plus_one logistic maximum minimum multiply negate not or power "
    "remainder round_nearest_even rsqrt select shift_left shift_right_arithmetic "
    "shift_right_logical sign sine sqrt subtract tan tanh xor"
)

#: Ops whose result has one element for each element of an operand.
ELEMENTWISE: Final = frozenset(_ELEMENTWISE.split())

_NO_ATTRIBUTES: Final[dict[str, Any]] = {}


class _InnermostBuilder(threading.local):
    builder: "Builder | None" = None


_innermost = _InnermostBuilder()


class Builder:
    """A graph under construction; recorded stacks end before `root`, the frame of the call."""

    #: The class of results, set by `kvtrace.hlo.wrapper`, which imports this module.
    tensor_class: "ClassVar[type[Tensor]]"

    def __init__(self, name: str, target: str = "xla", root: FrameType | None = None) -> None:
        self.name = name
        self.target = target
        self.root = root
        self.ops: list[Op] = []
        self._constants: dict[Any, int] = {}
        self._dtypes = TARGETS[target]

    @contextmanager
    def active(self) -> Iterator["Builder"]:
        """Make this the innermost builder while the context lasts."""
        previous_builder = _innermost.builder
        _innermost.builder = self
        try:
            yield self
        finally:
            _innermost.builder = previous_builder

    # -- appending --------------------------------------------------------------------------

    def emit(
        self,
        opcode: str,
        operands: "Sequence[Tensor]",
        shape: tuple[int, ...],
        dtype: Dtype,
        attributes: dict[str, Any] = _NO_ATTRIBUTES,
    ) -> "Tensor":
        """Append an op with one result, and return the result.

        Raises:
            DtypeNotOnTarget: The target lacks this element type.

        """
        if dtype not in self._dtypes:
            raise self._missing_dtype(dtype)
        indices = tuple([self.index_of(operand) for operand in operands])
        op = Op(opcode, indices, dtype, shape, attributes, current_stack(self.root))
        self.ops.append(op)
        result = self.tensor_class(self, len(self.ops) - 1, shape, dtype)
        if opcode in ELEMENTWISE:  # in NumPy, a result has the memory order of its operands
            for operand in operands:
                result._permuted = result._permuted or operand._permuted
        return result

    def emit_several(
        self,
        opcode: str,
        operands: "Sequence[Tensor]",
        results: Sequence[tuple[tuple[int, ...], Dtype]],
        attributes: dict[str, Any],
    ) -> "tuple[Tensor, ...]":
        """Append an op with several results; return its `get_tuple_element` ops, one per result."""
        indices = tuple([self.index_of(operand) for operand in operands])
        stack = current_stack(self.root)
        self.ops.append(Op(opcode, indices, None, (), attributes, stack))
        tuple_index = len(self.ops) - 1
        elements = []
        for number, (shape, dtype) in enumerate(results):
            if dtype not in self._dtypes:
                raise self._missing_dtype(dtype)
            op = Op("get_tuple_element", (tuple_index,), dtype, shape, {"index": number}, stack)
            self.ops.append(op)
            elements.append(self.tensor_class(self, len(self.ops) - 1, shape, dtype))
        return tuple(elements)

    def parameter(
        self, name: str, shape: tuple[int, ...], dtype: Dtype, stack: Stack | None = None
    ) -> "Tensor":
        """Append a parameter and return its tensor; `stack` replaces the running stack."""
        tensor = self.emit("parameter", (), shape, dtype)
        op = self.ops[-1]
        op.input_name = name
        if stack is not None:
            op.stack = stack
        return tensor

    def constant(self, value: Any, shape: tuple[int, ...], dtype: Dtype) -> "Tensor":
        """Return a tensor filled with a Python scalar of the type; equal ones share an op."""
        # The sign of a zero and the bits of a NaN are part of the value.
        constant_key = (value.__class__, repr(value), shape, dtype)
        index = self._constants.get(constant_key)
        if index is None:
            tensor = self.emit("constant", (), shape, dtype, {"value": value})
            self._constants[constant_key] = tensor._index
            return tensor
        return self.tensor_class(self, index, shape, dtype)

    def literal(self, array: "np.ndarray[Any, Any]") -> "Tensor":
        """Return a constant tensor with a copy of an array; equal elements become one value."""
        dtype = native(array.dtype)
        if dtype not in self._dtypes:
            raise self._missing_dtype(dtype)
        if array.size and (array.size == 1 or bool(np.all(array == array.flat[0]))):
            return self.constant(array.flat[0].item(), array.shape, dtype)
        return self.emit("constant", (), array.shape, dtype, {"value": array.astype(dtype)})

    # -- operands ---------------------------------------------------------------------------

    def index_of(self, tensor: "Tensor") -> int:
        """Return the index of the op of a tensor's present value.

        Raises:
            ForeignTensor: The tensor belongs to no trace in progress here.

        """
        if tensor._view is not None:
            tensor._follow_base()
        if tensor._builder is not self:
            raise ForeignTensor.here(
                "a tensor is used outside the trace that made it; "
                "return it from the traced function, or pass it as an argument"
            )
        return tensor._index

    def _missing_dtype(self, dtype: Dtype) -> DtypeNotOnTarget:
        instead = INSTEAD.get(dtype.name, "another element type")
        return DtypeNotOnTarget.here(
            f"the target {self.target} has no {dtype.name}; "
            f"use {instead}, as with astype, or trace for another target"
        )

    # -- finishing --------------------------------------------------------------------------

    def finish(
        self,
        outputs: "Sequence[tuple[str, Tensor, str | None]]",
        structure: Any = None,
    ) -> Graph:
        """Return the graph of outputs (name, tensor, aliased parameter), without unneeded ops."""
        named_outputs: list[tuple[int, str, str | None]] = []
        output_indices: set[int] = set()
        for name, tensor, aliased in outputs:
            index = self.index_of(tensor)
            if index in output_indices or self.ops[index].opcode == "parameter":
                # A result has one name and cannot be a parameter: a copy is inserted.
                copied = self.emit("copy", (tensor,), tensor.shape, tensor.dtype)
                index = copied._index
            output_indices.add(index)
            named_outputs.append((index, name, aliased))
        for output_index, (index, name, aliased) in enumerate(named_outputs):
            op = self.ops[index]
            op.output_name = name
            op.aliases = aliased
            op.attributes = {**op.attributes, "output_index": output_index}
        ops = _needed_ops(self.ops, output_indices)
        return Graph(self.name, ops, structure, self.target)


def _needed_ops(ops: list[Op], outputs: set[int]) -> list[Op]:
    """Return parameters and needed ops, with renumbered operands; tuples stay complete."""
    needed = bytearray(len(ops))
    for index in outputs:
        needed[index] = 1
    for index in range(len(ops) - 1, -1, -1):
        if needed[index]:
            for operand in ops[index].operands:
                needed[operand] = 1
    kept_indices = [i for i, op in enumerate(ops) if op.opcode == "parameter"]
    kept_indices += [
        i for i, op in enumerate(ops) if op.opcode != "parameter" and _is_needed(ops, i, needed)
    ]
    new_indices = {old_index: new_index for new_index, old_index in enumerate(kept_indices)}
    needed_list = [ops[index] for index in kept_indices]
    for op in needed_list:
        op.operands = tuple([new_indices[operand] for operand in op.operands])
    return needed_list


def _is_needed(ops: list[Op], index: int, needed: bytearray) -> bool:
    op = ops[index]
    if op.opcode == "get_tuple_element":  # all results of an op, or none
        return bool(needed[op.operands[0]])
    return bool(needed[index])


def current() -> Builder:
    """Return this thread's innermost builder, to which ops are appended.

    Raises:
        ForeignTensor: No trace is in progress in this thread.

    """
    builder = _innermost.builder
    if builder is None:
        raise ForeignTensor.here(
            "a traced tensor is used after its trace has ended, or in another thread; "
            "return it from the traced function"
        )
    return builder


def tracing() -> bool:
    """Return whether a trace is in progress in this thread."""
    return _innermost.builder is not None
