"""The rule non-finite: no op makes a NaN or an infinity that reaches memory.

A call is evaluated with the recorded contents of its tensors. A *birth* is an infinity that an op
makes of finite operands, or a NaN that an op makes of operands without a NaN. A birth reaches
memory if a program stores fewer NaNs and infinities once the born value is replaced by 1: a value
that is masked off later, or multiplied by zero, does no harm.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from kvtrace.evaluate.instrument import Instrument
from kvtrace.evaluate.types import value_type
from kvtrace.evaluate.values import Unknown, to_array
from kvtrace.ir.ops import (
    COMBINING,
    ELEMENTWISE,
    KINDS,
    READING,
    WRITING,
    Kind,
    computing,
    mask_of,
    operands_of,
)
from kvtrace.ir.types import FloatType
from kvtrace.symbolic.walk_types import element_of, number_of
from kvtrace.verdicts.replaying import holds_floats, program_at, run
from kvtrace.verdicts.rules.fills import filling_masked
from kvtrace.verdicts.verdict import Verdict

if TYPE_CHECKING:
    from kvtrace.evaluate.registry import Step
    from kvtrace.ir import Op, Value
    from kvtrace.recorded_calls.recorded import Call
    from kvtrace.verdicts.binding import BoundCall

RULE: Final = "non-finite"

_PASSING: Final = computing("where", "bitcast", "negate", "abs")
"""Ops that only pass on NaNs and infinities."""
_BEARING: Final = (ELEMENTWISE - computing("map") | COMBINING | computing("dot")) - _PASSING

_MOST_TRIED: Final = 8
_MOST_SHOWN: Final = 4
_MOST_PLACES: Final = 100_000
_NUMBER_INSTEAD: Final = 1.0


def judge(bound: BoundCall) -> Iterable[Verdict]:
    """Yield a violation for each op that makes a NaN or an infinity that reaches memory."""
    ops = [op for op in bound.call.module.ops if _may_bear(op)]
    if not ops or not bound.programs:
        return
    if not holds_floats(bound.call):
        reason = "it depends on floats, which were not recorded (KVTRACE_TENSORS=all records them)"
        yield _unknown(ops[0], reason)
        return
    if bound.lanes > bound.budget.lanes:
        reason = (
            f"evaluating {bound.lanes:,} lanes would be more than the budget of "
            f"{bound.budget.lanes:,}"
        )
        yield _unknown(ops[0], reason)
        return
    born = births(bound.call, bound.budget.lanes, stored=True)
    if isinstance(born, str):
        yield _unknown(ops[0], born)
        return
    yield from (_violation(bound.call, birth) for birth in born if birth.reaches_memory)


@dataclass(frozen=True, slots=True)
class Birth:
    """An op that makes a NaN or an infinity, and the first place where it does.

    Attributes:
        op: the op.
        program: the first program in which a birth reaches memory, else the first with a birth; a
            linear id, x fastest.
        programs: the number of programs with a birth.
        iteration: the trip of the innermost loop.
        lane: the first such element of the op's result.
        number: the NaN or infinity.
        operands: the element's operands, by name: single numbers, or of a sum's summands the ones
            that are not finite, else the largest.
        reaches_memory: whether a program stores fewer NaNs and infinities without this birth.
        from_masked: whether the birth vanishes if undefined lanes of masked loads hold 1.
    """

    op: Op
    program: int
    programs: int
    iteration: int
    lane: tuple[int, ...]
    number: float
    operands: tuple[tuple[str, tuple[float, ...]], ...]
    reaches_memory: bool
    from_masked: bool


def births(
    call: Call, lanes: int, programs: Sequence[int] | None = None, *, stored: bool = False
) -> tuple[Birth, ...] | str:
    """Return one birth for each op that makes NaNs or infinities, in the order of evaluation.

    Args:
        call: the call, with the contents of its tensors.
        lanes: limit on the lanes of memory accesses that an evaluation takes.
        programs: linear ids of the programs to evaluate; None: all.
        stored: leave out births that reach no memory, and do not determine `from_masked`.

    Returns:
        The births, or the reason if the evaluation ended early.

    """
    watch = _BirthWatch()
    failure = _evaluated(call, watch, programs, lanes)
    if failure is not None:
        return failure
    born = (_birth(call, watch, op, lanes, stored) for op in watch.births)
    return tuple(birth for birth in born if birth is not None)


def _birth(call: Call, watch: _BirthWatch, op: Op, lanes: int, stored: bool) -> Birth | None:
    """Return an op's birth, after runs of single programs with the born values replaced."""
    programs = watch.births[op]
    storing = [program for program in programs if watch.stored.get(program)]
    first: tuple[int, _BirthWatch, _FirstBirth, bool] | None = None
    for program in storing[:_MOST_TRIED] or ([] if stored else list(programs)[:1]):
        alone = _BirthWatch(op)
        if _evaluated(call, alone, (program,), lanes) is not None or alone.first is None:
            continue
        reaches = alone.stored.get(program, 0) < watch.stored.get(program, 0)
        if first is None or reaches:
            first = program, alone, alone.first, reaches
        if reaches:
            break
    if first is None:
        return None
    program, alone, birth, reaches = first
    from_masked = False
    if not stored:
        most = watch.stored.get(program, 0) if reaches else 0
        birth, from_masked = _relevant_birth(call, op, program, alone, most, lanes)
    return Birth(
        op, program, len(programs), birth.iteration, birth.lane, birth.number, birth.operands,
        reaches, from_masked,
    )  # fmt: skip


