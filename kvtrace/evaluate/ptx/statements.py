"""Parser of PTX statements: instructions with guards, declarations, scopes."""

from __future__ import annotations

import re
from collections.abc import Mapping
from itertools import chain

from msgspec import Struct

from kvtrace.evaluate.errors import UnsupportedOp


class Register(Struct, frozen=True):
    """An operand that is a register; its name is unique in the snippet."""

    name: str
    negated: bool = False


class Literal(Struct, frozen=True):
    """An operand that is a number, or a special register (`%smid`), as its text."""

    text: str


Operand = Register | Literal | tuple[Register | Literal | None, ...]
"""A tuple is a vector in braces, lowest part first; None is `_`, which is not written."""


class Statement(Struct, frozen=True):
    """A parsed instruction `@guard name.modifier.type first|second, operands…;`."""

    instruction: str
    operands: tuple[Operand, ...]
    guard: Register | None
    second: Register | None


class Snippet(Struct, frozen=True):
    """The statements of a snippet, and the type of each declared register."""

    statements: tuple[Statement, ...]
    registers: Mapping[str, str]


_COMMENT = re.compile(r"//[^\n]*|/\*.*?\*/", re.DOTALL)
_DECLARATION = re.compile(r"\.reg\s*\.(\w+)\s+(.+)", re.DOTALL)
_STATEMENT = re.compile(r"(?:@(!?)\s*([\w$%]+)\s+)?([a-z]\w*(?:\.\w+|::\w+)*)\s*(.*)", re.DOTALL)
_RANGE = re.compile(r"([\w$%]+)\s*<\s*(\d+)\s*>")
_NAME = re.compile(r"[A-Za-z_$%][\w$%]*")
_VECTOR_OR_WORD = re.compile(r"\{([^{}]*)\}|([^,{}]+)")
_PIECE = re.compile(r"\{[^{};]*,[^{};]*\}|[{};]|[^{};]+")


def parse_snippet(text: str) -> Snippet:
    r"""Return the parsed text of `tl.inline_asm_elementwise`, with registers `$0`, `$1` ….

    Raises:
        UnsupportedOp: a statement is not an instruction with registers or numbers as operands.
    """
    scopes: list[dict[str, str]] = [{}]
    registers: dict[str, str] = {}
    statements: list[Statement] = []
    pending_text = ""
    for piece in chain(_PIECE.findall(_COMMENT.sub(" ", text).replace("$$", "%")), ";"):
        if piece not in "{};":
            pending_text += piece
            continue
        line, pending_text = pending_text.strip(), ""
        if line.startswith(".reg"):
            _declare(line, scopes[-1], registers)
        elif line:
            statements.append(_statement(line, scopes))
        if piece == "{":
            scopes.append({})
        elif piece == "}" and len(scopes) > 1:
            scopes.pop()
    return Snippet(tuple(statements), registers)


def _declare(line: str, scope: dict[str, str], registers: dict[str, str]) -> None:
    match = _DECLARATION.fullmatch(line)
    if match is None:
        raise UnsupportedOp(f"the declaration {line!r}")
    for word in match.group(2).split(","):
        name_range = _RANGE.fullmatch(word.strip())
        names = (
            [f"{name_range[1]}{number}" for number in range(int(name_range[2]))]
            if name_range
            else [word.strip()]
        )
        for name in names:
            scope[name] = unique = f"{name}#{len(registers)}"
            registers[unique] = match.group(1)


def _statement(line: str, scopes: list[dict[str, str]]) -> Statement:
    match = _STATEMENT.fullmatch(line)
    if match is None:
        raise UnsupportedOp(f"{line!r}, which is not an instruction,")
    negated, guard, instruction, operand_text = match.groups()
    second_target = None
    joined = re.match(r"([\w$%]+)\s*\|\s*([\w$%]+)", operand_text)
    if joined is not None:
        second_target = _register(joined[2], scopes)
        operand_text = joined[1] + operand_text[joined.end() :]
    operands = tuple(
        _operand(word.strip(), scopes, line)
        if word
        else tuple(None if w.strip() == "_" else _operand(w.strip(), scopes, line)
                   for w in vector.split(","))
        for vector, word in _VECTOR_OR_WORD.findall(operand_text)
        if vector or word.strip()
    )  # fmt: skip
    condition = _register(guard, scopes, negated=bool(negated)) if guard else None
    return Statement(instruction, operands, condition, second_target)


def _register(name: str, scopes: list[dict[str, str]], *, negated: bool = False) -> Register:
    for scope in reversed(scopes):
        if name in scope:
            return Register(scope[name], negated)
    return Register(name, negated)  # an operand of the snippet, or an undeclared register


def _operand(word: str, scopes: list[dict[str, str]], line: str) -> Register | Literal:
    negated, name = word.startswith("!"), word.removeprefix("!").strip()
    if re.match(r"[-+]?[\d.]", name) or (name.startswith("%") and not _declared(name, scopes)):
        return Literal(name)
    if _NAME.fullmatch(name) is None:
        raise UnsupportedOp(f"the operand {word!r} of {line!r}")
    return _register(name, scopes, negated=negated)


def _declared(name: str, scopes: list[dict[str, str]]) -> bool:
    return any(name in scope for scope in scopes)
