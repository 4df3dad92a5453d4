"""Verdicts that depend on a substituted zero: the value of a load in lanes that are out of bounds.

Such a lane reads whatever lies there; the evaluator gives it 0. What is concluded from that 0 (an
index that stays inside, a divisor that is zero) is not a fact about the kernel. After such a load a
proof stays where contents do not count for it, and a violation where its witness does the same
whatever the load gives: the call is run with other numbers there, too. All else becomes unknown
and names the load.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Final

from kvtrace.evaluate import Storage, TensorArgument
from kvtrace.evaluate.arguments import Outside
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

#: What may lie outside of tensors, besides zeros. It fits into 8 bits, so that no loop that counts
#: to it runs for long; -1 is what many kernels take for nothing; and some rise or fall from place
#: to place, as the same everywhere might cancel out.
_OTHERS: Final = (
    Outside(1),
    Outside(-1),
    Outside(2, 9),
    Outside(100, 27),
    Outside(-126, 27, step=-1),
)


def without_zeros(
    call: Call,
    verdicts: Sequence[Verdict],
    rules: Collection[str],
    judge: Judge,
) -> list[Verdict]:
    """Return verdicts of a call, with those that depend on a substituted zero as unknown.

    Args:
        call: the call that was judged.
        verdicts: all verdicts on it, those of the rule on bounds among them.
        rules: the ids of those that are wanted.
        judge: judges another call as this one was, by some of the rules.

    """
    wanted = [each for each in verdicts if each.rule in rules]
    if not call.recorded:
        return wanted  # nothing is concluded from what a load gives
    resting = _resting(call.module, wanted, verdicts)
    if not resting:
        return wanted
    open_ = [each for each in wanted if id(each) in resting and each.verdict != "unknown"]
    unread = judge(_without_contents(call), {each.rule for each in open_}) if open_ else ()
    bare = {(each.rule, each.op.index): each.verdict for each in unread}
    shown = {each.rule for each in open_ if each.verdict == "violation"}
    fillings = _Fillings(call, verdicts, shown, judge)

    def settled(verdict: Verdict) -> Verdict:
        loads = resting.get(id(verdict))
        known = verdict.verdict == "unknown" or (
            bare.get((verdict.rule, verdict.op.index)) == verdict.verdict
        )
        if loads is None or known:
            return verdict
        return fillings.lasting(verdict) or _unknown(verdict, loads)

    return [settled(each) for each in wanted]


def without_any_zeros(module: Module, verdicts: Sequence[Verdict]) -> list[Verdict]:
    """Return what was seen of one launch; all that may depend on a substituted zero is unknown.

    Its contents are gone: nothing can be run again. What was seen before a load left its tensor
    does not depend on what it gave.

    Args:
        module: what was launched.
        verdicts: in the order in which each was first seen.

    """
    kept = []
    for number, each in enumerate(verdicts):
        loads = _resting(module, [each], verdicts[:number]).get(id(each))
        kept.append(each if loads is None else _unknown(each, loads))
    return kept


def _resting(
    module: Module, verdicts: Sequence[Verdict], found: Sequence[Verdict]
) -> dict[int, list[Op]]:
    """Return the loads `found` out of bounds that may decide a verdict, by its id."""
    wild = {
        each.op.index: each.op
        for each in found
        if each.rule == _BOUNDS and each.verdict == "violation" and each.access != "store"
    }
    resting: dict[int, list[Op]] = {}
    for each in verdicts if wild else ():
        behind = set(loads_behind(each.op, module))
        if each.other_op is not None:
            behind |= loads_behind(each.other_op, module)
        loads = [op for index, op in wild.items() if index in behind]
        if loads:
            resting[id(each)] = loads
    return resting


def _without_contents(call: Call) -> Call:
    storages = {
        id(each.storage): Storage(each.storage.nbytes)
        for each in call.arguments
        if isinstance(each, TensorArgument)
    }
    arguments = tuple(
        replace(each, storage=storages[id(each.storage)])
        if isinstance(each, TensorArgument)
        else each
        for each in call.arguments
    )
    return replace(call, arguments=arguments, recorded=())


class _Fillings:
    """A call with other numbers outside of its tensors: what is found with all of them."""

    def __init__(
        self, call: Call, verdicts: Sequence[Verdict], rules: Collection[str], judge: Judge
    ) -> None:
        self._calls = (call, *(_filled(call, outside) for outside in _OTHERS))
        self._rules = rules
        self._judge = judge
        self._judged: dict[int, Sequence[Verdict]] = {0: verdicts}

    def lasting(self, verdict: Verdict) -> Verdict | None:
        """Return a violation like this one that shows with all numbers; None: there is none seen.

        How many lanes do it is not known: some of them may depend on the numbers.
        """
        if verdict.verdict != "violation" or verdict.program is None:
            return None
        for each in (verdict, *self._others(verdict)):
            if all(self._shows(number, each) for number in range(len(self._calls))):
                message, _, _ = each.message.partition(f"; {each.lanes or 0:,} lanes over the grid")
                return replace(each, message=message, lanes=None)
        return None

    def _others(self, verdict: Verdict) -> Iterator[Verdict]:
        """Return what is found instead of a violation with other numbers."""
        for number in range(1, len(self._calls)):
            for each in self._found(number):
                same = each.rule == verdict.rule and each.op is verdict.op
                if same and each.verdict == "violation" and each.other_op is verdict.other_op:
                    yield each

    def _found(self, number: int) -> Sequence[Verdict]:
        if number not in self._judged:
            self._judged[number] = list(self._judge(self._calls[number], self._rules))
        return self._judged[number]

    def _shows(self, number: int, verdict: Verdict) -> bool:
        """Whether a witness does the same with the numbers of a call."""
        call, of_lanes = self._calls[number], verdict.other_program == verdict.program
        if verdict.address_offset is not None and not of_lanes and _touches(call, verdict):
            return True  # where two lanes of one program meet, one that touches it shows nothing
        witness = _witness(verdict)
        if number == 0 and verdict.address_offset is None:
            return True  # zeros show a violation, too, be it another one that comes first
        return any(_witness(each) == witness for each in self._found(number))


def _witness(verdict: Verdict) -> tuple[object, ...]:
    return (
        verdict.rule, verdict.verdict, verdict.op, verdict.program, verdict.iteration,
        verdict.lane, verdict.address_offset, verdict.other_op, verdict.other_program,
    )  # fmt: skip


def _touches(call: Call, verdict: Verdict) -> bool:
    """Whether the programs of a witness, run alone, do what it says."""
    assert verdict.program is not None
    assert verdict.address_offset is not None
    arguments = {each.name: each for each in call.arguments}
    tensor = arguments.get(verdict.arg or "")
    if not isinstance(tensor, TensorArgument):
        return False
    byte = tensor.offset_bytes + verdict.address_offset
    program = linear_program(verdict.program, call.grid)
    if verdict.other_program is None:
        seen = touched(call, verdict.op, program, tensor.storage, byte, lanes=_MOST_LANES)
    else:
        programs = program, linear_program(verdict.other_program, call.grid)
        ops = verdict.op, verdict.other_op or verdict.op
        both = replayed(call, ops, programs, tensor.storage, byte, whole=False)
        seen = None if both is None else both.first
    return seen is not None and (seen.iteration, seen.lane, seen.address_offset) == (
        verdict.iteration, verdict.lane, verdict.address_offset,
    )  # fmt: skip


def _filled(call: Call, outside: Outside) -> Call:
    """Return a call with numbers outside of its tensors: no negative ones where none are held."""
    above = replace(outside, first=abs(outside.first))

    def filled(argument: Argument) -> Argument:
        if not isinstance(argument, TensorArgument):
            return argument
        return replace(argument, outside=above if argument.dtype[0] == "u" else outside)

    return replace(call, arguments=tuple(map(filled, call.arguments)))


def _unknown(verdict: Verdict, loads: Sequence[Op]) -> Verdict:
    frames = source_stack(loads[0])
    place = f" in line {frames[0].line}" if frames else ""
    reason = (
        f"it depends on what the load{place} gives, which is itself out of bounds and may read "
        "anything"
    )
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
