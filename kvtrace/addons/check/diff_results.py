"""First launch whose result differs between two traces, found by comparing recorded digests.

The n-th launches of a kernel on both sides are a pair; their storages are compared if the arguments
have the same layout. If the inputs of the first differing launch differ too, something without a
digest changed them since the last launch that was compared. If they are equal, the first suspect is
a change of code, scalars or grid. Without such a change the kernel is not deterministic, and its IR
may say why.
"""

from collections import Counter
from collections.abc import Container, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import combinations, count
from typing import Any, Final

import pyarrow.compute as pc

from kvtrace.addons.check.between import between, between_text
from kvtrace.addons.check.kept import CheckedLaunch, checked_launches
from kvtrace.addons.check.kept_elements import LaunchPair
from kvtrace.addons.check.writers import writers_text
from kvtrace.converters.diff.model import DifferentResult, Results
from kvtrace.converters.diff.snapshot import Snapshot
from kvtrace.converters.profile.recompiles import changes as fact_changes
from kvtrace.converters.profile.recompiles import specialization
from kvtrace.figures.identity import SOURCE_COLUMNS, KernelKey, key_of
from kvtrace.ir import Module
from kvtrace.ir.flow import flow_of
from kvtrace.ir.model import Op, source_stack
from kvtrace.ir.ops import COMBINING, KINDS, computing
from kvtrace.ir.relocation import module_defined_in
from kvtrace.ir.scanner import IRSyntaxError
from kvtrace.ir.types import FloatType, TensorType
from kvtrace.ir.updates import update_of
from kvtrace.recorded_calls.recorded import kernels_of_calls
from kvtrace.schema.errors import KvtraceError
from kvtrace.schema.launch_flags import are_trials
from kvtrace.schema.runs import plain_rows
from kvtrace.schema.trace import Run, Trace
from kvtrace.schema.without_ir import evaluated_stage

_GRID: Final = ("grid_x", "grid_y", "grid_z")
_ALIKE: Final = ("dtype", "shape", "strides", "offset_bytes", "storage_bytes")
BEFORE, AFTER = "before", "after"

#: Ops that add numbers in some order.
_SUMMING: Final = COMBINING | computing("dot")

#: Digests of a launch: (argument, before or after) → (digest, lines).
Digests = dict[tuple[int, str], tuple[int, int]]


@dataclass(frozen=True, slots=True)
class DigestedLaunch:
    """A launch with digests; `args` and `kernel` are recorded rows."""

    seq: int
    kernel: Mapping[str, Any]
    args: Sequence[Mapping[str, Any]]
    grid: tuple[int | None, ...]
    digests: Digests


#: A launch before and after, and their number among the launches of the kernel.
LaunchOrder = tuple[DigestedLaunch, DigestedLaunch, int]


def result_differences(
    before: Snapshot,
    after: Snapshot,
    matched: Sequence[tuple[KernelKey, KernelKey]],
    changed: Container[KernelKey],
) -> Results | None:
    """Compare the digests of launches of two sides, run by run, and return counts and the first.

    Returns None if no pair of runs has digests on both sides. `matched` are pairs of kernels, in
    BEFORE and in AFTER; `changed` are kernels of AFTER with other code or options than in BEFORE.
    """
    by_run = [
        _compare_runs(before, after, runs, matched, changed)
        for runs in zip(before.runs, after.runs, strict=False)
    ]
    results = [result for result in by_run if result is not None]
    if not results:
        return None
    return Results(
        compared=sum(result.compared for result in results),
        unpaired=(
            sum(result.unpaired[0] for result in results),
            sum(result.unpaired[1] for result in results),
        ),
        differing=sum(result.differing for result in results),
        first=next((result.first for result in results if result.first is not None), None),
        unlike=tuple(dict.fromkeys(text for result in results for text in result.unlike)),
    )


