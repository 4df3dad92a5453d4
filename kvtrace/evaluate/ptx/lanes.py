"""A PTX snippet run for all lanes at once: the lanes of tensors as its registers.

As in Triton, each run of the snippet has `packed` lanes as operands; several elements of less than
32 bits share a register. Triton does not specify which lanes are in a run; here they are neighbors.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from math import prod
from typing import Any, Final

import numpy as np

from kvtrace.evaluate.errors import UnsupportedOp
from kvtrace.evaluate.ptx import arithmetic, bits
from kvtrace.evaluate.ptx.statements import Literal, Operand, Register, Statement, parse_snippet
from kvtrace.evaluate.ptx.table import Form, Instruction, form_of
from kvtrace.evaluate.ptx.types import TYPES, Type, decoded, number, resized
from kvtrace.evaluate.rounding import from_memory, to_memory
from kvtrace.evaluate.types import ElementType, ValueType
from kvtrace.evaluate.values import Array


def on_lanes(
    text: str,
    constraints: str,
    packed: int,
    types: list[ValueType],
    result_types: list[ValueType],
) -> Callable[..., tuple[Array, ...]]:
    r"""Return a function that runs a snippet on one array per operand; its results are a tuple.

    Raises:
        UnsupportedOp: a part of the snippet, which the text names, is not implemented.
    """
    if any(type_.pointer or type_.descriptor for type_ in types):
        raise UnsupportedOp("a pointer as an operand")
    run = snippet(text, constraints)
    shape = result_types[0].shape

    def function(*arrays: Array) -> tuple[Array, ...]:
        lanes = _common_shape(arrays, shape, packed)
        inputs: list[Array] = []
        for array, type_ in zip(arrays, types, strict=True):
            spread = array if packed == 1 else np.broadcast_to(array, lanes)
            inputs += _into_registers(spread, type_.element, packed)
        outputs = run(inputs)
        results, position = [], 0
        for type_ in result_types:
            count = packed // _elements_per_register(type_.element, packed)
            registers = outputs[position : position + count]
            results.append(_out_of_registers(registers, type_.element, packed, lanes))
            position += count
        if position != len(outputs):
            raise UnsupportedOp(f"a snippet of {len(outputs)} result registers, not {position},")
        return tuple(results)

    return function


def _common_shape(
    arrays: tuple[Array, ...], shape: tuple[int, ...], packed: int
) -> tuple[int, ...]:
    """Return the broadcast shape of the operands; with several packed lanes, of all lanes."""
    programs = max((array.shape[0] for array in arrays), default=1)
    if packed == 1:
        return np.broadcast_shapes((1,) * (len(shape) + 1), *(array.shape for array in arrays))
    return (programs, *shape)


def _elements_per_register(element: ElementType, packed: int) -> int:
    return min(max(1, 32 // element.bits), packed)


def _into_registers(array: Array, element: ElementType, packed: int) -> list[Array]:
    stored = to_memory(array, element)
    raw = np.ascontiguousarray(stored).view(f"u{element.bytes}").reshape(array.shape)
    if packed == 1:
        return [raw]
    per_register = _elements_per_register(element, packed)
    register_groups = raw.reshape(-1, packed // per_register, per_register)
    if per_register > 1:
        register_groups = _packed_registers(register_groups, element, per_register)
    return [
        np.ascontiguousarray(register_groups[:, position, 0])
        for position in range(packed // per_register)
    ]


def _packed_registers(groups: Array, element: ElementType, per_register: int) -> Array:
    """Return elements joined to registers, the first element in the lowest bits."""
    wide = groups.astype(np.uint32) << (
        np.arange(per_register, dtype=np.uint32) * np.uint32(element.bits)
    )
    return np.asarray(np.bitwise_or.reduce(wide, axis=-1, keepdims=True))


def _out_of_registers(
    registers: list[Array], element: ElementType, packed: int, lanes: tuple[int, ...]
) -> Array:
    raw = np.dtype(f"u{element.bytes}")
    if packed == 1:
        return _values(np.broadcast_to(registers[0], lanes), element, raw)
    per_register, runs = _elements_per_register(element, packed), prod(lanes) // packed
    columns = [
        whole >> whole.dtype.type(position * element.bits)
        for whole in (np.broadcast_to(register, (runs,)) for register in registers)
        for position in range(per_register)
    ]
    return _values(np.stack(columns, axis=-1).reshape(lanes), element, raw)


def _values(bits: Array, element: ElementType, raw: np.dtype[np.unsignedinteger]) -> Array:
    """Return the low bits of registers as values in flight."""
    if element.kind == "b":
        return (bits & 1).astype(np.bool_)
    return from_memory(np.ascontiguousarray(bits.astype(raw)).view(element.memory), element)


Registers = dict[str, Array]

FILES: Final = (arithmetic, bits)
"""The files that fill the table."""

_WITHOUT_EFFECT: Final = frozenset(
    {"griddepcontrol.wait", "griddepcontrol.launch_dependents", "nanosleep.u32", "nop"}
)
"""Instructions that change no register and no memory: kernels run one after the other."""

_WIDTHS: Final = {"c": "u2", "h": "u2", "r": "u4", "f": "u4", "l": "u8", "d": "u8", "b": "?"}
"""Register dtypes of LLVM's constraints for PTX, by letter."""


