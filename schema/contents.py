"""Contents of tensors at launches, read from the table `contents`, distinct for each call.

Traces before format 1.3 have contents only in `calls.args`, for a call's first launch.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from kvtrace.schema.layout import GLUON, NOT_EVALUATED

if TYPE_CHECKING:
    from kvtrace.schema.trace import Run, Trace


@dataclass(frozen=True, slots=True, order=True)
class StorageContents:
    """Artifact with the bytes of argument `arg`'s storage (an index) from `offset_bytes` on."""

    arg: int
    artifact: str
    offset_bytes: int


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
    def known(self) -> int:
        """Number of launches with known contents."""
        return sum(len(contents.launches) for contents in self.sets)


def contents_of(trace: "Trace", run: "Run") -> dict[int, CallContents]:
    """Return the recorded contents of a run by call id; calls without contents are left out.

    Contents after a launch that did not run are left out, too: on a device they would differ.
    """
    rows = trace.table("contents", (run,)).to_pylist()
    rows = [row for row in rows if row["artifact"] and row["arg"] >= 0]
    last_seq = _last_launch_that_ran(trace, run) if rows else None
    if last_seq is not None:
        rows = [row for row in rows if row["seq"] <= last_seq]
    if not rows:
        return {}
    by_launch: dict[tuple[int, int], list[StorageContents]] = {}
    for row in rows:
        storage = StorageContents(row["arg"], row["artifact"], row["offset_bytes"] or 0)
        by_launch.setdefault((row["call_id"], row["seq"]), []).append(storage)
    sets: dict[int, dict[tuple[StorageContents, ...], list[int]]] = {}
    for (call_id, seq), storages in sorted(by_launch.items()):
        sets.setdefault(call_id, {}).setdefault(tuple(sorted(storages)), []).append(seq)
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
    trace: "Trace", runs: Sequence["Run"], launches: Mapping[tuple[str, int], int] | None = None
) -> dict[tuple[str, int], dict[int, str]]:
    """Return the artifacts with whole storages at each call's first launch with recorded contents.

    `launches` has the `seq` of other launches, whose contents are returned if they were recorded.
    The result, as `launches`, is keyed by (run id, call id), and then by the argument's index.
    """
    sizes = trace.table("artifacts", runs, columns=["sha256", "size_bytes"])
    size_of = dict(zip(sizes["sha256"].to_pylist(), sizes["size_bytes"].to_pylist(), strict=True))
    first_artifacts: dict[tuple[str, int], dict[int, str]] = {}
    for run in runs:
        by_call = contents_of(trace, run)
        if not by_call:
            continue
        calls = trace.table("calls", (run,), columns=["call_id", "args"]).to_pylist()
        args = {row["call_id"]: row["args"] or () for row in calls}
        for call_id, contents in by_call.items():
            seq = (launches or {}).get((run.run_id, call_id))
            chosen = next((one for one in contents.sets if seq in one.launches), contents.sets[0])
            whole_storages = {
                storage.arg: storage.artifact
                for storage in chosen.held
                if storage.arg < len(args.get(call_id, ()))
                and covers_storage(
                    storage, size_of.get(storage.artifact), args[call_id][storage.arg]
                )
            }
            if whole_storages:
                first_artifacts[run.run_id, call_id] = whole_storages
    return first_artifacts


def covers_storage(storage: StorageContents, size: int | None, arg: Mapping[str, Any]) -> bool:
    """Return whether an artifact of `size` bytes has all of an argument's storage."""
    return storage.offset_bytes == 0 and size is not None and size == arg["storage_bytes"]


def least_storage_bytes(
    args: Sequence[Mapping[str, Any]], index: int, width: Callable[[str], int]
) -> int:
    """Return the bytes that an argument's storage has at least, to hold every argument in it.

    Args:
        args: All entries of `calls.args`.
        index: The argument's index.
        width: Returns the bytes of an element by the short name of its type.

    """

    def storage_key(position: int) -> Any:
        shared = args[position]["alias_group"]
        return position if shared is None else shared

    def end_byte(arg: Mapping[str, Any]) -> int:
        shape, strides = arg["shape"], arg["strides"]
        if shape is None or strides is None or arg["offset_bytes"] is None or 0 in shape:
            return 0
        last_element = sum(
            (size - 1) * max(step, 0) for size, step in zip(shape, strides, strict=True)
        )
        return int(arg["offset_bytes"] + (last_element + 1) * width(arg["dtype"]))

    return max(
        end_byte(arg)
        for position, arg in enumerate(args)
        if storage_key(position) == storage_key(index)
    )


def with_values(
    args: Sequence[Mapping[str, Any]] | None, values: Mapping[int, str]
) -> list[Mapping[str, Any]]:
    """Return `args` with `value_artifact` set from `values`, artifacts by the argument's index."""
    return [
        {**arg, "value_artifact": values[index]} if index in values else arg
        for index, arg in enumerate(args or ())
    ]
