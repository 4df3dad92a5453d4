"""Blocks of data that a page reads when a view is opened, and the sources that give them.

A source is an entry point of the group `kvtrace.report_views`; kvtrace's own are in `views/`.
"""

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final

import numpy as np
import pyarrow as pa

from kvtrace import registry
from kvtrace.converters.report.model import Report
from kvtrace.converters.report.tensor_elements import Histogram, Layout
from kvtrace.figures.columns import Integers, integers
from kvtrace.ir import IRSyntaxError, Module, parse
from kvtrace.schema.runs import plain_rows

if TYPE_CHECKING:
    from kvtrace.schema.trace import Run, Trace

_GENERIC: Final = "ttir_generic"
_MOST_MODULES: Final = 256
"""So many are kept: sources read the same ones, one after the other."""

__all__ = ["Block", "BlockSource", "Context", "block_sources"]


@dataclass(frozen=True, slots=True)
class Block:
    """A block by its name, `source/which`, and what packs it (`pack.json_block` and the like).

    `pack` may give None for what is too large to be tried.
    """

    name: str
    pack: Callable[[], str | None]


@dataclass(slots=True)
class Context:
    """What sources read from: the report as the page will have it, and the trace behind it."""

    report: Report
    trace: "Trace"
    runs: "tuple[Run, ...]"
    source: bool = True
    """False: nothing that holds the program's code may go into the page."""
    histograms: dict[tuple[str, Layout], Histogram | None] = field(default_factory=dict, repr=False)
    """Those of recorded tensors that were worked out already, by artifact."""
    _tables: "dict[tuple[str, int], _ByCall]" = field(default_factory=dict, repr=False)
    _modules: dict[str | None, Module | None] = field(default_factory=dict, repr=False)
    _left_out: dict[int, tuple[str, ...]] = field(default_factory=dict, repr=False)

    def of_call(self, table: str, call: int) -> list[dict[str, Any]]:
        """Return the rows of a table with a `call_id` that belong to a call of the report.

        `run` is left out of them; rows are in the table's order.
        """
        place = self.report.calls[call]
        return self.by_call(table, place.run).rows(place.call_id)

    def of_client(self, table: str, call: int) -> list[dict[str, Any]]:
        """Return a call's rows of a client's table; none where the trace has no such table."""
        return self.of_call(table, call) if table in self.trace.client_tables else []

    def by_call(self, table: str, run: int) -> "_ByCall":
        """Return a table of one run of the report, in the order of its calls; read once."""
        if (table, run) not in self._tables:
            rows = self.trace.table(table, (self.runs[run],)).drop_columns(["run"])
            self._tables[table, run] = _ByCall(rows)
        return self._tables[table, run]

    def left_out(self, run: int) -> tuple[str, ...]:
        """Return what passes say that they gave up in a run for its cost; read once."""
        if run not in self._left_out:
            passes = self.trace.passes(self.runs[run].run_id).values()
            notes = (note for facts in passes for note in facts.get("left_out", ()))
            self._left_out[run] = tuple(dict.fromkeys(map(str, notes)))
        return self._left_out[run]

    def stack(self, stack_id: int | None) -> int | None:
        """Return the place in `Report.stacks` of a stack of the trace."""
        return None if stack_id is None else self.report.stack_places.get(stack_id)

    def stage(self, variant: int, name: str) -> str | None:
        """Return the text of a variant's compiler stage, None where the trace has it not."""
        sha256 = self.report.stage_artifacts[variant].get(name)
        content = self.trace.artifact(sha256)
        return None if content is None else content.decode("utf-8", "replace")

    def module(self, variant: int) -> Module | None:
        """Return a variant's TTIR; None where the trace has none that can be read."""
        sha256 = self.report.stage_artifacts[variant].get(_GENERIC)
        if sha256 not in self._modules:
            if len(self._modules) >= _MOST_MODULES:
                self._modules.clear()
            text = self.stage(variant, _GENERIC)
            try:
                self._modules[sha256] = None if text is None else parse(text)
            except IRSyntaxError:  # the page is made without what it would show
                self._modules[sha256] = None
        return self._modules[sha256]


@dataclass(frozen=True, slots=True)
class BlockSource:
    """Blocks of one kind, and how they fare where the page is too small for everything.

    Sources with a low `order` get room first, each up to `share` of what is left then; of a source
    the blocks that come last are left out first. `noun` says what they are (plural) and `query`
    the SQL that shows them in `kvtrace sql`, which the page prints for what was left out.
    `types` are dataclasses of an add-on's blocks, of which the page's types are made. `loop_table`
    is the name of a client's table that says how loops of calls nest, if there is one.
    """

    name: str
    order: int
    share: float
    noun: str
    query: str
    blocks: Callable[[Context], Iterable[Block]]
    types: tuple[type, ...] = ()
    loop_table: str | None = None


def block_sources() -> tuple[BlockSource, ...]:
    """Return all sources, in the order in which they get room."""
    sources: list[BlockSource] = [source for _, source in registry.loaded("report_views")]
    return tuple(sorted(sources, key=lambda source: (source.order, source.name)))


class _ByCall:
    """A table sorted by `call_id`, for which the rows of a call are a slice."""

    def __init__(self, table: pa.Table) -> None:
        calls = integers(table["call_id"])
        if calls.size and np.any(calls[1:] < calls[:-1]):
            order = np.argsort(calls, kind="stable")
            table, calls = table.take(pa.array(order)), calls[order]
        self.table = table
        self.calls: Integers = calls

    def rows(self, call_id: int) -> list[dict[str, Any]]:
        """Return the rows of one call."""
        first, last = np.searchsorted(self.calls, (call_id, call_id + 1))
        return plain_rows(self.table.slice(first, last - first))