def read_constraints(text: str) -> tuple[tuple[np.dtype[Any], ...], int]:
    r"""Return the register dtype of each operand (no clobbers), and the number of results.

    Raises:
        UnsupportedOp: a constraint is not for a register.
    """
    widths: list[np.dtype[Any]] = []
    results = 0
    for constraint in (word.strip() for word in text.split(",")):
        if not constraint or constraint.startswith("~"):
            continue
        letter = constraint.lstrip("=&")
        if letter not in _WIDTHS:
            raise UnsupportedOp(f"the constraint {constraint!r}")
        results += constraint.startswith("=")
        widths.append(np.dtype(_WIDTHS[letter]))
    return tuple(widths), results


def snippet(text: str, constraints: str) -> Callable[[list[Array]], list[Array]]:
    r"""Return a function that runs a snippet: from the bits of its inputs to those of its results.

    Raises:
        UnsupportedOp: an instruction, operand or constraint, which the text names, is unknown.
    """
    parsed = parse_snippet(text)
    widths, results = read_constraints(constraints)
    types = {f"${position}": width for position, width in enumerate(widths)}
    for name, declared in parsed.registers.items():
        if declared not in TYPES:
            raise UnsupportedOp(f"a register of type {declared!r}")
        types[name] = TYPES[declared].register if declared != "pred" else np.dtype("?")
    steps = [
        _step(statement, types)
        for statement in parsed.statements
        if statement.instruction not in _WITHOUT_EFFECT
    ]

    def run(inputs: list[Array]) -> list[Array]:
        if len(inputs) != len(widths) - results:
            raise UnsupportedOp(f"a snippet of {len(widths) - results} inputs, not {len(inputs)},")
        registers: Registers = {
            name: resized(array, types[name])
            for name, array in zip(list(types)[results:], inputs, strict=False)
        }
        for step in steps:
            step(registers)
        return [
            registers.get(f"${position}", np.zeros(1, widths[position]))
            for position in range(results)
        ]

    return run


def _step(statement: Statement, types: Mapping[str, np.dtype[Any]]) -> Callable[[Registers], None]:
    """Return a function that executes a statement on registers; UnsupportedOp if it is unknown."""
    form, meaning = form_of(statement.instruction)
    operands = statement.operands
    for operand in _registers_in(statement):
        if operand.name not in types:
            raise UnsupportedOp(f"the register {operand.name!r}, which is not declared,")
    if form.name == "mov" and any(isinstance(operand, tuple) for operand in operands):
        return partial(_move_vector, statement, form, types)
    operand_count = len(operands) - 1
    takes = [_operand_type(form, name) for name in meaning.takes[:operand_count]]
    fits = len(meaning.takes) - meaning.optional <= operand_count <= len(meaning.takes)
    if not fits or not isinstance(operands[0], Register):
        raise UnsupportedOp(f"the operands of {statement.instruction!r}")
    constants = {
        position: number(operand, type_)
        for position, (operand, type_) in enumerate(zip(operands[1:], takes, strict=True))
        if isinstance(operand, Literal) and not operand.text.startswith("%")
    }
    return partial(_execute, statement, form, meaning, takes, constants, types)


