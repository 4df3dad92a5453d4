"""Contracts: what a user says of an index tensor's values, as `0 <= page < cache.shape[0]`.

The middle names a tensor, or a variable that its loads are assigned to; the ends are made of
numbers, scalars, extents and axes of the grid. A contract is checked on each recorded launch, and
holds at other sizes with the numbers there: so values grow along with what bounds them.
"""

from __future__ import annotations

import ast
import io
import re
import tokenize
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from textwrap import dedent
from typing import TYPE_CHECKING, Any, Final

from kvtrace.evaluate import TensorArgument
from kvtrace.schema.errors import KvtraceError
from kvtrace.symbolic.expressions import assigned_name
from kvtrace.symbolic.functions import quotient
from kvtrace.symbolic.prover import Interval
from kvtrace.symbolic.summary import Access
from kvtrace.symbolic.terms import Term, as_term
from kvtrace.symbolic.walk import summarise
from kvtrace.verdicts.binding import BoundCall
from kvtrace.verdicts.sizes.envelope_values import index_symbols, index_tensors
from kvtrace.verdicts.sizes.growth import Relations, Terms
from kvtrace.verdicts.sizes.launch_numbers import Number, Numbers

if TYPE_CHECKING:
    from kvtrace.recorded_calls.recorded import Call
    from kvtrace.symbolic.terms import Symbol

_COMMENT: Final = re.compile(r"#[ \t]*kvtrace:[ \t]*assume\b[ \t]*([^\n#]*)")
_LONGEST: Final = 500
_STEPS: Final[Mapping[type[ast.cmpop], int]] = {ast.LtE: 0, ast.Lt: 1}


class BadContract(KvtraceError):
    """A contract that cannot be read."""

    slug = "bad-contract"


@dataclass(frozen=True)
class Contract:
    """`low <= subject < high`, both ends included in `steps` as what `<` takes off."""

    text: str
    subject: str
    low: ast.expr
    high: ast.expr
    steps: tuple[int, int]


def contract_of(text: str) -> Contract:
    """Read a contract.

    Raises:
        BadContract: it is not of the form `LOW <= NAME < HIGH`.

    """
    try:
        read = ast.parse(text.strip()[:_LONGEST], mode="eval").body
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        read = None
    if (
        isinstance(read, ast.Compare)
        and len(read.ops) == 2
        and all(type(op) in _STEPS for op in read.ops)
        and isinstance(read.comparators[0], ast.Name)
    ):
        steps = (_STEPS[type(read.ops[0])], _STEPS[type(read.ops[1])])
        subject, high = read.comparators[0].id, read.comparators[1]
        return Contract(text.strip(), subject, read.left, high, steps)
    raise BadContract(f"{text.strip()!r} is not a contract such as 0 <= page < cache.shape[0].")


def contracts_in(source: str) -> list[str]:
    """Return what the comments `# kvtrace: assume LOW <= NAME < HIGH` of a source say."""
    comments = []
    try:
        for token in tokenize.generate_tokens(io.StringIO(dedent(source)).readline):
            found = _COMMENT.match(token.string) if token.type == tokenize.COMMENT else None
            if found:
                comments.append(found[1].strip())
    except (tokenize.TokenError, SyntaxError):
        pass  # what is not a Python from there on has no comments
    return comments


def symbols_of(contract: Contract, call: Call) -> list[tuple[int, Symbol]]:
    """Return what the loads give that a contract is about, and the tensors they read."""
    loads: dict[int, Access] = {a.op.index: a for a in summarise(call.module).accesses}
    found = []
    for place in index_tensors(call):
        for symbol in index_symbols(call, place):
            op = symbol.key[0] if isinstance(symbol.key, tuple) else symbol.key
            variable = assigned_name(loads[op].op.location) if op in loads else None
            if contract.subject in (call.arguments[place].name, variable):
                found.append((place, symbol))
    return found


def ends_of(contract: Contract, relations: Relations, numbers: Terms) -> tuple[Term, Term] | None:
    """Return the least and the greatest value by a contract; None: it names other numbers."""
    low = _value(contract.low, relations, numbers)
    high = _value(contract.high, relations, numbers)
    if low is None or high is None:
        return None
    return low + contract.steps[0], high - contract.steps[1]


def range_at(contract: Contract, relations: Relations, numbers: Numbers) -> Interval | None:
    """Return the range that a contract gives with some numbers; None: it names others."""
    ends = ends_of(contract, relations, {n: as_term(value) for n, value in numbers.items()})
    if ends is None or ends[0].constant is None or ends[1].constant is None:
        return None
    return ends[0].constant, ends[1].constant


def supposed(
    contracts: Sequence[Contract], relations: Relations, numbers: Numbers
) -> dict[tuple[str, Any], Interval]:
    """Return the ranges of loads by the contracts, with 0, which masked lanes may give."""
    found: dict[tuple[str, Any], Interval] = {}
    for contract in contracts:
        ends = range_at(contract, relations, numbers)
        for _, symbol in symbols_of(contract, relations.call) if ends else ():
            assert ends is not None
            found[symbol.kind, symbol.key] = (min(ends[0], 0), max(ends[1], 0))
    return found


def named_in(contracts: Sequence[Contract], relations: Relations) -> set[Number]:
    """Return the numbers that contracts are made of."""
    return {
        number
        for contract in contracts
        if symbols_of(contract, relations.call)
        for end in (contract.low, contract.high)
        for node in ast.walk(end)
        if isinstance(node, ast.expr) and (number := relations.number(ast.unparse(node)))
    }


def violation(contract: Contract, call: Call) -> str | None:
    """Say in what a recorded launch breaks a contract, by what its tensors held."""
    ends = range_at(contract, relations := Relations(call), relations.base)
    bound = BoundCall(call)
    for place, symbol in symbols_of(contract, call) if ends else ():
        assert ends is not None
        tensor, recorded = call.arguments[place], bound.contents.recorded(symbol)
        if recorded is None or not isinstance(tensor, TensorArgument):
            continue
        wrong = [n for n in recorded.numbers if not ends[0] <= n <= ends[1]]
        if wrong:
            return f"{contract.text}: {tensor.name} holds {int(wrong[0]):,}"
    return None


def _value(node: ast.expr, relations: Relations, numbers: Terms) -> Term | None:
    """Work out an end of a contract."""
    if isinstance(node, ast.Constant):
        return as_term(node.value) if type(node.value) is int else None
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub):
        inner = _value(node.operand, relations, numbers)
        return None if inner is None else -inner
    if isinstance(node, ast.BinOp):
        left, right = (_value(each, relations, numbers) for each in (node.left, node.right))
        if left is None or right is None:
            return None
        if isinstance(node.op, ast.FloorDiv):
            return quotient(left, right, floor=True) if right.constant != 0 else None
        by = {ast.Add: left + right, ast.Sub: left - right, ast.Mult: left * right}
        return by.get(type(node.op))
    number = relations.number(ast.unparse(node))
    return None if number is None else numbers.get(number)
