"""Tables of the ops' array functions. Each op is defined once, in the file of its dialect.

Three kinds of entries:

* `@elementwise("arith.addf", flops=1)`: a pure function of broadcastable arrays that returns an
  array of the result's element type (wider floats are rounded by the caller). Attributes come
  first: `attributes=("predicate",)`. `accuracy` is the error bound of a device's result: exactly
  rounded and monotone unless declared otherwise.
* `@factored("arith.addi")`: in addition, for integers: a function of values and their type that
  keeps terms of sums separate (see sums.py).
* `@semantics("tt.load")`: for all other ops: a function of the op and the compiler that returns the
  step to run.

Inline assembly has a separate table, open to programs: see `assembly`.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, TypeVar

from msgspec import Struct
from msgspec.structs import replace

from kvtrace.evaluate.accuracy import EXACT, Accuracy
from kvtrace.evaluate.errors import UnsupportedOp
from kvtrace.evaluate.scope import Scope
from kvtrace.ir import Op, source_stack

if TYPE_CHECKING:
    from kvtrace.evaluate.compiler import Compiler

Step = Callable[[list[Any], Scope], None]
"""Runs one op: reads and writes the list of values (by value id) for the programs of a scope."""

Lowering = Callable[["Op", "Compiler"], Step]


ByTarget = Callable[[Callable[..., Any], str, Op], Callable[..., Any]]


class Elementwise(Struct, frozen=True):
    """A pure array function, the attributes that are passed first, and its FLOPs per element.

    `accuracy` bounds a device's error. `by_target` returns the function of an op for a compile
    target, if targets differ.
    """

    function: Callable[..., Any]
    flops: int
    attributes: tuple[str, ...]
    accuracy: Accuracy = EXACT
    by_target: ByTarget | None = None

    def on(self, target: str, op: Op) -> Elementwise:
        """Return the meaning of an op when it is compiled for a target."""
        if self.by_target is None:
            return self
        return replace(self, function=self.by_target(self.function, target, op))


ELEMENTWISE: dict[str, Elementwise] = {}
FACTORED: dict[str, Callable[..., Any]] = {}
LOWERINGS: dict[str, Lowering] = {}
ASSEMBLY: dict[str, Callable[..., Any]] = {}

_Function = TypeVar("_Function", bound=Callable[..., Any])


def elementwise(
    *names: str,
    flops: int = 0,
    attributes: tuple[str, ...] = (),
    accuracy: Accuracy = EXACT,
    by_target: ByTarget | None = None,
) -> Callable[[_Function], _Function]:
    """Return a decorator that registers a pure array function for these ops."""

    def register(function: _Function) -> _Function:
        for name in names:
            ELEMENTWISE[name] = Elementwise(function, flops, attributes, accuracy, by_target)
        return function

    return register


def registering(table: dict[str, _Function]) -> Callable[..., Callable[[_Function], _Function]]:
    """Return a decorator with names as arguments, which registers functions in a table."""

    def named(*names: str) -> Callable[[_Function], _Function]:
        def register(function: _Function) -> _Function:
            table.update(dict.fromkeys(names, function))
            return function

        return register

    return named


factored = registering(FACTORED)
semantics = registering(LOWERINGS)


def assembly(text: str) -> Callable[[_Function], _Function]:
    """Register a Python function for inline assembly, for `tl.inline_asm_elementwise`.

    `text` is either the whole assembly, as the kernel passes it (white space does not matter), or
    the name of one instruction, for every use of the form `name $0, $1, …;`. The function takes the
    operands as broadcastable NumPy arrays, bf16 and 8-bit floats as float32, and returns the
    result, or a tuple of results, as arrays:

        >>> from kvtrace.evaluate import assembly
        >>> @assembly("lop3.b32 $0, $1, $2, $3, 0xe8;")
        ... def majority(a, b, c):
        ...     return a & b | a & c | b & c

    The registration applies to modules that are evaluated for the first time afterwards.
    """

    def register(function: _Function) -> _Function:
        ASSEMBLY[normalized(text)] = function
        return function

    return register


def normalized(text: str) -> str:
    """Return assembly text with single spaces, none around , ; { } and no final semicolon."""
    return re.sub(r"\s*([,;{}])\s*", r"\1", " ".join(text.split())).strip().rstrip(";")


def place(op: Op) -> str:
    """Return an op's source line as `file:line`, or "an unknown line"."""
    stack = source_stack(op)
    if not stack:
        return "an unknown line"
    return f"{stack[0].file}:{stack[0].line}"


def unsupported(op: Op, kernel: str, detail: str = "") -> UnsupportedOp:
    """Return the error for an op, or a variant of an op, that is not implemented."""
    dialect = op.name.partition(".")[0]
    variant = f" {detail}" if detail else ""
    return UnsupportedOp(
        f"op {op.name!r}{variant} at {place(op)} in kernel {kernel!r} cannot be evaluated yet; "
        f"its meaning belongs in kvtrace/evaluate/dialects/ (files of dialect {dialect!r})"
    )
