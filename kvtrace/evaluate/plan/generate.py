"""From instructions to the source of one straight-line NumPy function.

Arrays that hold intermediate results are *cells*: made once for a size of chunk, handed in, and
used again as soon as what they held is not needed any more. Everything else is a view.

    def run(buffers, numbers, cells, starts, extents): …

`buffers` are the storages as bytes, `numbers` the float arguments, `starts` and `extents` the
chunk: first value and count along each program axis.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from kvtrace.evaluate.plan import kernels
from kvtrace.evaluate.plan.affine import Affine
from kvtrace.evaluate.plan.instructions import (
    Atomic,
    Call,
    Crop,
    Dot,
    Instruction,
    Load,
    Loop,
    Map,
    Operand,
    Pad,
    Parameter,
    Ramp,
    Reduce,
    Reshape,
    Store,
    View,
    defined,
)
from kvtrace.evaluate.plan.layouts import Layout, Layouts, folding, identity
from kvtrace.evaluate.plan.liveness import is_overwritten, last_reads, shares_memory
from kvtrace.evaluate.plan.optimise import read_by, use_counts
from kvtrace.evaluate.plan.values import Register

Run = Callable[[Sequence[Any], Sequence[Any], Sequence[Any], Sequence[int], Sequence[int]], None]


@dataclass(frozen=True)
class Cell:
    """An array for intermediate results: what it varies over, and how it lies in memory."""

    axes: tuple[bool, ...]
    lanes: tuple[int, ...]
    dtype: np.dtype[Any]
    layout: Layout

    def shape(self, extents: Sequence[int]) -> tuple[int, ...]:
        """Logical shape for a chunk."""
        programs = tuple(n if flag else 1 for n, flag in zip(extents, self.axes, strict=True))
        return programs + self.lanes


@dataclass(frozen=True, eq=False)
class Generated:
    """A function, the cells it needs, arrays that it makes besides, and its source."""

    run: Run
    cells: tuple[Cell, ...]
    made: tuple[Cell, ...]
    source: str
    has_products: bool


def generated(
    instructions: list[Instruction], axes: tuple[int, ...], offsets: dict[int, int]
) -> Generated:
    """Write and compile the code of some instructions.

    `axes` are the symbols of the program axes; `offsets` gives, for each tensor argument, where
    its data pointer lies in its storage.
    """
    writer = _Writer(axes, offsets, Layouts(instructions))
    writer.block(instructions, 1, frozenset())
    return writer.finished()


@dataclass(eq=False)
class _Writer:
    axes: tuple[int, ...]
    offsets: dict[int, int]
    layouts: Layouts
    lines: list[str] = field(default_factory=list)
    cells: list[Cell] = field(default_factory=list)
    free: dict[Cell, list[str]] = field(default_factory=dict)
    names: dict[Register, str] = field(default_factory=dict)
    roots: dict[Register, frozenset[Register]] = field(default_factory=dict)
    globals: dict[str, Any] = field(default_factory=dict)
    buffers: set[int] = field(default_factory=set)
    made: list[Cell] = field(default_factory=list)
    has_products: bool = False

    # -- names -----------------------------------------------------------------------------------

    def finished(self) -> Generated:
        """Compile what was written."""
        head = ["def run(buffers, numbers, cells, starts, extents):"]
        head += [f" b{number} = buffers[{number}]" for number in sorted(self.buffers)]
        head += [f" s{axis} = starts[{axis}]" for axis in range(len(self.axes))]
        head += [f" n{axis} = extents[{axis}]" for axis in range(len(self.axes))]
        if self.cells:
            names = ", ".join(f"v{number}" for number in range(len(self.cells)))
            head.append(f" {names}, = cells")
        source = "\n".join([*head, *self.lines, " return", ""])
        scope: dict[str, Any] = {"nd": np.ndarray, "copyto": np.copyto, **self.globals}
        exec(compile(source, "<plan>", "exec"), scope)  # noqa: S102  our own text, numbers only
        return Generated(
            scope["run"], tuple(self.cells), tuple(self.made), source, self.has_products
        )

    def constant(self, value: Any, prefix: str = "k") -> str:
        """Name an object that the code refers to."""
        for name, known in self.globals.items():
            if known is value:
                return name
        name = f"{prefix}{len(self.globals)}"
        self.globals[name] = value
        return name

    def operand(self, operand: Operand) -> str:
        """Name a register or a constant."""
        if isinstance(operand, Register):
            return self.names[operand]
        return self.constant(operand)

    def cell_of(self, register: Register) -> Cell:
        """Say which kind of cell holds a register."""
        return Cell(register.axes, register.lanes, register.dtype, self.layouts.of(register))

    def take(self, cell: Cell) -> str:
        """Give a free cell of a kind."""
        free = self.free.setdefault(cell, [])
        if free:
            return free.pop()
        self.cells.append(cell)
        return f"v{len(self.cells) - 1}"

    def into_cell(self, register: Register, name: str | None = None) -> str:
        """Put a register into a cell, a free one unless it is named."""
        name = name or self.take(self.cell_of(register))
        self.names[register] = name
        self.roots[register] = frozenset({register})
        return name

    def as_view(self, register: Register, sources: Sequence[Register]) -> str:
        """Name a register that may share the memory of others."""
        name = f"r{register.number}"
        self.names[register] = name
        self.roots[register] = frozenset().union(*(self.roots[source] for source in sources))
        return name

    def as_new(self, register: Register, sources: Sequence[Register]) -> str:
        """Name a register that a function makes, perhaps from the memory of others."""
        self.made.append(self.cell_of(register))
        return self.as_view(register, sources)

    def release(self, register: Register) -> None:
        """Let the cell of a register be used again."""
        self.free.setdefault(self.cell_of(register), []).append(self.names[register])

    # -- blocks ----------------------------------------------------------------------------------

    def block(
        self,
        instructions: list[Instruction],
        depth: int,
        kept: frozenset[Register],
        owned: Sequence[Register] = (),
    ) -> None:
        """Write instructions in order.

        `kept`: roots that are read after them; `owned`: cells from before them that may be used
        again when they are not needed any more.
        """
        last = last_reads(instructions, self._roots_ahead(instructions))
        local = set(owned)
        uses = use_counts(instructions)
        skip: Instruction | None = None
        for position, instruction in enumerate(instructions):
            if instruction is skip:
                continue
            dying = {
                root
                for source in read_by(instruction)
                for root in self.roots.get(source, ())
                if last.get(root) == position and root in local and root not in kept
            }
            if isinstance(instruction, Loop):
                reused = self.loop(instruction, depth, dying, kept)
            elif isinstance(instruction, Map):
                store = instructions[position + 1] if position + 1 < len(instructions) else None
                if self.fused(instruction, store, uses):
                    assert isinstance(store, Store)
                    self.store_result(instruction, store, depth)
                    skip, reused = store, frozenset()
                else:
                    reused = self.map(instruction, depth, dying)
            elif isinstance(instruction, Load):
                self.load(instruction, depth, is_overwritten(instructions, position))
                reused = frozenset()
            elif isinstance(instruction, Dot):
                reused = self.dot(instruction, depth, dying)
            else:
                self.other(instruction, depth)
                reused = frozenset()
            for root in dying - reused:
                self.release(root)
            for register in defined(instruction):
                if self.roots.get(register) == frozenset({register}):
                    local.add(register)
                    if register not in last and register not in kept:
                        self.release(register)
                        local.discard(register)

    def _roots_ahead(self, instructions: list[Instruction]) -> dict[Register, frozenset[Register]]:
        """Work out, before writing, whose memory each register will share."""
        roots = dict(self.roots)
        for instruction in instructions:
            for register in defined(instruction):
                # What is written to later is copied when read, so it may be a cell.
                copied = isinstance(instruction, Load) and instruction.written
                shared = shares_memory(instruction) and not copied
                roots[register] = (
                    frozenset().union(*(roots.get(s, frozenset()) for s in instruction.sources()))
                    if shared
                    else frozenset({register})
                )
        return roots

    def write(self, depth: int, text: str) -> None:
        """Add a line."""
        self.lines.append(" " * depth + text)

    # -- memory ----------------------------------------------------------------------------------

    def memory(
        self,
        argument: int,
        form: Affine,
        dtype: np.dtype[Any],
        axes: Sequence[bool],
        lanes: Sequence[int],
    ) -> str:
        """Write a view of memory."""
        self.buffers.add(argument)
        numbers = dict(form.outer)
        steps = [numbers.pop(symbol, 0) for symbol in self.axes]
        offset = [str(form.constant + self.offsets[argument])]
        offset += [f"s{axis}*{step}" for axis, step in enumerate(steps) if step]
        offset += [f"t{symbol}*{number}" for symbol, number in numbers.items()]
        shape = [f"n{axis}" if flag else "1" for axis, flag in enumerate(axes)]
        shape += [str(extent) for extent in lanes]
        strides = [*steps, *(form.lanes or (0,) * len(lanes))]
        return (
            f"nd(({_list(shape)}), {self.constant(dtype, 'd')}, b{argument}, "
            f"{'+'.join(offset)}, ({_list(strides)}))"
        )

    def load(self, load: Load, depth: int, copied: bool) -> None:
        """Write a read: a view, or a copy of it."""
        register = load.target
        assert register is not None
        view = self.memory(load.argument, load.form, load.dtype, register.axes, register.lanes)
        if copied:
            self.write(depth, f"copyto({self.into_cell(register)}, {view})")
            return
        self.names[register] = f"r{register.number}"
        self.roots[register] = frozenset()
        self.write(depth, f"r{register.number} = {view}")

    def _target(self, store: Store) -> tuple[str, tuple[bool, ...], tuple[int, ...]]:
        """Give the view that a store writes to, and what it varies over."""
        named = {symbol for symbol, _ in store.form.outer}
        axes = tuple(symbol in named for symbol in self.axes)
        steps = store.form.lanes or (0,) * len(store.lanes)
        lanes = tuple(n if step else 1 for n, step in zip(store.lanes, steps, strict=True))
        return self.memory(store.argument, store.form, store.dtype, axes, lanes), axes, lanes

    def store(self, store: Store, depth: int) -> None:
        """Write a store. Where programs or lanes share an address, the last one's value stays."""
        view, axes, lanes = self._target(store)
        source = store.operands[0]
        value = self.operand(source)
        if isinstance(source, Register):
            index = [
                "-1:" if varies and not there else ":"
                for varies, there in zip(
                    (*source.axes, *(n > 1 for n in source.lanes)),
                    (*axes, *(n > 1 for n in lanes)),
                    strict=True,
                )
            ]
            if "-1:" in index:
                value += f"[{', '.join(index)}]"
        mask = f", where={self.operand(store.operands[1])}" if len(store.operands) > 1 else ""
        casting = "" if isinstance(source, Register) else ", casting='unsafe'"
        self.write(depth, f"copyto({view}, {value}{casting}{mask})")

    def atomic(self, atomic: Atomic, depth: int) -> None:
        """Write an atomic update."""
        self.buffers.add(atomic.argument)
        value, index, *mask = (self.operand(operand) for operand in atomic.operands)
        shape = [f"n{axis}" for axis in range(len(self.axes))]
        shape += [str(extent) for extent in atomic.lanes]
        function = self.constant(kernels.update_memory, "f")
        update, dtype = self.constant(atomic.update, "f"), self.constant(atomic.dtype, "d")
        arguments = (
            f"b{atomic.argument}", dtype, index, value, mask[0] if mask else None,
            f"({_list(shape)})", update,
        )  # fmt: skip
        self.write(depth, f"{function}({_list(arguments)})")

    # -- elementwise -----------------------------------------------------------------------------

    def fused(self, instruction: Map, store: Instruction | None, uses: dict[Register, int]) -> bool:
        """Tell whether a result can be written straight to where it is stored next."""
        register = instruction.target
        assert register is not None
        if type(store) is not Store or store.operands[0] is not register:
            return False
        operation = instruction.operation
        if uses[register] != 1 or len(store.operands) > 1 or register.dtype != store.dtype:
            return False
        if not isinstance(operation.into, np.ufunc):
            return False
        _, axes, lanes = self._target(store)
        return axes == register.axes and lanes == register.lanes

    def store_result(self, instruction: Map, store: Store, depth: int) -> None:
        """Write an operation whose result is stored where it arises."""
        function = self.constant(instruction.operation.into, "f")
        operands = [self.operand(operand) for operand in instruction.operands]
        self.write(depth, f"{function}({_list([*operands, self._target(store)[0]])})")

    def map(self, instruction: Map, depth: int, dying: set[Register]) -> frozenset[Register]:
        """Write an elementwise operation; gives operands whose cell the result takes over."""
        register, operation = instruction.target, instruction.operation
        assert register is not None
        if operation.into is None:
            arrays = [
                operand
                if isinstance(operand, Register)
                else np.full((1,) * (len(self.axes) + len(register.lanes)), operand)
                for operand in instruction.operands
            ]
            names = [
                self.names[array] if isinstance(array, Register) else self.constant(array)
                for array in arrays
            ]
            function = self.constant(operation.function, "f")
            name = self.as_new(register, instruction.sources())
            self.write(depth, f"{name} = {function}({_list(names)})")
            return frozenset()
        operands = [self.operand(operand) for operand in instruction.operands]
        over = self._taken_over(instruction, dying)
        name = self.into_cell(register, None if over is None else self.names[over])
        function = self.constant(operation.into, "f")
        self.write(depth, f"{function}({_list([*operands, name])})")
        return frozenset() if over is None else frozenset({over})

    def _taken_over(self, instruction: Map, dying: set[Register]) -> Register | None:
        register = instruction.target
        assert register is not None
        cell = self.cell_of(register)
        for position, operand in enumerate(instruction.operands):
            if not isinstance(operand, Register) or operand not in dying:
                continue
            if position not in instruction.operation.in_place or self.cell_of(operand) != cell:
                continue
            others = [source for source in instruction.sources() if source is not operand]
            if any(operand in self.roots[source] for source in others):
                continue
            return operand
        return None

    # -- products --------------------------------------------------------------------------------

    def dot(self, dot: Dot, depth: int, dying: set[Register]) -> frozenset[Register]:
        """Write a matrix product over all programs of the chunk."""
        self.has_products = True
        register = dot.target
        assert register is not None
        left, right = dot.sources()[:2]
        layout = self.layouts.of_product(dot)
        addend = dot.sources()[2] if len(dot.operands) > 2 else None
        matmul = self.constant(np.matmul, "f")
        add = self.constant(np.add, "f")
        product = Cell(
            tuple(a or b for a, b in zip(left.axes, right.axes, strict=True)),
            register.lanes, register.dtype, layout,
        )  # fmt: skip
        first, second, rows, columns = self._matrices(left, right)
        if (
            addend is not None
            and addend in dying
            and self.cell_of(addend) == self.cell_of(register)
        ):
            name = self.into_cell(register, self.names[addend])
            scratch = self.take(product)
            self.write(depth, self._product(matmul, first, second, scratch, layout, rows, columns))
            self.write(depth, f"{add}({name}, {scratch}, {name})")
            self.free[product].append(scratch)
            return frozenset({addend})
        name = self.into_cell(register)
        if addend is None or product == self.cell_of(register):
            self.write(depth, self._product(matmul, first, second, name, layout, rows, columns))
            if addend is not None:
                self.write(depth, f"{add}({name}, {self.names[addend]}, {name})")
            return frozenset()
        scratch = self.take(product)
        self.write(depth, self._product(matmul, first, second, scratch, layout, rows, columns))
        self.write(depth, f"{add}({scratch}, {self.names[addend]}, {name})")
        self.free[product].append(scratch)
        return frozenset()

    def _matrices(self, left: Register, right: Register) -> tuple[str, str, str, str]:
        """Write both operands as tall matrices (a batch of them over shared axes)."""
        fold, count = folding(left, right), len(self.axes)
        rank = len(left.lanes)
        batch = tuple(range(count, count + rank - 2))
        row, column = count + rank - 2, count + rank - 1
        shared = (*fold.shared, *fold.neither, *batch)
        stack = [f"n{axis}" for axis in fold.shared] + [str(n) for n in left.lanes[:-2]]
        sizes = ["*".join(stack)] if stack else []
        rows = "*".join([*(f"n{axis}" for axis in fold.left), str(left.lanes[-2])])
        columns = "*".join([*(f"n{axis}" for axis in fold.right), str(right.lanes[-1])])
        depth = str(left.lanes[-1])
        if self.layouts.transposed:
            left_order = (*shared, *fold.right, column, *fold.left, row)
            right_order = (*shared, *fold.left, *fold.right, column, row)
            first = self._folded(right, right_order, [*sizes, columns, depth])
            second = self._folded(left, left_order, [*sizes, depth, rows])
            return first, second, _list([*sizes, columns, rows]), ""
        left_order = (*shared, *fold.right, *fold.left, row, column)
        right_order = (*shared, *fold.left, row, *fold.right, column)
        first = self._folded(left, left_order, [*sizes, rows, depth])
        second = self._folded(right, right_order, [*sizes, depth, columns])
        return first, second, _list([*sizes, rows, columns]), ""

    def _folded(self, register: Register, order: Layout, shape: list[str]) -> str:
        name = self.names[register]
        if order != identity(register):
            name = f"{name}.transpose({_list(order)})"
        return f"{name}.reshape({_list(shape)})"

    def _product(
        self, matmul: str, first: str, second: str, name: str, layout: Layout, shape: str, _: str
    ) -> str:
        target = name
        if layout != tuple(range(len(layout))):
            target = f"{name}.transpose({_list(layout)})"
        return f"{matmul}({first}, {second}, {target}.reshape({shape}))"

    # -- the rest --------------------------------------------------------------------------------

    def other(self, instruction: Instruction, depth: int) -> None:
        """Write an instruction that takes over no cell."""
        if isinstance(instruction, Atomic):
            self.atomic(instruction, depth)
        elif isinstance(instruction, Store):
            self.store(instruction, depth)
        elif isinstance(instruction, View):
            self.view(instruction, depth)
        elif isinstance(instruction, Reduce):
            self.reduce(instruction, depth)
        elif isinstance(instruction, Pad):
            self.pad(instruction, depth)
        elif isinstance(instruction, Crop):
            source = instruction.sources()[0]
            name = self.as_view(_target_of(instruction), [source])
            self.write(depth, f"{name} = {self.names[source]}[{self._box(instruction.box)}]")
        elif isinstance(instruction, Ramp):
            self.ramp(instruction, depth)
        elif isinstance(instruction, Parameter):
            name = self.as_view(_target_of(instruction), [])
            ones = _list((1,) * len(self.axes))
            self.write(depth, f"{name} = numbers[{instruction.argument}].reshape({ones})")
        elif isinstance(instruction, Reshape):
            self.reshape(instruction, depth)
        else:
            assert isinstance(instruction, Call)
            sources = instruction.sources()
            names = [self.as_new(target, sources) for target in instruction.targets]
            function = self.constant(instruction.function, "f")
            arguments = _list([self.names[source] for source in sources])
            self.write(depth, f"{_list(names)} = {function}({arguments})")

    def view(self, view: View, depth: int) -> None:
        """Write a rearrangement of axes."""
        source = view.sources()[0]
        name = self.as_view(_target_of(view), [source])
        rank = len(self.axes) + len(source.lanes)
        kept = [axis for axis in view.axes if axis is not None]
        text = self.names[source]
        dropped = [axis for axis in range(rank) if axis not in kept]
        if dropped:
            index = ["0" if axis in dropped else ":" for axis in range(rank)]
            text += f"[{', '.join(index)}]"
        order = [sorted(kept).index(axis) for axis in kept]
        if order != sorted(order):
            text += f".transpose({_list(order)})"
        if None in view.axes:
            text += f"[{', '.join('None' if axis is None else ':' for axis in view.axes)}]"
        self.write(depth, f"{name} = {text}")

    def reduce(self, reduce: Reduce, depth: int) -> None:
        """Write a reduction along a lane axis."""
        source = reduce.sources()[0]
        function = self.constant(kernels.reduction(reduce.function, reduce.working), "f")
        dtype = self.constant(reduce.working, "d")
        name = self.into_cell(_target_of(reduce))
        axis = len(self.axes) + reduce.axis
        self.write(depth, f"{function}({self.names[source]}, {axis}, {dtype}, {name})")

    def pad(self, pad: Pad, depth: int) -> None:
        """Write lanes around a box; without one, repeat along axes."""
        inside, outside = pad.operands
        name = self.into_cell(_target_of(pad))
        if any(cut is not None for cut in pad.box):
            self.write(depth, f"copyto({name}, {self.operand(outside)})")
            name = f"{name}[{self._box(pad.box)}]"
        self.write(depth, f"copyto({name}, {self.operand(inside)})")

    def _box(self, box: Sequence[tuple[int, int] | None]) -> str:
        cuts = [":"] * len(self.axes)
        cuts += [":" if cut is None else f"{cut[0]}:{cut[1]}" for cut in box]
        return ", ".join(cuts)

    def ramp(self, ramp: Ramp, depth: int) -> None:
        """Write the values of an affine form."""
        name = self.as_new(_target_of(ramp), [])
        register = _target_of(ramp)
        numbers = dict(ramp.form.outer)
        terms = []
        for axis, symbol in enumerate(self.axes):
            number = numbers.pop(symbol, 0)
            if number:
                terms.append(f"({axis}, s{axis}, n{axis}, {number})")
        start = ramp.form.constant
        for axis, number in enumerate(ramp.form.lanes):
            extent = register.lanes[axis]
            if extent > 1:
                terms.append(f"({len(self.axes) + axis}, {ramp.starts[axis]}, {extent}, {number})")
            else:
                start += number * ramp.starts[axis]
        base = "+".join([str(start), *(f"t{s}*{number}" for s, number in numbers.items())])
        rank = len(self.axes) + len(register.lanes)
        if ramp.condition:
            function = self.constant(kernels.ramp_condition, "f")
            self.write(depth, f"{name} = {function}({base}, ({_list(terms)}), {rank})")
            return
        function, dtype = self.constant(kernels.ramp, "f"), self.constant(register.dtype, "d")
        self.write(depth, f"{name} = {function}({base}, ({_list(terms)}), {rank}, {dtype})")

    def reshape(self, reshape: Reshape, depth: int) -> None:
        """Write another shape for the lanes."""
        source, target = reshape.sources()[0], _target_of(reshape)
        name = self.as_view(target, [source])
        shape = [f"n{axis}" if flag else "1" for axis, flag in enumerate(target.axes)]
        shape += [str(extent) for extent in target.lanes]
        self.write(depth, f"{name} = {self.names[source]}.reshape({_list(shape)})")

    # -- loops -----------------------------------------------------------------------------------

    def loop(
        self, loop: Loop, depth: int, dying: set[Register], kept: frozenset[Register]
    ) -> frozenset[Register]:
        """Write a loop; gives operands whose cells the carried registers take over."""
        taken: set[Register] = set()
        for operand, carried in zip(loop.operands, loop.carried, strict=True):
            if isinstance(operand, Register) and operand in dying - taken:
                inside = {r for inner in loop.body for r in read_by(inner)} | set(loop.outcomes)
                if self.cell_of(operand) == self.cell_of(carried) and not any(
                    operand in self.roots.get(r, ()) for r in inside
                ):
                    taken.add(operand)
                    self.into_cell(carried, self.names[operand])
                    continue
            name = self.into_cell(carried)
            self.write(depth, f"copyto({name}, {self.operand(operand)})")
        self.write(depth, f"for t{loop.symbol} in range({loop.trips[0]}, {loop.trips[1] + 1}):")
        before = len(self.lines)
        ahead = self._roots_ahead(loop.body)
        for carried in loop.carried:
            ahead[carried] = frozenset({carried})
        outcomes = frozenset().union(*(ahead.get(r, frozenset()) for r in loop.outcomes))
        # What the body reads from outside must still be there in the next trip.
        outside = frozenset(
            root for register in read_by(loop) for root in self.roots.get(register, ())
        ) - set(loop.carried)
        self.block(loop.body, depth + 1, kept | outcomes | outside, loop.carried)
        self._next_trip(loop, depth + 1)
        if len(self.lines) == before:
            self.write(depth + 1, "pass")
        for carried, result in zip(loop.carried, loop.results, strict=True):
            self.into_cell(result, self.names[carried])
        return frozenset(taken)

    def _next_trip(self, loop: Loop, depth: int) -> None:
        """Write how outcomes become what the next trip carries: names change places."""
        sources: list[str] = []
        for carried, outcome in zip(loop.carried, loop.outcomes, strict=True):
            own = self.roots.get(outcome) == frozenset({outcome})
            alone = loop.outcomes.count(outcome) == 1
            local = any(outcome in defined(i) for i in loop.body) or outcome is carried
            if own and alone and local and self.cell_of(outcome) == self.cell_of(carried):
                sources.append(self.names[outcome])
                continue
            name = self.take(self.cell_of(carried))
            self.write(depth, f"copyto({name}, {self.operand(outcome)})")
            sources.append(name)
            if own and local and outcome not in loop.carried:
                self._release_once(outcome)
        targets = [self.names[carried] for carried in loop.carried]
        left, right = list(targets), list(sources)
        # The other names get what is left, kind by kind, so that no cell is lost.
        spare: dict[Cell, list[str]] = {}
        for carried, target in zip(loop.carried, targets, strict=True):
            if target not in sources:
                spare.setdefault(self.cell_of(carried), []).append(target)
        for carried, source in zip(loop.carried, sources, strict=True):
            if source not in targets:
                left.append(source)
                right.append(spare[self.cell_of(carried)].pop())
        for carried, target in zip(loop.carried, targets, strict=True):
            free = self.free.setdefault(self.cell_of(carried), [])
            if target in free:
                free.remove(target)
        for carried, source in zip(loop.carried, sources, strict=True):
            if source not in targets:
                free = self.free.setdefault(self.cell_of(carried), [])
                if source not in free:
                    free.append(source)
        moves = [(a, b) for a, b in zip(left, right, strict=True) if a != b]
        if moves:
            self.write(
                depth, f"{', '.join(a for a, _ in moves)} = {', '.join(b for _, b in moves)}"
            )

    def _release_once(self, register: Register) -> None:
        free = self.free.setdefault(self.cell_of(register), [])
        if self.names[register] not in free:
            free.append(self.names[register])


def _target_of(instruction: Instruction) -> Register:
    assert instruction.target is not None
    return instruction.target


def _list(items: Sequence[Any]) -> str:
    """Write a comma-separated list that also makes a tuple of one."""
    text = ", ".join(map(str, items))
    return text + "," if len(items) == 1 else text
