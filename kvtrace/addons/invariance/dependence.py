"""What the tree of an output's element depends on besides its own row's data.

A row's result is the same in every batch if nothing in its tree mentions where the row is: no
program, grid, size of the batch or number of the row, other than to find the row's own data.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, Literal

from kvtrace.addons.invariance.begins import begins_moving, places_in
from kvtrace.addons.invariance.coordinates import is_number, is_placing, number_of_coordinate
from kvtrace.addons.invariance.trees import TRIPS, Tree, bound
from kvtrace.addons.invariance.trees import tree as made
from kvtrace.addons.invariance.wording import formula_text
from kvtrace.symbolic.conditions import TRUE, AtLeast, Condition, at_least, conjunction, less
from kvtrace.symbolic.functions import Choice, Quotient, Remainder
from kvtrace.symbolic.prover import Given, follows
from kvtrace.symbolic.terms import ZERO, Atom, Monomial, Substitution, Symbol, Term, as_term

if TYPE_CHECKING:
    from kvtrace.addons.invariance.coordinates import Axis
    from kvtrace.symbolic.prover import Ranges
    from kvtrace.symbolic.summary import Summary

Through = Literal["data", "mask", "address", "guard", "trips", "integer"]
Cause = Literal["position", "grid", "size", "row", "rows", "update", "unknown"]
"""What a value may depend on: the program or lane that computes it, the grid, the batch's size,
the row's number, other rows' data, an update whose order is free, or what is not followed."""

_Facts = tuple[Condition, ...]

_WIDTH: Final = re.compile(r"[a-z]+(\d+)")


@dataclass(frozen=True, slots=True)
class Reason:
    """Why a row's value may change with its batch: the cause, through what, and the op's index.

    `what` names the cause in the kernel's terms.
    """

    cause: Cause
    through: Through
    what: str
    op: int


@dataclass(frozen=True, slots=True)
class Read:
    """An argument that the value depends on; `own`: of it only what lies in the row's own part."""

    argument: str
    own: bool
    through: Through


@dataclass(frozen=True, slots=True)
class Dependence:
    """What a tree depends on: reasons against its invariance, reads, and scalars it mentions.

    `floats` are the arguments of floats that it is made of. `selecting` are tensors of integers
    that select inside the row, as a label does: it is assumed that they stay in it. `assumed` are
    those whose entries are treated as the row's own data, `shared` for what all batches share.
    `guarding` are the scalars that only say which elements are stored.
    """

    reasons: tuple[Reason, ...]
    reads: tuple[Read, ...]
    scalars: tuple[Symbol, ...]
    selecting: tuple[str, ...]
    floats: tuple[str, ...] = ()
    assumed: tuple[str, ...] = ()
    shared: tuple[str, ...] = ()
    guarding: frozenset[Symbol] = frozenset()


def sizes_of_batch(active: Condition, axes: Sequence[Axis]) -> frozenset[Symbol]:
    """Return the scalars that say where an axis ends: those that bound its coordinate in a mask."""
    found: set[Symbol] = set()
    for part in active.conjuncts():
        if not isinstance(part, AtLeast):
            continue
        coefficients = part.term.coefficients
        bounded = any(
            number < 0 and axis.coordinate in monomial
            for axis in axes
            for monomial, number in coefficients.items()
        )
        for monomial, number in coefficients.items() if bounded else ():
            if number > 0 and all(is_number(atom) for atom in monomial):
                found |= {atom for atom in monomial if isinstance(atom, Symbol)}
    return frozenset(found)


def is_uniform(atom: Atom) -> bool:
    """Whether an atom has one value in a launch: it is made of its numbers and its grid."""
    inside = (each for each in (atom, *atom.within()) if isinstance(each, Symbol))
    return all(each.kind in ("scalar", "programs") for each in inside)


