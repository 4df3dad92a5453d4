"""An op with its values as passed to a client's method: arrays over a batch of programs."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any, overload

import numpy as np
from numpy.typing import NDArray

from kvtrace.clients.client import StepFailed
from kvtrace.evaluate.errors import UnsupportedOp
from kvtrace.evaluate.registry import Step
from kvtrace.evaluate.rounding import rounding_to
from kvtrace.evaluate.scope import Scope
from kvtrace.evaluate.types import ValueType, value_type
from kvtrace.evaluate.values import Pointer, Sum, sum_of_terms, to_array
from kvtrace.ir import Op, Value
from kvtrace.schema.errors import KvtraceError

Array = NDArray[Any]


class BadOverride(KvtraceError):
    """Raised when a client's override returns a value that cannot be the op's result."""

    slug = "bad-override"


class Values(Sequence["Array | None"]):
    """The operands or results of an op in a batch of programs, converted when they are read.

    Values are read-only arrays of shape (programs, *block). Pointers are byte offsets from the data
    pointer of their argument. None stands for an unknown value or a descriptor.
    """

    def __init__(self, values: list[Any], of: tuple[Value, ...], programs: int) -> None:
        self._values = values
        self._of = of
        self._programs = programs

    def __len__(self) -> int:
        return len(self._of)

    @overload
    def __getitem__(self, index: int) -> Array | None: ...
    @overload
    def __getitem__(self, index: slice) -> list[Array | None]: ...
    def __getitem__(self, index: int | slice) -> Array | list[Array | None] | None:
        if isinstance(index, slice):
            return [self[position] for position in range(len(self))[index]]
        value = self._of[index]
        return _array(self._values[value.id], value, self._programs)

    def __iter__(self) -> Iterator[Array | None]:
        return (self[position] for position in range(len(self)))


class OpEvent:
    """An op executed by a batch of programs.

    Attributes:
        op: the op: `name`, `index`, `attributes`; `source_stack(op)` returns its source lines.
        programs: linear ids (x fastest) of the programs that reach the op.
        iteration: index of the innermost loop's iteration, an int or one for each program.
        certain: whether it is known that the programs reach the op.
        operands: the operands; see `Values`.

    """

    __slots__ = ("_compute", "_scope", "_values", "computed", "op", "operands")

    def __init__(
        self, op: Op, values: list[Any], scope: Scope, compute: Callable[[], None] | None = None
    ) -> None:
        self.op = op
        self.operands = Values(values, op.operands, scope.programs)
        self.computed = compute is None
        self._values = values
        self._scope = scope
        self._compute = compute

    @property
    def programs(self) -> NDArray[np.int64]:
        """Linear ids (x fastest) of the programs that reach the op."""
        return self._scope.linear

    @property
    def iteration(self) -> int:
        """Index of the innermost loop's iteration."""
        return self._scope.iteration

    @property
    def certain(self) -> bool:
        """It is known that the programs reach the op."""
        return self._scope.certain

    @property
    def results(self) -> Values:
        """The results of the op; empty before the op is computed."""
        return Values(self._values, self.op.results if self.computed else (), self._scope.programs)

    def compute(self) -> Values:
        """Compute the op as without an override, and return its results.

        Raises:
            StepFailed: the op cannot be evaluated.

        """
        if not self.computed and self._compute is not None:
            try:
                self._compute()
            except KvtraceError as error:
                raise StepFailed(error) from error
            self.computed = True
        return self.results


def overridden(op: Op, step: Step, override: Callable[[OpEvent], Any]) -> Step:
    """Return an evaluation step in which `override` computes the op's results.

    If it returns None, the op is computed as usual.

    Raises:
        BadOverride: the op has regions, or a result that is not a number.

    """
    types = [value_type(value.type) for value in op.results]
    if op.regions or any(type_.pointer or type_.descriptor for type_ in types):
        raise BadOverride(
            f"{op.name} cannot be overridden: it has regions, or results that are not numbers"
        )

    def replaced(values: list[Any], scope: Scope) -> None:
        event = OpEvent(op, values, scope, lambda: step(values, scope))
        returned = override(event)
        if returned is None:
            if op.results:
                event.compute()
            return
        results = returned if isinstance(returned, tuple) else (returned,)
        if len(results) != len(op.results):
            raise BadOverride(
                f"an override of {op.name} returned {len(results)} results; the op has "
                f"{len(op.results)}"
            )
        for value, type_, result in zip(op.results, types, results, strict=True):
            values[value.id] = _evaluator_value(op, result, type_, scope.programs)

    return replaced


def _array(value: Any, of: Value, programs: int) -> Array | None:
    try:
        type_ = value_type(of.type)
        if isinstance(value, Pointer):
            if not isinstance(value.offset, Sum):
                return None
            array = np.asarray(sum_of_terms(value.offset), np.int64)
        else:
            array = to_array(value, type_)
    except UnsupportedOp:
        return None
    if array.ndim == 0:
        array = array.reshape((1,) * (len(type_.shape) + 1))
    return np.broadcast_to(array, (programs, *type_.shape))


def _evaluator_value(op: Op, result: Any, type_: ValueType, programs: int) -> Array:
    """Return a client's result rounded to the op's type, in the shape (programs, *block)."""
    shape = (programs, *type_.shape)
    try:
        array = np.broadcast_to(np.asarray(result), shape).astype(type_.element.value)
    except (TypeError, ValueError) as error:
        raise BadOverride(
            f"an override of {op.name} returned {np.shape(result)}, which does not fit {shape}"
        ) from error
    rounded = rounding_to(type_.element)
    return array if rounded is None else rounded(array)
