"""The client that judges: verdicts of the rules on each distinct call."""

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from kvtrace.clients.client import Client, Rows
from kvtrace.evaluate.observe import Access, FailedAssertion, OutOfBounds
from kvtrace.ir import Op
from kvtrace.passes.calls import Call, UnreadyCall
from kvtrace.schema.tables import TABLES, Table
from kvtrace.verdicts.choice import rule_texts
from kvtrace.verdicts.judge import Judgement
from kvtrace.verdicts.rules import RULES, default_rules
from kvtrace.verdicts.verdict import row_of


class Sanitizer(Client):
    """Fills `findings`. A call that cannot be judged gets one *unknown* that says why.

    Calls are judged by their formulas; only where that leaves something open that contents or a
    whole grid can decide does the client ask for their evaluation.
    """

    tables: ClassVar[tuple[Table, ...]] = (TABLES["findings"],)

    def __init__(self, rules: Sequence[str] | None = None) -> None:
        """`rules` are ids of those that are looked at; None: the default ones."""
        self._rules = tuple(default_rules() if rules is None else rules)
        self._findings: list[dict[str, Any]] = []
        self._judgement: Judgement | None = None
        self._failure: str | None = None

    def pre_run(self, call: Call) -> None:
        """Judge a call by its formulas."""
        self._failure = None
        self._judgement = Judgement(call, self._rules)

    def programs(self, extents: tuple[int, int, int]) -> Sequence[int] | None:
        """Ask for all programs where something is open, else for none."""
        del extents
        return None if self._judgement is not None and self._judgement.observers else ()

    def access(self, access: Access) -> None:
        """Pass on a batch of accesses."""
        for observer in self._judgement.observers if self._judgement else ():
            observer.access(access)

    def out_of_bounds(self, defect: OutOfBounds) -> None:
        """Pass on lanes that leave their tensor."""
        for observer in self._judgement.observers if self._judgement else ():
            observer.out_of_bounds(defect)

    def loop(self, op: Op, trips: NDArray[np.int64]) -> None:
        """Pass on a finished loop."""
        for observer in self._judgement.observers if self._judgement else ():
            observer.loop(op, trips)

    def device_assert(self, failure: FailedAssertion) -> None:
        """Pass on the kernel's own assertion, at which the launch ends."""
        for observer in self._judgement.observers if self._judgement else ():
            observer.device_assert(failure)

    def failed(self, call: Call | UnreadyCall, reason: str) -> None:
        """Note that what was left to an evaluation stays open."""
        self._failure = reason
        if isinstance(call, UnreadyCall):
            self._findings.append(_unready(call))

    def post_run(self, call: Call) -> None:
        """Take the verdicts of a call."""
        if self._judgement is None:
            return
        self._findings += [
            row_of(verdict, call, self.stacks, RULES[verdict.rule].severity)
            for verdict in self._judgement.verdicts(self._failure)
        ]
        self._judgement = None

    def finalize(self) -> Mapping[str, Rows]:
        """Give the rows of `findings`."""
        return {"findings": self._findings}

    def settings(self) -> Mapping[str, Any]:
        """Say which rules were looked at, and what they are about."""
        return {"rules": rule_texts(self._rules)}


def _unready(call: UnreadyCall) -> dict[str, Any]:
    return {
        "finding_id": f"unready-{call.call_id}",
        "call_id": call.call_id,
        "rule": "out-of-bounds",
        "verdict": "unknown",
        "severity": "note",
        "reason": call.reason,
        "message": f"the accesses of {call.kernel} could not be decided: {call.reason}",
    }
