"""Kernels that others wrote: Liger's, launched here, and Inductor's, recorded on an H200.

Every access of every unique call is proven, a violation, or unknown with a reason; the shares are
printed at the end of the session, and may not fall.
"""

import time
from collections import Counter, defaultdict
from importlib.util import find_spec
from itertools import islice
from pathlib import Path

import pytest
import torch

import kvtrace
from kvtrace.recorded_calls.reading import calls_of
from kvtrace.recorded_calls.recorded import Call
from kvtrace.schema.trace import open_trace
from kvtrace.verdicts.binding import BoundCall
from kvtrace.verdicts.judge import judge
from kvtrace.verdicts.rules import overflow
from kvtrace.verdicts.rules.table import RULES
from kvtrace.verdicts.sizes.at_size import compared_accesses
from kvtrace.verdicts.sizes.condition import conditions_of
from kvtrace.verdicts.sizes.envelope import envelope
from kvtrace.verdicts.sizes.launch_numbers import call_with, launch_at, numbers_of
from kvtrace.verdicts.sizes.relations import Relations
from tests.support.thorough import usually

FIXTURES = Path(__file__).parents[1] / "fixtures" / "h200"
ACCESSES = ("out-of-bounds", "out-of-view")
COMPILED = [name for name in ("train_compiled", "inductor") if (FIXTURES / name).is_dir()]
"""Traces with kernels of torch.compile."""
EACH = usually(4, thorough=1)
"""Of so many calls of Inductor's, and of so many of Liger's operators, one is taken."""


@pytest.fixture(scope="module")
def liger(tmp_path_factory):
    """Operators of Liger's forward and backward, launched once; contents of integers kept."""
    if find_spec("liger_kernel") is None:
        pytest.skip("Liger-Kernel is not installed")
    from tests.kernels.liger_operators import OPERATORS, outcome

    out = tmp_path_factory.mktemp("liger") / "out"
    with kvtrace.capture(out, tensors="int"), pytest.MonkeyPatch.context() as patch:
        # The backward pass of dyt asks a GPU for its processors, and knows no other device.
        patch.setattr("liger_kernel.ops.dyt.infer_device", lambda: "npu")
        patch.setattr("liger_kernel.ops.dyt.get_npu_core_count", lambda: 8)
        for name, operator in islice(OPERATORS.items(), 0, None, EACH):
            torch.manual_seed(len(name))
            inputs = operator.inputs()
            leaves = [
                i
                for i, x in enumerate(inputs)
                if x.dtype == torch.float32 and i not in operator.fixed
            ]
            outcome(operator.ours, inputs, leaves, [])
    return out


def verdicts_of(out, each=1):
    """Calls that the library's kernels were launched with, one in so many, and their verdicts."""
    trace = open_trace(out)
    found = []
    for run in trace.runs:
        for call in islice(calls_of(trace, run), 0, None, each):
            assert isinstance(call, Call), call
            found.append((call, judge(call)))
    return found


def accesses(judged):
    """The worst answer for each access: a violation before unknown before proven."""
    worst = defaultdict(set)
    for call, verdicts in judged:
        for verdict in verdicts:
            if verdict.rule in ACCESSES:
                worst[call.call_id, verdict.op.index].add(verdict.verdict)
    order = ("violation", "unknown", "proven")
    return Counter(next(answer for answer in order if answer in found) for found in worst.values())


def shares(title, judged, say):
    counts = accesses(judged)
    total = counts.total()
    kernels = {call.kernel for call, _ in judged}
    methods = Counter(
        verdict.method for _, verdicts in judged for verdict in verdicts
        if verdict.rule in ACCESSES and verdict.verdict == "proven"
    )  # fmt: skip
    say(
        "accesses of libraries' kernels",
        f"{title}: {total} accesses of {len(judged)} calls of {len(kernels)} kernels: "
        + ", ".join(
            f"{counts[answer]} {answer} ({counts[answer] / total:.1%})"
            for answer in ("proven", "violation", "unknown")
        )
        + "; proven by "
        + ", ".join(f"{method} {number}" for method, number in methods.most_common()),
        *(
            f"  {call.kernel}: {verdict.rule}: {verdict.reason}"
            for call, verdicts in judged
            for verdict in verdicts
            if verdict.verdict == "unknown"
        ),
        *(
            f"  {call.kernel}: {verdict.rule}, a violation: {verdict.message}"
            for call, verdicts in judged
            for verdict in verdicts
            if verdict.verdict == "violation"
        ),
    )
    return counts


@pytest.fixture(scope="module")
def judged_liger(liger):
    return verdicts_of(liger)


@pytest.fixture(scope="module")
def judged_inductor():
    return [
        (call, verdicts)
        for name in COMPILED
        for call, verdicts in verdicts_of(FIXTURES / name, EACH)
        if call.kernel.startswith("triton_")
    ]


@pytest.mark.sweep
def test_all_of_ligers_kernels_are_judged(liger, judged_liger):
    from tests.kernels.liger_operators import OPERATORS

    launched = open_trace(liger).table("kernels", columns=["name"])["name"].to_pylist()
    assert {call.kernel for call, _ in judged_liger} == set(launched)
    assert len(set(launched)) > len(OPERATORS) / EACH
    memory = {"tt.load", "tt.store", "tt.atomic_rmw", "tt.atomic_cas"}
    for call, verdicts in judged_liger:
        asked = {op.index for op in call.module.ops if op.name in memory}
        assert asked <= {verdict.op.index for verdict in verdicts if verdict.rule in ACCESSES}


