"""Engines, such as Spark, that query and evaluate for commands: entry points `kvtrace.engines`."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Protocol

import pyarrow as pa

from kvtrace import registry
from kvtrace.schema.errors import BadSetting

if TYPE_CHECKING:
    from kvtrace.analysis.replaying import Engine as Evaluation
    from kvtrace.schema.trace import Run, Trace

#: The name of this process as an engine.
HERE = "here"


class QueriedTables(Protocol):
    """The tables and views of some runs, queried in SQL of DuckDB's dialect."""

    def rows(self, text: str) -> tuple[tuple[str, ...], list[tuple[Any, ...]]]:
        """Run one statement, and return column names and rows."""

    def table(self, text: str) -> pa.Table:
        """Run one statement, and return a table; points in time are BIGINT, ns since 1970."""


class Engine(Protocol):
    """An engine that queries tables and evaluates calls; `master` is its address, None: default."""

    def tables(self, trace: "Trace", runs: "Sequence[Run]", master: str | None) -> QueriedTables:
        """Return the tables of the given runs."""

    def evaluation(self, master: str | None) -> "Evaluation":
        """Return the function that evaluates calls for clients."""


def engine_names() -> tuple[str, ...]:
    """Return the names of all installed engines; computing in this process needs none."""
    return tuple(dict.fromkeys(entry.name for entry in registry.entries("engines")))


def load_engine(name: str) -> Engine | None:
    """Return the engine named `name`; None for `here`, which is this process.

    Raises:
        BadSetting: No engine has that name.

    """
    if name == HERE:
        return None
    entry = registry.entry("engines", name)
    if entry is None:
        names = ", ".join((HERE, *engine_names()))
        raise BadSetting(f"there is no engine {name!r}; choose one of {names}.")
    engine: Engine = entry.load()
    return engine
