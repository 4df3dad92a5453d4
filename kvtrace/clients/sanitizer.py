"""The client that judges: a verdict for each memory access of each distinct call."""

from collections.abc import Mapping
from typing import Any, ClassVar

from kvtrace.clients.client import Client, Rows
from kvtrace.evaluate import Observer
from kvtrace.passes.bounds import Bounds
from kvtrace.passes.calls import Call, UnreadyCall
from kvtrace.schema.tables import TABLES, Table


class Sanitizer(Client):
    """Fills `findings`. A call that cannot be evaluated gets one *unknown* that says why."""

    tables: ClassVar[tuple[Table, ...]] = (TABLES["findings"],)
    observers: ClassVar[tuple[type[Observer], ...]] = (Bounds,)

    def __init__(self) -> None:
        self._findings: list[dict[str, Any]] = []
        self._failure: str | None = None

    def pre_run(self, call: Call) -> None:
        """Forget why the call before could not be evaluated."""
        del call
        self._failure = None

    def failed(self, call: Call | UnreadyCall, reason: str) -> None:
        """Note that accesses of a call are undecided."""
        self._failure = reason
        if isinstance(call, UnreadyCall):
            self._findings.append(_unready(call))

    def post_run(self, call: Call) -> None:
        """Take the verdicts of a call."""
        self._findings += self.observer(Bounds).rows(call, self.stacks, self._failure)

    def finalize(self) -> Mapping[str, Rows]:
        """Give the rows of `findings`."""
        return {"findings": self._findings}

    def settings(self) -> Mapping[str, Any]:
        """Say which rules were looked at."""
        return {"rules": "out-of-bounds, out-of-view, device-assert"}


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
