"""Blocks of data that a page loads when a view opens, and the modules that produce them (sources).

A source is an entry point of the group `kvtrace.report_views`; kvtrace's own are in `views/`.
"""

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Any, Final

import numpy as np
import pyarrow as pa

from kvtrace import registry
from kvtrace.converters.report.model import Report
from kvtrace.converters.report.tensor_elements import Histogram, Layout
from kvtrace.figures.columns import Integers, integers
from kvtrace.ir import Module, parse
from kvtrace.schema.errors import KvtraceError
from kvtrace.schema.runs import plain_times
from kvtrace.schema.trace import Run, Trace
from kvtrace.schema.without_ir import (
    EVALUATED_STAGES,
    PRINTED_TTIR,
    made_generic,
    makes_generic_ttir,
)

_MOST_MODULES: Final = 256
"""Most modules in the cache; each source reads the modules of all calls again."""


@dataclass(frozen=True, slots=True)
class Block:
    """A block: its name, such as `call/3`, and the function that returns its text.

    `pack` reads and encodes the data (`pack.json_block`); None if it is certainly too large.
    """

    name: str
    pack: Callable[[], str | None]


@dataclass(slots=True)
class Context:
    """The report and the trace that sources read, with caches of what they read."""

    report: Report
    trace: Trace
    runs: tuple[Run, ...]
    source: bool = True
    """False: the page must not contain code of the program."""
    histograms: dict[tuple[str, Layout], Histogram | None] = field(default_factory=dict, repr=False)
    """Cache of recorded tensors' histograms, by artifact and layout."""
    _tables: "dict[tuple[str, int], _RowsByCall]" = field(default_factory=dict, repr=False)
    _modules: dict[str | None, Module | None] = field(default_factory=dict, repr=False)
    _left_out: dict[int, tuple[str, ...]] = field(default_factory=dict, repr=False)

    def of_call(self, table: str, call: int) -> list[dict[str, Any]]:
        """Return the rows of a table with a `call_id` for the call with this index in the report.

        The rows have no `run`, and are in the table's order.
        """
        record = self.report.calls[call]
        return self.by_call(table, record.run).rows(record.call_id)

    def by_call(self, table: str, run: int) -> "_RowsByCall":
        """Return a table of the run with this index, sorted by call; it is read once."""
        if (table, run) not in self._tables:
            rows = self.trace.table(table, (self.runs[run],)).drop_columns(["run"])
            self._tables[table, run] = _RowsByCall(rows)
        return self._tables[table, run]

    def left_out(self, run: int) -> tuple[str, ...]:
        """Return the distinct notes of passes on figures of a run that they skipped for their cost.

        `run` is the run's index. Notes are read once.
        """
        if run not in self._left_out:
            passes = self.trace.passes(self.runs[run].run_id).values()
            notes = (note for settings in passes for note in settings.get("left_out", ()))
            self._left_out[run] = tuple(dict.fromkeys(map(str, notes)))
        return self._left_out[run]

    def stack(self, stack_id: int | None) -> int | None:
        """Return the index in `Report.stacks` of the stack with an id of the trace, or None."""
        return None if stack_id is None else self.report.stack_places.get(stack_id)

    def stage(self, variant: int, name: str) -> str | None:
        """Return the text of a variant's compiler stage, or None if the trace lacks the text."""
        sha256 = self.report.stage_artifacts[variant].get(name)
        content = self.trace.artifact(sha256)
        return None if content is None else content.decode("utf-8", "replace")

    def module(self, variant: int) -> Module | None:
        """Return a variant's IR as it is evaluated, or None if missing or malformed; cached."""
        artifacts = self.report.stage_artifacts[variant]
        stage = next((name for name in (*EVALUATED_STAGES, PRINTED_TTIR) if name in artifacts), "")
        sha256 = artifacts.get(stage)
        if sha256 not in self._modules:
            if len(self._modules) >= _MOST_MODULES:
                self._modules.clear()
            text = self.stage(variant, stage)
            try:
                if text is not None and stage == PRINTED_TTIR:
                    text = made_generic(text, None) if makes_generic_ttir() else None
                self._modules[sha256] = None if text is None else parse(text)
            except KvtraceError:  # the page lacks what depends on the module
                self._modules[sha256] = None
        return self._modules[sha256]


@dataclass(frozen=True, slots=True)
class BlockSource:
    """A kind of blocks, with its priority on a page that is too small for all blocks.

    `blocks` yields the blocks, the most needed first. Sources with a low `order` get room first,
    each up to `share` of the remaining room. `noun` (plural) names the blocks in the note on those
    omitted, and `query` is the SQL that shows their rows (`kvtrace sql`). `types` are dataclasses
    of an add-on's blocks, from which TypeScript types are generated.
    """

    name: str
    order: int
    share: float
    noun: str
    query: str
    blocks: Callable[[Context], Iterable[Block]]
    types: tuple[type, ...] = ()


def block_sources() -> tuple[BlockSource, ...]:
    """Return all sources, sorted by `order` and name."""
    sources: list[BlockSource] = [source for _, source in registry.loaded("report_views")]
    return tuple(sorted(sources, key=lambda source: (source.order, source.name)))


#: Rows that are converted at once.
_CHUNK: Final = 512


class _RowsByCall:
    """A table sorted by `call_id`, in which the rows of a call are a slice."""

    def __init__(self, table: pa.Table) -> None:
        calls = integers(table["call_id"])
        if calls.size and np.any(calls[1:] < calls[:-1]):
            order = np.argsort(calls, kind="stable")
            table, calls = table.take(pa.array(order)), calls[order]
        self.table = plain_times(table)
        self.calls: Integers = calls
        self._chunk: tuple[int, list[dict[str, Any]]] = -1, []

    def rows(self, call_id: int) -> list[dict[str, Any]]:
        """Return the rows of one call; calls are mostly asked for in the table's order."""
        first, stop = map(int, np.searchsorted(self.calls, (call_id, call_id + 1)))
        rows: list[dict[str, Any]] = []
        while first < stop:
            number, place = divmod(first, _CHUNK)
            if self._chunk[0] != number:
                self._chunk = number, _as_rows(self.table.slice(number * _CHUNK, _CHUNK))
            rows += self._chunk[1][place : place + stop - first]
            first = (number + 1) * _CHUNK
        return rows


def _as_rows(table: pa.Table) -> list[dict[str, Any]]:
    """Return the rows of a table as `to_pylist` does, converted column by column."""
    names, values = table.column_names, map(_values, table.columns)
    return [dict(zip(names, row, strict=True)) for row in zip(*values, strict=True)]


def _values(column: pa.ChunkedArray) -> list[Any]:
    """Return a column's Python values; `to_pylist` makes an Arrow scalar of each first."""
    if pa.types.is_dictionary(column.type):
        column = column.cast(column.type.value_type)
    if pa.types.is_string(column.type):
        return column.to_numpy().tolist()  # type: ignore[no-any-return]  # pyarrow has no types
    if not pa.types.is_signed_integer(column.type):
        return column.to_pylist()  # type: ignore[no-any-return]
    numbers: list[Any] = integers(column).tolist()
    if not column.null_count:
        return numbers
    are_valid = column.is_valid().to_numpy().tolist()
    return [n if is_valid else None for n, is_valid in zip(numbers, are_valid, strict=True)]
