"""Verdicts that depend on a substituted zero: the value of a load in lanes that are out of bounds.

A lane that is out of bounds reads any bytes; the evaluator substitutes 0. A conclusion from that 0
(an index is inside, a divisor is zero) is not a fact about the kernel. After such a load a proof
stands if it needs no contents, and a violation stands if its witness fails for other substitutes,
too: the call is run with several. All other verdicts become unknown and name the load.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Final

from kvtrace.evaluate import Storage, TensorArgument
from kvtrace.evaluate.arguments import OutsideNumbers
from kvtrace.ir import source_stack
from kvtrace.verdicts.conflicts.race_replay import replayed, touched
from kvtrace.verdicts.feeding import loads_behind
from kvtrace.verdicts.replaying import linear_program
from kvtrace.verdicts.verdict import Verdict

if TYPE_CHECKING:
    from kvtrace.evaluate import Argument
    from kvtrace.ir import Module, Op
    from kvtrace.recorded_calls.recorded import Call

Judge = Callable[["Call", Collection[str]], Iterable[Verdict]]

_BOUNDS: Final = "out-of-bounds"

#: An evaluation of a witness's program ends after so many lanes.
_MOST_LANES: Final = 1 << 25

#: Substitutes besides 0. They fit into 8 bits, so that no loop that counts to one runs for long; -1
#: means "none" in many kernels; and some rise or fall from place to place, as equal numbers might
#: cancel out.
_SUBSTITUTES: Final = (
    OutsideNumbers(1),
    OutsideNumbers(-1),
    OutsideNumbers(2, 9),
    OutsideNumbers(100, 27),
    OutsideNumbers(-126, 27, step=-1),
)


def without_zeros(
    call: Call,
    verdicts: Sequence[Verdict],
    rules: Collection[str],
    judge: Judge,
) -> list[Verdict]:
    """Return the verdicts of some rules; those that depend on a substituted zero become unknown.

    Args:
        call: the call that was judged.
        verdicts: all verdicts on the call, including those of out-of-bounds.
        rules: the ids of the rules whose verdicts are returned.
        judge: judges another call by some rules, with the budget of this call.

    """
    selected = [verdict for verdict in verdicts if verdict.rule in rules]
    if not call.recorded:
        return selected  # no verdict depends on loaded values
    loads_of = _doubtful_loads(call.module, selected, verdicts)
    if not loads_of:
        return selected
    doubtful = [v for v in selected if id(v) in loads_of and v.verdict != "unknown"]
    verdicts_without_contents = (
        judge(_without_contents(call), {verdict.rule for verdict in doubtful}) if doubtful else ()
    )
    bare = {(v.rule, v.op.index): v.verdict for v in verdicts_without_contents}
    violated = {verdict.rule for verdict in doubtful if verdict.verdict == "violation"}
    substituted = _SubstitutedCalls(call, verdicts, violated, judge)

    def settled(verdict: Verdict) -> Verdict:
        loads = loads_of.get(id(verdict))
        stands = verdict.verdict == "unknown" or (
            bare.get((verdict.rule, verdict.op.index)) == verdict.verdict
        )
        if loads is None or stands:
            return verdict
        return substituted.lasting(verdict) or _unknown(verdict, loads)

    return [settled(verdict) for verdict in selected]


def without_any_zeros(module: Module, verdicts: Sequence[Verdict]) -> list[Verdict]:
    """Return verdicts of one launch; those that may depend on a substituted zero become unknown.

    The launch's contents are gone, so nothing can be run again. A verdict seen before a load left
    its tensor does not depend on the load.

    Args:
        module: the launched module.
        verdicts: the verdicts in the order in which they were seen.

    """
    settled = []
    for number, verdict in enumerate(verdicts):
        loads = _doubtful_loads(module, [verdict], verdicts[:number]).get(id(verdict))
        settled.append(verdict if loads is None else _unknown(verdict, loads))
    return settled


def _doubtful_loads(
    module: Module, verdicts: Sequence[Verdict], all_verdicts: Sequence[Verdict]
) -> dict[int, list[Op]]:
    """Return, by id() of a verdict, the out-of-bounds loads that the verdict may depend on."""
    out_of_bounds = {
        verdict.op.index: verdict.op
        for verdict in all_verdicts
        if verdict.rule == _BOUNDS and verdict.verdict == "violation" and verdict.access != "store"
    }
    loads_of: dict[int, list[Op]] = {}
    for verdict in verdicts if out_of_bounds else ():
        behind = set(loads_behind(verdict.op, module))
        if verdict.other_op is not None:
            behind |= loads_behind(verdict.other_op, module)
        loads = [op for index, op in out_of_bounds.items() if index in behind]
        if loads:
            loads_of[id(verdict)] = loads
    return loads_of


def _without_contents(call: Call) -> Call:
    storages = {
        id(argument.storage): Storage(argument.storage.nbytes)
        for argument in call.arguments
        if isinstance(argument, TensorArgument)
    }
    arguments = tuple(
        replace(argument, storage=storages[id(argument.storage)])
        if isinstance(argument, TensorArgument)
        else argument
        for argument in call.arguments
    )
    return replace(call, arguments=arguments, recorded=())


class _SubstitutedCalls:
    """A call, and copies of the call with other substitutes outside of its tensors."""

    def __init__(
        self, call: Call, verdicts: Sequence[Verdict], rules: Collection[str], judge: Judge
    ) -> None:
        self._calls = (call, *(_substituted(call, outside) for outside in _SUBSTITUTES))
        self._rules = rules
        self._judge = judge
        self._judged: dict[int, Sequence[Verdict]] = {0: verdicts}

    def lasting(self, verdict: Verdict) -> Verdict | None:
        """Return a violation of the same rule and ops that occurs in all calls, or None.

        `lanes` is None: some lanes may depend on the substitutes.
        """
        if verdict.verdict != "violation" or verdict.program is None:
            return None
        for candidate in (verdict, *self._others(verdict)):
            if all(self._occurs(number, candidate) for number in range(len(self._calls))):
                lanes = f"; {candidate.lanes or 0:,} lanes over the grid"
                message, _, _ = candidate.message.partition(lanes)
                return replace(candidate, message=message, lanes=None)
        return None

    def _others(self, verdict: Verdict) -> Iterator[Verdict]:
        """Yield the violations of the same rule and ops in the calls with other substitutes."""
        for number in range(1, len(self._calls)):
            for other in self._verdicts(number):
                same = other.rule == verdict.rule and other.op is verdict.op
                if same and other.verdict == "violation" and other.other_op is verdict.other_op:
                    yield other

    def _verdicts(self, number: int) -> Sequence[Verdict]:
        if number not in self._judged:
            self._judged[number] = list(self._judge(self._calls[number], self._rules))
        return self._judged[number]

    def _occurs(self, number: int, verdict: Verdict) -> bool:
        """Return whether a violation's witness fails in the same way in a call."""
        call, of_lanes = self._calls[number], verdict.other_program == verdict.program
        if verdict.address_offset is not None and not of_lanes and _touches(call, verdict):
            return True  # not for two lanes of one program: the access of one proves nothing
        witness = _witness(verdict)
        if number == 0 and verdict.address_offset is None:
            return True  # the call with zeros has a violation, though perhaps another one first
        return any(_witness(other) == witness for other in self._verdicts(number))


