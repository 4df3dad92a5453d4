"""Questions about libdevice: every overload that `triton.language.extra.libdevice` offers."""

import ast
import inspect
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from tests.kernels.answers.elementwise import question_of
from tests.kernels.answers.question import BITS, LAST_BITS, Question
from tests.kernels.answers.values import (
    FORMATS,
    Bits,
    held,
    pairs,
    singles,
    specials,
    triples,
)

KERNELS = ("library_of_one", "library_of_two", "library_of_three", "library_of_four")
NAMES = ("x", "y", "z", "w")
SHORT = {"int1": "i1", **{f"{kind}int{width}": f"{kind or 'i'}{width}"
         for kind in ("", "u") for width in (8, 16, 32, 64)}}  # fmt: skip

ROUNDED = ("_rn", "_rz", "_rd", "_ru")
EXACT = frozenset({
    "abs", "ceil", "copysign", "fdim", "finitef", "floor", "fma", "fmod", "ilogb", "isfinited",
    "isinf", "isnan", "ldexp", "llrint", "llround", "logb", "nearbyint", "nextafter", "remainder",
    "rint", "round", "saturatef", "scalbn", "signbit", "trunc",
})  # fmt: skip


@dataclass(frozen=True)
class Overload:
    """One function of libdevice for one list of operand types."""

    name: str
    operands: tuple[str, ...]
    result: str


def overloads() -> list[Overload]:
    """Return the overloads in the tables of Triton's source, in its order."""
    from triton.language.extra.cuda import libdevice

    tree = ast.parse(inspect.getsource(libdevice))
    result = []
    for function in tree.body:
        if not isinstance(function, ast.FunctionDef):
            continue
        for table in (node for node in ast.walk(function) if isinstance(node, ast.Dict)):
            for key, value in zip(table.keys, table.values, strict=True):
                target = _types_in(value)
                if key is not None and len(target) == 1:
                    result.append(Overload(function.name, tuple(_types_in(key)), target[0]))
    return result


def _types_in(node: ast.expr) -> list[str]:
    calls = (each for each in ast.walk(node) if isinstance(each, ast.Call))
    ordered = sorted(calls, key=lambda call: (call.lineno, call.col_offset))
    words = [call.args[0].value for call in ordered if isinstance(call.args[0], ast.Constant)]
    return [SHORT.get(str(word), str(word)) for word in words]


def agreement_of(overload: Overload) -> str:
    """Return whether a function's result is defined to the last bit."""
    exact = overload.name in EXACT or overload.name.endswith(ROUNDED)
    whole = not any(FORMATS[dtype].is_float for dtype in overload.operands)
    real = FORMATS[overload.result].is_float
    return BITS if exact or whole or not real else LAST_BITS


def operands_of(overload: Overload) -> list[Bits]:
    """Return the operands to ask about, all of one length."""
    dtypes = overload.operands
    if overload.name in ("jn", "yn"):
        return _orders_and_arguments(dtypes)
    if len(dtypes) == 1:
        return [singles(dtypes[0], 128)]
    if len(dtypes) == 2 and dtypes[0] == dtypes[1]:
        more = [singles(dtypes[0], 278, place)[22:] for place in range(2)]
        return [np.concatenate(two) for two in zip(pairs(dtypes[0]), more, strict=True)]
    if len(dtypes) == 2:
        scales = [-1100, -150, -149, -126, -24, -1, 0, 1, 2, 23, 24, 127, 128, 1023, 2000, -2000]
        return [np.repeat(specials(dtypes[0]), 16), np.tile(held(dtypes[1], scales), 16)]
    if len(set(dtypes)) == 1 and len(dtypes) == 3:
        return list(triples(dtypes[0]))
    values = [singles(dtype, 128, place) for place, dtype in enumerate(dtypes)]
    return [np.roll(bits, 5 * place) for place, bits in enumerate(values)]


def _orders_and_arguments(dtypes: tuple[str, ...]) -> list[Bits]:
    orders = held(dtypes[0], [0, 1, 2, 3, 5, 8, -1, -2, -3, 12, 20, 33, 4, 6, 7, -9])
    values = singles(dtypes[1], 54, "orders")
    return [np.tile(orders, 16), np.roll(np.resize(values, 256), 3)]


def questions() -> Iterator[Question]:
    for overload in overloads():
        operands = operands_of(overload)
        inputs = {
            name: (dtype, bits)
            for name, dtype, bits in zip(NAMES, overload.operands, operands, strict=False)
        }
        yield question_of(
            f"libdevice.{overload.name}", " ".join(overload.operands),
            f"elementwise.{KERNELS[len(overload.operands) - 1]}", inputs, overload.result,
            {"NAME": overload.name}, agreement=agreement_of(overload),
        )  # fmt: skip
