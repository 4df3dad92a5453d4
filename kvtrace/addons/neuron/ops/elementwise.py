"""Element by element: tokens as ops of the language, and the instructions that take them."""

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

#: What ops of the language call their operands.
_OPERANDS: Final = ("x", "y")


def applied(token: Token, *operands: Values | Array) -> Array:
    """Apply a token to operands: in float32, or on the integers themselves for bits.

    Raises:
        NkiError: bits of floating-point numbers are asked for.
    """
    arrays = [each.values if isinstance(each, Values) else each for each in operands]
    if token.kind == "bits":
        if any(array.dtype.kind not in "iub" for array in arrays):
            raise NkiError(f"nl.{token.name} works on bits and takes integers")
        return np.asarray(token.apply(*_of_one_width(arrays)))
    return np.asarray(token.apply(*(dtypes.computed(array) for array in arrays)))


def _of_one_width(arrays: list[Array]) -> list[Array]:
    """Return plain numbers the type of the tile that they meet."""
    tiles = [array.dtype for array in arrays if array.ndim]
    if not tiles:
        return arrays
    return [array if array.ndim else array.astype(tiles[0]) for array in arrays]


def _language_dtype(token: Token, operands: list[Values], dtype: Any) -> Any:
    if dtype is not None:
        return dtype
    if token.truth:
        return dtypes.bool_
    given = dtypes.promoted(*(operand.dtype for operand in operands))
    if given not in dtypes.FLOATS and token.name == "divide":
        return dtypes.float32  # as NumPy's: what rounds a quotient is the program's to say
    return given


def _language_op(token: Token) -> Operation:
    """Make the op that a token is when it is called with tiles."""
    engine: Engine = "scalar" if token.kind == "activation" else "vector"

    def compute(
        issue: Issue, *operands: Any, dtype: Any = None, mask: Any = None, **others: Any
    ) -> Result:
        named = [others.pop(name) for name in _OPERANDS[len(operands) :] if name in others]
        operands = (*operands, *named)
        if len(operands) != token.arity or others:
            many = "1 operand" if token.arity == 1 else f"{token.arity} operands"
            raise NkiError(f"nl.{token.name} takes {many}, dtype and mask")
        read = []
        for place, operand in enumerate(operands):
            issue.combines = _either_way(token) if place else token
            read.append(issue.read(operand, mask))
        values = applied(token, *read)
        issue.flops = values.size
        return issue.result(
            values, _language_dtype(token, read, dtype), *read, mask=mask, space="sbuf"
        )

    compute.__doc__ = f"Give {token.name} of tiles, element by element."
    return operation(f"nl.{token.name}", engine=engine, kind="elementwise")(compute)


#: Tokens as ops of the language; a copy is a move, in moves.py.
LANGUAGE: Final = {name: _language_op(token) for name, token in TOKENS.items() if name != "copy"}
for _name, _operation in LANGUAGE.items():
    TOKENS[_name].execute = _operation.older


@operation("nl.where", engine="vector", kind="elementwise")
def where(
    issue: Issue, condition: Any, x: Any, y: Any, *, dtype: Any = None, mask: Any = None
) -> Result:
    """Return `x` where the condition holds, and `y` elsewhere."""
    chosen, one, other = (issue.read(operand, mask) for operand in (condition, x, y))
    values = np.where(chosen.values.astype(bool), one.computed(), other.computed())
    given = _language_dtype(TOKENS["add"], [one, other], dtype)
    return issue.result(values, given, chosen, one, other, mask=mask)


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
    """Combine two tiles of one shape, element by element."""
    issue.runs_on(engine)
    issue.combines = token_of(op, 2)
    left = issue.read(data1, mask)
    issue.combines = _either_way(op)
    right = issue.read(data2, mask)
    if left.values.shape != right.values.shape and left.values.size != right.values.size:
        raise NkiError(
            f"tensor_tensor takes tiles of one shape, not {left.values.shape} and "
            f"{right.values.shape}; broadcast the smaller one first"
        )
    right = reshaped(right, left.values.shape)
    values = applied(token_of(op, 2), left, right)
    issue.flops = values.size
    given = dtypes.promoted(left.dtype, right.dtype) if dtype is None else dtype
    return issue.result(values, given, left, right, mask=mask)


