"""Element-wise ops: tokens as ops of the language, and instructions that take tokens."""

from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from kvtrace.addons.neuron import dtypes
from kvtrace.addons.neuron.access import Values
from kvtrace.addons.neuron.errors import NkiError
from kvtrace.addons.neuron.indices import lanes_of
from kvtrace.addons.neuron.operations import Engine, Issue, Operation, Result, operation
from kvtrace.addons.neuron.selections import lanes_within
from kvtrace.addons.neuron.tensors import Tensor
from kvtrace.addons.neuron.tokens import BYPASS, TOKENS, Token, token_of

Array = NDArray[Any]

#: Names of the operands of the language's ops.
_OPERANDS: Final = ("x", "y")


def applied(token: Token, *operands: Values | Array) -> Array:
    """Return a token's results for operands, computed in float32; bitwise tokens use integers.

    Raises:
        NkiError: a bitwise token is applied to floats.
    """
    arrays = [operand.values if isinstance(operand, Values) else operand for operand in operands]
    if token.kind == "bits":
        if any(array.dtype.kind not in "iub" for array in arrays):
            raise NkiError(f"nl.{token.name} is bitwise and needs integers")
        return np.asarray(token.apply(*_with_tile_types(arrays)))
    return np.asarray(token.apply(*(dtypes.computed(array) for array in arrays)))


def _with_tile_types(arrays: list[Array]) -> list[Array]:
    tile_types = [array.dtype for array in arrays if array.ndim]
    if not tile_types:
        return arrays
    return [array if array.ndim else array.astype(tile_types[0]) for array in arrays]


def _result_dtype(token: Token, operands: list[Values], dtype: Any) -> Any:
    if dtype is not None:
        return dtype
    if token.is_boolean:
        return dtypes.bool_
    promoted = dtypes.promoted(*(operand.dtype for operand in operands))
    if promoted not in dtypes.FLOATS and token.name == "divide":
        return dtypes.float32  # as in NumPy: a program rounds quotients explicitly
    return promoted


def _language_op(token: Token) -> Operation:
    """Return the op that a token executes when it is called with tiles, as `nl.add(x, y)`."""
    engine: Engine = "scalar" if token.kind == "activation" else "vector"

    def compute(
        issue: Issue, *operands: Any, dtype: Any = None, mask: Any = None, **others: Any
    ) -> Result:
        named = [others.pop(name) for name in _OPERANDS[len(operands) :] if name in others]
        operands = (*operands, *named)
        if len(operands) != token.arity or others:
            operand_count = "1 operand" if token.arity == 1 else f"{token.arity} operands"
            raise NkiError(f"nl.{token.name} has {operand_count}, dtype and mask as parameters")
        source = [issue.read(operand, mask) for operand in operands]
        values = applied(token, *source)
        issue.flops = values.size
        return issue.result(
            values,
            _result_dtype(token, source, dtype),
            *source,
            mask=mask,
            space="sbuf",
        )

    compute.__doc__ = f"Return {token.name} of tiles, element by element."
    return operation(f"nl.{token.name}", engine=engine, kind="elementwise")(compute)


#: Tokens as ops of the language, except copy, which is in moves.py.
LANGUAGE: Final = {name: _language_op(token) for name, token in TOKENS.items() if name != "copy"}
for _name, _operation in LANGUAGE.items():
    TOKENS[_name].execute = _operation.older


@operation("nl.where", engine="vector", kind="elementwise")
def where(
    issue: Issue, condition: Any, x: Any, y: Any, *, dtype: Any = None, mask: Any = None
) -> Result:
    """Return `x` where the condition is true, and `y` elsewhere."""
    conditions, left, right = (issue.read(operand, mask) for operand in (condition, x, y))
    values = np.where(conditions.values.astype(bool), left.computed(), right.computed())
    result_dtype = _result_dtype(TOKENS["add"], [left, right], dtype)
    return issue.result(values, result_dtype, conditions, left, right, mask=mask)


@operation("nisa.tensor_tensor", engine="vector", kind="elementwise")
def tensor_tensor(
    issue: Issue,
    data1: Any,
    data2: Any,
    op: Any,
    *,
    dtype: Any = None,
    mask: Any = None,
    engine: Any = None,
) -> Result:
    """Return `op` of two tiles of one shape, element by element."""
    issue.choose_engine(engine)
    left = issue.read(data1, mask)
    right = issue.read(data2, mask)
    if left.values.shape != right.values.shape and left.values.size != right.values.size:
        raise NkiError(
            f"tensor_tensor needs tiles of one shape, not {left.values.shape} and "
            f"{right.values.shape}; broadcast the smaller one first"
        )
    right = right.reshaped(*left.values.shape)
    values = applied(token_of(op, 2), left, right)
    issue.flops = values.size
    result_dtype = dtypes.promoted(left.dtype, right.dtype) if dtype is None else dtype
    return issue.result(values, result_dtype, left, right, mask=mask)


