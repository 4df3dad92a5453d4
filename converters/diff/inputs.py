"""Recorded contents of tensors that kernels were launched with, compared between two sides."""

from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Final

import pyarrow as pa

from kvtrace.figures.identity import KernelKey
from kvtrace.figures.tables import scratch

if TYPE_CHECKING:
    from kvtrace.converters.diff.snapshot import Snapshot
    from kvtrace.schema.trace import Run, Trace

_CONTENTS: Final = """
    WITH entry AS (
        SELECT run, call_id, kernel_id, unnest(args) AS arg, unnest(range(len(args))) AS position
        FROM all_calls WHERE args IS NOT NULL
    ), kept AS (
        SELECT entry.run, kernel_id, entry.arg.name AS name, artifact
        FROM contents JOIN entry ON contents.run = entry.run
            AND contents.call_id = entry.call_id AND contents.arg = position
        UNION ALL
        SELECT run, kernel_id, entry.arg.name, entry.arg.value_artifact
        FROM entry WHERE entry.arg.value_artifact IS NOT NULL
    )
    SELECT grouped, name, list(DISTINCT artifact) AS artifacts
    FROM kept JOIN members USING (run, kernel_id)
    WHERE name IS NOT NULL AND artifact IS NOT NULL GROUP BY grouped, name
"""


def recorded_contents(
    trace: "Trace", runs: Sequence["Run"], calls: pa.Table, members: pa.Table,
    kernels: Sequence[KernelKey],
) -> dict[KernelKey, dict[str, set[str]]]:  # fmt: skip
    """Return the artifacts of the contents that were recorded of each kernel's arguments, by name.

    Args:
        trace: the trace.
        runs: the runs.
        calls: their rows of `calls`.
        members: the variant (column `grouped`) of each run and kernel_id.
        kernels: the kernel of each variant.

    """
    tables = {"all_calls": calls, "members": members}
    tables["contents"] = trace.table("contents", runs, ["call_id", "arg", "artifact"])
    with scratch() as database:
        for name, table in tables.items():
            database.register(name, table)
        rows = database.sql(_CONTENTS).fetchall()
    contents: dict[KernelKey, dict[str, set[str]]] = {}
    for variant, name, artifacts in rows:
        contents.setdefault(kernels[variant], {}).setdefault(name, set()).update(artifacts)
    return contents


def differing_inputs(
    matched: Iterable[tuple[KernelKey, KernelKey]], before: "Snapshot", after: "Snapshot"
) -> Iterator[str]:
    """Yield the arguments of matched kernels whose recorded contents differ, as "x_ptr of add".

    An argument that one side did not record is not compared.
    """
    for old_key, key in matched:
        old, new = before.contents.get(old_key, {}), after.contents.get(key, {})
        yield from (
            f"{name} of {key.name}" for name in sorted(old) if new.get(name, old[name]) != old[name]
        )
