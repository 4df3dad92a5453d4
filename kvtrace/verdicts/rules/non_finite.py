"""The rule non-finite: no NaN and no infinity is born that reaches memory.

A call is evaluated with what was recorded of its tensors. Looked for is where an op gives an
infinity for finite operands, or a NaN for operands of which none is a NaN. It counts if, with
another number in its place, a program stores fewer such values: what is masked off later, or
turned into a zero, does no harm.
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
from kvtrace.verdicts.rules.fills import filling
from kvtrace.verdicts.verdict import Verdict

if TYPE_CHECKING:
    from kvtrace.evaluate.registry import Step
    from kvtrace.ir import Op, Value
    from kvtrace.recorded_calls.recorded import Call
    from kvtrace.verdicts.binding import BoundCall

RULE: Final = "non-finite"

_GIVING_BACK: Final = computing("where", "bitcast", "negate", "abs")
"""Ops of floats that give nothing that they were not given."""
_BEARING: Final = (ELEMENTWISE - computing("map") | COMBINING | computing("dot")) - _GIVING_BACK

_MOST_TRIED: Final = 8
_MOST_SHOWN: Final = 4
_MOST_PLACES: Final = 100_000
_NUMBER_INSTEAD: Final = 1.0


def judge(bound: BoundCall) -> Iterable[Verdict]:
    """Return a violation for each op where such a value is born that reaches memory."""
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
    found = births(bound.call, bound.budget.lanes, stored=True)
    if isinstance(found, str):
        yield _unknown(ops[0], found)
        return
    yield from (_violation(bound.call, birth) for birth in found if birth.reaches_memory)


@dataclass(frozen=True, slots=True)
class Birth:
    """Where an op makes a value that is not finite, in one program.

    Attributes:
        op: which op.
        program: the first program of those that count, or else of all; a linear id, x fastest.
        programs: in how many programs it does.
        iteration: the trip of the innermost loop.
        lane: the element of the op's result, the first one.
        number: what it makes.
        operands: what it makes that of, by name: single numbers, or of what is summed up those that
            are not finite, or else the largest.
        reaches_memory: whether a program stores fewer values that are not finite without it.
        from_masked: whether there is none if lanes that masked loads leave out hold another number.
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
    """Return where a call makes values that are not finite, one of an op, in the order of its run.

    Args:
        call: with the contents of its tensors.
        lanes: of memory accesses that an evaluation may take.
        programs: those that are evaluated; None: all.
        stored: leave out those that reach no memory, and where they are from.

    Returns:
        The reason if the end of the evaluation was not reached.

    """
    watch = _Births()
    failure = _evaluated(call, watch, programs, lanes)
    if failure is not None:
        return failure
    found = (_birth(call, watch, op, lanes, stored) for op in watch.births)
    return tuple(birth for birth in found if birth is not None)


def _birth(call: Call, watch: _Births, op: Op, lanes: int, stored: bool) -> Birth | None:
    """Look at an op alone: by itself, and with another number in place of what it makes."""
    programs = watch.births[op]
    bad = [program for program in programs if watch.stored.get(program)]
    first: tuple[int, _Births, _First, bool] | None = None
    for program in bad[:_MOST_TRIED] or ([] if stored else list(programs)[:1]):
        alone = _Births(op)
        if _evaluated(call, alone, (program,), lanes) is not None or alone.first is None:
            continue
        reaches = alone.stored.get(program, 0) < watch.stored.get(program, 0)
        if first is None or reaches:
            first = program, alone, alone.first, reaches
        if reaches:
            break
    if first is None:
        return None
    program, alone, seen, reaches = first
    from_masked = False
    if not stored:
        most = watch.stored.get(program, 0) if reaches else 0
        seen, from_masked = _telling(call, op, program, alone, most, lanes)
    return Birth(
        op, program, len(programs), seen.iteration, seen.lane, seen.number, seen.operands,
        reaches, from_masked,
    )  # fmt: skip


