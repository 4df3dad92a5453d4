"""Inputs of kernels, compared: recorded contents of tensors, and their parts of storages."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import pyarrow as pa

from kvtrace.figures.identity import KernelKey
from kvtrace.figures.tables import scratch
from kvtrace.schema.errors import KvtraceError

if TYPE_CHECKING:
    from kvtrace.converters.diff.snapshot import Snapshot
    from kvtrace.schema.trace import Run, Trace

#: Artifacts of recorded contents by argument and variant (`grouped`, as in `recorded_inputs`).
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
#: Tensors by shape, strides and storage, with the byte at which each begins in its storage.
_VIEWS: Final = """
    SELECT DISTINCT grouped, arg.name, row(arg.shape, arg.strides, arg.storage_bytes)::VARCHAR,
        arg.offset_bytes
    FROM (SELECT run, kernel_id, unnest(args) AS arg FROM all_calls WHERE args IS NOT NULL)
        JOIN members USING (run, kernel_id)
    WHERE arg.name IS NOT NULL AND arg.storage_bytes IS NOT NULL AND arg.offset_bytes IS NOT NULL
"""

Views = Mapping[str, set[tuple[str, int]]]
"""Shape, strides and storage of each tensor, with its first byte in the storage, by argument."""


@dataclass(frozen=True, slots=True)
class RecordedInputs:
    """Inputs of a side's kernels: artifacts of recorded contents by argument, and views."""

    contents: Mapping[KernelKey, Mapping[str, set[str]]]
    views: Mapping[KernelKey, Views]


def recorded_inputs(
    trace: "Trace", runs: Sequence["Run"], calls: pa.Table, members: pa.Table,
    kernels: Sequence[KernelKey],
) -> RecordedInputs:  # fmt: skip
    """Return the contents that were recorded of each kernel's arguments, and their views.

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
        kept, placed = (database.sql(query).fetchall() for query in (_CONTENTS, _VIEWS))
    contents: dict[KernelKey, dict[str, set[str]]] = {}
    for variant, name, artifacts in kept:
        contents.setdefault(kernels[variant], {}).setdefault(name, set()).update(artifacts)
    views: dict[KernelKey, dict[str, set[tuple[str, int]]]] = {}
    for variant, name, tensor, begin in placed:
        views.setdefault(kernels[variant], {}).setdefault(name, set()).add((tensor, begin))
    return RecordedInputs(contents, views)


def differing_inputs(
    matched: Iterable[tuple[KernelKey, KernelKey]], before: "Snapshot", after: "Snapshot"
) -> Iterator[str]:
    """Yield how inputs of matched kernels differ, as "recorded contents of x_ptr of add differ".

    An argument that one side did not record is not compared, nor one that a kernel only writes, as
    of `torch.empty`, nor where tensors of other shapes, strides or storages begin.
    """
    for old_key, key in matched:
        old, new = before.inputs.contents.get(old_key, {}), after.inputs.contents.get(key, {})
        differing = [name for name in sorted(old) if new.get(name, old[name]) != old[name]]
        unread = _unread(before, old_key) & _unread(after, key) if differing else set()
        for name in differing:
            if name not in unread:
                yield f"recorded contents of {name} of {key.name} differ"
    for old_key, key in matched:
        views, new_views = before.inputs.views.get(old_key, {}), after.inputs.views.get(key, {})
        for name in sorted(views.keys() & new_views.keys()):
            of_one_side = views[name] - new_views[name], new_views[name] - views[name]
            tensors, new_tensors = ({tensor for tensor, _ in side} for side in of_one_side)
            if tensors and tensors == new_tensors:  # so they differ only in where they begin
                begin, new_begin = (min(side)[1] for side in of_one_side)
                yield (
                    f"{name} of {key.name} begins at byte {new_begin} of its storage, "
                    f"at {begin} before"
                )


def _unread(side: "Snapshot", key: KernelKey) -> set[str]:
    """Return the names of arguments that no variant of a kernel reads, by its TTIR."""
    from kvtrace.ir import parse
    from kvtrace.ir.memory_sites import read_positions

    unread: list[set[str]] = []
    for variant in side.kernels.get(key, []):
        text = side.text(variant.stages.get("ttir_generic"))
        try:
            module = parse(text or "")
        except KvtraceError:
            return set()
        read, arguments = read_positions(module), module.main.arguments
        unread.append({arguments[n].name.lstrip("%") for n in {*range(len(arguments))} - read})
    return set.intersection(*unread) if unread else set()
