"""Launches and operators of a run with digests of their arguments, before and after.

Launches have those that kvtrace recorded. Operators have the hashes that PyTorch's DebugMode
logged (`kvtrace import --into`), a digest for each number, and their place between launches.
"""

import json
import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from itertools import zip_longest
from typing import Any, Final

import numpy as np
import pyarrow.compute as pc
from msgspec import Struct

from kvtrace.figures.columns import integers
from kvtrace.figures.identity import KernelKey, key_of
from kvtrace.schema.layout import DEBUG_MODE
from kvtrace.schema.runs import plain_rows
from kvtrace.schema.trace import Run, Trace

BEFORE, AFTER = "before", "after"
#: `seq` of operators without times: they come after all launches.
UNPLACED: Final = 2**62
_GRID: Final = ("grid_x", "grid_y", "grid_z")
ALIKE: Final = ("dtype", "shape", "strides", "offset_bytes", "storage_bytes")
#: Operators that do not read what they write.
_OVERWRITING: Final = re.compile(
    r"aten::(copy|fill|zero|random|bernoulli|normal|uniform|exponential|geometric|log_normal)_(\.|$)"
)
#: Operators whose results show memory beyond their inputs, perhaps of nobody.
_REACHING: Final = ("aten::as_strided", "aten::resize_", "aten::set_")
#: In an operator's arguments: a tensor, its id (`record_ids=True`), and what is between arguments.
_TENSOR: Final = re.compile(r"t: (\w+\[[^\]]*\])")
_ID: Final = re.compile(r"(?<=t)\$\d+(?=: )")
_COMMA: Final = re.compile(r", (?![^\[]*\])")

#: Digests: (argument, before or after) → (digest, or an operator's hashes of a tensor, lines).
Digests = dict[tuple[int, str], tuple[Any, int]]


class DigestedLaunch(Struct, frozen=True):
    """A launch with digests; `args` and `kernel` are recorded rows.

    Of an operator, `number` is its number in the log, from 1, `seq` the last launch before it (-1:
    none), `kernel` its name, line, arguments and whether these have tensors, and `args` are hashes.
    """

    seq: int
    kernel: Mapping[str, Any]
    args: Sequence[Mapping[str, Any]]
    grid: tuple[int | None, ...]
    digests: Digests
    number: int = 0

    @property
    def place(self) -> tuple[int, int]:
        """The place in the order of the run's launches and operators."""
        return self.seq, self.number

    @property
    def has_results(self) -> bool:
        """True if a result has a digest."""
        return any(when == AFTER for _, when in self.digests)

    def title(self, order: int) -> str:
        """Return its name, with its number among those of its kernel or operator."""
        kernel = self.kernel
        if not self.number:
            return f"launch {order} of {kernel['name']}"
        place = f" at {kernel['file']}:{kernel['line']}" if kernel["file"] else ""
        return f"call {order} of {kernel['name']}{place}"


#: A launch before and after, and their number among the launches of the kernel.
LaunchOrder = tuple[DigestedLaunch, DigestedLaunch, int]
#: The place in BEFORE from which two sides do something else, and a sentence on it.
Parted = tuple[tuple[int, int], str]


def digested_launches(trace: Trace, run: Run) -> dict[KernelKey, list[DigestedLaunch]]:
    """Return the launches of a run that have digests, by kernel, in the order of launches."""
    rows = trace.table("digests", (run,))
    if not rows.num_rows:
        return {}
    digest_columns = ("seq", "call_id", "arg", "when", "digest", "lines")
    by_launch: dict[tuple[int, int], Digests] = {}
    for seq, call, arg, when, digest, lines in zip(
        *(rows[name].to_pylist() for name in digest_columns), strict=True
    ):
        if digest is not None:
            by_launch.setdefault((seq, call), {})[arg, when] = digest, lines or 1
    kernels = {row["kernel_id"]: row for row in plain_rows(trace.table("kernels", (run,)))}
    columns = ["call_id", "kernel_id", "args", *_GRID]
    calls = {row["call_id"]: row for row in trace.table("calls", (run,), columns).to_pylist()}
    by_kernel: dict[KernelKey, list[DigestedLaunch]] = {}
    for (seq, call_id), digests in sorted(by_launch.items()):
        call = calls.get(call_id)
        kernel = kernels.get(call["kernel_id"]) if call else None
        if call and kernel:
            grid = tuple(call[name] for name in _GRID)
            launch = DigestedLaunch(seq, kernel, call["args"] or (), grid, digests)
            by_kernel.setdefault(key_of(kernel), []).append(launch)
    return by_kernel


def are_alike(a: DigestedLaunch, b: DigestedLaunch) -> bool:
    """Return whether two launches have digests of the same arguments, with the same layouts."""
    lines_by_digest = {key: lines for key, (_, lines) in a.digests.items()}
    return lines_by_digest == {key: lines for key, (_, lines) in b.digests.items()} and all(
        0 <= arg < min(len(a.args), len(b.args))
        and all(a.args[arg][name] == b.args[arg][name] for name in ALIKE)
        for arg, _ in lines_by_digest
    )


