"""Findings of the rule `not-invariant`, and the trees behind them for the report."""

from __future__ import annotations

import hashlib
import json
from dataclasses import asdict, dataclass, replace
from typing import TYPE_CHECKING, Any, Final

import pyarrow as pa

from kvtrace.addons.invariance.batches import calls_by_tree, calls_of_most_sizes, have_all_rows
from kvtrace.addons.invariance.coordinates import coordinate, indices_of, number_of_coordinate
from kvtrace.addons.invariance.findings import RULE, TREES, InvarianceNode
from kvtrace.addons.invariance.over import ROWS, Answer, answer_over, contracts_of
from kvtrace.addons.invariance.results import invariance_of
from kvtrace.addons.invariance.trees import COMMUTATIVE, operator_of
from kvtrace.addons.invariance.wording import formula_text, node_text
from kvtrace.evaluate.arguments import TensorArgument
from kvtrace.ir import Frame, source_stack
from kvtrace.ir.ops import KINDS, Kind
from kvtrace.ir.stacks import StackRows
from kvtrace.ir.updates import update_of
from kvtrace.recorded_calls.recorded import Call, UnreadyCall, calls_of
from kvtrace.schema.content import artifact_row
from kvtrace.schema.tables import TABLES
from kvtrace.schema.trace import Selection
from kvtrace.symbolic.conditions import Condition
from kvtrace.symbolic.terms import ZERO, Substitution, Symbol, Term
from kvtrace.symbolic.walk import summarize

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from kvtrace.addons.invariance.batches import ComparedCall
    from kvtrace.addons.invariance.output_results import OutputResult
    from kvtrace.addons.invariance.over import Contract
    from kvtrace.addons.invariance.trees import Tree
    from kvtrace.schema.trace import Run, Trace

_Judged = tuple[dict[str, Any], dict[str, Any]]
"""A row of `findings`, and the data that a report shows for the row."""

_SECONDS: Final = 10.0
"""Time limit for judging one kernel: `kvtrace invariance --seconds` has a longer default."""
_SEVERITIES: Final = {"violation": "error", "unknown": "warning", "proven": "note"}


def findings_of(trace: Trace, run: Run, asked: bool) -> Mapping[str, pa.Table] | None:
    """Return findings about a run's kernels with a contract, or about all kernels if `asked`.

    Each output has a row in `findings`: proven, a violation with two values of an element, or
    unknown with a reason. Source lines and trees are in `stacks` and `artifacts`. None if no kernel
    is judged.
    """
    contracts = contracts_of(trace, (run,))
    if not contracts and not asked:
        return None
    calls: dict[str, Call] = {}
    unready: dict[str, UnreadyCall] = {}
    for call in calls_of(trace, run):
        if isinstance(call, UnreadyCall):
            unready.setdefault(call.kernel, call)
        else:
            calls.setdefault(call.kernel, call)
    kernels = () if asked else tuple(contracts)
    invariance = invariance_of(Selection(trace, (run,)), kernels, seconds=_SECONDS)
    stacks = StackRows()
    judged = [
        _row(result, calls[result.kernel], contracts, stacks) for result in invariance.outputs
    ]
    judged += _unjudged(calls, unready, {result.kernel for result in invariance.outputs}, contracts)
    rows = [row for row, _ in judged]
    content = json.dumps([shown for _, shown in judged]).encode()
    rows_by_table = {
        "findings": rows, "stacks": stacks.rows(), "artifacts": [artifact_row(TREES, content)],
    }  # fmt: skip
    return {
        name: pa.Table.from_pylist(listed, TABLES[name].schema)
        for name, listed in rows_by_table.items()
    }


def _row(
    result: OutputResult, call: Call, contracts: Mapping[str, Contract], stacks: StackRows
) -> _Judged:
    """Return the row of `findings` for an output, and the data that a report shows for it."""
    contract = contracts.get(result.kernel)
    quantity = ROWS if contract is None else contract.over
    source_line = next((why.source for why in result.reasons if why.source.file), result.source)
    stack = None
    if source_line.file is not None and source_line.line is not None:
        stack = stacks.add((Frame(source_line.file, source_line.line, 1, result.kernel),))
    answer = answer_over(result, quantity, call)
    row, shown = _finding(result.kernel, call.call_id, result.output, answer, quantity, contract)
    across, witness = result.size_comparison, result.witness
    shown |= {
        "relation": None if across is None else across.comparison.relation,
        "witness": None if witness is None else asdict(witness),
        "drawing": asdict(drawing_of(result, stacks)),
    }
    return row | {"stack_id": stack}, shown