@pytest.mark.sweep
def test_ligers_accesses_are_proven(judged_liger, say):
    counts = shares("Liger", judged_liger, say)

    # It clears a tile's counts and adds to them with no barrier between, which Triton adds from
    # 3.9 on: a warp's zero may come behind another one's count.
    assert {kernel for kernel, _ in errors(judged_liger)} <= {"_moe_router_histogram_kernel"}
    assert counts["proven"] >= 0.99 * counts.total()
    assert reasons_are_given(judged_liger)


@pytest.mark.sweep
def test_inductors_accesses_are_proven(judged_inductor, say):
    counts = shares("Inductor, recorded on an H200", judged_inductor, say)

    assert errors(judged_inductor) == []
    # The rest depends on indices (gather, scatter, embedding, bucketize) that were not recorded.
    assert counts["proven"] >= 0.93 * counts.total()
    assert reasons_are_given(judged_inductor)


def errors(judged):
    """Violations of any rule that is more than a warning."""
    return [
        (call.kernel, verdict.message)
        for call, verdicts in judged
        for verdict in verdicts
        if verdict.verdict == "violation" and RULES[verdict.rule].severity == "error"
    ]


def reasons_are_given(judged):
    return all(
        verdict.reason
        for _, verdicts in judged
        for verdict in verdicts
        if verdict.verdict == "unknown"
    )


def test_every_call_recorded_on_the_gpu_is_judged_in_seconds(say):
    began = time.process_time()
    judged = verdicts_of(FIXTURES / "train")
    seconds = time.process_time() - began

    counts = shares("examples/train.py, recorded on an H200", judged, say)
    assert errors(judged) == []
    assert counts["proven"] >= 0.98 * counts.total()
    assert seconds < 20


@pytest.mark.sweep
@pytest.mark.parametrize(
    "library",
    [
        "Liger",
        pytest.param("Inductor, recorded on an H200", marks=pytest.mark.night("9 s; Liger stays")),
    ],
)
def test_accesses_have_conditions_for_all_shapes(library, request, say):
    judged = request.getfixturevalue("judged_liger" if library == "Liger" else "judged_inductor")
    counts, reasons = Counter(), Counter()
    inside = 0
    for module, calls in by_module(judged).items():
        for found in conditions_of(module):
            answer = "enough" if found.condition is not None else "unknown"
            counts["exact" if found.exact else answer] += 1
            if found.reason is not None:
                reasons["data" if "holds" in found.reason else found.reason] += 1
        for call, verdicts in calls:
            accesses = compared_accesses(call)
            safe = {each.condition.op.index for each in accesses if each.standing == "inside"}
            safe -= {each.condition.op.index for each in accesses if each.standing != "inside"}
            assert not [
                v for v in verdicts
                if v.rule in ACCESSES and v.verdict == "violation" and v.op.index in safe
            ]  # fmt: skip
            inside += all(each.standing == "inside" for each in accesses)
    total = counts.total()
    say(
        "conditions for all shapes",
        f"{library}: {total} accesses of {len(by_module(judged))} kernel variants: "
        + ", ".join(f"{counts[a]} {a} ({counts[a] / total:.1%})" for a in ("exact", "enough"))
        + f", {counts['unknown']} unknown; {inside} of {len(judged)} calls inside",
        *(f"  unknown: {number} × {reason}" for reason, number in reasons.most_common()),
    )
    other = counts["unknown"] - reasons["data"]
    floor = {"Liger": 0.83, "Inductor": 0.82}[library.partition(",")[0]]
    assert counts["exact"] + counts["enough"] >= floor * total
    assert other <= 0.12 * (total - reasons["data"])


def by_module(judged):
    """The calls of each variant of a kernel."""
    found = defaultdict(list)
    for call, verdicts in judged:
        found[call.module].append((call, verdicts))
    return found


@pytest.mark.sweep
@pytest.mark.night("9 s; conditions for all shapes of Liger stay")
def test_no_first_bad_size_of_ligers_kernels_is_invented(liger):
    """Each overflow shows when one program of that size is run, and not at the size before.

    Kernels with loops are left out of the runs: theirs are too long at such a size.
    """
    trace = open_trace(liger)
    variants = defaultdict(list)
    for run in trace.runs:
        for call in calls_of(trace, run):
            variants[id(call.module)].append(call)
    without, shown = 0, 0
    for first, *more in variants.values():
        relations = Relations(first, [numbers_of(call) for call in more])
        bad = [row for row in envelope(relations) if row.kind == "overflow"]
        without += not bad
        if BoundCall(first).summary.loops:
            continue
        for row in bad:
            size = relations.number(row.quantity)
            if size is None:
                continue  # the values of an index tensor
            for value, is_bad in ((row.first_bad, True), (row.first_bad - 1, False)):
                numbers, _ = launch_at(relations, {size: value})
                verdicts = overflow.judge(BoundCall(call_with(first, numbers)))
                assert ("violation" in {v.verdict for v in verdicts}) is is_bad, row
            shown += 1
    assert without >= 30 / EACH
    assert shown >= 2 / EACH