def logged_operators(trace: Trace, run: Run) -> list[DigestedLaunch]:
    """Return the operators that DebugMode logged, in order, without those that only call others."""
    if DEBUG_MODE not in (run.source, *trace.passes(run.run_id, DEBUG_MODE)):
        return []
    columns = ["record", "category", "name", "begin", "members"]
    rows = trace.table("tool_events", (run,), columns)
    rows = rows.filter(pc.equal(rows["category"], DEBUG_MODE)).sort_by("record")
    launches = trace.table("launches", (run,), ["seq", "enter"]).sort_by("enter")
    before = np.searchsorted(integers(launches["enter"]), integers(rows["begin"]))
    has_times = rows["begin"].null_count < rows.num_rows
    seqs = np.append(-1, integers(launches["seq"]))[before] if has_times else before * 0 + UNPLACED
    calls = [json.loads(members)["args"] for members in rows["members"].to_pylist()]
    depths = [*(call["depth"] for call in calls), 0]
    named = zip(rows["name"].to_pylist(), calls, seqs.tolist(), strict=True)
    return [
        _operator(name, call, seq, number)
        for number, (name, call, seq) in enumerate(named, 1)
        if "arguments" in call and (call["log"] or depths[number] <= call["depth"])
    ]


def _operator(name: str, call: Mapping[str, Any], seq: int, number: int) -> DigestedLaunch:
    is_overwriting = _OVERWRITING.match(name) is not None
    unread = {"out", "argument 1"} if is_overwriting else {"out"}
    tree = None if name.startswith(_REACHING) else call["log"].get("hash")
    trees = [("result", AFTER, tree)]
    if isinstance(tree, list) and any(isinstance(entry, list) for entry in tree):
        trees = [(f"result {n}", AFTER, entry) for n, entry in enumerate(tree, 1)]
    match call["log"].get("input_hash"):
        case [list(given), dict(named)]:
            inputs = {f"argument {n}": entry for n, entry in enumerate(given, 1)} | named
            trees += [(of, BEFORE, inputs[of]) for of in inputs if of not in unread]
    hashes = [(of, when, leaves) for of, when, entry in trees if (leaves := tuple(_leaves(entry)))]
    arguments, output = (_ID.sub("", call.get(key, "")) for key in ("arguments", "output"))
    tensors = _TENSOR.findall(arguments)
    layout = dict.fromkeys((*ALIKE, "kind")) | {"shape": (tensors, _TENSOR.findall(output))}
    return DigestedLaunch(
        seq,
        {"name": name, "file": call.get("file"), "line": call.get("line"), "arguments": arguments,
         "has_tensors": len(tensors) > is_overwriting},
        [{**layout, "name": of, "dtype": list(map(type, leaves))} for of, _, leaves in hashes],
        (),
        {(n, when): (leaves, 1) for n, (_, when, leaves) in enumerate(hashes)},
        number,
    )  # fmt: skip


def _leaves(tree: Any) -> Iterator[Any]:
    """Yield the numbers of a tree of hashes, texts if they are not finite."""
    if isinstance(tree, list):
        for entry in tree:
            yield from _leaves(entry)
    elif isinstance(tree, int | float | str):
        yield tree


def operator_pairs(
    before: Sequence[DigestedLaunch], after: Sequence[DigestedLaunch]
) -> tuple[list[LaunchOrder], Parted | None]:
    """Return the pairs of operators up to where others are called, and where, if they are."""
    pairs, counts = list[LaunchOrder](), Counter[str]()
    for a, b in zip_longest(before, after):
        names = [call.kernel["name"] if call else "none" for call in (a, b)]
        counts.update(set(names))
        if names[0] != names[1]:
            calls = zip((a, b), names, strict=True)
            old, new = (call.title(counts[name]) if call else name for call, name in calls)
            place = a.place if a else (before[-1].seq, before[-1].number + 1)
            return pairs, (place, f"other operators are called: {new}, before {old}")
        pairs.append((a, b, counts[names[0]]))
    return pairs, None


def are_comparable(a: DigestedLaunch, b: DigestedLaunch) -> bool:
    """Return whether two operators are alike, and equal hashes of them say something.

    Tensors with another NaN or infinity have the same norm.
    """
    equal = [leaves for key, (leaves, _) in a.digests.items() if b.digests.get(key) == (leaves, 1)]
    kinds = [set(map(type, leaves)) for leaves in equal]
    is_known = all(str not in kind or int in kind for kind in kinds)
    return is_known and a.has_results and are_alike(a, b)


def operator_changes(a: DigestedLaunch, b: DigestedLaunch) -> str:
    """Return text on other arguments, or hashes of another kind, of operator `b`; "" if none."""
    arguments = [_COMMA.split(call.kernel["arguments"]) for call in (a, b)]
    pairs = zip_longest(*arguments, fillvalue="none")
    if texts := [f"{new}, was {old}" for old, new in pairs if new != old]:
        return f"its arguments were changed ({'; '.join(texts[:3])})"
    kinds = [[arg["dtype"] for arg in call.args] for call in (a, b)]
    return "" if kinds[0] == kinds[1] else "its hashes are of other functions or settings"