def _registers_in(statement: Statement) -> list[Register]:
    flat = [
        operand_
        for operand in statement.operands
        for operand_ in (operand if isinstance(operand, tuple) else (operand,))
    ]
    flat += [statement.guard, statement.second]
    return [operand_ for operand_ in flat if isinstance(operand_, Register)]


def _operand_type(form: Form, name: str) -> Type:
    if name == "wide" and form.has("wide"):
        return TYPES[f"{form.type.kind}{form.type.bits * 2}"]
    return {"T": form.type, "D": form.target, "wide": form.type}.get(name) or TYPES[name]


def _execute(
    statement: Statement,
    form: Form,
    meaning: Instruction,
    takes: list[Type],
    constants: dict[int, Array],
    types: Mapping[str, np.dtype[Any]],
    registers: Registers,
) -> None:
    """Execute a statement: read its operands, compute, and write the results in `registers`."""
    arrays = []
    for position, (operand, type_) in enumerate(zip(statement.operands[1:], takes, strict=True)):
        raw = constants.get(position)
        if raw is None:
            raw = _read(operand, type_, registers, types)
        arrays.append(decoded(raw, type_))
    outcome = meaning.function(form, *arrays)
    result, second_result = outcome if isinstance(outcome, tuple) else (outcome, None)
    target = statement.operands[0]
    assert isinstance(target, Register)
    signed = _operand_type(form, meaning.gives).kind == "s"
    _write(target, result, statement.guard, registers, types, signed=signed)
    if statement.second is not None:
        if second_result is None:
            raise UnsupportedOp(f"a second result of {statement.instruction!r}")
        _write(statement.second, second_result, statement.guard, registers, types)


def _read(
    operand: Operand | None, type_: Type, registers: Registers, types: Mapping[str, np.dtype[Any]]
) -> Array:
    if isinstance(operand, Literal):
        return number(operand, type_)
    if not isinstance(operand, Register):
        raise UnsupportedOp("a vector as an operand")
    register = registers.get(operand.name)
    if register is None:
        return np.zeros(1, types[operand.name])  # never written: any value
    return ~register if operand.negated else register


def _write(
    target: Register,
    array: Array,
    guard: Register | None,
    registers: Registers,
    types: Mapping[str, np.dtype[Any]],
    *,
    signed: bool = False,
) -> None:
    """Write a value to a register where the guard holds, extended by sign if `signed`."""
    width = types[target.name]
    if signed and width.itemsize > array.dtype.itemsize:
        array = array.view(f"i{array.dtype.itemsize}").astype(f"i{width.itemsize}")
    value = resized(array, width)
    if guard is not None:
        holds = _read(guard, TYPES["pred"], registers, types)
        before = registers.get(target.name, np.zeros(1, width))
        value = np.where(holds, value, before)
    registers[target.name] = value


def _move_vector(
    statement: Statement, form: Form, types: Mapping[str, np.dtype[Any]], registers: Registers
) -> None:
    """Execute `mov` between a register and a tuple of its parts, the lowest bits first."""
    target, source = statement.operands
    parts = target if isinstance(target, tuple) else source
    if not isinstance(parts, tuple) or form.type.bits % (8 * len(parts)):
        raise UnsupportedOp(f"the operands of {statement.instruction!r}")
    part_bits = form.type.bits // len(parts)
    part = TYPES[f"b{part_bits}"]
    if isinstance(target, tuple):
        whole = resized(_read(source, form.type, registers, types), form.type.register)
        for position, register in enumerate(target):
            if isinstance(register, Register):
                bits_ = (whole >> whole.dtype.type(position * part_bits)).astype(part.register)
                _write(register, bits_, statement.guard, registers, types)
        return
    assert isinstance(target, Register)
    result: Array = np.zeros(1, form.type.register)
    for position, operand in enumerate(parts):
        low = resized(_read(operand, part, registers, types), part.register)
        wide = low.astype(form.type.register)
        result = result | wide << wide.dtype.type(position * part_bits)
    _write(target, result, statement.guard, registers, types)
