"""Texts of values in the kernel's own variables, and of terms with the names of arguments.

Triton's locations (from 3.5 on) have the name of the variable that a statement assigns to. All ops
of the statement have that name. The variable's value is the result that no other op of the
statement uses.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from msgspec import Struct

from kvtrace.ir import Block, Module, Op, Value
from kvtrace.ir.flow import constant_of, counter_of, enclosing_ops, flow_of
from kvtrace.ir.locations import (
    CallSiteLocation,
    FusedLocation,
    Location,
    NameLocation,
    location_frames,
)
from kvtrace.ir.model import number_of, once_per_module
from kvtrace.ir.ops import (
    BRANCHES,
    CONSTANTS,
    FILLING,
    FUNCTIONS,
    LOOPS,
    SPREADING,
    Operator,
    address_of,
    operands_of,
    operator_of,
)
from kvtrace.ir.types import FloatType, TensorDescriptorType, element_of, integer_bits, shape_of
from kvtrace.symbolic.bits import Bitwise, Wrap
from kvtrace.symbolic.conditions import (
    And,
    AtLeast,
    Condition,
    Equal,
    Not,
    Opaque,
    Or,
)
from kvtrace.symbolic.functions import Choice, Maximum, Minimum, Quotient, Remainder
from kvtrace.symbolic.summary import Access, Summary
from kvtrace.symbolic.terms import Atom, Symbol, Term

_DEEPEST = 24
_LONGEST = 240
_MOST_PARTS = 100
"""Limit on the parts of a text; then it ends in an ellipsis, as shared values repeat."""

_ELSEWHERE: Final = "…"

_ADD, _MULTIPLY, _UNIT = 1, 2, 3
_SIGNS: Final[Mapping[Operator, int]] = {
    "+": _ADD, "-": _ADD, "*": _MULTIPLY, "//": _MULTIPLY, "%": _MULTIPLY,
    "&": 0, "|": 0, "^": 0, "<<": 0, ">>": 0,
}  # fmt: skip
"""Infix operators with their precedence."""
_FUNCTIONS: Final = ("min", "max", "where")
_NUMBERED: Final[Mapping[Operator, tuple[str, ...]]] = {
    "program_id": ("axis",),
    "num_programs": ("axis",),
    "arange": ("start", "end"),
}
"""Ops without operands that are printed as functions of their attributes."""
_COMPARISONS: Final = ("==", "!=", "<", "<=", ">", ">=", "<", "<=", ">", ">=")


def address_expression(access: Access, summary: Summary) -> str | None:
    """Return the text of an access's address as in the source: `x + rows[:, None] * stride`.

    Offsets count elements. None for descriptors and block pointers, and for texts longer than
    `_LONGEST`.
    """
    pointer = address_of(access.op)
    if isinstance(pointer.type, TensorDescriptorType):
        return None
    text = _printer(summary.module).value(pointer, address=True)
    return text if len(text) <= _LONGEST else None


def value_expression(value: Value, summary: Summary) -> str:
    """Return the text of a value as in the source: a variable's name, or an expression."""
    return _printer(summary.module).value(value)


def operation_expression(op: Op, summary: Summary) -> str:
    """Return the text of the expression that an op computes, in the source's variables."""
    return _printer(summary.module).operation(op)


class _AssignedName(Struct, frozen=True):
    """The variable that a statement assigns to, and the statement's line."""

    name: str
    line: tuple[str, int]


