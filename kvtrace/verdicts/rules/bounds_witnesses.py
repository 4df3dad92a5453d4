"""Witnesses of accesses that leave their tensor: counterexamples confirmed by evaluation.

A small grid is run as a whole, once for all counterexamples of a call. In a large grid one program
is run, and formulas give the lane of the grid that is farthest out of bounds. The values that a
mask compares there have their names in the kernel: for `mask=index < n`, n = 1,001 and a tensor of
1,000 elements: "the mask admits index = 1,000; x has 1000 elements".
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from itertools import islice
from typing import Final

from msgspec import Struct
from msgspec.structs import replace

from kvtrace.evaluate import Observer, TensorArgument
from kvtrace.evaluate.observe import Access as Evaluated
from kvtrace.evaluate.observe import OutOfBounds
from kvtrace.ir import Op, Value
from kvtrace.ir.flow import constant_of, value_before
from kvtrace.ir.ops import SPREADING, mask_of, operator_of
from kvtrace.ir.types import shape_of
from kvtrace.schema.errors import KvtraceError
from kvtrace.symbolic.conditions import at_least, in_order
from kvtrace.symbolic.expressions import value_expression
from kvtrace.symbolic.meanings.tt_shape import source_indices
from kvtrace.symbolic.prover import Point, Proven, Refuted, nominal_seconds, prove
from kvtrace.symbolic.summary import Access
from kvtrace.symbolic.terms import Symbol, Term, as_term
from kvtrace.text import plural
from kvtrace.verdicts.binding import BoundCall
from kvtrace.verdicts.replaying import NOT_REPRODUCED, WITNESS_LANES, run
from kvtrace.verdicts.rules.evaluated import EvaluatedBounds, outside_verdict, undecided_verdict
from kvtrace.verdicts.verdict import Verdict

_MAX_LOADED: Final = 3
_MAX_CHARACTERS: Final = 60
"""Expressions of more characters are not shown."""


def _with_cause(
    bound: BoundCall, access: Access, defect: OutOfBounds, violation: Verdict
) -> Verdict:
    """Return a violation whose reason has the values in its lane that let it leave the tensor.

    Those are loaded integers in the address, which the message has, too, and numbers that the mask
    compares. An address without the former, and without a mask, has no reason.
    """
    lanes = tuple(as_term(number) for number in defect.lane)
    loaded = ", ".join(islice(_loaded_values(bound, access, defect, lanes), _MAX_LOADED))
    causes = [f"the address is made of {loaded}"] if loaded else []
    message = ", as ".join((violation.message, *causes))
    mask = mask_of(access.op)
    if mask is not None and constant_of(value_before(mask, SPREADING)) is None:
        compared = () if access.calls else _compared_values(bound, access, defect, mask, lanes)
        values = ", ".join(f"{name} = {number:,}" for name, number in dict(compared).items())
        causes.append(f"the mask admits {values or 'this lane'}")
    if not causes:
        return violation
    tensor = bound.call.tensor(defect.argument)
    reason = f"{', and '.join(causes)}; {tensor.name} has {_extent(tensor)}"
    return replace(violation, reason=reason, message=message)


def _extent(tensor: TensorArgument) -> str:
    """Return the extent of a tensor, with its strides if it is not contiguous."""
    if not tensor.shape or (len(tensor.shape) == 1 and tensor.strides == (1,)):
        return plural(math.prod(tensor.shape), "element")
    contiguous = tuple(math.prod(tensor.shape[axis + 1 :]) for axis in range(len(tensor.shape)))
    steps = "" if tensor.strides == contiguous else f" and strides {list(tensor.strides)}"
    return f"shape {list(tensor.shape)}{steps}"


def _loaded_values(
    bound: BoundCall, access: Access, defect: OutOfBounds, lanes: tuple[Term, ...]
) -> Iterator[str]:
    """Yield the loaded integers that an address is made of, as `index[1] = 64`.

    None in a loop from one loaded number to another, as `range(start[row], start[row + 1])`: the
    address has only the first, which may be right.
    """
    summands = [atom for monomial in access.offset.coefficients for atom in monomial]
    if any(isinstance(atom, Symbol) and atom.kind == "trip" for atom in summands):
        return
    for symbol in in_order(access.offset.symbols("content")):
        number, offset = (
            _value_in_lane(bound, access, defect, term, lanes)
            for term in (symbol.term, symbol.at[0])
        )
        recorded, tensors = bound.contents.recorded(symbol), bound.contents.sources(symbol)
        if number is not None and offset is not None and recorded is not None:
            place = f"[{offset // recorded.size}]" if tensors[0].strides == (1,) else ""
            yield f"{tensors[0].name}{place} = {number:,}"


def _compared_values(
    bound: BoundCall, access: Access, defect: OutOfBounds, value: Value, lanes: tuple[Term, ...]
) -> Iterator[tuple[str, int]]:
    """Yield each integer expression that a mask compares, with its value in a lane."""
    op = value.owner
    if not isinstance(op, Op):
        return
    operator = operator_of(op)
    if op.name in SPREADING:
        source = op.operand("source")
        source_lanes = lanes if shape_of(source.type) else ()
        yield from _compared_values(bound, access, defect, source, source_lanes)
    elif operator in ("expand_dims", "trans", "reshape"):
        source = op.operand("source")
        yield from _compared_values(bound, access, defect, source, source_indices(op, 0, lanes))
    elif operator == "&":
        for name in ("left", "right"):
            yield from _compared_values(bound, access, defect, op.operand(name), lanes)
    elif operator == "compare":
        for name in ("left", "right"):
            operand = op.operand(name)
            term = bound.summary.values.get(operand.id)
            if isinstance(term, Term) and _varies(term):
                number = _value_in_lane(bound, access, defect, term, lanes)
                text = value_expression(operand, bound.summary)
                if number is not None and len(text) <= _MAX_CHARACTERS:
                    yield text, number


def _varies(term: Term) -> bool:
    return any(
        isinstance(a, Symbol) and a.kind in ("program", "lane", "trip") for a in term.atoms()
    )


def _value_in_lane(
    bound: BoundCall, access: Access, defect: OutOfBounds, term: Term, lanes: tuple[Term, ...]
) -> int | None:
    """Return a term's value in the witness's lane, None if it depends on unknown values."""
    trips = {access.loops[-1].trip: defect.iteration} if access.loops else {}
    point: dict[Symbol, int] = {}
    for atom in term.atoms():
        if not isinstance(atom, Symbol):
            continue
        low, high = bound.ranges.of(atom)
        if low == high:
            point[atom] = low
        elif atom.kind == "program" and isinstance(atom.key, int):
            point[atom] = defect.program[atom.key]
        elif atom.kind == "lane" and isinstance(atom.key, int) and atom.key < len(lanes):
            point[atom] = lanes[atom.key].value({})
        elif atom in trips:
            point[atom] = trips[atom]
    for atom in sorted(term.symbols("content"), key=lambda atom: len(atom.within())):
        loaded = bound.contents.number(atom, point)
        if loaded is not None:
            point[atom] = loaded
    try:
        return term.value(point)
    except KeyError:  # the term depends on unknown contents, or on the trip of an outer loop
        return None


_MAX_BATCHES: Final = 1 << 10
"""Limit of batches of accesses after which an evaluation ends, once the defect was seen."""

_FARTHEST_SECONDS: Final = 0.1
"""Limit on the search for the farthest lane, which only adds detail to a violation."""


class Outside(Struct, frozen=True):
    """An access that leaves its storage (or only its view) at a point, by formulas.

    `suspected` is a reason if `refuted` is not about the bounds but about arithmetic that they
    depend on.
    """

    access: Access
    rule: str
    refuted: Refuted
    suspected: str | None = None


class _DefectSeen(KvtraceError):
    """The exception that ends an evaluation after its defect was seen."""

    slug = "shown"


class _LoopLimit(Observer):
    """An observer that ends an evaluation of long loops once an op has left its tensor."""

    def __init__(self, bounds: EvaluatedBounds, op: int) -> None:
        self._bounds = bounds
        self._op = op
        self._batches = 0

    def access(self, access: Evaluated) -> None:  # noqa: ARG002
        """Count a batch of accesses; raise if the defect was seen and the limit is exceeded."""
        self._batches += 1
        if self._batches > _MAX_BATCHES and self._bounds.defects(self._op):
            raise _DefectSeen("an access was seen to leave its tensor")


class Witnesses:
    """Evaluations of counterexamples: of the whole grid if it is small, else of one program."""

    def __init__(self, bound: BoundCall) -> None:
        self._bound = bound
        self._grid_bounds: EvaluatedBounds | None = None
        self._grid_failure: str | None = None
        self._failure: str | None = None

    def verdicts(
        self, op: Op, outside: Sequence[Outside], arg: str | None, kind: str
    ) -> Iterator[Verdict]:
        """Yield the violations of an op that an evaluation confirms, else an unknown verdict."""
        access, refuted = outside[0].access, outside[0].refuted
        bounds, ran_grid = self._run(op, refuted.model)
        defects = bounds.defects(op.index)
        if not defects:
            reason = outside[0].suspected or NOT_REPRODUCED
            reason += f" ({self._failure})" if self._failure else ""
            yield undecided_verdict(op, kind, arg, reason, evaluating=True)
            return
        arguments = self._bound.call.arguments
        for defect in defects.values():
            grid_defect = defect if ran_grid else self._farthest(outside, defect)
            verdict = outside_verdict(
                grid_defect or defect, arguments, refuted.method, counted=ran_grid,
                farthest=grid_defect is not None,
            )  # fmt: skip
            is_violation = verdict.verdict == "violation"
            yield _with_cause(self._bound, access, defect, verdict) if is_violation else verdict

    def _farthest(self, outside: Sequence[Outside], defect: OutOfBounds) -> OutOfBounds | None:
        """Return the defect with the farthest lane of the grid, None if that is unknown."""
        first, *others = outside
        if others or first.suspected or first.rule != defect.rule:
            return None
        if not self._bound.budget.replay_lanes:
            return None  # a limit for launches that are judged while they run
        return _with_farthest(self._bound, first.access, defect, first.refuted.model)

    def _run(self, op: Op, point: Point) -> tuple[EvaluatedBounds, bool]:
        """Return the bounds seen in a run of a point's program, and whether the grid was run."""
        bound = self._bound
        if self._grid_bounds is None and bound.lanes <= bound.budget.replay_lanes:
            self._grid_bounds = EvaluatedBounds(bound.call)
            self._grid_failure = run(
                bound.call, (self._grid_bounds,), contents="none", lanes=WITNESS_LANES
            )
        if self._grid_bounds is not None and self._grid_bounds.defects(op.index):
            return self._grid_bounds, self._grid_failure is None
        bounds = EvaluatedBounds(bound.call, (op.index,))
        programs = (bound.program_of(point),)
        loop_limit = _LoopLimit(bounds, op.index)
        self._failure = run(bound.call, (bounds, loop_limit), programs, lanes=WITNESS_LANES)
        return bounds, False


