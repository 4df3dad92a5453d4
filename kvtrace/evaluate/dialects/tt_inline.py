"""`tt`: scalar code applied lane by lane: map_elementwise, and known inline assembly."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import numpy as np

from kvtrace.evaluate.compiler import Compiler, attribute, slots_of
from kvtrace.evaluate.dialects import math
from kvtrace.evaluate.dialects.cf import FunctionBody
from kvtrace.evaluate.dialects.scf import selected
from kvtrace.evaluate.registry import Elementwise, Step, semantics, unsupported
from kvtrace.evaluate.scope import Scope
from kvtrace.evaluate.types import value_type
from kvtrace.evaluate.values import full_array, to_array, unknown_of
from kvtrace.ir import Op

_INSTRUCTIONS: dict[str, Callable[..., Any]] = {
    "tanh.approx.f32": np.tanh,
    "ex2.approx.f32": np.exp2,
    "ex2.approx.ftz.f32": np.exp2,
    "lg2.approx.f32": np.log2,
    "rsqrt.approx.f32": math.rsqrt,
    "rcp.approx.f32": np.reciprocal,
    "rcp.approx.ftz.f32": np.reciprocal,
    "sqrt.approx.f32": np.sqrt,
    "sin.approx.f32": np.sin,
    "cos.approx.f32": np.cos,
    "mov.u32": np.copy,
    "mov.b32": np.copy,
}
"""PTX instructions of the form `name $0, $1…;`, with approximations taken as exact."""


@semantics("tt.elementwise_inline_asm")
def inline_asm(op: Op, compiler: Compiler) -> Step:
    """Run a single known instruction; any other assembly is refused where its data are known."""
    text = str(attribute(op, "asm_string")).strip()
    found = re.fullmatch(r"([\w.]+)\s+\$0((?:\s*,\s*\$\d+)+)\s*;?", text)
    function = _INSTRUCTIONS.get(found.group(1)) if found else None
    if function is not None and len(op.results) == 1:
        return compiler.elementwise(op, Elementwise(function, 1, ()))
    slots, results = slots_of(op.operands), slots_of(op.results)

    def step(values: list[Any], scope: Scope) -> None:
        unknown = unknown_of(values[slot] for slot in slots)
        if unknown is None:
            raise unsupported(op, scope.launch.kernel, f"with assembly {text!r}")
        for slot in results:
            values[slot] = unknown

    return step


@semantics("tt.map_elementwise")
def map_elementwise(op: Op, compiler: Compiler) -> Step:
    """Run scalar code for every lane, each standing for a program of its own."""
    if attribute(op, "pack", 1) != 1:
        raise unsupported(op, compiler.kernel, "with pack other than 1")
    quiet = Compiler(compiler.module, observed=False)
    blocks = {block: quiet.block(block) for block in op.regions[0].blocks}
    body = FunctionBody(blocks, compiler.kernel)
    entry = next(iter(blocks.values()))
    outer = frozenset().union(*(block.outer for block in blocks.values()))
    slots, results = slots_of(op.operands), slots_of(op.results)
    types = [value_type(value.type) for value in op.operands]
    result_types = [value_type(value.type) for value in op.results]
    lanes = types[0].size

    def step(values: list[Any], scope: Scope) -> None:
        unknown = unknown_of(values[slot] for slot in slots)
        if unknown is not None:
            for slot in results:
                values[slot] = unknown
            return
        programs = scope.programs
        index = np.repeat(np.arange(programs), lanes)
        inner = selected(values, outer, index, every=False)
        for parameter, slot, type_ in zip(entry.arguments, slots, types, strict=True):
            array = full_array(values[slot], type_)
            inner[parameter] = np.broadcast_to(array, (programs, *type_.shape)).reshape(-1)
        outcome = body.run(inner, scope.restricted(index))
        for slot, value, type_ in zip(results, outcome, result_types, strict=True):
            scalar = value_type(blocks_end(op, results.index(slot)).type)
            array = np.broadcast_to(to_array(value, scalar), (programs * lanes,))
            values[slot] = array.reshape(programs, *type_.shape)

    return compiler.counted(op, step, lanes, 0)


def blocks_end(op: Op, position: int) -> Any:
    """Give the value that the region returns at a position."""
    for block in op.regions[0].blocks:
        if block.ops[-1].name == "tt.map_elementwise.return":
            return block.ops[-1].operands[position]
    raise AssertionError("the parser admits no region without its terminator")