def _telling(
    call: Call, op: Op, program: int, alone: _Births, most: int, lanes: int
) -> tuple[_First, bool]:
    """Return a birth in a program that counts (without it fewer than `most` are stored), or any.

    NaNs come before infinities, and what comes from lanes that masked loads leave out comes last;
    whether it does is returned, too.
    """
    filled = _Births(op, filling=True)
    _evaluated(call, filled, (program,), lanes)
    kinds: dict[tuple[bool, bool], set[_Place]] = {}
    for place, is_nan in alone.places.items():
        kinds.setdefault((place not in filled.places, not is_nan), set()).add(place)
    found = None
    for (from_masked, _), places in sorted(kinds.items(), key=lambda kind: kind[0]):
        some = _Births(op, only=places)
        if _evaluated(call, some, (program,), lanes) is not None or some.first is None:
            continue
        if some.stored.get(program, 0) < most:
            return some.first, from_masked
        found = found or (some.first, from_masked)
    assert alone.first is not None
    return found or (alone.first, False)


def _evaluated(
    call: Call, watch: _Births, programs: Sequence[int] | None, lanes: int
) -> str | None:
    """Run programs, or all; return the reason if the end was not reached."""
    with np.errstate(all="ignore"):
        return run(call, (), programs, contents="all", lanes=lanes, instrument=watch)


_Place = tuple[int, tuple[int, ...]]
"""Trip of the innermost loop, and lane."""


@dataclass(frozen=True)
class _First:
    """Where a value that is not finite came first, and of what."""

    iteration: int
    lane: tuple[int, ...]
    number: float
    operands: tuple[tuple[str, tuple[float, ...]], ...]


class _Births(Instrument):
    """Notes births by op and program, and how many values that are not finite programs store.

    `replaced` is an op whose births are given another number, so that they do not propagate: those
    at `only`, if that is given. `places` has where they are, and whether they are NaNs. With
    `filling`, lanes that masked loads leave out hold that number.
    """

    def __init__(
        self, replaced: Op | None = None, *, filling: bool = False, only: set[_Place] | None = None
    ) -> None:
        super().__init__()
        self._replaced = replaced
        self._filling = filling
        self._only = only
        self.births: dict[Op, dict[int, None]] = {}
        self.first: _First | None = None
        self.places: dict[_Place, bool] = {}
        self.stored: dict[int, int] = {}

    def wrapped(self, op: Op, step: Step) -> Step:
        """Wrap ops of floats, and those that write."""
        if op.name in WRITING and _is_float(op.operand("value")):
            return self._writing(op, step)
        if self._filling and op.name in READING and _is_float(op.results[0]):
            mask = mask_of(op)
            return step if mask is None else filling(op, mask, step, _number)
        return self._bearing(op, step) if _may_bear(op) else step

    def _bearing(self, op: Op, step: Step) -> Step:
        result = op.results[0]
        type_ = value_type(result.type)

        def looked(values: list[Any], scope: Any) -> None:
            given = [(name, value, values[value.id]) for name, value in operands_of(op)]
            step(values, scope)
            made = values[result.id]
            if isinstance(made, Unknown) or not scope.certain:
                return
            numbers = np.asarray(to_array(made, type_))
            if np.isfinite(numbers).all():
                return
            born = _born(op, numbers, given)
            if born is None or not born.any():
                return
            if op is self._replaced and self._only is not None:
                born = self._chosen(born, scope)
                if not born.any():
                    return
            self._note(op, born, numbers, given, scope)
            if op is self._replaced:
                values[result.id] = np.where(born, _number(numbers.shape, numbers.dtype), numbers)

        return looked

    def _note(
        self, op: Op, born: Any, numbers: Any, given: Sequence[tuple[str, Value, Any]], scope: Any
    ) -> None:
        rows = born.reshape(born.shape[0], -1).any(axis=1)
        rows = np.broadcast_to(rows, len(scope.linear))
        found = self.births.setdefault(op, {})
        found.update(dict.fromkeys(int(number) for number in scope.linear[rows]))
        if op is not self._replaced:
            return
        trips = np.broadcast_to(np.asarray(scope.iteration), len(scope.linear))
        places, made = np.argwhere(born), np.broadcast_to(numbers, born.shape)
        for (row, *at), number in zip(places[:_MOST_PLACES].tolist(), made[born], strict=False):
            if len(self.places) > _MOST_PLACES:
                break
            self.places.setdefault((int(trips[row]), tuple(at)), bool(np.isnan(number)))
        if self.first is None:
            row, *lane = place = tuple(places[0].tolist())
            of = tuple(
                (name, _made_of(op, name, value, held, place))
                for name, value, held in given
                if _is_float(value)
            )
            self.first = _First(int(trips[row]), tuple(lane), float(made[place]), of)

    def _chosen(self, born: Any, scope: Any) -> Any:
        """Return which of those that are born, in the one program that runs, are at `only`."""
        assert self._only is not None
        trip = int(np.broadcast_to(np.asarray(scope.iteration), len(scope.linear))[0])
        chosen = np.zeros_like(born)
        for at, lane in self._only:
            if at == trip:
                chosen[(0, *lane)] = True
        return chosen & born

    def _writing(self, op: Op, step: Step) -> Step:
        value, mask = op.operand("value"), mask_of(op)

        def looked(values: list[Any], scope: Any) -> None:
            self._count(values, value, mask, scope)
            step(values, scope)

        return looked

    def _count(self, values: list[Any], value: Value, mask: Value | None, scope: Any) -> None:
        held = values[value.id]
        active = True if mask is None else values[mask.id]
        if isinstance(held, Unknown) or isinstance(active, Unknown):
            return
        bad = ~np.isfinite(np.asarray(to_array(held, value_type(value.type))))
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


