"""The rules mask-always-false and mask-always-true: masks that are constant in a call.

Boundary checks of block pointers are part of the mask. An access that no program reaches gets no
verdict. A finding is about all programs of one call; in other calls the mask may vary.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Final

from kvtrace.evaluate import Observer
from kvtrace.evaluate.observe import Access as Seen
from kvtrace.ir import Op
from kvtrace.ir.attributes import DenseArrayAttribute
from kvtrace.ir.buffer_ops import IN_BUFFER
from kvtrace.ir.memory_sites import memory_sites
from kvtrace.ir.model import attribute
from kvtrace.ir.ops import mask_of
from kvtrace.symbolic.conditions import FALSE
from kvtrace.symbolic.prover import Given, Method, Proven, Refuted, strongest
from kvtrace.symbolic.summary import Access, Place
from kvtrace.symbolic.terms import Symbol
from kvtrace.verdicts.binding import BoundCall
from kvtrace.verdicts.contents.loaded import recorded_text
from kvtrace.verdicts.replaying import run
from kvtrace.verdicts.verdict import Verdict

ALWAYS_FALSE: Final = "mask-always-false"
ALWAYS_TRUE: Final = "mask-always-true"


def judge(bound: BoundCall) -> Iterable[Verdict]:
    """Yield a violation for each op whose mask is equal in all lanes of all programs."""
    if not bound.programs:
        return
    by_op: dict[Op, list[Access]] = {}
    for access in bound.summary.accesses:
        by_op.setdefault(access.op, []).append(access)
    if ALWAYS_FALSE in bound.rules:
        verdicts = [
            v for op, places in by_op.items() for v in _judge_always_false(bound, op, places)
        ]
        verdicts += _judge_constant_masks(bound, by_op)
        yield from _of_all_copies(bound, verdicts)
    if ALWAYS_TRUE in bound.rules:
        verdicts = [
            v for op, places in by_op.items() for v in _judge_always_true(bound, op, places)
        ]
        yield from _of_all_copies(bound, verdicts)


def _of_all_copies(bound: BoundCall, verdicts: Sequence[Verdict]) -> Iterator[Verdict]:
    """Yield the verdicts on ops of which every copy has one.

    An unrolled loop has a copy of an op for each trip, at the same place in the source: a load
    happens if one of them does.
    """
    if not verdicts:
        return
    judged_ops = {verdict.op.index for verdict in verdicts}
    sites = memory_sites(bound.call.module)
    others = {site.op.location for site in sites if site.op.index not in judged_ops}
    yield from (verdict for verdict in verdicts if verdict.op.location not in others)


# -- never --------------------------------------------------------------------------------------


def _judge_always_false(bound: BoundCall, op: Op, accesses: Sequence[Access]) -> Iterator[Verdict]:
    """Yield mask-always-false for an op that programs reach, but in no active lane."""
    if any(
        not access.mask.conjuncts() or _is_active_at_first(bound, access) for access in accesses
    ):
        return
    reachable = [access for access in accesses if not bound.given(access).is_impossible]
    if not reachable:
        return
    methods: list[Method] = []
    for access in reachable:
        given = bound.active(access)
        decision = Proven("interval") if given.is_impossible else bound.prove(FALSE, given)
        if not isinstance(decision, Proven):
            return
        methods.append(decision.method)
    if not any(_is_reached(bound, access) for access in reachable):
        return
    if any(bound.may_wrap(access) is not None for access in reachable):
        return  # wrapped numbers may satisfy a condition that ideal numbers do not
    method = strongest(methods)
    yield from _false_mask_verdict(bound, op, accesses[0].kind, bound.names_of(accesses), method)


def _is_reached(bound: BoundCall, place: Place) -> bool:
    """Return whether a program surely reaches a place, with the recorded contents.

    An access that no program reaches has no verdict: its mask is both true and false in all of its
    zero lanes.
    """
    return isinstance(bound.prove(FALSE, bound.given(place)), Refuted)


def _is_active_at_first(bound: BoundCall, access: Access) -> bool:
    """Return whether the first lane of the first program is active in the first trip.

    This is usually true, and quick to decide.
    """
    given = bound.active(access)
    point: dict[Symbol, int] = {}
    for atom in access.symbols:
        low, high = bound.ranges.of(atom)
        is_of_lane = atom.kind in ("program", "lane", "trip")
        number = low if low == high or is_of_lane else bound.contents.number(atom, point)
        if number is not None:
            point[atom] = number
    return _holds(given, point)


def _holds(given: Given, point: dict[Symbol, int]) -> bool:
    """Return whether all conditions hold at a point; False if one depends on unknown values."""
    try:
        return all(condition.value(point) for condition in given.exact)
    except (KeyError, ZeroDivisionError):  # a condition depends on unknown values
        return False


def _judge_constant_masks(bound: BoundCall, by_op: dict[Op, list[Access]]) -> Iterator[Verdict]:
    """Yield mask-always-false for ops with a constant false mask, which have no access."""
    for site in memory_sites(bound.call.module):
        op = site.op
        if op in by_op:
            continue
        mask, place = mask_of(op), bound.summary.place_of(op)
        if mask is None or place is None or bound.summary.values.get(mask.id) is not FALSE:
            continue
        if not _is_reached(bound, place) or bound.may_wrap(place) is not None:
            continue
        yield from _false_mask_verdict(bound, op, site.kind, None, "interval")


def _false_mask_verdict(
    bound: BoundCall, op: Op, kind: str, arg: str | None, method: Method
) -> Iterator[Verdict]:
    """Yield the violation, or unknown if an evaluation of a small grid has an active lane."""
    if bound.lanes <= bound.budget.replay_lanes:
        observer = _ActiveLanes(op)
        run(bound.call, (observer,), lanes=2 * bound.budget.replay_lanes)
        if observer.active:
            reason = "formulas prove that it is never true, but a lane was active in an evaluation"
            message = f"whether the mask of this {kind} is ever true is not decided: {reason}"
            yield Verdict(ALWAYS_FALSE, "unknown", op, message, reason=reason, access=kind, arg=arg)
            return
    text = "never happens: its mask is false in every lane of every program of this call"
    message = f"{kind} {text}{recorded_text(bound.call, op)}"
    yield Verdict(ALWAYS_FALSE, "violation", op, message, method, access=kind, arg=arg)


class _ActiveLanes(Observer):
    """An observer that sets `active` once a lane of an op is surely active."""

    def __init__(self, op: Op) -> None:
        self._op = op
        self.active = False

    def access(self, access: Seen) -> None:
        """Set `active` if the batch is of the op and has a surely active lane."""
        if access.op.index == self._op.index and access.certain and access.active:
            self.active = True


# -- always -------------------------------------------------------------------------------------


def _judge_always_true(bound: BoundCall, op: Op, accesses: Sequence[Access]) -> Iterator[Verdict]:
    """Yield mask-always-true for a masked op whose accesses are all proven active."""
    if not _is_masked(op) or len({access.calls for access in accesses}) < len(accesses):
        return
    methods: list[Method] = []
    for access in accesses:
        given = bound.given(access)
        if given.is_impossible:
            continue
        decision = bound.prove(access.mask, given)
        if not isinstance(decision, Proven) or bound.may_wrap(access) is not None:
            return
        if _is_reached(bound, access):
            methods.append(decision.method)
    if not methods:
        return
    kind, method = accesses[0].kind, strongest(methods)
    text = f"the mask of this {kind} is true in every lane of every program of this call"
    message = f"{text}{recorded_text(bound.call, op)}"
    arg = bound.names_of(accesses)
    yield Verdict(ALWAYS_TRUE, "violation", op, message, method, access=kind, arg=arg)


def _is_masked(op: Op) -> bool:
    if attribute(op, IN_BUFFER, 0):
        return False
    checks = op.attributes.get("boundaryCheck")
    return mask_of(op) is not None or (
        isinstance(checks, DenseArrayAttribute) and bool(checks.values)
    )
