"""The sanitizer: verdicts of the rules on each unique call."""

from collections.abc import Mapping, Sequence
from typing import Any

from kvtrace.clients.client import Client, Rows
from kvtrace.evaluate.errors import UNFIT, UnfitOp
from kvtrace.recorded_calls.recorded import Call, UnreadyCall
from kvtrace.schema.errors import KvtraceError
from kvtrace.verdicts.binding import Budget
from kvtrace.verdicts.judge import judge_launches
from kvtrace.verdicts.rules.table import RULES, chosen_rules, rule_texts
from kvtrace.verdicts.verdict import row_of, unjudged_row


class Sanitizer(Client):
    """The client that fills `findings`. A call that cannot be judged is *unknown*, with the reason.

    The sanitizer does not need the evaluation that other clients observe. Calls are judged by their
    formulas; undecided claims are evaluated separately, on copies, within the budget.
    """

    tables = ("findings",)
    by_call = True

    def __init__(self, rules: Sequence[str] | None = None, budget: Budget | None = None) -> None:
        """`rules` are ids of the rules to judge; None stands for the default rules."""
        self._rules = tuple(rule.id for rule in chosen_rules(rules))
        self._budget = budget
        self._findings: list[dict[str, Any]] = []

    def pre_run(self, call: Call) -> None:
        """Judge a call with the recorded contents of its launches."""
        try:
            verdicts = judge_launches(call, self._rules, self._budget)
        except KvtraceError as error:
            self._findings.append(unjudged_row(call.call_id, call.kernel, str(error), self._rules))
            return
        except UNFIT as error:  # recorded IR may be anything; reported for the call
            reason = str(UnfitOp(call.kernel, error))
            self._findings.append(unjudged_row(call.call_id, call.kernel, reason, self._rules))
            return
        for verdict in verdicts:
            severity = RULES[verdict.rule].severity
            self._findings.append(row_of(verdict, call, self.stacks, severity))

    def programs(self, extents: tuple[int, int, int]) -> Sequence[int] | None:
        """Return no programs: no evaluation is needed."""
        del extents
        return ()

    def failed(self, call: Call | UnreadyCall, reason: str) -> None:
        """Add an *unknown* for a call with an incomplete record."""
        if isinstance(call, UnreadyCall) and self._rules:
            self._findings.append(unjudged_row(call.call_id, call.kernel, reason, self._rules))

    def finalize(self) -> Mapping[str, Rows]:
        """Return the rows of `findings`."""
        return {"findings": self._findings}

    def settings(self) -> Mapping[str, Any]:
        """Return the judged rules with their summaries."""
        return {"rules": rule_texts(self._rules)}
