"""Contracts: a user's promises on an index tensor's values, such as `0 <= page < cache.shape[0]`.

The middle names a tensor, or a variable that the tensor's loads are assigned to; the ends are
expressions of numbers, scalars, extents and axes of the grid. A contract is checked on each
recorded launch. At other sizes the ends have the numbers of these sizes, so the values grow with
their bounds.
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
from kvtrace.symbolic.walk import summarize
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
    """A contract `low <= subject < high`; `steps`: for `low` and `high`, 1 for `<`, 0 for `<=`."""

    text: str
    subject: str
    low: ast.expr
    high: ast.expr
    steps: tuple[int, int]


def contract_of(text: str) -> Contract:
    """Parse a contract.

    Raises:
        BadContract: the text is not of the form `LOW <= NAME < HIGH`.

    """
    try:
        tree = ast.parse(text.strip()[:_LONGEST], mode="eval").body
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        tree = None
    if (
        isinstance(tree, ast.Compare)
        and len(tree.ops) == 2
        and all(type(op) in _STEPS for op in tree.ops)
        and isinstance(tree.comparators[0], ast.Name)
    ):
        steps = (_STEPS[type(tree.ops[0])], _STEPS[type(tree.ops[1])])
        subject, high = tree.comparators[0].id, tree.comparators[1]
        return Contract(text.strip(), subject, tree.left, high, steps)
    raise BadContract(f"{text.strip()!r} is not a contract such as 0 <= page < cache.shape[0].")


def contracts_in(source: str) -> list[str]:
    """Return the contracts in a source's comments `# kvtrace: assume LOW <= NAME < HIGH`."""
    comments = []
    try:
        for token in tokenize.generate_tokens(io.StringIO(dedent(source)).readline):
            match = _COMMENT.match(token.string) if token.type == tokenize.COMMENT else None
            if match:
                comments.append(match[1].strip())
    except (tokenize.TokenError, SyntaxError):
        pass  # the rest of the source is not Python, and has no comments
    return comments


def symbols_of(contract: Contract, call: Call) -> list[tuple[int, Symbol]]:
    """Return the symbols of the loads that a contract is about, each after its argument."""
    loads: dict[int, Access] = {a.op.index: a for a in summarize(call.module).accesses}
    symbols = []
    for place in index_tensors(call):
        for symbol in index_symbols(call, place):
            op = symbol.key[0] if isinstance(symbol.key, tuple) else symbol.key
            variable = assigned_name(loads[op].op.location) if op in loads else None
            if contract.subject in (call.arguments[place].name, variable):
                symbols.append((place, symbol))
    return symbols


def ends_of(contract: Contract, relations: Relations, numbers: Terms) -> tuple[Term, Term] | None:
    """Return a contract's least and greatest value, or None if it names an unknown number."""
    low = _value(contract.low, relations, numbers)
    high = _value(contract.high, relations, numbers)
    if low is None or high is None:
        return None
    return low + contract.steps[0], high - contract.steps[1]


def range_at(contract: Contract, relations: Relations, numbers: Numbers) -> Interval | None:
    """Return a contract's range for a launch's numbers, or None if it names an unknown number."""
    ends = ends_of(contract, relations, {n: as_term(value) for n, value in numbers.items()})
    if ends is None or ends[0].constant is None or ends[1].constant is None:
        return None
    return ends[0].constant, ends[1].constant


def assumed_ranges(
    contracts: Sequence[Contract], relations: Relations, numbers: Numbers
) -> dict[tuple[str, Any], Interval]:
    """Return the ranges of loads by contracts, extended to 0, which masked lanes may give."""
    ranges: dict[tuple[str, Any], Interval] = {}
    for contract in contracts:
        ends = range_at(contract, relations, numbers)
        for _, symbol in symbols_of(contract, relations.call) if ends else ():
            assert ends is not None
            ranges[symbol.kind, symbol.key] = (min(ends[0], 0), max(ends[1], 0))
    return ranges


def named_in(contracts: Sequence[Contract], relations: Relations) -> set[Number]:
    """Return the numbers that the ends of contracts name."""
    return {
        number
        for contract in contracts
        if symbols_of(contract, relations.call)
        for end in (contract.low, contract.high)
        for node in ast.walk(end)
        if isinstance(node, ast.expr) and (number := relations.number(ast.unparse(node)))
    }


def violation(contract: Contract, call: Call) -> str | None:
    """Return text on a recorded value that breaks a contract, or None if there is none."""
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
    """Return an end of a contract as a term, or None if it names an unknown number."""
    if isinstance(node, ast.Constant):
        return as_term(node.value) if type(node.value) is int else None
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub):
        inner = _value(node.operand, relations, numbers)
        return None if inner is None else -inner
    if isinstance(node, ast.BinOp):
        left, right = (_value(side, relations, numbers) for side in (node.left, node.right))
        if left is None or right is None:
            return None
        if isinstance(node.op, ast.FloorDiv):
            return quotient(left, right, floor=True) if right.constant != 0 else None
        results = {ast.Add: left + right, ast.Sub: left - right, ast.Mult: left * right}
        return results.get(type(node.op))
    number = relations.number(ast.unparse(node))
    return None if number is None else numbers.get(number)
