"""Index tensors: the values of their elements for which every rule is proven, and contracts.

A contract is a promise of a user on an index tensor's values: `0 <= page < cache.shape[0]`.
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
from collections.abc import Iterator, Mapping, Sequence
from textwrap import dedent
from typing import Any, Final

import numpy as np
from msgspec import Struct
from msgspec.structs import replace

from kvtrace.evaluate import Storage, TensorArgument
from kvtrace.ir import Module
from kvtrace.ir.model import once_per_module
from kvtrace.recorded_calls.recorded import Call
from kvtrace.schema.errors import KvtraceError
from kvtrace.symbolic.conditions import in_order
from kvtrace.symbolic.expressions import assigned_name
from kvtrace.symbolic.prover import Interval
from kvtrace.symbolic.summary import Access, op_index
from kvtrace.symbolic.terms import Symbol, Term, as_term
from kvtrace.symbolic.walk import summarize
from kvtrace.verdicts.binding import BoundCall
from kvtrace.verdicts.sizes.envelope_rows import Kernel, Subject
from kvtrace.verdicts.sizes.launch_numbers import Number, Numbers, Sizes, Terms, call_with
from kvtrace.verdicts.sizes.relations import Relations
from kvtrace.verdicts.sizes.sized import MOST, AssumedContents, Clock, Sized
from kvtrace.verdicts.sizes.sized_claims import Claim
from kvtrace.verdicts.sizes.ties import symbols_by_access, term_of
from kvtrace.verdicts.sizes.wraps import AssumedRanges, overflow_text, rule_violation

_MAX_BYTES: Final = 1 << 28
"""Larger index tensors are not allocated to replay a wrap, as they may exceed the memory."""
_COMMENT: Final = re.compile(r"#[ \t]*kvtrace:[ \t]*assume\b[ \t]*([^\n#]*)")
_MAX_CHARACTERS: Final = 500
_STEPS: Final[Mapping[type[ast.cmpop], int]] = {ast.LtE: 0, ast.Lt: 1}


def recorded_ranges(call: Call) -> dict[tuple[str, Any], Interval]:
    """Return the recorded range of each integer load with recorded contents, by symbol."""
    bound = BoundCall(call)
    ranges = ((symbol, bound.contents.range_of(symbol)) for symbol in loaded_symbols(call.module))
    return {
        (symbol.kind, symbol.key): interval for symbol, interval in ranges if interval is not None
    }


@once_per_module
def loaded_symbols(module: Module) -> list[Symbol]:
    """Return the symbols of loads that affect addresses, masks or executions of accesses."""
    symbols = {s for _, s in symbols_by_access(module) if s.kind == "content"}
    return in_order(symbols)


def index_symbols(call: Call, position: int) -> list[Symbol]:
    """Return the symbols of a tensor's loads that affect accesses to memory."""
    argument = call.arguments[position]
    contents = BoundCall(call).contents
    return [s for s in loaded_symbols(call.module) if argument in contents.sources(s)]


def index_tensors(call: Call) -> list[int]:
    """Return the positions of the arguments whose contents affect an access."""
    return [
        position
        for position, argument in enumerate(call.arguments)
        if isinstance(argument, TensorArgument) and index_symbols(call, position)
    ]


def ranges_by_tensor(
    call: Call, ranges: AssumedRanges
) -> Iterator[tuple[TensorArgument, Interval]]:
    """Yield each index tensor whose values have a known range, with the range."""
    for position in index_tensors(call):
        load_ranges = [
            ranges[s.kind, s.key]
            for s in index_symbols(call, position)
            if (s.kind, s.key) in ranges
        ]
        tensor = call.tensor_at(position)
        if load_ranges and tensor is not None:
            yield (
                tensor,
                (min(low for low, _ in load_ranges), max(high for _, high in load_ranges)),
            )