def _compare_runs(
    before: Snapshot,
    after: Snapshot,
    runs: tuple[Run, Run],
    matched: Sequence[tuple[KernelKey, KernelKey]],
    changed: Container[KernelKey],
) -> Results | None:
    launches_by_side = tuple(
        digested_launches(side.trace, run) for side, run in zip((before, after), runs, strict=True)
    )
    if not all(launches_by_side):
        return None
    pairs, other_layouts = list[LaunchOrder](), list[LaunchOrder]()
    unlike: list[str] = []
    totals = [sum(map(len, side.values())) for side in launches_by_side]
    for kernel_pair in matched:
        launches_before, launches_after = (
            side.get(key, []) for side, key in zip(launches_by_side, kernel_pair, strict=True)
        )
        alike_pairs = list[LaunchOrder]()
        for pair in zip(launches_before, launches_after, count(1), strict=False):
            (alike_pairs if are_alike(*pair[:2]) else other_layouts).append(pair)
        pairs += alike_pairs
        if launches_before and launches_after and not alike_pairs:
            unlike += _other_order_of_sums(launches_before[0], launches_after[0], after)
    differing, equal = list[LaunchOrder](), list[LaunchOrder]()
    for pair in pairs:
        (differing if _differing_arguments(*pair[:2], after=True) else equal).append(pair)
    first = None
    if differing:
        different = min(differing, key=lambda pair: pair[0].seq)
        first = _different_result(different, after)
        parted = _parted((before, after), runs, dict(matched))
        if parted and different[0].seq >= parted[0]:
            why = f"{parted[1]}; after that, {_summary(first)}"
        elif first.inputs is False:
            others = [
                (pair, _changes_text(*pair[:2], changed))
                for pair in sorted(other_layouts, key=lambda pair: pair[0].seq)
                if pair[0].seq < different[0].seq
            ]
            ran = upstream((before.trace, after.trace), runs, equal, different, uncompared=others)
            why = (
                f"{_summary(first)}; its inputs {', '.join(first.inputs_differing)} differed "
                f"already, and no compared launch wrote them differently: {ran}"
            )
        else:
            why = _cause_text(first, _changes_text(*different[:2], changed))
            why += _expectation((before, after), runs, different[:2]) if first.inputs else ""
        first = replace(first, why=why)
    return Results(
        compared=len(pairs),
        unpaired=(totals[0] - len(pairs), totals[1] - len(pairs)),
        differing=len(differing),
        first=first,
        unlike=tuple(unlike),
    )


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
    calls = {
        row["call_id"]: row
        for row in trace.table(
            "calls", (run,), ["call_id", "kernel_id", "args", *_GRID]
        ).to_pylist()
    }
    by_kernel: dict[KernelKey, list[DigestedLaunch]] = {}
    for (seq, call_id), digests in sorted(by_launch.items()):
        call = calls.get(call_id)
        kernel = None if call is None else kernels.get(call["kernel_id"])
        if call is None or kernel is None:
            continue
        by_kernel.setdefault(key_of(kernel), []).append(
            DigestedLaunch(
                seq, kernel, call["args"] or (), tuple(call[name] for name in _GRID), digests
            )
        )
    return by_kernel


def _parted(
    sides: tuple[Snapshot, Snapshot],
    runs: tuple[Run, Run],
    names: Mapping[KernelKey, KernelKey],
) -> tuple[int, str] | None:
    """Return where two sides begin to launch other kernels: BEFORE's number, and a sentence.

    From there on, the n-th launches of a kernel are no pair. None if each kernel has as many
    launches on both sides: their order alone may be that of threads.
    """
    orders = []
    for side, run in zip(sides, runs, strict=True):
        kernels = kernels_of_calls(side.trace, run, ["name", *SOURCE_COLUMNS])
        keys = {call: key_of(row) for call, row in kernels.items()}
        rows = side.trace.table("launches", (run,), ["seq", "call_id", "phase"])
        rows = rows.filter(pc.invert(are_trials(rows))).sort_by("seq")
        calls = zip(rows["seq"].to_pylist(), rows["call_id"].to_pylist(), strict=True)
        orders.append([(seq, keys[call]) for seq, call in calls if call in keys])
    counts = [Counter(names.get(key, key) for _, key in order) for order in orders]
    for (seq, key), (other_seq, other) in zip(*orders, strict=False):
        if counts[0] != counts[1] and names.get(key, key) != other:
            text = f"launch {seq} was one of {key.name}, and launch {other_seq} is of {other.name}"
            return seq, f"other kernels are launched: {text}"
    return None


def are_alike(a: DigestedLaunch, b: DigestedLaunch) -> bool:
    """Return whether two launches have digests of the same arguments, with the same layouts."""
    lines_by_digest = {key: lines for key, (_, lines) in a.digests.items()}
    return lines_by_digest == {key: lines for key, (_, lines) in b.digests.items()} and all(
        0 <= arg < min(len(a.args), len(b.args))
        and all(a.args[arg][name] == b.args[arg][name] for name in _ALIKE)
        for arg, _ in lines_by_digest
    )


def _differing_arguments(a: DigestedLaunch, b: DigestedLaunch, *, after: bool) -> list[int]:
    """Return positions of arguments with other digests in `b`, after or else before the launch."""
    return [
        arg
        for (arg, when), digest in a.digests.items()
        if (when == AFTER) == after and digest != b.digests[arg, when]
    ]


