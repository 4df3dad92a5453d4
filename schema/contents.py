"""Contents of tensors at launches, read from the table `contents`, distinct for each call.

Traces before format 1.3 have contents only in `calls.args`, for a call's first launch.
"""

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from kvtrace.schema.content import SETS_A_CALL
from kvtrace.schema.layout import GLUON, NOT_EVALUATED

if TYPE_CHECKING:
    from kvtrace.schema.trace import Run, Trace


@dataclass(frozen=True, slots=True)
class StorageContents:
    """Artifact with `size_bytes` of argument `arg`'s storage (an index) from `offset_bytes` on.

    `view_offset_bytes` is where the argument's data pointer lay in the storage; None: not recorded,
    as in traces before format 1.12, where it may be elsewhere than at the call's first launch.
    """

    arg: int
    artifact: str
    offset_bytes: int
    size_bytes: int | None = None
    view_offset_bytes: int | None = None


@dataclass(frozen=True, slots=True)
class ContentSet:
    """Contents of a call's tensors, and the launches (`launches.seq`) that had these contents."""

    launches: tuple[int, ...]
    held: tuple[StorageContents, ...]


@dataclass(frozen=True, slots=True)
class CallContents:
    """The distinct recorded contents of a call's tensors, in order of their first launches.

    Attributes:
        launches: number of the call's launches.
        sets: contents of some launches; the contents of the others are not known.
    """

    launches: int
    sets: tuple[ContentSet, ...]

    @property
    def is_full(self) -> bool:
        """No further contents of the call are recorded."""
        return len(self.sets) >= SETS_A_CALL

    @property
    def known(self) -> int:
        """Number of launches with known contents."""
        return sum(len(contents.launches) for contents in self.sets)


def contents_of(trace: "Trace", run: "Run", call_id: int | None = None) -> dict[int, CallContents]:
    """Return the recorded contents of a run, or of one call, by call id.

    Calls without contents are left out.

    Contents after a launch that did not run are left out, too: on a device they would differ.
    """
    table = trace.table("contents", (run,))
    if call_id is not None:
        import pyarrow.compute as pc

        table = table.filter(pc.equal(table["call_id"], call_id))
    rows = table.to_pylist()
    rows = [row for row in rows if row["artifact"] and row["arg"] >= 0]
    last_seq = _last_launch_that_ran(trace, run) if rows else None
    if last_seq is not None:
        rows = [row for row in rows if row["seq"] <= last_seq]
    if not rows:
        return {}
    sizes = trace.table("artifacts", (run,), columns=["sha256", "size_bytes"])
    size_of = dict(zip(sizes["sha256"].to_pylist(), sizes["size_bytes"].to_pylist(), strict=True))
    by_launch: dict[tuple[int, int], list[StorageContents]] = {}
    for row in rows:
        storage = StorageContents(
            row["arg"],
            row["artifact"],
            row["offset_bytes"] or 0,
            size_of.get(row["artifact"]),
            row["view_offset_bytes"],
        )
        by_launch.setdefault((row["call_id"], row["seq"]), []).append(storage)
    sets: dict[int, dict[tuple[StorageContents, ...], list[int]]] = {}
    for (call_id, seq), storages in sorted(by_launch.items()):
        storages.sort(key=lambda part: (part.arg, part.artifact, part.offset_bytes))
        sets.setdefault(call_id, {}).setdefault(tuple(storages), []).append(seq)
    counts = trace.table("launches", (run,), columns=["call_id"])["call_id"].value_counts()
    launches = {row["values"]: row["counts"] for row in counts.to_pylist()}
    return {
        call_id: CallContents(
            max(launches.get(call_id, 0), sum(map(len, launches_by_contents.values()))),
            tuple(
                ContentSet(tuple(seqs), storage) for storage, seqs in launches_by_contents.items()
            ),
        )
        for call_id, launches_by_contents in sets.items()
    }


def _last_launch_that_ran(trace: "Trace", run: "Run") -> int | None:
    """Return the `seq` before a run's first launch that was not evaluated; None if all were."""
    if NOT_EVALUATED not in trace.table("messages", (run,), ["code"])["code"].to_pylist():
        return None
    kernels = trace.table("kernels", (run,), ["kernel_id", "origin"]).to_pylist()
    gluon = {row["kernel_id"] for row in kernels if row["origin"] == GLUON}
    calls = trace.table("calls", (run,), ["call_id", "kernel_id"]).to_pylist()
    gluon_calls = {row["call_id"] for row in calls if row["kernel_id"] in gluon}
    launches = trace.table("launches", (run,), ["seq", "call_id"]).to_pylist()
    return min((row["seq"] for row in launches if row["call_id"] in gluon_calls), default=0) - 1


def first_contents(
    trace: "Trace",
    runs: Sequence["Run"],
    call_id: int | None = None,
    seq: int | None = None,
) -> dict[tuple[str, int], dict[int, StorageContents]]:
    """Return the contents of whole storages at each call's first launch with recorded contents.

    With `call_id` they are of that call alone, and of its launch `seq` if these were recorded. The
    result is keyed by (run id, call id), and then by the argument's index.
    """
    first: dict[tuple[str, int], dict[int, StorageContents]] = {}
    for run in runs:
        by_call = contents_of(trace, run, call_id)
        if not by_call:
            continue
        calls = trace.table("calls", (run,), columns=["call_id", "args"]).to_pylist()
        args = {row["call_id"]: row["args"] or () for row in calls}
        for known_id, contents in by_call.items():
            chosen = next((one for one in contents.sets if seq in one.launches), contents.sets[0])
            whole_storages = {
                part.arg: part
                for part in chosen.held
                if part.arg < len(args.get(known_id, ()))
                and _covers_storage(part, args[known_id][part.arg])
            }
            if whole_storages:
                first[run.run_id, known_id] = whole_storages
    return first