def _unjudged(
    calls: Mapping[str, Call],
    unready: Mapping[str, Any],
    judged: set[str],
    contracts: Mapping[str, Contract],
) -> Iterator[_Judged]:
    """Yield a finding for each kernel with a contract but without a judged output."""
    for kernel, contract in contracts.items():
        call = calls.get(kernel) or unready.get(kernel)
        if call is None or kernel in judged:
            continue
        explanation = (
            unready[kernel].reason
            if kernel in unready
            else "no output of the kernel could be followed"
        )
        yield _finding(
            kernel, call.call_id, None, Answer("unknown", explanation), contract.over, contract
        )


def _finding(
    kernel: str, call_id: int, output: str | None, answer: Answer, quantity: str,
    contract: Contract | None,
) -> _Judged:  # fmt: skip
    identity = f"{RULE} {kernel} {output} {quantity} {answer.verdict}"
    remarks = f"; {answer.text}" if answer.text else ""
    contract_line = "" if contract is None else f" (contract in line {contract.line})"
    subject = kernel if output is None else f"each row of {output}"
    messages = {
        "proven": f"{subject} has the same result over {quantity}{contract_line}, by TTIR{remarks}",
        "violation": f"{subject} changes over {quantity}{contract_line}: {answer.text}",
        "unknown": f"{subject} is not proven to be the same over {quantity}{contract_line}",
    }
    row = {
        "finding_id": hashlib.sha256(identity.encode()).hexdigest()[:32],
        "call_id": call_id,
        "rule": RULE,
        "verdict": answer.verdict,
        "severity": _SEVERITIES[answer.verdict],
        "arg": output,
        "method": {"proven": "trees", "violation": "evaluated"}.get(answer.verdict),
        "reason": answer.text if answer.verdict == "unknown" else None,
        "message": messages[answer.verdict],
    }
    shown = {
        "call_id": call_id, "kernel": kernel, "output": output, "over": quantity,
        "line": None if contract is None else contract.line,
        "verdict": answer.verdict, "text": answer.text,
    }  # fmt: skip
    return row, shown


# -- drawings of trees -----------------------------------------------------------------------------


_MOST_NODES: Final = 300
"""Limit on the nodes drawn of a tree: all nodes up to a distance from the root, or none of it."""
_MOST_TREES: Final = 8
"""Limit on the trees drawn of an output."""
_LONGEST: Final = 160
_ROLES: Final[Mapping[str, tuple[str, ...]]] = {"where": ("if", "then", "else")}
_TENSOR: Final = 1 << 80
"""Coordinates that represent loaded integers are numbered from here, above all axes."""


@dataclass(frozen=True, slots=True)
class DrawnTree:
    """A drawn tree: the index of its root, the id of a call with the tree, and its batch sizes."""

    root: int
    call_id: int
    rows: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Drawing:
    """The drawn trees of an output, the smallest batch first; `left_out` counts the others."""

    nodes: tuple[InvarianceNode, ...]
    trees: tuple[DrawnTree, ...]
    left_out: int


def drawing_of(result: OutputResult, stacks: StackRows) -> Drawing:
    """Draw the trees of an output in the recorded launches that are compared.

    Without trees if the output has one value for the batch, or was not followed.
    """
    nodes = _Nodes()
    calls = calls_of_most_sizes(result.compared_calls.values())
    axis_numbers = {_number(symbol) for call in calls for symbol in call.extents}
    names = {number: f"i{index}" for index, number in enumerate(sorted(axis_numbers, reverse=True))}
    batches_by_tree = calls_by_tree(calls)
    of_all_rows = have_all_rows(calls)
    trees = []
    for tree, call_by_batch in list(batches_by_tree.items())[:_MOST_TREES]:
        call = next(iter(call_by_batch.values()))
        root = _Drawer(call, names, nodes, stacks).root(tree, whole=of_all_rows)
        rows = tuple(sorted({batch.rows for batch in call_by_batch}))
        trees.append(DrawnTree(root, call.call.call_id, rows))
    return Drawing(*_numbered(nodes, trees), len(batches_by_tree) - len(trees))


