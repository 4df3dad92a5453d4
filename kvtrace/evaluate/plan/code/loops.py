"""Code of loops: carried registers get the outcomes by swapped names, or by copies."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence

from kvtrace.evaluate.plan.code.cells import Cell
from kvtrace.evaluate.plan.code.writer import Writer
from kvtrace.evaluate.plan.instructions import Instruction, Loop, defined, read_by
from kvtrace.evaluate.plan.staircase import Staircase
from kvtrace.evaluate.plan.values import Register

BlockWriter = Callable[
    [Writer, list[Instruction], int, frozenset[Register], Sequence[Register]], None
]
"""Writes a list: (writer, instructions, depth, live_after, owned), as blocks.write_block."""


def write_loop(
    writer: Writer,
    loop: Loop,
    depth: int,
    dying: set[Register],
    live_after: frozenset[Register],
    block: BlockWriter,
) -> frozenset[Register]:
    """Write a loop; return the dying operands whose cells the carried registers reuse."""
    reused: set[Register] = set()
    read_in_body = {register for inner in loop.body for register in read_by(inner)} | set(
        loop.outcomes
    )
    for operand, carried in zip(loop.operands, loop.carried, strict=True):
        if (
            isinstance(operand, Register)
            and operand in dying - reused
            and writer.cell_of(operand) == writer.cell_of(carried)
            and not any(operand in writer.roots.get(register, ()) for register in read_in_body)
        ):
            reused.add(operand)
            writer.into_cell(carried, writer.names[operand])
            continue
        name = writer.into_cell(carried)
        writer.write(depth, f"copyto({name}, {writer.operand(operand)})")
    head = len(writer.lines)
    first, last = loop.trips
    writer.write(
        depth, f"for t{loop.symbol} in range({', '.join(writer.numbers((first, last + 1)))}):"
    )
    body_start = len(writer.lines)
    later_roots = writer.roots_ahead(loop.body)
    for carried in loop.carried:
        later_roots[carried] = frozenset({carried})
    outcomes = frozenset().union(*(later_roots.get(r, frozenset()) for r in loop.outcomes))
    # Registers that the body reads from outside must still exist in the next trip.
    read_from_outside = frozenset(
        root for register in read_by(loop) for root in writer.roots.get(register, ())
    ) - set(loop.carried)
    block(writer, loop.body, depth + 1, live_after | outcomes | read_from_outside, loop.carried)
    if loop.stairs is None:
        _swap_for_next_trip(writer, loop, depth + 1)
    else:
        _copy_for_next_trip(writer, loop, depth + 1)
    if len(writer.lines) == body_start:
        writer.write(depth + 1, "pass")
    if loop.stairs is not None:
        _restrict_to_active_programs(writer, loop.symbol, loop.stairs, depth, head)
    for carried, result in zip(loop.carried, loop.results, strict=True):
        writer.into_cell(result, writer.names[carried])
    return frozenset(reused)


def _copy_for_next_trip(writer: Writer, loop: Loop, depth: int) -> None:
    """Write copies of outcomes to carried cells, where programs that ended keep their values."""
    targets = {writer.names[carried]: writer.cell_of(carried) for carried in loop.carried}
    for name, cell in targets.items():
        free = writer.free.setdefault(cell, [])
        free[:] = [free_name for free_name in free if free_name != name]
    moves = []
    copies = []
    for carried, outcome in zip(loop.carried, loop.outcomes, strict=True):
        target, source = writer.names[carried], writer.operand(outcome)
        if source == target:
            continue
        source_names = {source, *(writer.names[root] for root in writer.roots.get(outcome, ()))}
        if not source_names.isdisjoint(targets):
            # The source would be overwritten before it is read.
            cell = writer.cell_of(carried)
            name = writer.take(cell)
            writer.write(depth, f"copyto({name}, {source})")
            copies.append((cell, name))
            source = name
        moves.append(f"copyto({target}, {source})")
    for move in moves:
        writer.write(depth, move)
    for cell, name in copies:
        writer.free[cell].append(name)
    defined_in_body = {register for instruction in loop.body for register in defined(instruction)}
    for outcome in defined_in_body.intersection(loop.outcomes):
        if writer.roots[outcome] == {outcome} and writer.names[outcome] not in targets:
            _release_once(writer, outcome)


def _restrict_to_active_programs(
    writer: Writer, symbol: int, stairs: Staircase, depth: int, head: int
) -> None:
    """Insert lines in the loop at line `head` that cut arrays to the programs of each trip."""
    axis = writer.axes.index(stairs.symbol)
    lines = writer.lines[head:]
    assigned = {
        name
        for line in lines
        for name in re.findall(r"\br\d+\b", re.split(r" = |\(", line, maxsplit=1)[0])
    }
    names = set(re.findall(r"\b[vr]\d+\b", "\n".join(lines))) - assigned
    varying = [f"v{number}" for number, cell in enumerate(writer.cells) if cell.axes[axis]]
    varying += [name for register, name in writer.names.items()
                if name.startswith("r") and register.axes[axis]]  # fmt: skip
    cut = sorted(names.intersection(varying))
    first, last = stairs.first_and_last(f"t{symbol}")
    start, count = f"starts[{axis}]", f"extents[{axis}]"
    inner, index = " " * (depth + 1), ":, " * axis
    begin = start if first is None else f"max({start}, {first})"
    end = f"{start}+{count}" if last is None else f"min({start}+{count}, {last}+1)"
    cuts = [
        f"{inner}s{axis} = {begin}",
        f"{inner}n{axis} = {end}-s{axis}",
        f"{inner}if n{axis} < 1: continue",
        f"{inner}o = s{axis}-{start}",
        *(f"{inner}{name} = a{name}[{index}o:o+n{axis}]" for name in cut),
    ]
    writer.lines[head + 1 : head + 1] = cuts
    writer.lines[head:head] = [f"{' ' * depth}a{name} = {name}" for name in cut]
    for name in cut:
        writer.write(depth, f"{name} = a{name}")
    writer.write(depth, f"s{axis}, n{axis} = {start}, {count}")


def _swap_for_next_trip(writer: Writer, loop: Loop, depth: int) -> None:
    """Write the swap of names (or copies) that makes outcomes the next carried registers."""
    sources: list[str] = []
    defined_in_body = {register for instruction in loop.body for register in defined(instruction)}
    for carried, outcome in zip(loop.carried, loop.outcomes, strict=True):
        has_own_cell = writer.roots.get(outcome) == frozenset({outcome})
        is_single = loop.outcomes.count(outcome) == 1
        is_local = outcome in defined_in_body or outcome is carried
        if (
            has_own_cell
            and is_single
            and is_local
            and writer.cell_of(outcome) == writer.cell_of(carried)
        ):
            sources.append(writer.names[outcome])
            continue
        name = writer.take(writer.cell_of(carried))
        writer.write(depth, f"copyto({name}, {writer.operand(outcome)})")
        sources.append(name)
        if has_own_cell and is_local and outcome not in loop.carried:
            _release_once(writer, outcome)
    targets = [writer.names[carried] for carried in loop.carried]
    targets_in_order, sources_in_order = list(targets), list(sources)
    # Other names get the remaining cells, kind by kind, so that no cell is lost.
    freed_names: dict[Cell, list[str]] = {}
    for carried, target in zip(loop.carried, targets, strict=True):
        if target not in sources:
            freed_names.setdefault(writer.cell_of(carried), []).append(target)
    for carried, source in zip(loop.carried, sources, strict=True):
        if source not in targets:
            targets_in_order.append(source)
            sources_in_order.append(freed_names[writer.cell_of(carried)].pop())
    for carried, target in zip(loop.carried, targets, strict=True):
        free = writer.free.setdefault(writer.cell_of(carried), [])
        if target in free:
            free.remove(target)
    for carried, source in zip(loop.carried, sources, strict=True):
        if source not in targets:
            free = writer.free.setdefault(writer.cell_of(carried), [])
            if source not in free:
                free.append(source)
    moves = [(a, b) for a, b in zip(targets_in_order, sources_in_order, strict=True) if a != b]
    if moves:
        writer.write(depth, f"{', '.join(a for a, _ in moves)} = {', '.join(b for _, b in moves)}")


def _release_once(writer: Writer, register: Register) -> None:
    free = writer.free.setdefault(writer.cell_of(register), [])
    if writer.names[register] not in free:
        free.append(writer.names[register])
