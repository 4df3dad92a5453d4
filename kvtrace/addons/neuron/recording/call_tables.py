"""What distinct NKI calls did, as tables: made in the background, kept until the recording ends."""

from collections.abc import Callable, Sequence
from typing import Any

import pyarrow as pa

from kvtrace.addons.neuron.findings import Finding
from kvtrace.addons.neuron.launching import Outcome
from kvtrace.addons.neuron.recording.rows import (
    Observed,
    buffer_columns,
    derived_tables,
    empty_tables,
    finding_identity,
    finding_tables,
)
from kvtrace.addons.neuron.recording.samples import samples_of
from kvtrace.forks import Lock
from kvtrace.schema.arrays import array_of


class ObservedCall:
    """What the first launch of a call did. Once its tables are made, the record is let go.

    Of a call beyond the limit only findings are kept.
    """

    def __init__(self, call_id: int, outcome: Outcome, *, only_findings: bool = False) -> None:
        self.function = outcome.kernel.function
        self._whole = not only_findings
        self._lock = Lock()
        self._observed: Observed | None = None
        self._tables: dict[str, pa.Table] | None = None
        self._later: list[dict[str, pa.Table]] = []
        self._call_id = call_id
        self._known: set[str] = set()
        if only_findings:
            self._tables = empty_tables()
            self.again(outcome)
            return
        first = self._observed = Observed(
            call_id, outcome.grid, outcome.target, outcome.recorder, samples_of(outcome.recorder)
        )
        self._known = {finding_identity(first, found) for found in outcome.recorder.findings}

    @property
    def has_rows(self) -> bool:
        """Whether it adds to any table."""
        return self._whole or bool(self._later)

    def again(self, outcome: Outcome) -> list[Finding]:
        """Take what a later launch found that no earlier one has: other data, other findings."""
        now = Observed(self._call_id, outcome.grid, outcome.target, outcome.recorder, [])
        fresh = [
            found
            for found in outcome.recorder.findings
            if finding_identity(now, found) not in self._known
        ]
        if fresh:
            self._known.update(finding_identity(now, found) for found in fresh)
            with self._lock:
                self._later.append(finding_tables(now, fresh))
        return fresh

    def tables(self) -> dict[str, pa.Table]:
        """Return the derived tables."""
        with self._lock:
            if self._tables is None:
                assert self._observed is not None
                self._tables = derived_tables(self._observed)
            parts = [self._tables, *self._later]
            return self._tables | {
                name: pa.concat_tables([part[name] for part in parts])
                for name in ("findings", "stacks")
            }

    def buffers(self, add_stack: Callable[[Any], int]) -> dict[str, list[Any]]:
        """Return `buffers` as columns, once; the record is not needed any more then."""
        assert self._observed is not None
        columns = buffer_columns(self._observed, add_stack)
        self.tables()
        self._observed = None
        return columns


def joined(calls: Sequence[ObservedCall]) -> dict[str, pa.Table]:
    """Return the derived tables of several calls together, each stack once."""
    found = [call.tables() for call in calls] or [empty_tables()]
    tables = {name: pa.concat_tables([each[name] for each in found]) for name in found[0]}
    stacks = tables["stacks"]
    first: dict[int, int] = {}
    for place, identity in enumerate(stacks["stack_id"].to_pylist()):
        first.setdefault(identity, place)
    return tables | {"stacks": stacks.take(array_of(list(first.values()), pa.int64()))}
