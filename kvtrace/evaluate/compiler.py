"""The compiler of array evaluation: from a module's ops to lists of Python callables."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
from msgspec import Struct

from kvtrace.evaluate.dialects import load_dialects
from kvtrace.evaluate.dialects.arith_fused import FusedSum, fused_sums, moved
from kvtrace.evaluate.errors import TooLarge, UnsupportedOp
from kvtrace.evaluate.known import KnownValues
from kvtrace.evaluate.lifetimes import dying_values, stored_next
from kvtrace.evaluate.registry import (
    ELEMENTWISE,
    FACTORED,
    LOWERINGS,
    Elementwise,
    Step,
    place,
    unsupported,
)
from kvtrace.evaluate.rounding import rounding_to
from kvtrace.evaluate.scope import Scope
from kvtrace.evaluate.sums import nests
from kvtrace.evaluate.types import TOKEN, ValueType, value_type
from kvtrace.evaluate.values import Sum, Unknown, constant_sum, to_array, unknown_of
from kvtrace.evaluate.windows import cropped
from kvtrace.ir import Block, Module, Op
from kvtrace.ir import Value as IRValue
from kvtrace.ir.model import attribute, once_per_module
from kvtrace.ir.ops import KINDS, MOVING, POINTED, ROUNDED, SILENT, Kind, computing, named
from kvtrace.ir.types import SharedType, TensorType

if TYPE_CHECKING:
    from kvtrace.evaluate.dialects.cf import FunctionBody
    from kvtrace.evaluate.instrument import Instrument

_LARGEST_TENSOR = 1 << 20
"""The most elements of a tensor: the limit of Triton's compiler."""

_LARGE = 1 << 17
"""The elements of a result that are copied for longer than it takes to find their memory."""

_OF_ONE_SHAPE = (
    named(lambda row: row.kind is Kind.ELEMENTWISE)
    | POINTED
    | computing("+", "int_to_ptr", "ptr_to_int")
)
"""Ops whose tensors must all have the same shape."""

_PURE = (named(lambda row: row.kind is Kind.ELEMENTWISE) | MOVING | computing("+")) - computing(
    "inline_asm"
)
"""Ops whose result depends on their operands alone."""


class CompiledBlock(Struct, frozen=True, eq=False):
    """A block ready to run: steps, then the terminator with the slots of its operands.

    Slots are positions in the list of values. `arguments` are the slots of the block's arguments,
    `outer` those of values that the block (with all inside it) uses but does not define.
    """

    block: Block
    arguments: tuple[int, ...]
    steps: tuple[Step, ...]
    terminator: Op
    operands: tuple[int, ...]
    outer: frozenset[int]

    def run(self, values: list[Any], scope: Scope) -> list[Any]:
        """Count the steps against the limit and run them; return the operands' values."""
        scope.launch.spend(1 + len(self.steps), len(scope.linear))
        return self.outcome(values, scope)

    def outcome(self, values: list[Any], scope: Scope) -> list[Any]:
        """Run the steps without counting them; return the terminator's operands' values."""
        for step in self.steps:
            step(values, scope)
        return [values[slot] for slot in self.operands]


