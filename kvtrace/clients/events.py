"""One op and its values, as a client's hook gets them: arrays over a batch of programs."""

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
    """A client gave something that cannot represent the result of an op."""

    slug = "bad-override"


class Values(Sequence["Array | None"]):
    """Values of a batch of programs, each made when it is asked for.

    Arrays of shape (programs, *block), read-only. Pointers: byte offsets from the data pointer of
    the argument that they go into. None: not known, or no numbers (descriptors).
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
    """An op as a batch of programs reaches it.

    Attributes:
        op: the op: `name`, `index`, `attributes`; `source_stack(op)` says where it is from.
        programs: linear ids (x fastest) of the programs that reach it.
        iteration: trip of the innermost loop around it, an int or one per program.
        certain: False where it is not known whether the programs get here.
        operands: see `Values`.

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
    def iteration(self) -> int | NDArray[np.int64]:
        """Trip of the innermost loop around the op, an int or one per program."""
        found: int | NDArray[np.int64] = self._scope.iteration
        return found

    @property
    def certain(self) -> bool:
        """Whether it is known that the programs get here."""
        return self._scope.certain

    @property
    def results(self) -> Values:
        """What the op computed; nothing before it has."""
        return Values(self._values, self.op.results if self.computed else (), self._scope.programs)

    def compute(self) -> Values:
        """In an override: compute the op as it is, and return its results.

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
    """Return a step that has `override` compute the op's results.

    Raises:
        BadOverride: the op has regions, or results that are not numbers.

    """
    types = [value_type(value.type) for value in op.results]
    if op.regions or any(type_.pointer or type_.descriptor for type_ in types):
        raise BadOverride(
            f"{op.name} cannot be overridden: only ops without regions, whose results are numbers"
        )

    def replaced(values: list[Any], scope: Scope) -> None:
        event = OpEvent(op, values, scope, lambda: step(values, scope))
        given = override(event)
        if given is None:
            if op.results:
                event.compute()
            return
        results = given if isinstance(given, tuple) else (given,)
        if len(results) != len(op.results):
            raise BadOverride(
                f"an override of {op.name} gave {len(results)} results; it has {len(op.results)}"
            )
        for value, type_, result in zip(op.results, types, results, strict=True):
            values[value.id] = _held(op, result, type_, scope.programs)

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


def _held(op: Op, given: Any, type_: ValueType, programs: int) -> Array:
    """Hold what a client gave as the evaluator holds values: rounded, of its dtype, whole."""
    shape = (programs, *type_.shape)
    try:
        array = np.broadcast_to(np.asarray(given), shape).astype(type_.element.value)
    except (TypeError, ValueError) as error:
        raise BadOverride(
            f"an override of {op.name} gave {np.shape(given)}, which does not fit {shape}"
        ) from error
    rounded = rounding_to(type_.element)
    return array if rounded is None else rounded(array)
