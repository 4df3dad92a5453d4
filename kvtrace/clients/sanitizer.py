"""The sanitizer: verdicts of the rules on each unique call."""

from collections.abc import Hashable, Mapping, Sequence
from typing import Any

from kvtrace.clients.call_results import CallResults, ClientByCall
from kvtrace.evaluate.errors import UNFIT, UnfitOp
from kvtrace.recorded_calls.recorded import Call, UnreadyCall
from kvtrace.schema.content import StackRows
from kvtrace.schema.errors import KvtraceError
from kvtrace.verdicts.binding import Budget
from kvtrace.verdicts.judge import judge_launches
from kvtrace.verdicts.rules.table import RULES, chosen_rules, rule_texts
from kvtrace.verdicts.verdict import rows_of, unjudged_row


class Sanitizer(ClientByCall):
    """The client that fills `findings`. A call that cannot be judged is *unknown*, with the reason.

    The sanitizer does not need the evaluation that other clients observe. Calls are judged by their
    formulas; undecided claims are evaluated separately, on copies, within the budget.
    """

    tables = ("findings",)

    def __init__(self, rules: Sequence[str] | None = None, budget: Budget | None = None) -> None:
        """`rules` are ids of the rules to judge; None stands for the default rules."""
        super().__init__()
        self._rules = tuple(rule.id for rule in chosen_rules(rules))
        self._budget = budget

    @property
    def identity(self) -> Hashable:
        """The class, the rules and the budget, on which verdicts depend."""
        return type(self), self._rules, self._budget

    def pre_run(self, call: Call) -> None:
        """Judge a call with the recorded contents of its launches."""
        try:
            verdicts = judge_launches(call, self._rules, self._budget)
        except KvtraceError as error:
            self._add_unjudged(call, str(error))
            return
        except UNFIT as error:  # recorded IR may be anything; reported for the call
            self._add_unjudged(call, str(UnfitOp(call.kernel, error)))
            return
        stacks = StackRows()
        rows = rows_of(((v, RULES[v.rule].severity) for v in verdicts), call, stacks)
        self.add(call.call_id, CallResults({"findings": rows}, stacks))

    def programs(self, extents: tuple[int, int, int]) -> Sequence[int] | None:
        """Return no programs: no evaluation is needed."""
        del extents
        return ()

    def failed(self, call: Call | UnreadyCall, reason: str) -> None:
        """Add an *unknown* for a call with an incomplete record."""
        if isinstance(call, UnreadyCall) and self._rules:
            self._add_unjudged(call, reason)

    def _add_unjudged(self, call: Call | UnreadyCall, reason: str) -> None:
        row = unjudged_row(call.call_id, call.kernel, reason, self._rules)
        self.add(call.call_id, CallResults({"findings": [row]}, are_shared=False))

    def settings(self) -> Mapping[str, Any]:
        """Return the judged rules with their summaries."""
        return {"rules": rule_texts(self._rules)}
