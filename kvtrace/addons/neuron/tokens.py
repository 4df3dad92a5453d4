"""Tokens: named arithmetic such as `nl.add` and `nl.exp`, called or passed as `op=`.

A token called with tiles is an op of the language. Passed to an instruction, it names the
instruction's arithmetic; NumPy functions are accepted instead.
"""

from collections.abc import Callable
from typing import Any, Final, Literal

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from kvtrace.addons.neuron.errors import NkiError

Kind = Literal["arithmetic", "comparison", "logical", "bits", "activation"]
Array = NDArray[Any]

#: Every token by its name.
TOKENS: Final[dict[str, "Token"]] = {}

#: Token → its neutral element, which stands for masked-off elements in a reduction.
NEUTRAL: Final = {
    "add": 0.0,
    "multiply": 1.0,
    "maximum": -np.inf,
    "minimum": np.inf,
}


class Token(Struct, eq=False):
    """A function of one or two numbers: `apply` takes float32 arrays, or integers for bits."""

    name: str
    arity: int
    kind: Kind
    apply: Callable[..., Any]
    #: Runs the token as an op of the language; set by `ops/elementwise.py`.
    execute: Callable[..., Any] | None = None

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Run the token as an op of the language, on tiles and numbers."""
        if self.execute is None:
            raise NkiError(
                f"nl.{self.name} names an operation of instructions and is not an op itself"
            )
        return self.execute(*args, **kwargs)

    def __repr__(self) -> str:
        return f"nl.{self.name}"

    @property
    def is_boolean(self) -> bool:
        """The token's results are booleans."""
        return self.kind in ("comparison", "logical")


def token(name: str, arity: int, kind: Kind) -> Callable[[Callable[..., Any]], Token]:
    """Return a decorator that registers a function of arrays as the token `name`."""

    def register(apply: Callable[..., Any]) -> Token:
        registered = TOKENS[name] = Token(name, arity, kind, apply)
        return registered

    return register


def token_of(operation: Any, arity: int | None = None) -> Token:
    """Return the token of an instruction's argument `op`: a token, a NumPy function or a name.

    Raises:
        NkiError: there is no such token, or it has not `arity` operands.
    """
    token_ = operation if isinstance(operation, Token) else TOKENS.get(_name_of(operation))
    if token_ is None:
        raise NkiError(f"{operation!r} is not an operation of NKI")
    if arity is not None and token_.arity != arity:
        raise NkiError(f"nl.{token_.name} takes {token_.arity} operands here, not {arity}")
    return token_


#: NumPy's names → NKI's names.
_NUMPY_NAMES: Final = {
    "amax": "maximum",
    "max": "maximum",
    "amin": "minimum",
    "min": "minimum",
    "sum": "add",
    "prod": "multiply",
    "true_divide": "divide",
    "remainder": "mod",
    "absolute": "abs",
    "invert": "bitwise_not",
}


def _name_of(operation: Any) -> str:
    name = operation if isinstance(operation, str) else getattr(operation, "__name__", "")
    name = name.rpartition(".")[2]
    return _NUMPY_NAMES.get(name, name)


def _register(name: str, arity: int, kind: Kind, apply: Callable[..., Any]) -> None:
    TOKENS[name] = Token(name, arity, kind, apply)


for _name in ("add", "subtract", "multiply", "divide", "maximum", "minimum", "power"):
    _register(_name, 2, "arithmetic", getattr(np, _name))
#: Skips a stage of an instruction; not an op of the language.
BYPASS: Final = Token("bypass", 2, "arithmetic", lambda data, _: data)
_register("mod", 2, "arithmetic", np.remainder)
for _name in ("equal", "not_equal", "less", "less_equal", "greater", "greater_equal"):
    _register(_name, 2, "comparison", getattr(np, _name))
for _name in ("logical_and", "logical_or", "logical_xor"):
    _register(_name, 2, "logical", getattr(np, _name))
_register("logical_not", 1, "logical", np.logical_not)
for _name in ("bitwise_and", "bitwise_or", "bitwise_xor", "left_shift", "right_shift"):
    _register(_name, 2, "bits", getattr(np, _name))
_register("bitwise_not", 1, "bits", np.invert)
_register("invert", 1, "bits", np.invert)
for _name in ("exp", "log", "sqrt", "square", "tanh", "floor", "ceil", "trunc", "sin", "cos"):
    _register(_name, 1, "activation", getattr(np, _name))
for _name in ("tan", "arctan", "sign", "negative", "reciprocal"):
    _register(_name, 1, "activation", getattr(np, _name))
_register("abs", 1, "activation", np.abs)
_register("copy", 1, "activation", np.positive)


@token("rsqrt", 1, "activation")
def _rsqrt(x: Array) -> Any:
    return np.float32(1) / np.sqrt(x)


@token("relu", 1, "activation")
def _relu(x: Array) -> Any:
    return np.maximum(x, np.float32(0))


@token("sigmoid", 1, "activation")
def _sigmoid(x: Array) -> Any:
    return np.float32(1) / (np.float32(1) + np.exp(-x))


@token("silu", 1, "activation")
def _silu(x: Array) -> Any:
    return x * _sigmoid.apply(x)


@token("erf", 1, "activation")
def _erf(x: Array) -> Any:
    """Return erf(x) by Abramowitz and Stegun 7.1.26, whose error is below 1.5e-7."""
    magnitude = np.abs(x.astype(np.float64))
    t = 1 / (1 + 0.3275911 * magnitude)
    terms = (0.254829592, -0.284496736, 1.421413741, -1.453152027, 1.061405429)
    total = np.zeros_like(t)
    for term in reversed(terms):
        total = (total + term) * t
    return (np.sign(x) * (1 - total * np.exp(-magnitude * magnitude))).astype(np.float32)


@token("gelu", 1, "activation")
def _gelu(x: Array) -> Any:
    return np.float32(0.5) * x * (np.float32(1) + _erf.apply(x * np.float32(np.sqrt(0.5))))


@token("gelu_apprx_tanh", 1, "activation")
def _gelu_apprx_tanh(x: Array) -> Any:
    inner = np.float32(np.sqrt(2 / np.pi)) * (x + np.float32(0.044715) * x * x * x)
    return np.float32(0.5) * x * (np.float32(1) + np.tanh(inner))
