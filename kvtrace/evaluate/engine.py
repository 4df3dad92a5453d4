"""Evaluation of a launch: chunks of programs at once, or one by one if their order matters."""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kvtrace.evaluate.arguments import (
    Argument,
    ScalarArgument,
    Storage,
    TensorArgument,
    with_storages,
)
from kvtrace.evaluate.compiler import Compiler, compiled
from kvtrace.evaluate.errors import BadArguments
from kvtrace.evaluate.instrument import Instrument
from kvtrace.evaluate.known import Key
from kvtrace.evaluate.memory import Memory
from kvtrace.evaluate.observe import Observer
from kvtrace.evaluate.order import ProgramConflicts, contested_storages, written_storages
from kvtrace.evaluate.partitions import PartitionedMemory, needs_clocks
from kvtrace.evaluate.reach import follows_addresses
from kvtrace.evaluate.scope import Launch, Scope, listeners
from kvtrace.evaluate.shared_memory import SharedMemory
from kvtrace.evaluate.threads import ONE_THREAD
from kvtrace.evaluate.turns import Turns
from kvtrace.evaluate.types import ElementType, ValueType, value_type
from kvtrace.evaluate.values import Descriptor, Pointer, Unknown, constant_sum
from kvtrace.ir import Module
from kvtrace.ir.integers import wrapped
from kvtrace.ir.model import once_per_module
from kvtrace.ir.ops import operator_of
from kvtrace.ir.types import SharedType, TensorType, integer_bits, shape_of

CHUNK_BYTES = 2 << 20
"""The size limit of the kernel's largest tensor over all programs that run at once."""


ADDRESSES_ONLY = 64
DIVIDED_ADDRESSES = 16
"""Factors on the number of programs at once if no data is known: only addresses are computed,
mostly as vectors. Those of kernels that divide blocks of integers are whole arrays of 32 MiB."""

STEP_VALUES = 1 << 14
STEP_PROGRAMS = 1 << 10
"""The numbers of values and of programs for which an op counts as one step. If no data is known,
addresses are computed as vectors over programs and over lanes, and only programs count."""


def evaluate(
    module: Module,
    arguments: Sequence[Argument],
    grid: tuple[int, ...],
    *,
    observers: Sequence[Observer] = (),
    kernel: str | None = None,
    chunk_bytes: int | None = None,
    programs: NDArray[np.int64] | None = None,
    instrument: Instrument | None = None,
    most_steps: int | None = None,
) -> None:
    """Run a kernel over its whole grid, writing to the arguments' storages.

    Storages without data are unknown: results that depend on them are reported as unknown.

    Args:
        module: The kernel's parsed IR.
        arguments: In the order of the parameters of `module.main`, followed by tensors that are
            reached through addresses in memory, if any (see reach.py).
        grid: One to three extents, x first.
        observers: Objects that receive compute ops, accesses, defects and loops (see observe.py).
        kernel: The function to run, by name; None: `module.main`.
        chunk_bytes: Memory for the values of programs that are evaluated together, in bytes; 0: one
            program after the other; None: the default.
        programs: Linear ids (x fastest) of the programs to run, shape (n,); None: all. They run in
            ascending order, with `chunk_bytes` 0 in this order.
        instrument: Wraps every op with its values (see instrument.py).
        most_steps: Steps after which the evaluation ends (see scope.py); None: no limit, as if a
            program waits for the kernel's results.

    Raises:
        UnsupportedOp: an op, or a variant of the op, is not implemented.
        BadArguments: arguments or grid do not fit the kernel, or a tensor not its storage.
        Deadlock: a program waits for memory that no program will change.
        DeviceAssertion: an assertion of the kernel fails.
        UnknownAddress: an access goes through a pointer that comes from no argument.
        TooLarge: the evaluation needs more than `most_steps`, or a tensor is too large.

    """
    observed = bool(listeners(observers, "op"))
    if instrument is None:
        compiler = compiled(module, observed=observed)
    else:
        compiler = instrument.compiled(module, observed=observed)
    name = kernel or compiler.kernel
    extents = tuple(int(extent) for extent in grid) + (1,) * (3 - len(grid))
    if len(extents) != 3 or any(extent < 0 for extent in extents):
        raise BadArguments(f"grid {grid} of kernel {name!r} must have one to three extents >= 0")
    launch = Launch(name, (extents[0], extents[1], extents[2]), tuple(arguments), observers)
    if most_steps is not None:
        launch.steps = most_steps
        lanes = largest_tensor(compiler.module) // 8 if _holds_data(arguments) else 1
        launch.programs_a_step = min(STEP_PROGRAMS, STEP_VALUES / lanes)
    written = written_storages(module, arguments)
    launch.memory = Memory(launch.arguments, written)
    launch.memory.known = compiler.known
    launch.shared = _shared_memory(module, launch)
    values = _bound_parameters(compiler, arguments, name)
    if instrument is not None:
        instrument.begin(launch, values)
    launch.in_order = (
        isinstance(launch.shared, PartitionedMemory)
        or (instrument is not None and instrument.takes_turns)
        or order_matters(module, launch, written)
    )
    selected = None if programs is None else _selected_programs(programs, launch)
    if selected is not None and chunk_bytes == 0:
        selected = np.asarray(programs, np.int64)
    chunk = CHUNK_BYTES if chunk_bytes is None else chunk_bytes
    _run_programs(compiler, launch, values, chunk, selected)