def upstream(
    traces: tuple[Trace, Trace],
    runs: tuple[Run, Run],
    equal: Sequence[LaunchOrder],
    different: LaunchOrder,
    names: tuple[str, str] = ("before", "now"),
    uncompared: Sequence[tuple[LaunchOrder, str]] = (),
) -> str:
    """Return what ran between a pair of launches and the last equal pair before it.

    `names` are those of the two sides in what only one of them did, `uncompared` earlier pairs
    with other layouts, each with its changes.
    """
    a, b, _ = different
    earlier = [pair for pair in equal if pair[0].seq < a.seq and pair[1].seq < b.seq]
    changed = _differing_arguments(a, b, after=False)
    bytes_before = {a.digests[arg, BEFORE] for arg in changed}
    with_bytes = [pair for pair in earlier if bytes_before & set(pair[0].digests.values())]
    last = max(with_bytes or earlier, key=lambda pair: pair[0].seq, default=None)
    begins = (None, None) if last is None else (last[0].seq, last[1].seq)
    pairs = [*equal, *(pair for pair, _ in uncompared)]
    old = between(traces[0], runs[0], begins[0], a.seq, {pair[0].seq for pair in pairs})
    new = between(traces[1], runs[1], begins[1], b.seq, {pair[1].seq for pair in pairs})
    texts = [
        f"launch {order} of {launch.kernel['name']} cannot be compared ({changes})"
        for (_, launch, order), changes in uncompared
        if changes and (begins[1] is None or launch.seq > begins[1])
    ][:1]
    labels = [(x.seq, y.seq, f"launch {order} of {y.kernel['name']}") for x, y, order in equal]
    sides = (
        (traces[0], runs[0], a.seq, {seq: label for seq, _, label in labels}),
        (traces[1], runs[1], b.seq, {seq: label for _, seq, label in labels}),
    )
    texts += [*_swapped(a, b, changed)] or [
        writers_text(sides, arg, str(b.args[arg]["name"]), names) for arg in changed
    ]
    since = "the begin of the run"
    if last is not None:
        doubt = "" if with_bytes else ", which may not have had these inputs"
        since = f"launch {last[2]} of {last[1].kernel['name']} (equal results{doubt})"
    return between_text(old, new, since, [text for text in texts if text], names)


def _swapped(a: DigestedLaunch, b: DigestedLaunch, changed: Sequence[int]) -> Iterator[str]:
    """Yield a sentence for each two arguments of which each was given the other's bytes."""
    for one, other in combinations(changed, 2):
        old, new = ([x.digests[arg, BEFORE] for arg in (one, other)] for x in (a, b))
        if old == new[::-1]:
            yield f"{b.args[one]['name']} and {b.args[other]['name']} were given each other's bytes"


def _different_result(pair: LaunchOrder, side: Snapshot) -> DifferentResult:
    """Return a differing launch, with its inputs and outputs; `why` is still missing."""
    a, b, order = pair
    outputs, inputs = (
        tuple(str(b.args[arg]["name"]) for arg in _differing_arguments(a, b, after=after))
        for after in (True, False)
    )
    lines_before = [lines for (_, when), (_, lines) in a.digests.items() if when != AFTER]
    inputs_equal = not inputs if lines_before else None
    module = _module(b, side) if inputs_equal is not False else None
    return DifferentResult(
        kernel=str(b.kernel["name"]),
        file=b.kernel["file"],
        line=b.kernel["line"],
        order=order,
        launches=(a.seq, b.seq),
        outputs=outputs,
        inputs=inputs_equal,
        sampled=max(lines_before, default=1),
        inputs_differing=inputs,
        causes=() if module is None else tuple(unordered(module)),
        why="",
    )


def _changes_text(a: DigestedLaunch, b: DigestedLaunch, changed: Container[KernelKey]) -> str:
    """Return text on changes of code, scalars and grid from launch `a` to `b`; "" if none."""
    facts = [str(fact) for fact in fact_changes(*(specialization(x.kernel) for x in (a, b)))]
    facts[:0] = ["source"] if a.kernel["source_artifact"] != b.kernel["source_artifact"] else []
    changes = [f"its code was changed ({'; '.join(facts)})".replace(" ()", "")]
    changes = changes if facts or key_of(b.kernel) in changed else []
    scalars = [
        f"{argument_after['name']} is {argument_after['scalar']}, was {argument_before['scalar']}"
        for argument_before, argument_after in zip(a.args, b.args, strict=False)
        if argument_after["scalar"] != argument_before["scalar"]
    ]
    changes += [f"its argument {text}" for text in scalars]
    for old, new in zip(a.args, b.args, strict=False):
        layout = next((name for name in _ALIKE if old[name] != new[name]), None)
        if layout is not None and old["kind"] == new["kind"]:
            text = f"has {layout} {new[layout]}, before {old[layout]}"
            changes.append(f"its argument {new['name']} {text}")
    if a.grid != b.grid:
        changes.append(f"its grid is {b.grid}, was {a.grid}")
    return ", ".join(changes)


