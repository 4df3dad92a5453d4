"""The rules mask-always-false and mask-always-true: masks that decide nothing in a call.

A mask counts with the boundary checks of block pointers. An access that no program reaches gets no
verdict. Both hold for the call's numbers and all its programs; for others the mask may be of use.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Final

from kvtrace.evaluate import Observer
from kvtrace.ir.attributes import DenseArrayAttribute
from kvtrace.ir.ops import effect_of, mask_of
from kvtrace.symbolic.conditions import FALSE
from kvtrace.symbolic.prover import Method, Proven, Refuted, strongest
from kvtrace.symbolic.summary import Access, Place
from kvtrace.symbolic.terms import Symbol
from kvtrace.verdicts.replaying import run
from kvtrace.verdicts.verdict import Verdict

if TYPE_CHECKING:
    from kvtrace.evaluate.observe import Access as Seen
    from kvtrace.ir import Op
    from kvtrace.symbolic.prover import Given
    from kvtrace.verdicts.binding import BoundCall

ALWAYS_FALSE: Final = "mask-always-false"
ALWAYS_TRUE: Final = "mask-always-true"


def judge(bound: BoundCall) -> Iterable[Verdict]:
    """Return a violation for each op whose mask is the same in all lanes of all programs."""
    if not bound.programs:
        return
    by_op: dict[Op, list[Access]] = {}
    for access in bound.summary.accesses:
        by_op.setdefault(access.op, []).append(access)
    if ALWAYS_FALSE in bound.rules:
        for op, accesses in by_op.items():
            yield from _never(bound, op, accesses)
        yield from _plainly_never(bound, by_op)
    if ALWAYS_TRUE in bound.rules:
        for op, accesses in by_op.items():
            yield from _always(bound, op, accesses)


# -- never --------------------------------------------------------------------------------------


def _never(bound: BoundCall, op: Op, accesses: Sequence[Access]) -> Iterator[Verdict]:
    """Say it of an op none of whose accesses has an active lane, though one is reached."""
    if any(not access.mask.conjuncts() or _runs_at_first(bound, access) for access in accesses):
        return
    reached = [access for access in accesses if not bound.given(access).is_impossible]
    if not reached:
        return
    methods: list[Method] = []
    for access in reached:
        given = bound.active(access)
        decision = Proven("interval") if given.is_impossible else bound.prove(FALSE, given)
        if not isinstance(decision, Proven):
            return
        methods.append(decision.method)
    if not any(_is_reached(bound, access) for access in reached):
        return
    if any(bound.may_wrap(access) is not None for access in reached):
        return  # numbers that wrap around may fulfil what ideal ones do not
    method = strongest(methods)
    yield from _never_seen(bound, op, accesses[0].kind, _names(bound, accesses), method)


def _is_reached(bound: BoundCall, place: Place) -> bool:
    """Whether a program of the call gets there, for what is recorded of contents too.

    There is no verdict for an access that no program is known to reach: a mask there is true and
    false in every lane.
    """
    return isinstance(bound.prove(FALSE, bound.given(place)), Refuted)


def _runs_at_first(bound: BoundCall, access: Access) -> bool:
    """Whether the first lane of the first program is active in the first trip: mostly so."""
    given = bound.active(access)
    point: dict[Symbol, int] = {}
    for condition in given.exact:
        for atom in condition.atoms():
            if not isinstance(atom, Symbol) or atom in point:
                continue
            low, high = bound.ranges.of(atom)
            if low == high or atom.kind in ("program", "lane", "trip"):
                point[atom] = low
    return _holds(given, point)


def _holds(given: Given, point: dict[Symbol, int]) -> bool:
    try:
        return all(condition.value(point) for condition in given.exact)
    except (KeyError, ZeroDivisionError):  # it depends on what is not known
        return False


def _plainly_never(bound: BoundCall, by_op: dict[Op, list[Access]]) -> Iterator[Verdict]:
    """Say it of ops whose mask is false for all arguments: they have no access in the summary."""
    for op in bound.call.module.ops:
        kind = effect_of(op)
        if kind is None or op in by_op:
            continue
        mask, place = mask_of(op), bound.summary.places.get(op.block) if op.block else None
        if mask is None or place is None or bound.summary.values.get(mask.id) is not FALSE:
            continue
        here = replace(place, op=op)
        if not _is_reached(bound, here) or bound.may_wrap(here) is not None:
            continue
        yield from _never_seen(bound, op, kind, None, "interval")


def _never_seen(
    bound: BoundCall, op: Op, kind: str, arg: str | None, method: Method
) -> Iterator[Verdict]:
    """Return the finding, unless an evaluation of the grid (where affordable) shows otherwise."""
    if bound.lanes <= bound.budget.replay_lanes:
        seen = _Active(op)
        run(bound.call, (seen,), lanes=2 * bound.budget.replay_lanes)
        if seen.active:
            reason = "a proof of it does not hold when it is run"
            message = f"whether the mask of this {kind} is ever true is open: {reason}"
            yield Verdict(ALWAYS_FALSE, "unknown", op, message, reason=reason, access=kind, arg=arg)
            return
    message = f"{kind} never happens: its mask is false in every lane of every program of this call"
    yield Verdict(ALWAYS_FALSE, "violation", op, message, method, access=kind, arg=arg)


class _Active(Observer):
    """Sees whether a lane of an op is active."""

    def __init__(self, op: Op) -> None:
        self._op = op
        self.active = False

    def access(self, access: Seen) -> None:
        """Count."""
        if access.op.index == self._op.index and access.certain and access.active:
            self.active = True


# -- always -------------------------------------------------------------------------------------


def _always(bound: BoundCall, op: Op, accesses: Sequence[Access]) -> Iterator[Verdict]:
    """Say it of an op that has a mask, where it is proven for each of its calls."""
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
    message = f"the mask of this {kind} is true in every lane of every program of this call"
    arg = _names(bound, accesses)
    yield Verdict(ALWAYS_TRUE, "violation", op, message, method, access=kind, arg=arg)


def _is_masked(op: Op) -> bool:
    checks = op.attributes.get("boundaryCheck")
    return mask_of(op) is not None or (
        isinstance(checks, DenseArrayAttribute) and bool(checks.values)
    )


def _names(bound: BoundCall, accesses: Iterable[Place]) -> str | None:
    indices = {
        access.argument
        for access in accesses
        if isinstance(access, Access) and access.argument is not None
    }
    return ",".join(sorted({bound.call.arguments[index].name for index in indices})) or None
