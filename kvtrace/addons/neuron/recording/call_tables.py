"""Tables of unique NKI calls: made in the background, kept in memory until the recording ends."""

from collections.abc import Callable, Sequence
from typing import Any

import pyarrow as pa

from kvtrace.addons.neuron.findings import Finding
from kvtrace.addons.neuron.launching import Outcome
from kvtrace.addons.neuron.recorder import samples_of
from kvtrace.addons.neuron.recording.rows import (
    ObservedLaunch,
    buffer_columns,
    derived_tables,
    empty_tables,
    finding_identity,
    finding_tables,
)
from kvtrace.forks import Lock
from kvtrace.schema.arrays import array_of


class ObservedCall:
    """The record of a call's first launch, and findings that only later launches had.

    Once the tables are made, the launch's record is released. With `only_findings`, for calls
    beyond the limit, there are no other tables.
    """

    def __init__(self, call_id: int, outcome: Outcome, *, only_findings: bool = False) -> None:
        self.function = outcome.kernel.function
        self._is_complete = not only_findings
        self._lock = Lock()
        self._observed: ObservedLaunch | None = None
        self._tables: dict[str, pa.Table] | None = None
        self._later_tables: list[dict[str, pa.Table]] = []
        self._call_id = call_id
        self._finding_ids: set[str] = set()
        if only_findings:
            self._tables = empty_tables()
            self.add_launch(outcome)
            return
        first_launch = self._observed = ObservedLaunch(
            call_id, outcome.grid, outcome.target, outcome.recorder, samples_of(outcome.recorder)
        )
        self._finding_ids = {
            finding_identity(first_launch, finding) for finding in outcome.recorder.findings
        }

    @property
    def has_rows(self) -> bool:
        """The call adds rows to at least one table."""
        return self._is_complete or bool(self._later_tables)

    def add_launch(self, outcome: Outcome) -> list[Finding]:
        """Store and return the findings of a later launch that no earlier launch had."""
        launch = ObservedLaunch(self._call_id, outcome.grid, outcome.target, outcome.recorder, [])

        new_findings = [
            finding
            for finding in outcome.recorder.findings
            if finding_identity(launch, finding) not in self._finding_ids
        ]
        if new_findings:
            self._finding_ids.update(finding_identity(launch, finding) for finding in new_findings)
            with self._lock:
                self._later_tables.append(finding_tables(launch, new_findings))
        return new_findings

    def tables(self) -> dict[str, pa.Table]:
        """Return the call's derived tables, including later launches' findings."""
        with self._lock:
            if self._tables is None:
                assert self._observed is not None
                self._tables = derived_tables(self._observed)
            table_sets = [self._tables, *self._later_tables]
            return self._tables | {
                name: pa.concat_tables([table_set[name] for table_set in table_sets])
                for name in ("findings", "stacks")
            }

    def buffers(self, add_stack: Callable[[Any], int]) -> dict[str, list[Any]]:
        """Return the columns of `buffers`, and release the record; to be called once."""
        assert self._observed is not None
        columns = buffer_columns(self._observed, add_stack)
        self.tables()
        self._observed = None
        return columns


def joined_tables(calls: Sequence[ObservedCall]) -> dict[str, pa.Table]:
    """Return the derived tables of several calls, concatenated; each stack has one row."""
    parts = [call.tables() for call in calls] or [empty_tables()]
    tables = {name: pa.concat_tables([part[name] for part in parts]) for name in parts[0]}
    stacks = tables["stacks"]
    first_rows: dict[int, int] = {}
    for row, stack_id in enumerate(stacks["stack_id"].to_pylist()):
        first_rows.setdefault(stack_id, row)
    return tables | {"stacks": stacks.take(array_of(list(first_rows.values()), pa.int64()))}
