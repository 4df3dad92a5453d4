"""Verdicts that depend on the zero that replaces a load's value in lanes out of bounds.

A load out of bounds may read any bytes; the evaluator substitutes 0. A conclusion from that 0
(an index is inside, a divisor is zero) is not a fact about the kernel. After such a load a proof
remains if it needs no contents, and a violation remains if its witness fails for other substitutes,
too: the call is run with several. All other verdicts become unknown and name the load.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from typing import Final

from msgspec.structs import replace

from kvtrace.evaluate import Argument, TensorArgument
from kvtrace.evaluate.arguments import OutsideNumbers
from kvtrace.evaluate.scope import linear_program
from kvtrace.ir import Module, Op
from kvtrace.ir.feeding import loads_behind
from kvtrace.ir.model import line_text
from kvtrace.recorded_calls.recorded import Call
from kvtrace.verdicts.conflicts.race_replay import replayed, touched
from kvtrace.verdicts.replaying import WITNESS_LANES, without_contents
from kvtrace.verdicts.verdict import Verdict

Judge = Callable[["Call", Collection[str]], Iterable[Verdict]]

_BOUNDS: Final = "out-of-bounds"

#: Substitutes besides 0. They fit into 8 bits, so that a loop up to a substitute is short; -1
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
    """Return the verdicts of rules; those that depend on a substituted zero become unknown.

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
        judge(without_contents(call), {verdict.rule for verdict in doubtful}) if doubtful else ()
    )
    verdicts_by_op = {(v.rule, v.op.index): v.verdict for v in verdicts_without_contents}
    violated_rules = {verdict.rule for verdict in doubtful if verdict.verdict == "violation"}
    substituted_calls = _SubstitutedCalls(call, verdicts, violated_rules, judge)

    def settled(verdict: Verdict) -> Verdict:
        loads = loads_of.get(id(verdict))
        stands = verdict.verdict == "unknown" or (
            verdicts_by_op.get((verdict.rule, verdict.op.index)) == verdict.verdict
        )
        if loads is None or stands:
            return verdict
        return substituted_calls.common_violation(verdict) or _unknown(verdict, loads)

    return [settled(verdict) for verdict in selected]


def without_any_zeros(module: Module, verdicts: Sequence[Verdict]) -> list[Verdict]:
    """Return one launch's verdicts; those that may depend on a substituted zero become unknown.

    The launch's contents are no longer available, so nothing can be run again. A verdict before a
    load left its tensor does not depend on the load.

    Args:
        module: the launched module.
        verdicts: the verdicts in the order in which they were seen.

    """
    settled = []
    for position, verdict in enumerate(verdicts):
        loads = _doubtful_loads(module, [verdict], verdicts[:position]).get(id(verdict))
        settled.append(verdict if loads is None else _unknown(verdict, loads))
    return settled


def _doubtful_loads(
    module: Module, verdicts: Sequence[Verdict], all_verdicts: Sequence[Verdict]
) -> dict[int, list[Op]]:
    """Return, by the id() of a verdict, the out-of-bounds loads on which it may depend."""
    out_of_bounds = {
        verdict.op.index: verdict.op
        for verdict in all_verdicts
        if verdict.rule == _BOUNDS and verdict.verdict == "violation" and verdict.access != "store"
    }
    loads_of: dict[int, list[Op]] = {}
    for verdict in verdicts if out_of_bounds else ():
        feeding_loads = set(loads_behind(verdict.op, module))
        if verdict.other_op is not None:
            feeding_loads |= loads_behind(verdict.other_op, module)
        loads = [op for index, op in out_of_bounds.items() if index in feeding_loads]
        if loads:
            loads_of[id(verdict)] = loads
    return loads_of