class ValuesOfTensor(Subject):
    """The values of an index tensor as the subject of a row; `SIZE` is the largest value."""

    def __init__(self, kernel: Kernel, relations: Relations, position: int, clock: Clock) -> None:
        """Prepare the search for the index tensor at a position of the arguments."""
        call = self._call = call_with(relations.call, relations.base)
        self._place = position
        symbols = index_symbols(relations.call, position)
        keys = tuple((symbol.kind, symbol.key) for symbol in symbols)
        ranges = recorded_ranges(relations.call)
        recorded_values = [ranges.pop(key) for key in keys if key in ranges]
        smallest = min((low for low, _ in recorded_values), default=0)
        largest = max((high for _, high in recorded_values), default=0)
        sized = Sized(
            call, relations.at({}), AssumedContents(ranges, {}), clock, (smallest, largest), keys
        )
        name = f"values of {call.arguments[position].name}"
        end = min(MOST, *(symbol.high + 1 for symbol in symbols))
        assumptions = (
            f"values of {tensor.name} stay within {low:,} to {high:,}"
            for tensor, (low, high) in ranges_by_tensor(relations.call, ranges)
        )
        basis = relations.basis()
        super().__init__(kernel, name, sized, tuple(assumptions), basis, min(smallest, 0), end)

    def launch(self, value: int) -> tuple[Call, AssumedRanges]:
        """Return the recorded launch, and the range of the tensor's loads up to a value."""
        return self._call, dict.fromkeys(self.sized.values, (self.least, value))

    def runnable(self, call: Call, ranges: AssumedRanges) -> Call | None:
        """Return the launch whose tensor has the largest value everywhere."""
        return filled_with(call, self._place, max(high for _, high in ranges.values()))

    def refutation_by_run(self, claim: Claim, value: int) -> tuple[str, str | None] | None:
        """Return a violation of the launch in which every element is the value, else None."""
        call = filled_with(self._call, self._place, value)
        if call is None:
            return None
        broken = rule_violation(call, claim)
        if broken is not None and claim.use is not None:
            return overflow_text(call, claim.use)
        return broken


def filled_to(call: Call, ranges: AssumedRanges) -> Call | None:
    """Return a launch in which index tensors hold their largest assumed value everywhere.

    Returns None if a tensor is too large to allocate.
    """
    filled: Call | None = call
    for position in index_tensors(call):
        keys = [(symbol.kind, symbol.key) for symbol in index_symbols(call, position)]
        largest_values = [ranges[key][1] for key in keys if key in ranges]
        if largest_values and filled is not None:
            filled = filled_with(filled, position, max(largest_values))
    return filled


def filled_with(call: Call, position: int, value: int) -> Call | None:
    """Return a launch whose index tensor has one value in every element, None if too large."""
    tensor = call.tensor(position)
    if tensor.storage.nbytes > _MAX_BYTES:
        return None
    size = tensor.element.bytes
    element_count = tensor.storage.nbytes // size
    data = np.full(element_count, value, f"{'u' if tensor.dtype[0] == 'u' else 'i'}{size}").view(
        np.uint8
    )
    filled = replace(tensor, storage=Storage(data.nbytes, data))
    arguments = (*call.arguments[:position], filled, *call.arguments[position + 1 :])
    recorded = tuple(dict.fromkeys((*call.recorded, tensor.name)))
    return replace(call, arguments=arguments, recorded=recorded)


# -- contracts -------------------------------------------------------------------------------------


class BadContract(KvtraceError):
    """The error of a contract that cannot be parsed."""

    slug = "bad-contract"


class Contract(Struct, frozen=True):
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
    loads: dict[int | None, Access] = {a.op.index: a for a in summarize(call.module).accesses}
    symbols = []
    for position in index_tensors(call):
        for symbol in index_symbols(call, position):
            load = loads.get(op_index(symbol))
            variable = None if load is None else assigned_name(load.op.location)
            if contract.subject in (call.arguments[position].name, variable):
                symbols.append((position, symbol))
    return symbols


def bounds_of_loads(
    contracts: Sequence[Contract], relations: Relations, terms: Terms
) -> dict[tuple[str, Any], tuple[Term, Term]]:
    """Return the smallest and largest value of each load that contracts limit, as terms."""
    bounds: dict[tuple[str, Any], tuple[Term, Term]] = {}
    for contract in contracts:
        low, high = (_term_of(end, relations, terms) for end in (contract.low, contract.high))
        if low is not None and high is not None:
            limits = low + contract.steps[0], high - contract.steps[1]
            symbols = (symbol for _, symbol in symbols_of(contract, relations.call))
            bounds |= {(symbol.kind, symbol.key): limits for symbol in symbols}
    return bounds


def assumed_contents(
    relations: Relations, contracts: Sequence[Contract], sizes: Sizes
) -> AssumedContents:
    """Return the assumed values of integer loads: by contract, else the recorded range."""
    bounds = bounds_of_loads(contracts, relations, sizes.terms)
    ranges = recorded_ranges(relations.call)
    return AssumedContents(
        {key: value for key, value in ranges.items() if key not in bounds}, bounds
    )


def ranges_of_loads(
    contracts: Sequence[Contract], relations: Relations, numbers: Numbers
) -> dict[tuple[str, Any], Interval]:
    """Return the ranges that contracts give to loads for a launch's numbers."""
    terms = {n: as_term(value) for n, value in numbers.items()}
    bounds = bounds_of_loads(contracts, relations, terms)
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
        tensor, recorded = call.tensor_at(position), bound.contents.recorded(symbol)
        if recorded is None or tensor is None:
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