def _shared_memory(module: Module, launch: Launch) -> SharedMemory:
    kind = PartitionedMemory if needs_clocks(module) else SharedMemory
    return kind(math.prod(launch.grid))


def _selected_programs(programs: NDArray[np.int64], launch: Launch) -> NDArray[np.int64]:
    """Return sorted, unique linear program ids; BadArguments if the grid lacks one."""
    selected: NDArray[np.int64] = np.unique(np.asarray(programs, np.int64))
    count = math.prod(launch.grid)
    if selected.size and not 0 <= selected[0] <= selected[-1] < count:
        raise BadArguments(
            f"programs {selected[0]} to {selected[-1]} of kernel {launch.kernel!r} were selected, "
            f"but the grid {launch.grid} has programs 0 to {count - 1}"
        )
    return selected


def _run_programs(
    compiler: Compiler,
    launch: Launch,
    values: list[Any],
    chunk_bytes: int,
    chosen: NDArray[np.int64] | None = None,
) -> None:
    known = compiler.known
    programs = math.prod(launch.grid) if chosen is None else len(chosen)

    def linear(start: int, stop: int) -> NDArray[np.int64]:
        if chosen is not None:
            return chosen[start:stop]
        line = partial(np.arange, start, stop)
        return line() if known is None else known.once(("range", start, stop), line)

    if not _holds_data(launch.arguments):
        divides = divides_blocks(compiler.module)
        chunk_bytes *= DIVIDED_ADDRESSES if divides else ADDRESSES_ONLY
    body = compiler.function(compiler.kernel)
    launch.afford(body.least_steps * (programs if launch.in_order else 1), programs)
    if launch.in_order:

        def run(turn: int) -> None:
            with np.errstate(all="ignore"), ONE_THREAD:
                body.run(list(values), Scope(launch, linear(turn, turn + 1)))

        launch.turns = Turns(programs, run, lambda: launch.memory.version)
        launch.turns.run_all()
        return
    chunk = max(1, chunk_bytes // largest_tensor(compiler.module))
    with np.errstate(all="ignore"), ONE_THREAD:
        start = 0
        while start < programs:
            line = linear(start, min(start + chunk, programs))
            if known is not None:  # loads of programs without masked-off lanes copy nothing
                line = known.results.get(("full", id(line)), (line,))[0]
            body.run(list(values), Scope(launch, line))
            start += len(line)


def _holds_data(arguments: Sequence[Argument]) -> bool:
    return any(
        isinstance(argument, TensorArgument) and argument.storage.data is not None
        for argument in arguments
    )


def order_matters(module: Module, launch: Launch, written: frozenset[Storage]) -> bool:
    """Return whether programs must run one by one.

    If a storage is both read and written, addresses are replayed to find out. Answers that do not
    depend on data are cached per grid and arguments.
    """
    programs = math.prod(launch.grid)
    if programs <= 1:
        return False
    answers = _order_answers(module)
    key = (launch.grid, _call_key(launch.arguments))
    if key in answers:
        return answers[key]
    if len(answers) > 4096:
        answers.clear()
    certainly, contested = contested_storages(module, launch.arguments)
    if certainly or not contested:
        answers[key] = certainly
        return certainly
    all_storages = frozenset(
        argument.storage for argument in launch.arguments if isinstance(argument, TensorArgument)
    )
    conflicts = _replayed_conflicts(module, launch, contested, all_storages)
    if not conflicts.uncertain:
        has_conflict = conflicts.exist(programs)
        if not follows_addresses(module):  # whose answer may depend on the storages' addresses
            answers[key] = has_conflict
        return has_conflict
    return _replayed_conflicts(module, launch, contested, written).exist(programs)


@once_per_module
def _order_answers(_module: Module) -> dict[object, bool]:
    return {}


def _replayed_conflicts(
    module: Module, launch: Launch, contested: frozenset[Storage], hidden: frozenset[Storage]
) -> ProgramConflicts:
    """Run the launch without the data of `hidden`; return conflicts in `contested` storages."""
    empty = {storage: Storage(storage.nbytes, address=storage.start) for storage in hidden}
    arguments = with_storages(launch.arguments, lambda storage: empty.get(storage, storage))
    conflicts = ProgramConflicts(arguments, frozenset(empty.get(s, s) for s in contested))
    rehearsal = Launch(launch.kernel, launch.grid, arguments, (conflicts,))
    rehearsal.steps, rehearsal.programs_a_step = launch.steps, launch.programs_a_step
    rehearsal.memory = Memory(arguments, frozenset(empty.values()))
    rehearsal.shared = _shared_memory(module, launch)
    rehearsal.in_order = needs_clocks(module)
    compiler = compiled(module, observed=False)
    values = _bound_parameters(compiler, arguments, launch.kernel)
    _run_programs(compiler, rehearsal, values, CHUNK_BYTES)
    return conflicts


def _call_key(arguments: Sequence[Argument]) -> tuple[Any, ...]:
    """Return a key of the arguments without data: scalars, offsets, sizes, shared storages."""
    storages: dict[int, int] = {}
    key_parts: list[Any] = []
    for argument in arguments:
        if isinstance(argument, ScalarArgument):
            key_parts.append(argument.value)
            continue
        storage_number = storages.setdefault(id(argument.storage), len(storages))
        has_data = argument.storage.data is not None
        key_parts.append((storage_number, argument.storage.nbytes, argument.offset_bytes, has_data))
    return tuple(key_parts)


@once_per_module
def largest_tensor(module: Module) -> int:
    """Return the bytes of the largest tensor of one program, with 8 bytes per element."""
    types = (value.type for op in module.ops for value in op.results)
    return 8 * max([1, *(t.size for t in types if isinstance(t, TensorType | SharedType))])


@once_per_module
def divides_blocks(module: Module) -> bool:
    """Return whether a module divides blocks of integers, whose lanes then vary by program."""
    return any(
        operator_of(op) in ("//", "%") and shape_of(result.type) and integer_bits(result.type)
        for op in module.ops
        for result in op.results
    )


def _bound_parameters(compiler: Compiler, arguments: Sequence[Argument], name: str) -> list[Any]:
    """Return a new list of values with the arguments in the parameters' slots."""
    parameters = compiler.module.main.arguments
    further_arguments = arguments[len(parameters) :]
    if len(parameters) > len(arguments) or not all(
        isinstance(x, TensorArgument) for x in further_arguments
    ):
        raise BadArguments(
            f"kernel {name!r} has {len(parameters)} parameters, but {len(arguments)} arguments "
            "were passed"
        )
    values: list[Any] = [None] * compiler.module.value_count
    known = compiler.known
    for position, (parameter, argument) in enumerate(zip(parameters, arguments, strict=False)):
        type_ = value_type(parameter.type)
        key = _known_parameter(position, type_, argument)
        value = partial(_parameter_value, position, type_, argument, name)
        values[parameter.id] = value() if known is None or key is None else known.once(key, value)
    return values


def _known_parameter(position: int, type_: ValueType, argument: Argument) -> Key | None:
    """Return the key of a parameter's value; None if the value is no integer and no pointer."""
    if type_.descriptor or (type_.element.kind == "f" and not type_.pointer):
        return None
    if isinstance(argument, TensorArgument):
        return ("pointer", position) if type_.pointer else None
    if argument.value is None or type_.pointer:
        return None
    return "scalar", position, argument.value


def _parameter_value(position: int, type_: ValueType, argument: Argument, name: str) -> Any:
    if isinstance(argument, TensorArgument):
        if type_.descriptor:
            extents = tuple(constant_sum(extent) for extent in argument.shape)
            strides = tuple(constant_sum(stride) for stride in argument.strides)
            base = Pointer(position, constant_sum(0), 0)
            return Descriptor(base, extents, strides, argument.padding_nan)
        if not type_.pointer:
            raise BadArguments(
                f"argument {argument.name!r} of kernel {name!r} is a tensor, but the parameter "
                f"has the type {type_.text}"
            )
        return Pointer(position, constant_sum(0), 0)
    if argument.value is None:
        unknown = Unknown(frozenset({argument.name}))
        return Pointer(None, unknown) if type_.pointer else unknown
    if type_.pointer:
        return Pointer(None, Unknown(frozenset({argument.name})))
    return scalar_value(argument, type_.element)


def scalar_value(argument: ScalarArgument, element: ElementType) -> Any:
    """Return a scalar argument as a value, wrapped or rounded to the parameter's type."""
    assert argument.value is not None
    if element.kind == "b":
        return bool(argument.value)
    if element.kind == "i":
        return constant_sum(wrapped(int(argument.value), element.bits))
    with np.errstate(all="ignore"):
        stored = np.array([argument.value], np.float64).astype(element.memory)
    return stored.astype(element.value)