class Compiler:
    """Compiles a module's ops to steps; with `observed`, they report compute ops to observers."""

    def __init__(
        self, module: Module, *, observed: bool, instrument: Instrument | None = None
    ) -> None:
        self.module = module
        self.observed = observed
        self.instrument = instrument
        self.known = KnownValues() if instrument is None else None
        self._functions: dict[str, FunctionBody] = {}
        self._counts: dict[int, tuple[int, int]] = {}

    @property
    def kernel(self) -> str:
        """The kernel's name, for errors."""
        return self.module.main.name

    def constant(self, value: Any) -> Any:
        """Return a value that is the same in every launch, after noting that it is known."""
        return value if self.known is None else self.known.constant(value)

    def integer(self, number: int) -> Sum:
        """Return an integer that is the same for all programs and lanes, a known value."""
        make = partial(constant_sum, number)
        return make() if self.known is None else self.known.once(("integer", number), make)

    def function(self, name: str) -> FunctionBody:
        """Return the compiled body of the module's function with this name, from a cache."""
        body = self._functions.get(name)
        if body is None:
            from kvtrace.evaluate.dialects.cf import FunctionBody  # which imports this file

            check_tensors(self.module)
            body = FunctionBody(self.module.functions[name].body.blocks, self)
            self._functions[name] = body
        return body

    def block(self, block: Block) -> CompiledBlock:
        """Compile the ops of a block, with the instrument's steps if there is one."""
        *body, terminator = block.ops
        steps = tuple(step for op in body if (step := self._instrumented(op)) is not _no_effect)
        ending = None if self.instrument is None else self.instrument.ending(terminator)
        steps += () if ending is None else (ending,)
        return CompiledBlock(
            block,
            tuple(value.id for value in block.arguments),
            steps,
            terminator,
            tuple(value.id for value in terminator.operands),
            outer_slots(block),
        )

    def _instrumented(self, op: Op) -> Step:
        is_silent = op.name in SILENT and op.name not in LOWERINGS
        step = _no_effect if is_silent else self._step_or_refusal(op)
        step = self._counting(op, step)
        if self.instrument is not None:  # which may look at values later
            return self.instrument.wrapped(op, step)
        return step if step is _no_effect else _forgetting(step, dying_values(op, self.module))

    def _step_or_refusal(self, op: Op) -> Step:
        """Return an op's step; if it is not implemented, a step that refuses known data."""
        try:
            step = _with_tokens(op, self.step(op))
            known = self.known
            if known is None or not _is_address_arithmetic(op):
                return step
            return _looked_up_step(op, step, known)
        except UnsupportedOp as error:
            names_kernel = self.kernel in str(error)
            refusal = error if names_kernel else unsupported(op, self.kernel, f"({error})")
        operands, results = slots_of(op.operands), slots_of(op.results)

        def refuse(values: list[Any], _scope: Scope) -> None:
            unknown = unknown_of(values[slot] for slot in operands)
            if unknown is None or op.regions:
                raise refusal
            for slot in results:
                values[slot] = unknown

        return refuse

    def step(self, op: Op) -> Step:
        """Return an op's step; UnsupportedOp if the op is not implemented.

        Under an instrument, which sees each op's operands, sums are not fused with products.
        """
        lowering = LOWERINGS.get(op.name)
        if lowering is not None:
            return lowering(op, self)
        meaning = ELEMENTWISE.get(op.name)
        if meaning is None:
            raise unsupported(op, self.kernel)
        return self.elementwise(op, meaning.on(self.module.target, op))

    def counting_step(self, op: Op, step: Step, elements: int, flops: int) -> Step:
        """Return `step`, whose executions are reported to observers with one program's counts."""
        self._counts[op.index] = elements, flops
        return step

    def _counting(self, op: Op, step: Step) -> Step:
        if not self.observed or op.index not in self._counts:
            return step
        elements, flops = self._counts[op.index]

        def observed(values: list[Any], scope: Scope) -> None:
            step(values, scope)
            programs = scope.programs
            for observer in scope.launch.op_observers:
                observer.op(op, programs, programs * elements, programs * flops)

        return observed

    def elementwise(self, op: Op, meaning: Elementwise) -> Step:
        """Return the step of an elementwise op; it rounds its result and reports its counts."""
        types = [value_type(value.type) for value in op.operands]
        result_type = value_type(op.results[0].type)
        slots = [value.id for value in op.operands]
        extra = [attribute(op, name) for name in meaning.attributes]
        function = array_function(op, meaning, result_type, extra)
        factor = FACTORED.get(op.name)
        if factor is not None and all(type_.element.kind == "i" for type_ in types):
            step = _factored_step(factor, extra, slots, types[0], op.results[0].id)
        else:
            step = _array_step(function, slots, types, op.results[0].id)
            if self.instrument is None:
                step = _into_memory(op, self.module, meaning.function, step)
        fused = None if self.instrument else fused_sums(self.module).get(op.index)
        if fused is not None:
            step = _fused_step(fused, step, op.results[0].id)
        flops = meaning.flops * result_type.size if result_type.element.kind == "f" else 0
        return self.counting_step(op, step, result_type.size, flops)


def _is_address_arithmetic(op: Op) -> bool:
    """Return whether an op computes an integer, Boolean or pointer from its operands alone."""
    if op.name not in _PURE or op.regions or len(op.results) != 1 or not op.operands:
        return False
    type_ = value_type(op.results[0].type)
    return type_.pointer or type_.element.kind != "f"


