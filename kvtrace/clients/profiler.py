"""The profiler: counts of each IR op and trip counts of loops, for each call."""

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

from kvtrace.clients.call_results import CallResults, ClientByCall
from kvtrace.evaluate import Observer
from kvtrace.metrics.of_ops import Metrics
from kvtrace.recorded_calls.recorded import Call
from kvtrace.schema.content import StackRows


class Profiler(ClientByCall):
    """The client that fills `ops` and `loops`; figures that were not fully counted are null."""

    tables = ("ops", "loops")
    observers: ClassVar[tuple[type[Observer], ...]] = (Metrics,)

    def post_run(self, call: Call) -> None:
        """Add the rows of a call."""
        metrics, stacks = self.observer(Metrics), StackRows()
        names = [argument.name for argument in call.arguments]
        rows = {
            "ops": metrics.op_rows(call.call_id, names, stacks),
            "loops": metrics.loop_rows(call.call_id, stacks),
        }
        results = CallResults(rows, stacks, metrics.notes(), metrics.modeled)
        self.add(call.call_id, results)

    def settings(self) -> Mapping[str, Any]:
        """Return notes on figures that are null, and how many ops' sectors were counted how."""
        counts = [results.counts for results in self.results.values()]
        compiled, in_order = map(sum, zip((0, 0), *counts, strict=True))
        sectors = {"by_compiled_layout": compiled, "by_lane_order": in_order}
        return {"left_out": self.noted(), "sectors": sectors}

    def joined_settings(self, parts: Sequence[Mapping[str, Any]]) -> Mapping[str, Any]:
        """Return the notes of all clients, and the sums of their counts."""
        notes = [note for part in parts for note in part["left_out"]]
        names = self.settings()["sectors"]
        sectors = {name: sum(part["sectors"][name] for part in parts) for name in names}
        return {"left_out": notes, "sectors": sectors}
