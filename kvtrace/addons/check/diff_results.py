"""First launch whose result differs between two traces, found by comparing recorded digests.

The n-th launches of a kernel on both sides are a pair, and so are its last ones if they are equal;
their storages are compared if the arguments have the same layout. If the inputs of the first
differing launch differ too, something without a digest changed them since the last launch that was
compared. If they are equal, the first suspect is a change of code, scalars or grid. Without such a
change the kernel is not deterministic, and its IR may say why.
"""

from collections import Counter
from collections.abc import Container, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import combinations, count
from typing import Final

import pyarrow.compute as pc

from kvtrace.addons.check.between import Between, between, between_text
from kvtrace.addons.check.digested import (
    AFTER,
    ALIKE,
    BEFORE,
    UNPLACED,
    DigestedLaunch,
    LaunchOrder,
    Parted,
    are_alike,
    are_comparable,
    digested_launches,
    logged_operators,
    operator_changes,
    operator_pairs,
)
from kvtrace.addons.check.kept import CheckedLaunch, checked_launches
from kvtrace.addons.check.kept_elements import LaunchPair
from kvtrace.addons.check.writers import writers_text
from kvtrace.converters.diff.code import common_ends
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
from kvtrace.ir.types import FloatType, element_of
from kvtrace.ir.updates import update_of
from kvtrace.recorded_calls.reading import kernels_of_calls
from kvtrace.schema.errors import KvtraceError
from kvtrace.schema.launch_flags import are_trials
from kvtrace.schema.trace import Run, Trace
from kvtrace.schema.without_ir import evaluated_stage

#: Operators of both sides, as DebugMode logged them.
Logs = tuple[Sequence[DigestedLaunch], Sequence[DigestedLaunch]]

#: Ops that add numbers in some order.
_SUMMING: Final = COMBINING | computing("dot")


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
        operators=sum(result.operators for result in results),
    )


def _compare_runs(
    before: Snapshot,
    after: Snapshot,
    runs: tuple[Run, Run],
    matched: Sequence[tuple[KernelKey, KernelKey]],
    changed: Container[KernelKey],
) -> Results | None:
    traces = before.trace, after.trace
    launches_by_side = [digested_launches(*pair) for pair in zip(traces, runs, strict=True)]
    logs = logged_operators(traces[0], runs[0]), logged_operators(traces[1], runs[1])
    if not all(launches_by_side) and not all(logs):
        return None
    pairs, other_layouts = list[LaunchOrder](), list[LaunchOrder]()
    unlike: list[str] = []
    totals = [sum(map(len, side.values())) for side in launches_by_side]
    for kernel_pair in matched:
        launches_before, launches_after = (
            side.get(key, []) for side, key in zip(launches_by_side, kernel_pair, strict=True)
        )
        alike_pairs = list[LaunchOrder]()
        for pair in _paired(launches_before, launches_after):
            (alike_pairs if are_alike(*pair[:2]) else other_layouts).append(pair)
        pairs += alike_pairs
        if launches_before and launches_after and not alike_pairs:
            unlike += _other_order_of_sums(launches_before[0], launches_after[0], after)
    operators, operators_parted = operator_pairs(*logs) if all(logs) else ([], None)
    differing, equal = list[LaunchOrder](), list[LaunchOrder]()
    compared = list[LaunchOrder]()
    for pair in operators:
        (compared if are_comparable(*pair[:2]) else other_layouts).append(pair)
    for pair in (*pairs, *compared):
        (differing if _differing_arguments(*pair[:2], after=True) else equal).append(pair)
    first = None
    if differing:
        different = min(differing, key=lambda pair: pair[0].place)
        first = _different_result(different, after)
        ends = filter(None, (_parted((before, after), runs, dict(matched)), operators_parted))
        parted = min(ends, default=None)
        if parted and different[0].place >= parted[0]:
            why = f"{parted[1]}; after that, {_summary(first)}"
        elif first.inputs is False:
            others = [
                (pair, _changes_text(*pair[:2], changed))
                for pair in sorted(other_layouts, key=lambda pair: pair[0].place)
                if pair[0].place < different[0].place
            ]
            ran = upstream(traces, runs, equal, different, uncompared=others, logs=logs)
            names = first.inputs_differing
            inputs, them = ("inputs", "them") if len(names) > 1 else ("input", "it")
            why = (
                f"{_summary(first)}; its {inputs} {', '.join(names)} differed already, and no "
                f"compared launch wrote {them} differently: {ran}"
            )
        else:
            left = _left_text((*zip(traces, runs, strict=True),), different)
            changes = _changes_text(*different[:2], changed)
            why = _cause_text(different[1], first, changes, left)
            why += _expectation((before, after), runs, different[:2]) if first.inputs else ""
        first = replace(first, why=why)
    elif operators_parted:
        unlike.append(f"{operators_parted[1]}; operators after that are not compared")
    if all(logs) and UNPLACED in (logs[0][0].seq, logs[1][0].seq):
        unlike.append("operators have no times, so none is placed between launches")
    if operators and not compared:
        a, b, order = operators[0]
        why = operator_changes(a, b) or "its result has no hash"
        unlike.append(f"no operator is compared: of {b.title(order)}, {why}")
    return Results(
        compared=len(pairs),
        unpaired=(totals[0] - len(pairs), totals[1] - len(pairs)),
        differing=len(differing),
        first=first,
        unlike=tuple(unlike),
        operators=len(compared),
    )


