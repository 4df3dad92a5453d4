"""The rule non-finite: an op makes a NaN or an infinity that reaches memory.

A call is evaluated with the recorded contents of its tensors. A *birth* is an infinity that an op
makes of finite operands, or a NaN that an op makes of operands without a NaN. A birth reaches
memory if a program stores fewer NaNs, or fewer NaNs and infinities, when the new value is replaced
by 1: a value that is masked off later, or multiplied by zero, does no harm; a NaN does where an
infinity belongs. If that holds of no birth alone, as
of two NaNs in one sum, it does of those with which more are stored than if all were replaced.
Floats that a conversion to integers loses are in `conversions.py`.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, Final

import numpy as np
from msgspec import Struct

from kvtrace.evaluate.dialects.arith_casts import integers_of
from kvtrace.evaluate.instrument import Instrument
from kvtrace.evaluate.registry import Step
from kvtrace.evaluate.scope import program_at
from kvtrace.evaluate.types import ElementType, value_type
from kvtrace.evaluate.values import Unknown, to_array, with_rank
from kvtrace.ir import Op, Value
from kvtrace.ir.model import number_of
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
from kvtrace.ir.types import FloatType, element_of
from kvtrace.recorded_calls.recorded import Call
from kvtrace.verdicts.binding import BoundCall
from kvtrace.verdicts.replaying import holds_floats, run
from kvtrace.verdicts.rules.conversions import (
    LostFloat,
    lost_floats,
    stored_numbers,
)
from kvtrace.verdicts.rules.fills import filling_masked
from kvtrace.verdicts.verdict import Verdict, Witness

RULE: Final = "non-finite"

_FORWARDING: Final = computing("where", "bitcast", "negate", "abs")
"""Ops that only forward NaNs and infinities."""
_PRODUCING: Final = (ELEMENTWISE - computing("map") | COMBINING | computing("dot")) - _FORWARDING

_MAX_PROGRAMS: Final = 8
_MAX_OPERANDS: Final = 4
_MAX_PLACES: Final = 100_000
_REPLACEMENT: Final = 1.0


def judge(bound: BoundCall) -> Iterable[Verdict]:
    """Yield a violation for each op that makes a NaN or an infinity which reaches memory."""
    ops = [op for op in bound.call.module.ops if _may_make_bad_values(op) or integers_of(op)]
    if not ops or not bound.programs:
        return
    if not holds_floats(bound.call) and _reads_unrecorded(bound):
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
    births_found = births(bound.call, bound.budget.lanes)
    if isinstance(births_found, str):
        yield _unknown(ops[0], births_found)
        return
    yield from (_violation(bound.call, birth) for birth in births_found)
    lost = lost_floats(bound.call, bound.budget.lanes)
    if isinstance(lost, str):
        yield _unknown(ops[0], lost)
        return
    yield from map(_loss, lost)


class Birth(Struct, frozen=True):
    """A NaN or infinity that an op makes and that reaches memory, at the first such place.

    Attributes:
        op: the op.
        program: the first program in which a birth reaches memory; a linear id, x fastest.
        programs: the number of programs with a birth.
        iteration: the trip of the innermost loop.
        lane: the first such element of the op's result.
        number: the NaN or infinity.
        operands: the element's operands, by name: single numbers, or of a sum's summands the ones
            that are not finite, else the largest.
        from_masked: whether the birth vanishes if undefined lanes of masked loads hold 1; False
            also if not asked for.
    """

    op: Op
    program: int
    programs: int
    iteration: int
    lane: tuple[int, ...]
    number: float
    operands: tuple[tuple[str, tuple[float, ...]], ...]
    from_masked: bool


def births(
    call: Call, lanes: int, programs: Sequence[int] | None = None, *, with_masks: bool = False
) -> tuple[Birth, ...] | str:
    """Return one birth for each op that makes NaNs or infinities that reach memory, in order.

    Args:
        call: the call, with the contents of its tensors.
        lanes: limit on the lanes of memory accesses that an evaluation takes.
        programs: linear ids of the programs to evaluate; None: all.
        with_masks: whether to find `from_masked`, and of an op's births one that it is not true of.

    Returns:
        The births, or the reason if the evaluation ended early.

    """
    watch = _BirthRecorder()
    failure = run(call, (), programs, contents="all", lanes=lanes, instrument=watch)
    if failure is not None:
        return failure
    for kept in (False, True):
        found = (_birth(call, watch, op, lanes, with_masks, kept=kept) for op in watch.births)
        births_found = tuple(birth for birth in found if birth is not None)
        if births_found:
            break
    return births_found


def _birth(
    call: Call, whole_run: _BirthRecorder, op: Op, lanes: int, with_masks: bool, *, kept: bool
) -> Birth | None:
    """Return an op's birth, from runs of single programs with the new values replaced; or None.

    `kept`: those of all other ops are replaced.
    """
    programs = whole_run.births[op]
    storing_programs = [program for program in programs if whole_run.stored.get(program)]
    for program in storing_programs[:_MAX_PROGRAMS]:
        single_run = _run_of(call, op, program, lanes, kept=kept)
        if single_run.first is None:
            continue
        stored_count, bad_count = whole_run.stored[program], single_run.stored_in(program)
        if kept:
            no_births = _run_of(call, None, program, lanes, kept=True)
            stored_count = _fewest(stored_count, bad_count)  # the others may have guarded it
            bad_count = no_births.stored_in(program)
        if _is_fewer(bad_count, stored_count):
            birth, from_masked = single_run.first, False
            if with_masks and not kept:
                birth, from_masked = _relevant_birth(
                    call, op, program, single_run, stored_count, lanes
                )
            return Birth(
                op, program, len(programs), birth.iteration, birth.lane, birth.number,
                birth.operands, from_masked,
            )  # fmt: skip
    return None


def _run_of(call: Call, op: Op | None, program: int, lanes: int, **changes: Any) -> _BirthRecorder:
    """Return a recorder of a run of one program; it has no `first` place if that ended early."""
    recorder = _BirthRecorder(op, **changes)
    if run(call, (), (program,), contents="all", lanes=lanes, instrument=recorder) is not None:
        recorder.first = None
    return recorder


def _relevant_birth(
    call: Call, op: Op, program: int, single_run: _BirthRecorder, stored_count: _Count, lanes: int
) -> tuple[_FirstPlace, bool]:
    """Return an op's birth in a program, and whether undefined lanes of masked loads cause it.

    A birth is preferred without which the program stores fewer than `stored_count` bad values. Of
    those, a NaN is preferred to an infinity, and a birth that undefined lanes do not cause to one
    that they cause.
    """
    filled_run = _run_of(call, op, program, lanes, filling=True)
    places_by_kind: dict[tuple[bool, bool], set[_Place]] = {}
    for place, is_nan in single_run.places.items():
        places_by_kind.setdefault((place not in filled_run.places, not is_nan), set()).add(place)
    fallback = None
    for (from_masked, _), places in sorted(places_by_kind.items(), key=lambda kind: kind[0]):
        partial_run = _run_of(call, op, program, lanes, only=places)
        if partial_run.first is None:
            continue
        if _is_fewer(partial_run.stored_in(program), stored_count):
            return partial_run.first, from_masked
        fallback = fallback or (partial_run.first, from_masked)
    assert single_run.first is not None
    return fallback or (single_run.first, False)


_Place = tuple[int, tuple[int, ...]]
"""Trip of the innermost loop, and lane."""

_Count = tuple[int, int]
"""Stored NaNs, and stored NaNs and infinities."""


def _is_fewer(count: _Count, than: _Count) -> bool:
    return count[0] < than[0] or count[1] < than[1]


def _fewest(one: _Count, other: _Count) -> _Count:
    return min(one[0], other[0]), min(one[1], other[1])


_Operand = tuple[str, "Value", Any]
"""Name of an operand, its value, and the value's contents in an evaluation."""


