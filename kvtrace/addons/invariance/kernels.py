"""Kernels bound to the scalars and strides of a recorded call."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from itertools import chain
from math import inf, prod

import numpy as np
from msgspec.structs import replace

from kvtrace.addons.invariance.coordinates import (
    Axis,
    Output,
    byte_strides,
    coordinate,
    fixed_steps,
    is_number,
    last_axis,
    number_of_coordinate,
)
from kvtrace.addons.invariance.formulas import with_remainders
from kvtrace.addons.invariance.launches import elements_of
from kvtrace.addons.invariance.simplifying import Simplifier
from kvtrace.evaluate.arguments import ScalarArgument, TensorArgument
from kvtrace.ir import Value
from kvtrace.ir.floats import FORMATS, bits_from_float
from kvtrace.ir.flow import flow_of
from kvtrace.ir.ops import KINDS
from kvtrace.recorded_calls.recorded import Call
from kvtrace.schema.cached_property import cached_property
from kvtrace.symbolic.conditions import Condition, at_least, conjunction
from kvtrace.symbolic.meanings.tt_shape import lanes_of
from kvtrace.symbolic.prover import Given, Ranges, follows
from kvtrace.symbolic.summary import Access, BlockPointer
from kvtrace.symbolic.terms import ZERO, Atom, Monomial, Substitution, Symbol, Term, as_term
from kvtrace.symbolic.trees.elements import ElementTrees, TooLarge, TooLate
from kvtrace.symbolic.trees.tree import Tree
from kvtrace.verdicts.binding import BoundCall
from kvtrace.verdicts.replaying import without_contents


class Kernel:
    """A kernel with the scalars and strides of a recorded call, which tell its outputs' axes apart.

    `is_late`: a tree was not finished before the deadline.
    """

    def __init__(
        self,
        call: Call,
        names: Sequence[str] | None = None,
        growing: Mapping[int, Collection[int]] = {},
        recorded: Sequence[Call] = (),
        deadline: float = inf,
        *,
        this_call_only: bool = False,
    ) -> None:
        """Use the scalars and strides of a call.

        Args:
            call: The call.
            names: Names of the arguments, if they differ from those in the source.
            growing: For arguments by position, the axes that are longer in other recorded calls.
            recorded: The recorded calls of the kernel.
            deadline: The `time.thread_time` after which building a tree fails.
            this_call_only: Trees are of this call alone: its scalars may simplify them, but not its
                tensors' contents.

        """
        self.call = call
        self._growing = growing
        self._recorded = recorded
        self._loads: dict[Tree, set[int]] = {}
        self._this_call_only = this_call_only
        self.bound = BoundCall(without_contents(call) if this_call_only else call)
        self.summary = self.bound.summary
        arguments = self.summary.module.main.arguments
        source_names = (value.name.lstrip("%") for value in arguments)
        self.names = tuple(source_names if names is None else names)
        self.is_late = False
        self._deadline = deadline

    @cached_property
    def sizes(self) -> Ranges:
        """The assumed ranges of scalars in any call: at least 1 if the recorded number is."""
        if self._this_call_only:
            return self.bound.ranges
        ranges = {
            ("scalar", symbol.key): (min(low, 1), symbol.high)
            for symbol in self._scalars()
            if (low := self.bound.ranges.of(symbol)[0]) >= 0
        }
        return Ranges(ranges)

    @cached_property
    def _counted(self) -> frozenset[Symbol]:
        """The scalars that count something: those above 1 in the call; a 1 may be a switch."""
        return frozenset(value for value in self._scalars() if self.bound.ranges.of(value)[0] > 1)

    def _scalars(self) -> Iterator[Symbol]:
        for value in self.summary.values.values():
            if isinstance(value, Term | Condition):
                yield from (
                    a for a in value.atoms() if isinstance(a, Symbol) and a.kind == "scalar"
                )
            elif isinstance(value, BlockPointer):
                for term in (*value.extents, *value.strides):
                    yield from term.symbols("scalar")

    def has_one_store(self, position: int | None) -> bool:
        """Return whether one op alone writes to an argument."""
        writes = (access for access in self.summary.accesses if access.kind != "load")
        return sum(access.argument == position for access in writes) == 1

    def growing_axes(self, position: int) -> frozenset[int]:
        """Return the axes of a tensor that are longer in other recorded calls."""
        return frozenset(self._growing.get(position, ()))

    def growing_steps(self, position: int | None) -> frozenset[int]:
        """Return the byte steps of a tensor's axes that grow with the batch.

        Empty if another axis has the same stride in this call.
        """
        tensor = self.call.tensor_at(position)
        if tensor is None or position is None:
            return frozenset()
        axes = self._growing.get(position, ())
        axis_steps = [stride * tensor.element.bytes for stride in tensor.strides]
        growing_steps = frozenset(step for axis, step in enumerate(axis_steps) if axis in axes)
        other_steps = {
            step
            for axis, step in enumerate(axis_steps)
            if axis not in axes and tensor.shape[axis] > 1
        }
        return frozenset() if growing_steps & other_steps else growing_steps

    def is_merged(self, position: int | None) -> bool:
        """Return whether an axis that grows with the batch has the stride of another axis."""
        grows = position is not None and bool(self._growing.get(position))
        return grows and not self.growing_steps(position)

    def name(self, position: int | None) -> str:
        """Return the name of an argument."""
        return "?" if position is None else self.names[position]

    def scalar(self, symbol: Symbol) -> str:
        """Return the name of a scalar argument."""
        if isinstance(symbol.key, int):
            return self.names[symbol.key]
        position, what, axis = symbol.key[:3]
        return f"{self.names[position]}.{what}[{axis}]"

    @cached_property
    def tensors(self) -> Mapping[str, TensorArgument]:
        """The tensors that are parameters, by name."""
        pairs = zip(self.names, self.call.arguments, strict=False)
        return {name: value for name, value in pairs if isinstance(value, TensorArgument)}

    @cached_property
    def strides(self) -> Mapping[str, Sequence[int]]:
        """The strides of arguments, in bytes, the largest first."""
        return {name: byte_strides(tensor) for name, tensor in self.tensors.items()}

    @cached_property
    def repeated_indices(self) -> frozenset[str]:
        """The vectors of integers that hold an index below their length twice, as recorded."""
        names = set[str]()
        for name, tensor in self.tensors.items():
            is_vector = prod(tensor.shape) == max(tensor.shape, default=1)
            if is_vector and tensor.element.kind != "f" and tensor.storage.data is not None:
                numbers = np.sort(elements_of(tensor).reshape(-1))
                indices = numbers[(numbers >= 0) & (numbers < numbers.size)]
                names |= {name} if (indices[1:] == indices[:-1]).any() else set()
        return frozenset(names)

    @cached_property
    def shapes(self) -> frozenset[int]:
        """The extents of all tensors, those of one element left out."""
        tensors = (tensor for tensor in self.call.arguments if isinstance(tensor, TensorArgument))
        return frozenset(extent for tensor in tensors for extent in tensor.shape if extent > 1)

    def tree(
        self,
        access: Access,
        output: Output,
        *,
        bound: bool = False,
        indexed: bool = False,
        this_call_only: bool = False,
    ) -> Tree:
        """Return the tree of an element that an access writes.

        Args:
            access: A store or atomic update of the kernel.
            output: The coordinates of the written elements.
            bound: The call's scalars replace arguments and grid, so that trees of several variants
                of a kernel can be compared.
            indexed: Bound addresses use strides that are the same at any size of the batch, so
                that elements are compared by their indices.
            this_call_only: The tree is of this call alone, simplified by its scalars.

        Raises:
            TooLarge: the tree has too many nodes or levels, or the deadline has passed.

        """
        if bound:
            elements = self._bound_elements(output, indexed=indexed, this_call_only=this_call_only)
        else:
            simplified = self._simplified(output, this_call_only=this_call_only)
            elements = ElementTrees(self.summary, *simplified, self.name, deadline=self._deadline)
        try:
            result = elements.stored(access, lanes_of(access.shape))
        except RecursionError as error:
            raise TooLarge("its expression is nested too deeply to be followed") from error
        except TooLate:
            self.is_late = True
            raise
        self._loads.setdefault(result, set()).update(elements.loads)
        return result

    def _bound_elements(
        self, output: Output, *, indexed: bool, this_call_only: bool
    ) -> ElementTrees:
        """Return what makes trees with the call's scalars and the coordinates of bound trees."""
        simple_term, simple_condition = self._simplified(output, this_call_only=this_call_only)
        renamed = self._renamed(output)

        def bound_term(term: Term) -> Term:
            return renamed(self._as_bound(simple_term(term), indexed))

        def bound_condition(condition: Condition) -> Condition:
            bound = self._as_bound_condition(simple_condition(condition), indexed)
            return bound.substitute(renamed)

        return ElementTrees(
            self.summary, bound_term, bound_condition, self.name,
            self._with_fixed_strides if indexed else lambda _, offset: offset,
            self._floats() if self._this_call_only else {},
            self._wrapping if self._this_call_only else (),
            self._deadline,
        )  # fmt: skip

    @cached_property
    def _wrapping(self) -> frozenset[int]:
        """The ids of values made of loaded integers whose arithmetic may overflow its width."""
        flow, assumptions = flow_of(self.summary.module), Given((), Ranges({}))
        pending: list[Value] = []
        for arithmetic in self.summary.arithmetic:
            ideal = self._as_bound(arithmetic.result, indexed=False)
            claim = replace(arithmetic, result=ideal).stays_in_width
            if ideal.symbols("content") and follows(claim, assumptions) is None:
                pending += arithmetic.op.results
        wrapping = {value.id for value in pending}
        while pending:
            value = pending.pop()
            results = (op.results for op in flow.uses(value) if not KINDS[op.name].effect)
            for result in (*chain.from_iterable(results), *flow.copies(value)):
                if result.id not in wrapping:
                    wrapping.add(result.id)
                    pending.append(result)
        return frozenset(wrapping)

    def _floats(self) -> dict[int, tuple[str, int]]:
        """Return the floats of the call, by their arguments' positions: their types and bits."""
        floats = {}
        parameters = self.summary.module.main.arguments
        pairs = zip(parameters, self.call.arguments, strict=False)
        for position, (parameter, argument) in enumerate(pairs):
            kind = str(parameter.type)
            value = argument.value if isinstance(argument, ScalarArgument) else None
            if value is not None and kind in FORMATS:
                floats[position] = (kind, bits_from_float(float(value), kind))
        return floats

    def loads_of(self, tree: Tree) -> frozenset[int]:
        """Return the indices of the loads that a tree of this kernel was made from."""
        return frozenset(self._loads.get(tree, ()))

    def _simplified(
        self, output: Output, *, this_call_only: bool
    ) -> tuple[Callable[[Term], Term], Callable[[Condition], Condition]]:
        """Return functions that simplify terms and conditions for any call, or this call alone."""
        for_any_call = Simplifier(output, self.sizes, self._counted)
        if not this_call_only:
            return for_any_call.term, for_any_call.condition
        for_this_call = Simplifier(output, self.bound.ranges)
        return (
            lambda term: for_this_call.term(for_any_call.term(term)),
            lambda condition: for_this_call.condition(for_any_call.condition(condition)),
        )

    def active(self, output: Output) -> Condition:
        """Return the condition of a store over the coordinates of bound trees."""
        renamed = self._renamed(output)
        conditions = [Simplifier(output, self.sizes).active, *_facts_of_coordinates(output)]
        conditions = [condition.substitute(renamed) for condition in conditions]
        for symbol in (axis.coordinate for axis in output.axes):
            index = renamed(symbol.term)
            conditions += at_least(index, symbol.low), at_least(as_term(symbol.high), index)
        return self._as_bound_condition(conjunction(conditions), indexed=False)

    def _renamed(self, output: Output) -> Substitution:
        """Return the substitution of an output's coordinates by those of bound trees."""
        argument = output.access.argument
        return Substitution(
            {axis.coordinate: self._coordinate_by_step(argument, axis).term for axis in output.axes}
        )

    def _coordinate_by_step(self, argument: int | None, axis: Axis) -> Symbol:
        """Return the coordinate of an axis, numbered by its byte step in all variants."""
        step = as_term(axis.step)
        fixed_step = step if argument is None else self._with_fixed_strides(argument, step)
        return coordinate(axis.step if fixed_step.constant is None else fixed_step.constant)

    def _with_fixed_strides(self, argument: int, offset: Term) -> Term:
        """Return an offset with strides that do not depend on the batch size.

        With the byte strides 24 and 8 the offset 40 is at the indices (1, 2). An offset that is not
        a sum of the tensor's strides is returned unchanged. The stride of an axis with one element
        counts only if the axis grows with the batch.
        """
        tensor = self.call.tensor_at(argument)
        last = None if tensor is None else last_axis(tensor)
        if tensor is None or last is None:
            return offset
        offset = with_remainders(offset)
        growing = self._growing.get(argument, ())
        axes = [
            (stride * tensor.element.bytes, fixed_stride)
            for axis, (extent, stride, fixed_stride) in enumerate(
                zip(tensor.shape, tensor.strides, fixed_steps(tensor), strict=True)
            )
            if (extent > 1 or (axis in growing and stride >= prod(tensor.shape)))
            and stride > 0
            and axis != last
        ]
        axes.sort(reverse=True)
        summands: dict[Monomial, int] = {}
        for monomial, number in offset.coefficients.items():
            sign, remaining = (1, number) if number > 0 else (-1, -number)
            fixed_offset = 0
            for stride, fixed_stride in axes:
                index, remaining = divmod(remaining, stride)
                fixed_offset += index * fixed_stride
            summands[monomial] = sign * (fixed_offset + remaining)
        return Term(summands)

    def base_offset(self, output: Output) -> int | None:
        """Return the byte offset at which an output's coordinates are 0; None if not constant."""
        renamed = self._renamed(output)
        offset = renamed(
            self._as_bound(Simplifier(output, self.sizes).term(output.access.offset), indexed=False)
        )
        coordinate_offsets = (symbol.term * step for symbol, step in self.steps(output))
        return (offset - sum(coordinate_offsets, ZERO)).constant

    def _as_bound_condition(self, condition: Condition, indexed: bool) -> Condition:
        return condition.substitute(self._replacements(condition.atoms(), indexed))

    def _as_bound(self, term: Term, indexed: bool) -> Term:
        return Substitution(self._replacements(term.atoms(), indexed))(term)

    def _replacements(self, atoms: frozenset[Atom], indexed: bool) -> dict[Atom, Term]:
        """Return replacements for atoms that differ between variants: numbers, tensors' names."""
        replacements: dict[Atom, Term] = {}
        for atom in atoms:
            if not isinstance(atom, Symbol):
                continue
            if atom.kind in ("scalar", "programs"):
                low, high = self.bound.ranges.of(atom)
                if low == high:
                    replacements[atom] = as_term(low)
            elif atom.kind == "content" and isinstance(atom.key, tuple):
                at = tuple(self._as_bound(term, indexed) for term in atom.at)
                if indexed:
                    at = tuple(self._with_fixed_strides(atom.key[1], term) for term in at)
                key = ("content", self.name(atom.key[1]))
                replacements[atom] = Symbol("content", key, atom.low, atom.high, at).term
        return replacements

    def row_count(self, argument: int | None, axes: Sequence[Axis]) -> int | None:
        """Return the number of rows along an output's row axes, or None without a tensor."""
        extents = self._extents_by_axes(argument, axes)
        return None if extents is None else prod(extents[0])

    def inner_extents(self, argument: int | None, axes: Sequence[Axis]) -> Sequence[int]:
        """Return the extents of an output's axes inside of its row axes; () without a tensor."""
        extents = self._extents_by_axes(argument, axes)
        return () if extents is None else extents[1]

    def is_row_count(self, scalar: Symbol, argument: int | None, axes: Sequence[Axis]) -> bool:
        """Return whether a scalar is an output's number of rows in this and each recorded call.

        A call that lacks the scalar, as its value is compiled in, says nothing.
        """
        count = self.row_count(argument, axes)
        if count is None or self.bound.ranges.of(scalar) != (count, count):
            return False
        if not isinstance(scalar.key, int):
            return True
        rows = self._row_axes(argument, axes)
        for call in self._recorded:
            parameters = (value.name.lstrip("%") for value in call.module.main.arguments)
            by_name = dict(zip(parameters, call.arguments, strict=False))
            number, tensor = by_name.get(self.scalar(scalar)), by_name.get(self.name(argument))
            if not isinstance(number, ScalarArgument) or not isinstance(tensor, TensorArgument):
                continue
            if number.value != prod(tensor.shape[axis] for axis in rows):
                return False
        return True

    def _row_axes(self, argument: int | None, axes: Sequence[Axis]) -> list[int]:
        """Return the axes of a tensor that number an output's rows; none without a tensor."""
        tensor = self.call.tensor_at(argument)
        steps = [] if tensor is None else [n * tensor.element.bytes for n in tensor.strides]
        row_steps = {step for step in steps if step >= axes[-1].step}
        if axes[0].step in self.growing_steps(argument):
            row_steps = {axis.step for axis in axes}  # axes outside may number something else
        return [axis for axis, step in enumerate(steps) if step in row_steps]

    def _extents_by_axes(
        self, argument: int | None, axes: Sequence[Axis]
    ) -> tuple[list[int], list[int]] | None:
        """Return the extents of a tensor's row axes, and of the axes inside of them."""
        tensor = self.call.tensor_at(argument)
        if tensor is None:
            return None
        rows = self._row_axes(argument, axes)
        return (
            [tensor.shape[axis] for axis in rows],
            [extent for axis, extent in enumerate(tensor.shape) if axis not in rows],
        )

    def extents(self, output: Output) -> dict[Symbol, int]:
        """Return the recorded extent of each coordinate of bound trees; {} without a tensor."""
        tensor = self.call.tensor_at(output.access.argument)
        if tensor is None:
            return {}
        outer_step = prod(tensor.shape) * tensor.element.bytes
        extents: dict[Symbol, int] = {}
        for symbol, step in self.steps(output):
            extents[symbol] = max(1, outer_step // max(step, 1))
            outer_step = step
        return extents

    def steps(self, output: Output) -> list[tuple[Symbol, int]]:
        """Return the coordinates of bound trees with their steps in bytes, the largest first."""
        return [
            (self._coordinate_by_step(output.access.argument, axis), axis.step)
            for axis in sorted(output.axes, key=lambda each: -each.step)
        ]

    def batched_arguments(self, rows: Sequence[Axis], argument: int) -> frozenset[str]:
        """Return the arguments with an axis as long as an output has rows.

        Row counts that equal another extent of the output are ignored; empty if no row count is
        left.
        """
        output = self.call.tensor_at(argument)
        if output is None:
            return frozenset()
        row_steps = {axis.step for axis in rows}
        row_extents, other_extents = set[int](), {1}
        for extent, stride in zip(output.shape, output.strides, strict=True):
            is_row = stride * output.element.bytes in row_steps
            (row_extents if is_row else other_extents).add(extent)
        row_counts = row_extents - other_extents
        tensors = self.tensors.items()
        return frozenset(name for name, of in tensors if not row_counts.isdisjoint(of.shape))

    def fixed_arguments(self, rows: Sequence[Axis], argument: int) -> frozenset[str] | None:
        """Return the tensors of one shape in all recorded calls that share no memory.

        None: an output has as many rows in all of them.
        """
        if self.growing_axes(argument).isdisjoint(self._row_axes(argument, rows)):
            return None
        storages = [id(tensor.storage) for tensor in self.tensors.values()]
        return frozenset(
            name
            for position, name in enumerate(self.names)
            if name in self.tensors
            and not self.growing_axes(position)
            and storages.count(id(self.tensors[name].storage)) == 1
        )


def _facts_of_coordinates(output: Output) -> Iterator[Condition]:
    """Yield an output's facts that have only coordinates and scalars."""
    for fact in output.facts:
        symbols = [atom for atom in fact.atoms() if isinstance(atom, Symbol)]
        if all(number_of_coordinate(symbol) is not None or is_number(symbol) for symbol in symbols):
            yield fact