class _SubstitutedCalls:
    """A call, and copies of the call with other substitutes, each judged when first needed."""

    def __init__(
        self, call: Call, verdicts: Sequence[Verdict], rules: Collection[str], judge: Judge
    ) -> None:
        self._calls = (call, *(_substituted(call, outside) for outside in _SUBSTITUTES))
        self._rules = rules
        self._judge = judge
        self._judged: dict[int, Sequence[Verdict]] = {0: verdicts}

    def common_violation(self, verdict: Verdict) -> Verdict | None:
        """Return a violation of the same rule and ops that occurs in all calls, else None.

        Its `lanes` is None, as some lanes may depend on the substitutes.
        """
        if verdict.verdict != "violation" or verdict.program is None:
            return None
        for candidate in (verdict, *self._similar_violations(verdict)):
            if all(self._occurs(call_index, candidate) for call_index in range(len(self._calls))):
                lanes_text = f"; {candidate.lanes or 0:,} lanes over the grid"
                message, _, _ = candidate.message.partition(lanes_text)
                return replace(candidate, message=message, lanes=None)
        return None

    def _similar_violations(self, verdict: Verdict) -> Iterator[Verdict]:
        """Yield the violations of the same rule and ops in the calls with substitutes."""
        for call_index in range(1, len(self._calls)):
            for candidate in self._verdicts(call_index):
                is_same_op = candidate.rule == verdict.rule and candidate.op is verdict.op
                if (
                    is_same_op
                    and candidate.verdict == "violation"
                    and candidate.other_op is verdict.other_op
                ):
                    yield candidate

    def _verdicts(self, call_index: int) -> Sequence[Verdict]:
        if call_index not in self._judged:
            self._judged[call_index] = list(self._judge(self._calls[call_index], self._rules))
        return self._judged[call_index]

    def _occurs(self, call_index: int, verdict: Verdict) -> bool:
        """Return whether a violation's witness also fails in the call with this index."""
        call, is_of_lanes = self._calls[call_index], verdict.other_program == verdict.program
        if verdict.address_offset is not None and not is_of_lanes and _accesses_byte(call, verdict):
            return True  # for two lanes of a program, the access of one proves nothing
        witness = _witness_fields(verdict)
        if call_index == 0 and verdict.address_offset is None:
            return True  # the call with zeros has this violation, perhaps not as its first
        return any(
            _witness_fields(candidate) == witness for candidate in self._verdicts(call_index)
        )


def _witness_fields(verdict: Verdict) -> tuple[object, ...]:
    return (
        verdict.rule, verdict.verdict, verdict.op, verdict.program, verdict.iteration,
        verdict.lane, verdict.address_offset, verdict.other_op, verdict.other_program,
    )  # fmt: skip


def _accesses_byte(call: Call, verdict: Verdict) -> bool:
    """Return whether the witness's programs, run alone, access its byte in its lane and trip."""
    assert verdict.program is not None
    assert verdict.address_offset is not None
    arguments = {argument.name: argument for argument in call.arguments}
    tensor = arguments.get(verdict.arg or "")
    if not isinstance(tensor, TensorArgument):
        return False
    byte = tensor.offset_bytes + verdict.address_offset
    program = linear_program(verdict.program, call.grid)
    if verdict.other_program is None:
        touch = touched(call, verdict.op, program, tensor.storage, byte, lanes=WITNESS_LANES)
    else:
        programs = program, linear_program(verdict.other_program, call.grid)
        ops = verdict.op, verdict.other_op or verdict.op
        race_witness = replayed(call, ops, programs, tensor.storage, byte, whole=False)
        touch = None if race_witness is None else race_witness.first
    return touch is not None and (touch.iteration, touch.lane, touch.address_offset) == (
        verdict.iteration, verdict.lane, verdict.address_offset,
    )  # fmt: skip


def _substituted(call: Call, outside: OutsideNumbers) -> Call:
    """Return a call whose loads out of bounds read substitutes, positive for unsigned types."""
    positive = replace(outside, first=abs(outside.first))

    def substituted(argument: Argument) -> Argument:
        if not isinstance(argument, TensorArgument):
            return argument
        return replace(argument, outside=positive if argument.dtype[0] == "u" else outside)

    return replace(call, arguments=tuple(map(substituted, call.arguments)))


def _unknown(verdict: Verdict, loads: Sequence[Op]) -> Verdict:
    line = line_text(loads[0], "in")
    reason = f"it depends on the load{line}, which is itself out of bounds and may read anything"
    subject = verdict.access or verdict.rule
    unknown = verdict.undecided(f"{subject} could not be decided", reason)
    return replace(unknown, method=verdict.method, expression=verdict.expression)
