"""Which launch first has another result: digests of both sides, launch by launch.

Launches are paired by kernel and order, those of autotuners left out; their storages are compared
where the arguments are alike. If what a launch read differs, something upstream does that has no
digest. If it is equal, the first suspect is a change of its code, scalars or grid. Only a kernel
without any is not deterministic, and its IR may say why.
"""

from collections.abc import Container, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from kvtrace.converters.diff.model import DifferentResult, Results
from kvtrace.converters.diff.snapshot import Snapshot
from kvtrace.figures.identity import KernelKey, key_of
from kvtrace.ir import Module
from kvtrace.ir.errors import IRSyntaxError
from kvtrace.ir.ops import COMBINING, computing
from kvtrace.ir.relocation import module_defined_in
from kvtrace.ir.unordered import unordered

if TYPE_CHECKING:
    from kvtrace.schema.trace import Run

_GRID: Final = ("grid_x", "grid_y", "grid_z")
_ALIKE: Final = ("dtype", "shape", "strides", "offset_bytes", "storage_bytes")
_AFTER: Final = "after"

#: Ops whose sums go in an order.
_SUMMING: Final = COMBINING | computing("dot")

#: Digests of a launch: argument and when → digest and lines.
_Digests = dict[tuple[int, str], tuple[int, int]]


@dataclass(frozen=True, slots=True)
class _Launch:
    seq: int
    kernel: Mapping[str, Any]
    args: Sequence[Mapping[str, Any]]
    grid: tuple[int | None, ...]
    digests: _Digests


def result_differences(
    before: Snapshot,
    after: Snapshot,
    matched: Sequence[tuple[KernelKey, KernelKey]],
    changed: Container[KernelKey],
) -> Results | None:
    """Compare the launches of two sides, run by run; None where a side has no digests.

    Args:
        before: The one side.
        after: The other.
        matched: Kernels of both.
        changed: Those of AFTER that have other code or options than in BEFORE.

    """
    found = [
        _of_runs(before, after, runs, matched, changed)
        for runs in zip(before.runs, after.runs, strict=False)
    ]
    results = [each for each in found if each is not None]
    if not results:
        return None
    return Results(
        compared=sum(each.compared for each in results),
        unpaired=(
            sum(each.unpaired[0] for each in results),
            sum(each.unpaired[1] for each in results),
        ),
        differing=sum(each.differing for each in results),
        first=next((each.first for each in results if each.first is not None), None),
        unlike=tuple(dict.fromkeys(text for each in results for text in each.unlike)),
    )


def _of_runs(
    before: Snapshot,
    after: Snapshot,
    runs: tuple["Run", "Run"],
    matched: Sequence[tuple[KernelKey, KernelKey]],
    changed: Container[KernelKey],
) -> Results | None:
    sides = _launches(before, runs[0]), _launches(after, runs[1])
    if not all(sides):
        return None
    pairs = []
    unlike: list[str] = []
    left = [sum(map(len, side.values())) for side in sides]
    for keys in matched:
        ours, theirs = (side.get(key, []) for side, key in zip(sides, keys, strict=True))
        found = [
            (a, b, order)
            for order, (a, b) in enumerate(zip(ours, theirs, strict=False), 1)
            if _are_alike(a, b)
        ]
        pairs += found
        if ours and theirs and not found:
            unlike += _of_other_sizes(ours[0], theirs[0], after)
    differing = [pair for pair in pairs if _differing(*pair[:2], after=True)]
    first = min(differing, key=lambda pair: pair[0].seq, default=None)
    return Results(
        compared=len(pairs),
        unpaired=(left[0] - len(pairs), left[1] - len(pairs)),
        differing=len(differing),
        first=None if first is None else _told(*first, after, changed),
        unlike=tuple(unlike),
    )


def _launches(side: Snapshot, run: "Run") -> dict[KernelKey, list[_Launch]]:
    """Return the launches of a run that have digests, by kernel, in their order."""
    rows = side.trace.table("digests", (run,))
    if not rows.num_rows:
        return {}
    names = ("seq", "call_id", "arg", "when", "digest", "lines")
    by_launch: dict[tuple[int, int], _Digests] = {}
    for seq, call, arg, when, digest, lines in zip(
        *(rows[name].to_pylist() for name in names), strict=True
    ):
        if digest is not None:
            by_launch.setdefault((seq, call), {})[arg, when] = digest, lines or 1
    columns = [
        "kernel_id", "name", "module", "source_artifact", "file", "line", "stages", "signature",
    ]  # fmt: skip
    kernels = {
        row["kernel_id"]: row for row in side.trace.table("kernels", (run,), columns).to_pylist()
    }
    calls = {
        row["call_id"]: row
        for row in side.trace.table(
            "calls", (run,), ["call_id", "kernel_id", "args", *_GRID]
        ).to_pylist()
    }
    found: dict[KernelKey, list[_Launch]] = {}
    for (seq, call_id), digests in sorted(by_launch.items()):
        call = calls.get(call_id)
        kernel = None if call is None else kernels.get(call["kernel_id"])
        if call is None or kernel is None:
            continue
        found.setdefault(key_of(kernel), []).append(
            _Launch(seq, kernel, call["args"] or (), tuple(call[name] for name in _GRID), digests)
        )
    return found