def _witness(verdict: Verdict) -> tuple[object, ...]:
    return (
        verdict.rule, verdict.verdict, verdict.op, verdict.program, verdict.iteration,
        verdict.lane, verdict.address_offset, verdict.other_op, verdict.other_program,
    )  # fmt: skip


def _touches(call: Call, verdict: Verdict) -> bool:
    """Return whether the programs of a witness, run alone, access its byte as it says."""
    assert verdict.program is not None
    assert verdict.address_offset is not None
    arguments = {argument.name: argument for argument in call.arguments}
    tensor = arguments.get(verdict.arg or "")
    if not isinstance(tensor, TensorArgument):
        return False
    byte = tensor.offset_bytes + verdict.address_offset
    program = linear_program(verdict.program, call.grid)
    if verdict.other_program is None:
        touch = touched(call, verdict.op, program, tensor.storage, byte, lanes=_MOST_LANES)
    else:
        programs = program, linear_program(verdict.other_program, call.grid)
        ops = verdict.op, verdict.other_op or verdict.op
        both = replayed(call, ops, programs, tensor.storage, byte, whole=False)
        touch = None if both is None else both.first
    return touch is not None and (touch.iteration, touch.lane, touch.address_offset) == (
        verdict.iteration, verdict.lane, verdict.address_offset,
    )  # fmt: skip


def _substituted(call: Call, outside: OutsideNumbers) -> Call:
    """Return a call with substitutes outside of its tensors, positive ones for unsigned types."""
    positive = replace(outside, first=abs(outside.first))

    def substituted(argument: Argument) -> Argument:
        if not isinstance(argument, TensorArgument):
            return argument
        return replace(argument, outside=positive if argument.dtype[0] == "u" else outside)

    return replace(call, arguments=tuple(map(substituted, call.arguments)))


def _unknown(verdict: Verdict, loads: Sequence[Op]) -> Verdict:
    frames = source_stack(loads[0])
    line = f" in line {frames[0].line}" if frames else ""
    reason = f"it depends on the load{line}, which is itself out of bounds and may read anything"
    what = verdict.access or verdict.rule
    return Verdict(
        verdict.rule,
        "unknown",
        verdict.op,
        f"{what} could not be decided: {reason}",
        reason=reason,
        access=verdict.access,
        arg=verdict.arg,
        method=verdict.method,
        expression=verdict.expression,
    )