class _ValuePrinter:
    def __init__(self, module: Module) -> None:
        self._names: dict[int, _AssignedName] = {}
        self._flow = flow_of(module)
        for op in module.ops:
            name = assigned_name(op.location)
            frames = location_frames(op.location)
            if name is not None and frames:
                self._names[op.index] = _AssignedName(name, (frames[-1].file, frames[-1].line))
        self._parts = 0
        self._operations: dict[Op, str] = {}

    def value(self, value: Value, *, address: bool = False) -> str:
        """Return the text of a value; `address`: expanded down to the kernel's arguments."""
        self._parts = 0
        return self.text(value, 0, address=address)

    def text(self, value: Value, strength: int, *, address: bool = False, depth: int = 0) -> str:
        """Return the text of a value.

        It is in parentheses if its operator binds less strongly than `strength`, the precedence of
        the context. `address`: expand sums of pointers even if they have a variable's name. Too
        deep or long texts become "…".
        """
        self._parts += 1
        if self._parts > _MOST_PARTS:
            return _ELSEWHERE
        if isinstance(value.owner, Block):
            return self._argument(value, value.owner, strength, address=address, depth=depth)
        op = value.owner
        if op is None or depth > _DEEPEST:
            return _ELSEWHERE
        operator = operator_of(op)
        if _is_hidden_in_source(op):
            return self.text(op.operand("source"), strength, address=address, depth=depth + 1)
        if operator == "expand_dims":
            return self._expanded(op, depth)
        if op.name in CONSTANTS:
            number = constant_of(value)
            return _ELSEWHERE if number is None else str(number)
        if len(op.results) > 1:
            return self._one_of_several(value, op, depth)
        name = self._variable(op)
        if name is not None and not (address and operator in ("+", "where")):
            return name
        return self._operation(op, strength, address=address, depth=depth + 1)

    def _variable(self, op: Op) -> str | None:
        """Return the name of the variable that an op's result is assigned to, or None."""
        statement = self._names.get(op.index)
        if statement is None:
            return None
        for value in op.results:
            if any(self._names.get(user.index) == statement for user in self._flow.uses(value)):
                return None
        return statement.name

    def _one_of_several(self, value: Value, op: Op, depth: int) -> str:
        """Return the text of one of several results, which all have the last one's name in IR."""
        if op.name in LOOPS or op.name in BRANCHES:
            origins = list(self._flow.origins(value))
            carried = [origin for origin in origins if isinstance(origin.owner, Block)]
            origins += [v for argument in carried for v in self._flow.origins(argument)]
            names = [self._following_name(origin) for origin in origins]
            return next(filter(None, reversed(names)), _ELSEWHERE)
        return f"{self._operation(op, _UNIT, address=False, depth=depth + 1)}[{value.position}]"

    def operation(self, op: Op) -> str:
        """Return the text of an op's result; for a counted loop, the counter after a trip."""
        if op not in self._operations:
            self._parts = 0
            if counter_of(op) is None:
                text = self._operation(op, 0, address=False, depth=0)
            else:
                text = f"{self._counter_name(op)} + {self.text(op.operand('step'), _ADD)}"
            self._operations[op] = text
        return self._operations[op]

    def _operation(self, op: Op, strength: int, *, address: bool, depth: int) -> str:
        operator = operator_of(op)
        if operator in _SIGNS and not _is_of_floats(op):
            precedence = _SIGNS[operator]
            first, second = (value for _, value in operands_of(op))
            left = self.text(first, precedence, address=address, depth=depth)
            right = self.text(second, precedence + (operator != "+"), depth=depth)
            text = left if operator == "+" and right == "0" else f"{left} {operator} {right}"
            return f"({text})" if precedence < strength or (precedence == 0 and strength) else text
        if operator == "compare" and not _is_of_floats(op):
            left, right = (self.text(op.operand(n), _ADD, depth=depth) for n in ("left", "right"))
            return f"({left} {_COMPARISONS[number_of(op, 'predicate')]} {right})"
        if operator in _NUMBERED:
            numbers = (str(number_of(op, name)) for name in _NUMBERED[operator])
            return f"{operator}({', '.join(numbers)})"
        if op.name in FILLING:
            address_text = self.text(op.operand("pointer"), 0, address=True, depth=depth)
            return f"load({address_text})"
        if op.name in BRANCHES:
            return self._names[op.index].name if op.index in self._names else _ELSEWHERE
        called = operator if operator in _FUNCTIONS else op.name.rpartition(".")[2]
        inside = ", ".join(self.text(value, 0, depth=depth) for value in op.operands)
        return f"{called}({inside})"

    def _expanded(self, op: Op, depth: int) -> str:
        """Return the text of a tensor with new axes as a subscript, such as `x[:, None]`."""
        subscripts = [":"] * len(shape_of(op.results[0].type))
        expand_op = op
        while True:
            subscripts[number_of(expand_op, "axis")] = "None"
            source = expand_op.operand("source")
            if not (isinstance(source.owner, Op) and operator_of(source.owner) == "expand_dims"):
                break
            if number_of(source.owner, "axis") >= number_of(expand_op, "axis"):
                break
            expand_op = source.owner
        return f"{self.text(source, _UNIT, depth=depth + 1)}[{', '.join(subscripts)}]"

    def _argument(
        self, value: Value, block: Block, strength: int, *, address: bool, depth: int
    ) -> str:
        owner = block.region.owner
        if owner.name in FUNCTIONS:
            return value.name.lstrip("%")
        counter = counter_of(owner)
        if counter is None or depth > _DEEPEST:
            return _ELSEWHERE
        if value is counter:
            return self._counter_name(owner)
        initial, following = self._flow.origins(value)
        name = self._following_name(following)
        if not address:
            return name or self.text(initial, strength, depth=depth + 1)
        start = self.text(initial, _ADD, address=True, depth=depth + 1)
        step = following.owner
        if isinstance(step, Op) and operator_of(step) == "+" and step.operand("pointer") is value:
            step_text = self.text(step.operand("offset"), _MULTIPLY, depth=depth + 1)
            text = f"{start} + {self._trip_count_name(owner)} * {step_text}"
            return f"({text})" if strength > _ADD else text
        return name or start

    def _following_name(self, value: Value) -> str | None:
        named = self._names.get(value.owner.index) if isinstance(value.owner, Op) else None
        return None if named is None else named.name

    def _counter_name(self, loop: Op) -> str:
        """Return a name for a loop's counter, which has no name in IR: `i`, or `i1` if nested."""
        return f"i{_depth(loop) or ''}"

    def _trip_count_name(self, loop: Op) -> str:
        """Return a name for the number of finished trips: `trip`, or `trip1` if nested."""
        return f"trip{_depth(loop) or ''}"


