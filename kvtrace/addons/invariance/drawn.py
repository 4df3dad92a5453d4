"""Drawings of an output's trees: one table of nodes that trees of several sizes share."""

from __future__ import annotations

import hashlib
import re
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Final

from kvtrace.addons.invariance.batches import by_tree, have_all_rows, with_most_sizes
from kvtrace.addons.invariance.coordinates import coordinate, number_of_coordinate
from kvtrace.addons.invariance.kernels import indices_of
from kvtrace.addons.invariance.trees import COMMUTATIVE
from kvtrace.addons.invariance.wording import node_text
from kvtrace.evaluate.arguments import TensorArgument
from kvtrace.ir import source_stack
from kvtrace.ir.ops import KINDS, Kind
from kvtrace.ir.updates import update_of
from kvtrace.symbolic.conditions import Condition
from kvtrace.symbolic.expressions import condition_expression, expression
from kvtrace.symbolic.terms import ZERO, Substitution, Symbol, Term
from kvtrace.symbolic.walk import summarize

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from kvtrace.addons.invariance.batches import Kept
    from kvtrace.addons.invariance.output_results import OutputResult
    from kvtrace.addons.invariance.trees import Tree
    from kvtrace.metrics.stacks import StackRows

_MOST_NODES: Final = 300
"""Nodes of a tree are drawn as far from its root as all of a distance are within this number."""
_MOST_TREES: Final = 8
"""So many trees of an output are drawn."""
_LONGEST: Final = 160
_SYMBOL: Final = re.compile(r"lane\('(coordinate|bound)', (\d+)\)")
_ROLES: Final[Mapping[str, tuple[str, ...]]] = {"where": ("if", "then", "else")}
_TENSOR: Final = 1 << 80
"""Larger than any axis's number: so coordinates are numbered that represent loaded integers."""


@dataclass(frozen=True, slots=True)
class DrawnNode:
    """A node as it is drawn.

    Attributes:
        kind: store, atomic, load, op, reduction, scan, product, loop, carried, combined, number,
            argument, index, condition, unknown or cut.
        text: What it says.
        stack: Where it comes from, an id of `stacks`.
        parts: What it is made of: places in the table of nodes.
        roles: What each part is to it; empty where the order says it.

    """

    kind: str
    text: str
    stack: int | None
    parts: tuple[int, ...] = ()
    roles: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class DrawnTree:
    """A tree: its root, a call that has it, and the sizes of the batch at which calls have it."""

    root: int
    call_id: int
    rows: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Drawing:
    """The trees of an output, those of the smallest batches first; `left_out`: how many more."""

    nodes: tuple[DrawnNode, ...]
    trees: tuple[DrawnTree, ...]
    left_out: int


def drawing_of(result: OutputResult, stacks: StackRows) -> Drawing:
    """Return the trees of an output in the recorded launches that are compared.

    No trees where an output has one value for the batch, or was not followed.
    """
    nodes = _Nodes()
    compared = with_most_sizes(result.kept.values())
    axes = {_number(each) for kept in compared for each in kept.extents}
    names = {number: f"i{place}" for place, number in enumerate(sorted(axes, reverse=True))}
    found = by_tree(compared)
    whole = have_all_rows(compared)
    trees = []
    for tree, calls in list(found.items())[:_MOST_TREES]:
        kept = next(iter(calls.values()))
        root = _Drawer(kept, names, nodes, stacks).root(tree, whole=whole)
        rows = tuple(sorted({batch.rows for batch in calls}))
        trees.append(DrawnTree(root, kept.call.call_id, rows))
    return Drawing(*_numbered(nodes, trees), len(found) - len(trees))


class _Nodes:
    """Nodes in the order in which they were drawn, each with a digest of all that it is made of."""

    def __init__(self) -> None:
        self._places: dict[DrawnNode, int] = {}
        self._keys: list[tuple[str, str, bytes]] = []

    def add(self, node: DrawnNode) -> int:
        """Return a node's index in the table; equal nodes have the same index."""
        place = self._places.setdefault(node, len(self._keys))
        if place == len(self._keys):
            parts = tuple(self._keys[part][-1] for part in node.parts)
            content = repr((node.kind, node.text, node.stack, node.roles, parts)).encode()
            self._keys.append((node.kind, node.text, hashlib.sha256(content).digest()))
        return place

    def order(self, place: int) -> tuple[str, str, bytes]:
        """Return a sort key of a node that is the same in all processes."""
        return self._keys[place]

    def __iter__(self) -> Iterator[DrawnNode]:
        return iter(self._places)


def _numbered(
    drawn: _Nodes, trees: Sequence[DrawnTree]
) -> tuple[tuple[DrawnNode, ...], tuple[DrawnTree, ...]]:
    """Number nodes parts first, from the roots: what trees say is then the same in all processes.

    The operands of a sum were drawn in an order that is of one process, as equal trees are one
    object there.
    """
    nodes = list(drawn)
    places: dict[int, int] = {}
    for tree in trees:
        pending = [(tree.root, False)]
        while pending:
            place, parts_done = pending.pop()
            if place in places:
                continue
            if parts_done:
                places[place] = len(places)
            else:
                pending.append((place, True))
                pending += [(part, False) for part in reversed(nodes[place].parts)]
    return (
        tuple(
            replace(nodes[place], parts=tuple(map(places.__getitem__, nodes[place].parts)))
            for place in places
        ),
        tuple(replace(tree, root=places[tree.root]) for tree in trees),
    )


