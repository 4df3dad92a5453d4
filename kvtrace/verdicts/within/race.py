"""The rule `race-within-program`: lanes of one program touch a byte in no order that holds.

Each op that writes is judged against all that other lanes of its program do, at other ops or in
other trips of its loop. What lanes of one execution of one op do is the rule `lane-conflict`.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from kvtrace.evaluate import TensorArgument
from kvtrace.ir import Op, source_stack
from kvtrace.metrics.of_ops import kind_of
from kvtrace.verdicts.concrete import Concrete
from kvtrace.verdicts.races.parts import parts_of
from kvtrace.verdicts.races.search import Free, Open
from kvtrace.verdicts.races.sharers import Sharer
from kvtrace.verdicts.races.telling import DOES, names_of, scope_of, strongest
from kvtrace.verdicts.replaying import program_at
from kvtrace.verdicts.verdict import Verdict
from kvtrace.verdicts.within.lane_orders import Side
from kvtrace.verdicts.within.race_pairs import Pairs, Shown
from kvtrace.verdicts.within.swept import RULE, Left, Swept

if TYPE_CHECKING:
    from kvtrace.verdicts.binding import BoundCall


@dataclass
class _Finding:
    """What is known of one op that writes: what became of each pair that it is in.

    `others` are the ops, by index, of the pairs that are open, and `pairs` what they do.
    """

    op: Op
    free: list[Free] = field(default_factory=list)
    open: list[Open] = field(default_factory=list)
    shown: list[Shown] = field(default_factory=list)
    others: set[int] = field(default_factory=set)
    pairs: dict[int, tuple[Sharer, Sharer]] = field(default_factory=dict)

    @property
    def is_for_evaluation(self) -> bool:
        """Whether an evaluation may prove all that is open."""
        return bool(self.open) and not self.shown and all(each.evaluating for each in self.open)

    @property
    def left(self) -> Left:
        """What is open of it."""
        return Left(frozenset(self.others), tuple(each.why for each in self.free))

    @property
    def solver_ns(self) -> int | None:
        """What a solver took for it."""
        taken = [each.solver_ns for each in self.free] + [each.solver_ns for each in self.open]
        return sum(taken) + sum(each.solver_ns for each in self.shown) or None


def judge(bound: BoundCall) -> Iterable[Verdict]:
    """Return one verdict for each op that stores, or updates what is loaded or stored, too."""
    parts = parts_of(bound.call.module)
    findings = {index: _Finding(p.op) for index, p in parts.by_op.items() if p.writes}
    if not bound.programs:
        yield from (_unreached(bound, each.op) for each in findings.values())
        return
    pairs = Pairs(bound)
    for one, other in pairs.clashing():
        indices = dict.fromkeys((one.access.op.index, other.access.op.index))
        writing = [findings[index] for index in indices if index in findings]
        if all(finding.shown for finding in writing):
            continue  # one race an op is enough
        outcome = pairs.judged(one, other)
        for finding in writing:
            if isinstance(outcome, Free):
                finding.free.append(outcome)
            elif isinstance(outcome, Shown):
                finding.shown.append(outcome)
            else:
                finding.open.append(outcome)
                others = set(indices) - {finding.op.index} or {finding.op.index}
                finding.others |= others
                finding.pairs |= dict.fromkeys(others, (one, other))
    left = {index: f.left for index, f in findings.items() if f.is_for_evaluation}

    def shown_at(index: int, other: int, program: int, byte: int) -> Verdict | None:
        finding = findings[index]
        shown = pairs.shown_at(*finding.pairs[other], program, byte)
        return None if shown is None else _violation(bound, finding.op, shown)

    bound.memo[concrete] = left, shown_at
    for finding in findings.values():
        if finding.free or finding.open or finding.shown or kind_of(finding.op) == "store":
            yield _verdict(bound, finding, parts.unseen)


def concrete(bound: BoundCall, undecided: Sequence[Verdict]) -> Concrete | None:
    """Return an observer that decides ops by what each program touches."""
    ops = {v.op.index for v in undecided if v.rule == RULE and v.evaluating}
    left: Mapping[int, Left]
    left, shown_at = bound.memo[concrete]
    return Swept(bound, {index: left[index] for index in ops}, shown_at) if ops else None


def _unreached(bound: BoundCall, op: Op) -> Verdict:
    kind, scope = kind_of(op), scope_of(bound.call, op, ("the grid has no program",))
    message = f"{kind} races with no other lane of its program{scope}"
    return Verdict(
        RULE, "proven", op, message, "interval", access=kind, arg=names_of(bound, op)
    )  # fmt: skip


def _verdict(bound: BoundCall, finding: _Finding, unseen: str | None) -> Verdict:
    op, kind = finding.op, kind_of(finding.op)
    arg = names_of(bound, op)
    if finding.shown:
        return _violation(bound, op, finding.shown[0], finding.solver_ns)
    reason = finding.open[0].reason if finding.open else None
    if reason is None and unseen is not None:
        reason = f"the kernel has {unseen}"
    if reason is not None:
        message = f"whether this {kind} races within its program could not be decided: {reason}"
        return Verdict(
            RULE, "unknown", op, message, reason=reason, access=kind, arg=arg,
            solver_ns=finding.solver_ns,
            evaluating=finding.is_for_evaluation and unseen is None,
        )  # fmt: skip
    why = (each.why for each in finding.free)
    message = f"{kind} races with no other lane of its program{scope_of(bound.call, op, why)}"
    return Verdict(
        RULE, "proven", op, message, strongest(each.method for each in finding.free), access=kind,
        arg=arg, solver_ns=finding.solver_ns,
    )  # fmt: skip


def _violation(bound: BoundCall, op: Op, shown: Shown, solver_ns: int | None = None) -> Verdict:
    """Show two lanes that race, those of `op` first."""
    call, witness = bound.call, shown.witness
    mine, other = witness.first, witness.second
    if mine.touch.op is not op:
        mine, other = other, mine
    tensor = call.arguments[mine.touch.argument]
    assert isinstance(tensor, TensorArgument)
    program = program_at(witness.program, call.grid)
    place = f"byte {witness.byte - tensor.offset_bytes} of {tensor.name}"
    mine_does, other_does = (DOES[str(kind_of(each.touch.op))] for each in (mine, other))
    first = "this" if mine is witness.first else "that"
    no_order = f"and no barrier orders them{_of_what(bound)}"
    if shown.is_pipelined:
        no_order = "and the loop was pipelined so that a load is started in an earlier trip"
    elif shown.is_across:
        no_order = "and no barrier holds both: they are of different CTAs of the program"
    message = (
        f"{_lane(mine)} of program {program} {mine_does} {place}, which {_lane(other)} "
        f"{other_does} {_where(mine, other)}; the kernel does {first} first, {no_order}: run in "
        "both orders, the program leaves different results"
    )
    return Verdict(
        RULE, "violation", op, message, shown.method, access=kind_of(op),
        arg=tensor.name, program=program, iteration=mine.touch.iteration, lane=mine.lane,
        address_offset=mine.address_offset(bound), solver_ns=solver_ns,
        other_program=program, other_op=other.touch.op,
    )  # fmt: skip


def _lane(side: Side) -> str:
    """Say who does it: all threads load a scalar, and one stores it."""
    if side.lane:
        return f"lane {side.lane}"
    return "every thread" if kind_of(side.touch.op) == "load" else "one thread"


def _where(mine: Side, other: Side) -> str:
    """Say at which line the other lane does it, and in which trip if that is what differs."""
    frames = source_stack(other.touch.op)
    line = f"in line {frames[0].line}" if frames else "elsewhere"
    if mine.touch.iteration == other.touch.iteration:
        return line
    return f"{line} in trip {other.touch.iteration}, not {mine.touch.iteration}"


def _of_what(bound: BoundCall) -> str:
    if bound.call.compiled is None:
        return " (recorded without TTGIR: in any layout that gives them to different threads)"
    return " in the code that it was compiled to"