# -- the farthest lane ----------------------------------------------------------------------------


def _with_farthest(
    bound: BoundCall, access: Access, defect: OutOfBounds, point: Point
) -> OutOfBounds | None:
    """Return a defect seen in one program, extended by the farthest lane of the grid.

    Args:
        bound: the call.
        access: the access that leaves its tensor.
        defect: the access's defect as seen in one program.
        point: a point at which the access leaves its tensor.

    Returns:
        None if the farthest lane is unknown, or a run of its program does not show it.

    """
    farthest = _farthest_point(bound, access, point, past=defect.past_end_bytes > 0)
    if farthest is None:
        return None
    bounds = EvaluatedBounds(bound.call, (access.op.index,))
    run(bound.call, (bounds,), (bound.program_of(farthest),), lanes=WITNESS_LANES)
    farthest_defect = bounds.defects(access.op.index).get(defect.rule)
    if farthest_defect is None or access.offset.value(farthest) not in (
        farthest_defect.lowest,
        farthest_defect.highest,
    ):
        return None
    return defect.followed_by(farthest_defect)


def _farthest_point(bound: BoundCall, access: Access, point: Point, *, past: bool) -> Point | None:
    """Return a point at which an active lane has its highest (`past`) or lowest offset.

    The solver is not used, which leaves its time to other rules. None if the search takes too
    long, or depends on unknown contents.
    """
    offset = access.offset if past else as_term(0) - access.offset
    given, end = bound.active(access), nominal_seconds() + _FARTHEST_SECONDS
    low, high = offset.value(point), bound.ranges.interval(offset)[1]
    while low < high and nominal_seconds() < end:
        middle = (low + high) // 2
        decision = prove(at_least(middle - offset), given, seconds=0, order=bound.order)
        if isinstance(decision, Proven):
            high = middle
        elif isinstance(decision, Refuted) and not bound.doubts(decision.model):
            point, low = decision.model, offset.value(decision.model)
        else:
            return None
    return point if low >= high else None
