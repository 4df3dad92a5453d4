"""Contracts: promises of a user on an index tensor's values: `0 <= page < cache.shape[0]`.

The name in the middle is a tensor, or a variable to which loads of the tensor are assigned; the
bounds are expressions of numbers, scalars, extents and axes of the grid. A contract is checked on
each recorded launch. At other sizes the bounds have the numbers of these sizes, so the values grow
with them.
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
from kvtrace.symbolic.prover import Interval
from kvtrace.symbolic.summary import Access
from kvtrace.symbolic.terms import Term, as_term
from kvtrace.symbolic.walk import summarize
from kvtrace.verdicts.binding import BoundCall
from kvtrace.verdicts.sizes.envelope_values import index_symbols, index_tensors
from kvtrace.verdicts.sizes.launch_numbers import Number, Numbers, Terms
from kvtrace.verdicts.sizes.readings import term_of
from kvtrace.verdicts.sizes.relations import Relations

if TYPE_CHECKING:
    from kvtrace.recorded_calls.recorded import Call
    from kvtrace.symbolic.terms import Symbol

_COMMENT: Final = re.compile(r"#[ \t]*kvtrace:[ \t]*assume\b[ \t]*([^\n#]*)")
_MAX_CHARACTERS: Final = 500
_STEPS: Final[Mapping[type[ast.cmpop], int]] = {ast.LtE: 0, ast.Lt: 1}


class BadContract(KvtraceError):
    """The error of a contract that cannot be parsed."""

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
    """Parse the text of a contract.

    Raises:
        BadContract: the text is not of the form `LOW <= NAME < HIGH`.

    """
    try:
        tree = ast.parse(text.strip()[:_MAX_CHARACTERS], mode="eval").body
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
    """Return the symbols of the loads that a contract limits, each with its argument's position."""
    loads: dict[int, Access] = {a.op.index: a for a in summarize(call.module).accesses}
    symbols = []
    for position in index_tensors(call):
        for symbol in index_symbols(call, position):
            op = symbol.key[0] if isinstance(symbol.key, tuple) else symbol.key
            variable = assigned_name(loads[op].op.location) if op in loads else None
            if contract.subject in (call.arguments[position].name, variable):
                symbols.append((position, symbol))
    return symbols


def bounds_of_loads(
    contracts: Sequence[Contract], relations: Relations, lower: Terms, upper: Terms
) -> dict[tuple[str, Any], tuple[Term, Term]]:
    """Return the smallest and largest value of each load that contracts limit, as terms."""
    bounds: dict[tuple[str, Any], tuple[Term, Term]] = {}
    for contract in contracts:
        low = _term_of(contract.low, relations, lower)
        high = _term_of(contract.high, relations, upper)
        if low is not None and high is not None:
            limits = low + contract.steps[0], high - contract.steps[1]
            symbols = (symbol for _, symbol in symbols_of(contract, relations.call))
            bounds |= {(symbol.kind, symbol.key): limits for symbol in symbols}
    return bounds


def ranges_of_loads(
    contracts: Sequence[Contract], relations: Relations, numbers: Numbers
) -> dict[tuple[str, Any], Interval]:
    """Return the ranges that contracts give to loads for a launch's numbers."""
    terms = {n: as_term(value) for n, value in numbers.items()}
    bounds = bounds_of_loads(contracts, relations, terms, terms)
    return {key: (low.low, high.high) for key, (low, high) in bounds.items()}


def contract_numbers(contracts: Sequence[Contract], relations: Relations) -> set[Number]:
    """Return the numbers whose names occur in the bounds of contracts."""
    return {
        number
        for contract in contracts
        if symbols_of(contract, relations.call)
        for bound_expression in (contract.low, contract.high)
        for node in ast.walk(bound_expression)
        if isinstance(node, ast.expr) and (number := relations.number(ast.unparse(node)))
    }


def violation(contract: Contract, call: Call) -> str | None:
    """Return a message with a recorded value that breaks a contract, None if none does."""
    relations, bound = Relations(call), BoundCall(call)
    ranges = ranges_of_loads((contract,), relations, relations.base)
    for position, symbol in symbols_of(contract, call) if ranges else ():
        low, high = ranges[symbol.kind, symbol.key]
        tensor, recorded = call.arguments[position], bound.contents.recorded(symbol)
        if recorded is None or not isinstance(tensor, TensorArgument):
            continue
        bad_values = [value for value in recorded.numbers if not low <= value <= high]
        if bad_values:
            return f"{contract.text}: {tensor.name} holds {int(bad_values[0]):,}"
    return None


def _term_of(node: ast.expr, relations: Relations, numbers: Terms) -> Term | None:
    """Return a bound of a contract as a term, None if it names an unknown number."""

    def named(name: str) -> Term | None:
        number = relations.number(name)
        return None if number is None else numbers.get(number)

    return term_of(node, named)
