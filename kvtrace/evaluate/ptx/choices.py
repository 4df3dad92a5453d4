"""PTX: comparisons and selections (PTX ISA 9.7.6, 9.7.7)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from kvtrace.evaluate.errors import UnsupportedOp
from kvtrace.evaluate.ptx.arithmetic import flushed
from kvtrace.evaluate.ptx.table import BITS, FLOATS, SIGNED, UNSIGNED, Form, instruction
from kvtrace.evaluate.ptx.types import encoded
from kvtrace.evaluate.values import Array

_ORDERED: dict[str, Callable[..., Any]] = {
    "eq": np.equal, "ne": np.not_equal, "lt": np.less, "le": np.less_equal, "gt": np.greater,
    "ge": np.greater_equal, "lo": np.less, "ls": np.less_equal, "hi": np.greater,
    "hs": np.greater_equal,
}  # fmt: skip
_ONLY_NAN = ("num", "nan")
_UNORDERED = {f"{name}u": _ORDERED[name] for name in ("eq", "ne", "lt", "le", "gt", "ge")}
_JOINED: dict[str, Callable[..., Any]] = {
    "and": np.logical_and, "or": np.logical_or, "xor": np.logical_xor
}  # fmt: skip
_COMPARISONS = " ".join((*_ORDERED, *_UNORDERED, "num", "nan"))
_ALLOWED = {
    "b": ("eq", "ne"),
    "s": tuple(_ORDERED)[:6],
    "u": tuple(_ORDERED),
    "f": (*tuple(_ORDERED)[:6], *_UNORDERED, *_ONLY_NAN),
}
"""Comparisons by the kind of a type."""
_COMPARED = (*BITS, *SIGNED, *UNSIGNED, *FLOATS)


def compared(form: Form, left: Array, right: Array) -> Array:
    """Return the comparison that a modifier names; with a NaN, only unordered ones are true."""
    if form.has("ftz") and form.type.name == "f32":
        left, right = flushed(left), flushed(right)
    names = [m for m in form.modifiers if m in _ALLOWED[form.type.kind]]
    if len(names) != 1:
        raise UnsupportedOp(f"the instruction {form.text!r}")
    name = names[0]
    if form.type.kind != "f":
        return np.asarray(_ORDERED[name](left, right))
    is_unordered = np.isnan(left) | np.isnan(right)
    if name in _ONLY_NAN:
        return np.asarray(is_unordered if name == "nan" else ~is_unordered)
    if name in _UNORDERED:
        return np.asarray(_UNORDERED[name](left, right) | is_unordered)
    return np.asarray(_ORDERED[name](left, right) & ~is_unordered)


@instruction("setp", types=_COMPARED, takes="T T pred", gives="pred", optional=1,
             modifiers=f"{_COMPARISONS} and or xor ftz")  # fmt: skip
def set_predicates(
    form: Form, left: Array, right: Array, also: Array | None = None
) -> tuple[Array, Array]:
    """Return a comparison (and/or/xor `also`) and its negation, or that of both halves."""
    holds = compared(form, left, right)
    holds_first, holds_second = (
        (holds[..., 0], holds[..., 1]) if form.type.parts == 2 else (holds, ~holds)
    )
    join = next((_JOINED[m] for m in form.modifiers if m in _JOINED), None)
    if join is not None and also is not None:
        holds_first, holds_second = join(holds_first, also), join(holds_second, also)
    return holds_first, holds_second


@instruction("set", types=_COMPARED, takes="T T pred", gives="D", optional=1,
             modifiers=f"{_COMPARISONS} and or xor ftz")  # fmt: skip
def set_number(form: Form, left: Array, right: Array, also: Array | None = None) -> Array:
    """Return a comparison as a number: all bits set, or 1.0 for a float type."""
    holds = compared(form, left, right)
    join = next((_JOINED[m] for m in form.modifiers if m in _JOINED), None)
    if join is not None and also is not None:
        holds = join(holds, also)
    if form.target.kind == "f":
        return encoded(holds.astype(form.target.value), form.target)
    ones = np.where(holds, -1, 0).astype(f"i{form.target.bits // 8}")
    return encoded(ones.astype(form.target.value), form.target)


@instruction("selp", types=(*BITS, *SIGNED, *UNSIGNED, "f32", "f64"),
             takes="T T pred")  # fmt: skip
def selected(form: Form, left: Array, right: Array, condition: Array) -> Array:
    """Return the left operand where the predicate is true, else the right."""
    return encoded(np.where(condition, left, right), form.type)


@instruction("slct", types=("s32", "f32"), takes="D D T", gives="D", modifiers="ftz")
def selected_by_sign(form: Form, left: Array, right: Array, sign: Array) -> Array:
    """Return the left operand where the third is not negative, else the right."""
    return encoded(np.where(sign >= 0, left, right), form.target)


@instruction("testp", types=("f32", "f64"), takes="T", gives="pred",
             modifiers="finite infinite number notanumber normal subnormal")  # fmt: skip
def tested(form: Form, array: Array) -> Array:
    """Return whether floats are of the kind that the modifier names (finite, normal …)."""
    tiny, size = np.finfo(array.dtype).tiny, np.abs(array)
    kinds = {
        "finite": np.isfinite(array),
        "infinite": np.isinf(array),
        "number": ~np.isnan(array),
        "notanumber": np.isnan(array),
        "normal": np.isfinite(array) & (size >= tiny),
        "subnormal": (size > 0) & (size < tiny),
    }
    if len(form.modifiers) != 1:
        raise UnsupportedOp(f"the instruction {form.text!r}")
    return np.asarray(kinds[form.modifiers[0]])
