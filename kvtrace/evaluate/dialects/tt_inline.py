"""`tt`: scalar code applied lane by lane: map_elementwise, and inline assembly."""

from __future__ import annotations

import re
import time
from collections.abc import Callable
from typing import Any

import numpy as np

from kvtrace.evaluate.branches import selected
from kvtrace.evaluate.compiler import Compiler, slots_of
from kvtrace.evaluate.dialects.cf import FunctionBody
from kvtrace.evaluate.errors import UnsupportedOp
from kvtrace.evaluate.registry import (
    ASSEMBLY,
    Step,
    assembly,
    normalized,
    semantics,
    unsupported,
)
from kvtrace.evaluate.rounding import rounding_to
from kvtrace.evaluate.scope import Scope
from kvtrace.evaluate.types import ValueType, value_type
from kvtrace.evaluate.values import Array, Unknown, full_array, to_array, unknown_of
from kvtrace.ir import Op
from kvtrace.ir.model import attribute

_SPECIAL = re.compile(r"%\w*(smid|timer|clock)")
"""Special registers that have a value only while a launch is executed."""


@assembly("griddepcontrol.wait; // dummy $0")
@assembly("griddepcontrol.launch_dependents; // dummy $0")
@assembly("mov.u32 $0, %smid;")
def first_processor() -> Array:
    """Return 0, the id of the only processor; kernels run one after the other."""
    return np.zeros((), np.int32)


@assembly("mov.u64 $0, %globaltimer;")
def global_timer() -> Array:
    """Return the host's clock in nanoseconds."""
    return np.asarray(time.time_ns(), np.int64)


def reads_hardware_state(op: Op) -> bool:
    """Return whether assembly reads a processor's id or a clock."""
    return _SPECIAL.search(str(attribute(op, "asm_string"))) is not None


@semantics("tt.elementwise_inline_asm")
def inline_asm(op: Op, compiler: Compiler) -> Step:
    """Return the step of inline assembly, which refuses unknown assembly on known data."""
    text = str(attribute(op, "asm_string")).strip()
    slots, results = slots_of(op.group("source")), slots_of(op.results)
    types = [value_type(value.type) for value in op.group("source")]
    result_types = [value_type(value.type) for value in op.results]

    def refusal(error: UnsupportedOp) -> UnsupportedOp:
        return unsupported(
            op,
            compiler.kernel,
            f"with assembly {text!r}: kvtrace does not implement {error}; register a Python "
            "function for the assembly with kvtrace.evaluate.assembly; otherwise it",
        )

    function: Callable[..., Any] | UnsupportedOp
    try:
        function = _array_function_of(op, text, types, result_types)
    except UnsupportedOp as error:
        function = refusal(error)

    reads_hardware = reads_hardware_state(op)

    def step(values: list[Any], scope: Scope) -> None:
        unknown = unknown_of(values[slot] for slot in slots)
        if reads_hardware and not scope.launch.memory.executes:
            unknown = Unknown(frozenset({"where and when a program runs"}))
        if unknown is not None:
            for slot in results:
                values[slot] = unknown
            return
        if isinstance(function, UnsupportedOp):
            raise function
        arrays = [to_array(values[slot], t) for slot, t in zip(slots, types, strict=True)]
        try:
            outcome = function(*arrays)
        except UnsupportedOp as error:
            raise refusal(error) from error
        outcomes = outcome if isinstance(outcome, tuple) else (outcome,)
        for slot, array, type_ in zip(results, outcomes, result_types, strict=True):
            rounded = rounding_to(type_.element)
            exact = np.asarray(array)
            if exact.ndim == 0:
                exact = exact.reshape((1,) * (len(type_.shape) + 1))
            values[slot] = exact.astype(type_.element.value) if rounded is None else rounded(exact)

    flops = result_types[0].size if result_types[0].element.kind == "f" else 0
    return compiler.counting_step(op, step, result_types[0].size, flops)


def _array_function_of(
    op: Op, text: str, types: list[ValueType], result_types: list[ValueType]
) -> Callable[..., Any]:
    """Return the function of assembly: registered for its text or instruction, or PTX."""
    registered = ASSEMBLY.get(normalized(text))
    if registered is not None:
        return registered
    match = re.fullmatch(r"([\w.]+) \$0((?:,(?:\$\d+|-?(?:0x)?[\da-fA-F]+))+)", normalized(text))
    instruction = ASSEMBLY.get(match.group(1)) if match else None
    packed = int(attribute(op, "packed_element", 1))
    if match is None or instruction is None or packed != 1 or len(op.results) != 1:
        from kvtrace.evaluate.ptx.lanes import on_lanes

        return on_lanes(text, str(attribute(op, "constraints", "")), packed, types, result_types)
    element = value_type(op.results[0].type).element
    terms = match.group(2)[1:].split(",")

    def single(*arrays: Any) -> Any:
        operands = [
            arrays[int(term[1:]) - 1]
            if term.startswith("$")
            else np.asarray(int(term, 0), element.value)
            for term in terms
        ]
        return instruction(*operands)

    return single


@semantics("tt.map_elementwise")
def map_elementwise(op: Op, compiler: Compiler) -> Step:
    """Return the step that runs scalar code for each lane (or `pack` lanes) like a program."""
    pack = int(attribute(op, "pack", 1))
    quiet = Compiler(compiler.module, observed=False)
    body = FunctionBody(op.regions[0].blocks, quiet)
    slots, results = slots_of(op.group("source")), slots_of(op.results)
    types = [value_type(value.type) for value in op.group("source")]
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
        inner = selected(values, body.outer, index, every=False)
        for position, (slot, type_) in enumerate(zip(slots, types, strict=True)):
            array = np.broadcast_to(full_array(values[slot], type_), (programs, *type_.shape))
            lanes = array.reshape(programs * calls, pack)
            for lane in range(pack):
                inner[body.arguments[position * pack + lane]] = lanes[:, lane]
        outcome = body.run(inner, scope.restricted(index))
        for position, (slot, type_) in enumerate(zip(results, result_types, strict=True)):
            result_lanes = []
            for lane in range(position * pack, (position + 1) * pack):
                scalar = value_type(returned_value(op, lane).type)
                result_lanes.append(np.broadcast_to(to_array(outcome[lane], scalar), (len(index),)))
            values[slot] = np.stack(result_lanes, axis=-1).reshape(programs, *type_.shape)

    return compiler.counting_step(op, step, types[0].size, 0)


def returned_value(op: Op, position: int) -> Any:
    """Return the IR value that the op's region returns at a position."""
    for block in op.regions[0].blocks:
        if block.ops[-1].name == "tt.map_elementwise.return":
            return block.ops[-1].group("passed")[position]
    raise AssertionError("the parser admits no region without its terminator")