def _relevant_birth(
    call: Call, op: Op, program: int, alone: _BirthWatch, most: int, lanes: int
) -> tuple[_FirstBirth, bool]:
    """Return a birth in a program, and whether it comes from undefined lanes of masked loads.

    A birth without which the program stores fewer than `most` bad values is preferred. Of those, a
    NaN is preferred to an infinity, and one that does not come from undefined lanes to one that
    does.
    """
    filled = _BirthWatch(op, filling=True)
    _evaluated(call, filled, (program,), lanes)
    kinds: dict[tuple[bool, bool], set[_Place]] = {}
    for place, is_nan in alone.places.items():
        kinds.setdefault((place not in filled.places, not is_nan), set()).add(place)
    fallback = None
    for (from_masked, _), places in sorted(kinds.items(), key=lambda kind: kind[0]):
        some = _BirthWatch(op, only=places)
        if _evaluated(call, some, (program,), lanes) is not None or some.first is None:
            continue
        if some.stored.get(program, 0) < most:
            return some.first, from_masked
        fallback = fallback or (some.first, from_masked)
    assert alone.first is not None
    return fallback or (alone.first, False)


def _evaluated(
    call: Call, watch: _BirthWatch, programs: Sequence[int] | None, lanes: int
) -> str | None:
    """Run programs (None: all); return the reason if the evaluation ended early."""
    with np.errstate(all="ignore"):
        return run(call, (), programs, contents="all", lanes=lanes, instrument=watch)


_Place = tuple[int, tuple[int, ...]]
"""Trip of the innermost loop, and lane."""

_Operand = tuple[str, "Value", Any]
"""Name of an operand, its value, and the value's contents in an evaluation."""


@dataclass(frozen=True)
class _FirstBirth:
    """First birth of an op in an evaluation, with its operands."""

    iteration: int
    lane: tuple[int, ...]
    number: float
    operands: tuple[tuple[str, tuple[float, ...]], ...]