def _is_of_floats(op: Op) -> bool:
    """Return whether an op has float operands; such ops are printed as functions."""
    return any(isinstance(element_of(type_), FloatType) for type_ in op.operand_types)


def _is_hidden_in_source(op: Op) -> bool:
    """Return whether an op is absent from the source, as implicit casts to integers are."""
    if operator_of(op) == "cast":
        return integer_bits(op.results[0].type) is not None
    return op.name in SPREADING or operator_of(op) == "bitcast"


@once_per_module
def _printer(module: Module) -> _ValuePrinter:
    return _ValuePrinter(module)


def _depth(loop: Op) -> int:
    """Return the number of loops around a loop."""
    return sum(parent.name in LOOPS for parent in enclosing_ops(loop))


def assigned_name(location: Location) -> str | None:
    """Return the name of the variable that the statement at a location assigns to, or None."""
    if isinstance(location, NameLocation):
        return location.name
    if isinstance(location, CallSiteLocation):
        return assigned_name(location.callee) or assigned_name(location.caller)
    if isinstance(location, FusedLocation):
        return next(filter(None, map(assigned_name, location.children)), None)
    return None


# -- terms --------------------------------------------------------------------------------------


def expression(term: Term, summary: Summary | None) -> str:
    """Return the text of a term with the names of arguments: `4 * pid * stride + 4 * lane`.

    `summary` None is only for terms without arguments.
    """
    return _TermPrinter(summary).term(term, 0)


def condition_expression(condition: Condition, summary: Summary | None) -> str:
    """Return the text of a condition with the names of arguments: `pid * 128 + lane < n`."""
    return _TermPrinter(summary).condition(condition)