def _paired(
    before: Sequence[DigestedLaunch], after: Sequence[DigestedLaunch]
) -> Iterator[LaunchOrder]:
    """Yield pairs of a kernel's launches: equal ones at begin and end, and those between in order.

    So a launch that only one side has, before equal ones, is the one without a partner.
    """
    _, end = common_ends(*([one.digests for one in side] for side in (before, after)))
    rest = len(after) - end
    yield from zip(before[: len(before) - end], after[:rest], count(1), strict=False)
    yield from zip(before[len(before) - end :], after[rest:], count(rest + 1), strict=False)


def _parted(
    sides: tuple[Snapshot, Snapshot],
    runs: tuple[Run, Run],
    names: Mapping[KernelKey, KernelKey],
) -> Parted | None:
    """Return where two sides begin to launch other kernels: the place in BEFORE, and a sentence.

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
            return (seq, 0), f"other kernels are launched: {text}"
    return None


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
    logs: Logs = ((), ()),
) -> str:
    """Return what ran between a pair of launches and the last equal pair before it.

    `names` are those of the two sides in what only one of them did, `uncompared` earlier pairs
    with other layouts, each with its changes, `logs` operators of both sides.
    """
    a, b, _ = different
    earlier = [pair for pair in equal if pair[0].place < a.place and pair[1].place < b.place]
    changed = _differing_arguments(a, b, after=False)
    bytes_before = {a.digests[arg, BEFORE] for arg in changed}
    with_bytes = [pair for pair in earlier if bytes_before & set(pair[0].digests.values())]
    earlier = with_bytes if any(logs) else with_bytes or earlier  # an operator may leave no hash
    last = max(earlier, key=lambda pair: pair[0].place, default=None)
    pairs = [*equal, *(pair for pair, _ in uncompared)]
    ends = (None, None) if last is None else last[:2]
    compared = [pair[0] for pair in pairs], [pair[1] for pair in pairs]
    old = _ran(traces[0], runs[0], ends[0], a, compared[0], logs[0])
    new = _ran(traces[1], runs[1], ends[1], b, compared[1], logs[1])
    texts = [
        f"{launch.title(order)} cannot be compared ({changes})"
        for (_, launch, order), changes in uncompared
        if changes and (last is None or launch.place > last[1].place)
    ][:1]
    labels = [(x.seq, y.seq, y.title(order)) for x, y, order in equal if not y.number]
    sides = (
        (traces[0], runs[0], a.seq, {seq: label for seq, _, label in labels}),
        (traces[1], runs[1], b.seq, {seq: label for _, seq, label in labels}),
    )
    texts += [*_swapped(a, b, changed)] or [
        writers_text(sides, arg, str(b.args[arg]["name"]), names) for arg in changed if not b.number
    ]
    since = "the begin of the run"
    if last is not None:
        doubt = "" if with_bytes else ", which may not have had these inputs"
        since = f"{last[1].title(last[2])} (equal results{doubt})"
    return between_text(old, new, since, [text for text in texts if text], names)


def _swapped(a: DigestedLaunch, b: DigestedLaunch, changed: Sequence[int]) -> Iterator[str]:
    """Yield a sentence for each two arguments of which each was given the other's bytes."""
    for one, other in combinations(changed, 2):
        old, new = ([x.digests[arg, BEFORE] for arg in (one, other)] for x in (a, b))
        if old == new[::-1]:
            yield f"{b.args[one]['name']} and {b.args[other]['name']} were given each other's bytes"