class _FirstPlace(Struct, frozen=True):
    """The first place at which an op makes a NaN or infinity, with its operands."""

    iteration: int
    lane: tuple[int, ...]
    number: float
    operands: tuple[tuple[str, tuple[float, ...]], ...]


class _BirthRecorder(Instrument):
    """An instrument that records births by op and program, and counts stored bad values.

    The births of op `replaced` (only at the places of `only`, if set) become 1, so that they do
    not propagate; `places` has their places, and whether they are NaNs. If they are `kept`, those
    of all other ops become 1. With `filling`, undefined lanes of masked loads hold 1, too.
    """

    def __init__(
        self,
        replaced: Op | None = None,
        *,
        kept: bool = False,
        filling: bool = False,
        only: set[_Place] | None = None,
    ) -> None:
        super().__init__()
        self._kept = kept
        self._replaced = replaced
        self._filling = filling
        self._only = only
        self.births: dict[Op, dict[int, None]] = {}
        self.first: _FirstPlace | None = None
        self.places: dict[_Place, bool] = {}
        self.stored: dict[int, _Count] = {}

    def stored_in(self, program: int) -> _Count:
        """Return the bad values that a program stored."""
        return self.stored.get(program, (0, 0))

    def wrapped(self, op: Op, step: Step) -> Step:
        """Wrap ops that make floats, and ops that write floats."""
        if op.name in WRITING and _is_float(op.operand("value")):
            return self._counting_stores(op, step)
        if self._filling and op.name in READING and _is_float(op.results[0]):
            mask = mask_of(op)
            return step if mask is None else filling_masked(op, mask, step, _replacement_number)
        return self._recording_births(op, step) if _may_make_bad_values(op) else step

    def _recording_births(self, op: Op, step: Step) -> Step:
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
            births_found = _birth_mask(op, numbers, operands)
            if births_found is None or not births_found.any():
                return
            if op is self._replaced and self._only is not None:
                births_found = self._births_at_places(births_found, scope)
                if not births_found.any():
                    return
            self._record(op, births_found, numbers, operands, scope)
            if (op is self._replaced) is not self._kept:
                values[result.id] = np.where(
                    births_found, _replacement_number(numbers.shape, type_.element), numbers
                )

        return watched

    def _record(
        self, op: Op, births_found: Any, numbers: Any, operands: Sequence[_Operand], scope: Any
    ) -> None:
        has_birth = births_found.reshape(births_found.shape[0], -1).any(axis=1)
        has_birth = np.broadcast_to(has_birth, len(scope.linear))
        programs = self.births.setdefault(op, {})
        programs.update(dict.fromkeys(int(number) for number in scope.linear[has_birth]))
        if op is not self._replaced:
            return
        positions, results = np.argwhere(births_found), np.broadcast_to(numbers, births_found.shape)
        for (_, *lane_), number in zip(
            positions[:_MAX_PLACES].tolist(), results[births_found], strict=False
        ):
            if len(self.places) > _MAX_PLACES:
                break
            self.places.setdefault((scope.iteration, tuple(lane_)), bool(np.isnan(number)))
        if self.first is None:
            _, *lane = position = tuple(positions[0].tolist())
            elements = tuple(
                (name, _operand_elements(op, name, value, contents, position))
                for name, value, contents in operands
                if _is_float(value)
            )
            self.first = _FirstPlace(
                scope.iteration, tuple(lane), float(results[position]), elements
            )

    def _births_at_places(self, births_found: Any, scope: Any) -> Any:
        """Return the mask of births at the places of `only`, in a run of one program."""
        assert self._only is not None
        selected = np.zeros_like(births_found)
        for place_trip, lane in self._only:
            if place_trip == scope.iteration:
                selected[(0, *lane)] = True
        return selected & births_found

    def _counting_stores(self, op: Op, step: Step) -> Step:
        def counted(values: list[Any], scope: Any) -> None:
            numbers = stored_numbers(op, values)
            if numbers is not None and not np.isfinite(numbers).all():
                self._count_bad_values(op, numbers, scope)
            step(values, scope)

        return counted

    def _count_bad_values(self, op: Op, numbers: Any, scope: Any) -> None:
        shape = (numbers.shape[0], *value_type(op.operand("value").type).shape)
        rows = np.broadcast_to(numbers, shape).reshape(numbers.shape[0], -1)
        counts = (is_bad.sum(axis=1) for is_bad in (np.isnan(rows), ~np.isfinite(rows)))
        per_program = (np.broadcast_to(count, len(scope.linear)) for count in counts)
        for program, nans, bad in zip(scope.linear, *per_program, strict=True):
            if bad:
                before = self.stored_in(int(program))
                self.stored[int(program)] = before[0] + int(nans), before[1] + int(bad)


