"""The rule non-finite: no NaN and no infinity is born that reaches memory.

A call is evaluated with what was recorded of its tensors. Looked for is where an op gives an
infinity for finite operands, or a NaN for operands of which none is a NaN. It counts if, with
another number in its place, a program stores fewer such values: what is masked off later, or
turned into a zero, does no harm.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
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
    WRITING,
    Kind,
    computing,
    mask_of,
    operands_of,
)
from kvtrace.ir.types import FloatType
from kvtrace.symbolic.walk_types import element_of, number_of
from kvtrace.verdicts.replaying import holds_floats, program_at, run
from kvtrace.verdicts.verdict import Verdict

if TYPE_CHECKING:
    from kvtrace.evaluate.registry import Step
    from kvtrace.ir import Op, Value
    from kvtrace.verdicts.binding import BoundCall

RULE: Final = "non-finite"

_GIVING_BACK: Final = computing("where", "bitcast", "negate", "abs")
"""Ops of floats that give nothing that they were not given."""
_BEARING: Final = (ELEMENTWISE - computing("map") | COMBINING | computing("dot")) - _GIVING_BACK

_MOST_TRIED: Final = 8
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
    watch = _Births()
    failure = _evaluated(bound, watch, None)
    if failure is not None:
        yield _unknown(ops[0], failure)
        return
    yield from _that_count(bound, watch)


def _that_count(bound: BoundCall, watch: _Births) -> Iterator[Verdict]:
    """Return the births without which less that is not finite is stored; the first of a program."""
    for op, programs in watch.births.items():
        bad = [program for program in programs if watch.stored.get(program)]
        for program in bad[:_MOST_TRIED]:
            alone = _Births(op)
            if _evaluated(bound, alone, program) is not None or alone.first is None:
                continue
            if alone.stored.get(program, 0) < watch.stored[program]:
                yield _violation(bound, op, alone.first, program, len(programs))
                break


def _evaluated(bound: BoundCall, watch: _Births, program: int | None) -> str | None:
    """Run a program, or all; give the reason in words where the end was not reached."""
    programs = None if program is None else (program,)
    lanes = bound.budget.lanes
    with np.errstate(all="ignore"):
        return run(bound.call, (), programs, contents="all", lanes=lanes, instrument=watch)


@dataclass(frozen=True)
class _Birth:
    """Where a value that is not finite came first: trip of the innermost loop, lane, and which."""

    iteration: int
    lane: tuple[int, ...]
    number: float


class _Births(Instrument):
    """Notes births by op and program, and how many values that are not finite programs store.

    `replaced` is an op whose births are given another number, so that they do not go on.
    """

    def __init__(self, replaced: Op | None = None) -> None:
        super().__init__()
        self._replaced = replaced
        self.births: dict[Op, dict[int, None]] = {}
        self.first: _Birth | None = None
        self.stored: dict[int, int] = {}

    def wrapped(self, op: Op, step: Step) -> Step:
        """Stand around ops of floats, and around those that write."""
        if op.name in WRITING and _is_float(op.operand("value")):
            return self._writing(op, step)
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
            self._note(op, born, numbers, scope)
            if op is self._replaced:
                values[result.id] = np.where(born, numbers.dtype.type(_NUMBER_INSTEAD), numbers)

        return looked

    def _note(self, op: Op, born: Any, numbers: Any, scope: Any) -> None:
        rows = born.reshape(born.shape[0], -1).any(axis=1)
        rows = np.broadcast_to(rows, len(scope.linear))
        found = self.births.setdefault(op, {})
        found.update(dict.fromkeys(int(number) for number in scope.linear[rows]))
        if op is self._replaced and self.first is None:
            row, *lane = map(int, np.argwhere(born)[0])
            number = float(np.broadcast_to(numbers, born.shape)[(row, *lane)])
            trips = np.broadcast_to(np.asarray(scope.iteration), len(scope.linear))
            self.first = _Birth(int(trips[row]), tuple(lane), number)

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


# -- what is said -------------------------------------------------------------------------------


def _unknown(op: Op, reason: str) -> Verdict:
    message = f"whether a NaN or an infinity is born could not be decided: {reason}"
    return Verdict(RULE, "unknown", op, message, reason=reason)


def _violation(bound: BoundCall, op: Op, birth: _Birth, program: int, programs: int) -> Verdict:
    others = f"; in {programs} programs" if programs > 1 else ""
    finite = "of which none is a NaN" if np.isnan(birth.number) else "that are finite"
    what = "a NaN" if np.isnan(birth.number) else f"{birth.number:+}"
    return Verdict(
        RULE,
        "violation",
        op,
        f"{op.name} gives {what} for operands {finite}, and it reaches memory{others}",
        "evaluated",
        program=program_at(program, bound.call.grid),
        iteration=birth.iteration,
        lane=birth.lane,
    )