class _BirthWatch(Instrument):
    """Records births by op and program, and counts the NaNs and infinities that programs store.

    The births of op `replaced` (if `only` is set, those at its places) become 1, so that they do
    not propagate; `places` records where they are, and whether they are NaNs. With `filling`,
    undefined lanes of masked loads hold 1, too.
    """

    def __init__(
        self, replaced: Op | None = None, *, filling: bool = False, only: set[_Place] | None = None
    ) -> None:
        super().__init__()
        self._replaced = replaced
        self._filling = filling
        self._only = only
        self.births: dict[Op, dict[int, None]] = {}
        self.first: _FirstBirth | None = None
        self.places: dict[_Place, bool] = {}
        self.stored: dict[int, int] = {}

    def wrapped(self, op: Op, step: Step) -> Step:
        """Wrap ops of floats, and those that write."""
        if op.name in WRITING and _is_float(op.operand("value")):
            return self._writing(op, step)
        if self._filling and op.name in READING and _is_float(op.results[0]):
            mask = mask_of(op)
            return step if mask is None else filling_masked(op, mask, step, _number)
        return self._bearing(op, step) if _may_bear(op) else step

    def _bearing(self, op: Op, step: Step) -> Step:
        result = op.results[0]
        type_ = value_type(result.type)

        def watched(values: list[Any], scope: Any) -> None:
            operands = [(name, value, values[value.id]) for name, value in operands_of(op)]
            step(values, scope)
            computed = values[result.id]
            if isinstance(computed, Unknown) or not scope.certain:
                return
            numbers = np.asarray(to_array(computed, type_))
            if np.isfinite(numbers).all():
                return
            born = _born(op, numbers, operands)
            if born is None or not born.any():
                return
            if op is self._replaced and self._only is not None:
                born = self._at_places(born, scope)
                if not born.any():
                    return
            self._record(op, born, numbers, operands, scope)
            if op is self._replaced:
                values[result.id] = np.where(born, _number(numbers.shape, numbers.dtype), numbers)

        return watched

    def _record(
        self, op: Op, born: Any, numbers: Any, operands: Sequence[_Operand], scope: Any
    ) -> None:
        rows = born.reshape(born.shape[0], -1).any(axis=1)
        rows = np.broadcast_to(rows, len(scope.linear))
        programs = self.births.setdefault(op, {})
        programs.update(dict.fromkeys(int(number) for number in scope.linear[rows]))
        if op is not self._replaced:
            return
        trips = np.broadcast_to(np.asarray(scope.iteration), len(scope.linear))
        places, results = np.argwhere(born), np.broadcast_to(numbers, born.shape)
        for (row, *at), number in zip(places[:_MOST_PLACES].tolist(), results[born], strict=False):
            if len(self.places) > _MOST_PLACES:
                break
            self.places.setdefault((int(trips[row]), tuple(at)), bool(np.isnan(number)))
        if self.first is None:
            row, *lane = place = tuple(places[0].tolist())
            elements = tuple(
                (name, _elements_of(op, name, value, contents, place))
                for name, value, contents in operands
                if _is_float(value)
            )
            self.first = _FirstBirth(int(trips[row]), tuple(lane), float(results[place]), elements)

    def _at_places(self, born: Any, scope: Any) -> Any:
        """Return the births of the one program that runs that are at `only`."""
        assert self._only is not None
        trip = int(np.broadcast_to(np.asarray(scope.iteration), len(scope.linear))[0])
        selected = np.zeros_like(born)
        for at, lane in self._only:
            if at == trip:
                selected[(0, *lane)] = True
        return selected & born

    def _writing(self, op: Op, step: Step) -> Step:
        value, mask = op.operand("value"), mask_of(op)

        def counted(values: list[Any], scope: Any) -> None:
            self._count(values, value, mask, scope)
            step(values, scope)

        return counted

    def _count(self, values: list[Any], value: Value, mask: Value | None, scope: Any) -> None:
        stored = values[value.id]
        active = True if mask is None else values[mask.id]
        if isinstance(stored, Unknown) or isinstance(active, Unknown):
            return
        bad = ~np.isfinite(np.asarray(to_array(stored, value_type(value.type))))
        if mask is not None:
            bad = bad & to_array(active, value_type(mask.type))
        if not bad.any():
            return
        shape = (bad.shape[0], *value_type(value.type).shape)
        counts = np.broadcast_to(bad, shape).reshape(bad.shape[0], -1).sum(axis=1)
        for number, count in zip(
            scope.linear, np.broadcast_to(counts, len(scope.linear)), strict=True
        ):
            if count:
                self.stored[int(number)] = self.stored.get(int(number), 0) + int(count)


