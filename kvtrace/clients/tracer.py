"""The tracer: addresses of each memory op of each call, program by program."""

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

from kvtrace.clients.call_results import CallResults, ClientByCall
from kvtrace.evaluate import Observer
from kvtrace.metrics.of_ops import Metrics
from kvtrace.recorded_calls.recorded import Call


class Tracer(ClientByCall):
    """The client that fills `accesses`."""

    tables = ("accesses",)
    observers: ClassVar[tuple[type[Observer], ...]] = (Metrics,)

    def post_run(self, call: Call) -> None:
        """Add the accesses of a call."""
        metrics = self.observer(Metrics)
        names = [argument.name for argument in call.arguments]
        rows = metrics.access_rows(call.call_id, names)
        self.add(call.call_id, CallResults({"accesses": rows}, notes=metrics.notes()))

    def settings(self) -> Mapping[str, Any]:
        """Return notes on accesses that are missing because of a limit."""
        return {"left_out": self.noted()}

    def joined_settings(self, parts: Sequence[Mapping[str, Any]]) -> Mapping[str, Any]:
        """Return the notes of all clients."""
        return {"left_out": [note for part in parts for note in part["left_out"]]}
