"""Runs: the recorded processes, each a row of the table `runs`."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Self

import pyarrow as pa

from kvtrace.schema.errors import NewerFormat
from kvtrace.schema.features import (
    features_of_run,
    keeps_collectives_alone,
    unknown_features_text,
)
from kvtrace.schema.table_types import NAME


@dataclass(frozen=True, slots=True)
class Run:
    """Every column of `runs`, and whether the run is sealed. Times are int64 ns since 1970, UTC."""

    run_id: str
    group_id: str | None = None
    started: int | None = None
    ended: int | None = None
    command: str | None = None
    directory: str | None = None
    host: str | None = None
    pid: int | None = None
    parent_run_id: str | None = None
    rank: int | None = None
    world_size: int | None = None
    git_root: str | None = None
    git_commit: str | None = None
    git_branch: str | None = None
    git_dirty: bool | None = None
    versions: Mapping[str, str] = field(default_factory=dict, hash=False)
    devices: Sequence[Mapping[str, Any]] = field(default=(), hash=False)
    mode: str | None = None
    settings: Mapping[str, str] = field(default_factory=dict, hash=False)
    schema_version: str | None = None
    ending: str | None = None
    self_overhead_ns: int | None = None
    dropped_rows: int | None = None
    overhead: Mapping[str, int | None] | None = field(default=None, hash=False)
    source: str | None = None
    producer: str | None = None
    producer_version: str | None = None
    required_features: Sequence[str] = ()
    sealed: bool = False

    @property
    def has_all_times(self) -> bool:
        """Every execution was recorded with times, so that a gap between two is idle time."""
        return not (self.has_weights or self.has_total_times or self.has_collectives_alone)

    @property
    def has_collectives_alone(self) -> bool:
        """Of the executions collectives alone were recorded, by the setting `ranks`."""
        return keeps_collectives_alone(self.settings, self.rank)

    @property
    def has_weights(self) -> bool:
        """Rows of launches or executions may stand for several: their weights are to be counted."""
        return "weights" in self.features

    @property
    def has_total_times(self) -> bool:
        """Executions have durations, but no points in time."""
        return "total-times" in self.features

    @property
    def features(self) -> set[str]:
        """Required features, also those that settings of a run before format 1.12 imply."""
        row = {"settings": self.settings, "required_features": self.required_features}
        return features_of_run(row | {"rank": self.rank})

    @classmethod
    def of_row(cls, row: Mapping[str, Any], sealed: bool) -> Self:
        """Return a run for a row of `plain_rows`.

        Raises:
            NewerFormat: the run requires a feature that this version does not know.

        """
        values = dict(row)
        values["versions"] = dict(row.get("versions") or ())
        values["settings"] = dict(row.get("settings") or ())
        values["devices"] = tuple(row.get("devices") or ())
        values["required_features"] = tuple(row.get("required_features") or ())
        refusal = unknown_features_text(values["run_id"], values["required_features"])
        if refusal is not None:
            raise NewerFormat(refusal)
        return cls(**values, sealed=sealed)


def plain_rows(rows: pa.Table) -> list[dict[str, Any]]:
    """Return rows of `plain_times` as dictionaries."""
    row_list: list[dict[str, Any]] = plain_times(rows).to_pylist()
    return row_list


def plain_times(rows: pa.Table) -> pa.Table:
    """Return rows with times as int ns since 1970, which `datetime` would round."""
    for index, column in enumerate(rows.schema):
        if pa.types.is_timestamp(column.type):
            nanoseconds = rows.column(index).cast(pa.int64())
            rows = rows.set_column(index, column.name, nanoseconds)
    return rows


def with_run(rows: pa.Table, run_id: str) -> pa.Table:
    """Return rows with `run_id` in every row of an added last column "run"."""
    zeros = pa.py_buffer(bytes(4 * rows.num_rows))
    indices = pa.Array.from_buffers(pa.int32(), rows.num_rows, [None, zeros])
    column = pa.DictionaryArray.from_arrays(indices, pa.array([run_id], pa.string()))
    return rows.append_column(pa.field("run", NAME), column)
