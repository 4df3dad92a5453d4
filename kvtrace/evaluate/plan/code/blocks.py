"""Code of a list of instructions, in order; cells are freed after their last use."""

from __future__ import annotations

from collections.abc import Sequence

from kvtrace.evaluate.plan.code.arrays import write_other
from kvtrace.evaluate.plan.code.elementwise import is_fused, write_map, write_stored
from kvtrace.evaluate.plan.code.loops import write_loop
from kvtrace.evaluate.plan.code.memory import write_load
from kvtrace.evaluate.plan.code.products import write_product
from kvtrace.evaluate.plan.code.writer import Writer
from kvtrace.evaluate.plan.instructions import (
    Dot,
    Instruction,
    Load,
    Loop,
    Map,
    Store,
    defined,
    read_by,
)
from kvtrace.evaluate.plan.liveness import is_overwritten, last_reads
from kvtrace.evaluate.plan.optimize import use_counts
from kvtrace.evaluate.plan.values import Register


def write_block(
    writer: Writer,
    instructions: list[Instruction],
    depth: int,
    live_after: frozenset[Register],
    owned: Sequence[Register] = (),
) -> None:
    """Write lines for instructions in order, and free cells after their last use.

    `live_after`: roots that are read after these instructions; `owned`: earlier cells that may be
    reused when they are not needed any more.
    """
    last_read = last_reads(instructions, writer.roots_ahead(instructions))
    reusable = set(owned)
    roots = writer.roots
    uses = use_counts(instructions) if any(type(i) is Store for i in instructions) else {}
    fused_store: Instruction | None = None
    for position, instruction in enumerate(instructions):
        if instruction is fused_store:
            continue
        dying = {
            root
            for source in read_by(instruction)
            for root in roots.get(source, ())
            if root in reusable and last_read.get(root) == position and root not in live_after
        }
        reused: frozenset[Register] = frozenset()
        if isinstance(instruction, Map):
            store = instructions[position + 1] if position + 1 < len(instructions) else None
            if instruction.target not in live_after and is_fused(writer, instruction, store, uses):
                assert isinstance(store, Store)
                write_stored(writer, instruction, store, depth)
                fused_store = store
            else:
                reused = write_map(writer, instruction, depth, dying)
        elif isinstance(instruction, Loop):
            reused = write_loop(writer, instruction, depth, dying, live_after, write_block)
        elif isinstance(instruction, Load):
            write_load(writer, instruction, depth, is_overwritten(instructions, position))
        elif isinstance(instruction, Dot):
            reused = write_product(writer, instruction, depth, dying)
        else:
            write_other(writer, instruction, depth)
        for root in dying - reused:
            writer.release(root)
        for register in defined(instruction):
            own_roots = roots.get(register, ())
            if len(own_roots) == 1 and register in own_roots:
                reusable.add(register)
                if register not in last_read and register not in live_after:
                    writer.release(register)
                    reusable.discard(register)