def _born(op: Op, numbers: Any, given: Sequence[tuple[str, Value, Any]]) -> Any:
    """Return where a NaN comes from none, or an infinity from finite operands; None: not known."""
    was_nan: Any = np.zeros((1,) * numbers.ndim, bool)
    was_infinite: Any = was_nan
    for name, value, held in given:
        if not _is_float(value):
            continue
        if isinstance(held, Unknown):
            return None
        operand = np.asarray(to_array(held, value_type(value.type)))
        was_nan = was_nan | _spread(op, name, np.isnan(operand), numbers.ndim)
        was_infinite = was_infinite | _spread(op, name, np.isinf(operand), numbers.ndim)
    nan = np.isnan(numbers) & ~was_nan
    return nan | (np.isinf(numbers) & ~was_nan & ~was_infinite)


def _spread(op: Op, name: str, found: Any, rank: int) -> Any:
    """Return which elements of the result depend on those that are marked of an operand."""
    kind = KINDS[op.name].kind
    if op.name in COMBINING:
        axis = number_of(op, "axis") + 1
        return found.any(axis=axis, keepdims=kind is Kind.SCAN)
    if kind is Kind.PRODUCT and name in ("left", "right"):
        return found.any(axis=rank - 1 if name == "left" else rank - 2, keepdims=True)
    if found.ndim < rank:
        return found.reshape(found.shape + (1,) * (rank - found.ndim))
    return found


def _made_of(
    op: Op, name: str, value: Value, held: Any, place: tuple[int, ...]
) -> tuple[float, ...]:
    """Return what an element of the result was made of, of one operand."""
    numbers = np.asarray(to_array(held, value_type(value.type)))
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
        0 if size == 1 and isinstance(where, int) else where
        for where, size in zip(at, shape, strict=False)
    ]
    found = np.atleast_1d(numbers[tuple(at)]).reshape(-1).astype(np.float64)
    if len(found) > _MOST_SHOWN:
        size = np.where(np.isfinite(found), np.abs(found), np.inf)
        found = found[np.sort(np.argsort(-size, kind="stable")[:_MOST_SHOWN])]
    return tuple(map(float, found))


# -- messages -----------------------------------------------------------------------------------


def _unknown(op: Op, reason: str) -> Verdict:
    message = f"whether a NaN or an infinity is born could not be decided: {reason}"
    return Verdict(RULE, "unknown", op, message, reason=reason)


def _violation(call: Call, birth: Birth) -> Verdict:
    op = birth.op
    others = f"; in {birth.programs} programs" if birth.programs > 1 else ""
    finite = "of which none is a NaN" if np.isnan(birth.number) else "that are finite"
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
