"""The profiler: counts of each IR op and trip counts of loops, for each call."""

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

from kvtrace.clients.client import Client, Rows
from kvtrace.evaluate import Observer
from kvtrace.metrics.of_ops import Metrics, loops_around
from kvtrace.recorded_calls.recorded import Call


class Profiler(Client):
    """The client that fills `ops` and `loops`; figures that were not fully counted are null."""

    tables = ("ops", "loops")
    by_call = True
    observers: ClassVar[tuple[type[Observer], ...]] = (Metrics,)

    def __init__(self) -> None:
        self._ops: list[dict[str, Any]] = []
        self._loops: list[dict[str, Any]] = []
        self._notes: list[str] = []
        self._modelled = [0, 0]

    def post_run(self, call: Call) -> None:
        """Store the rows of a call."""
        metrics = self.observer(Metrics)
        names = [argument.name for argument in call.arguments]
        around = loops_around(call.module)
        self._ops += metrics.op_rows(call.call_id, names, around, self.stacks)
        self._loops += metrics.loop_rows(call.call_id, self.stacks)
        self._notes += metrics.notes(call.call_id)
        self._modelled = [a + b for a, b in zip(self._modelled, metrics.modeled, strict=True)]

    def finalize(self) -> Mapping[str, Rows]:
        """Return the rows of `ops` and `loops`."""
        return {"ops": self._ops, "loops": self._loops}

    def settings(self) -> Mapping[str, Any]:
        """Return notes on figures that are null, and how many ops' sectors were counted how."""
        compiled, in_order = self._modelled
        sectors = {"by_compiled_layout": compiled, "by_lane_order": in_order}
        return {"left_out": self._notes, "sectors": sectors}

    def joined_settings(self, parts: Sequence[Mapping[str, Any]]) -> Mapping[str, Any]:
        """Return the notes of all clients, and the sums of their counts."""
        notes = [note for part in parts for note in part["left_out"]]
        names = self.settings()["sectors"]
        sectors = {name: sum(part["sectors"][name] for part in parts) for name in names}
        return {"left_out": notes, "sectors": sectors}
