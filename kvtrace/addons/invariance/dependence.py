"""Dependences of an output element's tree on anything but its own row's data.

A row's result is the same in every batch if its tree contains no program, grid, batch size or row
number, except in addresses of the row's own data.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from msgspec import Struct

from kvtrace.addons.invariance.begins import Through, locating_integers, moving_uses
from kvtrace.addons.invariance.coordinates import (
    Axis,
    is_number,
    is_placing,
    is_uniform,
    number_of_coordinate,
)
from kvtrace.addons.invariance.output_results import Cause, Reason, RowDependence, SourceLine
from kvtrace.addons.invariance.reads import (
    Facts,
    parts_with_facts,
    quotient_bounds,
    selected_addresses,
    unit_of_begin,
    without_contents,
    without_multiples,
)
from kvtrace.addons.invariance.wording import formula_text
from kvtrace.ir import Op
from kvtrace.symbolic.conditions import TRUE, Condition, at_least, conjunction, in_order, less
from kvtrace.symbolic.functions import Quotient, Remainder, divided_by_unit
from kvtrace.symbolic.prover import Given, Ranges, follows
from kvtrace.symbolic.summary import Summary
from kvtrace.symbolic.terms import ZERO, Atom, Monomial, Substitution, Symbol, Term, as_term
from kvtrace.symbolic.trees.tree import Tree
from kvtrace.symbolic.trees.tree import tree as made


class RowDefinition(Struct, frozen=True):
    """The axes that number the rows of an output, and facts of a recorded call.

    Attributes:
        axes: The output's axes that number the rows.
        sizes: Scalars that bound the number of rows.
        batched_arguments: Arguments that have a part for each row.
        fixed_arguments: Arguments of one shape at all recorded sizes of the batch; None: there is
            one size. They are tables, unless the row's number says where in them its own part is.
        repeated_indices: Arguments that hold the same index for several rows, as recorded.
        strides: Strides of each argument, in bytes, the largest first.
        ranges: Ranges of the symbols in the recorded call.
        facts: Conditions that hold where the element is written.
        extents: Bounds of the output's inner axes, by the strides of the recorded call.
        indices: The coordinates of all of the output's axes.
        update_axes: Axes of the grid along which programs update the same elements.
    """

    axes: tuple[Axis, ...]
    sizes: frozenset[Symbol]
    batched_arguments: frozenset[str]
    fixed_arguments: frozenset[str] | None
    repeated_indices: frozenset[str]
    strides: Mapping[str, Sequence[int]]
    ranges: Ranges
    facts: tuple[Condition, ...]
    extents: tuple[Condition, ...]
    indices: frozenset[Symbol]
    update_axes: frozenset[int] = frozenset()

    @property
    def is_listed(self) -> bool:
        """The rows are numbered by entries of a tensor of integers."""
        return any(axis.is_entry for axis in self.axes)

    @property
    def coordinates(self) -> frozenset[Symbol]:
        """The symbols that number the rows."""
        return frozenset(axis.coordinate for axis in self.axes)


class DependenceCollector:
    """Collector of a stored tree's dependences, by one walk over its nodes.

    `scalars` are those in the tree's formulas and guards, `guarding` those that only decide which
    elements are stored, and `floats` the float arguments in the tree.
    """

    def __init__(self, batch: RowDefinition, summary: Summary, store: Op) -> None:
        self._batch = batch
        self._rows = batch.coordinates
        self._summary = summary
        self._ops = {op.index: op for op in summary.module.ops}
        self._store = store
        self.scalars: dict[Symbol, None] = {}
        self.guarding: frozenset[Symbol] = frozenset()
        self.floats: dict[str, None] = {}
        self._reasons: dict[Reason, None] = {}
        self._parted: set[str] = set()
        """Arguments in which the row's number says where a part of them is."""
        self._reads: dict[str, bool] = {}
        """Arguments that are read; true: somewhere, only the row's own part is."""
        self._selecting: dict[str, None] = {}
        self._own_integers: dict[str, None] = {}
        self._shared_integers: dict[str, None] = {}
        self._of_all_rows: list[tuple[str, Reason]] = []
        """Arguments, each with a reason why other rows count, unless it is a table."""
        self._shifts: dict[str, int] = {}
        self._row_distances: dict[str, set[int]] = {}
        """Distances from the row's part at which each tensor of integers is read."""
        self._seen: set[tuple[Tree, Facts]] = set()

    def follow(self, tree: Tree, guards: Sequence[Condition], store: Term) -> RowDependence:
        """Return the dependences of a stored tree, except on scalars.

        Args:
            tree: The tree of the stored element.
            guards: Conditions of the store, except those that only say that the row exists.
            store: The byte offset of the store.

        """
        guard = conjunction(guards)
        self._follow(tree, "data")
        value_scalars = frozenset(self.scalars)
        if guard is not TRUE:
            self._follow(made("condition", (guard,), (), tree.op), "guard")
        nodes = list(tree.walk())
        uses, moving_tensors = moving_uses(nodes, guards, store, self._rows)
        for position in moving_tensors:
            if isinstance(position, int):
                self._own_integers.pop(self._name(position), None)
        for use in uses:
            name = self._tensor(use.content)
            what = f"where its data begin, which other rows decide: {name}"
            self._add_reason("rows", use.through, what, use.node or tree)
        tables = (self._batch.fixed_arguments or frozenset()) - self._parted
        for name, reason in self._of_all_rows:
            if name not in tables:
                self._reasons[reason] = None
        self.guarding = frozenset(self.scalars) - value_scalars
        return RowDependence(
            reasons=tuple(self._reasons),
            own=tuple(sorted(name for name, is_own in self._reads.items() if is_own)),
            shared=tuple(sorted(name for name, is_own in self._reads.items() if not is_own)),
            selecting=tuple(self._selecting),
            assumed=tuple(sorted(self._own_integers)),
            constant=tuple(sorted(self._shared_integers)),
        )

    def _follow(self, tree: Tree, through: Through) -> None:
        pending: list[tuple[Tree, Facts, Through]] = [(tree, (), through)]
        while pending:
            node, facts, role = pending.pop()
            if (node, facts) not in self._seen:
                self._seen.add((node, facts))
                self._note_node(node, facts, role)
                pending += parts_with_facts(node, facts, role)

    # -- one node --------------------------------------------------------------------------------

    def _note_node(self, node: Tree, facts: Facts, through: Through) -> None:
        if node.what == "unknown":
            self._add_reason("unknown", through, node.detail[0], node)
        elif node.what == "element":
            self._note_element(node, facts)
        elif node.what == "argument":
            if not node.detail[1].startswith("!"):
                self.floats[node.detail[0]] = None
        else:
            if node.what == "loop":
                through = "trips"
            elif node.what == "integer" and through == "data":
                through = "integer"
            for formula in node.formulas():
                self._note_symbols(formula, through, node)
                if not self._rows.isdisjoint(without_contents(formula)):
                    self._add_reason("row", through, self._text(formula), node)

    def _add_reason(self, cause: Cause, through: Through, what: str, node: Tree) -> None:
        self._reasons[self._reason(cause, through, what, node)] = None

    def _reason(self, cause: Cause, through: Through, what: str, node: Tree) -> Reason:
        return Reason(cause, through, what, SourceLine.of(self._ops.get(node.op, self._store)))

    def _note_all_rows(self, name: str, through: Through, which: str, node: Tree) -> None:
        """Add a dependence on all rows of an argument, for the case that it is no table."""
        what = f"all rows of {name}{which}"
        if self._batch.fixed_arguments is None:
            what += " (or a table: record the kernel at another size)"
        self._of_all_rows.append((name, self._reason("rows", through, what, node)))

    def _add_read(self, argument: str, *, own: bool) -> None:
        self._reads[argument] = self._reads.get(argument, False) or own

    def _text(self, formula: Term | Condition) -> str:
        return formula_text(formula, self._summary)

    def _note_symbols(
        self, formula: Term | Condition, through: Through, node: Tree, tensor: str | None = None
    ) -> None:
        """Add the dependences on a formula's symbols, except on the row's number.

        `tensor`: the formula is an address in this argument, and its strides are no dependence.
        """
        self._note_other_rows(formula, through, node)
        for atom in self._symbols_outside_strides(formula, tensor):
            if not isinstance(atom, Symbol):
                continue
            if atom.kind == "content":
                self._note_content(atom, through, node)
            elif atom.kind == "scalar" and atom not in self._batch.sizes:
                self.scalars[atom] = None
            else:
                cause = self._cause_of(atom)
                if cause is not None:
                    what = f"{self._text(atom.term)}, in {self._text(formula)}"
                    self._add_reason(cause, through, what, node)

    def _symbols_outside_strides(
        self, formula: Term | Condition, tensor: str | None
    ) -> dict[Atom, None]:
        """Return the atoms of a formula, without strides in the addresses of loaded integers.

        `tensor`: the formula itself is an address in this argument; else None.
        """
        contents = in_order(formula.symbols("content"))
        addresses = [(self._tensor(atom), term) for atom in contents for term in atom.at]
        if tensor is not None and isinstance(formula, Term):
            addresses.append((tensor, formula))
            atoms: dict[Atom, None] = {}
        else:
            atoms = dict.fromkeys(in_order(without_contents(formula)))
        for name, address in addresses:
            for monomial, factor in address.coefficients.items():
                uniform_atoms = tuple(atom for atom in monomial if is_uniform(atom))
                other_atoms = tuple(atom for atom in monomial if not is_uniform(atom))
                if uniform_atoms and self._is_stride(name, uniform_atoms, factor, other_atoms):
                    monomial = other_atoms
                atoms |= dict.fromkeys(in_order(without_contents(Term({monomial: 1}))))
        return atoms

    def _is_stride(
        self, tensor: str, uniform_atoms: Monomial, factor: int, indices: Sequence[Atom]
    ) -> bool:
        """Return whether a factor is a stride of rows, or of the tensor in the recorded call.

        A factor without an index must equal a stride in elements of 1 to 8 bytes, or divide the
        stride of a plane of rows.
        """
        low, high = self._batch.ranges.interval(Term({uniform_atoms: factor}))
        if any(atom in self._rows for atom in indices):
            if all(map(is_number, uniform_atoms)):
                return True
            return low == high and low in self._batch.strides.get(tensor, ())
        strides = self._batch.strides.get(tensor, ())[:-1]
        if low != high or low == 0 or not any(low % stride == 0 for stride in strides):
            return False
        unit, _ = self._batch.ranges.interval(Term({uniform_atoms: 1}))
        if indices or any(unit * size in strides for size in (1, 2, 4, 8)):
            return True
        # The stride of a plane of rows, in a tensor of several planes.
        return len(strides) > 1 and low % strides[0] == 0 and unit > 1 and strides[0] % unit == 0

    def _note_content(self, atom: Symbol, through: Through, node: Tree) -> None:
        """Add the dependence on a loaded integer, such as the length of a sequence."""
        name = self._tensor(atom)
        is_of_row = any(not self._rows.isdisjoint(term.atoms()) for term in atom.at)
        self._parted |= {name} if is_of_row else set()
        self._add_read(name, own=is_of_row)
        (self._own_integers if is_of_row else self._shared_integers)[name] = None
        if not is_of_row and name in self._batch.batched_arguments:
            self._note_all_rows(name, through, "", node)
        elif is_of_row and not self._batch.is_listed:
            for entry in atom.at:
                _, other_summands = self._row_part(self._with_strides(entry))
                if not self._rows.isdisjoint(without_contents(other_summands)):
                    what = f"what {name} holds for several rows, at {self._text(entry)}"
                    self._add_reason("row", through, what, node)

    def _cause_of(self, atom: Symbol) -> Cause | None:
        if atom.kind == "program" and atom.key in self._batch.update_axes:
            return None
        is_inner = number_of_coordinate(atom) is not None and atom not in self._batch.indices
        if is_placing(atom) or is_inner:
            return "position"
        if atom.kind == "programs":
            return "grid"
        return "size" if atom.kind == "scalar" else None

    def _tensor(self, content: Symbol) -> str:
        assert isinstance(content.key, tuple)
        return self._name(content.key[1])

    def _name(self, argument: int) -> str:
        return self._summary.module.main.arguments[argument].name.lstrip("%")

    # -- memory ----------------------------------------------------------------------------------

    def _note_element(self, node: Tree, facts: Facts) -> None:
        name, offset = node.detail[0], node.detail[1]
        if offset is not None:
            self._note_read(name, offset, node, facts)
            return
        addresses = selected_addresses(node)
        if addresses is None:
            self._add_read("an address in memory", own=False)
        for argument, offset_of_argument in addresses or ():
            self._note_read(argument, offset_of_argument, node, facts)

    def _note_read(self, name: str, offset: Term, node: Tree, facts: Facts) -> None:
        offset = self._with_strides(offset)
        self._note_symbols(offset, "address", node, name)
        factors, offset_in_row = self._row_part(offset)
        self._parted |= {name} if not self._rows.isdisjoint(without_contents(offset)) else set()
        is_of_row = bool(factors) or any(
            not self._rows.isdisjoint(content.within()) for content in offset.symbols("content")
        )
        self._add_read(name, own=is_of_row)
        chosen = self._batch.repeated_indices & {*map(self._tensor, offset.symbols("content"))}
        is_own = self._batch.is_listed or self._batch.axes[0].coordinate in factors
        is_chosen = bool(chosen) and not is_own
        if not self._rows.isdisjoint(without_contents(offset_in_row)):
            self._add_reason("row", "address", f"{name} at {self._text(offset)}", node)
        elif (is_chosen or not is_of_row) and name in self._batch.batched_arguments:
            which = f", as {', '.join(sorted(chosen))} repeats some" if is_chosen else ""
            self._note_all_rows(name, "address", which, node)
        elif factors and not self._is_inside(name, offset_in_row, factors, node, facts):
            what = f"{name} beyond the row's own part, at {self._text(offset_in_row)}"
            self._add_reason("rows", "address", what, node)
        elif not factors:
            cause = self._beyond_packed(offset, node, facts)
            if cause is not None:
                what = f"{name} beyond where the row's data begin or end, at {self._text(offset)}"
                self._add_reason(cause, "address", what, node)

    def _beyond_packed(self, offset: Term, node: Tree, facts: Facts) -> Cause | None:
        """Return the cause if an element of packed data may be outside of the row's data.

        "rows": before the row's begin, or no mask compares with an end. "unknown": not proven to be
        before an end. None: inside, or the address has no begin.
        """
        kinds_by_integer = locating_integers(offset, self._rows)
        begins = {content for content, kind in kinds_by_integer.items() if kind == "begin"}
        if not begins:
            return None
        assumptions = self._assumptions(node, facts)
        limits = (content for part in assumptions.exact for content in part.symbols("content"))
        ends = {limit for limit in limits if not self._rows.isdisjoint(limit.within())} - begins
        offset_from_begin = Substitution(dict.fromkeys(begins, ZERO))(offset)
        first = offset_from_begin.coefficients.get((), 0)
        if not ends or (first < 0 and follows(at_least(offset_from_begin), assumptions) is None):
            return "rows"
        for begin in begins:
            unit = unit_of_begin(begin, offset)
            if unit is None:
                return None
            low, high = self._batch.ranges.interval(unit)
            index, offset_in_item = divided_by_unit(offset_from_begin, unit)
            is_inside = low == high and follows(
                conjunction((at_least(offset_in_item), less(offset_in_item, low))), assumptions
            )
            is_before = any(
                follows(less(position, end.term), assumptions) is not None
                for end in ends
                for position in (index, begin.term + index)
            )
            if is_before and is_inside:
                return None
        return "unknown"

    def _note_other_rows(self, formula: Term | Condition, through: Through, node: Tree) -> None:
        """Add the dependence on loaded integers that belong to another row."""
        contents = in_order(formula.symbols("content"))
        entries = {(self._tensor(content), entry) for content in contents for entry in content.at}
        for content in contents:
            name = self._tensor(content)
            for entry in content.at:
                row_distance, row_step = self._distance_from_row(entry)
                distances = self._row_distances.setdefault(name, {0})
                distances.add(row_distance)
                is_unpaired = row_distance and (name, entry - row_distance) not in entries
                if is_unpaired or (row_step and max(distances) - min(distances) > row_step):
                    self._add_reason("rows", through, f"what {name} holds for another row", node)

    def _distance_from_row(self, entry: Term) -> tuple[int, int]:
        """Return (distance of an index from the row's own entries, stride of rows), or (0, 0).

        In `cu_seqlens`, a row's end is the next row's begin, and their difference a length. So an
        integer at a distance of one row may be the row's own; at a larger distance it is not.
        """
        constant = entry.coefficients.get((), 0)
        row_strides = [
            abs(number)
            for monomial, number in entry.coefficients.items()
            if len(monomial) == 1 and not self._rows.isdisjoint(monomial[0].within())
        ]
        if len(row_strides) != 1:
            return 0, 0
        return constant // row_strides[0] * row_strides[0], row_strides[0]

    def _with_strides(self, offset: Term) -> Term:
        """Return an offset with recorded strides in place of the scalars in divisions of rows.

        These scalars are added to the value's scalars.
        """
        divisors = {
            inside
            for atom in offset.atoms()
            if isinstance(atom, Quotient | Remainder) and not self._rows.isdisjoint(atom.within())
            for inside in atom.within()
            if isinstance(inside, Symbol) and is_number(inside) and self._is_recorded_stride(inside)
        }
        self.scalars |= dict.fromkeys(in_order(divisors))
        return Substitution(
            {divisor: as_term(self._batch.ranges.of(divisor)[0]) for divisor in divisors}
        )(offset)

    def _is_recorded_stride(self, scalar: Symbol) -> bool:
        """Return whether a scalar is a stride of a tensor in the recorded call."""
        low, high = self._batch.ranges.of(scalar)
        if low != high or low < 2 or scalar in self._batch.sizes:
            return False
        strides = {stride for by_axis in self._batch.strides.values() for stride in by_axis}
        return any(low * size in strides for size in (1, 2, 4, 8))

    def _row_part(self, offset: Term) -> tuple[dict[Symbol, Term], Term]:
        """Return (factors by row coordinate, other summands) of an offset."""
        factors: dict[Symbol, Term] = {}
        other_summands: dict[Monomial, int] = {}
        for monomial, constant in offset.coefficients.items():
            row_atoms = [atom for atom in monomial if atom in self._rows]
            factor_atoms = tuple(atom for atom in monomial if atom not in self._rows)
            if len(row_atoms) == 1 and all(is_uniform(atom) for atom in factor_atoms):
                (row,) = row_atoms
                assert isinstance(row, Symbol)
                factors[row] = factors.get(row, ZERO) + Term({factor_atoms: constant})
            else:
                other_summands[monomial] = constant
        return factors, Term(other_summands)

    def _is_inside(
        self,
        name: str,
        offset_in_row: Term,
        factors: Mapping[Symbol, Term],
        node: Tree,
        facts: Facts,
    ) -> bool:
        """Return whether an offset stays in the row's own part, at the sizes of the recorded call.

        A part is the slice of a tensor at one index of the row axes. It may begin a number of rows
        further on, which is kept in `_shifts` and must be the same for all reads of the tensor.
        """
        node_facts = self._assumptions(node, facts)
        loaded_integers = in_order(offset_in_row.symbols("content"))
        self._selecting |= dict.fromkeys(self._tensor(atom) for atom in loaded_integers)
        offset_in_row = Substitution(dict.fromkeys(loaded_integers, ZERO))(offset_in_row)
        for factor in factors.values():
            low, high = self._batch.ranges.interval(factor)
            if low != high or low <= 0:
                return False
            outer_strides = [stride for stride in self._batch.strides.get(name, ()) if stride > low]
            inner = (
                without_multiples(offset_in_row, outer_strides[-1], self._batch.ranges)
                if outer_strides
                else offset_in_row
            )
            first_byte = inner.coefficients.get((), 0) // low * low
            shifts = (self._shifts[name],) if name in self._shifts else {first_byte: 0, 0: 0}
            bounds_of_quotients = tuple(quotient_bounds(inner, self._batch.extents))
            assumptions = (
                Given((*node_facts.exact, *bounds_of_quotients), node_facts.ranges)
                if bounds_of_quotients
                else node_facts
            )
            for shift in shifts:
                claim = conjunction((at_least(inner, shift), less(inner, shift + low)))
                if claim is TRUE or follows(claim, assumptions) is not None:
                    self._shifts[name] = shift
                    break
            else:
                return False
        return True

    def _assumptions(self, node: Tree, facts: Facts) -> Given:
        """Return the conditions under which an element is read, including its mask."""
        first = 0 if node.detail[1] is not None else 1
        masks = [p.detail[0] for p in node.parts[first : first + 1] if p.what == "condition"]
        return Given((*self._batch.facts, *self._batch.extents, *facts, *masks), self._batch.ranges)