def _expectation(
    sides: tuple[Snapshot, Snapshot],
    runs: tuple[Run, Run],
    pair: tuple[DigestedLaunch, DigestedLaunch],
) -> str:
    """Return whether derived bounds explain the results of two launches; "" if not kept."""
    scalars = [[arg["scalar"] for arg in launch.args if arg["kind"] == "scalar"] for launch in pair]
    kept = [
        checked
        for side, run, launch in zip(sides, runs, pair, strict=True)
        for checked in checked_launches(side.trace, run, {launch.kernel["name"]})
        if isinstance(checked, CheckedLaunch) and checked.seq == launch.seq
    ]
    if len(kept) != len(sides) or scalars[0] != scalars[1]:
        return ""
    outputs, answers = LaunchPair(*kept), []
    try:
        answers = [outputs.compare(position) for position in outputs.outputs().values()]
    except KvtraceError as error:
        return f"; whether that is expected is not known: {error}"
    if refuted := [answer.evidence for answer in answers if answer.same == "no"]:
        return f"; beyond the derived bound: {refuted[0]}"
    if doubts := [answer.evidence for answer in answers if answer.same != "yes" and answer.changed]:
        return f"; whether that is expected is not known: {doubts[0]}"
    return "; expected: all elements are within the derived bound"


def _summary(result: DifferentResult) -> str:
    outputs = ", ".join(result.outputs)
    return f"launch {result.order} of {result.kernel} is the first with another result ({outputs})"


def _cause_text(result: DifferentResult, changes: str) -> str:
    """Return a sentence on a launch with equal or unknown inputs; `changes` of its code, or ""."""
    sampling = f" (one line in {result.sampled} of large ones)" if result.sampled > 1 else ""
    inputs = f"its inputs were equal{sampling}" if result.inputs else "its inputs are not known"
    if changes:
        return f"{_summary(result)}: {changes}; {inputs}"
    text = f"{_summary(result)}; {inputs}"
    if result.inputs:
        text = f"{_summary(result)}, though {inputs}: the kernel is not deterministic"
        text += ", or an input differed in lines that were not compared" if sampling else ""
    if result.causes:
        return f"{text}. {'; '.join(result.causes)}"
    return (
        f"{text}. Nothing in its IR depends on the order of programs except races, which kvtrace "
        "sanitize finds; other causes are uninitialized memory, or other compiled code"
    )


def _other_order_of_sums(a: DigestedLaunch, b: DigestedLaunch, side: Snapshot) -> Iterator[str]:
    """Yield a sentence if a kernel may sum in another order for the other shapes of launch `b`."""
    module = _module(b, side)
    if module is None:
        return
    reasons = list(unordered(module))
    if any(op.name in _SUMMING for op in module.ops):
        facts = fact_changes(*(specialization(launch.kernel) for launch in (a, b)))
        constants = [fact for fact in facts if fact.what.startswith("constexpr ")]
        reasons += [str(fact).removeprefix("constexpr ") for fact in constants]
    if reasons:
        yield (
            f"{b.kernel['name']} had arguments of other shapes, for which it may sum in another "
            f"order: {'; '.join(reasons)}"
        )


def _module(launch: DigestedLaunch, side: Snapshot) -> Module | None:
    stages = {stage["stage"]: stage["artifact"] for stage in launch.kernel["stages"] or ()}
    text = side.text(stages.get(evaluated_stage(launch.kernel) or ""))
    if text is None:
        return None
    try:
        return module_defined_in(text, launch.kernel["file"])
    except IRSyntaxError:  # a stage of another version, which replaying says
        return None


# -- ops whose order is free -----------------------------------------------------------------------


_ADDING: Final = frozenset({"add", "fadd"})


def unordered(module: Module) -> Iterator[str]:
    """Yield a sentence for each op whose effect depends on the order of programs, in text order."""
    for op in module.ops:
        row = KINDS.get(op.name)
        why = _why(op, module) if row is not None and row.effect == "atomic" else ""
        if why:
            frames = source_stack(op)
            position = f" at {frames[0].file}:{frames[0].line}" if frames else ""
            yield f"{op.name}{position} {why}"


def _why(op: Op, module: Module) -> str:
    row = KINDS[op.name]
    if row.has("expected"):
        return "compares and swaps: programs continue in the order in which they reach this op"
    update = update_of(op)
    if update in _ADDING and _is_float(op):
        return (
            "adds floats of several programs to one element and rounds each sum: the result "
            "depends on the order of the programs"
        )
    if update == "exch":
        return "keeps the value of the program that writes last"
    if op.results and flow_of(module).uses(op.results[0]):
        return "returns the value that earlier programs left, which the kernel uses"
    return ""


def _is_float(op: Op) -> bool:
    kind = op.operand("value").type
    return isinstance(kind.element if isinstance(kind, TensorType) else kind, FloatType)