class _TermPrinter:
    def __init__(self, summary: Summary | None) -> None:
        arguments = () if summary is None else summary.module.main.arguments
        self._arguments = [value.name.lstrip("%") for value in arguments]

    def term(self, term: Term, strength: int) -> str:
        """Return the text of a sum, the constant last; in parentheses if the context needs them."""
        parts = []
        for monomial, coefficient in sorted(term.coefficients.items(), key=_summand_order):
            factors = [self.atom(atom) for atom in sorted(monomial, key=_rank)]
            if abs(coefficient) != 1 or not factors:
                factors.insert(0, str(abs(coefficient)))
            sign = "-" if coefficient < 0 else "+"
            parts.append((sign, " * ".join(factors), len(factors)))
        if not parts:
            return "0"
        text = "".join(f" {sign} {part}" for sign, part, _ in parts)
        text = text[3:] if parts[0][0] == "+" else f"-{text[3:]}"
        precedence = _ADD if len(parts) > 1 or parts[0][0] == "-" else (
            _MULTIPLY if parts[0][2] > 1 else _UNIT
        )  # fmt: skip
        return f"({text})" if precedence < strength else text

    def atom(self, atom: Atom) -> str:
        """Return the text of an atom: a symbol, or a function of terms."""
        if isinstance(atom, Symbol):
            return self._symbol(atom)
        if isinstance(atom, Choice):
            then, otherwise = self.term(atom.then, 0), self.term(atom.otherwise, 0)
            return f"({then} if {self.condition(atom.condition)} else {otherwise})"
        if isinstance(atom, Quotient | Remainder):
            left = self.term(atom.arguments[0], _UNIT)
            divisor = atom.arguments[1].constant or 0
            if atom.floor and atom.arguments[0].low < 0 < divisor and not divisor & (divisor - 1):
                if isinstance(atom, Quotient):  # `//` of the source rounds toward 0
                    return f"({left} >> {divisor.bit_length() - 1})"
                return f"({left} & {divisor - 1})"
            right = self.term(atom.arguments[1], _UNIT)
            return f"({left} {'//' if isinstance(atom, Quotient) else '%'} {right})"
        if isinstance(atom, Minimum | Maximum):
            inside = ", ".join(self.term(part, 0) for part in atom.arguments)
            return f"{'min' if isinstance(atom, Minimum) else 'max'}({inside})"
        if isinstance(atom, Wrap):
            sign = "i" if atom.signed else "u"
            return f"{sign}{atom.bits}({self.term(atom.arguments[0], 0)})"
        if isinstance(atom, Bitwise):
            signs = {"and": "&", "or": "|", "xor": "^", "shl": "<<", "shr": ">>"}
            left, right = (self.term(part, _UNIT) for part in atom.arguments)
            return f"({left} {signs[atom.operator]} {right})"
        return _ELSEWHERE

    def _symbol(self, symbol: Symbol) -> str:
        if symbol.kind == "scalar":
            if isinstance(symbol.key, tuple):
                position, field, axis = symbol.key
                return f"{self._arguments[position]}.{field}[{axis}]"
            return self._arguments[symbol.key]
        if symbol.kind == "program":
            return "pid" if symbol.key == 0 else f"pid_{'xyz'[_axis_number(symbol)]}"
        if symbol.kind == "programs":
            return f"num_programs({symbol.key})"
        if symbol.kind == "lane":
            return "lane" if symbol.key == 0 else f"lane{symbol.key}"
        if symbol.kind == "trip":
            return "trip"
        if symbol.kind == "content" and isinstance(symbol.key, tuple):
            index = self.term(symbol.at[0], 0) if symbol.at else _ELSEWHERE
            tensor = symbol.key[1]
            name = tensor if isinstance(tensor, str) else self._arguments[tensor]
            return f"{name}[byte {index}]"
        return "unknown"

    def condition(self, condition: Condition) -> str:
        """Return the text of a condition; comparisons have no negative summands."""
        if condition.decided is not None:
            return str(condition.decided)
        if isinstance(condition, AtLeast | Equal):
            return self._compared(condition)
        if isinstance(condition, Not):
            if isinstance(condition.inner, Equal):
                return self._compared(condition.inner).replace(" == ", " != ")
            return f"not ({self.condition(condition.inner)})"
        if isinstance(condition, And | Or):
            word = " and " if isinstance(condition, And) else " or "
            return word.join(
                f"({text})" if isinstance(part, And | Or) else text
                for part in condition.parts
                for text in (self.condition(part),)
            )
        return f"[{condition.reason}]" if isinstance(condition, Opaque) else _ELSEWHERE

    def _compared(self, condition: AtLeast | Equal) -> str:
        """Return the text of `a - b >= 0` as `b <= a`, and of `a - b - 1 >= 0` as `b < a`."""
        coefficients = condition.term.coefficients
        positive = Term({m: n for m, n in coefficients.items() if n > 0})
        negative = Term({m: -n for m, n in coefficients.items() if n < 0})
        if isinstance(condition, Equal):
            return f"{self.term(positive, 0)} == {self.term(negative, 0)}"
        if coefficients.get(()) == -1:
            return f"{self.term(negative - 1, 0)} < {self.term(positive, 0)}"
        return f"{self.term(negative, 0)} <= {self.term(positive, 0)}"


_KINDS: Final = ("program", "programs", "scalar", "content", "unknown", "trip", "", "lane")


def _rank(atom: Atom) -> tuple[int, str]:
    """Return a sort key of an atom that is the same in all processes."""
    if isinstance(atom, Symbol):
        return _KINDS.index(atom.kind), str(atom.key)
    return _KINDS.index(""), repr(atom)


def _summand_order(part: tuple[tuple[Atom, ...], int]) -> tuple[bool, list[tuple[int, str]]]:
    return not part[0], sorted(map(_rank, part[0]))


def _axis_number(symbol: Symbol) -> int:
    return symbol.key if isinstance(symbol.key, int) else 0
