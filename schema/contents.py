"""What tensors held at launches, read from the table `contents`: distinct contents of each call.

Traces before format 1.3 have what a call's first launch began with in `calls.args` alone.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from kvtrace.schema.layout import GLUON, NOT_EVALUATED

if TYPE_CHECKING:
    from kvtrace.schema.trace import Run, Trace


@dataclass(frozen=True, slots=True, order=True)
class Held:
    """Bytes that one argument's storage held from `offset_bytes` on; `arg` is its place."""

    arg: int
    artifact: str
    offset_bytes: int


@dataclass(frozen=True, slots=True)
class ContentSet:
    """What the tensors of a call held at some of its launches (numbers in `launches.seq`)."""

    launches: tuple[int, ...]
    held: tuple[Held, ...]


@dataclass(frozen=True, slots=True)
class CallContents:
    """The distinct contents of a call, in order of their first launches.

    Attributes:
        launches: how many launches the call has.
        sets: what some of them had. Of all others it is not known.
    """

    launches: int
    sets: tuple[ContentSet, ...]

    @property
    def known(self) -> int:
        """How many launches' contents are known."""
        return sum(len(each.launches) for each in self.sets)


def contents_of(trace: "Trace", run: "Run") -> dict[int, CallContents]:
    """Return what was recorded of calls' contents in a run; calls without are left out.

    So are contents after a launch that did not run: no device would have left them.
    """
    rows = trace.table("contents", (run,)).to_pylist()
    rows = [row for row in rows if row["artifact"] and row["arg"] >= 0]
    last = _last_that_ran(trace, run) if rows else None
    if last is not None:
        rows = [row for row in rows if row["seq"] <= last]
    if not rows:
        return {}
    by_launch: dict[tuple[int, int], list[Held]] = {}
    for row in rows:
        held = Held(row["arg"], row["artifact"], row["offset_bytes"] or 0)
        by_launch.setdefault((row["call_id"], row["seq"]), []).append(held)
    sets: dict[int, dict[tuple[Held, ...], list[int]]] = {}
    for (call_id, seq), listed in sorted(by_launch.items()):
        sets.setdefault(call_id, {}).setdefault(tuple(sorted(listed)), []).append(seq)
    counts = trace.table("launches", (run,), columns=["call_id"])["call_id"].value_counts()
    launches = {row["values"]: row["counts"] for row in counts.to_pylist()}
    return {
        call_id: CallContents(
            max(launches.get(call_id, 0), sum(map(len, found.values()))),
            tuple(ContentSet(tuple(seqs), held) for held, seqs in found.items()),
        )
        for call_id, found in sets.items()
    }


def _last_that_ran(trace: "Trace", run: "Run") -> int | None:
    """Return the last launch of a run before the first that did not run; None: all ran."""
    if NOT_EVALUATED not in trace.table("messages", (run,), ["code"])["code"].to_pylist():
        return None
    kernels = trace.table("kernels", (run,), ["kernel_id", "origin"]).to_pylist()
    own = {row["kernel_id"] for row in kernels if row["origin"] == GLUON}
    calls = trace.table("calls", (run,), ["call_id", "kernel_id"]).to_pylist()
    left_out = {row["call_id"] for row in calls if row["kernel_id"] in own}
    launches = trace.table("launches", (run,), ["seq", "call_id"]).to_pylist()
    return min((row["seq"] for row in launches if row["call_id"] in left_out), default=0) - 1


def first_contents(trace: "Trace", runs: Sequence["Run"]) -> dict[tuple[str, int], dict[int, str]]:
    """Return, by run and call, the artifacts of whole storages at the call's first known launch.

    They are keyed by the argument's place.
    """
    sizes = trace.table("artifacts", runs, columns=["sha256", "size_bytes"])
    size_of = dict(zip(sizes["sha256"].to_pylist(), sizes["size_bytes"].to_pylist(), strict=True))
    first: dict[tuple[str, int], dict[int, str]] = {}
    for run in runs:
        found = contents_of(trace, run)
        if not found:
            continue
        calls = trace.table("calls", (run,), columns=["call_id", "args"]).to_pylist()
        args = {row["call_id"]: row["args"] or () for row in calls}
        for call_id, contents in found.items():
            whole = {
                held.arg: held.artifact
                for held in contents.sets[0].held
                if held.arg < len(args.get(call_id, ()))
                and covers(held, size_of.get(held.artifact), args[call_id][held.arg])
            }
            if whole:
                first[run.run_id, call_id] = whole
    return first


def covers(held: Held, size: int | None, arg: Mapping[str, Any]) -> bool:
    """Whether what is held is all of an argument's storage."""
    return held.offset_bytes == 0 and size is not None and size == arg["storage_bytes"]


def least_storage_bytes(
    args: Sequence[Mapping[str, Any]], place: int, width: Callable[[str], int]
) -> int:
    """Return how large an argument's storage is at least: the tensors that share it lie in it.

    Args:
        args: All entries of `calls.args`.
        place: The argument.
        width: Returns the bytes of an element by the short name of its type.

    """

    def group(position: int) -> Any:
        found = args[position]["alias_group"]
        return position if found is None else found

    def end(arg: Mapping[str, Any]) -> int:
        shape, strides = arg["shape"], arg["strides"]
        if shape is None or strides is None or arg["offset_bytes"] is None or 0 in shape:
            return 0
        reach = sum((size - 1) * max(step, 0) for size, step in zip(shape, strides, strict=True))
        return int(arg["offset_bytes"] + (reach + 1) * width(arg["dtype"]))

    return max(end(arg) for position, arg in enumerate(args) if group(position) == group(place))


def with_values(
    args: Sequence[Mapping[str, Any]] | None, values: Mapping[int, str]
) -> list[Mapping[str, Any]]:
    """Return entries of `calls.args` with `value_artifact` as `first_contents` has it."""
    return [
        {**arg, "value_artifact": values[place]} if place in values else arg
        for place, arg in enumerate(args or ())
    ]
