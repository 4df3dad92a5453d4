"""`tt`: scalar code applied lane by lane: map_elementwise, and known inline assembly."""

from __future__ import annotations

import re
import time
from collections.abc import Callable
from typing import Any

import numpy as np

from kvtrace.evaluate.compiler import Compiler, attribute, slots_of
from kvtrace.evaluate.dialects import arith, math
from kvtrace.evaluate.dialects.cf import FunctionBody
from kvtrace.evaluate.dialects.scf import selected
from kvtrace.evaluate.dialects.tt_elementwise import mulhiui
from kvtrace.evaluate.numerics import rounding_to
from kvtrace.evaluate.registry import (
    ASSEMBLY,
    Step,
    assembly,
    normalised,
    semantics,
    unsupported,
)
from kvtrace.evaluate.scope import Scope
from kvtrace.evaluate.types import value_type
from kvtrace.evaluate.values import Array, full_array, to_array, unknown_of
from kvtrace.ir import Op

_F32_INSTRUCTIONS: dict[str, Callable[..., Any]] = {
    "tanh.approx.f32": np.tanh,
    "ex2.approx.f32": np.exp2,
    "ex2.approx.ftz.f32": np.exp2,
    "lg2.approx.f32": np.log2,
    "lg2.approx.ftz.f32": np.log2,
    "rsqrt.approx.f32": math.rsqrt,
    "rsqrt.approx.ftz.f32": math.rsqrt,
    "rcp.approx.f32": np.reciprocal,
    "rcp.approx.ftz.f32": np.reciprocal,
    "sqrt.approx.f32": np.sqrt,
    "sqrt.approx.ftz.f32": np.sqrt,
    "sqrt.rn.f32": np.sqrt,
    "sin.approx.f32": np.sin,
    "cos.approx.f32": np.cos,
    "abs.f32": np.abs,
    "neg.f32": np.negative,
    "add.f32": np.add,
    "add.rn.f32": np.add,
    "sub.f32": np.subtract,
    "sub.rn.f32": np.subtract,
    "mul.f32": np.multiply,
    "mul.rn.f32": np.multiply,
    "div.rn.f32": np.divide,
    "div.full.f32": np.divide,
    "min.f32": np.fmin,
    "max.f32": np.fmax,
    "fma.rn.f32": math.fma,
}
"""PTX instructions on float32, after the PTX ISA's chapter 9.7; approximations taken as exact."""

_WORD_INSTRUCTIONS: dict[str, Callable[..., Any]] = {
    "mov.u32": np.copy,
    "mov.b32": np.copy,
    "add.s32": np.add,
    "add.u32": np.add,
    "sub.s32": np.subtract,
    "sub.u32": np.subtract,
    "mul.lo.s32": np.multiply,
    "mul.lo.u32": np.multiply,
    "mul.hi.u32": mulhiui,
    "and.b32": np.bitwise_and,
    "or.b32": np.bitwise_or,
    "xor.b32": np.bitwise_xor,
    "not.b32": np.bitwise_not,
    "shl.b32": arith.shli,
    "shr.u32": arith.shrui,
    "shr.b32": arith.shrui,
    "shr.s32": arith.shrsi,
    "popc.b32": math.ctpop,
    "clz.b32": math.ctlz,
}
"""PTX instructions on 32-bit integers."""

for _name, _function in (*_F32_INSTRUCTIONS.items(), *_WORD_INSTRUCTIONS.items()):
    assembly(_name)(_function)


@assembly("griddepcontrol.wait; // dummy $0")
@assembly("griddepcontrol.launch_dependents; // dummy $0")
@assembly("mov.u32 $0, %smid;")
def first_processor() -> Array:
    """Give 0: all programs run on one processor, and kernels one after the other."""
    return np.zeros((), np.int32)


@assembly("mov.u64 $0, %globaltimer;")
def global_timer() -> Array:
    """Give the host's clock in nanoseconds."""
    return np.asarray(time.time_ns(), np.int64)