def _number(_shape: tuple[int, ...], dtype: Any) -> Any:
    return dtype.type(_NUMBER_INSTEAD)


def _may_bear(op: Op) -> bool:
    if not op.results or not op.operands or not _is_float(op.results[0]):
        return False
    return op.name in _BEARING


def _is_float(value: Value) -> bool:
    return isinstance(element_of(value.type), FloatType)


def _born(op: Op, numbers: Any, operands: Sequence[_Operand]) -> Any:
    """Return a mask of the births among an op's results, or None if an operand is unknown."""
    was_nan: Any = np.zeros((1,) * numbers.ndim, bool)
    was_infinite: Any = was_nan
    for name, value, contents in operands:
        if not _is_float(value):
            continue
        if isinstance(contents, Unknown):
            return None
        operand = np.asarray(to_array(contents, value_type(value.type)))
        was_nan = was_nan | _spread(op, name, np.isnan(operand), numbers.ndim)
        was_infinite = was_infinite | _spread(op, name, np.isinf(operand), numbers.ndim)
    nan = np.isnan(numbers) & ~was_nan
    return nan | (np.isinf(numbers) & ~was_nan & ~was_infinite)


def _spread(op: Op, name: str, marks: Any, rank: int) -> Any:
    """Return a mask of the result's elements that depend on marked elements of an operand."""
    kind = KINDS[op.name].kind
    if op.name in COMBINING:
        axis = number_of(op, "axis") + 1
        return marks.any(axis=axis, keepdims=kind is Kind.SCAN)
    if kind is Kind.PRODUCT and name in ("left", "right"):
        return marks.any(axis=rank - 1 if name == "left" else rank - 2, keepdims=True)
    if marks.ndim < rank:
        return marks.reshape(marks.shape + (1,) * (rank - marks.ndim))
    return marks


def _elements_of(
    op: Op, name: str, value: Value, contents: Any, place: tuple[int, ...]
) -> tuple[float, ...]:
    """Return the elements of an operand that an element of the result was computed from."""
    numbers = np.asarray(to_array(contents, value_type(value.type)))
    kind = KINDS[op.name].kind
    at: list[Any] = list(place)
    if op.name in COMBINING:
        axis = number_of(op, "axis") + 1
        at[axis:axis] = [slice(None)] if kind is not Kind.SCAN else []
        if kind is Kind.SCAN:
            at[axis] = slice(0, place[axis] + 1)
    elif kind is Kind.PRODUCT and name in ("left", "right"):
        at[-1 if name == "left" else -2] = slice(None)
    shape = numbers.shape
    at = [
        0 if size == 1 and isinstance(index, int) else index
        for index, size in zip(at, shape, strict=False)
    ]
    elements = np.atleast_1d(numbers[tuple(at)]).reshape(-1).astype(np.float64)
    if len(elements) > _MOST_SHOWN:
        size = np.where(np.isfinite(elements), np.abs(elements), np.inf)
        elements = elements[np.sort(np.argsort(-size, kind="stable")[:_MOST_SHOWN])]
    return tuple(map(float, elements))


# -- messages -----------------------------------------------------------------------------------


def _unknown(op: Op, reason: str) -> Verdict:
    message = f"whether a NaN or an infinity reaches memory could not be decided: {reason}"
    return Verdict(RULE, "unknown", op, message, reason=reason)


def _violation(call: Call, birth: Birth) -> Verdict:
    op = birth.op
    others = f"; in {birth.programs} programs" if birth.programs > 1 else ""
    finite = "without a NaN" if np.isnan(birth.number) else "that are finite"
    what = "a NaN" if np.isnan(birth.number) else f"{birth.number:+}"
    return Verdict(
        RULE,
        "violation",
        op,
        f"{op.name} gives {what} for operands {finite}, and it reaches memory{others}",
        "evaluated",
        program=program_at(birth.program, call.grid),
        iteration=birth.iteration,
        lane=birth.lane,
    )