def _either_way(op: Any) -> Token | None:
    """Return a token if its operands can change places: what was there can then be the second."""
    token = token_of(op, 2)
    return None if token.name in ("subtract", "divide") else token


def reshaped(operand: Values, shape: tuple[int, ...]) -> Values:
    """Return an operand of equal size under another shape."""
    if operand.values.shape == shape:
        return operand
    states = None if operand.states is None else operand.states.reshape(shape)
    return Values(operand.values.reshape(shape), states, operand.dtype, operand.space)


def column(issue: Issue, operand: Any, shape: tuple[int, ...], mask: Any = None) -> Values:
    """Read an operand that is a number, or one number per partition, for a tile of a shape.

    Raises:
        NkiError: it has more than one element a partition.
    """
    partitions, rank = shape[0], len(shape)
    if mask is not None and isinstance(operand, Tensor):
        lanes = lanes_within(mask, shape, operand.shape[:1] + (1,) * (rank - 1))
        mask = None if lanes is None else lanes_of(lanes).reshape((-1,) + (1,) * (operand.ndim - 1))
    read = issue.read(operand, mask)
    if read.is_number or (read.values.size == 1 and partitions == 1):
        return read if read.is_number else reshaped(read, (1,) * rank)
    if read.values.size != read.values.shape[0]:
        raise NkiError(f"a vector operand is one number a partition, not {read.values.shape}")
    if read.values.shape[0] not in (1, partitions):
        raise NkiError(
            f"a vector operand has {read.values.shape[0]} partitions for a tile of {partitions}"
        )
    return reshaped(read, (read.values.shape[0],) + (1,) * (rank - 1))


def staged(
    issue: Issue,
    op: Any,
    values: Array,
    operand: Any,
    swapped: bool,
    operands: list[Values],
    mask: Any = None,
) -> Array:
    """Apply an operation of an instruction with a number or a column, which joins its operands.

    One of a single operand has no other, and `bypass` does nothing.
    """
    if op is BYPASS:
        return values
    token = token_of(op)
    if token.arity == 1:
        issue.flops += values.size
        return applied(token, values)
    other = column(issue, operand, values.shape, mask)
    operands.append(other)
    pair = (other.values, values) if swapped else (values, other.values)
    issue.flops += values.size
    return applied(token, *pair)


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
    """Apply one or two operations with a number, or with one number per partition."""
    issue.runs_on(engine)
    if op1 is None and token_of(op0).arity == 2:
        issue.combines = _either_way(op0) if reverse0 else token_of(op0)
    tile = issue.read(data, mask)
    issue.combines = None
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
    """Apply an operation with a number or a column, then one with a tile of the same shape."""
    tile = issue.read(data, mask)
    operands = [tile]
    values = staged(issue, op0, tile.values, operand0, reverse0, operands, mask)
    issue.combines = token_of(op1, 2) if reverse1 else _either_way(op1)
    second = reshaped(issue.read(operand1, mask), tile.values.shape)
    pair = (second.values, values) if reverse1 else (values, second.values)
    values = applied(token_of(op1, 2), *pair)
    issue.flops += values.size
    return issue.result(values, dtype, *operands, second, mask=mask)


@operation("nisa.reciprocal", engine="vector", kind="elementwise")
def reciprocal(
    issue: Issue, data: Any, *, dtype: Any = None, mask: Any = None, engine: Any = None
) -> Result:
    """Return one over each element."""
    issue.runs_on(engine)
    tile = issue.read(data, mask)
    values = np.reciprocal(tile.computed())
    issue.flops = values.size
    return issue.result(values, dtype, tile, mask=mask)
