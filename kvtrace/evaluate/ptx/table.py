"""The table of PTX instructions, filled by the files that implement them."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, TypeVar

from msgspec import Struct

from kvtrace.evaluate.directed import Direction
from kvtrace.evaluate.errors import UnsupportedOp
from kvtrace.evaluate.ptx.types import TYPES, Type

SIGNED = ("s16", "s32", "s64")
UNSIGNED = ("u16", "u32", "u64")
BITS = ("b16", "b32", "b64")
INTEGERS = (*SIGNED, *UNSIGNED)
HALVES = ("f16", "bf16", "f16x2", "bf16x2")
FLOATS = (*HALVES, "f32", "f64")


class Form(Struct, frozen=True):
    """An instruction as written: its modifiers in order, and its types, the result's first."""

    text: str
    name: str
    modifiers: tuple[str, ...]
    types: tuple[Type, ...]

    @property
    def type(self) -> Type:
        """The type of the operands."""
        return self.types[-1]

    @property
    def target(self) -> Type:
        """The type of the result."""
        return self.types[0]

    @property
    def direction(self) -> Direction:
        """The rounding direction; to nearest if no modifier names one."""
        return next((_DIRECTIONS[m] for m in self.modifiers if m in _DIRECTIONS), "rn")

    def has(self, modifier: str) -> bool:
        """Return whether the instruction has a modifier."""
        return modifier in self.modifiers


_DIRECTIONS: dict[str, Direction] = {"rn": "rn", "rz": "rz", "rm": "rd", "rp": "ru"}


class Instruction(Struct, frozen=True):
    """The implementation of an instruction for a type.

    `function(form, *operands)` takes the operands as numbers and returns the result as bits.
    `takes` names the operands' types, T for the instruction's type; the last `optional` ones may be
    missing. `gives` is likewise the type of the result's register.
    """

    function: Callable[..., Any]
    takes: tuple[str, ...]
    gives: str
    modifiers: frozenset[str]
    optional: int


TABLE: dict[tuple[str, str], Instruction] = {}

_Function = TypeVar("_Function", bound=Callable[..., Any])


def instruction(
    *names: str,
    types: Iterable[str],
    takes: str = "T T",
    gives: str = "T",
    modifiers: str = "",
    optional: int = 0,
) -> Callable[[_Function], _Function]:
    """Return a decorator that registers a function for instructions, types and modifiers."""

    def register(function: _Function) -> _Function:
        accepted = frozenset(modifiers.split())
        for type_ in types:
            for name in names:
                TABLE[name, type_] = Instruction(
                    function, tuple(takes.split()), gives, accepted, optional
                )
        return function

    return register


def form_of(text: str) -> tuple[Form, Instruction]:
    """Return the form and implementation of an instruction's text; UnsupportedOp if unknown."""
    name, *words = text.split(".")
    types = tuple(TYPES[word] for word in words if word in TYPES)
    modifiers = tuple(word for word in words if word not in TYPES)
    entry = TABLE.get((name, types[-1].name if types else ""))
    if entry is None or not entry.modifiers.issuperset(modifiers):
        raise UnsupportedOp(f"the instruction {text!r}")
    return Form(text, name, modifiers, types), entry