def _covers_storage(part: StorageContents, arg: Mapping[str, Any]) -> bool:
    """Return whether contents are all of an argument's storage, as large as at the first launch."""
    return (
        part.offset_bytes == 0
        and part.size_bytes is not None
        and (part.size_bytes == arg["storage_bytes"])
    )


def least_storage_bytes(args: Sequence[Mapping[str, Any]], index: int) -> int:
    """Return the bytes that the storage of `args[index]` has at least, to hold all args in it."""
    group = alias_group(index, args[index])
    return max(
        _span(arg)[1] for position, arg in enumerate(args) if alias_group(position, arg) == group
    )


def alias_group(index: int, arg: Mapping[str, Any]) -> int:
    """Return the number that arguments in one storage share, by default the argument's index."""
    return index if arg["alias_group"] is None else int(arg["alias_group"])


def with_values(
    args: Sequence[Mapping[str, Any]] | None, contents: Mapping[int, StorageContents]
) -> list[Mapping[str, Any]]:
    """Return `args` where a launch with these contents had them, with their `value_artifact`."""
    return [
        {**arg, "value_artifact": contents[index].artifact} if index in contents else arg
        for index, arg in enumerate(at_launch(args or (), contents.values()))
    ]


def at_launch(
    args: Sequence[Mapping[str, Any]], contents: Iterable[StorageContents]
) -> list[Mapping[str, Any]]:
    """Return `args` where a launch with these contents had them in memory.

    A call's launches have equal distances between arguments that overlap, which move as one. Others
    of one storage may be in different storages at another launch, so they are given their own.
    """
    parts = {
        part.arg: part
        for part in contents
        if part.view_offset_bytes is not None
        and part.arg < len(args)
        and args[part.arg]["offset_bytes"] is not None
    }
    if not _have_moved(args, parts):
        return list(args)
    joined = _joined_args(args)
    rows: list[Mapping[str, Any]] = []
    for index, arg in enumerate(args):
        members = joined.get(index, ())
        row = {**arg, "alias_group": members[0]} if members else arg
        recorded = [parts[member] for member in members if member in parts]
        rows.append(_moved(row, args, members, recorded) if recorded else row)
    return rows


def first_byte(part: StorageContents, offset_bytes: int) -> int:
    """Return where contents begin in a storage in which their argument is at `offset_bytes`."""
    if part.view_offset_bytes is None:
        return part.offset_bytes
    return offset_bytes - part.view_offset_bytes + part.offset_bytes


def _have_moved(args: Sequence[Mapping[str, Any]], parts: Mapping[int, StorageContents]) -> bool:
    """Return whether a launch's arguments lay elsewhere in their storages, or in other storages."""
    storages = {
        (alias_group(index, args[index]), part.offset_bytes, part.artifact)
        for index, part in parts.items()
    }
    return len({(group, offset) for group, offset, _ in storages}) < len(storages) or any(
        part.view_offset_bytes != args[index]["offset_bytes"]
        or part.offset_bytes + (part.size_bytes or 0) > (args[index]["storage_bytes"] or 0)
        for index, part in parts.items()
    )


def _moved(
    row: Mapping[str, Any],
    args: Sequence[Mapping[str, Any]],
    members: Sequence[int],
    recorded: Sequence[StorageContents],
) -> Mapping[str, Any]:
    """Return an argument moved with the `members` that it overlaps, into a storage for them."""
    if row["storage_bytes"] is None:
        return row
    shift = max((part.view_offset_bytes or 0) - args[part.arg]["offset_bytes"] for part in recorded)
    ends = [_span(args[member])[1] + shift for member in members]
    for part in recorded:
        begin = first_byte(part, args[part.arg]["offset_bytes"] + shift)
        ends.append(begin + (part.size_bytes or 0))
    return {
        **row,
        "offset_bytes": row["offset_bytes"] + shift,
        "storage_bytes": max(row["storage_bytes"], *ends),
    }


def _joined_args(args: Sequence[Mapping[str, Any]]) -> dict[int, tuple[int, ...]]:
    """Return for each tensor the arguments whose bytes overlap, one by one, up to it."""
    spans = sorted(
        (alias_group(index, arg), *_span(arg), index)
        for index, arg in enumerate(args)
        if arg["kind"] in ("tensor", "descriptor") and arg["offset_bytes"] is not None
    )
    components: list[list[int]] = []
    last_group, last_end = None, 0
    for group, begin, end, index in spans:
        if group != last_group or begin >= last_end:
            components.append([])
            last_end = end
        components[-1].append(index)
        last_group, last_end = group, max(last_end, end)
    return {index: tuple(sorted(members)) for members in components for index in members}


def _span(arg: Mapping[str, Any]) -> tuple[int, int]:
    """Return the bytes of its storage that a tensor spans, to the end for one without a shape."""
    offset, shape, strides = arg["offset_bytes"], arg["shape"], arg["strides"]
    if offset is None or (shape is not None and 0 in shape):
        return 0, 0
    if shape is None or strides is None:
        return int(offset), int(arg["storage_bytes"] or 0)
    reaches = [(size - 1) * step for size, step in zip(shape, strides, strict=True)]
    bits = re.search(r"\d+", arg["dtype"] or "")
    width = 1 if bits is None else max(1, int(bits[0]) // 8)
    below = sum(reach for reach in reaches if reach < 0)
    above = 1 + sum(reach for reach in reaches if reach > 0)
    return int(offset + below * width), int(offset + above * width)