class _Drawer:
    """Drawer of one call's trees into a table of nodes."""

    def __init__(
        self, kept: Kept, names: Mapping[int, str], nodes: _Nodes, stacks: StackRows
    ) -> None:
        self._kept = kept
        self._nodes = nodes
        self._stacks = stacks
        self._texts = _Texts(kept, names)
        self._made: dict[Tree, int] = {}
        self._known: set[Tree] = set()

    def root(self, tree: Tree, *, whole: bool) -> int:
        """Draw the store of a tree, `whole`: of all rows; return the node's index in the table."""
        kept, access = self._kept, self._kept.access
        offset = sum(
            (Term({(each,): _number(each)}) for each in kept.extents if whole
             or each not in kept.rows), ZERO,
        )  # fmt: skip
        self._known = _nearest(tree)
        stack = self._stacks.add(source_stack(access.op))
        place = self._texts.element(self._texts.names[kept.position], offset)
        if access.kind == "store":
            drawn = DrawnNode("store", place, stack, (self._node(tree),))
        else:
            how = update_of(access.op) or "compare and swap"
            drawn = DrawnNode("atomic", f"{how} to {place}", stack, (self._node(tree),))
        return self._nodes.add(drawn)

    def _node(self, tree: Tree) -> int:
        known = self._made.get(tree)
        if known is None:
            known = self._made[tree] = self._nodes.add(self._drawn(tree))
        return known

    def _drawn(self, tree: Tree) -> DrawnNode:
        op = self._kept.places.get(tree)
        stack = None if op is None else self._stacks.add(source_stack(op))
        if tree not in self._known:
            return DrawnNode("cut", "further in, not drawn", stack)
        kind, text, parts, roles = self._description(tree)
        places = list(map(self._node, parts))
        if kind == "op" and _operator(tree) in COMMUTATIVE:
            places.sort(key=self._nodes.order)
        return DrawnNode(kind, text, stack, tuple(places), roles)

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
                return "op", node_text(tree), parts, _ROLES.get(_operator(tree), ())
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
        simple = combine[0]
        if count == 1 and simple.what == "op" and all(p.what == "combined" for p in simple.parts):
            return kind, f"{kind} by {simple.detail[0]} {over}", elements, ()
        roles = tuple(f"combined {n}" for n in range(count)) + tuple(
            f"value {n}" for n in range(count)
        )
        which = f"value {position} of a {kind}" if count > 1 else f"a {kind}"
        return kind, f"{which} {over}", tree.parts, roles

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
    """Return the nodes of a tree that are nearest to its root."""
    visited: set[Tree] = set()
    distance = {tree}
    while distance and len(visited) + len(distance) <= _MOST_NODES:
        visited |= distance
        distance = {part for each in distance for part in each.parts} - visited
    return visited


def _operator(tree: Tree) -> str:
    """Return what an op computes; of a branch or of joined halves, which are not ops, its name."""
    name: str = tree.detail[0]
    return (KINDS[name].operator or "") if name in KINDS else name


def _number(symbol: Symbol) -> int:
    number = number_of_coordinate(symbol)
    assert number is not None
    return number


class _Texts:
    """Formulas and addresses of the trees of a call: `x[i0, 64 * k0 + k1]`.

    i0, i1 … are the output's coordinates, the outermost first, k0, k1 … what is summed over.
    """

    def __init__(self, kept: Kept, names: Mapping[int, str]) -> None:
        self._summary = summarize(kept.call.module)
        arguments = self._summary.module.main.arguments
        self.names = [value.name.lstrip("%") for value in arguments]
        self._tensors: Mapping[str, TensorArgument] = {
            name: given
            for name, given in zip(self.names, kept.call.arguments, strict=False)
            if isinstance(given, TensorArgument)
        }
        self._coordinate_names = dict(names)

    def formula(self, formula: Term | Condition) -> str:
        """Return a formula as text."""
        loaded: dict[Any, Term] = {
            atom: self._loaded(atom).term
            for atom in formula.atoms()
            if isinstance(atom, Symbol) and atom.kind == "content" and isinstance(atom.key, tuple)
        }
        if isinstance(formula, Term):
            text = expression(Substitution(loaded)(formula), self._summary)
        else:
            text = condition_expression(formula.substitute(Substitution(loaded)), self._summary)
        text = _SYMBOL.sub(self._symbol, text)
        return text if len(text) <= _LONGEST else f"{text[: _LONGEST - 1]}…"

    def element(self, name: str, offset: Term) -> str:
        """Return the text of an element by its indices, or by its byte offset if it has none."""
        tensor = self._tensors.get(name)
        indices = None if tensor is None else indices_of(tensor, offset)
        if indices is None:
            return f"{name}[byte {self.formula(offset)}]"
        return f"{name}[{', '.join(map(self.formula, indices))}]"

    def _loaded(self, symbol: Symbol) -> Symbol:
        """Return a coordinate that stands for a loaded integer and has its text."""
        assert isinstance(symbol.key, tuple)
        number = _TENSOR + len(self._coordinate_names)
        self._coordinate_names[number] = self.element(str(symbol.key[1]), symbol.at[0])
        return coordinate(number)

    def _symbol(self, match: re.Match[str]) -> str:
        number = int(match[2])
        return (
            f"k{number}"
            if match[1] == "bound"
            else self._coordinate_names.get(number, f"i{number}")
        )