def _replacement_number(_shape: tuple[int, ...], element: ElementType) -> Any:
    return element.value.type(_REPLACEMENT)


def _reads_unrecorded(bound: BoundCall) -> bool:
    """Return whether a call reads memory without recorded contents, or through other pointers."""
    reads = [access for access in bound.summary.accesses if access.op.name in READING]
    unrecorded = bound.contents.read_by({access.op.index for access in reads})
    return bool(unrecorded) or any(access.argument is None for access in reads)


def _may_make_bad_values(op: Op) -> bool:
    if not op.results or not op.operands or not _is_float(op.results[0]):
        return False
    return op.name in _PRODUCING


def _is_float(value: Value) -> bool:
    return isinstance(element_of(value.type), FloatType)


def _birth_mask(op: Op, numbers: Any, operands: Sequence[_Operand]) -> Any:
    """Return a mask of the births among an op's results, None if an operand is unknown."""
    was_nan: Any = np.zeros((1,) * numbers.ndim, bool)
    was_infinite: Any = was_nan
    for name, value, contents in operands:
        if not _is_float(value):
            continue
        if isinstance(contents, Unknown):
            return None
        operand = np.asarray(to_array(contents, value_type(value.type)))
        was_nan = was_nan | _affected_results(op, name, np.isnan(operand), numbers.ndim)
        was_infinite = was_infinite | _affected_results(op, name, np.isinf(operand), numbers.ndim)
    is_new_nan = np.isnan(numbers) & ~was_nan
    return is_new_nan | (np.isinf(numbers) & ~was_nan & ~was_infinite)