def _are_alike(a: _Launch, b: _Launch) -> bool:
    """Whether digests of both can be compared: they are of the same arguments, in the same form."""
    shared = {key: lines for key, (_, lines) in a.digests.items()}
    return shared == {key: lines for key, (_, lines) in b.digests.items()} and all(
        0 <= arg < min(len(a.args), len(b.args))
        and all(a.args[arg][name] == b.args[arg][name] for name in _ALIKE)
        for arg, _ in shared
    )


def _differing(a: _Launch, b: _Launch, *, after: bool) -> list[int]:
    """Return the arguments whose memory differs after the launch, or before it."""
    return [
        arg
        for (arg, when), digest in a.digests.items()
        if (when == _AFTER) == after and digest != b.digests[arg, when]
    ]


def _told(
    a: _Launch, b: _Launch, order: int, side: Snapshot, changed: Container[KernelKey]
) -> DifferentResult:
    outputs, inputs = (
        tuple(str(b.args[arg]["name"]) for arg in _differing(a, b, after=after))
        for after in (True, False)
    )
    before = [lines for (_, when), (_, lines) in a.digests.items() if when != _AFTER]
    sampled = max(before, default=1)
    equal = not inputs if before else None
    module = _module(b, side) if equal is not False else None
    causes = () if module is None else tuple(each.text for each in unordered(module))
    return DifferentResult(
        kernel=str(b.kernel["name"]),
        file=b.kernel["file"],
        line=b.kernel["line"],
        order=order,
        launches=(a.seq, b.seq),
        outputs=outputs,
        inputs=equal,
        sampled=sampled,
        inputs_differing=inputs,
        causes=causes,
        why=_why(b, order, outputs, inputs, equal, sampled, causes, _changes(a, b, changed)),
    )


def _changes(a: _Launch, b: _Launch, changed: Container[KernelKey]) -> str:
    """Return what of a launch was changed except what is in memory; empty where nothing was."""
    changes = ["its code was changed"] if key_of(b.kernel) in changed else []
    scalars = [
        f"{theirs['name']} is {theirs['scalar']}, was {mine['scalar']}"
        for mine, theirs in zip(a.args, b.args, strict=False)
        if theirs["scalar"] != mine["scalar"]
    ]
    changes += [f"its argument {text}" for text in scalars]
    if a.grid != b.grid:
        changes.append(f"its grid is {b.grid}, was {a.grid}")
    return ", ".join(changes)


def _why(
    launch: _Launch,
    order: int,
    outputs: Sequence[str],
    inputs: Sequence[str],
    equal: bool | None,
    sampled: int,
    causes: Sequence[str],
    changes: str,
) -> str:
    name = f"launch {order} of {launch.kernel['name']} is the first with another result"
    name = f"{name} ({', '.join(outputs)})"
    if equal is False:
        return (
            f"{name}; what it read in {', '.join(inputs)} differed already, and no launch that was "
            "compared has made that: the cause is upstream, in a library's kernel, a copy or the "
            "host"
        )
    some = f" (one line in {sampled} of large ones)" if sampled > 1 else ""
    if changes:
        read = f"what it read was equal{some}" if equal else "of what it read nothing is known"
        return f"{name}: {changes}; {read}"
    told = f"{name}, though what it read was equal{some}: the kernel is not deterministic"
    if equal is None:
        told = f"{name}; of what it read nothing is known"
    if causes:
        return f"{told}. {'; '.join(causes)}"
    return (
        f"{told}. Nothing in its IR depends on the order of programs but races, which kvtrace "
        "sanitize looks for; else it is memory that nothing was written to, or other compiled code"
    )


def _of_other_sizes(a: _Launch, b: _Launch, side: Snapshot) -> Iterator[str]:
    """Say why a kernel may sum in another order for arguments of other shapes, if it may."""
    module = _module(b, side)
    if module is None:
        return
    first, second = _constants(a), _constants(b)
    reasons = [each.text for each in unordered(module)]
    if any(op.name in _SUMMING for op in module.ops):
        reasons += [
            f"{name} {value} → {second[name]}"
            for name, value in first.items()
            if name in second and second[name] != value
        ]
    if reasons:
        yield (
            f"{b.kernel['name']} had arguments of other shapes, and for them it may sum in another "
            f"order: {'; '.join(reasons)}"
        )


def _constants(launch: _Launch) -> dict[str, str]:
    return {
        each["name"]: each["constexpr"]
        for each in launch.kernel["signature"] or ()
        if each["constexpr"] is not None
    }


def _module(launch: _Launch, side: Snapshot) -> Module | None:
    stages = {each["stage"]: each["artifact"] for each in launch.kernel["stages"] or ()}
    text = side.text(stages.get("ttir_generic"))
    if text is None:
        return None
    try:
        return module_defined_in(text, launch.kernel["file"])
    except IRSyntaxError:  # a stage of another version, which replaying says
        return None