@dataclass(frozen=True)
class Batch:
    """What a row is, and what is known of a recorded call.

    Attributes:
        axes: The output's axes that number the rows.
        sizes: Scalars that say how many rows there are.
        batched: Arguments that have a part for each row.
        strides: Of arguments, in bytes, the largest first.
        ranges: Of the symbols in the recorded call.
        facts: What holds where the element is written.
        extents: How far the output's inner axes go, by the strides of the recorded call.
        indices: The coordinates of all of the output's axes.
        collected: Axes of the grid along which programs update the same elements.

    """

    axes: tuple[Axis, ...]
    sizes: frozenset[Symbol]
    batched: frozenset[str]
    strides: Mapping[str, Sequence[int]]
    ranges: Ranges
    facts: tuple[Condition, ...]
    extents: tuple[Condition, ...]
    indices: frozenset[Symbol]
    collected: frozenset[int] = frozenset()

    @property
    def is_listed(self) -> bool:
        """Whether the rows are numbered by entries of a tensor of integers."""
        return any(axis.is_own for axis in self.axes)

    @property
    def coordinates(self) -> frozenset[Symbol]:
        """The symbols that number the rows."""
        return frozenset(axis.coordinate for axis in self.axes)


class Follower:
    """Finds what a tree depends on."""

    def __init__(self, batch: Batch, summary: Summary) -> None:
        self._batch = batch
        self._rows = batch.coordinates
        self._summary = summary
        self._reasons: dict[Reason, None] = {}
        self._reads: dict[Read, None] = {}
        self._scalars: dict[Symbol, None] = {}
        self._selecting: dict[str, None] = {}
        self._floats: dict[str, None] = {}
        self._own_integers: dict[str, None] = {}
        self._shared_integers: dict[str, None] = {}
        self._shifts: dict[str, int] = {}
        self._row_distances: dict[str, set[int]] = {}
        """How far from the row's part each tensor of integers is read."""
        self._seen: set[tuple[Tree, _Facts]] = set()

    def follow(
        self, tree: Tree, guards: Sequence[Condition] = (), store: Term = ZERO
    ) -> Dependence:
        """Return what a tree depends on.

        Args:
            tree: What is stored.
            guards: Conditions under which it is, except those that say that there is the row.
            store: Where it is stored.

        """
        guarded = conjunction(guards)
        self._follow(tree, "data")
        of_value = frozenset(self._scalars)
        if guarded is not TRUE:
            self._follow(made("condition", (guarded,), (), tree.op), "guard")
        nodes = list(tree.walk())
        moving, along = begins_moving(nodes, guards, store, self._rows)
        arguments = self._summary.module.main.arguments
        for position in along:
            if isinstance(position, int):
                self._own_integers.pop(arguments[position].name.lstrip("%"), None)
        for begin in moving:
            name = self._tensor(begin.content)
            what = f"where its data begin, which other rows decide: {name}"
            self._because("rows", begin.through, what, begin.node or tree)
        return Dependence(
            tuple(self._reasons), tuple(self._reads), tuple(self._scalars), tuple(self._selecting),
            tuple(self._floats), tuple(self._own_integers), tuple(self._shared_integers),
            frozenset(self._scalars) - of_value,
        )  # fmt: skip

    def _follow(self, tree: Tree, through: Through) -> None:
        waiting: list[tuple[Tree, _Facts, Through]] = [(tree, (), through)]
        while waiting:
            node, facts, way = waiting.pop()
            if (node, facts) not in self._seen:
                self._seen.add((node, facts))
                self._node(node, facts, way)
                waiting += _parts(node, facts, way)

    # -- one node --------------------------------------------------------------------------------

    def _node(self, node: Tree, facts: _Facts, through: Through) -> None:
        if node.what == "unknown":
            self._because("unknown", through, node.detail[0], node)
        elif node.what == "element":
            self._element(node, facts)
        elif node.what == "argument":
            if not node.detail[1].startswith("!"):
                self._floats[node.detail[0]] = None
        else:
            if node.what == "loop":
                through = "trips"
            elif node.what == "integer" and through == "data":
                through = "integer"
            for formula in node.formulas():
                self._mentions(formula, through, node)
                if not self._rows.isdisjoint(without_contents(formula)):
                    self._because("row", through, self._text(formula), node)

    def _because(self, cause: Cause, through: Through, what: str, node: Tree) -> None:
        self._reasons[Reason(cause, through, what, node.op)] = None

    def _text(self, formula: Term | Condition) -> str:
        return formula_text(formula, self._summary)

    def _mentions(
        self, formula: Term | Condition, through: Through, node: Tree, tensor: str | None = None
    ) -> None:
        """Note what a formula mentions of the launch, the number of the row left out.

        `tensor`: the formula is an address in this argument. Its strides say where data are, and
        nothing about them.
        """
        self._entries(formula, through, node)
        for atom in self._mentioned(formula, tensor):
            if not isinstance(atom, Symbol):
                continue
            if atom.kind == "content":
                self._content(atom, through, node)
            elif atom.kind == "scalar" and atom not in self._batch.sizes:
                self._scalars[atom] = None
            else:
                cause = self._cause(atom)
                if cause is not None:
                    what = f"{self._text(atom.term)}, in {self._text(formula)}"
                    self._because(cause, through, what, node)

    def _mentioned(self, formula: Term | Condition, tensor: str | None) -> dict[Atom, None]:
        """Return the atoms of a formula, strides of addresses in it left out."""
        addresses = [
            (self._tensor(atom), term) for atom in formula.symbols("content") for term in atom.at
        ]
        if tensor is not None and isinstance(formula, Term):
            addresses.append((tensor, formula))
            found: dict[Atom, None] = {}
        else:
            found = dict.fromkeys(without_contents(formula))
        for name, address in addresses:
            for monomial, number in address.coefficients.items():
                pure = tuple(atom for atom in monomial if is_uniform(atom))
                others = tuple(atom for atom in monomial if not is_uniform(atom))
                if pure and self._is_stride(name, pure, number, others):
                    monomial = others
                found |= dict.fromkeys(without_contents(Term({monomial: 1})))
        return found

    def _is_stride(self, tensor: str, pure: Monomial, number: int, others: Sequence[Atom]) -> bool:
        """Whether a factor is how far rows are apart, or in the recorded call another stride.

        One that moves nothing is only where it is one stride exactly, some elements long.
        """
        low, high = self._batch.ranges.interval(Term({pure: number}))
        if any(atom in self._rows for atom in others):
            if all(map(is_number, pure)):
                return True
            return low == high and low in self._batch.strides.get(tensor, ())
        strides = self._batch.strides.get(tensor, ())[:-1]
        if low != high or low == 0 or not any(low % stride == 0 for stride in strides):
            return False
        one, _ = self._batch.ranges.interval(Term({pure: 1}))
        if others or any(one * size in strides for size in (1, 2, 4, 8)):
            return True
        # A plane of rows, of which there are several.
        return len(strides) > 1 and low % strides[0] == 0 and one > 1 and strides[0] % one == 0

    def _content(self, atom: Symbol, through: Through, node: Tree) -> None:
        """Note an integer in memory that a formula mentions, as the length of a sequence."""
        name = self._tensor(atom)
        own = any(not self._rows.isdisjoint(term.atoms()) for term in atom.at)
        self._reads[Read(name, own, through)] = None
        (self._own_integers if own else self._shared_integers)[name] = None
        if not own and name in self._batch.batched:
            self._because("rows", through, f"all rows of {name}", node)
        elif own and not self._batch.is_listed:
            for place in atom.at:
                _, rest = self._row_part(self._with_strides(place))
                if not self._rows.isdisjoint(without_contents(rest)):
                    what = f"what {name} holds for several rows, at {self._text(place)}"
                    self._because("row", through, what, node)

    def _cause(self, atom: Symbol) -> Cause | None:
        if atom.kind == "program" and atom.key in self._batch.collected:
            return None
        is_part = number_of_coordinate(atom) is not None and atom not in self._batch.indices
        if is_placing(atom) or is_part:
            return "position"
        if atom.kind == "programs":
            return "grid"
        return "size" if atom.kind == "scalar" else None

    def _tensor(self, content: Symbol) -> str:
        assert isinstance(content.key, tuple)
        return self._summary.module.main.arguments[content.key[1]].name.lstrip("%")

    # -- memory ----------------------------------------------------------------------------------

    def _element(self, node: Tree, facts: _Facts) -> None:
        name, offset = node.detail[0], node.detail[1]
        if offset is not None:
            self._read(name, offset, node, facts)
            return
        selected = selected_addresses(node)
        if selected is None:
            self._reads[Read("an address in memory", False, "address")] = None
        for argument, place in selected or ():
            self._read(argument, place, node, facts)

    def _read(self, name: str, offset: Term, node: Tree, facts: _Facts) -> None:
        offset = self._with_strides(offset)
        self._mentions(offset, "address", node, name)
        factors, rest = self._row_part(offset)
        own = bool(factors) or any(
            not self._rows.isdisjoint(content.within()) for content in offset.symbols("content")
        )
        self._reads[Read(name, own, "data")] = None
        if not self._rows.isdisjoint(without_contents(rest)):
            self._because("row", "address", f"{name} at {self._text(offset)}", node)
        elif not own and name in self._batch.batched:
            self._because("rows", "address", f"all rows of {name}", node)
        elif factors and not self._is_inside(name, rest, factors, node, facts):
            what = f"{name} beyond the row's own part, at {self._text(rest)}"
            self._because("rows", "address", what, node)
        elif not factors:
            cause = self._beyond_packed(offset, node, facts)
            if cause is not None:
                what = f"{name} beyond where the row's data begin or end, at {self._text(offset)}"
                self._because(cause, "address", what, node)

    def _beyond_packed(self, offset: Term, node: Tree, facts: _Facts) -> Cause | None:
        """Say whether an element of packed data may be outside of its row's; None: it is not.

        "rows": before its begin, or where nothing says an end; "unknown": it is not shown to be
        before an end.
        """
        places = places_in(offset, self._rows)
        begins = {content for content, kind in places.items() if kind == "begin"}
        if not begins:
            return None
        given = self._given(node, facts)
        limits = (content for part in given.exact for content in part.symbols("content"))
        ends = {each for each in limits if not self._rows.isdisjoint(each.within())} - begins
        rest = Substitution(dict.fromkeys(begins, ZERO))(offset)
        first = rest.coefficients.get((), 0)
        if not ends or (first < 0 and follows(at_least(rest), given) is None):
            return "rows"
        for begin in begins:
            unit = _unit(begin, offset)
            if unit is None:
                return None
            low, high = self._batch.ranges.interval(unit)
            step = _along(unit, rest)
            inner = rest - step * unit
            is_inside = low == high and follows(
                conjunction((at_least(inner), less(inner, low))), given
            )
            is_before = any(
                follows(less(place, end.term), given) is not None
                for end in ends
                for place in (step, begin.term + step)
            )
            if is_before and is_inside:
                return None
        return "unknown"

    def _entries(self, formula: Term | Condition, through: Through, node: Tree) -> None:
        """Note integers in memory that are another row's."""
        contents = formula.symbols("content")
        places = {(self._tensor(content), place) for content in contents for place in content.at}
        for content in contents:
            name = self._tensor(content)
            for place in content.at:
                distance, row_step = self._distance_from_row(place)
                distances = self._row_distances.setdefault(name, {0})
                distances.add(distance)
                is_unpaired = distance and (name, place - distance) not in places
                if is_unpaired or (row_step and max(distances) - min(distances) > row_step):
                    self._because("rows", through, f"what {name} holds for another row", node)

    def _distance_from_row(self, place: Term) -> tuple[int, int]:
        """Return the distance of a place from its row's part of a tensor, and that of two rows.

        Where a row ends is where the next one begins, which is a length with where it begins. So
        what is one row away may be the row's own, and what is further away is not.
        """
        first = place.coefficients.get((), 0)
        steps = [
            abs(number)
            for monomial, number in place.coefficients.items()
            if len(monomial) == 1 and not self._rows.isdisjoint(monomial[0].within())
        ]
        return (first // steps[0] * steps[0], steps[0]) if len(steps) == 1 else (0, 0)

    def _with_strides(self, offset: Term) -> Term:
        """Return an offset in which rows are divided with strides as they are in the call."""
        divided = {
            inside
            for atom in offset.atoms()
            if isinstance(atom, Quotient | Remainder) and not self._rows.isdisjoint(atom.within())
            for inside in atom.within()
            if isinstance(inside, Symbol) and is_number(inside) and self._steps(inside)
        }
        self._scalars |= dict.fromkeys(divided)
        return Substitution({each: as_term(self._batch.ranges.of(each)[0]) for each in divided})(
            offset
        )

    def _steps(self, scalar: Symbol) -> bool:
        """Whether a number is how far elements of a tensor are apart in the recorded call."""
        low, high = self._batch.ranges.of(scalar)
        if low != high or low < 2 or scalar in self._batch.sizes:
            return False
        reach = {stride for each in self._batch.strides.values() for stride in each}
        return any(low * size in reach for size in (1, 2, 4, 8))

    def _row_part(self, offset: Term) -> tuple[dict[Symbol, Term], Term]:
        """Return (factors, rest): an offset is factors times the rows' coordinates, plus rest."""
        factors: dict[Symbol, Term] = {}
        rest: dict[Monomial, int] = {}
        for monomial, number in offset.coefficients.items():
            rows = [atom for atom in monomial if atom in self._rows]
            others = tuple(atom for atom in monomial if atom not in self._rows)
            if len(rows) == 1 and all(is_uniform(atom) for atom in others):
                (row,) = rows
                assert isinstance(row, Symbol)
                factors[row] = factors.get(row, ZERO) + Term({others: number})
            else:
                rest[monomial] = number
        return factors, Term(rest)

    def _is_inside(
        self, name: str, rest: Term, factors: Mapping[Symbol, Term], node: Tree, facts: _Facts
    ) -> bool:
        """Whether an offset stays in the row's own part, at the sizes of the recorded call.

        A part is what one index along the axes of the rows leaves; it may begin some rows further
        on, the same number for all that is read of the tensor.
        """
        given = self._given(node, facts)
        selecting = rest.symbols("content")
        self._selecting |= dict.fromkeys(self._tensor(atom) for atom in selecting)
        rest = Substitution(dict.fromkeys(selecting, ZERO))(rest)
        for factor in factors.values():
            low, high = self._batch.ranges.interval(factor)
            if low != high or low <= 0:
                return False
            outer = [stride for stride in self._batch.strides.get(name, ()) if stride > low]
            inner = self._without_multiples(rest, outer[-1]) if outer else rest
            first_byte = inner.coefficients.get((), 0) // low * low
            shifts = (self._shifts[name],) if name in self._shifts else {first_byte: 0, 0: 0}
            parts = tuple(_of_quotients(inner, self._batch.extents))
            known = Given((*given.exact, *parts), given.ranges) if parts else given
            for shift in shifts:
                claim = conjunction((at_least(inner, shift), less(inner, shift + low)))
                if claim is TRUE or follows(claim, known) is not None:
                    self._shifts[name] = shift
                    break
            else:
                return False
        return True

    def _given(self, node: Tree, facts: _Facts) -> Given:
        """Return the conditions under which an element is read, its mask among them."""
        first = 0 if node.detail[1] is not None else 1
        masks = [p.detail[0] for p in node.parts[first : first + 1] if p.what == "condition"]
        return Given((*self._batch.facts, *self._batch.extents, *facts, *masks), self._batch.ranges)

    def _without_multiples(self, term: Term, stride: int) -> Term:
        """Return an offset without the steps along an outer axis."""
        kept: dict[Monomial, int] = {}
        for monomial, number in term.coefficients.items():
            pure = Term({tuple(atom for atom in monomial if is_uniform(atom)): number})
            low, high = self._batch.ranges.interval(pure)
            if low != high or low % stride or not monomial:
                kept[monomial] = number
        return Term(kept)


def _unit(begin: Symbol, offset: Term) -> Term | None:
    """Return how far an element moves with its begin; None: not by a product of numbers."""
    units = [
        Term({tuple(atom for atom in monomial if atom is not begin): number})
        for monomial, number in offset.coefficients.items()
        if begin in monomial
    ]
    return units[0] if len(units) == 1 and all(map(is_uniform, units[0].atoms())) else None


def _along(unit: Term, rest: Term) -> Term:
    """Return how many units there are in an offset; what is less than one is left out."""
    ((factors, size),) = unit.coefficients.items()
    found: dict[Monomial, int] = {}
    for monomial, number in rest.coefficients.items():
        left = list(monomial)
        if number % size == 0 and all(atom in left for atom in factors):
            for atom in factors:
                left.remove(atom)
            found[tuple(left)] = number // size
    return Term(found)


def _parts(node: Tree, facts: _Facts, through: Through) -> Iterator[tuple[Tree, _Facts, Through]]:
    names: Sequence[Through] = [through] * len(node.parts)
    if node.what == "loop":
        count, level, is_while, _ = node.detail
        if not is_while:
            facts = (*facts, less(bound(level, TRIPS).term, count))
    elif node.what == "element":
        names = ("mask", "data") if node.detail[1] is not None else ("address", "mask", "data")
        if node.detail[1] is None and selected_addresses(node) is not None:
            for condition in _selecting(node.parts[0]):
                yield condition, facts, "guard"
            yield from zip(node.parts[1:], itertools.repeat(facts), names[1:], strict=False)
            return
    elif node.what == "op" and node.detail[0] == "where":
        names = ("guard", *names[1:])
    for part, each in zip(node.parts, names, strict=False):
        yield part, facts, each


def _of_quotients(term: Term, extents: Sequence[Condition]) -> Iterator[Condition]:
    """Yield what quotients of a term by numbers have to do with what is divided."""
    ends = {
        -each.term + each.term.coefficients.get((), 0): each.term.coefficients.get((), 0)
        for each in extents
        if isinstance(each, AtLeast)
    }
    for atom in term.atoms():
        if isinstance(atom, Quotient):
            dividend, divisor = atom.arguments
            number = divisor.constant
            if number is not None and number > 0 and (atom.floor or dividend.low >= 0):
                yield at_least(dividend, atom.term * number)
                yield less(dividend, atom.term * number + number)
                first = dividend.coefficients.get((), 0)
                if dividend - first in ends:
                    yield at_least(as_term((ends[dividend - first] + first) // number), atom.term)


def selected_addresses(node: Tree) -> list[tuple[str, Term]] | None:
    """Return the arguments, with byte offsets, that an element whose address is chosen may be of.

    Args:
        node: An element whose first part is its address.

    Returns:
        None where an address is something else than a choice among arguments, and sums.

    """
    width = _WIDTH.match(node.detail[2])
    size = None if width is None else max(1, int(width[1]) // 8)
    found: list[tuple[str, Term]] = []
    waiting = [(node.parts[0], ZERO)]
    while waiting:
        address, offset = waiting.pop()
        if address.what == "argument":
            found.append((address.detail[0], offset))
        elif address.what == "op" and address.detail[0] in ("where", "arith.select"):
            waiting += [(way, offset) for way in address.parts[1:]]
        elif address.what == "op" and address.detail[0] == "tt.addptr":
            # The operands of a sum are in no order.
            steps = [part for part in address.parts if part.what == "integer"]
            if size is None or len(steps) != 1:
                return None
            (pointer,) = (part for part in address.parts if part is not steps[0])
            waiting.append((pointer, offset + steps[0].detail[0] * size))
        else:
            return None
    return found


def _selecting(address: Tree) -> Iterator[Tree]:
    """Yield the conditions that choose among addresses."""
    waiting = [address]
    while waiting:
        each = waiting.pop()
        if each.what == "op" and each.detail[0] != "tt.addptr":
            yield each.parts[0]
            waiting += each.parts[1:]
        else:
            waiting += each.parts


def without_contents(formula: Term | Condition) -> frozenset[Atom]:
    """Return the atoms of a formula, without those that only say where a content is read."""
    waiting: list[Term | Condition] = [formula]
    found: set[Atom] = set()
    while waiting:
        each = waiting.pop()
        if isinstance(each, Condition):
            waiting += each.inside()
            continue
        for atom in {atom for monomial in each.coefficients for atom in monomial} - found:
            found.add(atom)
            if isinstance(atom, Choice):
                waiting += (atom.condition, atom.then, atom.otherwise)
            else:
                waiting += getattr(atom, "arguments", ())
    return frozenset(found)
