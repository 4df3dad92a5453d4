"""Code of loops: what is carried keeps its cells, and names change places between trips."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from kvtrace.evaluate.plan.code.cells import Cell
from kvtrace.evaluate.plan.code.writer import Writer
from kvtrace.evaluate.plan.instructions import Instruction, Loop, defined
from kvtrace.evaluate.plan.optimise import read_by
from kvtrace.evaluate.plan.values import Register

BlockWriter = Callable[
    [Writer, list[Instruction], int, frozenset[Register], Sequence[Register]], None
]
"""Writes a list: (writer, instructions, depth, kept, owned), as blocks.write_block."""


def write_loop(
    writer: Writer,
    loop: Loop,
    depth: int,
    dying: set[Register],
    kept: frozenset[Register],
    block: BlockWriter,
) -> frozenset[Register]:
    """Write a loop, its body by `block`; gives operands whose cells carried registers take over."""
    taken: set[Register] = set()
    for operand, carried in zip(loop.operands, loop.carried, strict=True):
        if isinstance(operand, Register) and operand in dying - taken:
            inside = {r for inner in loop.body for r in read_by(inner)} | set(loop.outcomes)
            if writer.cell_of(operand) == writer.cell_of(carried) and not any(
                operand in writer.roots.get(r, ()) for r in inside
            ):
                taken.add(operand)
                writer.into_cell(carried, writer.names[operand])
                continue
        name = writer.into_cell(carried)
        writer.write(depth, f"copyto({name}, {writer.operand(operand)})")
    writer.write(depth, f"for t{loop.symbol} in range({loop.trips[0]}, {loop.trips[1] + 1}):")
    before = len(writer.lines)
    ahead = writer.roots_ahead(loop.body)
    for carried in loop.carried:
        ahead[carried] = frozenset({carried})
    outcomes = frozenset().union(*(ahead.get(r, frozenset()) for r in loop.outcomes))
    # What the body reads from outside must still be there in the next trip.
    outside = frozenset(
        root for register in read_by(loop) for root in writer.roots.get(register, ())
    ) - set(loop.carried)
    block(writer, loop.body, depth + 1, kept | outcomes | outside, loop.carried)
    _next_trip(writer, loop, depth + 1)
    if len(writer.lines) == before:
        writer.write(depth + 1, "pass")
    for carried, result in zip(loop.carried, loop.results, strict=True):
        writer.into_cell(result, writer.names[carried])
    return frozenset(taken)


def _next_trip(writer: Writer, loop: Loop, depth: int) -> None:
    """Write how outcomes become what the next trip carries: names change places."""
    sources: list[str] = []
    for carried, outcome in zip(loop.carried, loop.outcomes, strict=True):
        own = writer.roots.get(outcome) == frozenset({outcome})
        alone = loop.outcomes.count(outcome) == 1
        local = any(outcome in defined(i) for i in loop.body) or outcome is carried
        if own and alone and local and writer.cell_of(outcome) == writer.cell_of(carried):
            sources.append(writer.names[outcome])
            continue
        name = writer.take(writer.cell_of(carried))
        writer.write(depth, f"copyto({name}, {writer.operand(outcome)})")
        sources.append(name)
        if own and local and outcome not in loop.carried:
            _release_once(writer, outcome)
    targets = [writer.names[carried] for carried in loop.carried]
    left, right = list(targets), list(sources)
    # The other names get what is left, kind by kind, so that no cell is lost.
    spare: dict[Cell, list[str]] = {}
    for carried, target in zip(loop.carried, targets, strict=True):
        if target not in sources:
            spare.setdefault(writer.cell_of(carried), []).append(target)
    for carried, source in zip(loop.carried, sources, strict=True):
        if source not in targets:
            left.append(source)
            right.append(spare[writer.cell_of(carried)].pop())
    for carried, target in zip(loop.carried, targets, strict=True):
        free = writer.free.setdefault(writer.cell_of(carried), [])
        if target in free:
            free.remove(target)
    for carried, source in zip(loop.carried, sources, strict=True):
        if source not in targets:
            free = writer.free.setdefault(writer.cell_of(carried), [])
            if source not in free:
                free.append(source)
    moves = [(a, b) for a, b in zip(left, right, strict=True) if a != b]
    if moves:
        writer.write(depth, f"{', '.join(a for a, _ in moves)} = {', '.join(b for _, b in moves)}")


def _release_once(writer: Writer, register: Register) -> None:
    free = writer.free.setdefault(writer.cell_of(register), [])
    if writer.names[register] not in free:
        free.append(writer.names[register])