def _with_tokens(op: Op, step: Step) -> Step:
    """Return a step that also sets the tokens among an op's results: ops, not tokens, order."""
    tokens = slots_of(value for value in op.results if value.type == TOKEN)
    if not tokens:
        return step

    def tokened(values: list[Any], scope: Scope) -> None:
        step(values, scope)
        for slot in tokens:
            values[slot] = True

    return tokened


def _forgetting(step: Step, slots: frozenset[int]) -> Step:
    """Return a step that then forgets values, so that the memory of large arrays is free."""
    if not slots:
        return step

    def forgetting(values: list[Any], scope: Scope) -> None:
        step(values, scope)
        for slot in slots:
            values[slot] = None

    return forgetting


def _looked_up_step(op: Op, step: Step, known: KnownValues) -> Step:
    """Return a step that looks up the result of known operands, and else runs `step`."""
    number, result, results = op.index, op.results[0].id, known.results
    slots = slots_of(op.operands)
    first, last = slots[0], slots[-1]
    is_binary = len(slots) <= 2

    def looked_up(values: list[Any], scope: Scope) -> None:
        operands = (values[first], values[last]) if is_binary else [values[slot] for slot in slots]
        key = (number, *map(id, operands))
        entry = results.get(key)
        if entry is not None:
            values[result] = entry[0]
            return
        step(values, scope)
        if all(map(known.holds, operands)):
            known.keep(key, values[result], operands)

    return looked_up


def _no_effect(_values: list[Any], _scope: Scope) -> None:
    """Do nothing: the step of ops without effect when programs run as whole arrays."""


def check_tensors(module: Module) -> None:
    r"""Check that tensors are no larger than Triton allows, and have equal shapes where required.

    Raises:
        TooLarge: a tensor has too many elements.
        UnsupportedOp: an op's tensors have different shapes.
    """
    kernel = module.main.name
    for op in module.ops:
        for value in op.results:
            kind = value.type
            if isinstance(kind, TensorType | SharedType) and kind.size > _LARGEST_TENSOR:
                raise TooLarge(
                    f"{op.name} at {place(op)} in kernel {kernel!r} makes a tensor of "
                    f"{kind.size:,} elements; Triton allows at most {_LARGEST_TENSOR:,}"
                )
        if op.name in _OF_ONE_SHAPE:
            kinds = (value.type for value in (*op.operands, *op.results))
            if len({kind.shape for kind in kinds if isinstance(kind, TensorType)}) > 1:
                raise unsupported(op, kernel, "on tensors of different shapes")


def array_function(
    op: Op, meaning: Elementwise, result_type: ValueType, extra: list[Any]
) -> Callable[..., Any]:
    """Return a function of operand arrays that rounds to the result's dtype."""
    element = result_type.element
    rounding = None if op.name in ROUNDED else rounding_to(element)
    last = (element,) if op.name in TYPED else ()

    def rounded(*arrays: Any) -> Any:
        result = meaning.function(*extra, *arrays, *last)
        if rounding is not None:
            return rounding(result)
        return result if result.dtype == element.value else result.astype(element.value)

    return rounded


TYPED: set[str] = set()
"""Elementwise ops whose function also takes the result's element type, last (casts)."""


def typed_result(*names: str) -> None:
    """Register elementwise ops whose functions take the result's element type as last argument."""
    TYPED.update(names)


def _array_step(
    function: Callable[..., Any], slots: list[int], types: list[ValueType], result: int
) -> Step:
    pairs = list(zip(slots, types, strict=True))
    array = np.ndarray

    def step(values: list[Any], _scope: Scope) -> None:
        operands = []
        for slot, type_ in pairs:
            value = values[slot]
            if type(value) is not array:
                if isinstance(value, Unknown):
                    values[result] = unknown_of(values[slot] for slot in slots)
                    return
                value = to_array(value, type_)
            operands.append(value)
        values[result] = function(*operands)

    return step