class _Nodes:
    """A table of different nodes in the order in which they were drawn, with a digest of each."""

    def __init__(self) -> None:
        self._indices: dict[InvarianceNode, int] = {}
        self._keys: list[tuple[str, str, bytes]] = []

    def add(self, node: InvarianceNode) -> int:
        """Return a node's index in the table; equal nodes have the same index."""
        index = self._indices.setdefault(node, len(self._keys))
        if index == len(self._keys):
            parts = tuple(self._keys[part][-1] for part in node.parts)
            content = repr((node.kind, node.text, node.stack, node.roles, parts)).encode()
            self._keys.append((node.kind, node.text, hashlib.sha256(content).digest()))
        return index

    def order(self, index: int) -> tuple[str, str, bytes]:
        """Return a sort key of a node that is the same in all processes."""
        return self._keys[index]

    def __iter__(self) -> Iterator[InvarianceNode]:
        return iter(self._indices)


def _numbered(
    drawn: _Nodes, trees: Sequence[DrawnTree]
) -> tuple[tuple[InvarianceNode, ...], tuple[DrawnTree, ...]]:
    """Renumber nodes in postorder from the roots, which is the same order in all processes.

    Before, the operands of a sum are in an order of this process, by the identity of trees.
    """
    nodes = list(drawn)
    new_indices: dict[int, int] = {}
    for tree in trees:
        pending = [(tree.root, False)]
        while pending:
            index, are_parts_done = pending.pop()
            if index in new_indices:
                continue
            if are_parts_done:
                new_indices[index] = len(new_indices)
            else:
                pending.append((index, True))
                pending += [(part, False) for part in reversed(nodes[index].parts)]
    return (
        tuple(
            replace(nodes[index], parts=tuple(map(new_indices.__getitem__, nodes[index].parts)))
            for index in new_indices
        ),
        tuple(replace(tree, root=new_indices[tree.root]) for tree in trees),
    )


class _Drawer:
    """Drawer of one call's trees into a table of nodes."""

    def __init__(
        self, kept: ComparedCall, names: Mapping[int, str], nodes: _Nodes, stacks: StackRows
    ) -> None:
        self._kept = kept
        self._nodes = nodes
        self._stacks = stacks
        self._texts = _Texts(kept, names)
        self._indices: dict[Tree, int] = {}
        self._drawn_trees: set[Tree] = set()

    def root(self, tree: Tree, *, whole: bool) -> int:
        """Draw the store of a tree, `whole` if of all rows; return the store's index."""
        call, access = self._kept, self._kept.access
        offset = sum(
            (Term({(symbol,): _number(symbol)}) for symbol in call.extents if whole
             or symbol not in call.rows), ZERO,
        )  # fmt: skip
        self._drawn_trees = _nearest(tree)
        stack = self._stacks.add(source_stack(access.op))
        target = self._texts.element(self._texts.names[call.position], offset)
        if access.kind == "store":
            drawn = InvarianceNode("store", target, stack, (self._node(tree),))
        else:
            how = update_of(access.op) or "compare and swap"
            drawn = InvarianceNode("atomic", f"{how} to {target}", stack, (self._node(tree),))
        return self._nodes.add(drawn)

    def _node(self, tree: Tree) -> int:
        index = self._indices.get(tree)
        if index is None:
            index = self._indices[tree] = self._nodes.add(self._drawn(tree))
        return index

    def _drawn(self, tree: Tree) -> InvarianceNode:
        op = self._kept.ops_by_node.get(tree)
        stack = None if op is None else self._stacks.add(source_stack(op))
        if tree not in self._drawn_trees:
            return InvarianceNode("cut", "further in, not drawn", stack)
        kind, text, parts, roles = self._description(tree)
        part_indices = list(map(self._node, parts))
        if kind == "op" and operator_of(tree) in COMMUTATIVE:
            part_indices.sort(key=self._nodes.order)
        return InvarianceNode(kind, text, stack, tuple(part_indices), roles)

    def _description(self, tree: Tree) -> tuple[str, str, Sequence[Tree], tuple[str, ...]]:
        """Return (kind, text, parts, roles of the parts) of a node."""
        detail: tuple[Any, ...] = tree.detail
        parts = tree.parts
        match tree.what:
            case "integer" | "condition":
                kind = "index" if tree.what == "integer" else "condition"
                return kind, self._texts.formula(detail[0]), parts, ()
            case "element":
                return self._element(tree)
            case "reduction":
                return self._reduction(tree)
            case "product":
                roles = ("left", "right", "added to")
                return "product", f"{node_text(tree)}, K is k{detail[3]}", parts, roles
            case "loop":
                return self._loop(tree)
            case "carried":
                inside = ", ".join(map(self._texts.formula, detail[2]))
                at = f" at [{inside}]" if inside else ""
                return "carried", f"value {detail[1]} of the loop over k{detail[0]}{at}", parts, ()
            case "constant":
                return "number", node_text(tree), parts, ("element",) * len(parts)
            case "op":
                return "op", node_text(tree), parts, _ROLES.get(operator_of(tree), ())
            case "combined":
                return "combined", f"value {detail[0]} of the two", parts, ()
        return ("argument" if tree.what == "argument" else "unknown"), node_text(tree), parts, ()

    def _element(self, tree: Tree) -> tuple[str, str, Sequence[Tree], tuple[str, ...]]:
        name, offset = tree.detail[:2]
        if offset is None:
            return "load", "a load", tree.parts, ("from", "where", "else")[: len(tree.parts)]
        text = self._texts.element(name, offset)
        return "load", text, tree.parts, ("where", "else")[: len(tree.parts)]

    def _reduction(self, tree: Tree) -> tuple[str, str, Sequence[Tree], tuple[str, ...]]:
        name, extent, level, position = tree.detail[:4]
        count = len(tree.parts) // 2
        kind = "scan" if KINDS[name].kind is Kind.SCAN else "reduction"
        over = f"over {extent} elements, k{level}"
        combine, elements = tree.parts[:count], tree.parts[count:]
        combining_op = combine[0]
        if (
            count == 1
            and combining_op.what == "op"
            and all(p.what == "combined" for p in combining_op.parts)
        ):
            return kind, f"{kind} by {combining_op.detail[0]} {over}", elements, ()
        roles = tuple(f"combined {n}" for n in range(count)) + tuple(
            f"value {n}" for n in range(count)
        )
        subject = f"value {position} of a {kind}" if count > 1 else f"a {kind}"
        return kind, f"{subject} {over}", tree.parts, roles

    def _loop(self, tree: Tree) -> tuple[str, str, Sequence[Tree], tuple[str, ...]]:
        trips, level, is_while = tree.detail[:3]
        before = 2 if is_while else 0
        count = (len(tree.parts) - before) // 2
        names = [f"value {n}, " if count > 1 else "" for n in range(count)]
        roles = ("while", "leaves")[:before] + tuple(
            f"{name}{when}" for name in names for when in ("first", "each trip")
        )
        text = "a while loop" if is_while else f"a loop of {self._texts.formula(trips)} trips"
        return "loop", f"{text}, k{level}", tree.parts, roles