def _affected_results(op: Op, name: str, marks: Any, rank: int) -> Any:
    """Return a mask of the results that depend on marked elements of an operand."""
    kind = KINDS[op.name].kind
    if op.name in COMBINING:
        axis = number_of(op, "axis") + 1
        return marks.any(axis=axis, keepdims=kind is Kind.SCAN)
    if kind is Kind.PRODUCT and name in ("left", "right"):
        return marks.any(axis=rank - 1 if name == "left" else rank - 2, keepdims=True)
    return with_rank(marks, rank)


def _operand_elements(
    op: Op, name: str, value: Value, contents: Any, result_index: tuple[int, ...]
) -> tuple[float, ...]:
    """Return the elements of an operand from which a result was computed, at most four."""
    numbers = np.asarray(to_array(contents, value_type(value.type)))
    kind = KINDS[op.name].kind
    index_by_axis: list[Any] = list(result_index)
    if op.name in COMBINING:
        axis = number_of(op, "axis") + 1
        index_by_axis[axis:axis] = [slice(None)] if kind is not Kind.SCAN else []
        if kind is Kind.SCAN:
            index_by_axis[axis] = slice(0, result_index[axis] + 1)
    elif kind is Kind.PRODUCT and name in ("left", "right"):
        index_by_axis[-1 if name == "left" else -2] = slice(None)
    shape = numbers.shape
    index_by_axis = [
        0 if extent == 1 and isinstance(index, int) else index
        for index, extent in zip(index_by_axis, shape, strict=False)
    ]
    elements = np.atleast_1d(numbers[tuple(index_by_axis)]).reshape(-1).astype(np.float64)
    if len(elements) > _MAX_OPERANDS:
        extent = np.where(np.isfinite(elements), np.abs(elements), np.inf)
        elements = elements[np.sort(np.argsort(-extent, kind="stable")[:_MAX_OPERANDS])]
    return tuple(map(float, elements))


# -- messages -----------------------------------------------------------------------------------


def _unknown(op: Op, reason: str) -> Verdict:
    message = f"whether a NaN or an infinity reaches memory could not be decided: {reason}"
    return Verdict(RULE, "unknown", op, message, reason=reason)


def _violation(call: Call, birth: Birth) -> Verdict:
    op = birth.op
    where = f"; in {birth.programs} programs" if birth.programs > 1 else ""
    operands_text = "without a NaN" if np.isnan(birth.number) else "that are finite"
    value_text = "a NaN" if np.isnan(birth.number) else f"{birth.number:+}"
    message = (
        f"{op.name} gives {value_text} for operands {operands_text}, and it reaches memory{where}"
    )
    witness = Witness(program_at(birth.program, call.grid), birth.iteration, birth.lane)
    return Verdict(RULE, "violation", op, message, "evaluated").at(witness)


def _loss(lost: LostFloat) -> Verdict:
    where = f"; in {lost.programs} programs" if lost.programs > 1 else ""
    element, span = element_of(lost.op.results[0].type), integers_of(lost.op)
    kind = f"{element}".replace("i", "uint") if span is not None and span[0] == 0 else element
    message = (
        f"{lost.number:.10g} becomes an integer ({kind}), which cannot hold it: the result is not "
        f"specified, and it is stored{where}"
    )
    return Verdict(RULE, "violation", lost.op, message, "evaluated").at(lost.witness)