def _ran(
    trace: Trace,
    run: Run,
    first: DigestedLaunch | None,
    last: DigestedLaunch,
    pairs: Sequence[DigestedLaunch],
    log: Sequence[DigestedLaunch],
) -> Between:
    """Return what ran from `first` to `last`, launches or operators, without those compared."""
    begin, begun = (None, (-1, 0)) if first is None else (max(first.seq, -1), first.place)
    seqs = {launch.seq for launch in pairs if not launch.number}
    ran = between(trace, run, begin, last.seq + bool(last.number), seqs)
    unhashed = Counter(
        call.kernel["name"]
        for call in log
        if begun < call.place < last.place and not call.has_results
        if not call.kernel["name"].startswith("aten::empty")
    )
    lines = "" if last.number or (first and first.number) else ran.lines
    return Between(lines, ran.launched + unhashed, None if unhashed else ran.others)


def _different_result(pair: LaunchOrder, side: Snapshot) -> DifferentResult:
    """Return a differing launch, with its inputs and outputs; `why` is still missing."""
    a, b, order = pair
    outputs, inputs = (
        tuple(str(b.args[arg]["name"]) for arg in _differing_arguments(a, b, after=after))
        for after in (True, False)
    )
    lines_before = [lines for (_, when), (_, lines) in a.digests.items() if when != AFTER]
    has_no_input = b.number and not b.kernel["has_tensors"]
    inputs_equal = not inputs if lines_before or has_no_input else None
    module = _module(b, side) if inputs_equal is not False and not b.number else None
    return DifferentResult(
        kernel=str(b.kernel["name"]),
        file=b.kernel["file"],
        line=b.kernel["line"],
        order=order,
        launches=(a.seq, b.seq) if b.seq < UNPLACED else (-1, -1),
        outputs=outputs,
        inputs=inputs_equal,
        sampled=max(lines_before, default=1),
        inputs_differing=inputs,
        causes=() if module is None else tuple(unordered(module)),
        why="",
        title=b.title(order),
    )


def _changes_text(a: DigestedLaunch, b: DigestedLaunch, changed: Container[KernelKey]) -> str:
    """Return text on changes of code, scalars and grid from launch `a` to `b`; "" if none."""
    if b.number:
        return operator_changes(a, b)
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
        layout = next((name for name in ALIKE if old[name] != new[name]), None)
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
    return f"{result.title} is the first with another result ({', '.join(result.outputs)})"


def _left_text(sides: Sequence[tuple[Trace, Run]], pair: LaunchOrder) -> str:
    """Return the phrase that a launch may leave elements of a result as they were, or ""."""
    a, b, _ = pair
    labels: Mapping[int, str] = {}
    for arg in _differing_arguments(a, b, after=True):
        if not b.number and (arg, BEFORE) not in a.digests:
            launches = [(*side, x.seq, labels) for side, x in zip(sides, (a, b), strict=True)]
            name = str(b.args[arg]["name"])
            made = writers_text(launches, arg, name, ("before", "now"))
            text = "" if not made or made.startswith("the same operators") else f" ({made})"
            return f"it leaves elements of {name} as they were{text}, or "
    return ""


def _cause_text(launch: DigestedLaunch, result: DifferentResult, changes: str, left: str) -> str:
    """Return a sentence on a launch with equal or unknown inputs; `changes`, `left` may be ""."""
    sampling = f" (one line in {result.sampled} of large ones)" if result.sampled > 1 else ""
    inputs = f"its inputs were equal{sampling}" if result.inputs else "its inputs are not known"
    inputs += ", by their hashes" if launch.number and result.inputs else ""
    if changes:
        return f"{_summary(result)}: {changes}; {inputs}"
    text = f"{_summary(result)}; {inputs}"
    if launch.number:
        return (
            f"{text}: it draws random numbers, is not deterministic, has other settings, or its "
            "inputs differ in what hashes do not see, as the order of elements"
        )
    if result.inputs:
        text = f"{_summary(result)}, though {inputs}: {left}the kernel is not deterministic"
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
    if update in _ADDING and isinstance(element_of(op.operand("value").type), FloatType):
        return (
            "adds floats of several programs to one element and rounds each sum: the result "
            "depends on the order of the programs"
        )
    if update == "exch":
        return "keeps the value of the program that writes last"
    if op.results and flow_of(module).uses(op.results[0]):
        return "returns the value that earlier programs left, which the kernel uses"
    return ""