def _into_memory(op: Op, module: Module, function: Any, step: Step) -> Step:
    """Return a step that computes floats of a ufunc where the next op, a store, would copy them.

    It computes what is stored alone, with the same bits; where that is no view, it is `step`.
    """
    store, result = stored_next(op, module), op.results[0].id
    if store is None or not isinstance(function, np.ufunc):
        return step
    slots, type_ = slots_of(op.operands), value_type(op.results[0].type)
    dtype = type_.element.value

    def into_memory(values: list[Any], scope: Scope) -> None:
        if scope.programs * type_.size < _LARGE:
            step(values, scope)
            return
        view, box = scope.launch.memory.stored_view(store, values, scope)
        operands = [values[slot] for slot in slots]
        if (
            view is not None
            and view.dtype == dtype
            and all(type(array) is np.ndarray and array.dtype == dtype for array in operands)
        ):
            inside = [array if box is None else cropped(array, box) for array in operands]
            if all(nests(array.shape, view.shape) for array in inside):
                values[result] = function(*inside, out=view)
                return
        step(values, scope)

    return into_memory


def _fused_step(fused: FusedSum, plain: Step, result: int) -> Step:
    """Return the step of a sum fused with a product; that of the op if an operand is unknown."""
    terms = [(value.id, value_type(value.type), axes) for value, axes in fused.terms]
    function, rounding = fused.function(), rounding_to(fused.element)

    def step(values: list[Any], scope: Scope) -> None:
        if unknown_of(values[slot] for slot, _, _ in terms) is not None:
            plain(values, scope)
            return
        arrays = [moved(to_array(values[slot], type_), axes) for slot, type_, axes in terms]
        total = function(*arrays)
        values[result] = total if rounding is None else rounding(total)

    return step


def _factored_step(
    factor: Callable[..., Any], extra: list[Any], slots: list[int], type_: ValueType, result: int
) -> Step:
    left, right = slots

    def step(values: list[Any], _scope: Scope) -> None:
        left_value, right_value = values[left], values[right]
        if isinstance(left_value, Unknown) or isinstance(right_value, Unknown):
            values[result] = unknown_of((left_value, right_value))
            return
        values[result] = factor(*extra, left_value, right_value, type_)

    return step


def computed(
    op: Op, function: Callable[..., Any], operands: Iterable[IRValue] | None = None
) -> Step:
    """Return the step that sets a result to a function of operands (None: all), or unknown."""
    slots, result = slots_of(op.operands if operands is None else operands), op.results[0].id

    def step(values: list[Any], _scope: Scope) -> None:
        arguments = [values[slot] for slot in slots]
        unknown = unknown_of(arguments)
        values[result] = function(*arguments) if unknown is None else unknown

    return step


def passed_on(op: Op) -> Step:
    """Return the step that passes an op's operands on as its results."""
    pairs = list(zip(slots_of(op.results), slots_of(op.operands), strict=False))

    def step(values: list[Any], _scope: Scope) -> None:
        for result, slot in pairs:
            values[result] = values[slot]

    return step


def outer_slots(block: Block) -> frozenset[int]:
    """Return the slots of values that a block, with all ops inside, uses but does not define."""
    used: set[int] = set()
    defined: set[int] = set()

    def visit(inner: Block) -> None:
        defined.update(value.id for value in inner.arguments)
        for op in inner.ops:
            used.update(value.id for value in op.operands)
            defined.update(value.id for value in op.results)
            for region in op.regions:
                for nested in region.blocks:
                    visit(nested)

    visit(block)
    return frozenset(used - defined)


def slot_of(op: Op, name: str) -> int | None:
    """Return a named operand's position in the list of values; None without it, or the name."""
    operand = op.optional(name) if KINDS[op.name].has(name) else None
    return None if operand is None else operand.id


def slots_of(values: Iterable[IRValue]) -> tuple[int, ...]:
    """Return the positions of IR values in the list of values."""
    return tuple(value.id for value in values)


_ENDINGS = (Kind.END, Kind.JUMP)


def unevaluated_op(module: Module) -> str | None:
    """Return a sentence on a module's first op that is not implemented, or None."""
    compiler = compiled(module, observed=False)
    for op in module.ops:
        row = KINDS.get(op.name)
        if op.name in SILENT or (row is not None and (not row.group or row.kind in _ENDINGS)):
            continue
        try:
            compiler.step(op)
        except UnsupportedOp as error:
            return str(error).partition(";")[0]
    return None


@once_per_module
def _compilers(_module: Module) -> dict[bool, Compiler]:
    return {}


def compiled(module: Module, *, observed: bool) -> Compiler:
    """Return the module's compiler, created once per value of `observed`."""
    compilers = _compilers(module)
    compiler = compilers.get(observed)
    if compiler is None:
        load_dialects(op.name for op in module.ops)
        compiler = compilers[observed] = Compiler(module, observed=observed)
    return compiler
