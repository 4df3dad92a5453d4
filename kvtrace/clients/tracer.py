"""The tracer: addresses of each memory op of each call, program by program."""

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

from kvtrace.clients.client import Client, Rows
from kvtrace.evaluate import Observer
from kvtrace.metrics.of_ops import Metrics, loops_around
from kvtrace.recorded_calls.recorded import Call


class Tracer(Client):
    """The client that fills `accesses`."""

    tables = ("accesses",)
    by_call = True
    observers: ClassVar[tuple[type[Observer], ...]] = (Metrics,)

    def __init__(self) -> None:
        self._accesses: list[dict[str, Any]] = []
        self._notes: list[str] = []

    def post_run(self, call: Call) -> None:
        """Store the accesses of a call."""
        metrics = self.observer(Metrics)
        names = [argument.name for argument in call.arguments]
        self._accesses += metrics.access_rows(call.call_id, names, loops_around(call.module))
        self._notes += metrics.notes(call.call_id)

    def finalize(self) -> Mapping[str, Rows]:
        """Return the rows of `accesses`."""
        return {"accesses": self._accesses}

    def settings(self) -> Mapping[str, Any]:
        """Return notes on accesses that are missing because of a limit."""
        return {"left_out": self._notes}

    def joined_settings(self, parts: Sequence[Mapping[str, Any]]) -> Mapping[str, Any]:
        """Return the notes of all clients."""
        return {"left_out": [note for part in parts for note in part["left_out"]]}
