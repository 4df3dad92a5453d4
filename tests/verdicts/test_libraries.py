"""Kernels that others wrote: Liger's, launched here, and Inductor's, recorded on an H200.

Every access of every distinct call is proven, a violation, or unknown with a reason; the shares are
printed at the end of the session, and may not fall.
"""

import time
from collections import Counter, defaultdict
from importlib.util import find_spec
from pathlib import Path

import pytest
import torch

import kvtrace
from kvtrace.passes.calls import Call, calls_of
from kvtrace.schema.trace import open_trace
from kvtrace.verdicts.judge import judge
from kvtrace.verdicts.rules import RULES

FIXTURES = Path(__file__).parents[1] / "fixtures" / "h200"
ACCESSES = ("out-of-bounds", "out-of-view")
COMPILED = [name for name in ("train_compiled", "inductor") if (FIXTURES / name).is_dir()]
"""Traces with kernels of torch.compile."""


@pytest.fixture(scope="module")
def liger(tmp_path_factory):
    """Each operator of Liger's forward and backward, launched once; contents of integers kept."""
    if find_spec("liger_kernel") is None:
        pytest.skip("Liger-Kernel is not installed")
    from tests.evaluate.test_liger import OPERATORS, outcome

    out = tmp_path_factory.mktemp("liger") / "out"
    with kvtrace.capture(out, tensors="int"), pytest.MonkeyPatch.context() as patch:
        # The backward pass of dyt asks a GPU for its processors, and knows no other device.
        patch.setattr("liger_kernel.ops.dyt.infer_device", lambda: "npu")
        patch.setattr("liger_kernel.ops.dyt.get_npu_core_count", lambda: 8)
        for name, operator in OPERATORS.items():
            torch.manual_seed(len(name))
            inputs = operator.inputs()
            leaves = [
                i
                for i, x in enumerate(inputs)
                if x.dtype == torch.float32 and i not in operator.fixed
            ]
            outcome(operator.ours, inputs, leaves, [])
    return out


def verdicts_of(out):
    """Each call that the library's kernels were launched with, and its verdicts."""
    trace = open_trace(out)
    found = []
    for run in trace.runs:
        for call in calls_of(trace, run):
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
        for call, verdicts in verdicts_of(FIXTURES / name)
        if call.kernel.startswith("triton_")
    ]


def test_all_of_ligers_kernels_are_judged(liger, judged_liger):
    from tests.evaluate.test_liger import OPERATORS

    launched = open_trace(liger).table("kernels", columns=["name"])["name"].to_pylist()
    assert {call.kernel for call, _ in judged_liger} == set(launched)
    assert len(set(launched)) > len(OPERATORS)
    memory = {"tt.load", "tt.store", "tt.atomic_rmw", "tt.atomic_cas"}
    for call, verdicts in judged_liger:
        asked = {op.index for op in call.module.ops if op.name in memory}
        assert asked <= {verdict.op.index for verdict in verdicts if verdict.rule in ACCESSES}


def test_ligers_accesses_are_proven(judged_liger, say):
    counts = shares("Liger", judged_liger, say)

    assert errors(judged_liger) == []
    assert counts["proven"] >= 0.99 * counts.total()
    assert reasons_are_given(judged_liger)


def test_inductors_accesses_are_proven(judged_inductor, say):
    counts = shares("Inductor, recorded on an H200", judged_inductor, say)

    assert errors(judged_inductor) == []
    assert counts["proven"] >= 0.97 * counts.total()
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