def _nearest(tree: Tree) -> set[Tree]:
    """Return the nodes up to the largest distance from the root within `_MOST_NODES`."""
    visited: set[Tree] = set()
    layer = {tree}
    while layer and len(visited) + len(layer) <= _MOST_NODES:
        visited |= layer
        layer = {part for node in layer for part in node.parts} - visited
    return visited


def _number(symbol: Symbol) -> int:
    number = number_of_coordinate(symbol)
    assert number is not None
    return number


class _Texts:
    """Formulas and addresses of the trees of a call: `x[i0, 64 * k0 + k1]`.

    i0, i1 … are the output's coordinates, the outermost first, k0, k1 … what is summed over.
    """

    def __init__(self, kept: ComparedCall, names: Mapping[int, str]) -> None:
        self._summary = summarize(kept.call.module)
        arguments = self._summary.module.main.arguments
        self.names = [value.name.lstrip("%") for value in arguments]
        self._tensors: Mapping[str, TensorArgument] = {
            name: argument
            for name, argument in zip(self.names, kept.call.arguments, strict=False)
            if isinstance(argument, TensorArgument)
        }
        self._coordinate_names = dict(names)

    def formula(self, formula: Term | Condition) -> str:
        """Return a formula as text."""
        loaded: dict[Any, Term] = {
            atom: self._loaded(atom).term
            for atom in formula.atoms()
            if isinstance(atom, Symbol) and atom.kind == "content" and isinstance(atom.key, tuple)
        }
        placed = Substitution(loaded)
        formula = placed(formula) if isinstance(formula, Term) else formula.substitute(placed)
        return formula_text(formula, self._summary, self._coordinate_names, _LONGEST)

    def element(self, name: str, offset: Term) -> str:
        """Return the text of an element by its indices, or by its byte offset if it has none."""
        tensor = self._tensors.get(name)
        indices = None if tensor is None else indices_of(tensor, offset)
        if indices is None:
            return f"{name}[byte {self.formula(offset)}]"
        return f"{name}[{', '.join(map(self.formula, indices))}]"

    def _loaded(self, symbol: Symbol) -> Symbol:
        """Return a new coordinate whose text is that of a loaded integer."""
        assert isinstance(symbol.key, tuple)
        number = _TENSOR + len(self._coordinate_names)
        self._coordinate_names[number] = self.element(str(symbol.key[1]), symbol.at[0])
        return coordinate(number)