def column(issue: Issue, operand: Any, shape: tuple[int, ...], mask: Any = None) -> Values:
    """Return an operand that is one number, or one per partition, shaped for a tile of `shape`.

    Raises:
        NkiError: the operand has several elements per partition, or the wrong number of partitions.
    """
    partitions, rank = shape[0], len(shape)
    if mask is not None and isinstance(operand, Tensor):
        lanes = lanes_within(mask, shape, operand.shape[:1] + (1,) * (rank - 1))
        mask = None if lanes is None else lanes_of(lanes).reshape((-1,) + (1,) * (operand.ndim - 1))
    source = issue.read(operand, mask)
    if source.is_number or (source.values.size == 1 and partitions == 1):
        return source if source.is_number else source.reshaped(*(1,) * rank)
    if source.values.size != source.values.shape[0]:
        raise NkiError(
            f"a vector operand needs one number per partition, not the shape {source.values.shape}"
        )
    if source.values.shape[0] not in (1, partitions):
        raise NkiError(
            f"a vector operand has {source.values.shape[0]} partitions for a tile of {partitions}"
        )
    return source.reshaped(source.values.shape[0], *(1,) * (rank - 1))


def staged(
    issue: Issue,
    op: Any,
    values: Array,
    operand: Any,
    swapped: bool,
    operands: list[Values],
    mask: Any = None,
) -> Array:
    """Return a token's result for `values` and an operand, which is appended to `operands`.

    It is one stage of an instruction. The operand is a number or a column; `swapped` makes it the
    token's first operand. Unary tokens have none, and `bypass` returns the values.
    """
    if op is BYPASS:
        return values
    token = token_of(op)
    if token.arity == 1:
        issue.flops += values.size
        return applied(token, values)
    operand_values = column(issue, operand, values.shape, mask)
    operands.append(operand_values)
    token_operands = (operand_values.values, values) if swapped else (values, operand_values.values)
    issue.flops += values.size
    return applied(token, *token_operands)


@operation("nisa.tensor_scalar", engine="vector", kind="elementwise")
def tensor_scalar(
    issue: Issue,
    data: Any,
    op0: Any,
    operand0: Any,
    reverse0: bool = False,
    op1: Any = None,
    operand1: Any = None,
    reverse1: bool = False,
    *,
    dtype: Any = None,
    mask: Any = None,
    engine: Any = None,
) -> Result:
    """Return `op1(op0(data, operand0), operand1)`; operands are numbers or columns."""
    issue.choose_engine(engine)
    tile = issue.read(data, mask)
    operands = [tile]
    values: Array = tile.values
    for op, operand, swapped in ((op0, operand0, reverse0), (op1, operand1, reverse1)):
        if op is not None:
            values = staged(issue, op, values, operand, swapped, operands, mask)
    return issue.result(values, dtype, *operands, mask=mask)


@operation("nisa.scalar_tensor_tensor", engine="vector", kind="elementwise")
def scalar_tensor_tensor(
    issue: Issue,
    data: Any,
    op0: Any,
    operand0: Any,
    op1: Any,
    operand1: Any,
    reverse0: bool = False,
    reverse1: bool = False,
    *,
    dtype: Any = None,
    mask: Any = None,
) -> Result:
    """Return `op1(op0(data, operand0), operand1)`: a number or a column, then a tile."""
    tile = issue.read(data, mask)
    operands = [tile]
    values = staged(issue, op0, tile.values, operand0, reverse0, operands, mask)
    tile1 = issue.read(operand1, mask).reshaped(*tile.values.shape)
    token_operands = (tile1.values, values) if reverse1 else (values, tile1.values)
    values = applied(token_of(op1, 2), *token_operands)
    issue.flops += values.size
    return issue.result(values, dtype, *operands, tile1, mask=mask)


@operation("nisa.reciprocal", engine="vector", kind="elementwise")
def reciprocal(
    issue: Issue, data: Any, *, dtype: Any = None, mask: Any = None, engine: Any = None
) -> Result:
    """Return 1 / x for each element of a tile."""
    issue.choose_engine(engine)
    tile = issue.read(data, mask)
    values = np.reciprocal(tile.computed())
    issue.flops = values.size
    return issue.result(values, dtype, tile, mask=mask)
