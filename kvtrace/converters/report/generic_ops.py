"""The ops of a module in MLIR's generic form, read from its text as far as views need them.

`op_index` in the trace is an op's position in this text. The scanner knows the generic form only:
an op begins a line as `%a, %b:2 = "dialect.name"(%x, %y#1)`, `({` opens a region, `^bb0(…):` names
a block's arguments (MLIR language reference, "Generic Format"). It knows no op but those that it is
asked for, and gives nothing where a text is not like that.
"""

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Final, NamedTuple

__all__ = ["GenericOp", "Value", "generic_ops", "op_lines"]

_OP: Final = re.compile(
    r'\s*(?:(?P<results>%[^="]*?) = )?"(?P<name>[\w.$]+)"\((?P<operands>[^)]*)\)'
)
_RESULT: Final = re.compile(r"(%[\w$.\-]+)(?::(\d+))?")
_OPERAND: Final = re.compile(r"(%[\w$.\-]+)(?:#(\d+))?")
_BLOCK: Final = re.compile(r"\s*\^\w+(?:\((?P<arguments>.*)\))?:\s*(?://.*)?$")
_ARGUMENT: Final = re.compile(r"(%[\w$.\-]+): ")
_QUOTED: Final = re.compile(r'"(?:[^"\\]|\\.)*"')
_PRETTY_OP: Final = re.compile(r'\s*(?:%[^="]*? = )?"?(?P<name>[A-Za-z_][\w$]*(?:\.[\w$]+)*)')


class Value(NamedTuple):
    """Where an operand comes from: a result of op `op`, or an argument of a block inside it."""

    op: int
    number: int
    argument: bool


@dataclass(slots=True)
class GenericOp:
    """One op; `operands` are None where the text does not say where they come from.

    `line` counts from 0, `parent` is the op whose region it is in, `types` the text from ` : (` on
    (empty for an op with regions).
    """

    index: int
    name: str
    line: int
    parent: int | None
    operands: list[Value | None] = field(default_factory=list)
    types: str = ""


def generic_ops(text: str) -> list[GenericOp]:
    """Return all ops in text order, so that `ops[i].index == i`."""
    ops: list[GenericOp] = []
    scopes: list[tuple[int | None, dict[str, Value]]] = [(None, {})]
    for number, line in enumerate(text.split("\n")):
        stripped = line.lstrip()
        if stripped.startswith("#"):
            continue
        if stripped.startswith("}") and len(scopes) > 1:
            owner, _ = scopes.pop()
            if stripped.startswith("}, {"):
                scopes.append((owner, {}))
            continue
        block = _BLOCK.match(line)
        if block is not None:
            _name_arguments(block["arguments"] or "", scopes[-1])
            continue
        found = _OP.match(line)
        if found is None:
            continue
        op = _op(found, line, number, len(ops), scopes)
        ops.append(op)
        if _QUOTED.sub("", stripped).rstrip().endswith("({"):
            scopes.append((op.index, {}))
    return ops


def op_lines(ops: Iterable[GenericOp], pretty: str) -> dict[int, int]:
    """Return `op_index` → line (from 0) of these ops in the pretty form of their module.

    Ops stand in the same order in both; what the pretty form leaves out (terminators of regions
    that give nothing) has no line. Empty where the two do not match.
    """
    lines: dict[int, int] = {}
    names = list(_pretty_names(pretty))
    at = 0
    for op in ops:
        if at < len(names) and names[at][1] == op.name:
            lines[op.index] = names[at][0]
            at += 1
        elif not op.name.endswith((".yield", ".return", ".condition")):
            return {}
    return lines if at == len(names) else {}


def _op(
    found: re.Match[str],
    line: str,
    number: int,
    index: int,
    scopes: list[tuple[int | None, dict[str, Value]]],
) -> GenericOp:
    parent, names = scopes[-1]
    start = line.rfind(" : (")
    op = GenericOp(index, found["name"], number, parent, types=line[start:] if start > 0 else "")
    for name, which in _OPERAND.findall(found["operands"]):
        value = next((known[name] for _, known in reversed(scopes) if name in known), None)
        if value is not None and which:
            value = value._replace(number=int(which))
        op.operands.append(value)
    for result in _RESULT.finditer(found["results"] or ""):
        # Groups of results count on: `%a:2, %b` are the results 0, 1 and 2.
        first = _results_before(found["results"], result.start())
        names[result[1]] = Value(index, first, argument=False)
    return op


def _results_before(results: str, position: int) -> int:
    return sum(int(many or 1) for _, many in _RESULT.findall(results[:position]))


def _name_arguments(arguments: str, scope: tuple[int | None, dict[str, Value]]) -> None:
    owner, names = scope
    if owner is None:
        return
    for number, name in enumerate(_ARGUMENT.findall(arguments)):
        names[name] = Value(owner, number, argument=True)


def _pretty_names(text: str) -> Iterator[tuple[int, str]]:
    """Return line and name of every op that the pretty form shows, one a line."""
    for number, line in enumerate(text.split("\n")):
        stripped = line.lstrip()
        if not stripped or stripped[0] in "#}^/":
            continue
        found = _PRETTY_OP.match(line)
        if found is None:
            continue
        name = found["name"]
        if name == "module":
            yield number, "builtin.module"
        elif "." in name:
            yield number, name