@semantics("tt.elementwise_inline_asm")
def inline_asm(op: Op, compiler: Compiler) -> Step:
    """Run assembly that has a meaning; any other is refused where its data are known."""
    text = str(attribute(op, "asm_string")).strip()
    function = _meaning_of(op, text)
    slots, results = slots_of(op.operands), slots_of(op.results)
    types = [value_type(value.type) for value in op.operands]
    result_types = [value_type(value.type) for value in op.results]

    def step(values: list[Any], scope: Scope) -> None:
        unknown = unknown_of(values[slot] for slot in slots)
        if unknown is not None:
            for slot in results:
                values[slot] = unknown
            return
        if function is None:
            hint = f"{text!r}, which has no meaning; give it one with kvtrace.evaluate.assembly,"
            raise unsupported(op, scope.launch.kernel, f"with assembly {hint}")
        given = [to_array(values[slot], t) for slot, t in zip(slots, types, strict=True)]
        outcome = function(*given)
        outcomes = outcome if isinstance(outcome, tuple) else (outcome,)
        for slot, array, type_ in zip(results, outcomes, result_types, strict=True):
            rounded = rounding_to(type_.element)
            exact = np.asarray(array)
            if exact.ndim == 0:
                exact = exact.reshape((1,) * (len(type_.shape) + 1))
            values[slot] = exact.astype(type_.element.value) if rounded is None else rounded(exact)

    flops = result_types[0].size if result_types[0].element.kind == "f" else 0
    return compiler.counted(op, step, result_types[0].size, flops)


def _meaning_of(op: Op, text: str) -> Callable[..., Any] | None:
    """Look assembly up as a whole, then as a single instruction on operands in any order."""
    whole = ASSEMBLY.get(normalised(text))
    if whole is not None:
        return whole
    found = re.fullmatch(r"([\w.]+) \$0((?:,(?:\$\d+|-?(?:0x)?[\da-fA-F]+))+)", normalised(text))
    instruction = ASSEMBLY.get(found.group(1)) if found else None
    packed = attribute(op, "packed_element", 1) != 1
    if found is None or instruction is None or packed or len(op.results) != 1:
        return None
    element = value_type(op.results[0].type).element
    terms = found.group(2)[1:].split(",")

    def single(*arrays: Any) -> Any:
        chosen = [
            arrays[int(term[1:]) - 1]
            if term.startswith("$")
            else np.asarray(int(term, 0), element.value)
            for term in terms
        ]
        return instruction(*chosen)

    return single


@semantics("tt.map_elementwise")
def map_elementwise(op: Op, compiler: Compiler) -> Step:
    """Run scalar code for every lane, or several lanes, each time as a program of its own."""
    pack = int(attribute(op, "pack", 1))
    quiet = Compiler(compiler.module, observed=False)
    blocks = {block: quiet.block(block) for block in op.regions[0].blocks}
    body = FunctionBody(blocks, compiler.kernel)
    entry = next(iter(blocks.values()))
    outer = frozenset().union(*(block.outer for block in blocks.values()))
    slots, results = slots_of(op.operands), slots_of(op.results)
    types = [value_type(value.type) for value in op.operands]
    result_types = [value_type(value.type) for value in op.results]
    calls = types[0].size // pack

    def step(values: list[Any], scope: Scope) -> None:
        unknown = unknown_of(values[slot] for slot in slots)
        if unknown is not None:
            for slot in results:
                values[slot] = unknown
            return
        programs = scope.programs
        index = np.repeat(np.arange(programs), calls)
        inner = selected(values, outer, index, every=False)
        for position, (slot, type_) in enumerate(zip(slots, types, strict=True)):
            array = np.broadcast_to(full_array(values[slot], type_), (programs, *type_.shape))
            lanes = array.reshape(programs * calls, pack)
            for place in range(pack):
                inner[entry.arguments[position * pack + place]] = lanes[:, place]
        outcome = body.run(inner, scope.restricted(index))
        for position, (slot, type_) in enumerate(zip(results, result_types, strict=True)):
            parts = []
            for place in range(position * pack, (position + 1) * pack):
                scalar = value_type(blocks_end(op, place).type)
                parts.append(np.broadcast_to(to_array(outcome[place], scalar), (len(index),)))
            values[slot] = np.stack(parts, axis=-1).reshape(programs, *type_.shape)

    return compiler.counted(op, step, types[0].size, 0)


def blocks_end(op: Op, position: int) -> Any:
    """Give the value that the region returns at a position."""
    for block in op.regions[0].blocks:
        if block.ops[-1].name == "tt.map_elementwise.return":
            return block.ops[-1].operands[position]
    raise AssertionError("the parser admits no region without its terminator")
